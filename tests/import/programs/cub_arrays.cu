// CUB's merge sorts and histograms of whole arrays.
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_merge_sort.cuh>

#include <cuda_runtime.h>

constexpr int k_items = 8;

struct by_last_digit {
  __host__ __device__ bool operator()(int a, int b) const { return a % 10 < b % 10; }
};

// Calls a function of CUB for its size, and then for its work.
template <class Call>
void in_two_steps(Call call) {
  void* storage = nullptr;
  size_t bytes = 0;
  call(storage, bytes);
  cudaMalloc(&storage, bytes);
  call(storage, bytes);
  cudaFree(storage);
}
template <class T>
T* copy_of(const T (&values)[k_items]) {
  T* p;
  cudaMalloc(&p, sizeof values);
  cudaMemcpy(p, values, sizeof values, cudaMemcpyHostToDevice);
  return p;
}
template <class T>
bool holds(const T* p, const T (&expected)[k_items]) {
  T h[k_items];
  cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost);
  for (int i = 0; i < k_items; ++i)
    if (h[i] != expected[i]) return false;
  return true;
}

int main() {
  int* keys = copy_of({21, 13, 5, 3, 11, 42, 30, 1});
  int* values = copy_of({0, 1, 2, 3, 4, 5, 6, 7});
  float* samples = copy_of({0.f, 0.5f, 1.5f, -1.f, 3.9f, 4.f, 2.f, 9.f});
  int *sorted = copy_of({0, 0, 0, 0, 0, 0, 0, 0}), *counts = copy_of({7, 7, 7, 7, 7, 7, 7, 7});
  in_two_steps(
      [&](void* s, size_t& n) { cub::DeviceMergeSort::SortKeysCopy(s, n, keys, sorted, k_items, by_last_digit()); });
  if (!holds(sorted, {30, 21, 11, 1, 42, 13, 3, 5})) return 1;
  in_two_steps(
      [&](void* s, size_t& n) { cub::DeviceMergeSort::StableSortPairs(s, n, keys, values, k_items, by_last_digit()); });
  if (!holds(keys, {30, 21, 11, 1, 42, 13, 3, 5}) || !holds(values, {6, 0, 4, 7, 5, 1, 3, 2})) return 2;
  in_two_steps(
      [&](void* s, size_t& n) { cub::DeviceHistogram::HistogramEven(s, n, samples, counts, 5, 0.f, 4.f, k_items); });
  if (!holds(counts, {2, 1, 1, 1, 7, 7, 7, 7})) return 3;
  in_two_steps([&](void* s, size_t& n) { cub::DeviceHistogram::HistogramEven(s, n, keys, counts, 4, 0, 30, k_items); });
  if (!holds(counts, {3, 2, 1, 1, 7, 7, 7, 7})) return 4;
  int* limits = copy_of({0, 5, 40, 50, 0, 0, 0, 0});
  in_two_steps(
      [&](void* s, size_t& n) { cub::DeviceHistogram::HistogramRange(s, n, keys, counts, 4, limits, k_items); });
  if (!holds(counts, {2, 5, 1, 1, 7, 7, 7, 7})) return 5;
  for (int* p : {keys, values, sorted, counts, limits}) cudaFree(p);
  cudaFree(samples);
  return 0;
}
