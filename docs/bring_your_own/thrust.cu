// Thrust's sort and prefix sums, a call for each row.
//   warpcheck verify argsort --source docs/bring_your_own/thrust.cu --entry my_argsort --device cuda
//   warpcheck verify scan --source docs/bring_your_own/thrust.cu --entry 'my_scan<float>' --device cuda
#include <cuda_runtime.h>
#include <thrust/copy.h>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>

#include <cstdint>

void my_argsort(const float* x, int32_t* index, int64_t rows, int64_t cols, int order, cudaStream_t stream) {
  const auto on = thrust::cuda::par.on(stream);
  thrust::device_vector<float> sorted(cols);
  for (int64_t row = 0; row < rows; ++row) {
    const auto from = thrust::device_pointer_cast(x + row * cols);
    const auto to = thrust::device_pointer_cast(index + row * cols);
    thrust::copy(on, from, from + cols, sorted.begin());
    thrust::sequence(on, to, to + cols);
    if (order == 0)
      thrust::stable_sort_by_key(on, sorted.begin(), sorted.end(), to);
    else
      thrust::stable_sort_by_key(on, sorted.begin(), sorted.end(), to, thrust::greater<float>());
  }
}

template <class T>
void my_scan(const T* x, T* y, int64_t rows, int64_t cols, int kind, cudaStream_t stream) {
  const auto on = thrust::cuda::par.on(stream);
  for (int64_t row = 0; row < rows; ++row) {
    const auto from = thrust::device_pointer_cast(x + row * cols);
    const auto to = thrust::device_pointer_cast(y + row * cols);
    if (kind == 0)
      thrust::inclusive_scan(on, from, from + cols, to);
    else
      thrust::exclusive_scan(on, from, from + cols, to, T{0});
  }
}
