// Argsort: see the contract in argsort.hpp. Keys become unsigned images in the order of the result
// (primitives/sort_image.hpp).
#include "kernels/argsort/argsort.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "kernels/candidate_support.hpp"
#include "kernels/primitives/arguments.hpp"
#include "kernels/primitives/grid.hpp"
#include "kernels/primitives/sort.hpp"
#include "kernels/rows/row_access.hpp"

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

// Writes the places of a thread's items, the first of which belongs at `first` of the `cols` that exist, plus `begin`.
template <class Index, int Items>
__device__ inline void store_places(Index* out, int first, int cols, int64_t begin, const sort_item (&item)[Items]) {
  constexpr int k_width = Items < row_vector<Index>::k_width ? Items : row_vector<Index>::k_width;
  const bool by_vector = k_width == row_vector<Index>::k_width && misalignment_of(out) == 0;
#pragma unroll
  for (int i = 0; i < Items; i += k_width) {
    row_vector<Index> vector;
#pragma unroll
    for (int c = 0; c < k_width; ++c) vector.element[c] = static_cast<Index>(begin + place_of(item[i + c]));
    if (by_vector && first + i + k_width <= cols) {
      store_vector(out + first + i, vector);
    } else {
#pragma unroll
      for (int c = 0; c < k_width; ++c)
        if (first + i + c < cols) store_element(out + first + i + c, vector.element[c]);
    }
  }
}

// Places after the row are behind every NaN.
__device__ inline uint32_t load_image(const float* row, int c, int cols, bool descending) {
  return c < cols ? sort_image<float>::of(load_element(row + c), descending) : ~0u;
}

// ---- a row by some lanes of a warp ----

constexpr int k_lanes_threads = 128;

// What a lane of `Items` items needs of registers lets a multiprocessor hold so many blocks; left alone, the compiler
// takes twice as many for shuffles in flight, and is slower.
template <int Items>
constexpr int k_lanes_blocks = Items > 8 ? 8 : 10;

// No barrier; keys are read and indices written once.
template <class Index, int Lanes, int Items>
__global__ void __launch_bounds__(k_lanes_threads, k_lanes_blocks<Items>) sort_by_lanes(argsort_arguments<Index> a) {
  SIMT_SHARED(scratch, uint32_t[k_lanes_threads * Items]);
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const int64_t group = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / Lanes;
  const int64_t groups = static_cast<int64_t>(gridDim.x) * blockDim.x / Lanes;
  // All lanes of a warp stay together: the loop runs for the warp's first group, rows beyond the last are empty.
  const int64_t first = threadIdx.x % k_warp_size / Lanes;
  for (int64_t base = group - first; base < a.rows; base += groups) {
    const int64_t r = base + first;
    const int cols = r < a.rows ? static_cast<int>(a.cols) : 0;
    const int64_t at = cols > 0 ? r * a.cols : 0;
    uint32_t image[Items];
    sort_item item[Items];
#pragma unroll
    for (int i = 0; i < Items; ++i) image[i] = load_image(a.keys + at, i * Lanes + lane, cols, a.descending);
    lane_sort<Lanes>(image, 0, scratch + threadIdx.x / Lanes * (Lanes * Items), item);
    store_places(a.index + at, lane * Items, cols, 0, item);
  }
}

// ---- a row, or a tile of it, by a block ----

// Sorted runs of rows that lie one after another. Without images where no merge follows.
template <class Index>
struct sorted_runs {
  uint32_t* image;
  Index* index;
};

constexpr int k_block_items = 16;
using block_sorter = block_merge_sort<k_block_items>;
constexpr int k_block_threads = static_cast<int>(k_argsort_block_cols / k_block_items);

// A block of as many threads as a tile takes sorts it; tiles are of `tile` elements, the last of a row shorter.
template <class Index>
__global__ void __launch_bounds__(k_block_threads)
    sort_by_blocks(argsort_arguments<Index> a, int64_t tile, int64_t tiles, sorted_runs<Index> out) {
  SIMT_DYN_SHARED(sort_item, scratch);
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t t = blockIdx.x; t < a.rows * tiles; t += gridDim.x) {
    const int64_t begin = t % tiles * tile;
    const int64_t at = t / tiles * a.cols + begin;
    const int count = static_cast<int>(a.cols - begin < tile ? a.cols - begin : tile);
    uint32_t image[k_block_items];
    sort_item item[k_block_items];
#pragma unroll
    for (int i = 0; i < k_block_items; ++i)
      image[i] =
          load_image(a.keys + at, (thread / k_warp_size * k_block_items + i) * k_warp_size + thread % k_warp_size,
                     count, a.descending);
    block_sorter::sort(image, scratch, item);
    store_places(out.index + at, thread * k_block_items, count, begin, item);
    __syncthreads();  // the scratch is written again
    if (out.image == nullptr) continue;
#pragma unroll
    for (int i = 0; i < k_block_items; ++i)
      if (thread * k_block_items + i < count) out.image[at + thread * k_block_items + i] = image_of(item[i]);
  }
}

