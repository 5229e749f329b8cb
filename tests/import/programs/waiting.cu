// Waits of threads for each other, most by libcu++, each in a mode of its own. Every thread writes its part of s, and
// reads another's after the wait.
#include <cuda_runtime.h>
#include <cuda/atomic>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/atomic>
#include <cuda/std/barrier>

#include <cstring>
#include <new>

constexpr int k_threads = 64;

__device__ int other() { return k_threads - 1 - threadIdx.x; }

__global__ void latch(int* y) {
  using latch = cuda::latch<cuda::thread_scope_block>;
  __shared__ alignas(latch) char place[sizeof(latch)];
  __shared__ int s[k_threads];
  latch* const l = reinterpret_cast<latch*>(place);
  if (threadIdx.x == 0) new (place) latch(blockDim.x);
  __syncthreads();
  s[threadIdx.x] = threadIdx.x;
#ifdef NO_WAIT
  l->count_down();
#else
  l->arrive_and_wait();  // arrive
#endif
  y[threadIdx.x] = s[other()] == other();
}

__global__ void semaphore(int* y) {
  using lock = cuda::binary_semaphore<cuda::thread_scope_block>;
  __shared__ alignas(lock) char place[sizeof(lock)];
  __shared__ int sum;
  lock* const l = reinterpret_cast<lock*>(place);
  if (threadIdx.x == 0) sum = 0, new (place) lock(1);
  __syncthreads();
  l->acquire();
  ++sum;
  l->release();
  __syncthreads();
  y[threadIdx.x] = sum == k_threads;
}

__global__ void flag(int* y) {
  __shared__ alignas(8) char place[sizeof(cuda::std::atomic_flag)];
  __shared__ int sum;
  auto* const f = reinterpret_cast<cuda::std::atomic_flag*>(place);
  if (threadIdx.x == 0) sum = 0, new (place) cuda::std::atomic_flag();
  __syncthreads();
  while (f->test_and_set(cuda::std::memory_order_acquire)) f->wait(true, cuda::std::memory_order_relaxed);
  ++sum;
  f->clear(cuda::std::memory_order_release);
  f->notify_one();
  __syncthreads();
  y[threadIdx.x] = sum == k_threads && !f->test();
}

__global__ void waits(int* y) {
  __shared__ alignas(8) char place[sizeof(cuda::std::atomic<int>)];
  __shared__ int data;
  auto* const a = reinterpret_cast<cuda::std::atomic<int>*>(place);
  if (threadIdx.x == 0) new (place) cuda::std::atomic<int>(0);
  __syncthreads();
  if (threadIdx.x == k_threads - 1) {
    data = 7;
    a->store(1, cuda::std::memory_order_release);
    a->notify_all();
  }
  a->wait(0, cuda::std::memory_order_acquire);
  cuda::std::atomic_ref ref(y[k_threads]);
  ref.fetch_add(data);
  y[threadIdx.x] = data == 7;
}

__global__ void barrier(int* y) {
  __shared__ alignas(8) char place[sizeof(cuda::std::barrier<>)];
  __shared__ int s[k_threads];
  auto* const b = reinterpret_cast<cuda::std::barrier<>*>(place);
  if (threadIdx.x == 0) new (place) cuda::std::barrier<>(blockDim.x);
  __syncthreads();
  s[threadIdx.x] = threadIdx.x;
  b->arrive_and_wait();
  y[threadIdx.x] = s[other()] == other();
}

// A lane polls for its whole warp, which meets in each round; block 0 waits for block 1.
__global__ void shuffled(int* y) {
  int* const flag = y + k_threads;
  if (blockIdx.x == 1) {
    __threadfence();
    if (threadIdx.x == 0) atomicExch(flag, 1);
    return;
  }
  for (int v = 0; v == 0; v = __shfl_sync(~0u, v, 0))
    if (threadIdx.x % 32 == 0) v = atomicAdd(flag, 0);
  y[threadIdx.x] = 1;
}

int main(int count, char** words) {
  const auto is = [&](const char* name) { return count == 2 && std::strcmp(words[1], name) == 0; };
  int h[k_threads + 1] = {}, *y;
  cudaMalloc(&y, sizeof h);
  cudaMemcpy(y, h, sizeof h, cudaMemcpyHostToDevice);
  if (is("latch")) latch<<<1, k_threads>>>(y);
  if (is("semaphore")) semaphore<<<1, k_threads>>>(y);
  if (is("flag")) flag<<<1, k_threads>>>(y);
  if (is("wait")) waits<<<1, k_threads>>>(y);
  if (is("barrier")) barrier<<<1, k_threads>>>(y);
  if (is("shuffled")) shuffled<<<2, k_threads>>>(y);
  cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(y);
  for (int i = 0; i < k_threads; ++i)
    if (h[i] != 1) return 1;
  return is("wait") && h[k_threads] != 7 * k_threads;
}
