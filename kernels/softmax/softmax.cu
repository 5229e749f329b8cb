// Softmax: see the contract in softmax.hpp. Which kernel takes a matrix, from the simplest up:
//
//   loop          loop.hpp                  a block reads a row of any length three times; the yardstick of the others
//   subwarp, warp warp_rows.hpp             lanes of a warp hold a row in registers: up to 2048 columns
//   block         block.hpp                 a block holds it in registers: up to 32768
//   cluster       ../rows/row_cluster.hpp   a cluster holds it, half in registers, half in shared memory: up to 262144
//   persistent    ../rows/persistent_pipeline.hpp   all multiprocessors hold it while the next row comes in: up to 2^22
//                 ../rows/persistent_two_pass.hpp   they hold its end, and read the rest again: any length
//   small_matrix  ../rows/small_matrix.hpp  all of the above for a matrix of at most 1 MB, where latency counts
//
// Bytes moved: cols * sizeof(T) in and out per row but for loop and persistent_two_pass; 8 out with argmax.
#include "kernels/softmax/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/candidate_support.hpp"
#include "kernels/primitives/arguments.hpp"
#include "kernels/primitives/grid.hpp"
#include "kernels/primitives/reduce.hpp"
#include "kernels/rows/fill.hpp"
#include "kernels/rows/persistent.hpp"
#include "kernels/rows/row_access.hpp"
#include "kernels/rows/row_cluster.hpp"
#include "kernels/rows/small_matrix.hpp"
#include "kernels/softmax/arguments.hpp"
#include "kernels/softmax/block.hpp"
#include "kernels/softmax/contract.hpp"
#include "kernels/softmax/loop.hpp"
#include "kernels/softmax/partial.hpp"
#include "kernels/softmax/warp_rows.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

constexpr int64_t k_subwarp_cols = 64;
constexpr int64_t k_warp_cols = 2048;
constexpr int64_t k_short_block_cols[] = {769, 1024};  // of 16-bit types: 3 to 4 % faster than by a warp
constexpr int64_t k_block_cols = 32768;
constexpr int64_t k_cluster_cols = 262144;
constexpr int64_t k_block_dispatch_cols = 24576;

template <class T, row_access Access, int Lanes, int Vectors>
void launch_lanes(const softmax_arguments<T>& a, simt::stream_t stream) {
  constexpr int k_count = Vectors * access_width<T, Access>;
  constexpr int k_rows = lanes_rows<T, Access>(k_count);
  constexpr unsigned k_threads = lanes_threads(k_rows * k_count);
  constexpr int64_t k_rows_per_block = k_threads / Lanes * k_rows;
  simt::launch({grid_size(ceil_div(a.rows, k_rows_per_block), stream), k_threads, 0, stream},
               softmax_warp<T, Access, Lanes, Vectors, k_rows>, a);
}

// Calls launch_lanes with the smallest `Vectors` in [Vectors, Limit] that is >= needed.
template <class T, row_access Access, int Vectors, int Limit>
void launch_warp(int needed, const softmax_arguments<T>& a, simt::stream_t stream) {
  if constexpr (Vectors >= Limit) {
    launch_lanes<T, Access, k_warp_size, Limit>(a, stream);
  } else {
    if (needed <= Vectors) return launch_lanes<T, Access, k_warp_size, Vectors>(a, stream);
    launch_warp<T, Access, Vectors + 1, Limit>(needed, a, stream);
  }
}

