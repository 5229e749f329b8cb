// Logsumexp: see the contract in logsumexp.hpp. The row is read once; one element is written per row.
#include "kernels/logsumexp/logsumexp.hpp"

#include <cmath>
#include <cstdint>

#include "kernels/candidate_support.hpp"
#include "kernels/logsumexp/contract.hpp"
#include "kernels/primitives/arguments.hpp"
#include "kernels/rows/fill.hpp"
#include "kernels/rows/log_sum.hpp"
#include "kernels/rows/reduce_rows.hpp"
#include "kernels/rows/row_reduction.hpp"
#include "kernels/rows/small_matrix.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

// Rescales of one term: when a lane takes in more values (at most k_reduction_expensive_chunks - 1 times, once for rows
// of 1024) or merges groups of them, over the warp, over the block, and where the tiles of a row are collected, merged
// over the warp and the block.
static_assert(k_reduction_expensive_chunks - 1 + k_reduction_ahead_groups + 2 + 3 <= 16,
              "the contract's allowance of rescales");

template <class T, class Y>
struct log_sum_reduction {
  static constexpr bool k_expensive = true;
  using element = T;
  using result = Y;
  using partial = log_sum;

  __device__ static partial none() { return {-INFINITY, 0.0f}; }

  template <class Slice>
  __device__ static void absorb(partial& all, const Slice&, const float (&value)[Slice::k_values], int64_t) {
    take_in(all, value);
  }
  template <int Count>
  __device__ static bool of_warp(const float (&value)[Count], partial& all) {
    return quick_log_sum(value, all);
  }
  template <int Lanes>
  __device__ static partial over_lanes(partial mine) {
    return merge_lanes<Lanes>(mine);
  }
  template <int Lanes, int Count>
  __device__ static partial over_row(const float (&value)[Count]) {
    return log_sum_over_lanes<Lanes>(value);
  }
  __device__ static partial collect(const partial* partials, int64_t first, int64_t last, int64_t step) {
    partial all = none();
    for (int64_t i = first; i < last; i += step) all.maximum = fmaxf(all.maximum, partials[i].maximum);
    bool is_first = true;  // of the partials that hold the maximum
    for (int64_t i = first; i < last; i += step) {
      all.rest += partials[i].rest * rescale(partials[i].maximum, all.maximum);
      if (is_first && partials[i].maximum == all.maximum)
        is_first = false;
      else
        all.rest += expf(partials[i].maximum - log_sum_reference(all.maximum));
    }
    return all;
  }
  __device__ static Y finish(const partial& all) { return simt::from_float<Y>(value_of(all)); }
};

// Aligned f32 rows of small matrices (small_matrix.hpp), in fewer steps than by absorb and over_lanes.
struct small_row_log_sum : small_op_of_reduction<log_sum_reduction<float, float>> {
  template <int Lanes, class Slice>
  __device__ static partial of_lanes(const Slice&, const float (&value)[Slice::k_values]) {
    return log_sum_of_small_row<Lanes>(value);
  }
  template <int Lanes, int Each>
  __device__ static partial merge(const partial (&mine)[Each]) {
    return merge_small_row<Lanes>(mine);
  }
};

constexpr uint32_t k_dtypes = WARPCHECK_F32 | WARPCHECK_F16 | WARPCHECK_BF16;

// In the order of logsumexp_variant, without `automatic`.
constexpr warpcheck_variant k_variants[] = {
    row_variant("logsumexp_warp", 1, k_reduction_warp_cols, 1, k_reduction_warp_cols, k_dtypes),
    row_variant("logsumexp_tiles", 1, -1, k_reduction_warp_cols + 1, k_reduction_tiles_cols, k_dtypes),
    row_variant("logsumexp_large_tiles", 1, -1, k_reduction_tiles_cols + 1, -1, k_dtypes),
    row_variant("logsumexp_small_matrix", 1, k_small_matrix_cols, 1, k_small_matrix_cols, WARPCHECK_F32),
};

}  // namespace

