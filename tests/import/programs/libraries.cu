// Tensor cores through wmma, and barriers and pipelines of libcu++, each in a mode of its own.
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cuda/barrier>
#include <cuda/pipeline>

#include "on_device.cuh"

namespace cg = cooperative_groups;
namespace wmma = nvcuda::wmma;

constexpr int k_threads = 64, k_values = 1024;

__device__ float small(int row, int col) { return static_cast<float>((row * 7 + col * 3) % 9 - 4); }

template <class T, class Element, int K>
__device__ void product(const float*, float* y) {
  __shared__ __align__(32) Element a[16 * K], b[K * 16];
  __shared__ __align__(32) float d[256];
  for (int i = threadIdx.x; i < 16 * K; i += k_threads) a[i] = small(i / K, i % K), b[i] = small(i / 16, i % 16 + 20);
  __syncthreads();
  if (threadIdx.x < 32) {
    wmma::fragment<wmma::matrix_a, 16, 16, K, T, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, K, T, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, K, float> sum;
    wmma::fill_fragment(sum, 1.0f);
    wmma::load_matrix_sync(fa, a, K);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(sum, fa, fb, sum);
    for (int i = 0; i < sum.num_elements; ++i) sum.x[i] *= 2;
    wmma::store_matrix_sync(d, sum, 16, wmma::mem_col_major);
  }
  __syncthreads();
  bool right = true;
  for (int i = threadIdx.x; i < 256; i += k_threads) {
    float sum = 1;
    for (int k = 0; k < K; ++k) sum += small(i % 16, k) * small(k, i / 16 + 20);
    right &= d[i] == 2 * sum;
  }
  y[threadIdx.x] = right;
}
__global__ void half_product(const float* x, float* y) { product<__half, __half, 16>(x, y); }
__global__ void tf32_product(const float* x, float* y) { product<wmma::precision::tf32, float, 8>(x, y); }

using block_barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void barrier(const float* x, float* y) {
  __shared__ __align__(16) float s[k_threads];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ block_barrier full;
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&full, block.size());
  block.sync();
  cuda::memcpy_async(block, s, x, cuda::aligned_size_t<16>(sizeof s), full);
#ifdef NO_WAIT
  (void)full.arrive();
#else
  block_barrier::arrival_token token = full.arrive();
  full.wait(std::move(token));
#endif
  const int other = k_threads - 1 - threadIdx.x;
  bool right = s[other] == x[other];
  full.arrive_and_wait();
  y[threadIdx.x] = right;
}

__global__ void barrier_tx(const float* x, float* y) {
  __shared__ __align__(128) float s[k_values];
  __shared__ block_barrier full;
  if (threadIdx.x == 0) {
    init(&full, blockDim.x);
    cuda::device::experimental::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  block_barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(s, x, cuda::aligned_size_t<16>(sizeof s), full);
    token = cuda::device::barrier_arrive_tx(full, 1, sizeof s);
  } else {
    token = full.arrive();
  }
  full.wait(std::move(token));
  y[threadIdx.x] = s[5 * threadIdx.x] == x[5 * threadIdx.x];
}

// Two stages of the thread's own.
__global__ void pipeline(const float* x, float* y) {
  __shared__ float s[2][k_threads];
  const int t = threadIdx.x;
  cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
  float sum = 0, expected = 0;
  for (int step = 0; step < 2; ++step) {
    pipe.producer_acquire();
    cuda::memcpy_async(&s[step][t], x + step * k_threads + t, sizeof(float), pipe);
    pipe.producer_commit();
  }
  for (int step = 0; step < 5; ++step) {
    pipe.consumer_wait();
    sum += s[step % 2][t], expected += x[step * k_threads + t];
    pipe.consumer_release();
    if (step + 2 >= 5) continue;
    pipe.producer_acquire();
    cuda::memcpy_async(&s[step % 2][t], x + (step + 2) * k_threads + t, sizeof(float), pipe);
    pipe.producer_commit();
  }
  y[t] = sum == expected;
}

// A warp brings, another one adds up.
__global__ void pipeline_of_a_block(const float* x, float* y) {
  constexpr int k_stages = 2, k_steps = 7;
  __shared__ float s[k_stages][32];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, k_stages> state;
  auto block = cg::this_thread_block();
  const bool produces = threadIdx.x < 32;
  auto pipe =
      cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  const int lane = threadIdx.x % 32;
  float sum = 0, expected = 0;
  for (int step = 0; step < k_steps; ++step) {
    float* stage = s[step % k_stages];
    if (produces) {
      pipe.producer_acquire();
      cuda::memcpy_async(stage + lane, x + 32 * step + lane, sizeof(float), pipe);
      pipe.producer_commit();
    } else {
#ifndef NO_WAIT
      pipe.consumer_wait();
#endif
      sum += stage[31 - lane], expected += x[32 * step + 31 - lane];
      pipe.consumer_release();
    }
  }
  y[threadIdx.x] = sum == expected;
}

int main(int argc, char** argv) {
  const kernel_mode modes[] = {{"wmma", half_product}, {"tf32", tf32_product},
                               {"barrier", barrier},   {"barrier-tx", barrier_tx},
                               {"pipeline", pipeline}, {"pipeline-of-a-block", pipeline_of_a_block}};
  return run_kernels(argc, argv, modes, k_threads, k_values);
}
