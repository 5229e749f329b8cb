// Argmax: see the contract in argmax.hpp. The row is read once; 8 bytes are written per row.
#include "kernels/argmax/argmax.hpp"

#include <cmath>
#include <cstdint>

#include "kernels/argmax/contract.hpp"
#include "kernels/candidate_support.hpp"
#include "kernels/primitives/arguments.hpp"
#include "kernels/rows/argmax_key.hpp"
#include "kernels/rows/fill.hpp"
#include "kernels/rows/reduce_rows.hpp"
#include "kernels/rows/row_reduction.hpp"
#include "kernels/rows/small_matrix.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

// The argmax key (argmax_key.hpp) of the first maximal element, with the maximum, or that of the first NaN, with -Inf.
struct argmax_partial {
  int64_t argmax_key;
  float maximum;
  float padding;
};

template <class T>
struct argmax_reduction {
  static constexpr bool k_expensive = false;
  using element = T;
  using result = int64_t;
  using partial = argmax_partial;

  __device__ static partial none() { return {k_no_argmax_key<int64_t>, -INFINITY, 0.0f}; }

  template <class Slice>
  __device__ static void absorb(partial& all, const Slice& slice, const float (&value)[Slice::k_values],
                                int64_t begin) {
    const float maximum = max_of_values(value);
    if (maximum < all.maximum) return;
    const int64_t argmax_key = shift_argmax_key(argmax_key_of_maximum(slice, value, maximum), begin);
    all = merge(all, {argmax_key, maximum == maximum ? maximum : -INFINITY, 0.0f});
  }

  __device__ static partial merge(const partial& a, const partial& b) {
    const bool nan = a.argmax_key < 0 || b.argmax_key < 0;
    if (nan || a.maximum == b.maximum) return a.argmax_key < b.argmax_key ? a : b;
    return a.maximum > b.maximum ? a : b;
  }

  template <int Lanes>
  __device__ static partial over_lanes(const partial& mine) {
    const float maximum = lane_reduce<Lanes>(mine.maximum, max_of());
    const bool has_best = mine.maximum == maximum || mine.argmax_key < 0;
    const unsigned maximal = __ballot_sync(k_all_lanes, has_best);
    int64_t argmax_key = has_best ? mine.argmax_key : k_no_argmax_key<int64_t>;
    if (__popc(maximal) == k_warp_size / Lanes) {
      // One lane of every group has the argmax key of the group.
      const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
      const unsigned of_group = maximal & (k_all_lanes >> (k_warp_size - Lanes)) << lane / Lanes * Lanes;
      argmax_key = __shfl_sync(k_all_lanes, argmax_key, __ffs(static_cast<int>(of_group)) - 1);
    } else {
      argmax_key = lane_reduce<Lanes>(argmax_key, min_of<int64_t>());
    }
    return {argmax_key, maximum, 0.0f};
  }

  __device__ static partial collect(const partial* partials, int64_t first, int64_t last, int64_t step) {
    partial all = none();
    for (int64_t i = first; i < last; i += step) all = merge(all, partials[i]);
    return all;
  }

  __device__ static int64_t finish(const partial& all) { return index_of_argmax_key(all.argmax_key); }
};

// Aligned f32 rows of small matrices (small_matrix.hpp), whose partials must have 8 bytes.
struct small_row_argmax {
  using arguments = reduction_arguments<argmax_reduction<float>>;
  struct alignas(8) partial {
    float maximum;  // NaN passed on
    int argmax_key;
  };
  static constexpr bool k_one_result = true;

  __device__ static partial none() { return {-INFINITY, k_no_argmax_key<int>}; }
  template <int Lanes, class Slice>
  __device__ static partial of_lanes(const Slice& slice, const float (&value)[Slice::k_values]) {
    const float maximum = lanes_maximum<Lanes>(max_of_values(value));
    return {maximum, lane_reduce<Lanes>(argmax_key_of_maximum(slice, value, maximum), min_of<int>())};
  }
  template <int, int Each>
  __device__ static partial merge(const partial (&mine)[Each]) {
    const float maximum = warp_maximum(max_of_partials(mine));
    int argmax_key = k_no_argmax_key<int>;
#pragma unroll
    for (int i = 0; i < Each; ++i) {
      const bool has_best = is_maximal(mine[i].maximum, maximum);
      argmax_key = min_of<int>()(argmax_key, has_best ? mine[i].argmax_key : k_no_argmax_key<int>);
    }
    return {maximum, __reduce_min_sync(k_all_lanes, argmax_key)};
  }
  template <bool, class Slice>
  __device__ static void write(const arguments& a, int64_t r, const Slice&, const float (&)[Slice::k_values],
                               const partial& of_row, all_of_row) {
    store_element(a.y + r, index_of_argmax_key(of_row.argmax_key));
  }
};

