// Arithmetic of inline PTX, each kind in a mode of its own: against plain expressions, or against results by hand from
// the PTX ISA's definitions.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

__device__ int failures;
#define CHECK(condition) \
  if (!(condition)) printf("line %d, thread %d\n", __LINE__, int(threadIdx.x)), atomicAdd(&failures, 1)

#define BINARY(name, type, constraint, instruction)                                     \
  __device__ type name(type a, type b) {                                                \
    type d;                                                                             \
    asm(instruction " %0, %1, %2;" : "=" constraint(d) : constraint(a), constraint(b)); \
    return d;                                                                           \
  }
BINARY(mul24, int, "r", "mul24.lo.s32")
BINARY(high64, unsigned long long, "l", "mul.hi.u64")
BINARY(add_sat, int, "r", "add.sat.s32")
BINARY(add_rz, float, "f", "add.rz.f32")
BINARY(add_rp, float, "f", "add.rp.f32")
BINARY(add_ftz, float, "f", "add.ftz.f32")
BINARY(mul_sat, float, "f", "mul.sat.f32")
BINARY(min_nan, float, "f", "min.NaN.f32")
BINARY(mask_clamp, unsigned, "r", "bmsk.clamp.b32")
BINARY(szext, int, "r", "szext.wrap.s32")
BINARY(add_h2, unsigned, "r", "add.f16x2")
BINARY(signs, float, "f", "copysign.f32")

__global__ void bits() {
  const unsigned t = threadIdx.x;
  unsigned r;
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(0x5u), "r"(0xffffff00u), "r"(4u), "r"(8u));
  CHECK(r == 0xfffff050u);
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(~0u), "r"(t), "r"(28u), "r"(40u));
  CHECK(r == (t | 0xf0000000u));
  unsigned long long w;
  asm("bfi.b64 %0, %1, %2, 36, 8;" : "=l"(w) : "l"(0xabull), "l"(0ull));
  CHECK(w == 0xabull << 36);
  int s;
  asm("bfe.s32 %0, %1, 4, 4;" : "=r"(s) : "r"(0x80));
  CHECK(s == -8);
  asm("bfind.u32 %0, %1;" : "=r"(r) : "r"(1u << t));
  CHECK(r == t);
  asm("bfind.shiftamt.s32 %0, %1;" : "=r"(r) : "r"(-1));
  CHECK(r == ~0u);
  asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(0x80000000u), "r"(1u), "r"(33u));
  CHECK(r == 3u);
  asm("shf.r.clamp.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(5u), "r"(7u), "r"(40u));
  CHECK(r == 7u);
  asm("prmt.b32.rc16 %0, %1, %2, 1;" : "=r"(r) : "r"(0xaabbccddu), "r"(0u));
  CHECK(r == 0xaabbaabbu);
  asm("prmt.b32.f4e %0, %1, %2, 1;" : "=r"(r) : "r"(0x33221100u), "r"(0x77665544u));
  CHECK(r == 0x44332211u);
  asm("fns.b32 %0, %1, 0, 2;" : "=r"(r) : "r"(0x1010u));
  CHECK(r == 12);
  CHECK(mask_clamp(4, 8) == 0xff0u && mask_clamp(33, 8) == 0 && szext(0x8f, 4) == -1 && szext(0x87, 4) == 7);
  unsigned lo, hi;
  asm("mov.b64 {%0, %1}, %2;" : "=r"(lo), "=r"(hi) : "l"(0x100000002ull));
  CHECK(lo == 2 && hi == 1);
  asm("mov.b32 %0, {%1, %2, %3, %4};" : "=r"(r) : "h"(short(1)), "h"(short(2)), "h"(short(3)), "h"(short(4)));
  CHECK(r == 0x04030201u);
}

