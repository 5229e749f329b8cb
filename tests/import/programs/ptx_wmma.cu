// wmma as PTX: fragments are loaded, multiplied, added and stored by one warp; sums of the host must be equal.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <vector>

#include "on_device.cuh"

#define R2 "{%0, %1}"
#define R4 "{%0, %1, %2, %3}"
#define R8 "{%0, %1, %2, %3, %4, %5, %6, %7}"
#define OUT2(r) "=r"(r[0]), "=r"(r[1])
#define OUT4(r) OUT2(r), "=r"(r[2]), "=r"(r[3])
#define OUT8(r) OUT4(r), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
#define INOUT2(r) "+r"(r[0]), "+r"(r[1])
#define INOUT4(r) INOUT2(r), "+r"(r[2]), "+r"(r[3])
#define INOUT8(r) INOUT4(r), "+r"(r[4]), "+r"(r[5]), "+r"(r[6]), "+r"(r[7])
#define IN2(r) "r"(r[0]), "r"(r[1])
#define IN4(r) IN2(r), "r"(r[2]), "r"(r[3])
#define IN8(r) IN4(r), "r"(r[4]), "r"(r[5]), "r"(r[6]), "r"(r[7])

__device__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// A by rows from shared memory, B by columns.
__global__ void of_f16(const __half* a, const __half* b, float* d) {
  __shared__ __half left[16 * 16];
  for (int i = threadIdx.x; i < 16 * 16; i += 32) left[i] = a[i];
#ifndef NO_BARRIER
  __syncwarp();
#endif
  uint32_t x[8], y[8], sum[8];
  asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 " R8 ", [%8];" : OUT8(x) : "r"(shared_address(left)));
  asm volatile("wmma.load.b.sync.aligned.col.m16n16k16.global.f16 " R8 ", [%8], %9;" : OUT8(y) : "l"(b), "r"(16));
  asm volatile("wmma.load.c.sync.aligned.row.m16n16k16.global.f32 " R8 ", [%8], %9;" : OUT8(sum) : "l"(d), "r"(16));
  asm volatile(
      "{\n .reg .b32 d<8>;\n"
      "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {d0, d1, d2, d3, d4, d5, d6, d7}, {%8, %9, %10, %11, %12, %13, "
      "%14, %15}, {%16, %17, %18, %19, %20, %21, %22, %23}, " R8
      ";\n"
      "mov.b32 %0, d0; mov.b32 %1, d1; mov.b32 %2, d2; mov.b32 %3, d3;\n"
      "mov.b32 %4, d4; mov.b32 %5, d5; mov.b32 %6, d6; mov.b32 %7, d7;\n}"
      : INOUT8(sum)
      : IN8(x), IN8(y));
  asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%8], " R8 ", 16;" ::IN8(sum), "l"(d) : "memory");
}

// Sums of f16, by columns.
__global__ void of_f16_alone(const __half* a, const __half* b, __half* d) {
  uint32_t x[8], y[8], sum[4];
  asm volatile("wmma.load.a.sync.aligned.row.m32n8k16.f16 " R8 ", [%8], %9;" : OUT8(x) : "l"(a), "r"(16));
  asm volatile("wmma.load.b.sync.aligned.col.m32n8k16.f16 " R8 ", [%8], %9;" : OUT8(y) : "l"(b), "r"(16));
  asm volatile("wmma.load.c.sync.aligned.col.m32n8k16.f16 " R4 ", [%4], %5;" : OUT4(sum) : "l"(d), "r"(32));
  asm volatile("wmma.mma.sync.aligned.row.col.m32n8k16.f16.f16 " R4
               ", {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15, %16, %17, %18, %19}, " R4 ";"
               : INOUT4(sum)
               : IN8(x), IN8(y));
  asm volatile("wmma.store.d.sync.aligned.col.m32n8k16.f16 [%4], " R4 ", %5;" ::IN4(sum), "l"(d), "r"(32) : "memory");
}

__global__ void of_bf16(const __nv_bfloat16* a, const __nv_bfloat16* b, float* d) {
  uint32_t x[2], y[8], sum[8];
  asm volatile("wmma.load.a.sync.aligned.row.m8n32k16.bf16 " R2 ", [%2], %3;" : OUT2(x) : "l"(a), "r"(16));
  asm volatile("wmma.load.b.sync.aligned.col.m8n32k16.bf16 " R8 ", [%8], %9;" : OUT8(y) : "l"(b), "r"(16));
  asm volatile("wmma.load.c.sync.aligned.row.m8n32k16.f32 " R8 ", [%8], %9;" : OUT8(sum) : "l"(d), "r"(32));
  asm volatile("wmma.mma.sync.aligned.row.col.m8n32k16.f32.bf16.bf16.f32 " R8
               ", {%8, %9}, {%10, %11, %12, %13, %14, %15, %16, %17}, " R8 ";"
               : INOUT8(sum)
               : IN2(x), IN8(y));
  asm volatile("wmma.store.d.sync.aligned.row.m8n32k16.f32 [%8], " R8 ", %9;" ::IN8(sum), "l"(d), "r"(32) : "memory");
}

