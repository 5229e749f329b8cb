// Argsort: see the contract in argsort.hpp. Keys become unsigned images in the order of the result
// (primitives/sort_image.hpp).
#include "kernels/argsort.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "kernels/candidate_support.hpp"
#include "kernels/primitives/arguments.hpp"
#include "kernels/primitives/grid.hpp"
#include "kernels/primitives/row_access.hpp"
#include "kernels/primitives/sort.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

template <class Index>
struct argsort_arguments {
  const float* keys;
  Index* index;
  int64_t rows;
  int64_t cols;
  bool descending;
};

// ---- a row by a warp ----

constexpr int k_warp_threads = 128;

// No barrier; keys are read and indices written once.
template <class Index, int Items>
__global__ void __launch_bounds__(k_warp_threads) sort_by_warps(argsort_arguments<Index> a) {
  constexpr int k_width = row_vector<Index>::k_width;
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
  const int cols = static_cast<int>(a.cols);
  const int64_t warps = static_cast<int64_t>(gridDim.x) * blockDim.x / k_warp_size;
  int64_t r = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / k_warp_size;
  for (; r < a.rows; r += warps) {
    const float* const row = a.keys + r * a.cols;
    sort_item item[Items];
#pragma unroll
    for (int i = 0; i < Items; ++i) {
      const int c = i * k_warp_size + lane;
      // Places after the row are behind every NaN.
      const uint32_t image = c < cols ? sort_image<float>::of(load_element(row + c), a.descending) : ~0u;
      item[i] = make_sort_item(image, static_cast<uint32_t>(c));
    }
    warp_sort(item);
    Index* const out = a.index + r * a.cols;
    const bool by_vector = phase_of(out) == 0;
    const int first = lane * Items;
#pragma unroll
    for (int i = 0; i < Items; i += Items < k_width ? 1 : k_width) {
      if constexpr (Items >= k_width) {
        if (by_vector && first + i + k_width <= cols) {
          row_vector<Index> vector;
#pragma unroll
          for (int c = 0; c < k_width; ++c) vector.element[c] = static_cast<Index>(place_of(item[i + c]));
          store_vector(out + first + i, vector);
          continue;
        }
      }
#pragma unroll
      for (int c = 0; c < (Items < k_width ? 1 : k_width); ++c)
        if (first + i + c < cols) store_element(out + first + i + c, static_cast<Index>(place_of(item[i + c])));
    }
  }
}

// ---- a row, or a tile of it, by a block ----

constexpr int k_block_threads = 512;
template <int Items>
using row_sorter = block_radix_sort<uint32_t, uint16_t, k_block_threads, Items>;

// Sorted runs of rows that lie one after another. Without images where no merge follows.
template <class Index>
struct sorted_runs {
  uint32_t* image;
  Index* index;
};

// A block sorts a tile in shared memory; the runs are as long as its capacity.
template <class Index, int Items>
__global__ void __launch_bounds__(k_block_threads)
    sort_by_blocks(argsort_arguments<Index> a, int64_t tiles, sorted_runs<Index> out) {
  using sorter = row_sorter<Items>;
  using storage = typename sorter::storage;
  SIMT_DYN_SHARED(storage, s);
  for (int64_t t = blockIdx.x; t < a.rows * tiles; t += gridDim.x) {
    const int64_t begin = t % tiles * sorter::k_capacity;
    const int64_t at = t / tiles * a.cols + begin;
    const int64_t left = a.cols - begin;
    const int count = static_cast<int>(left < sorter::k_capacity ? left : sorter::k_capacity);
    for (int c = static_cast<int>(threadIdx.x); c < sorter::k_capacity; c += k_block_threads) {
      // Passes are stable: what follows the row stays behind every NaN.
      s->image[c] = c < count ? sort_image<float>::of(load_element(a.keys + at + c), a.descending) : ~0u;
      s->index[c] = static_cast<uint16_t>(c);
    }
    __syncthreads();
    sorter::sort(*s);
    for (int c = static_cast<int>(threadIdx.x); c < count; c += k_block_threads) {
      store_element(out.index + at + c, static_cast<Index>(begin + s->index[c]));
      if (out.image != nullptr) out.image[at + c] = s->image[c];
    }
    __syncthreads();
  }
}

// ---- merging ----

constexpr int k_merge_threads = 256;
constexpr int k_merge_items = 8;
constexpr int k_chunk = k_merge_threads * k_merge_items;
// Of longer rows: small enough for several blocks on a multiprocessor.
constexpr int k_tile_items = 8;
constexpr int64_t k_tile = k_block_threads * k_tile_items;
static_assert(k_tile % k_chunk == 0, "a chunk lies within a pair of runs");

