// Argsort: see the contract in argsort.hpp. Keys become unsigned images in the order of the result
// (primitives/sort_image.hpp).
#include "kernels/argsort/argsort.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/argsort/contract.hpp"
#include "kernels/argsort/radix.hpp"
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

// Writes the places of a thread's items, the first of which belongs at `first` of the `cols` that exist.
template <class Index, int Items>
__device__ inline void store_places(Index* out, int first, int cols, const sort_item (&item)[Items]) {
  constexpr int k_width = Items < row_vector<Index>::k_width ? Items : row_vector<Index>::k_width;
  const bool by_vector = k_width == row_vector<Index>::k_width && misalignment_of(out) == 0;
#pragma unroll
  for (int i = 0; i < Items; i += k_width) {
    row_vector<Index> vector;
#pragma unroll
    for (int c = 0; c < k_width; ++c) vector.element[c] = static_cast<Index>(place_of(item[i + c]));
    if (by_vector && first + i + k_width <= cols) {
      store_vector(out + first + i, vector);
    } else {
#pragma unroll
      for (int c = 0; c < k_width; ++c)
        if (first + i + c < cols) store_element(out + first + i + c, vector.element[c]);
    }
  }
}

// Places after the row are sorted after every NaN.
__device__ inline uint32_t load_image(const float* row, int c, int cols, bool descending) {
  return c < cols ? sort_image<float>::of(load_element(row + c), descending) : ~0u;
}

// ---- a row by some lanes of a warp ----

constexpr int k_lanes_threads = 128;

// Blocks that a multiprocessor can hold with the registers of lanes of `Items` items. Without this bound the compiler
// uses twice as many registers for shuffles in flight, and the kernel is slower.
template <int Items>
constexpr int k_lanes_blocks = Items > 8 ? 8 : 10;

// No barrier; keys are read and indices written once.
template <class Index, int Lanes, int Items>
__global__ void __launch_bounds__(k_lanes_threads, k_lanes_blocks<Items>) sort_by_lanes(argsort_arguments<Index> a) {
  SIMT_SHARED(scratch, uint32_t[k_lanes_threads * Items]);
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const int64_t group = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / Lanes;
  const int64_t groups = static_cast<int64_t>(gridDim.x) * blockDim.x / Lanes;
  // The loop runs for the warp's first group, so that all lanes stay together; rows after the last are empty.
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
    store_places(a.index + at, lane * Items, cols, item);
  }
}

// ---- a row by a block ----

constexpr int k_block_items = 16;
using block_sorter = block_merge_sort<k_block_items>;
constexpr int k_block_threads = static_cast<int>(k_argsort_block_cols / k_block_items);

// A block with as many threads as a row needs sorts it.
template <class Index>
__global__ void __launch_bounds__(k_block_threads) sort_by_blocks(argsort_arguments<Index> a) {
  SIMT_DYN_SHARED(sort_item, scratch);
  const int thread = static_cast<int>(threadIdx.x);
  const int cols = static_cast<int>(a.cols);
  for (int64_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
    uint32_t image[k_block_items];
    sort_item item[k_block_items];
#pragma unroll
    for (int i = 0; i < k_block_items; ++i)
      image[i] = load_image(a.keys + r * a.cols,
                            (thread / k_warp_size * k_block_items + i) * k_warp_size + thread % k_warp_size, cols,
                            a.descending);
    block_sorter::sort(image, scratch, item);
    store_places(a.index + r * a.cols, thread * k_block_items, cols, item);
    __syncthreads();  // the scratch is written again
  }
}

// ---- host ----

constexpr int64_t k_network_cols = 512;

// In the order of argsort_variant, without `automatic`.
constexpr warpcheck_variant k_variants[] = {
    row_variant("argsort_warp", 1, k_network_cols, 1, k_network_cols, WARPCHECK_F32),
    row_variant("argsort_block", 1, k_argsort_block_cols, k_network_cols + 1, k_argsort_block_cols, WARPCHECK_F32),
    row_variant("argsort_radix", 1, -1, k_argsort_block_cols + 1, -1, WARPCHECK_F32),
};

