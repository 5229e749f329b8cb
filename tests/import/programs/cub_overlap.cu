// Calls of CUB whose arrays overlap: each mode is one call, refused at its line, or allowed.
#include <cstdio>
#include <cstring>
#include <cub/cub.cuh>

namespace {

constexpr int k_items = 64;

// Holds all arrays of a call, so that any two may overlap.
int* memory() {
  int h[6 * k_items];
  for (int i = 0; i < 6 * k_items; ++i) h[i] = i * 5 % 64;
  int* x = nullptr;
  cudaMalloc(&x, sizeof h);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  return x;
}

// Asks for the size of the storage, then calls.
template <class Call>
void twice(Call call) {
  void* storage = nullptr;
  size_t bytes = 0;
  call(storage, bytes);
  cudaMalloc(&storage, bytes);
  call(storage, bytes);
  cudaDeviceSynchronize();
  cudaFree(storage);
}

struct is_even {
  __host__ __device__ bool operator()(int x) const { return x % 2 == 0; }
};

void reduce_or_scan(const char* mode, int* x) {
  twice([&](void* s, size_t& n) {
    if (!strcmp(mode, "reduce")) cub::DeviceReduce::Sum(s, n, x, x + 9, k_items);  // reduce
    if (!strcmp(mode, "reduce-behind")) cub::DeviceReduce::Sum(s, n, x, x + k_items, k_items);
    if (!strcmp(mode, "exclusive-scan")) cub::DeviceScan::ExclusiveSum(s, n, x, x + 1, k_items);  // exclusive-scan
    if (!strcmp(mode, "inclusive-scan")) cub::DeviceScan::InclusiveSum(s, n, x + 1, x, k_items);  // inclusive-scan
    if (!strcmp(mode, "scan-in-place")) cub::DeviceScan::ExclusiveSum(s, n, x, x, k_items);
    if (!strcmp(mode, "scan-behind")) cub::DeviceScan::InclusiveSum(s, n, x, x + k_items, k_items);
  });
}

void select(const char* mode, int* x) {
  int *out = x + k_items, *flags = x + 2 * k_items, *count = x + 3 * k_items;
  twice([&](void* s, size_t& n) {
    if (!strcmp(mode, "select")) cub::DeviceSelect::If(s, n, x, x, count, k_items, is_even());        // select
    if (!strcmp(mode, "select-count")) cub::DeviceSelect::If(s, n, x, out, out, k_items, is_even());  // select-count
    if (!strcmp(mode, "flagged")) cub::DeviceSelect::Flagged(s, n, x, flags, flags + 1, count, k_items);  // flagged
    if (!strcmp(mode, "unique")) cub::DeviceSelect::Unique(s, n, x, out, x + 3, k_items);                 // unique
    if (!strcmp(mode, "select-apart")) cub::DeviceSelect::Flagged(s, n, x, flags, out, count, k_items);
  });
}

void sort(const char* mode, int* x) {
  int *out = x + k_items, *values = x + 2 * k_items, *values_out = x + 3 * k_items;
  twice([&](void* s, size_t& n) {
    if (!strcmp(mode, "keys")) cub::DeviceRadixSort::SortKeys(s, n, x, x, k_items);  // keys
    if (!strcmp(mode, "keys-in-part"))
      cub::DeviceRadixSort::SortKeysDescending(s, n, x, x + k_items - 1, k_items);  // keys-in-part
    if (!strcmp(mode, "values")) cub::DeviceRadixSort::SortPairs(s, n, x, out, values, values + 1, k_items);  // values
    if (!strcmp(mode, "keys-and-values"))
      cub::DeviceRadixSort::SortPairsDescending(s, n, x, out, values, out, k_items);  // keys-and-values
    if (!strcmp(mode, "sort-apart")) cub::DeviceRadixSort::SortPairs(s, n, x, out, values, values_out, k_items);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const char* const mode = argc > 1 ? argv[1] : "sort-apart";
  int* const x = memory();
  reduce_or_scan(mode, x);
  select(mode, x);
  sort(mode, x);
  cudaFree(x);
  printf("reached the end\n");
  return 0;
}
