// CUB's sorts, histograms, sums of runs and segments, and partitions of whole arrays.
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_partition.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_segmented_sort.cuh>
#include <cub/iterator/arg_index_input_iterator.cuh>
#include <cub/util_allocator.cuh>
#include <cub/util_debug.cuh>

#include <cuda_runtime.h>

constexpr int k_items = 8;

struct by_last_digit {
  __host__ __device__ bool operator()(int a, int b) const { return a % 10 < b % 10; }
};

struct is_even {
  __host__ __device__ bool operator()(int v) const { return v % 2 == 0; }
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

// Segments of 3, 0 and 4 items; the last item is in none.
int sorts_segments() {
  int *keys = copy_of({5, 2, 9, 7, 1, 8, 3, 4}), *values = copy_of({0, 1, 2, 3, 4, 5, 6, 7});
  int *sorted = copy_of({0, 0, 0, 0, 0, 0, 0, 6}), *moved = copy_of({0, 0, 0, 0, 0, 0, 0, 6});
  int* ends = copy_of({0, 3, 3, 7, 0, 0, 0, 0});
  in_two_steps(
      [&](void* s, size_t& n) { cub::DeviceSegmentedSort::SortKeys(s, n, keys, sorted, k_items, 3, ends, ends + 1); });
  if (!holds(sorted, {2, 5, 9, 1, 3, 7, 8, 6})) return 12;
  in_two_steps([&](void* s, size_t& n) {
    cub::DeviceSegmentedRadixSort::SortPairsDescending(s, n, keys, sorted, values, moved, k_items, 3, ends, ends + 1);
  });
  if (!holds(sorted, {9, 5, 2, 8, 7, 3, 1, 6}) || !holds(moved, {2, 0, 1, 5, 3, 6, 4, 6})) return 13;
  cub::DoubleBuffer<int> of_keys(keys, sorted), of_values(values, moved);
  in_two_steps([&](void* s, size_t& n) {
    cub::DeviceSegmentedRadixSort::SortPairs(s, n, of_keys, of_values, k_items, 3, ends, ends + 1, 1, 2);
  });
  if (of_keys.Current() != sorted || !holds(sorted, {5, 9, 2, 1, 8, 7, 3, 6})) return 14;
  if (of_values.Current() != moved || !holds(moved, {0, 2, 1, 4, 5, 3, 6, 6})) return 15;
  in_two_steps([&](void* s, size_t& n) { cub::DeviceScan::ExclusiveSumByKey(s, n, ends, values, moved, k_items); });
  if (!holds(moved, {0, 0, 1, 0, 0, 4, 9, 15})) return 16;
  const cub::ArgIndexInputIterator<int*> numbered(keys);
  if (numbered[3].key != 3 || (*(numbered + 2)).value != 9) return 17;
  for (int* p : {keys, values, sorted, moved, ends}) cudaFree(p);
  return 0;
}

cub::CachingDeviceAllocator allocator(true);
int allocates() {
  int *keys = copy_of({5, 2, 9, 7, 1, 8, 3, 4}), *sorted = nullptr;
  void* storage = nullptr;
  size_t bytes = 0;
  CubDebugExit(allocator.DeviceAllocate((void**)&sorted, k_items * sizeof(int)));
  CubDebugExit(cub::DeviceRadixSort::SortKeys(storage, bytes, keys, sorted, k_items));
  CubDebugExit(allocator.DeviceAllocate(&storage, bytes));
  CubDebugExit(cub::DeviceRadixSort::SortKeys(storage, bytes, keys, sorted, k_items));
  const bool is_right = holds(sorted, {1, 2, 3, 4, 5, 7, 8, 9});
  for (void* p : {storage, static_cast<void*>(sorted)}) CubDebugExit(allocator.DeviceFree(p));
  cudaFree(keys);
  return is_right ? 0 : 18;
}

int main() {
  if (const int wrong = allocates()) return wrong;
  if (const int wrong = sorts_segments()) return wrong;
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
  int* runs = copy_of({4, 4, 7, 7, 7, 4, 9, 9});
  in_two_steps(
      [&](void* s, size_t& n) { cub::DeviceRunLengthEncode::Encode(s, n, runs, sorted, counts, values, k_items); });
  if (!holds(sorted, {4, 7, 4, 9, 42, 13, 3, 5}) || !holds(counts, {2, 3, 1, 2, 7, 7, 7, 7})) return 6;
  in_two_steps([&](void* s, size_t& n) {
    cub::DeviceReduce::ReduceByKey(s, n, runs, sorted, keys, counts, values, cub::Max(), k_items);
  });
  if (!holds(counts, {30, 42, 13, 5, 7, 7, 7, 7}) || !holds(values, {4, 0, 4, 7, 5, 1, 3, 2})) return 7;
  in_two_steps(
      [&](void* s, size_t& n) { cub::DeviceSegmentedReduce::Sum(s, n, runs, sorted, 3, limits + 4, counts + 4); });
  if (!holds(sorted, {42, 42, 42, 9, 42, 13, 3, 5})) return 8;
  in_two_steps([&](void* s, size_t& n) { cub::DeviceScan::ExclusiveSum(s, n, runs, k_items); });
  if (!holds(runs, {0, 4, 8, 15, 22, 29, 33, 42})) return 9;
  in_two_steps([&](void* s, size_t& n) { cub::DevicePartition::If(s, n, runs, sorted, values, k_items, is_even()); });
  if (!holds(sorted, {0, 4, 8, 22, 42, 33, 29, 15})) return 10;
  cub::DoubleBuffer<int> buffers(sorted, counts);
  in_two_steps([&](void* s, size_t& n) { cub::DeviceRadixSort::SortKeys(s, n, buffers, k_items); });
  if (buffers.Current() != counts || !holds(counts, {0, 4, 8, 15, 22, 29, 33, 42})) return 11;
  for (int* p : {keys, values, sorted, counts, limits, runs}) cudaFree(p);
  cudaFree(samples);
  return 0;
}
