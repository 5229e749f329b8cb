// Products of a warp (mma.sp) and of a warpgroup (wgmma.mma_async.sp) whose A is sparse: every form is compared with
// plain loops over the rows as the metadata spreads them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "on_device.cuh"

struct operands {
  uint32_t a[4], b[4], metadata;
};

// D of f32 and s32 in four registers, of f16 in two; A and B in two or four.
#define KERNEL(NAME, TEXT, SELECTOR, REGISTERS, D, BITS)                                                               \
  __global__ void NAME(const operands* in, uint32_t* out) {                                                            \
    const operands o = in[threadIdx.x];                                                                                \
    D d[4] = {}, c = 1;                                                                                                \
    if constexpr (REGISTERS == 4)                                                                                      \
      asm volatile(TEXT                                                                                                \
                   " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%12, %12, %12, %12}, %13, " SELECTOR ";" \
                   : "=" BITS(d[0]), "=" BITS(d[1]), "=" BITS(d[2]), "=" BITS(d[3])                                    \
                   : "r"(o.a[0]), "r"(o.a[1]), "r"(o.a[2]), "r"(o.a[3]), "r"(o.b[0]), "r"(o.b[1]), "r"(o.b[2]),        \
                     "r"(o.b[3]), BITS(c), "r"(o.metadata));                                                           \
    else                                                                                                               \
      asm volatile(TEXT " {%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%8, %8, %8, %8}, %9, " SELECTOR ";"                   \
                   : "=" BITS(d[0]), "=" BITS(d[1]), "=" BITS(d[2]), "=" BITS(d[3])                                    \
                   : "r"(o.a[0]), "r"(o.a[1]), "r"(o.b[0]), "r"(o.b[1]), BITS(c), "r"(o.metadata));                    \
    for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = static_cast<uint32_t>(static_cast<int>(d[i]));              \
  }

