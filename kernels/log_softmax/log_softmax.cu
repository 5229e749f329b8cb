// Log_softmax: see the contract in log_softmax.hpp. Variants from the shortest rows up; all read a row once from memory
// but, beyond what fits the whole device, log_softmax_persistent. Bytes moved: cols * sizeof(T) in and out per row.
#include "kernels/log_softmax/log_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/candidate_support.hpp"
#include "kernels/log_softmax/contract.hpp"
#include "kernels/primitives/arguments.hpp"
#include "kernels/primitives/grid.hpp"
#include "kernels/primitives/reduce.hpp"
#include "kernels/rows/log_sum.hpp"
#include "kernels/rows/persistent.hpp"
#include "kernels/rows/row_access.hpp"
#include "kernels/rows/row_cluster.hpp"
#include "kernels/rows/row_warp.hpp"
#include "kernels/rows/small_matrix.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

template <class T>
struct log_softmax_arguments {
  const T* x;
  int64_t ldx;
  T* y;
  int64_t ldy;
  int64_t rows;
  int64_t cols;
};

// The result of every value of a slice. A row of nothing but -Inf becomes NaN by the difference; one with +Inf must.
template <class Slice, class T>
__device__ inline void store_logs(const Slice& slice, float (&value)[Slice::k_values], const log_sum& all, T* y) {
  const float log_of_sum = all.maximum == INFINITY ? NAN : log1pf(all.rest);
#pragma unroll
  for (int i = 0; i < Slice::k_values; ++i) value[i] = (value[i] - all.maximum) - log_of_sum;
  slice.store(value, y);
}

// The state of a lane's values, whose largest is `own`, relative to the `maximum` of more lanes.
template <int Count>
__device__ inline log_sum log_sum_of(const float (&value)[Count], float own, float maximum) {
  return {own, sum_of_remaining(value, -INFINITY, maximum)};
}

// --- log_softmax_warp: `Lanes` lanes hold a row in registers
//
// A warp takes 32/Lanes * Rows neighbouring rows at a time, `Rows` of them in flight per lane. No barrier.

template <class T, row_access Access, int Lanes, int Vectors, int Rows>
__global__ void __launch_bounds__(lanes_threads(Rows* Vectors* access_width<T, Access>),
                                  lanes_resident_blocks<T>(Rows* Vectors* access_width<T, Access>))
    log_softmax_warp(log_softmax_arguments<T> a) {
  using slice_type = row_slice<T, Access, Vectors>;
  constexpr int k_groups = k_warp_size / Lanes;
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const int group = static_cast<int>(threadIdx.x) % k_warp_size / Lanes;
  const int64_t warp = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / k_warp_size;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * blockDim.x / k_warp_size;
  // A row after the last is empty: its lanes stay active for the shuffles and access nothing.
  const auto slice_of = [&](int64_t r) {
    const bool exists = r < a.rows;
    return slice_type(a.x + (exists ? r * a.ldx : 0), exists ? static_cast<int>(a.cols) : 0, lane, Lanes);
  };
  for (int64_t base = warp * k_groups * Rows; base < a.rows; base += warps * k_groups * Rows) {
    float value[Rows][slice_type::k_values];
    log_sum all[Rows];
#pragma unroll
    for (int j = 0; j < Rows; ++j) slice_of(base + j * k_groups + group).template load<load_policy<T>>(value[j]);
#pragma unroll
    for (int j = 0; j < Rows; ++j) {
      // Instructions limit 16-bit rows.
      if constexpr (sizeof(T) == 2 && Lanes == k_warp_size)
        if (quick_log_sum(value[j], all[j])) continue;
      const float mine = max_of_values(value[j]);
      const float maximum = lane_reduce<Lanes>(mine, max_of());
      all[j] = join_lanes<Lanes>(log_sum_of(value[j], mine, maximum), maximum);
    }
#pragma unroll
    for (int j = 0; j < Rows; ++j) {
      const int64_t r = base + j * k_groups + group;
      store_logs(slice_of(r), value[j], all[j], a.y + (r < a.rows ? r * a.ldy : 0));
    }
  }
}