template <class T>
void launch_subwarp_variant(const softmax_arguments<T>& a, simt::stream_t stream) {
  if (has_aligned_rows(a)) {
    constexpr auto k_aligned = row_access::aligned;
    const int64_t vectors = a.cols / row_vector<T>::k_width;
    if (vectors <= 1) return launch_lanes<T, k_aligned, 1, 1>(a, stream);
    if (vectors <= 2) return launch_lanes<T, k_aligned, 2, 1>(a, stream);
    if (vectors <= 4) return launch_lanes<T, k_aligned, 4 / few_vectors<T>, few_vectors<T>>(a, stream);
    if (vectors <= 8) return launch_lanes<T, k_aligned, 8 / few_vectors<T>, few_vectors<T>>(a, stream);
    return launch_lanes<T, k_aligned, 16, 1>(a, stream);
  }
  constexpr auto k_scalar = row_access::scalar;
  if (a.cols <= 1) return launch_lanes<T, k_scalar, 1, 1>(a, stream);
  if (a.cols <= 2) return launch_lanes<T, k_scalar, 2, 1>(a, stream);
  if (a.cols <= 4) return launch_lanes<T, k_scalar, 4, 1>(a, stream);
  if (a.cols <= 8) return launch_lanes<T, k_scalar, 8, 1>(a, stream);
  if (a.cols <= 16) return launch_lanes<T, k_scalar, 16, 1>(a, stream);
  if (a.cols <= 32) return launch_lanes<T, k_scalar, 16, 2>(a, stream);
  return launch_lanes<T, k_scalar, 16, 4>(a, stream);
}

template <class T>
int64_t vectors_of_row(const softmax_arguments<T>& a) {
  return a.cols / row_vector<T>::k_width;
}

template <class T>
void launch_warp_variant(const softmax_arguments<T>& a, simt::stream_t stream) {
  constexpr int k_most = static_cast<int>(k_warp_cols) / row_vector<T>::k_width / k_warp_size;
  const int needed = static_cast<int>(ceil_div(vectors_of_row(a), k_warp_size));
  if (has_aligned_rows(a)) return launch_warp<T, row_access::aligned, 1, k_most>(needed, a, stream);
  launch_warp<T, row_access::peeled, 1, k_most>(needed, a, stream);
}

// Threads of each of `blocks` blocks that hold a row, `vectors` a thread; at least a warp, for the ends of a row.
template <class T>
unsigned row_threads(const softmax_arguments<T>& a, int vectors, int blocks) {
  const int64_t warps = ceil_div(ceil_div(vectors_of_row(a), blocks), vectors * k_warp_size);
  return static_cast<unsigned>(std::max<int64_t>(1, warps) * k_warp_size);
}

template <class T, int Vectors, int MaxThreads, int MinBlocks>
void launch_block(const softmax_arguments<T>& a, simt::stream_t stream) {
  const simt::launch_config config{grid_size(a.rows, stream), row_threads(a, Vectors, 1), 0, stream};
  if (has_aligned_rows(a))
    simt::launch(config, softmax_block<T, row_access::aligned, Vectors, MaxThreads, MinBlocks>, a);
  else
    simt::launch(config, softmax_block<T, row_access::peeled, Vectors, MaxThreads, MinBlocks>, a);
}

// As few elements a thread as 512 threads allow, because many small blocks overlap best.
template <class T>
void launch_block_variant(const softmax_arguments<T>& a, simt::stream_t stream) {
  constexpr int k_most = 32 / row_vector<T>::k_width;
  const int64_t vectors = vectors_of_row(a);
  if (vectors <= 2 * 512) return launch_block<T, 2, 512, 4>(a, stream);
  if constexpr (k_most > 4)
    if (vectors <= 4 * 512) return launch_block<T, 4, 512, 3>(a, stream);
  if (vectors <= k_most * 512) return launch_block<T, k_most, 512, 2>(a, stream);
  launch_block<T, k_most, 1024, 1>(a, stream);
}

template <class T>
void launch_cluster_variant(const softmax_arguments<T>& a, simt::stream_t stream) {
  if (has_aligned_rows(a))
    launch_row_cluster<softmax_row_op, T, row_access::aligned>(a, stream);
  else
    launch_row_cluster<softmax_row_op, T, row_access::peeled>(a, stream);
}

