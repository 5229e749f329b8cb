// Row reductions: see the contract in reduce.hpp. The row is read once; one element is written per row.
#include "kernels/reduce/reduce.hpp"

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/candidate_support.hpp"
#include "kernels/primitives/arguments.hpp"
#include "kernels/reduce/contract.hpp"
#include "kernels/rows/fill.hpp"
#include "kernels/rows/reduce_rows.hpp"
#include "kernels/rows/row_reduction.hpp"
#include "kernels/rows/small_matrix.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

// Sums in T: a lane's values in four chains, then lane by lane. Padding adds +0, which changes no sum that starts at
// +0.
template <class T>
struct sum_reduction : merging_reduction<sum_reduction<T>, T> {
  static constexpr bool k_expensive = false;
  using element = T;
  using partial = T;
  using result = T;

  __host__ __device__ static T none() { return 0; }
  template <class Slice>
  __device__ static void absorb(T& all, const Slice& slice, const T (&value)[Slice::k_values], int64_t) {
    constexpr int k_chains = Slice::k_values < 4 ? 1 : 4;
    T sum[k_chains] = {};
#pragma unroll
    for (int i = 0; i < Slice::k_values; ++i) sum[i % k_chains] += slice.exists(i) ? value[i] : T{0};
    if constexpr (k_chains == 4) sum[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    all += sum[0];
  }
  __device__ static T merge(T a, T b) { return a + b; }
  __device__ static T finish(T all) { return all; }
};

// The least element, or the greatest; NaN wins over both, and -0 is less than +0.
template <class T, bool Greatest>
struct extremum_reduction : merging_reduction<extremum_reduction<T, Greatest>, T> {
  static constexpr bool k_expensive = false;
  using element = T;
  using partial = T;
  using result = T;

  __host__ __device__ static T none() { return Greatest ? -static_cast<T>(INFINITY) : static_cast<T>(INFINITY); }
  template <class Slice>
  __device__ static void absorb(T& all, const Slice& slice, const T (&value)[Slice::k_values], int64_t) {
#pragma unroll
    for (int i = 0; i < Slice::k_values; ++i) all = merge(all, slice.exists(i) ? value[i] : none());
  }
  __device__ static T merge(T a, T b) {
    if (a != a) return a;
    if (b != b) return b;
    if (a == b) return std::signbit(a) == Greatest ? b : a;
    return (a < b) == Greatest ? b : a;
  }
  __device__ static T finish(T all) { return all; }
};

constexpr uint32_t k_dtypes = WARPCHECK_F32 | WARPCHECK_F64;

// In the order of reduce_variant, without `automatic`.
constexpr warpcheck_variant k_variants[] = {
    row_variant("reduce_warp", 1, k_reduction_warp_cols, 1, k_reduction_warp_cols, k_dtypes),
    row_variant("reduce_tiles", 1, -1, k_reduction_warp_cols + 1, k_reduction_tiles_cols, k_dtypes),
    row_variant("reduce_large_tiles", 1, -1, k_reduction_tiles_cols + 1, -1, k_dtypes),
    row_variant("reduce_small_matrix", 1, k_small_matrix_cols, 1, k_small_matrix_cols, WARPCHECK_F32),
};

// A single block reduces a row of a few thousand elements faster than several blocks exchange their sums.
template <class RowReduction>
reduce_variant pick(const reduction_arguments<RowReduction>& a, simt::stream_t stream) {
  if (a.cols > k_small_matrix_block_threads * 4 && a.cols <= k_reduction_tiles_cols) return reduce_variant::tiles;
  return pick_reduction<reduce_variant>(a, stream);
}

template <class RowReduction>
void run_reduction(reduce_variant variant, const reduction_arguments<RowReduction>& a, simt::stream_t stream) {
  if (a.cols == 0) return fill(a.y, a.rows, RowReduction::none(), stream);
  if (a.rows == 0) return;
  reduce_rows<small_op_of_reduction<RowReduction>>(variant, a, stream);
}

}  // namespace