// --- log_softmax_block: a row lies in the registers of a block
//
// Cost per row: the row once in and out; two barriers.

// Joins sums of the block that are relative to the block's maximum. `scratch` holds k_max_warps values.
__device__ inline log_sum join_block(log_sum mine, float maximum, log_sum* scratch) {
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
  mine = join_lanes<k_warp_size>(mine, maximum);
  if (lane == 0) scratch[threadIdx.x / k_warp_size] = mine;
  __syncthreads();
  mine = {-INFINITY, 0.0f};
  if (lane < static_cast<int>(blockDim.x) / k_warp_size) mine = scratch[lane];
  return join_lanes<k_warp_size>(mine, maximum);
}

template <class T, row_access Access, int Vectors, int MaxThreads, int MinBlocks>
__global__ void __launch_bounds__(MaxThreads, MinBlocks) log_softmax_block(log_softmax_arguments<T> a) {
  using slice_type = row_slice<T, Access, Vectors>;
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(sum_scratch, log_sum[k_max_warps]);
  for (int64_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
    const slice_type slice(a.x + r * a.ldx, static_cast<int>(a.cols), static_cast<int>(threadIdx.x),
                           static_cast<int>(blockDim.x));
    float value[slice_type::k_values];
    slice.template load<load_policy<T>>(value);
    const float mine = max_of_values(value);
    const float maximum = block_reduce(mine, max_of(), maximum_scratch);
    const log_sum all = join_block(log_sum_of(value, mine, maximum), maximum, sum_scratch);
    store_logs(slice, value, all, a.y + r * a.ldy);
  }
}

// --- log_softmax_cluster: a cluster of blocks keeps a row (row_cluster.hpp)

struct log_softmax_row_op {
  template <class T>
  using arguments = log_softmax_arguments<T>;
  using partial = log_sum;

  template <int Count>
  __device__ static float terms(const float (&value)[Count], float held_out_max, float maximum) {
    return sum_of_remaining(value, held_out_max, maximum);
  }
  template <int Count>
  __device__ static float held_out_max(float held_out_max, const float (&value)[Count]) {
    return fmaxf(held_out_max, max_of_values(value));
  }
  __device__ static partial over_warp(float own, float terms, float maximum) {
    return join_lanes<k_warp_size>({own, terms}, maximum);
  }
  __device__ static partial combine(const partial* partials, int count) {
    const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
    float maximum = -INFINITY;
    for (int i = lane; i < count; i += k_warp_size) maximum = max_of()(maximum, partials[i].maximum);
    maximum = warp_maximum(maximum);
    const float reference = log_sum_reference(maximum);
    // A lane holds its first maximal partial out, and the warp that of its first such lane.
    float rest = 0.0f;
    bool holds = false;
    for (int i = lane; i < count; i += k_warp_size) {
      const float term = expf(partials[i].maximum - reference);
      const bool hold_out = !holds && partials[i].maximum == maximum;
      rest = fmaf(partials[i].rest, term, hold_out ? rest : rest + term);
      holds = holds || hold_out;
    }
    const unsigned holders = __ballot_sync(k_all_lanes, holds);
    if (holds && (holders & ((1u << lane) - 1)) != 0) rest += expf(maximum - reference);
    return {holders != 0 ? maximum : -INFINITY, lane_reduce<k_warp_size>(rest, sum_of())};
  }
  template <int Lanes, int Count>
  __device__ static partial of_small_row(const float (&value)[Count]) {
    return log_sum_of_small_row<Lanes>(value);
  }
  template <int Lanes, int Each>
  __device__ static partial merge_small_row(const partial (&mine)[Each]) {
    return warpcheck::merge_small_row<Lanes>(mine);
  }
  template <class>
  class result {
   public:
    result() = default;
    __device__ explicit result(const partial& row)
        : maximum_(row.maximum), log_of_sum_(row.maximum == INFINITY ? NAN : log1pf(row.rest)) {}
    // A row of nothing but -Inf becomes NaN by the difference; one with +Inf must.
    __device__ float operator()(float x) const { return (x - maximum_) - log_of_sum_; }

