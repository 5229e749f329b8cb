// Operations on finished histograms: restore the slot of the most frequent bin, subtract for the sibling leaf.
#pragma once

#include <cstdint>

#include "kernels/histogram/histogram.hpp"
#include "kernels/primitives/reduce.hpp"
#include "kernels/primitives/two_sum.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_fix_threads = 256;
constexpr int k_subtract_threads = 256;

// A sum together with the rounding errors of its additions (Ogita, Rump, Oishi 2005, Sum2), so that its error does not
// grow with the number of slots. Integers need none.
template <class V>
struct long_sum {
  V sum, error;

  __device__ void add(V x) {
    const V before = sum;
    sum = before + x;
    if constexpr (static_cast<V>(0.5) != 0) error += sum_error(before, x, sum);
  }
  __device__ V total() const { return sum + error; }
};

// A block takes an entry; a thread takes one component of a slot per step.
template <class V>
__global__ void __launch_bounds__(k_fix_threads)
    fix_entries(V* hist, const fix_entry* entries, int64_t num, const V* leaf_gh) {
  SIMT_SHARED(scratch, V[2][k_max_warps]);
  const int part = static_cast<int>(threadIdx.x) % 2;
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size, warp = static_cast<int>(threadIdx.x) / k_warp_size;
  for (int64_t e = blockIdx.x; e < num; e += gridDim.x) {
    const fix_entry entry = entries[e];
    V* const slots = hist + 2 * entry.first_slot;
    long_sum<V> all{0, 0};
    for (int s = static_cast<int>(threadIdx.x) / 2; s < entry.num_slots; s += k_fix_threads / 2)
      if (s != entry.mfb_slot) all.add(slots[2 * static_cast<int64_t>(s) + part]);
    V sum = all.total();
    // Adds lanes of the same parity.
#pragma unroll
    for (int offset = k_warp_size / 2; offset > 1; offset /= 2) sum += __shfl_xor_sync(k_all_lanes, sum, offset);
    if (lane < 2) scratch[part][warp] = sum;
    __syncthreads();
    if (threadIdx.x < 2) {
      V rest = 0;
      for (int w = 0; w < k_fix_threads / k_warp_size; ++w) rest += scratch[part][w];
      slots[2 * static_cast<int64_t>(entry.mfb_slot) + part] = leaf_gh[part] - rest;
    }
    __syncthreads();  // scratch is written again
  }
}

template <class V>
__global__ void __launch_bounds__(k_subtract_threads)
    subtract_values(const V* parent, const V* smaller, V* larger, int64_t count) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x)
    larger[i] = parent[i] - smaller[i];
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