#define MMA "mma.sp::ordered_metadata.sync.aligned."
KERNEL(f16_16, MMA "m16n8k16.row.col.f32.f16.f16.f32", "0x2", 2, float, "f")
KERNEL(f16_32, "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "1", 4, float, "f")
KERNEL(bf16_32, MMA "m16n8k32.row.col.f32.bf16.bf16.f32", "0x0", 4, float, "f")
KERNEL(tf32_8, MMA "m16n8k8.row.col.f32.tf32.tf32.f32", "0x3", 2, float, "f")
KERNEL(tf32_16, MMA "m16n8k16.row.col.f32.tf32.tf32.f32", "0x1", 4, float, "f")
KERNEL(s8_32, MMA "m16n8k32.row.col.s32.s8.s8.s32", "0x1", 2, int, "r")
KERNEL(u8_s8_64, MMA "m16n8k64.row.col.satfinite.s32.u8.s8.s32", "0x0", 4, int, "r")
KERNEL(s4_64, MMA "m16n8k64.row.col.s32.s4.s4.s32", "0x0", 2, int, "r")
KERNEL(u4_128, MMA "m16n8k128.row.col.s32.u4.u4.s32", "0x0", 4, int, "r")

__global__ void f16_sums(const operands* in, uint32_t* out) {
  const operands o = in[threadIdx.x];
  uint32_t d[2];
  asm volatile(MMA "m16n8k32.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7, %8, %9}, {%10, %10}, %11, 1;"
               : "=r"(d[0]), "=r"(d[1])
               : "r"(o.a[0]), "r"(o.a[1]), "r"(o.a[2]), "r"(o.a[3]), "r"(o.b[0]), "r"(o.b[1]), "r"(o.b[2]), "r"(o.b[3]),
                 "r"(0x3c003c00u), "r"(o.metadata));
  for (int i = 0; i < 4; ++i) {
    const __half_raw h = {static_cast<unsigned short>(d[i / 2] >> 16 * (i % 2))};
    out[4 * threadIdx.x + i] = static_cast<uint32_t>(static_cast<int>(__half2float(__half(h))));
  }
}

// A in registers, and B, of which the first warp's threads bring the words, in shared memory without a swizzle.
#define WARPGROUP_KERNEL(NAME, TEXT, SELECTOR, D, BITS, ENDS)                                                      \
  __global__ void NAME(const operands* in, uint32_t* out) {                                                        \
    __shared__ alignas(128) uint32_t b[4 * 32];                                                                    \
    const operands o = in[threadIdx.x];                                                                            \
    if (threadIdx.x < 32)                                                                                          \
      for (int i = 0; i < 4; ++i) b[32 * i + threadIdx.x] = o.b[i];                                                \
    asm volatile("fence.proxy.async;" ::: "memory");                                                               \
    __syncthreads();                                                                                               \
    const uint64_t place = __cvta_generic_to_shared(b) >> 4 | uint64_t{128 >> 4} << 16 | uint64_t{256 >> 4} << 32; \
    D d[4] = {1, 1, 1, 1};                                                                                         \
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");                                                        \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %10, 0; wgmma.mma_async.sp.sync.aligned." TEXT                    \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, %9, " SELECTOR ", p" ENDS "; }"                         \
                 : "+" BITS(d[0]), "+" BITS(d[1]), "+" BITS(d[2]), "+" BITS(d[3])                                  \
                 : "r"(o.a[0]), "r"(o.a[1]), "r"(o.a[2]), "r"(o.a[3]), "l"(place), "r"(o.metadata), "r"(1)         \
                 : "memory");                                                                                      \
    asm volatile("wgmma.commit_group.sync.aligned;\n wgmma.wait_group.sync.aligned 0;" ::: "memory");              \
    for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = static_cast<uint32_t>(static_cast<int>(d[i]));          \
  }
WARPGROUP_KERNEL(wide_f16, "m64n8k32.f32.f16.f16", "1", float, "f", ", 1, 1, 0")
WARPGROUP_KERNEL(wide_tf32, "m64n8k16.f32.tf32.tf32", "0", float, "f", ", 1, 1")
WARPGROUP_KERNEL(wide_s8, "m64n8k64.s32.s8.u8", "0", int, "r", "")

enum class type { f16, bf16, tf32, s8, u8, s4, u4 };
int bits_of(type t) { return t == type::tf32 ? 32 : t <= type::bf16 ? 16 : t <= type::u8 ? 8 : 4; }

// An element of the value x, -8 to 7 or 0 to 15.
uint32_t encoded(type t, int x) {
  if (t == type::f16) return __half_as_ushort(__float2half(static_cast<float>(x)));
  if (t == type::bf16) return __bfloat16_as_ushort(__float2bfloat16(static_cast<float>(x)));
  const float f = static_cast<float>(x);
  uint32_t word;
  static_assert(sizeof f == sizeof word, "");
  memcpy(&word, &f, sizeof f);
  return t == type::tf32 ? word : static_cast<uint32_t>(x) & ((1u << bits_of(t)) - 1);
}

struct form {
  const char* name;
  void (*kernel)(const operands*, uint32_t*);
  type a, b;
  int registers, selector, warps = 1;
};

uint32_t g_state = 1;
uint32_t drawn() { return (g_state = g_state * 1664525 + 1013904223) >> 16; }

int value_drawn(type t) { return t == type::u8 || t == type::u4 ? drawn() % 16 : static_cast<int>(drawn() % 16) - 8; }

bool is_right(const form& f) {
  const int bits = bits_of(f.a), unit = bits >= 16 ? 16 : 8;  // of which a row of A has two of four
  const int words = 2 * f.registers, per_word = 32 / bits, units = 32 / unit, depth = 2 * words * per_word;
  std::vector<operands> in(32 * f.warps, operands{});
  std::vector<std::vector<int>> a(16 * f.warps, std::vector<int>(depth, 0)), b(8, std::vector<int>(depth));
  for (operands& o : in) o.metadata = 0x9999 * drawn();  // of lanes that nobody asks
  for (int word = 0; word < 2 * words; ++word)
    for (int col = 0; col < 8; ++col)
      for (int e = 0; e < per_word; ++e) {
        const int x = b[col][word * per_word + e] = value_drawn(f.b);
        in[4 * col + word % 4].b[word / 4] |= encoded(f.b, x) << e * bits % 32;
      }
  constexpr int places[] = {0x4, 0x8, 0x9, 0xc, 0xd, 0xe};
  for (int row = 0; row < 16 * f.warps; ++row)
    for (int word = 0; word < words; ++word) {
      const int quad = row / 16 * 32 + row % 8 * 4, upper = row % 16 / 8;
      uint32_t& to = in[quad + word % 4].a[upper + word / 4 * 2];
      for (int half = 0; half < units / 2; ++half) {  // two units, and the four among which they lie
        const uint32_t place = bits == 32 ? (drawn() % 2 ? 0x4 : 0xe) : places[drawn() % 6];
        for (int u = 0; u < 2; ++u) {
          const int first = ((word * units / 2 + half) * 4 + static_cast<int>(place >> 2 * u & 3)) * unit / bits;
          for (int e = 0; e < (bits < unit ? unit / bits : bits == 32 ? 1 - u : 1); ++e) {
            const int x = a[row][first + e] = value_drawn(f.a);
            to |= encoded(f.a, x) << ((2 * half + u) * unit + e * bits);
          }
        }
        // PTX ISA, "Sparse matrix storage": lanes of the row's quad, or of two of it, and bits in their words.
        const int part = words == 4 ? f.selector : word / 4;
        const int lane = unit == 16 ? (words == 4 ? part : 2 * f.selector + part) : 2 * part + upper;
        const int at = unit == 16 ? 16 * upper + 4 * (word % 4) : 8 * (word % 4) + 4 * half;
        uint32_t& metadata = in[quad + lane].metadata;
        metadata = (metadata & ~(15u << at)) | place << at;
      }
    }
  const on_device<operands> on(in);
  const on_device<uint32_t> out(4 * in.size());
  f.kernel<<<1, 32 * f.warps>>>(on.p, out.p);
  const std::vector<uint32_t> got = out.host();
  for (int i = 0; i < static_cast<int>(got.size()); ++i) {
    int sum = 1;
    for (int k = 0; k < depth; ++k)
      sum += a[i / 128 * 16 + i % 128 / 16 + i / 2 % 2 * 8][k] * b[i / 4 % 4 * 2 + i % 2][k];
    if (static_cast<int>(got[i]) != sum) return std::printf("%s %d: %d, right is %d\n", f.name, i, got[i], sum), false;
  }
  return true;
}

int main() {
  const form forms[] = {{"f16 16", f16_16, type::f16, type::f16, 2, 2},
                        {"f16 32", f16_32, type::f16, type::f16, 4, 1},
                        {"bf16", bf16_32, type::bf16, type::bf16, 4, 0},
                        {"tf32 8", tf32_8, type::tf32, type::tf32, 2, 3},
                        {"tf32", tf32_16, type::tf32, type::tf32, 4, 1},
                        {"s8", s8_32, type::s8, type::s8, 2, 1},
                        {"u8 by s8", u8_s8_64, type::u8, type::s8, 4, 0},
                        {"s4", s4_64, type::s4, type::s4, 2, 0},
                        {"u4", u4_128, type::u4, type::u4, 4, 0},
                        {"sums", f16_sums, type::f16, type::f16, 4, 1},
                        {"wide f16", wide_f16, type::f16, type::f16, 4, 1, 4},
                        {"wide tf32", wide_tf32, type::tf32, type::tf32, 4, 0, 4},
                        {"wide s8", wide_s8, type::s8, type::u8, 4, 0, 4}};
  int wrong = 0;
  for (const form& f : forms) wrong += !is_right(f);
  return wrong;
}