argsort_variant choose(argsort_variant variant, int64_t cols) {
  if (variant != argsort_variant::automatic) return variant;
  return cols <= k_network_cols         ? argsort_variant::warp
         : cols <= k_argsort_block_cols ? argsort_variant::block
                                        : argsort_variant::radix;
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

// The fewest whole warps that hold the row.
template <class Index>
void argsort_by_blocks(const argsort_arguments<Index>& a, simt::stream_t stream) {
  const int threads = static_cast<int>(ceil_div(a.cols, k_warp_size * k_block_items)) * k_warp_size;
  simt::launch({resident_grid_size(a.rows, stream), static_cast<unsigned>(threads),
                block_sorter::scratch_items(threads) * sizeof(sort_item), stream},
               sort_by_blocks<Index>, a);
}

// The second pass leaves its indices in the result, where the third reads them.
template <class Index>
void argsort_by_digits(const argsort_arguments<Index>& a, void* ws, simt::stream_t stream) {
  using workspace = radix_workspace<Index>;
  using count_type = typename workspace::count_type;
  const int64_t tiles = workspace::tiles(a.cols), words = workspace::count_words(a.rows, a.cols);
  auto* const counts = static_cast<count_type*>(ws);
  auto* const index = reinterpret_cast<Index*>(counts + words);
  auto* const image = reinterpret_cast<uint32_t*>(index + a.rows * a.cols);
  simt::memset_async(counts, 0, static_cast<size_t>(words) * sizeof(count_type), stream);
  count_type* const totals = counts + k_digit_passes;
  count_type* const status = totals + k_digit_passes * a.rows * k_digits;
  simt::launch({resident_grid_size(a.rows * ceil_div(a.cols, k_count_chunk), stream), k_count_threads, 0, stream},
               count_digits<count_type>, a.keys, a.rows, a.cols, a.descending, totals);
  uint32_t* const images[] = {image, image + a.rows * a.cols};
  Index* const indices[] = {index, a.index};
  const auto move = [&](auto pass) {
    constexpr int k_pass = decltype(pass)::value;
    constexpr int k_from = (k_pass + 1) % 2, k_to = k_pass % 2;
    const radix_pass<Index> p{a.keys,
                              images[k_from],
                              indices[k_from],
                              images[k_to],
                              indices[k_to],
                              counts + k_pass,
                              totals + k_pass * a.rows * k_digits,
                              status + k_pass * a.rows * tiles * k_digits,
                              a.rows,
                              a.cols,
                              tiles,
                              a.descending};
    simt::launch({grid_size(a.rows * tiles, stream), k_radix_threads, sizeof(radix_scratch<Index>), stream},
                 move_by_digit<k_pass, Index>, p);
  };
  move(std::integral_constant<int, 0>());
  move(std::integral_constant<int, 1>());
  move(std::integral_constant<int, 2>());
  move(std::integral_constant<int, 3>());
}

}  // namespace

size_t argsort_workspace_bytes(int64_t rows, int64_t cols, size_t index_bytes, argsort_variant variant) {
  check_extents(rows, cols, sizeof(int64_t));
  if (index_bytes != sizeof(int32_t) && index_bytes != sizeof(int64_t))
    throw std::invalid_argument("index_bytes is " + std::to_string(index_bytes) + ", must be 4 or 8");
  if (choose(variant, cols) != argsort_variant::radix || rows == 0 || cols == 0) return 0;
  return static_cast<size_t>(index_bytes == sizeof(int32_t) ? radix_workspace<int32_t>::bytes(rows, cols)
                                                            : radix_workspace<int64_t>::bytes(rows, cols));
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
    case argsort_variant::block: argsort_by_blocks(a, stream); break;
    default: argsort_by_digits(a, ws, stream);
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

warpcheck_status run_argsort(warpcheck_call* call) {
  return candidate_call(call, [&] {
    const checked_call checked = check_call(argsort_contract(), *call);
    check_memory(checked);
    const tensor_view &keys = checked.at("x"), &index = checked.at("index");
    require_dense(keys);
    require_dense(index);
    const auto order = static_cast<sort_order>(static_cast<int>(checked.scalar("order")));
    const auto variant = static_cast<argsort_variant>(find_variant(call, k_variants, keys.cols) + 1);
    argsort_variant used = variant;
    const auto run = [&](auto type) {
      using Index = typename decltype(type)::type;
      const auto stream = static_cast<simt::stream_t>(call->stream);
      const size_t bytes = argsort_workspace_bytes(keys.rows, keys.cols, sizeof(Index), variant);
      const auto run_in = [&](void* ws) {
        used =
            argsort_with(variant, keys.as<float>(), index.as<Index>(), keys.rows, keys.cols, order, ws, bytes, stream);
      };
      if (bytes == 0) return run_in(nullptr);
      const simt::buffer<uint64_t> ws(static_cast<size_t>(ceil_div(static_cast<int64_t>(bytes), sizeof(uint64_t))),
                                      stream);
      run_in(ws.data());
    };
    if (index.type == WARPCHECK_I32)
      run(type_tag<int32_t>());
    else
      run(type_tag<int64_t>());
    if (keys.rows > 0 && keys.cols > 0) call->used_variant = k_variants[static_cast<int>(used) - 1].name;
  });
}

const char* pick_argsort(const warpcheck_call* call) {
  return candidate_pick(call, k_variants, [&](simt::stream_t) {
    const checked_call checked = check_call(argsort_contract(), *call);
    const tensor_view& keys = checked.at("x");
    return keys.is_empty() ? argsort_variant::automatic : choose(argsort_variant::automatic, keys.cols);
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
