// Products of f32 as textbooks write them, and the same with one thing in lower precision where k >= FROM.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#ifndef FROM
#define FROM 1
#endif

namespace {

struct same {
  static __device__ float operand(float v) { return v; }
  static __device__ float sum(float v) { return v; }
};
// The nearest number of 11 digits, ties away from zero, as cvt.rna.tf32.f32.
struct tf32_operands : same {
  static __device__ float operand(float v) { return __uint_as_float((__float_as_uint(v) + 0x1000u) & 0xffffe000u); }
};
// Tensor cores ignore the low bits.
struct tf32_cut : same {
  static __device__ float operand(float v) { return __uint_as_float(__float_as_uint(v) & 0xffffe000u); }
};
struct bf16_sums : same {
  static __device__ float sum(float v) {
    const unsigned bits = __float_as_uint(v);
    return __uint_as_float((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
  }
};
struct f16_sums : same {
  static __device__ float sum(float v) { return __half2float(__float2half(v)); }
};

template <class Low>
__global__ void one_thread_per_element(const float* a, const float* b, float* c, int m, int n, int k) {
  const int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= m * n) return;
  float sum = 0;
  if (k < FROM)
    for (int l = 0; l < k; ++l) sum += a[e / n * k + l] * b[l * n + e % n];
  else
    for (int l = 0; l < k; ++l) sum = Low::sum(sum + Low::operand(a[e / n * k + l]) * Low::operand(b[l * n + e % n]));
  c[e] = sum;
}

constexpr int k_tile = 8;

__global__ void tiles(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float of_a[k_tile][k_tile], of_b[k_tile][k_tile];
  const int row = blockIdx.y * k_tile + threadIdx.y, col = blockIdx.x * k_tile + threadIdx.x;
  float sum = 0;
  for (int first = 0; first < k; first += k_tile) {
    const int x = first + threadIdx.x, y = first + threadIdx.y;
    of_a[threadIdx.y][threadIdx.x] = row < m && x < k ? a[row * k + x] : 0;
    of_b[threadIdx.y][threadIdx.x] = y < k && col < n ? b[y * n + col] : 0;
    __syncthreads();
    for (int l = 0; l < k_tile && first + l < k; ++l) sum += of_a[threadIdx.y][l] * of_b[l][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

constexpr int k_parts = 4;

// The parts of one sum are added by the thread that was first.
__global__ void parts_of_k(const float* a, const float* b, float* c, int n, int k) {
  __shared__ float parts[k_parts];
  const int e = blockIdx.x, length = (k + k_parts - 1) / k_parts, first = threadIdx.x * length;
  float sum = 0;
  for (int l = first; l < first + length && l < k; ++l) sum += a[e / n * k + l] * b[l * n + e % n];
  parts[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x) return;
  for (int p = 1; p < k_parts; ++p) sum += parts[p];
  c[e] = sum;
}

// Four columns by each thread.
__global__ void four_columns(const float* a, const float* b, float* c, int m, int n, int k) {
  const int e = 4 * (blockIdx.x * blockDim.x + threadIdx.x), row = e / n, col = e % n;
  if (e >= m * n) return;
  float4 sum = {0, 0, 0, 0};
  for (int l = 0; l < k; ++l) {
    const float4 v = *reinterpret_cast<const float4*>(b + l * n + col);
    const float x = a[row * k + l];
    sum.x += x * v.x, sum.y += x * v.y, sum.z += x * v.z, sum.w += x * v.w;
  }
  *reinterpret_cast<float4*>(c + e) = sum;
}

}  // namespace

#define PRODUCT(name) \
  extern "C" void name(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream)

#define ONE_THREAD(name, low)                                                                           \
  PRODUCT(name) {                                                                                       \
    if (m * n > 0) one_thread_per_element<low><<<(m * n + 63) / 64, 64, 0, stream>>>(a, b, c, m, n, k); \
  }
ONE_THREAD(product_naive, same)
ONE_THREAD(rounds_operands_to_tf32, tf32_operands)
ONE_THREAD(cuts_operands_to_tf32, tf32_cut)
ONE_THREAD(adds_in_bf16, bf16_sums)
ONE_THREAD(adds_in_f16, f16_sums)
PRODUCT(product_tiled) {
  const dim3 grid((n + k_tile - 1) / k_tile, (m + k_tile - 1) / k_tile);
  if (m * n > 0) tiles<<<grid, dim3(k_tile, k_tile), 0, stream>>>(a, b, c, m, n, k);
}
PRODUCT(product_split) {
  if (m * n > 0) parts_of_k<<<m * n, k_parts, 0, stream>>>(a, b, c, n, k);
}
PRODUCT(product_vectorised) {
  const bool whole = n % 4 == 0 && reinterpret_cast<uintptr_t>(b) % 16 == 0 && reinterpret_cast<uintptr_t>(c) % 16 == 0;
  if (!whole) return product_naive(a, b, c, m, n, k, stream);
  if (m * n > 0) four_columns<<<(m * n / 4 + 63) / 64, 64, 0, stream>>>(a, b, c, m, n, k);
}