__global__ void integers() {
  const int t = threadIdx.x;
  int d;
  unsigned u;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(0x01fe03fc), "r"(0x02020202), "r"(t));
  CHECK(d == 2 * (1 - 2 + 3 - 4) + t);
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(0x000000ff), "r"(0x000000ff), "r"(t));
  CHECK(d == -255 + t);
  asm("dp2a.hi.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(0x0002ffff), "r"(0x05040000), "r"(t));
  CHECK(d == -4 + 10 + t);
  asm("sad.u32 %0, %1, %2, %3;" : "=r"(u) : "r"(3u), "r"(10u), "r"(100u));
  CHECK(u == 107);
  asm("mad.hi.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(-3), "r"(1 << 30), "r"(7));
  CHECK(d == 6);
  CHECK(mul24(0x1000001, -3) == -3 && high64(~0ull, ~0ull) == ~0ull - 1 && add_sat(2147483647, t + 1) == 2147483647);
  unsigned low, high;
  asm("{ add.cc.u32 %0, %2, %3; addc.u32 %1, %4, %5; }"
      : "=r"(low), "=r"(high)
      : "r"(~0u), "r"(1u + t), "r"(1u), "r"(2u));
  CHECK(low == unsigned(t) && high == 4);
  asm("sub.cc.u32 %0, %2, %3; subc.u32 %1, %4, %5;" : "=r"(low), "=r"(high) : "r"(1u), "r"(2u), "r"(9u), "r"(2u));
  CHECK(low == ~0u && high == 6);
  asm("mad.lo.cc.u32 %0, %2, %3, %4; madc.hi.u32 %1, %2, %3, 0;"
      : "=r"(low), "=r"(high)
      : "r"(~0u), "r"(~0u), "r"(~0u));
  CHECK(low == 0 && high == ~0u);
  asm("{ .reg .pred p, q; setp.lt.and.s32 p|q, %1, 5, 1; selp.s32 %0, 1, 0, q; }" : "=r"(d) : "r"(t));
  CHECK(d == (t >= 5));
  asm("set.gt.u32.s32 %0, %1, 3;" : "=r"(u) : "r"(t));
  CHECK(u == (t > 3 ? ~0u : 0u));
  asm("slct.s32.s32 %0, 11, 22, %1;" : "=r"(d) : "r"(t - 4));
  CHECK(d == (t >= 4 ? 11 : 22));
}

__global__ void reals() {
  const float nan = __int_as_float(0x7fc00000), least = __int_as_float(1), big = 16777216.0f;
  CHECK(add_rz(big, 1.5f) == big && add_rp(big, 0.25f) == big + 2 && add_ftz(least, least) == 0);
  CHECK(mul_sat(2.0f, 3.0f) == 1 && mul_sat(-2.0f, 3.0f) == 0 && mul_sat(nan, 1.0f) == 0);
  CHECK(isnan(min_nan(1.0f, nan)) && fminf(1.0f, nan) == 1 && signs(-2.0f, 3.0f) == -3);
  float f;
  asm("fma.rm.f32 %0, %1, %2, %3;" : "=f"(f) : "f"(big), "f"(1.0f), "f"(-0.25f));
  CHECK(f == big - 1);
  int d;
  asm("{ .reg .pred p; setp.ne.f32 p, %1, %1; selp.s32 %0, 1, 0, p; }" : "=r"(d) : "f"(nan));
  CHECK(d == 0);
  asm("{ .reg .pred p; setp.neu.f32 p, %1, %1; selp.s32 %0, 1, 0, p; }" : "=r"(d) : "f"(nan));
  CHECK(d == 1);
  asm("{ .reg .pred p; testp.subnormal.f32 p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(d) : "f"(least));
  CHECK(d == 1);
  const __half2 sum = __floats2half2_rn(3.0f, -1.0f);
  unsigned pair, bits = add_h2(0x3c003c00u, 0xc0004000u);  // (1, 1) + (2, -2)
  memcpy(&pair, &sum, 4);
  CHECK(bits == pair);
  asm("fma.rn.f16x2 %0, %1, %1, %2;" : "=r"(bits) : "r"(0x42004200u), "r"(0xbc003c00u));  // 9 + 1, 9 - 1
  CHECK(bits == 0x48004900u);
}

__global__ void conversions() {
  int d;
  unsigned u;
  float f;
  unsigned short h;
  asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(d) : "f"(300.0f));
  CHECK(d == 127);
  asm("cvt.sat.u8.s32 %0, %1;" : "=r"(u) : "r"(-7));
  CHECK(u == 0);
  asm("cvt.rz.f32.s32 %0, %1;" : "=f"(f) : "r"(16777219));
  CHECK(f == 16777218.0f);
  asm("cvt.rp.f32.f64 %0, %1;" : "=f"(f) : "d"(1.0 + 1e-12));
  CHECK(f == __int_as_float(0x3f800001));
  asm("cvt.sat.f32.f32 %0, %1;" : "=f"(f) : "f"(1.5f));
  CHECK(f == 1);
  asm("cvt.rmi.f32.f32 %0, %1;" : "=f"(f) : "f"(-1.5f));
  CHECK(f == -2);
  asm("cvt.rz.f16.f32 %0, %1;" : "=h"(h) : "f"(70000.0f));
  CHECK(h == 0x7bff);
  asm("cvt.rn.f16.s32 %0, %1;" : "=h"(h) : "r"(2049));
  CHECK(h == 0x6800);
  asm("cvt.rz.f16x2.f32 %0, %1, %2;" : "=r"(u) : "f"(1.0009f), "f"(2.0f));
  CHECK(u == 0x3c004000u);
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(u) : "r"(300), "r"(-1), "r"(0x1234));
  CHECK(u == 0x1234ff00u);
  asm("cvt.pack.sat.s4.s32.b32 %0, %1, %2, %3;" : "=r"(u) : "r"(9), "r"(-9), "r"(0x1234567));
  CHECK(u == 0x23456778u);
  asm("cvt.pack.sat.u2.s32.b32 %0, %1, %2, %3;" : "=r"(u) : "r"(2), "r"(5), "r"(1));
  CHECK(u == 0x1bu);
}

