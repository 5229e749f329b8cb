// Thrust's sort and prefix sums, a call for each row.
//   warpcheck verify argsort --source docs/bring_your_own/thrust.cu --entry my_argsort --device cuda
//   warpcheck verify scan --source docs/bring_your_own/thrust.cu --entry 'my_scan<float>' --device cuda
#include <cuda_runtime.h>
#include <thrust/copy.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>

#include <cstddef>
#include <cstdint>
#include <new>

// Thrust's temporary memory. With the default policy, cudaMalloc and waits take 130 us a call, and no graph captures
// them.
struct stream_memory {
  using value_type = char;
  cudaStream_t stream;

  char* allocate(std::ptrdiff_t bytes) {
    void* memory = nullptr;
    if (cudaMallocAsync(&memory, bytes, stream) != cudaSuccess) throw std::bad_alloc();
    return static_cast<char*>(memory);
  }
  void deallocate(char* memory, size_t) { cudaFreeAsync(memory, stream); }
};

void my_argsort(const float* x, int32_t* index, int64_t rows, int64_t cols, int order, cudaStream_t stream) {
  stream_memory memory{stream};
  const auto on = thrust::cuda::par_nosync(memory).on(stream);
  const int64_t bytes = cols * int64_t{sizeof(float)};
  char* const keys = memory.allocate(bytes);
  const auto sorted = thrust::device_pointer_cast(reinterpret_cast<float*>(keys));
  for (int64_t row = 0; row < rows; ++row) {
    const auto from = thrust::device_pointer_cast(x + row * cols);
    const auto to = thrust::device_pointer_cast(index + row * cols);
    thrust::copy(on, from, from + cols, sorted);
    thrust::sequence(on, to, to + cols);
    if (order == 0)
      thrust::stable_sort_by_key(on, sorted, sorted + cols, to);
    else
      thrust::stable_sort_by_key(on, sorted, sorted + cols, to, thrust::greater<float>());
  }
  memory.deallocate(keys, bytes);
}

template <class T>
void my_scan(const T* x, T* y, int64_t rows, int64_t cols, int kind, cudaStream_t stream) {
  stream_memory memory{stream};
  const auto on = thrust::cuda::par_nosync(memory).on(stream);
  for (int64_t row = 0; row < rows; ++row) {
    const auto from = thrust::device_pointer_cast(x + row * cols);
    const auto to = thrust::device_pointer_cast(y + row * cols);
    if (kind == 0)
      thrust::inclusive_scan(on, from, from + cols, to);
    else
      thrust::exclusive_scan(on, from, from + cols, to, T{0});
  }
}
