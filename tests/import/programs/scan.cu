// Inclusive prefix sum of one block by doubling steps between two shared buffers. With SINGLE_BUFFER both are the same,
// so that a thread may overwrite what its neighbour still has to read.
#include <cuda_runtime.h>
#include <iostream>
#include <memory>

template <class T>
struct DynamicShared {
  __device__ static T* get() {
    extern __shared__ __align__(16) unsigned char raw_memory[];
    return reinterpret_cast<T*>(raw_memory);
  }
};

template <class T>
__global__ void inclusive_scan(T* data, int n) {
  T* from = DynamicShared<T>::get();
#ifdef SINGLE_BUFFER
  T* to = from;
#else
  T* to = from + blockDim.x;
#endif
  const int i = threadIdx.x;
  from[i] = i < n ? data[i] : T();
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    const T own = from[i];
    const T left = i >= d ? from[i - d] : T();  // race
    to[i] = own + left;
    __syncthreads();
    T* swap = from;
    from = to;
    to = swap;
  }
  if (i < n) data[i] = from[i];
}

void check(cudaError_t e) {
  if (e == cudaSuccess) return;
  std::cerr << "CUDA error: " << cudaGetErrorString(e) << '\n';
  exit(3);
}

int main() {
  constexpr int n = 100, threads = 128;
  auto host = std::make_unique<long long[]>(n);
  for (int i = 0; i < n; ++i) host[i] = i * i - 7;
  long long* device = nullptr;
  check(cudaMalloc(&device, n * sizeof *device));
  check(cudaMemcpy(device, host.get(), n * sizeof *device, cudaMemcpyHostToDevice));
  inclusive_scan<<<1, threads, 2 * threads * sizeof(long long)>>>(device, n);
  check(cudaPeekAtLastError());
  auto result = std::make_unique<long long[]>(n);
  check(cudaMemcpy(result.get(), device, n * sizeof *device, cudaMemcpyDeviceToHost));
  check(cudaFree(device));
  long long sum = 0;
  for (int i = 0; i < n; ++i)
    if ((sum += host[i]) != result[i]) {
      std::cout << "wrong at " << i << '\n';
      return 1;
    }
  std::cout << "scan of " << n << " elements is right\n";
}
