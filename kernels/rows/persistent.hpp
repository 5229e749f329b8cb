// Rows of any length, by teams of blocks that keep as much of a row as they can: persistent_pipeline, or
// persistent_two_pass for longer rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/rows/persistent_pipeline.hpp"
#include "kernels/rows/persistent_two_pass.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// Small blocks keep rows up to this length; a pipeline uses up to this many blocks, or all of the device.
constexpr int k_small_threads = 64;
constexpr int64_t k_small_cols = 65536;
constexpr int64_t k_small_team = 3;

// RowOp: see row_tile_pair.hpp.
template <class RowOp, class T>
void launch_persistent(const typename RowOp::template arguments<T>& a, simt::stream_t stream) {
  const auto properties = simt::device_properties(stream);
  const int64_t most = std::min(properties.sm_count, k_max_team);
  // The pipeline needs compute capability 9.0, like clusters, and large blocks need the shared memory that came with
  // it.
  const bool has_pipeline = properties.max_cluster > 1;
  const bool has_large =
      properties.shared_per_block_optin > k_pipeline_slots * sizeof(tile_slot<T, k_pipeline_threads>);
  if (a.cols <= k_small_cols || !has_large) {
    const int64_t team = std::min(k_small_team, most);
    const pipeline_share share = share_pipeline<RowOp, T, k_small_threads>(a, team);
    if (has_pipeline && share.blocks <= team)
      return launch_persistent_pipeline<RowOp, T, k_small_threads>(a, share, stream);
    return launch_persistent_two_pass<RowOp, T, k_small_threads>(a, stream);
  }
  const pipeline_share share = share_pipeline<RowOp, T, k_pipeline_threads>(a, most);
  if (has_pipeline && share.blocks <= most)
    return launch_persistent_pipeline<RowOp, T, k_pipeline_threads>(a, share, stream);
  launch_persistent_two_pass<RowOp, T, k_two_pass_threads>(a, stream);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
