// softmax_stream: rows of any length, by tiles that know nothing of each other.
//
// Three launches: a partial result per tile, their combination per row, the results. Cost: the row twice in and once
// out, less what the second pass, which goes backwards, still finds in the L2 cache; 16 bytes per tile of workspace.
// One rescale per term.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/primitives/quotient.hpp"
#include "kernels/primitives/reduce.hpp"
#include "kernels/primitives/row_access.hpp"
#include "kernels/primitives/row_tile.hpp"
#include "kernels/primitives/winner.hpp"
#include "kernels/softmax/arguments.hpp"
#include "kernels/softmax/team.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_stream_threads = 256;
constexpr int k_merge_threads = 1024;

template <class T>
constexpr int stream_vectors = 16 / row_vector<T>::k_width;
constexpr int k_tile = 16 * k_stream_threads;  // elements

struct tile_partial {
  float maximum;
  float sum;
  int64_t claim;  // of an index in the row
};

template <class T, row_access Access>
__global__ void __launch_bounds__(k_stream_threads, 5)
    softmax_stream_partial(softmax_arguments<T> a, int64_t tiles, tile_partial* partials) {
  using slice_type = row_slice<T, Access, stream_vectors<T>>;
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(sum_scratch, float[k_max_warps]);
  SIMT_SHARED(claim_scratch, int[k_max_warps]);
  for (int64_t i = blockIdx.x; i < a.rows * tiles; i += gridDim.x) {
    const T* const row = a.x + i / tiles * a.ldx;
    const row_tile<T> tile(row, a.cols, i % tiles, k_tile);
    tile_partial partial{-INFINITY, 0.0f, k_no_claim<int64_t>};
    if (tile.cols > 0) {
      const slice_type slice(row + tile.begin, tile.cols, static_cast<int>(threadIdx.x), k_stream_threads);
      float value[slice_type::k_values];
      slice.load(value);
      partial.maximum = value[0];
#pragma unroll
      for (int k = 1; k < slice_type::k_values; ++k) partial.maximum = fmaxf(partial.maximum, value[k]);
      partial.maximum = block_reduce(partial.maximum, max_of(), maximum_scratch);
      if (a.argmax != nullptr) block_post(claim_of_slice(slice, value, partial.maximum), min_of<int>(), claim_scratch);
      const float reference = finite_reference(partial.maximum);
      partial.sum = chained_sum<slice_type::k_values>([&](int k) { return expf(value[k] - reference); });
      block_post(partial.sum, sum_of(), sum_scratch);
      __syncthreads();
      partial.sum = block_fetch(sum_of(), sum_scratch);
      if (a.argmax != nullptr) partial.claim = shift_claim(block_fetch(min_of<int>(), claim_scratch), tile.begin);
    }
    if (threadIdx.x == 0) partials[i] = partial;
  }
}

// Combines the tiles of each row in a fixed order; leaves (maximum, sum) in the row's first tile.
__global__ void __launch_bounds__(k_merge_threads)
    softmax_stream_merge(int64_t rows, int64_t tiles, tile_partial* partials, int64_t* argmax) {
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(sum_scratch, float[k_max_warps]);
  SIMT_SHARED(claim_scratch, int64_t[k_max_warps]);
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    tile_partial* const row = partials + r * tiles;
    float maximum = -INFINITY;
    for (int64_t t = threadIdx.x; t < tiles; t += blockDim.x) maximum = fmaxf(maximum, row[t].maximum);
    maximum = block_reduce(maximum, max_of(), maximum_scratch);
    float sum = 0.0f;
    int64_t claim = k_no_claim<int64_t>;
    for (int64_t t = threadIdx.x; t < tiles; t += blockDim.x) {
      const tile_partial tile = row[t];
      sum += tile.sum * expf(tile.maximum - maximum);
      if (tile.maximum == maximum || tile.claim < 0) claim = min_of<int64_t>()(claim, tile.claim);
    }
    block_post(claim, min_of<int64_t>(), claim_scratch);
    block_post(sum, sum_of(), sum_scratch);
    __syncthreads();
    sum = block_fetch(sum_of(), sum_scratch);
    claim = block_fetch(min_of<int64_t>(), claim_scratch);
    if (threadIdx.x == 0) {
      row[0].maximum = maximum;
      row[0].sum = sum;
      if (argmax != nullptr) argmax[r] = claimed_index(claim);
    }
  }
}

template <class T, row_access Access>
__global__ void __launch_bounds__(k_stream_threads, 5)
    softmax_stream_apply(softmax_arguments<T> a, int64_t tiles, const tile_partial* partials) {
  using slice_type = row_slice<T, Access, stream_vectors<T>>;
  for (int64_t i = a.rows * tiles - 1 - blockIdx.x; i >= 0; i -= gridDim.x) {
    const int64_t r = i / tiles;
    const T* const row = a.x + r * a.ldx;
    const row_tile<T> tile(row, a.cols, i % tiles, k_tile);
    if (tile.cols <= 0) continue;
    const slice_type slice(row + tile.begin, tile.cols, static_cast<int>(threadIdx.x), k_stream_threads);
    float value[slice_type::k_values];
    slice.load(value);
    const float maximum = partials[r * tiles].maximum;
    const row_quotient over_sum(partials[r * tiles].sum);
#pragma unroll
    for (int k = 0; k < slice_type::k_values; ++k) value[k] = over_sum(expf(value[k] - maximum));
    slice.store(value, a.y + r * a.ldy + tile.begin);
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