__global__ void of_tf32(const float* a, const float* b, float* d) {
  uint32_t x[4], y[4], sum[8];
  asm volatile("wmma.load.a.sync.aligned.row.m16n16k8.tf32 " R4 ", [%4], %5;" : OUT4(x) : "l"(a), "r"(8));
  asm volatile("wmma.load.b.sync.aligned.col.m16n16k8.tf32 " R4 ", [%4], %5;" : OUT4(y) : "l"(b), "r"(8));
  asm volatile("wmma.load.c.sync.aligned.row.m16n16k8.f32 " R8 ", [%8], %9;" : OUT8(sum) : "l"(d), "r"(16));
  asm volatile("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32 " R8
               ", {%8, %9, %10, %11}, {%12, %13, %14, %15}, " R8 ";"
               : INOUT8(sum)
               : IN4(x), IN4(y));
  asm volatile("wmma.store.d.sync.aligned.row.m16n16k8.f32 [%8], " R8 ", %9;" ::IN8(sum), "l"(d), "r"(16) : "memory");
}

__global__ void of_bytes(const int8_t* a, const int8_t* b, int* d) {
  uint32_t x[2], y[2], sum[8];
  asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.s8 " R2 ", [%2], %3;" : OUT2(x) : "l"(a), "r"(16));
  asm volatile("wmma.load.b.sync.aligned.col.m16n16k16.s8 " R2 ", [%2], %3;" : OUT2(y) : "l"(b), "r"(16));
  asm volatile("wmma.load.c.sync.aligned.row.m16n16k16.s32 " R8 ", [%8], %9;" : OUT8(sum) : "l"(d), "r"(16));
  asm volatile("wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 " R8 ", {%8, %9}, {%10, %11}, " R8 ";"
               : INOUT8(sum)
               : IN2(x), IN2(y));
  asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.s32 [%8], " R8 ", %9;" ::IN8(sum), "l"(d), "r"(16) : "memory");
}

__global__ void of_f64(const double* a, const double* b, double* d) {
  double x, y, sum[2];
  asm volatile("wmma.load.a.sync.aligned.row.m8n8k4.f64 {%0}, [%1], %2;" : "=d"(x) : "l"(a), "r"(4));
  asm volatile("wmma.load.b.sync.aligned.col.m8n8k4.f64 {%0}, [%1], %2;" : "=d"(y) : "l"(b), "r"(4));
  asm volatile("wmma.load.c.sync.aligned.row.m8n8k4.f64 {%0, %1}, [%2], %3;"
               : "=d"(sum[0]), "=d"(sum[1])
               : "l"(d), "r"(8));
  asm volatile("wmma.mma.sync.aligned.row.col.m8n8k4.rn.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(sum[0]), "+d"(sum[1])
               : "d"(x), "d"(y));
  asm volatile("wmma.store.d.sync.aligned.row.m8n8k4.f64 [%2], {%0, %1}, %3;" ::"d"(sum[0]), "d"(sum[1]), "l"(d), "r"(8)
               : "memory");
}

// Bits that are set in both.
__global__ void of_bits(const uint32_t* a, const uint32_t* b, int* d) {
  uint32_t x, y, sum[2];
  asm volatile("wmma.load.a.sync.aligned.row.m8n8k128.b1 {%0}, [%1], %2;" : "=r"(x) : "l"(a), "r"(128));
  asm volatile("wmma.load.b.sync.aligned.col.m8n8k128.b1 {%0}, [%1], %2;" : "=r"(y) : "l"(b), "r"(128));
  asm volatile("wmma.load.c.sync.aligned.row.m8n8k128.s32 " R2 ", [%2], %3;" : OUT2(sum) : "l"(d), "r"(8));
  asm volatile("wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 " R2 ", {%2}, {%3}, " R2 ";"
               : INOUT2(sum)
               : "r"(x), "r"(y));
  asm volatile("wmma.store.d.sync.aligned.row.m8n8k128.s32 [%2], " R2 ", %3;" ::IN2(sum), "l"(d), "r"(8) : "memory");
}

template <class T, class Sum>
bool is_right(void (*kernel)(const T*, const T*, Sum*), int m, int n, int k, bool by_rows = true) {
  const bool of_bits = k == 128;
  const int words = of_bits ? 4 : k;
  std::vector<T> a(m * words), b(n * words);
  std::vector<Sum> before(m * n);
  const auto number = [of_bits](int i, int by) { return static_cast<T>(of_bits ? i * by * 104729 : i * by % 9 - 4); };
  for (int i = 0; i < m * words; ++i) a[i] = number(i, 7);
  for (int i = 0; i < n * words; ++i) b[i] = number(i, 5);
  for (int i = 0; i < m * n; ++i) before[i] = static_cast<Sum>(i % 11);
  const on_device<T> on_a(a), on_b(b);
  const on_device<Sum> on_d(before);
  kernel<<<1, 32>>>(on_a.p, on_b.p, on_d.p);
  const std::vector<Sum> after = on_d.host();
  for (int row = 0; row < m; ++row)
    for (int col = 0; col < n; ++col) {
      const int at = by_rows ? row * n + col : col * m + row;
      double sum = static_cast<double>(before[at]);
      for (int i = 0; i < words; ++i) {
        const T x = a[row * words + i], y = b[col * words + i];
        if constexpr (std::is_same_v<T, uint32_t>)
          sum += __builtin_popcount(x & y);
        else
          sum += static_cast<double>(static_cast<float>(x)) * static_cast<float>(y);
      }
      if (static_cast<double>(after[at]) != sum) return std::printf("%d %d\n", row, col), false;
    }
  return true;
}

int main() {
  const bool right[] = {is_right(of_f16, 16, 16, 16),   is_right(of_f16_alone, 32, 8, 16, false),
                        is_right(of_bf16, 8, 32, 16),   is_right(of_tf32, 16, 16, 8),
                        is_right(of_bytes, 16, 16, 16), is_right(of_f64, 8, 8, 4),
                        is_right(of_bits, 8, 8, 128)};
  int wrong = 0;
  for (const bool r : right) wrong += !r;
  return wrong;
}