// How many of the first `diagonal` items of the merged sequence come from a; a comes first among equals.
template <class Offset>
__device__ inline Offset merge_path(const uint32_t* a, Offset a_count, const uint32_t* b, Offset b_count,
                                    Offset diagonal) {
  Offset low = diagonal > b_count ? diagonal - b_count : 0;
  Offset high = diagonal < a_count ? diagonal : a_count;
  while (low < high) {
    const Offset middle = low + (high - low) / 2;
    if (a[middle] <= b[diagonal - 1 - middle])
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Merges runs of `length` in pairs; a block makes a chunk of the result. Three barriers per chunk.
template <class Index>
__global__ void __launch_bounds__(k_merge_threads)
    merge_runs(sorted_runs<Index> from, sorted_runs<Index> to, int64_t rows, int64_t cols, int64_t length) {
  SIMT_SHARED(split, int64_t[2]);
  SIMT_SHARED(image, uint32_t[k_chunk]);
  SIMT_SHARED(index, Index[k_chunk]);
  const int64_t chunks = ceil_div(cols, k_chunk);
  for (int64_t number = blockIdx.x; number < rows * chunks; number += gridDim.x) {
    const int64_t row = number / chunks * cols;
    const int64_t begin = number % chunks * k_chunk;
    const int64_t end = begin + k_chunk < cols ? begin + k_chunk : cols;
    const int64_t a_begin = begin / (2 * length) * (2 * length);
    const int64_t a_count = a_begin + length < cols ? length : cols - a_begin;
    const int64_t b_begin = a_begin + a_count;
    const int64_t b_count = b_begin + length < cols ? length : cols - b_begin;
    if (threadIdx.x < 2)
      split[threadIdx.x] = merge_path(from.image + row + a_begin, a_count, from.image + row + b_begin, b_count,
                                      (threadIdx.x == 0 ? begin : end) - a_begin);
    __syncthreads();
    const int count = static_cast<int>(end - begin);
    const int from_a = static_cast<int>(split[1] - split[0]);
    const int64_t a_at = row + a_begin + split[0];
    const int64_t b_at = row + b_begin + (begin - a_begin - split[0]) - from_a;
    for (int c = static_cast<int>(threadIdx.x); c < count; c += k_merge_threads) {
      const int64_t at = (c < from_a ? a_at : b_at) + c;
      image[c] = from.image[at];
      index[c] = from.index[at];
    }
    __syncthreads();
    const int first = static_cast<int>(threadIdx.x) * k_merge_items;
    if (first < count) {
      int a = merge_path<int>(image, from_a, image + from_a, count - from_a, first);
      int b = from_a + first - a;
#pragma unroll
      for (int i = 0; i < k_merge_items; ++i) {
        if (first + i >= count) break;
        const bool takes_a = a < from_a && (b == count || image[a] <= image[b]);
        const int source = takes_a ? a++ : b++;
        to.index[row + begin + first + i] = index[source];
        if (to.image != nullptr) to.image[row + begin + first + i] = image[source];
      }
    }
    __syncthreads();
  }
}

// ---- host ----

constexpr int64_t k_network_cols = 1024;
constexpr int64_t k_network_dispatch = 512;  // beyond, the network has too many stages

// In the order of argsort_variant, without `automatic`.
constexpr warpcheck_variant k_variants[] = {
    {"argsort_warp", 1, k_network_cols, 1, k_network_dispatch, WARPCHECK_F32},
    {"argsort_block", 1, k_argsort_block_cols, k_network_dispatch + 1, k_argsort_block_cols, WARPCHECK_F32},
    {"argsort_tiles", 1, -1, k_argsort_block_cols + 1, -1, WARPCHECK_F32},
};
constexpr int k_num_variants = static_cast<int>(sizeof k_variants / sizeof k_variants[0]);

argsort_variant choose(argsort_variant variant, int64_t cols) {
  if (variant != argsort_variant::automatic) return variant;
  return cols <= k_network_dispatch     ? argsort_variant::warp
         : cols <= k_argsort_block_cols ? argsort_variant::block
                                        : argsort_variant::tiles;
}

template <class Index, int Items>
void launch_warps(const argsort_arguments<Index>& a, simt::stream_t stream) {
  simt::launch({grid_size(ceil_div(a.rows, k_warp_threads / k_warp_size), stream), k_warp_threads, 0, stream},
               sort_by_warps<Index, Items>, a);
}

template <class Index>
void argsort_by_warps(const argsort_arguments<Index>& a, simt::stream_t stream) {
  if (a.cols <= 32) return launch_warps<Index, 1>(a, stream);
  if (a.cols <= 64) return launch_warps<Index, 2>(a, stream);
  if (a.cols <= 128) return launch_warps<Index, 4>(a, stream);
  if (a.cols <= 256) return launch_warps<Index, 8>(a, stream);
  if (a.cols <= 512) return launch_warps<Index, 16>(a, stream);
  launch_warps<Index, 32>(a, stream);
}

template <class Index, int Items>
void launch_blocks(const argsort_arguments<Index>& a, const sorted_runs<Index>& out, simt::stream_t stream) {
  const int64_t tiles = ceil_div(a.cols, row_sorter<Items>::k_capacity);
  simt::launch({resident_grid_size(a.rows * tiles, stream), k_block_threads,
                sizeof(typename row_sorter<Items>::storage), stream},
               sort_by_blocks<Index, Items>, a, tiles, out);
}

template <class Index>
void argsort_by_blocks(const argsort_arguments<Index>& a, simt::stream_t stream) {
  const sorted_runs<Index> out{nullptr, a.index};
  if (a.cols <= row_sorter<2>::k_capacity) return launch_blocks<Index, 2>(a, out, stream);
  if (a.cols <= row_sorter<4>::k_capacity) return launch_blocks<Index, 4>(a, out, stream);
  if (a.cols <= row_sorter<8>::k_capacity) return launch_blocks<Index, 8>(a, out, stream);
  if (a.cols <= row_sorter<16>::k_capacity) return launch_blocks<Index, 16>(a, out, stream);
  launch_blocks<Index, 32>(a, out, stream);
}

// Each pass reads and writes image and index of every element once.
template <class Index>
void argsort_by_tiles(const argsort_arguments<Index>& a, void* ws, simt::stream_t stream) {
  const int64_t count = a.rows * a.cols;
  const sorted_runs<Index> result{nullptr, a.index};
  if (a.cols <= k_tile) return launch_blocks<Index, k_tile_items>(a, result, stream);
  auto* const indices = static_cast<Index*>(ws);
  auto* const images = reinterpret_cast<uint32_t*>(indices + 2 * count);
  const sorted_runs<Index> runs[] = {{images, indices}, {images + count, indices + count}};
  launch_blocks<Index, k_tile_items>(a, runs[0], stream);
  const unsigned blocks = resident_grid_size(a.rows * ceil_div(a.cols, k_chunk), stream);
  int source = 0;
  for (int64_t length = k_tile; length < a.cols; length *= 2, source ^= 1)
    simt::launch({blocks, k_merge_threads, 0, stream}, merge_runs<Index>, runs[source],
                 2 * length >= a.cols ? result : runs[source ^ 1], a.rows, a.cols, length);
}

}  // namespace

size_t argsort_workspace_bytes(int64_t rows, int64_t cols, size_t index_bytes, argsort_variant variant) {
  check_extents(rows, cols, sizeof(int64_t));
  if (index_bytes != sizeof(int32_t) && index_bytes != sizeof(int64_t))
    throw std::invalid_argument("index_bytes is " + std::to_string(index_bytes) + ", must be 4 or 8");
  if (choose(variant, cols) != argsort_variant::tiles || cols <= k_tile) return 0;
  return 2 * static_cast<size_t>(rows * cols) * (sizeof(uint32_t) + index_bytes);
}

size_t argsort_workspace_bytes(int64_t rows, int64_t cols, size_t index_bytes) {
  return argsort_workspace_bytes(rows, cols, index_bytes, argsort_variant::automatic);
}

template <class Index>
argsort_variant argsort_with(argsort_variant variant, const float* keys, Index* index, int64_t rows, int64_t cols,
                             sort_order order, void* ws, size_t ws_bytes, simt::stream_t stream) {
  check_extents(rows, cols, sizeof(int64_t));
  if (cols > std::numeric_limits<Index>::max())
    throw std::invalid_argument("cols is " + std::to_string(cols) + ", must be at most " +
                                std::to_string(std::numeric_limits<Index>::max()) + " for this type of index");
  const row_block key_rows{"keys", keys, sizeof(float), rows, cols, cols, nullptr};
  const row_block index_rows{"index", index, sizeof(Index), rows, cols, cols, nullptr};
  check_rows(key_rows);
  check_rows(index_rows);
  check_disjoint(key_rows, index_rows);
  if (order != sort_order::ascending && order != sort_order::descending)
    throw std::invalid_argument("order is " + std::to_string(static_cast<int>(order)) +
                                ", must be 0 (ascending) or 1 (descending)");
  variant = choose(variant, cols);
  const size_t needed = argsort_workspace_bytes(rows, cols, sizeof(Index), variant);
  const row_block ws_rows = check_workspace(ws, ws_bytes, needed);
  check_disjoint(key_rows, ws_rows);
  check_disjoint(index_rows, ws_rows);
  if (rows == 0 || cols == 0) return variant;
  check_extent(k_variants[static_cast<int>(variant) - 1], cols);
  const argsort_arguments<Index> a{keys, index, rows, cols, order == sort_order::descending};
  switch (variant) {
    case argsort_variant::warp: argsort_by_warps(a, stream); break;
    case argsort_variant::block: argsort_by_blocks(a, stream); break;
    default: argsort_by_tiles(a, ws, stream);
  }
  return variant;
}

template <class Index>
void argsort(const float* keys, Index* index, int64_t rows, int64_t cols, sort_order order, void* ws, size_t ws_bytes,
             simt::stream_t stream) {
  argsort_with(argsort_variant::automatic, keys, index, rows, cols, order, ws, ws_bytes, stream);
}

#define WARPCHECK_INSTANTIATE_ARGSORT(Index)                                                                        \
  template void argsort<Index>(const float*, Index*, int64_t, int64_t, sort_order, void*, size_t, simt::stream_t);  \
  template argsort_variant argsort_with<Index>(argsort_variant, const float*, Index*, int64_t, int64_t, sort_order, \
                                               void*, size_t, simt::stream_t);
WARPCHECK_INSTANTIATE_ARGSORT(int32_t)
WARPCHECK_INSTANTIATE_ARGSORT(int64_t)
#undef WARPCHECK_INSTANTIATE_ARGSORT

namespace {

// Tensors: inputs {keys[rows, cols] f32}, outputs {index[rows, cols] i32 or i64}; scalar "order": 0 ascending,
// 1 descending.
warpcheck_status run_argsort(warpcheck_call* call) {
  return candidate_call(call, [&] {
    const tensor_arguments tensors(call, 1, 1, 1);
    const matrix_view keys = tensors.input_matrix(0, "keys");
    const matrix_view index = tensors.output_matrix(0, "index");
    if (keys.rows != index.rows || keys.cols != index.cols)
      throw std::invalid_argument("index is " + std::to_string(index.rows) + " x " + std::to_string(index.cols) +
                                  ", must have the shape of keys, " + std::to_string(keys.rows) + " x " +
                                  std::to_string(keys.cols));
    if (keys.dtype != WARPCHECK_F32) throw unsupported_call("element type of keys is not f32");
    const double code = scalar_argument(call, "order");
    // What is neither is refused below.
    const auto order = static_cast<sort_order>(code == 0 || code == 1 ? static_cast<int>(code) : 255);
    const auto variant = static_cast<argsort_variant>(find_variant(call, k_variants, k_num_variants, keys.cols) + 1);
    argsort_variant used = variant;
    const auto run = [&](auto type) {
      using Index = typename decltype(type)::type;
      const row_block key_rows{"keys", keys.base, sizeof(float), keys.rows, keys.cols, keys.ld, "ldkeys"};
      const row_block index_rows{"index", index.base, sizeof(Index), index.rows, index.cols, index.ld, "ldindex"};
      check_rows(key_rows);
      check_rows(index_rows);
      check_disjoint(key_rows, index_rows);
      require_dense(keys, "keys");
      require_dense(index, "index");
      const auto stream = static_cast<simt::stream_t>(call->stream);
      const size_t bytes = argsort_workspace_bytes(keys.rows, keys.cols, sizeof(Index), variant);
      const auto run_in = [&](void* ws) {
        used = argsort_with(variant, keys.data<float>(), index.mutable_data<Index>(), keys.rows, keys.cols, order, ws,
                            bytes, stream);
      };
      if (bytes == 0) return run_in(nullptr);
      const simt::buffer<uint64_t> ws(bytes / sizeof(uint64_t), stream);
      run_in(ws.data());
    };
    if (index.dtype == WARPCHECK_I32)
      run(type_tag<int32_t>());
    else if (index.dtype == WARPCHECK_I64)
      run(type_tag<int64_t>());
    else
      throw std::invalid_argument("element type of index is not one of i32, i64");
    if (keys.rows > 0 && keys.cols > 0) call->used_variant = k_variants[static_cast<int>(used) - 1].name;
  });
}

// Row lengths at which the network, the passes, the tiles and the number of merges change.
constexpr int64_t k_boundaries[] = {1,   2,    4,    8,    16,   32,    64,    128,   256,
                                    512, 1024, 2048, 4096, 8192, 12288, 16384, 20480, 32768};
constexpr int32_t k_num_boundaries = static_cast<int32_t>(sizeof k_boundaries / sizeof k_boundaries[0]);

constexpr warpcheck_operator k_operator = {"argsort",      k_candidate_device, WARPCHECK_F32,    k_variants,
                                           k_num_variants, k_boundaries,       k_num_boundaries, run_argsort};

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_OPERATOR(argsort) { return &warpcheck::k_operator; }
