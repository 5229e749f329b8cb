// CUB's prefix sums and sorts of rows as candidates (abi/candidate.h): `scan_bench --peer` and `argsort_bench
// --peer` measure them.
//
// scan: cub::DeviceScan, by keys that separate the rows if there are several. Its look-back adds whichever prefixes are
// ready, so floating-point bits vary from run to run. argsort: stable sorts of pairs of key and column, by
// cub::DeviceSegmentedSort, or cub::DeviceRadixSort for a single row. The first call of a shape writes the columns and
// keeps them, so later calls only sort. NaN is ordered by its bits, which differs from the contract.
#include <cstdint>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_sort.cuh>
#include <map>
#include <utility>

#include "abi/candidate_table.hpp"
#include "bench/peers/cub_calls.hpp"
#include "kernels/argsort/contract.hpp"
#include "kernels/candidate_support.hpp"
#include "kernels/scan/contract.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

struct row_of {
  int64_t cols;
  __host__ __device__ int64_t operator()(int64_t i) const { return i / cols; }
};

template <class T>
void scan_rows(const T* x, T* y, int64_t rows, int64_t cols, bool exclusive, cudaStream_t stream) {
  const int64_t count = rows * cols;
  const auto row = thrust::make_transform_iterator(thrust::make_counting_iterator<int64_t>(0), row_of{cols});
  run_in_workspace(stream, [&](void* storage, size_t& bytes) {
    if (rows == 1)
      return exclusive ? cub::DeviceScan::ExclusiveSum(storage, bytes, x, y, count, stream)
                       : cub::DeviceScan::InclusiveSum(storage, bytes, x, y, count, stream);
    constexpr ::cuda::std::equal_to<> k_equal{};
    return exclusive ? cub::DeviceScan::ExclusiveSumByKey(storage, bytes, row, x, y, count, k_equal, stream)
                     : cub::DeviceScan::InclusiveSumByKey(storage, bytes, row, x, y, count, k_equal, stream);
  });
}

warpcheck_status run_scan(warpcheck_call* call) {
  return candidate_call(call, [&] {
    const checked_call checked = check_call(scan_contract(), *call);
    const tensor_view &x = checked.at("x"), &y = checked.at("y");
    require_dense(x);
    require_dense(y);
    if (call->variant != nullptr) throw unsupported_call("CUB has no variants");
    if (x.rows == 0 || x.cols == 0) return;
    const auto stream = static_cast<cudaStream_t>(call->stream);
    with_type<float, double, int64_t>(x.type, [&](auto type) {
      using T = typename decltype(type)::type;
      scan_rows(x.as<T>(), y.as<T>(), x.rows, x.cols, checked.scalar("kind") == 1, stream);
    });
  });
}

__global__ void write_columns(int32_t* column, int64_t count, int64_t cols) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride)
    column[i] = static_cast<int32_t>(i % cols);
}

// The column of each element, and room for the sorted keys.
struct sort_memory {
  int32_t* column = nullptr;
  float* sorted = nullptr;
};

const sort_memory& memory_of(int64_t rows, int64_t cols, cudaStream_t stream) {
  static std::map<std::pair<int64_t, int64_t>, sort_memory> known;
  sort_memory& memory = known[{rows, cols}];
  if (memory.column == nullptr) {
    const int64_t count = rows * cols;
    check(cudaMallocAsync(&memory.sorted, static_cast<size_t>(count) * sizeof(float), stream), "cudaMallocAsync");
    check(cudaMallocAsync(&memory.column, static_cast<size_t>(count) * sizeof(int32_t), stream), "cudaMallocAsync");
    write_columns<<<1024, 256, 0, stream>>>(memory.column, count, cols);
    check(cudaGetLastError(), "write_columns");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  return memory;
}

warpcheck_status run_argsort(warpcheck_call* call) {
  return candidate_call(call, [&] {
    const checked_call checked = check_call(argsort_contract(), *call);
    const tensor_view &keys = checked.at("x"), &index = checked.at("index");
    require_dense(keys);
    require_dense(index);
    const double order = checked.scalar("order");
    if (index.type != WARPCHECK_I32) throw unsupported_call("only i32 indices");
    if (call->variant != nullptr) throw unsupported_call("CUB has no variants");
    if (keys.rows == 0 || keys.cols == 0) return;
    const auto stream = static_cast<cudaStream_t>(call->stream);
    const sort_memory& memory = memory_of(keys.rows, keys.cols, stream);
    const int64_t count = keys.rows * keys.cols;
    const auto* const from = keys.as<float>();
    auto* const to = index.as<int32_t>();
    const auto begin = offsets(keys.cols, 0), end = offsets(keys.cols, keys.cols);
    constexpr int k_bits = 32;
    run_in_workspace(stream, [&](void* storage, size_t& bytes) {
      if (keys.rows == 1)
        return order == 0 ? cub::DeviceRadixSort::SortPairs(storage, bytes, from, memory.sorted, memory.column, to,
                                                            count, 0, k_bits, stream)
                          : cub::DeviceRadixSort::SortPairsDescending(storage, bytes, from, memory.sorted,
                                                                      memory.column, to, count, 0, k_bits, stream);
      return order == 0
                 ? cub::DeviceSegmentedSort::StableSortPairs(storage, bytes, from, memory.sorted, memory.column, to,
                                                             count, keys.rows, begin, end, stream)
                 : cub::DeviceSegmentedSort::StableSortPairsDescending(
                       storage, bytes, from, memory.sorted, memory.column, to, count, keys.rows, begin, end, stream);
    });
  });
}

constexpr warpcheck_operator k_scan =
    operator_of_rows("scan", WARPCHECK_DEVICE_CUDA, WARPCHECK_F32 | WARPCHECK_F64 | WARPCHECK_I64, run_scan);
constexpr warpcheck_operator k_argsort = operator_of_rows("argsort", WARPCHECK_DEVICE_CUDA, WARPCHECK_F32, run_argsort);

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

extern "C" __attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(
    uint32_t abi_version) {
  static const warpcheck_operator* const operators[] = {&warpcheck::k_scan, &warpcheck::k_argsort};
  return warpcheck::candidate_library(abi_version, "cub", warpcheck::cub_version(), operators);
}