template <class T>
void launch_loop_variant(const softmax_arguments<T>& a, simt::stream_t stream) {
  // No more threads than a short row keeps busy in one step; the step may start before the row.
  const int64_t steps = a.cols + row_vector<T>::k_width;
  const int64_t warps = std::min<int64_t>(ceil_div(steps, k_loop_elements * k_warp_size), k_loop_threads / k_warp_size);
  const auto threads = static_cast<unsigned>(warps * k_warp_size);
  simt::launch({grid_size(a.rows, stream), threads, 0, stream}, softmax_loop<T>, a);
}

constexpr uint32_t k_dtypes = WARPCHECK_F32 | WARPCHECK_F16 | WARPCHECK_BF16;

// In the order of softmax_variant, without `automatic`.
constexpr warpcheck_variant k_variants[] = {
    row_variant("softmax_loop", 1, -1, 1, 0, k_dtypes),
    row_variant("softmax_subwarp", 1, k_subwarp_cols, 1, k_subwarp_cols, k_dtypes),
    row_variant("softmax_warp", 1, k_warp_cols, k_subwarp_cols + 1, k_warp_cols, k_dtypes),
    row_variant("softmax_block", 1, k_block_cols, k_short_block_cols[0], k_block_dispatch_cols, k_dtypes),
    row_variant("softmax_persistent", 1, -1, k_cluster_cols + 1, -1, k_dtypes),
    row_variant("softmax_cluster", 1, k_cluster_cols, k_block_dispatch_cols + 1, k_cluster_cols, k_dtypes),
    row_variant("softmax_small_matrix", 1, k_small_matrix_cols, 1, k_small_matrix_cols, WARPCHECK_F32),
};

const warpcheck_variant& entry_of(softmax_variant variant) { return k_variants[static_cast<int>(variant) - 1]; }

softmax_variant pick(int64_t cols, simt::stream_t stream) {
  if (cols <= k_subwarp_cols) return softmax_variant::subwarp;
  if (cols <= k_warp_cols) return softmax_variant::warp;
  if (cols <= k_block_dispatch_cols) return softmax_variant::block;
  if (cols <= k_cluster_cols && simt::device_properties(stream).max_cluster >= k_max_cluster)
    return softmax_variant::cluster;
  return cols <= k_block_cols ? softmax_variant::block : softmax_variant::persistent;
}

template <class T>
softmax_variant pick(const softmax_arguments<T>& a, simt::stream_t stream) {
  if (a.cols <= 0) return softmax_variant::automatic;
  if (sizeof(T) == 2 && a.cols >= k_short_block_cols[0] && a.cols <= k_short_block_cols[1] && has_aligned_rows(a))
    return softmax_variant::block;
  return a.argmax == nullptr && is_small_matrix(a, stream) ? softmax_variant::small_matrix : pick(a.cols, stream);
}

}  // namespace

template <class T>
softmax_variant softmax_with(softmax_variant variant, const T* x, int64_t ldx, T* y, int64_t ldy, int64_t rows,
                             int64_t cols, int64_t* argmax, simt::stream_t stream) {
  const row_block x_rows{"x", x, sizeof(T), rows, cols, ldx, "ldx"};
  const row_block y_rows{"y", y, sizeof(T), rows, cols, ldy, "ldy"};
  const row_block argmax_rows{"argmax", argmax, sizeof(int64_t), 1, argmax == nullptr ? 0 : rows, rows, nullptr};
  check_rows(x_rows);
  check_rows(y_rows);
  check_rows(argmax_rows);
  if (static_cast<const void*>(x) != y || ldx != ldy) check_disjoint(x_rows, y_rows);
  check_disjoint(x_rows, argmax_rows);
  check_disjoint(y_rows, argmax_rows);

  const softmax_arguments<T> a{x, ldx, y, ldy, rows, cols, argmax};
  if (variant == softmax_variant::automatic) variant = pick(a, stream);
  if (cols > 0) check_extent(entry_of(variant), cols);
  if (rows == 0) return variant;
  if (cols == 0) {
    if (argmax != nullptr) fill(argmax, rows, int64_t{-1}, stream);
    return variant;
  }
  const bool passes_on =
      variant == softmax_variant::small_matrix && (argmax != nullptr || !takes_small_matrix(a, stream));
  switch (passes_on ? pick(cols, stream) : variant) {
    case softmax_variant::small_matrix:
      if constexpr (std::is_same_v<T, float>) launch_small_matrix<small_op_of_row_op<softmax_row_op>>(a, stream);
      break;
    case softmax_variant::subwarp: launch_subwarp_variant(a, stream); break;
    case softmax_variant::warp: launch_warp_variant(a, stream); break;
    case softmax_variant::block: launch_block_variant(a, stream); break;
    case softmax_variant::cluster: launch_cluster_variant(a, stream); break;
    case softmax_variant::persistent: launch_persistent<softmax_row_op, T>(a, stream); break;
    default: launch_loop_variant(a, stream); break;
  }
  return variant;
}

