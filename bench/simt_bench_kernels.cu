// Kernels whose running time on the emulated device is measured.
#include "bench/simt_bench_kernels.hpp"

#include "simt/simt.hpp"

namespace warpcheck::bench {
inline namespace SIMT_DEVICE_NS {
namespace {

template <bool Max>
__device__ __forceinline__ float block_reduce(float v, float* slots) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = static_cast<int>(blockDim.x + 31) >> 5;
  for (int d = 16; d > 0; d >>= 1) {
    const float other = __shfl_xor_sync(0xffffffffu, v, d);
    v = Max ? fmaxf(v, other) : v + other;
  }
  if (lane == 0) slots[warp] = v;
  __syncthreads();
  v = lane < warps ? slots[lane] : (Max ? -INFINITY : 0.0f);
  for (int d = 16; d > 0; d >>= 1) {
    const float other = __shfl_xor_sync(0xffffffffu, v, d);
    v = Max ? fmaxf(v, other) : v + other;
  }
  __syncthreads();  // the slots are used again
  return v;
}

__global__ void softmax_rows(const float* __restrict__ in, float* __restrict__ out, int cols) {
  SIMT_SHARED(slots, float[32]);
  const float* x = in + static_cast<int64_t>(blockIdx.x) * cols;
  float* y = out + static_cast<int64_t>(blockIdx.x) * cols;
  const int first = static_cast<int>(threadIdx.x), step = static_cast<int>(blockDim.x);
  float m = -INFINITY;
  for (int c = first; c < cols; c += step) m = fmaxf(m, x[c]);
  m = block_reduce<true>(m, slots);
  float s = 0.0f;
  for (int c = first; c < cols; c += step) s += expf(x[c] - m);
  s = block_reduce<false>(s, slots);
  const float scale = 1.0f / s;
  for (int c = first; c < cols; c += step) y[c] = expf(x[c] - m) * scale;
}

__global__ void barriers(int count) {
  for (int i = 0; i < count; ++i) __syncthreads();
}

__global__ void warp_barriers(int count) {
  for (int i = 0; i < count; ++i) __syncwarp();
}

__global__ void nothing(int* p) {
  if (threadIdx.x == 9999) *p = 1;
}

// Three barriers and a few shared accesses: the cost of a small case of a property.
__global__ void rotate(const int* in, int* out) {
  SIMT_SHARED(s, int[128]);
  const int t = static_cast<int>(threadIdx.x), n = static_cast<int>(blockDim.x);
  s[t] = in[t];
  __syncthreads();
  const int v = s[(t + 1) % n];
  __syncthreads();
  s[t] = v;
  __syncthreads();
  out[t] = s[(t + 1) % n];
}

// Products of a warpgroup, four to a wait, of tiles in the layout of `in`: K-major, in 16-byte pieces.
template <int N, class T>
__global__ void multiply(const float* in, float* out, int steps) {
  constexpr int k_a = 512, k_b = N * 8;  // floats
  SIMT_DYN_SHARED(float, tiles);
  const int t = static_cast<int>(threadIdx.x);
  for (int i = t; i < k_a + k_b; i += 128) tiles[i] = in[i];
  simt::fence_proxy_async();
  __syncthreads();
  const auto a = simt::make_matrix_descriptor(tiles, 128, 256, simt::swizzle::none);
  const auto b = simt::make_matrix_descriptor(tiles + k_a, 128, 256, simt::swizzle::none);
  float sum[N / 2] = {};
  for (int i = 0; i < steps; i += 4) {
    simt::wgmma_fence(sum);
    for (int j = 0; j < 4; ++j) simt::wgmma<N, T>(sum, a, b);
    simt::wgmma_commit();
    simt::wgmma_wait<0>(sum);
  }
  for (int i = 0; i < N / 2; ++i) out[t * (N / 2) + i] = sum[i];
}

}  // namespace

void run_bf16_products(const float* in, float* out, int steps, simt::stream_t stream) {
  simt::launch({dim3(1), dim3(128), 4096, stream}, multiply<64, simt::bf16>, in, out, steps);
}
void run_tf32_products(const float* in, float* out, int steps, simt::stream_t stream) {
  simt::launch({dim3(1), dim3(128), 6144, stream}, multiply<128, simt::tf32>, in, out, steps);
}
void run_softmax(const float* in, float* out, unsigned rows, int cols, simt::stream_t stream) {
  simt::launch({dim3(rows), dim3(256), 0, stream}, softmax_rows, in, out, cols);
}
void run_barriers(unsigned blocks, unsigned threads, int count, simt::stream_t stream) {
  simt::launch({dim3(blocks), dim3(threads), 0, stream}, barriers, count);
}
void run_warp_barriers(unsigned blocks, unsigned threads, int count, simt::stream_t stream) {
  simt::launch({dim3(blocks), dim3(threads), 0, stream}, warp_barriers, count);
}
void run_nothing(unsigned blocks, unsigned threads, simt::stream_t stream) {
  simt::launch({dim3(blocks), dim3(threads), 0, stream}, nothing, static_cast<int*>(nullptr));
}
void run_rotate(const int* in, int* out, simt::stream_t stream) {
  simt::launch({dim3(1), dim3(128), 0, stream}, rotate, in, out);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::bench
