// The scale of the fixed-point grid, and the sums over all rows of a leaf.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/histogram/updates.hpp"
#include "kernels/primitives/reduce.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_totals_threads = 256;
constexpr int64_t k_totals_rows = 4096;   // of a block
constexpr int64_t k_totals_blocks = 512;  // at most; the blocks loop over the rest

struct largest_bits {
  __device__ unsigned operator()(unsigned a, unsigned b) const { return a > b ? a : b; }
};
struct any_bits {
  __device__ unsigned operator()(unsigned a, unsigned b) const { return a | b; }
};

// The bit patterns of finite magnitudes have the order of the magnitudes.
__device__ inline void look_at(float x, unsigned bit, unsigned* largest, unsigned* nonfinite) {
  const unsigned magnitude = __float_as_uint(x) & 0x7fffffffu;
  if (magnitude >= 0x7f800000u)
    *nonfinite |= bit;
  else if (magnitude > *largest)
    *largest = magnitude;
}

// Collects the bits of the largest magnitudes in e_g and e_h of `out`, which starts as zeros.
__global__ void __launch_bounds__(k_totals_threads)
    find_scale(const float* g, const float* h, int64_t num_rows, fixed_scale* out) {
  unsigned largest_g = 0, largest_h = 0, nonfinite = 0;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < num_rows;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    look_at(g[i], 1u, &largest_g, &nonfinite);
    look_at(h[i], 2u, &largest_h, &nonfinite);
  }
  largest_g = lane_reduce<k_warp_size>(largest_g, largest_bits());
  largest_h = lane_reduce<k_warp_size>(largest_h, largest_bits());
  nonfinite = lane_reduce<k_warp_size>(nonfinite, any_bits());
  if (threadIdx.x % k_warp_size != 0) return;
  if (largest_g != 0) atomicMax(reinterpret_cast<unsigned*>(&out->e_g), largest_g);
  if (largest_h != 0) atomicMax(reinterpret_cast<unsigned*>(&out->e_h), largest_h);
  if (nonfinite != 0) atomicOr(&out->nonfinite, nonfinite);
}

// 53 - ceil(log2(max_rows)) - (ilogb(M) + 1), M the float of these bits.
__device__ inline int32_t scale_exponent(unsigned magnitude, int row_bits) {
  if (magnitude == 0) return 0;
  const int biased = static_cast<int>(magnitude >> 23);
  const int ilogb_of = biased > 0 ? biased - 127 : 31 - __clz(static_cast<int>(magnitude)) - 149;
  return 53 - row_bits - (ilogb_of + 1);
}

__global__ void finish_scale(fixed_scale* out, int64_t max_rows) {
  if (threadIdx.x != 0) return;
  const int row_bits = max_rows > 1 ? 64 - __clzll(max_rows - 1) : 0;
  out->e_g = scale_exponent(static_cast<unsigned>(out->e_g), row_bits);
  out->e_h = scale_exponent(static_cast<unsigned>(out->e_h), row_bits);
  out->max_rows = max_rows;
}

// Sums of g and h, in the order of a fixed tree: thread by thread, then over lanes, then over warps, then over blocks.
template <class Sum>
struct leaf_sums {
  Sum g, h;
  unsigned poison;
};

template <class Sum>
struct leaf_source {
  const float *g, *h;
  const fixed_scale* scale;  // nullptr: Sum is double

  __device__ void add(leaf_sums<Sum>& all, int64_t row, const fixed64_updates::context& c) const {
    if (scale == nullptr) {
      all.g += static_cast<Sum>(g[row]);
      all.h += static_cast<Sum>(h[row]);
      return;
    }
    all.g += static_cast<Sum>(fixed64_updates::on_grid(g[row], c.factor_g, 1u, &all.poison));
    all.h += static_cast<Sum>(fixed64_updates::on_grid(h[row], c.factor_h, 2u, &all.poison));
  }
  __device__ fixed64_updates::context factors(int sign) const {
    if (scale == nullptr) return {1, 1};
    return {power_of_two(sign * scale->e_g), power_of_two(sign * scale->e_h)};
  }
};

// The sum over the block, in thread 0. `scratch` holds k_max_warps values; it may be used again after a barrier.
template <class Sum>
__device__ inline leaf_sums<Sum> block_leaf_sums(leaf_sums<Sum> mine, leaf_sums<Sum>* scratch) {
  const auto over_lanes = [&mine] {
#pragma unroll
    for (int offset = k_warp_size / 2; offset > 0; offset /= 2) {
      mine.g += __shfl_xor_sync(k_all_lanes, mine.g, offset);
      mine.h += __shfl_xor_sync(k_all_lanes, mine.h, offset);
      mine.poison |= __shfl_xor_sync(k_all_lanes, mine.poison, offset);
    }
  };
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size, warp = static_cast<int>(threadIdx.x) / k_warp_size;
  over_lanes();
  if (lane == 0) scratch[warp] = mine;
  __syncthreads();
  mine = lane < static_cast<int>(blockDim.x) / k_warp_size ? scratch[lane] : leaf_sums<Sum>{0, 0, 0};
  over_lanes();
  return mine;
}

template <class Sum, class RowId>
__global__ void __launch_bounds__(k_totals_threads)
    sum_leaf(leaf_source<Sum> source, const RowId* list, int64_t n_leaf, leaf_sums<Sum>* partial) {
  SIMT_SHARED(scratch, leaf_sums<Sum>[k_max_warps]);
  const auto factors = source.factors(1);
  leaf_sums<Sum> all{0, 0, 0};
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n_leaf;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x)
    source.add(all, list == nullptr ? i : static_cast<int64_t>(list[i]), factors);
  all = block_leaf_sums(all, scratch);
  if (threadIdx.x == 0) partial[blockIdx.x] = all;
}

template <class Sum>
__global__ void __launch_bounds__(k_totals_threads)
    finish_totals(leaf_source<Sum> source, const leaf_sums<Sum>* partial, int blocks, int64_t n_leaf,
                  leaf_totals* out) {
  SIMT_SHARED(scratch, leaf_sums<Sum>[k_max_warps]);
  leaf_sums<Sum> all{0, 0, 0};
  for (int i = static_cast<int>(threadIdx.x); i < blocks; i += k_totals_threads) {
    all.g += partial[i].g;
    all.h += partial[i].h;
    all.poison |= partial[i].poison;
  }
  all = block_leaf_sums(all, scratch);
  if (threadIdx.x != 0) return;
  const auto units = source.factors(-1);
  out->sum_g = (all.poison & 1u) != 0 ? static_cast<double>(NAN) : static_cast<double>(all.g) * units.factor_g;
  out->sum_h = (all.poison & 2u) != 0 ? static_cast<double>(NAN) : static_cast<double>(all.h) * units.factor_h;
  out->count = n_leaf;
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
