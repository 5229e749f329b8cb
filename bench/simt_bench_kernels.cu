// Kernels whose running time on the emulated device is measured.
#include "bench/simt_bench_kernels.hpp"

#include "bench/sample_kernels.hpp"
#include "simt/simt.hpp"

namespace warpcheck::bench {
inline namespace SIMT_DEVICE_NS {
namespace {

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

// Sums of seven neighbours: threads of one warp or of two read the same words.
__global__ void stencil(const float* in, float* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < 3 || i >= n - 3) return;
  float sum = 0;
  for (int d = -3; d <= 3; ++d) sum += in[i + d];
  out[i] = sum;
}

// Counts by an atomic for each element, in shared memory, then by one for each block and bin.
__global__ void count_bins(const int* in, int* bins, int n) {
  SIMT_SHARED(mine, int[256]);
  const int t = static_cast<int>(threadIdx.x), step = static_cast<int>(gridDim.x * blockDim.x);
  mine[t] = 0;
  __syncthreads();
  for (int i = static_cast<int>(blockIdx.x * blockDim.x) + t; i < n; i += step) atomicAdd(&mine[in[i] & 255], 1);
  __syncthreads();
  atomicAdd(&bins[t], mine[t]);
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
  simt::launch({dim3(rows), dim3(256), 0, stream}, softmax_rows<true>, in, out, cols);
}
void run_tiled_product(const float* a, const float* b, float* c, int n, simt::stream_t stream) {
  const auto tiles = static_cast<unsigned>(n / 16);
  simt::launch({dim3(tiles, tiles), dim3(16, 16), 0, stream}, tiled_product<16>, a, b, c, n);
}
void run_stencil(const float* in, float* out, int n, simt::stream_t stream) {
  simt::launch({dim3(static_cast<unsigned>(n / 256)), dim3(256), 0, stream}, stencil, in, out, n);
}
void run_count_bins(const int* in, int* bins, int n, simt::stream_t stream) {
  simt::launch({dim3(static_cast<unsigned>(n / 4096)), dim3(256), 0, stream}, count_bins, in, bins, n);
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