template <class T>
void softmax(const T* x, int64_t ldx, T* y, int64_t ldy, int64_t rows, int64_t cols, int64_t* argmax,
             simt::stream_t stream) {
  softmax_with(softmax_variant::automatic, x, ldx, y, ldy, rows, cols, argmax, stream);
}

#ifndef WARPCHECK_ONLY_TYPE
#define WARPCHECK_INSTANTIATE_SOFTMAX(T)                                                                      \
  template void softmax<T>(const T*, int64_t, T*, int64_t, int64_t, int64_t, int64_t*, simt::stream_t);       \
  template softmax_variant softmax_with<T>(softmax_variant, const T*, int64_t, T*, int64_t, int64_t, int64_t, \
                                           int64_t*, simt::stream_t);
WARPCHECK_INSTANTIATE_SOFTMAX(float)
WARPCHECK_INSTANTIATE_SOFTMAX(simt::f16)
WARPCHECK_INSTANTIATE_SOFTMAX(simt::bf16)
#undef WARPCHECK_INSTANTIATE_SOFTMAX
#endif

namespace {

template <class Visit>
void with_softmax_call(const warpcheck_call* call, Visit&& visit) {
  const checked_call checked = check_call(softmax_contract(), *call);
  const tensor_view &x = checked.at("x"), &y = checked.at("y");
  with_type<float, simt::f16, simt::bf16>(x.type, [&](auto type) {
    using T = typename decltype(type)::type;
    visit(softmax_arguments<T>{x.as<T>(), x.ld, y.as<T>(), y.ld, x.rows, x.cols, checked.data<int64_t>("index")});
  });
}

warpcheck_status run_softmax(warpcheck_call* call) {
  return candidate_call(call, [&] {
    with_softmax_call(call, [&](const auto& a) {
      const auto variant = static_cast<softmax_variant>(find_variant(call, k_variants, a.cols) + 1);
      const softmax_variant used = softmax_with(variant, a.x, a.ldx, a.y, a.ldy, a.rows, a.cols, a.argmax,
                                                static_cast<simt::stream_t>(call->stream));
      if (used != softmax_variant::automatic) call->used_variant = entry_of(used).name;
    });
  });
}

const char* pick_softmax(const warpcheck_call* call) {
  return candidate_pick(call, k_variants, [&](simt::stream_t stream) {
    auto picked = softmax_variant::automatic;
    with_softmax_call(call, [&](const auto& a) { picked = pick(a, stream); });
    return picked;
  });
}

// Row lengths at which lanes, vectors per lane or warps per block change.
constexpr int64_t k_boundaries[] = {1,    2,    4,     8,     16,    32,    64,    128,    256,   384,
                                    512,  640,  768,   896,   1024,  1280,  1536,  1792,   2048,  3072,
                                    4096, 8192, 16384, 24576, 32768, 49152, 65536, 131072, 135168};

constexpr warpcheck_operator k_operator =
    own_operator("softmax", k_dtypes, k_variants, k_boundaries, run_softmax, pick_softmax);

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_OPERATOR(softmax) { return &warpcheck::k_operator; }