__global__ void warps(unsigned* memory, unsigned policy_of) {
  const int t = threadIdx.x;
  int d, in;
  asm volatile("{ .reg .pred p; shfl.sync.up.b32 %0|p, %2, 3, 0, -1; selp.s32 %1, 1, 0, p; }"
               : "=r"(d), "=r"(in)
               : "r"(t));
  CHECK(d == (t >= 3 ? t - 3 : t) && in == (t >= 3));
  asm volatile("{ .reg .pred p; shfl.sync.down.b32 %0|p, %2, 3, 0x1807, -1; selp.s32 %1, 1, 0, p; }"
               : "=r"(d), "=r"(in)
               : "r"(t));
  CHECK(in == (t % 8 < 5) && (!in || d == t + 3));
  unsigned mask, same;
  asm volatile("{ .reg .pred p; match.all.sync.b32 %0|p, %2, -1; selp.u32 %1, 1, 0, p; }"
               : "=r"(mask), "=r"(same)
               : "r"(7));
  CHECK(mask == ~0u && same == 1);
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(mask) : "r"(t * 0x20002 + 0x10000));
  CHECK(mask == unsigned(t % 4 * 2 * 8 + t / 4 | (t % 4 * 2 * 8 + 8 + t / 4) << 16));  // element 8 row + column
  __shared__ __align__(16) unsigned short s[8][8];
  const unsigned row = static_cast<unsigned>(__cvta_generic_to_shared(s[t % 8]));
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(row), "r"(t * 0x20002 + 0x10000)
               : "memory");
  __syncwarp();
  CHECK(s[t % 8][t / 8] == t / 8 * 8 + t % 8 && s[t % 8][t / 8 + 4] == (t / 8 + 4) * 8 + t % 8);
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("ld.global.nc.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;"
               : "=r"(mask), "=r"(same)
               : "l"(memory), "l"(policy));
  CHECK(mask == 5 && same == 6);
  asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(memory + 2), "r"(0x3c004000u) : "memory");
  asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(memory + 4), "f"(1.0f), "f"(2.0f) : "memory");
}