template <class T, class Y>
logsumexp_variant logsumexp_with(logsumexp_variant variant, const T* x, int64_t ldx, Y* y, int64_t rows, int64_t cols,
                                 simt::stream_t stream) {
  const row_block x_rows{"x", x, sizeof(T), rows, cols, ldx, "ldx"};
  const row_block y_rows{"y", y, sizeof(Y), 1, rows, rows, nullptr};
  check_rows(x_rows);
  check_rows(y_rows);
  check_disjoint(x_rows, y_rows);
  if (cols == 0) {
    fill(y, rows, simt::from_float<Y>(-INFINITY), stream);
    return variant;
  }
  const reduction_arguments<log_sum_reduction<T, Y>> a{x, ldx, y, rows, cols};
  if (variant == logsumexp_variant::automatic) variant = pick_reduction<logsumexp_variant>(a, stream);
  check_extent(k_variants[static_cast<int>(variant) - 1], cols);
  if (rows == 0) return variant;
  reduce_rows<small_row_log_sum>(variant, a, stream);
  return variant;
}

template <class T, class Y>
void logsumexp(const T* x, int64_t ldx, Y* y, int64_t rows, int64_t cols, simt::stream_t stream) {
  logsumexp_with(logsumexp_variant::automatic, x, ldx, y, rows, cols, stream);
}

#ifndef WARPCHECK_ONLY_TYPE
#define WARPCHECK_INSTANTIATE_LOGSUMEXP(T, Y)                                                                 \
  template void logsumexp<T, Y>(const T*, int64_t, Y*, int64_t, int64_t, simt::stream_t);                     \
  template logsumexp_variant logsumexp_with<T, Y>(logsumexp_variant, const T*, int64_t, Y*, int64_t, int64_t, \
                                                  simt::stream_t);
WARPCHECK_INSTANTIATE_LOGSUMEXP(float, float)
WARPCHECK_INSTANTIATE_LOGSUMEXP(simt::f16, simt::f16)
WARPCHECK_INSTANTIATE_LOGSUMEXP(simt::f16, float)
WARPCHECK_INSTANTIATE_LOGSUMEXP(simt::bf16, simt::bf16)
WARPCHECK_INSTANTIATE_LOGSUMEXP(simt::bf16, float)
#undef WARPCHECK_INSTANTIATE_LOGSUMEXP
#endif

namespace {

// y is of x's type or f32.
template <class Visit>
void with_logsumexp_call(const warpcheck_call* call, Visit&& visit) {
  const checked_call checked = check_call(logsumexp_contract(), *call);
  const tensor_view &x = checked.at("x"), &y = checked.at("y");
  const bool wide = y.type == WARPCHECK_F32;
  if (!wide && y.type != x.type) throw std::invalid_argument("y must be f32 or have the element type of x");
  const auto visit_types = [&](auto in, auto out) {
    using T = typename decltype(in)::type;
    using Y = typename decltype(out)::type;
    visit(reduction_arguments<log_sum_reduction<T, Y>>{x.as<T>(), x.ld, y.as<Y>(), x.rows, x.cols});
  };
  with_type<float, simt::f16, simt::bf16>(x.type, [&](auto type) {
    if (wide)
      visit_types(type, type_tag<float>());
    else
      visit_types(type, type);
  });
}

warpcheck_status run_logsumexp(warpcheck_call* call) {
  return candidate_call(call, [&] {
    with_logsumexp_call(call, [&](const auto& a) {
      const auto variant = static_cast<logsumexp_variant>(find_variant(call, k_variants, a.cols) + 1);
      const logsumexp_variant used =
          logsumexp_with(variant, a.x, a.ldx, a.y, a.rows, a.cols, static_cast<simt::stream_t>(call->stream));
      if (used != logsumexp_variant::automatic) call->used_variant = k_variants[static_cast<int>(used) - 1].name;
    });
  });
}

const char* pick_logsumexp(const warpcheck_call* call) {
  return candidate_pick(call, k_variants, [&](simt::stream_t stream) {
    auto picked = logsumexp_variant::automatic;
    with_logsumexp_call(call, [&](const auto& a) {
      if (a.cols > 0) picked = pick_reduction<logsumexp_variant>(a, stream);
    });
    return picked;
  });
}

constexpr warpcheck_operator k_operator =
    own_operator("logsumexp", k_dtypes, k_variants, k_reduction_boundaries, run_logsumexp, pick_logsumexp);

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_OPERATOR(logsumexp) { return &warpcheck::k_operator; }