   private:
    float maximum_;
    float log_of_sum_;
  };
  template <class T>
  __device__ __host__ static constexpr int64_t* argmax(const arguments<T>&) {
    return nullptr;
  }
};

// --- Dispatch

constexpr int64_t k_lanes_cols = 2048;
constexpr int64_t k_block_cols = 32768;
constexpr int64_t k_cluster_cols = 262144;
constexpr int64_t k_block_dispatch_cols = 16384;

template <class T, row_access Access, int Lanes, int Vectors>
void launch_lanes(const log_softmax_arguments<T>& a, simt::stream_t stream) {
  constexpr int k_count = Vectors * access_width<T, Access>;
  constexpr int k_rows = lanes_rows<T, Access>(k_count);
  constexpr unsigned k_threads = lanes_threads(k_rows * k_count);
  constexpr int64_t k_rows_per_block = k_threads / Lanes * k_rows;
  simt::launch({grid_size(ceil_div(a.rows, k_rows_per_block), stream), k_threads, 0, stream},
               log_softmax_warp<T, Access, Lanes, Vectors, k_rows>, a);
}

template <class T>
int64_t vectors_of_row(const log_softmax_arguments<T>& a) {
  return a.cols / row_vector<T>::k_width;
}

// A warp takes a row, with the smallest of the powers of two Vectors ... Limit that is >= needed.
template <class T, row_access Access, int Vectors, int Limit>
void launch_warp(int64_t needed, const log_softmax_arguments<T>& a, simt::stream_t stream) {
  if constexpr (Vectors >= Limit) {
    launch_lanes<T, Access, k_warp_size, Limit>(a, stream);
  } else {
    if (needed <= Vectors) return launch_lanes<T, Access, k_warp_size, Vectors>(a, stream);
    launch_warp<T, Access, 2 * Vectors, Limit>(needed, a, stream);
  }
}

template <class T>
void launch_warp_variant(const log_softmax_arguments<T>& a, simt::stream_t stream) {
  constexpr auto k_aligned = row_access::aligned;
  constexpr auto k_scalar = row_access::scalar;
  constexpr int k_most = static_cast<int>(k_lanes_cols) / row_vector<T>::k_width / k_warp_size;
  const int64_t vectors = vectors_of_row(a), needed = ceil_div(vectors, k_warp_size);
  if (has_aligned_rows(a)) {
    if (vectors <= 1) return launch_lanes<T, k_aligned, 1, 1>(a, stream);
    if (vectors <= 4) return launch_lanes<T, k_aligned, 4 / few_vectors<T>, few_vectors<T>>(a, stream);
    if (vectors <= 8) return launch_lanes<T, k_aligned, 4, 2>(a, stream);
    if (vectors <= 16) return launch_lanes<T, k_aligned, 16 / few_vectors<T>, few_vectors<T>>(a, stream);
    if (vectors <= 32) return launch_lanes<T, k_aligned, 32 / few_vectors<T>, few_vectors<T>>(a, stream);
    return launch_warp<T, k_aligned, 2, k_most>(needed, a, stream);
  }
  if (a.cols <= 4) return launch_lanes<T, k_scalar, 4, 1>(a, stream);
  if (a.cols <= 16) return launch_lanes<T, k_scalar, 16, 1>(a, stream);
  if (a.cols <= 64) return launch_lanes<T, k_scalar, 16, 4>(a, stream);
  launch_warp<T, row_access::peeled, 1, k_most>(needed, a, stream);
}