// Bytes of small values, by the fragments of the PTX ISA.
__global__ void bytes() {
  const int t = threadIdx.x, group = t / 4, within = t % 4;
  const auto left = [](int row, int k) { return (row * 3 + k) % 7 - 3; };
  const auto right = [](int k, int col) { return (k * 5 + col) % 9 - 4; };
  unsigned a[4] = {}, b[2] = {};
  for (int i = 0; i < 16; ++i)
    a[i / 4] |= unsigned(left(group + (i / 4 % 2) * 8, within * 4 + i % 4 + i / 8 * 16) & 255) << 8 * (i % 4);
  for (int i = 0; i < 8; ++i) b[i / 4] |= unsigned(right(within * 4 + i % 4 + i / 4 * 16, group) & 255) << 8 * (i % 4);
  int d[4];
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %10, %10, %10};"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(100));
  for (int i = 0; i < 4; ++i) {
    int sum = 100;
    for (int k = 0; k < 32; ++k) sum += left(group + i / 2 * 8, k) * right(k, within * 2 + i % 2);
    CHECK(d[i] == sum);
  }
}

// m16n8k16 and m16n8k8 with accumulators of f16. Every result is an exact sum that is rounded once: 2048 + 1 is a tie
// that goes to even, and whatever lies above the tie goes up.
__global__ void sums_of_f16() {
  const int t = threadIdx.x;
  const bool first_column = t % 4 == 0;  // k = 0 and 1
  unsigned d[2];
  const auto multiply = [&](unsigned a, unsigned b, unsigned c) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %2, %3, %3}, {%4, %3}, {%5, %5};"
                 : "=r"(d[0]), "=r"(d[1])
                 : "r"(first_column ? a : 0u), "r"(0u), "r"(first_column ? b : 0u), "r"(c));
  };
  multiply(0x00003c00u, 0x00003c00u, 0x68006800u);  // 2048 + 1 * 1
  CHECK(d[0] == 0x68006800u && d[1] == 0x68006800u);
  multiply(0x00013c00u, 0x3c003c00u, 0x68006800u);  // 2048 + 1 + 2^-24: below the last bit that the hardware aligns
  CHECK(d[0] == 0x68006800u);
  multiply(0x0c003c00u, 0x3c003c00u, 0x68006800u);  // 2048 + 1 + 2^-12
  CHECK(d[0] == 0x68016801u);
  multiply(0x00007bffu, 0x00004000u, 0x00000000u);  // 65504 * 2
  CHECK(d[0] == 0x7c007c00u);
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %2}, {%3}, {%4, %4};"
               : "=r"(d[0]), "=r"(d[1])
               : "r"(0x3c003c00u), "r"(0x40004000u), "r"(0x3c003c00u));
  CHECK(d[0] == 0x4c404c40u && d[1] == 0x4c404c40u);  // 1 + 8 * 2
}

int main(int count, char** words) {
  const auto is = [&](const char* name) { return count == 2 && std::strcmp(words[1], name) == 0; };
  unsigned h[6] = {5, 6, 0, 0, 0, 0}, *memory;
  cudaMalloc(&memory, sizeof h);
  cudaMemcpy(memory, h, sizeof h, cudaMemcpyHostToDevice);
  if (is("bits")) bits<<<1, 32>>>();
  if (is("integers")) integers<<<1, 32>>>();
  if (is("reals")) reals<<<1, 32>>>();
  if (is("conversions")) conversions<<<1, 32>>>();
  if (is("bytes")) bytes<<<1, 32>>>();
  if (is("sums-of-f16")) sums_of_f16<<<1, 32>>>();
  if (is("warps")) {
    warps<<<1, 32>>>(memory, 0);
    cudaMemcpy(h, memory, sizeof h, cudaMemcpyDeviceToHost);
    float sums[2];
    std::memcpy(sums, h + 4, sizeof sums);
    if (h[2] != 0x50005400u || sums[0] != 32 || sums[1] != 64) return 1;  // 32 times (2, 1), and (1, 2)
  }
  int wrong = 0;
  cudaMemcpyFromSymbol(&wrong, failures, sizeof wrong);
  cudaFree(memory);
  return wrong;
}