template <class T>
reduce_variant reduce_with(reduce_variant variant, reduce_op op, const T* x, int64_t ldx, T* y, int64_t rows,
                           int64_t cols, simt::stream_t stream) {
  const row_block x_rows{"x", x, sizeof(T), rows, cols, ldx, "ldx"};
  const row_block y_rows{"y", y, sizeof(T), 1, rows, rows, nullptr};
  check_rows(x_rows);
  check_rows(y_rows);
  check_disjoint(x_rows, y_rows);
  if (cols > 0) {
    if (variant == reduce_variant::automatic)
      variant = pick(reduction_arguments<sum_reduction<T>>{x, ldx, y, rows, cols}, stream);
    check_extent(k_variants[static_cast<int>(variant) - 1], cols);
  }
  switch (op) {
    case reduce_op::sum: run_reduction<sum_reduction<T>>(variant, {x, ldx, y, rows, cols}, stream); break;
    case reduce_op::min: run_reduction<extremum_reduction<T, false>>(variant, {x, ldx, y, rows, cols}, stream); break;
    case reduce_op::max: run_reduction<extremum_reduction<T, true>>(variant, {x, ldx, y, rows, cols}, stream); break;
    default:
      throw std::invalid_argument("op is " + std::to_string(static_cast<int>(op)) +
                                  ", must be 0 (sum), 1 (min) or 2 (max)");
  }
  return variant;
}

template <class T>
void reduce(reduce_op op, const T* x, int64_t ldx, T* y, int64_t rows, int64_t cols, simt::stream_t stream) {
  reduce_with(reduce_variant::automatic, op, x, ldx, y, rows, cols, stream);
}

#ifndef WARPCHECK_ONLY_TYPE
#define WARPCHECK_INSTANTIATE_REDUCE(T)                                                                      \
  template void reduce<T>(reduce_op, const T*, int64_t, T*, int64_t, int64_t, simt::stream_t);               \
  template reduce_variant reduce_with<T>(reduce_variant, reduce_op, const T*, int64_t, T*, int64_t, int64_t, \
                                         simt::stream_t);
WARPCHECK_INSTANTIATE_REDUCE(float)
WARPCHECK_INSTANTIATE_REDUCE(double)
#undef WARPCHECK_INSTANTIATE_REDUCE
#endif

namespace {

template <class Visit>
void with_reduce_call(const warpcheck_call* call, Visit&& visit) {
  const checked_call checked = check_call(reduce_contract(), *call);
  const tensor_view& x = checked.at("x");
  const auto op = static_cast<reduce_op>(static_cast<int>(checked.scalar("op")));
  with_type<float, double>(x.type, [&](auto type) {
    using T = typename decltype(type)::type;
    visit(reduction_arguments<sum_reduction<T>>{x.as<T>(), x.ld, checked.data<T>("y"), x.rows, x.cols}, op);
  });
}

warpcheck_status run_reduce(warpcheck_call* call) {
  return candidate_call(call, [&] {
    with_reduce_call(call, [&](const auto& a, reduce_op op) {
      const auto variant = static_cast<reduce_variant>(find_variant(call, k_variants, a.cols) + 1);
      const reduce_variant used =
          reduce_with(variant, op, a.x, a.ldx, a.y, a.rows, a.cols, static_cast<simt::stream_t>(call->stream));
      if (used != reduce_variant::automatic) call->used_variant = k_variants[static_cast<int>(used) - 1].name;
    });
  });
}

const char* pick_reduce(const warpcheck_call* call) {
  return candidate_pick(call, k_variants, [&](simt::stream_t stream) {
    auto picked = reduce_variant::automatic;
    with_reduce_call(call, [&](const auto& a, reduce_op) {
      if (a.cols > 0) picked = pick(a, stream);
    });
    return picked;
  });
}

constexpr warpcheck_operator k_operator =
    own_operator("reduce", k_dtypes, k_variants, k_reduction_boundaries, run_reduce, pick_reduce);

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_OPERATOR(reduce) { return &warpcheck::k_operator; }
