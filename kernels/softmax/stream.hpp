// softmax_stream: rows of any length, in tiles that are first summed up and then, when their row is complete, written.
//
// One launch. Its blocks take items from a list, in which a tile is written some way behind the summing up of its row:
// far enough that the row is complete by then, near enough that the second read still finds the tile in the L2 cache.
// Cost: the row twice in, once from memory and once from the cache as far as it holds it, and once out; each
// exponential twice; 8 bytes of workspace a tile. Two rescales per term.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/primitives/quotient.hpp"
#include "kernels/primitives/reduce.hpp"
#include "kernels/primitives/row_access.hpp"
#include "kernels/primitives/row_tile.hpp"
#include "kernels/primitives/winner.hpp"
#include "kernels/softmax/arguments.hpp"
#include "kernels/softmax/partial.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_stream_threads = 512;
constexpr int k_stream_values = 32;  // of a thread
constexpr int k_stream_blocks = 2;   // of a multiprocessor

// The work is a list of 2 * rows * tiles items: `lag` tiles are summed up first, then a tile is summed up and one is
// written in turn. lag >= tiles, so that what an item waits for comes before it in the list.
struct stream_item {
  int64_t row;
  int64_t tile;  // of the row
  bool writes;   // or sums up
};

struct stream_plan {
  int64_t rows;
  int64_t tiles;   // of a row
  int64_t lag;     // <= rows * tiles
  bool backwards;  // a row's last tile is written first

  __device__ stream_item item(int64_t i) const {
    const int64_t total = rows * tiles;
    int64_t tile = i;  // of all rows
    bool writes = i >= 2 * total - lag;
    if (writes) {
      tile = i - total;
    } else if (i >= lag) {
      writes = (i - lag) % 2 != 0;
      tile = (i - lag) / 2 + (writes ? 0 : lag);
    }
    const int64_t of_row = tile % tiles;
    return {tile / tiles, writes && backwards ? tiles - 1 - of_row : of_row, writes};
  }
};

// What the blocks share.
struct stream_state {
  unsigned long long* taken;  // items; starts at 0
  unsigned* summed;           // tiles of each row; start at 0
  unsigned* complete;         // of each row: whether its first partial is the row's own; start at 0
  softmax_partial* partials;  // of each tile
  int64_t* claims;            // of each tile, if an argmax is asked for
};

// Combines the tiles of a row in a fixed order and leaves the result in the first partial.
__device__ inline void merge_tiles(softmax_partial* partials, const int64_t* claims, int64_t tiles, int64_t* argmax) {
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(sum_scratch, float[k_max_warps]);
  SIMT_SHARED(claim_scratch, int64_t[k_max_warps]);
  float maximum = -INFINITY;
  for (int64_t t = threadIdx.x; t < tiles; t += blockDim.x) maximum = max_of()(maximum, partials[t].maximum);
  maximum = block_reduce(maximum, max_of(), maximum_scratch);
  const float reference = finite_reference(maximum);
  float sum = 0.0f;
  for (int64_t t = threadIdx.x; t < tiles; t += blockDim.x)
    sum += partials[t].sum * expf(partials[t].maximum - reference);
  if (argmax != nullptr) {
    int64_t claim = k_no_claim<int64_t>;
    for (int64_t t = threadIdx.x; t < tiles; t += blockDim.x)
      if (partials[t].maximum == maximum || claims[t] < 0) claim = min_of<int64_t>()(claim, claims[t]);
    block_post(claim, min_of<int64_t>(), claim_scratch);
  }
  sum = block_reduce(sum, sum_of(), sum_scratch);
  if (argmax != nullptr) {
    const int64_t claim = block_fetch(min_of<int64_t>(), claim_scratch);
    if (threadIdx.x == 0) *argmax = claimed_index(claim);
  }
  if (threadIdx.x == 0) partials[0] = {maximum, sum};
}

// Threads: k_stream_threads, or a warp where a row keeps no more busy.
template <class T, row_access Access, int Threads>
__global__ void __launch_bounds__(Threads, k_stream_blocks)
    softmax_stream(softmax_arguments<T> a, stream_plan plan, stream_state state) {
  using slice_type = row_slice<T, Access, k_stream_values / row_vector<T>::k_width>;
  constexpr int k_warps = Threads / k_warp_size;
  SIMT_SHARED(next, stream_item);
  SIMT_SHARED(warp_partials, softmax_partial[k_warps]);
  SIMT_SHARED(claim, int);
  SIMT_SHARED(of_row, softmax_partial);
  SIMT_SHARED(is_last, bool);
  const int warp = static_cast<int>(threadIdx.x) / k_warp_size;
  const int64_t items = 2 * plan.rows * plan.tiles;
  for (int64_t i = blockIdx.x; i < items; i += gridDim.x) {
    // Items are taken in the order of the list, by blocks that run: the first item that is not done is never held back,
    // whatever blocks the device starts first.
    if (threadIdx.x == 0) {
      const stream_item taken = plan.item(static_cast<int64_t>(atomicAdd(state.taken, 1ull)));
      next = taken;
      claim = k_no_claim<int>;
    }
    __syncthreads();
    const stream_item item = next;
    softmax_partial* const of_tiles = state.partials + item.row * plan.tiles;
    const T* const row = a.x + item.row * a.ldx;
    const row_tile<T> tile(row, a.cols, item.tile, Threads * k_stream_values);
    const slice_type slice(row + tile.begin, tile.cols > 0 ? tile.cols : 0, static_cast<int>(threadIdx.x), Threads);
    float value[slice_type::k_values];
    if (item.writes) {
      slice.load(value);
      if (threadIdx.x == 0) {
        while (simt::load_acquire(state.complete + item.row) == 0) {
        }
        of_row = of_tiles[0];
      }
      __syncthreads();
      const float maximum = of_row.maximum;
      const row_quotient over_sum(of_row.sum);
#pragma unroll
      for (int k = 0; k < slice_type::k_values; ++k) value[k] = over_sum(expf(value[k] - maximum));
      slice.store(value, a.y + item.row * a.ldy + tile.begin);
    } else {
      slice.template load<row_reuse::again>(value);
      const float own = max_of_values(value);
      const softmax_partial mine = warp_partial(value, own);
      if (threadIdx.x % k_warp_size == 0) warp_partials[warp] = mine;
      __syncthreads();
      if (a.argmax != nullptr) {
        const float maximum = combine(warp_partials, k_warps).maximum;
        offer_claim(slice, value, own, maximum, &claim);
        __syncthreads();
      }
      if (warp == 0) {
        const softmax_partial all = combine(warp_partials, k_warps);
        if (threadIdx.x == 0) {
          of_tiles[item.tile] = all;
          if (a.argmax != nullptr) state.claims[item.row * plan.tiles + item.tile] = shift_claim(claim, tile.begin);
          is_last = simt::fetch_add(state.summed + item.row, 1u) + 1 == static_cast<unsigned>(plan.tiles);
        }
      }
      __syncthreads();
      if (is_last) {
        merge_tiles(of_tiles, state.claims + item.row * plan.tiles, plan.tiles,
                    a.argmax == nullptr ? nullptr : a.argmax + item.row);
        if (threadIdx.x == 0) simt::store_release(state.complete + item.row, 1u);
      }
    }
    __syncthreads();
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
