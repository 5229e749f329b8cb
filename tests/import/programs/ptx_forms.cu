// Forms of PTX instructions that programs for Hopper have: every result is compared with plain loops.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "on_device.cuh"

// A product of a warp: one row of A and one column of B for each result, in elements of `bits` bits.
struct operands {
  uint32_t a[4], b[2];
};

enum class kind { s4, u4_s4, b1, e4m3, e5m2_e4m3, f16_sum };

template <kind Kind>
__global__ void multiply(const operands* in, uint32_t* out) {
  const operands o = in[threadIdx.x];
  uint32_t d[4] = {};
#define MMA(TEXT)                                                                          \
  asm volatile(TEXT " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};" \
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                            \
               : "r"(o.a[0]), "r"(o.a[1]), "r"(o.a[2]), "r"(o.a[3]), "r"(o.b[0]), "r"(o.b[1]), "r"(zero))
#define MMA_OF_REALS(TEXT)                                                                 \
  asm volatile(TEXT " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};" \
               : "=f"(f[0]), "=f"(f[1]), "=f"(f[2]), "=f"(f[3])                            \
               : "r"(o.a[0]), "r"(o.a[1]), "r"(o.a[2]), "r"(o.a[3]), "r"(o.b[0]), "r"(o.b[1]), "f"(0.0f))
  const uint32_t zero = 0;
  float f[4] = {};
  if constexpr (Kind == kind::s4) MMA("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32");
  if constexpr (Kind == kind::u4_s4) MMA("mma.sync.aligned.m16n8k64.row.col.satfinite.s32.u4.s4.s32");
  if constexpr (Kind == kind::b1) MMA("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc");
  if constexpr (Kind == kind::e4m3) MMA_OF_REALS("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32");
  if constexpr (Kind == kind::e5m2_e4m3) MMA_OF_REALS("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32");
  if constexpr (Kind == kind::f16_sum) {
    uint32_t h[2];
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e4m3.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %8};"
                 : "=r"(h[0]), "=r"(h[1])
                 : "r"(o.a[0]), "r"(o.a[1]), "r"(o.a[2]), "r"(o.a[3]), "r"(o.b[0]), "r"(o.b[1]), "r"(zero));
    for (int i = 0; i < 4; ++i)
      asm("{ .reg .b16 h; cvt.u16.u32 h, %1; cvt.f32.f16 %0, h; }" : "=f"(f[i]) : "r"(h[i / 2] >> 16 * (i % 2)));
  }
  for (int i = 0; i < 4; ++i)
    out[4 * threadIdx.x + i] = Kind == kind::s4 || Kind == kind::u4_s4 || Kind == kind::b1
                                   ? d[i]
                                   : static_cast<uint32_t>(static_cast<int>(f[i]));
}

// Elements of one byte are small integers as e4m3 or e5m2, so that sums are exact.
int value_of(kind k, bool is_a, uint32_t bits) {
  if (k == kind::b1) return static_cast<int>(bits);
  if (k == kind::s4 || (k == kind::u4_s4 && !is_a)) return static_cast<int>(bits << 28) >> 28;
  if (k == kind::u4_s4) return static_cast<int>(bits);
  const int digits = k == kind::e5m2_e4m3 && is_a ? 2 : 3, bias = digits == 2 ? 15 : 7;
  const int exponent = static_cast<int>(bits >> digits) % (1 << (7 - digits)), fraction = bits % (1u << digits);
  const int magnitude = exponent == 0 ? 0 : ((1 << digits) + fraction) << (exponent - bias) >> digits;
  return bits >> 7 != 0 ? -magnitude : magnitude;
}

template <kind Kind>
bool multiplies(int bits) {
  const bool is_real = bits == 8;
  std::vector<operands> in(32, operands{});
  uint32_t state = 7;
  for (operands& o : in)
    for (int w = 0; w < 6; ++w) {
      uint32_t& word = w < 4 ? o.a[w] : o.b[w - 4];
      for (int byte = 0; byte < 4; ++byte) {
        state = state * 1664525 + 1013904223;
        uint32_t x = state >> 24;
        if (is_real) {  // 1, 2, 4 or 0 with a sign
          const int digits = Kind == kind::e5m2_e4m3 && w < 4 ? 2 : 3, bias = digits == 2 ? 15 : 7;
          x = (x & 0x80) | (x % 4 == 0 ? 0 : static_cast<uint32_t>(bias + x % 3) << digits);
        }
        word |= x << 8 * byte;
      }
    }
  const on_device<operands> on(in);
  const on_device<uint32_t> out(128);
  multiply<Kind><<<1, 32>>>(on.p, out.p);
  const std::vector<uint32_t> got = out.host();
  const int per_word = 32 / bits, depth = 8 * per_word;
  const auto element = [&](bool is_a, int line, int k) {
    const int word = k / per_word, lane = line % 8 * 4 + word % 4;
    const uint32_t w = is_a ? in[lane].a[word / 4 * 2 + line / 8] : in[lane].b[word / 4];
    return value_of(Kind, is_a, w >> k % per_word * bits & ((1u << bits) - 1));
  };
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      int sum = 0;
      for (int k = 0; k < depth; ++k)
        sum += element(true, lane / 4 + i / 2 * 8, k) * element(false, lane % 4 * 2 + i % 2, k);
      if (static_cast<int>(got[4 * lane + i]) != sum)
        return std::printf("product %d of %d bits is %d, right is %d\n", 4 * lane + i, bits,
                           static_cast<int>(got[4 * lane + i]), sum),
               false;
    }
  return true;
}