template <class T, int Vectors, int MaxThreads, int MinBlocks>
void launch_block(const log_softmax_arguments<T>& a, simt::stream_t stream) {
  // At least a warp, for the ends of a row.
  const int64_t warps = std::max<int64_t>(1, ceil_div(vectors_of_row(a), Vectors * k_warp_size));
  const simt::launch_config config{grid_size(a.rows, stream), static_cast<unsigned>(warps * k_warp_size), 0, stream};
  if (has_aligned_rows(a))
    simt::launch(config, log_softmax_block<T, row_access::aligned, Vectors, MaxThreads, MinBlocks>, a);
  else
    simt::launch(config, log_softmax_block<T, row_access::peeled, Vectors, MaxThreads, MinBlocks>, a);
}

// Threads with all of their 32 elements, in blocks as small as the row allows.
template <class T>
void launch_block_variant(const log_softmax_arguments<T>& a, simt::stream_t stream) {
  constexpr int k_most = 32 / row_vector<T>::k_width;
  const int64_t vectors = vectors_of_row(a);
  if (vectors <= k_most * 256) return launch_block<T, k_most, 256, 4>(a, stream);
  if (vectors <= k_most * 512) return launch_block<T, k_most, 512, 2>(a, stream);
  launch_block<T, k_most, 1024, 1>(a, stream);
}

template <class T>
void launch_cluster_variant(const log_softmax_arguments<T>& a, simt::stream_t stream) {
  if (has_aligned_rows(a))
    launch_row_cluster<log_softmax_row_op, T, row_access::aligned>(a, stream);
  else
    launch_row_cluster<log_softmax_row_op, T, row_access::peeled>(a, stream);
}

constexpr uint32_t k_dtypes = WARPCHECK_F32 | WARPCHECK_F16 | WARPCHECK_BF16;

// In the order of log_softmax_variant, without `automatic`.
constexpr warpcheck_variant k_variants[] = {
    row_variant("log_softmax_warp", 1, k_lanes_cols, 1, k_lanes_cols, k_dtypes),
    row_variant("log_softmax_block", 1, k_block_cols, k_lanes_cols + 1, k_block_dispatch_cols, k_dtypes),
    row_variant("log_softmax_cluster", 1, k_cluster_cols, k_block_dispatch_cols + 1, k_cluster_cols, k_dtypes),
    row_variant("log_softmax_persistent", 1, -1, k_cluster_cols + 1, -1, k_dtypes),
    row_variant("log_softmax_small_matrix", 1, k_small_matrix_cols, 1, k_small_matrix_cols, WARPCHECK_F32),
};

const warpcheck_variant& entry_of(log_softmax_variant variant) { return k_variants[static_cast<int>(variant) - 1]; }

log_softmax_variant pick(int64_t cols, simt::stream_t stream) {
  if (cols <= k_lanes_cols) return log_softmax_variant::warp;
  if (cols <= k_block_dispatch_cols) return log_softmax_variant::block;
  if (cols <= k_cluster_cols && simt::device_properties(stream).max_cluster >= k_max_cluster)
    return log_softmax_variant::cluster;
  return cols <= k_block_cols ? log_softmax_variant::block : log_softmax_variant::persistent;
}

template <class T>
log_softmax_variant pick(const log_softmax_arguments<T>& a, simt::stream_t stream) {
  if (a.cols <= 0) return log_softmax_variant::automatic;
  return is_small_matrix(a, stream) ? log_softmax_variant::small_matrix : pick(a.cols, stream);
}

}  // namespace

