// CUB's segmented reductions as candidates (abi/candidate.h): `verify reduce --candidate
// libwarpcheck_peer_cub.so
// --device cuda` puts them on trial, `reduce_bench --peer` measures them.
//
// cub::DeviceSegmentedReduce, a segment for each row, between offsets that are computed where they are read. Its
// comparisons are `<` and `>`, so the results for NaN, and for -0 and +0 in one row, differ from the contract.
// An argmax counts elements in 32 bits and has no answer for an empty row.
#include <cstddef>
#include <cstdint>
#include <cub/device/device_segmented_reduce.cuh>
#include <cuda/functional>
#include <cuda/std/functional>
#include <iterator>
#include <limits>
#include <type_traits>

#include "abi/candidate_table.hpp"
#include "bench/peers/cub_calls.hpp"
#include "bench/peers/peer_calls.hpp"
#include "kernels/argmax/contract.hpp"
#include "kernels/candidate_support.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

// An iterator through which ArgMax writes pairs of index and value; only the indices are stored. It has no value type,
// so CUB takes that of the pairs.
template <class T>
struct index_output {
  struct slot {
    int64_t* at;
    __host__ __device__ void operator=(const cub::KeyValuePair<int, T>& pair) const { *at = pair.key; }
  };
  using iterator_category = std::random_access_iterator_tag;
  using value_type = void;
  using difference_type = ptrdiff_t;
  using pointer = void;
  using reference = slot;

  int64_t* index;
  __host__ __device__ index_output operator+(ptrdiff_t n) const { return {index + n}; }
  __host__ __device__ slot operator[](ptrdiff_t n) const { return {index + n}; }
  __host__ __device__ slot operator*() const { return {index}; }
};

template <class T, class Operation>
void reduce_rows(const tensor_view& x, T* y, Operation operation, T initial, cudaStream_t stream) {
  run_in_workspace(stream, [&](void* storage, size_t& bytes) {
    return cub::DeviceSegmentedReduce::Reduce(storage, bytes, x.as<T>(), y, x.rows, offsets(x.ld, 0),
                                              offsets(x.ld, x.cols), operation, initial, stream);
  });
}

warpcheck_status run_reduce(warpcheck_call* call) {
  return run_reduction(call, "CUB", [](const tensor_view& x, auto* y, reduction op, cudaStream_t stream) {
    using T = std::remove_pointer_t<decltype(y)>;
    constexpr T k_infinity = std::numeric_limits<T>::infinity();
    switch (op) {
      case reduction::sum: return reduce_rows<T>(x, y, ::cuda::std::plus<>{}, T{0}, stream);
      case reduction::min: return reduce_rows<T>(x, y, ::cuda::minimum<>{}, k_infinity, stream);
      case reduction::max: return reduce_rows<T>(x, y, ::cuda::maximum<>{}, -k_infinity, stream);
    }
  });
}

warpcheck_status run_argmax(warpcheck_call* call) {
  return candidate_call(call, [&] {
    const checked_call checked = check_call(argmax_contract(), *call);
    check_memory(checked);
    const tensor_view& x = checked.at("x");
    auto* const index = checked.data<int64_t>("index");
    with_type<float, simt::f16, simt::bf16>(x.type, [&](auto type) {
      using T = typename decltype(type)::type;
      if (call->variant != nullptr) throw unsupported_call("CUB has no variants");
      if (x.rows == 0) return;
      if (x.cols == 0) throw unsupported_call("CUB's argmax of an empty row is not -1");
      if (x.ld > std::numeric_limits<int>::max() / x.rows)
        throw unsupported_call("CUB's argmax counts elements in 32 bits");
      auto* const stream = static_cast<cudaStream_t>(call->stream);
      run_in_workspace(stream, [&](void* storage, size_t& bytes) {
        return cub::DeviceSegmentedReduce::ArgMax(storage, bytes, x.as<T>(), index_output<T>{index}, x.rows,
                                                  offsets(x.ld, 0), offsets(x.ld, x.cols), stream);
      });
    });
  });
}

constexpr warpcheck_operator k_reduce =
    operator_of_rows("reduce", WARPCHECK_DEVICE_CUDA, WARPCHECK_F32 | WARPCHECK_F64, run_reduce);
constexpr warpcheck_operator k_argmax =
    operator_of_rows("argmax", WARPCHECK_DEVICE_CUDA, WARPCHECK_F32 | WARPCHECK_F16 | WARPCHECK_BF16, run_argmax);

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

extern "C" __attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(
    uint32_t abi_version) {
  static const warpcheck_operator* const operators[] = {&warpcheck::k_reduce, &warpcheck::k_argmax};
  return warpcheck::candidate_library(abi_version, "cub", warpcheck::cub_version(), operators);
}