constexpr uint32_t k_dtypes = WARPCHECK_F32 | WARPCHECK_F16 | WARPCHECK_BF16;

// In the order of argmax_variant, without `automatic`.
constexpr warpcheck_variant k_variants[] = {
    row_variant("argmax_warp", 1, k_reduction_warp_cols, 1, k_reduction_warp_cols, k_dtypes),
    row_variant("argmax_tiles", 1, -1, k_reduction_warp_cols + 1, k_reduction_tiles_cols, k_dtypes),
    row_variant("argmax_large_tiles", 1, -1, k_reduction_tiles_cols + 1, -1, k_dtypes),
    row_variant("argmax_small_matrix", 1, k_small_matrix_cols, 1, k_small_matrix_cols, WARPCHECK_F32),
};

}  // namespace

template <class T>
argmax_variant argmax_with(argmax_variant variant, const T* x, int64_t ldx, int64_t* index, int64_t rows, int64_t cols,
                           simt::stream_t stream) {
  const row_block x_rows{"x", x, sizeof(T), rows, cols, ldx, "ldx"};
  const row_block index_rows{"index", index, sizeof(int64_t), 1, rows, rows, nullptr};
  check_rows(x_rows);
  check_rows(index_rows);
  check_disjoint(x_rows, index_rows);
  if (cols == 0) {
    fill(index, rows, int64_t{-1}, stream);
    return variant;
  }
  const reduction_arguments<argmax_reduction<T>> a{x, ldx, index, rows, cols};
  if (variant == argmax_variant::automatic) variant = pick_reduction<argmax_variant>(a, stream);
  check_extent(k_variants[static_cast<int>(variant) - 1], cols);
  if (rows == 0) return variant;
  reduce_rows<small_row_argmax>(variant, a, stream);
  return variant;
}

template <class T>
void argmax(const T* x, int64_t ldx, int64_t* index, int64_t rows, int64_t cols, simt::stream_t stream) {
  argmax_with(argmax_variant::automatic, x, ldx, index, rows, cols, stream);
}

#ifndef WARPCHECK_ONLY_TYPE
#define WARPCHECK_INSTANTIATE_ARGMAX(T)                                                   \
  template void argmax<T>(const T*, int64_t, int64_t*, int64_t, int64_t, simt::stream_t); \
  template argmax_variant argmax_with<T>(argmax_variant, const T*, int64_t, int64_t*, int64_t, int64_t, simt::stream_t);
WARPCHECK_INSTANTIATE_ARGMAX(float)
WARPCHECK_INSTANTIATE_ARGMAX(simt::f16)
WARPCHECK_INSTANTIATE_ARGMAX(simt::bf16)
#undef WARPCHECK_INSTANTIATE_ARGMAX
#endif

namespace {

template <class Visit>
void with_argmax_call(const warpcheck_call* call, Visit&& visit) {
  const checked_call checked = check_call(argmax_contract(), *call);
  const tensor_view& x = checked.at("x");
  with_type<float, simt::f16, simt::bf16>(x.type, [&](auto type) {
    using T = typename decltype(type)::type;
    visit(reduction_arguments<argmax_reduction<T>>{x.as<T>(), x.ld, checked.data<int64_t>("index"), x.rows, x.cols});
  });
}

warpcheck_status run_argmax(warpcheck_call* call) {
  return candidate_call(call, [&] {
    with_argmax_call(call, [&](const auto& a) {
      const auto variant = static_cast<argmax_variant>(find_variant(call, k_variants, a.cols) + 1);
      const argmax_variant used =
          argmax_with(variant, a.x, a.ldx, a.y, a.rows, a.cols, static_cast<simt::stream_t>(call->stream));
      if (used != argmax_variant::automatic) call->used_variant = k_variants[static_cast<int>(used) - 1].name;
    });
  });
}

const char* pick_argmax(const warpcheck_call* call) {
  return candidate_pick(call, k_variants, [&](simt::stream_t stream) {
    auto picked = argmax_variant::automatic;
    with_argmax_call(call, [&](const auto& a) {
      if (a.cols > 0) picked = pick_reduction<argmax_variant>(a, stream);
    });
    return picked;
  });
}

constexpr warpcheck_operator k_operator =
    own_operator("argmax", k_dtypes, k_variants, k_reduction_boundaries, run_argmax, pick_argmax);

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_OPERATOR(argmax) { return &warpcheck::k_operator; }