// 16 x 8 doubles from A of 16 x 8 and B of 8 x 8, and 8 x 8 from the first four of each.
__global__ void multiply_doubles(const double* a, const double* b, double* whole, double* part) {
  const int lane = threadIdx.x, row = lane / 4, k = lane % 4;
  double d[4], p[2];
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %10, %10, %10};"
      : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3])
      : "d"(a[row * 8 + k]), "d"(a[(row + 8) * 8 + k]), "d"(a[row * 8 + k + 4]), "d"(a[(row + 8) * 8 + k + 4]),
        "d"(b[k * 8 + row]), "d"(b[(k + 4) * 8 + row]), "d"(1.0));
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %4};"
               : "=d"(p[0]), "=d"(p[1])
               : "d"(a[row * 8 + k]), "d"(b[k * 8 + row]), "d"(0.0));
  for (int i = 0; i < 4; ++i) whole[(row + i / 2 * 8) * 8 + k * 2 + i % 2] = d[i];
  for (int i = 0; i < 2; ++i) part[row * 8 + k * 2 + i] = p[i];
}

bool multiplies_doubles() {
  std::vector<double> a(128), b(64);
  for (int i = 0; i < 128; ++i) a[i] = i * 37 % 19 - 9;
  for (int i = 0; i < 64; ++i) b[i] = i * 11 % 13 - 6;
  const on_device<double> on_a(a), on_b(b), on_whole(128), on_part(64);
  multiply_doubles<<<1, 32>>>(on_a.p, on_b.p, on_whole.p, on_part.p);
  const std::vector<double> whole = on_whole.host(), part = on_part.host();
  for (int i = 0; i < 128; ++i) {
    double sum = 1, of_four = 0;
    for (int k = 0; k < 8; ++k) sum += a[i / 8 * 8 + k] * b[k * 8 + i % 8];
    for (int k = 0; k < 4; ++k) of_four += a[i / 8 * 8 + k] * b[k * 8 + i % 8];
    if (whole[i] != sum || (i < 64 && part[i] != of_four)) return false;
  }
  return true;
}

__global__ void forms(uint32_t* memory, uint32_t* out) {
  uint32_t a, b, c, d;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(memory));
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(memory + 4), "r"(a + d) : "memory");
  asm volatile("st.volatile.global.v2.u32 [%0], {%1, %2};" ::"l"(memory + 6), "r"(b), "r"(c) : "memory");
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
  out[0] = memory[4] + memory[6] * memory[7];
  asm("max.s16x2 %0, %1, %2;" : "=r"(out[1]) : "r"(0x00028001u), "r"(0xffff0003u));
  asm("add.u16x2 %0, %1, %2;" : "=r"(out[2]) : "r"(0x0001ffffu), "r"(0x00020001u));
  asm("min.u16x2 %0, %1, %2;" : "=r"(out[3]) : "r"(0x0001ffffu), "r"(0x80000001u));
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(out[4]) : "f"(__uint_as_float(0x3f803000u)));
  asm("cvt.rz.tf32.f32 %0, %1;" : "=r"(out[5]) : "f"(__uint_as_float(0x3f803fffu)));
}

bool has_forms() {
  const on_device<uint32_t> memory(std::vector<uint32_t>{5, 6, 7, 8, 0, 0, 0, 0}), out(6);
  forms<<<1, 1>>>(memory.p, out.p);
  const std::vector<uint32_t> got = out.host();
  const uint32_t right[6] = {13 + 42, 0x00020003, 0x00030000, 0x00010001, 0x3f804000, 0x3f802000};
  for (int i = 0; i < 6; ++i)
    if (got[i] != right[i]) return std::printf("form %d is %#x, right is %#x\n", i, got[i], right[i]), false;
  return true;
}

// Blocks spread over the multiprocessors.
__global__ void visit(uint32_t* seen) {
  uint32_t own, all;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(own));
  asm("mov.u32 %0, %%nsmid;" : "=r"(all));
  atomicOr(seen, 1u << own);
  atomicMax(seen + 1, all);
}
bool visits_all() {
  const on_device<uint32_t> seen(2);
  int all = 0;
  cudaDeviceGetAttribute(&all, cudaDevAttrMultiProcessorCount, 0);
  visit<<<dim3(all, 2), 32>>>(seen.p);
  const std::vector<uint32_t> got = seen.host();
  return got[0] == (1u << all) - 1 && got[1] == static_cast<uint32_t>(all);
}

int main(int argc, char** argv) {
  const mode modes[] = {{"s4", [] { return multiplies<kind::s4>(4); }},
                        {"u4 by s4", [] { return multiplies<kind::u4_s4>(4); }},
                        {"bits", [] { return multiplies<kind::b1>(1); }},
                        {"e4m3", [] { return multiplies<kind::e4m3>(8); }},
                        {"e5m2 by e4m3", [] { return multiplies<kind::e5m2_e4m3>(8); }},
                        {"e4m3 into f16", [] { return multiplies<kind::f16_sum>(8); }},
                        {"doubles", multiplies_doubles},
                        {"forms", has_forms},
                        {"multiprocessors", visits_all}};
  return run_modes(argc, argv, modes);
}