// ---- merging ----

constexpr int k_merge_threads = 256;
constexpr int k_merge_items = 8;
constexpr int k_chunk = k_merge_threads * k_merge_items;
constexpr int64_t k_tile = 4096;  // a sorted run of a longer row
static_assert(k_tile % k_chunk == 0, "a chunk lies within a pair of runs");

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
      split[threadIdx.x] = merge_path([&](int64_t i) { return from.image[row + a_begin + i]; }, a_count,
                                      [&](int64_t i) { return from.image[row + b_begin + i]; }, b_count,
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
      int a = merge_path([&](int i) { return image[i]; }, from_a, [&](int i) { return image[from_a + i]; },
                         count - from_a, first);
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

constexpr int64_t k_network_cols = 512;

// In the order of argsort_variant, without `automatic`.
constexpr warpcheck_variant k_variants[] = {
    row_variant("argsort_warp", 1, k_network_cols, 1, k_network_cols, WARPCHECK_F32),
    row_variant("argsort_block", 1, k_argsort_block_cols, k_network_cols + 1, k_argsort_block_cols, WARPCHECK_F32),
    row_variant("argsort_tiles", 1, -1, k_argsort_block_cols + 1, -1, WARPCHECK_F32),
};

argsort_variant choose(argsort_variant variant, int64_t cols) {
  if (variant != argsort_variant::automatic) return variant;
  return cols <= k_network_cols         ? argsort_variant::warp
         : cols <= k_argsort_block_cols ? argsort_variant::block
                                        : argsort_variant::tiles;
}

template <class Index, int Lanes, int Items>
void launch_lanes(const argsort_arguments<Index>& a, simt::stream_t stream) {
  simt::launch({grid_size(ceil_div(a.rows, k_lanes_threads / Lanes), stream), k_lanes_threads, 0, stream},
               sort_by_lanes<Index, Lanes, Items>, a);
}

template <class Index>
void argsort_by_lanes(const argsort_arguments<Index>& a, simt::stream_t stream) {
  if (a.cols <= 32) return launch_lanes<Index, 4, 8>(a, stream);
  if (a.cols <= 64) return launch_lanes<Index, 4, 16>(a, stream);
  if (a.cols <= 128) return launch_lanes<Index, 8, 16>(a, stream);
  if (a.cols <= 256) return launch_lanes<Index, 32, 8>(a, stream);
  launch_lanes<Index, 32, 16>(a, stream);
}

// The fewest whole warps that hold the tile.
template <class Index>
void sort_tiles(const argsort_arguments<Index>& a, int64_t tile, const sorted_runs<Index>& out, simt::stream_t stream) {
  const int64_t tiles = ceil_div(a.cols, tile);
  const int threads = static_cast<int>(ceil_div(tile, k_warp_size * k_block_items)) * k_warp_size;
  simt::launch({resident_grid_size(a.rows * tiles, stream), static_cast<unsigned>(threads),
                block_sorter::scratch_items(threads) * sizeof(sort_item), stream},
               sort_by_blocks<Index>, a, tile, tiles, out);
}

// Each pass reads and writes image and index of every element once.
template <class Index>
void argsort_by_tiles(const argsort_arguments<Index>& a, void* ws, simt::stream_t stream) {
  const int64_t count = a.rows * a.cols;
  const sorted_runs<Index> result{nullptr, a.index};
  if (a.cols <= k_tile) return sort_tiles(a, a.cols, result, stream);
  auto* const indices = static_cast<Index*>(ws);
  auto* const images = reinterpret_cast<uint32_t*>(indices + 2 * count);
  const sorted_runs<Index> runs[] = {{images, indices}, {images + count, indices + count}};
  sort_tiles(a, k_tile, runs[0], stream);
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
    case argsort_variant::warp: argsort_by_lanes(a, stream); break;
    case argsort_variant::block: sort_tiles(a, a.cols, {nullptr, a.index}, stream); break;
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
    const auto variant = static_cast<argsort_variant>(find_variant(call, k_variants, keys.cols) + 1);
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

const char* pick_argsort(const warpcheck_call* call) {
  return candidate_pick(call, k_variants, [&](simt::stream_t) {
    const matrix_view keys = tensor_arguments(call, 1, 1, 1).input_matrix(0, "keys");
    const bool is_empty = keys.rows <= 0 || keys.cols <= 0;
    return is_empty ? argsort_variant::automatic : choose(argsort_variant::automatic, keys.cols);
  });
}

// Row lengths at which the network, the passes, the tiles and the number of merges change.
constexpr int64_t k_boundaries[] = {1,   2,    4,    8,    16,   32,    64,    128,   256,
                                    512, 1024, 2048, 4096, 8192, 12288, 16384, 20480, 32768};

constexpr warpcheck_operator k_operator =
    own_operator("argsort", WARPCHECK_F32, k_variants, k_boundaries, run_argsort, pick_argsort);

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_OPERATOR(argsort) { return &warpcheck::k_operator; }
