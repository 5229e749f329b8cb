// softmax_cluster: the team of softmax/team.hpp that is a thread block cluster.
#pragma once

#include <cstdint>

#include "kernels/softmax/team.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_max_cluster = 16;

// A thread block cluster, which exchanges through distributed shared memory.
struct cluster_team {
  static constexpr int k_slots = k_max_cluster;
  __device__ int64_t index() const { return blockIdx.x / simt::cluster_size(); }
  __device__ int64_t teams() const { return gridDim.x / simt::cluster_size(); }
  __device__ int rank() const { return static_cast<int>(simt::cluster_rank()); }
  __device__ int size() const { return static_cast<int>(simt::cluster_size()); }
  // Every block must have started before its shared memory is written: settle() comes before the first exchange.
  __device__ void open() const { simt::cluster_arrive(); }
  __device__ void settle() const { simt::cluster_wait(); }

  // Returns the partials of all blocks in order of rank. `slots` is shared memory for two exchanges that alternate by
  // `turn`: a block writes to a slot again only after the exchange in between, when its reader is done with it. No
  // block writes after its last exchange, so none needs to outlive another.
  __device__ const row_partial* exchange(const row_partial& mine, row_partial* slots, int turn) const {
    row_partial* const now = slots + turn * k_slots;
    if (static_cast<int>(threadIdx.x) < size()) *simt::map_shared_rank(now + rank(), threadIdx.x) = mine;
    simt::cluster_sync();
    return now;
  }
  template <class V>
  __device__ static V read(const V* shared) {
    return *shared;
  }
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