template <class T>
log_softmax_variant log_softmax_with(log_softmax_variant variant, const T* x, int64_t ldx, T* y, int64_t ldy,
                                     int64_t rows, int64_t cols, simt::stream_t stream) {
  const row_block x_rows{"x", x, sizeof(T), rows, cols, ldx, "ldx"};
  const row_block y_rows{"y", y, sizeof(T), rows, cols, ldy, "ldy"};
  check_rows(x_rows);
  check_rows(y_rows);
  if (static_cast<const void*>(x) != y || ldx != ldy) check_disjoint(x_rows, y_rows);
  const log_softmax_arguments<T> a{x, ldx, y, ldy, rows, cols};
  if (variant == log_softmax_variant::automatic) variant = pick(a, stream);
  if (cols > 0) check_extent(entry_of(variant), cols);
  if (rows == 0 || cols == 0) return variant;
  const bool passes_on = variant == log_softmax_variant::small_matrix && !takes_small_matrix(a, stream);
  switch (passes_on ? pick(cols, stream) : variant) {
    case log_softmax_variant::small_matrix:
      if constexpr (std::is_same_v<T, float>) launch_small_matrix<small_op_of_row_op<log_softmax_row_op>>(a, stream);
      break;
    case log_softmax_variant::warp: launch_warp_variant(a, stream); break;
    case log_softmax_variant::block: launch_block_variant(a, stream); break;
    case log_softmax_variant::cluster: launch_cluster_variant(a, stream); break;
    default: launch_persistent<log_softmax_row_op, T>(a, stream); break;
  }
  return variant;
}

template <class T>
void log_softmax(const T* x, int64_t ldx, T* y, int64_t ldy, int64_t rows, int64_t cols, simt::stream_t stream) {
  log_softmax_with(log_softmax_variant::automatic, x, ldx, y, ldy, rows, cols, stream);
}

#ifndef WARPCHECK_ONLY_TYPE
#define WARPCHECK_INSTANTIATE_LOG_SOFTMAX(T)                                                                     \
  template void log_softmax<T>(const T*, int64_t, T*, int64_t, int64_t, int64_t, simt::stream_t);                \
  template log_softmax_variant log_softmax_with<T>(log_softmax_variant, const T*, int64_t, T*, int64_t, int64_t, \
                                                   int64_t, simt::stream_t);
WARPCHECK_INSTANTIATE_LOG_SOFTMAX(float)
WARPCHECK_INSTANTIATE_LOG_SOFTMAX(simt::f16)
WARPCHECK_INSTANTIATE_LOG_SOFTMAX(simt::bf16)
#undef WARPCHECK_INSTANTIATE_LOG_SOFTMAX
#endif

namespace {

template <class Visit>
void with_log_softmax_call(const warpcheck_call* call, Visit&& visit) {
  const checked_call checked = check_call(log_softmax_contract(), *call);
  const tensor_view &x = checked.at("x"), &y = checked.at("y");
  with_type<float, simt::f16, simt::bf16>(x.type, [&](auto type) {
    using T = typename decltype(type)::type;
    visit(log_softmax_arguments<T>{x.as<T>(), x.ld, y.as<T>(), y.ld, x.rows, x.cols});
  });
}

warpcheck_status run_log_softmax(warpcheck_call* call) {
  return candidate_call(call, [&] {
    with_log_softmax_call(call, [&](const auto& a) {
      const auto variant = static_cast<log_softmax_variant>(find_variant(call, k_variants, a.cols) + 1);
      const log_softmax_variant used =
          log_softmax_with(variant, a.x, a.ldx, a.y, a.ldy, a.rows, a.cols, static_cast<simt::stream_t>(call->stream));
      if (used != log_softmax_variant::automatic) call->used_variant = entry_of(used).name;
    });
  });
}

const char* pick_log_softmax(const warpcheck_call* call) {
  return candidate_pick(call, k_variants, [&](simt::stream_t stream) {
    auto picked = log_softmax_variant::automatic;
    with_log_softmax_call(call, [&](const auto& a) { picked = pick(a, stream); });
    return picked;
  });
}

// Row lengths at which lanes, vectors per lane or warps per block change.
constexpr int64_t k_boundaries[] = {1,    2,    4,    8,    16,   32,   64,    128,   256,   512,    768,
                                    1024, 1536, 2048, 3072, 4096, 8192, 16384, 32768, 65536, 131072, 135168};

constexpr warpcheck_operator k_operator =
    own_operator("log_softmax", k_dtypes, k_variants, k_boundaries, run_log_softmax, pick_log_softmax);

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_OPERATOR(log_softmax) { return &warpcheck::k_operator; }
