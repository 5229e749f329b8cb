// Rows of any length, by teams of blocks that keep them where they can: row_ring, or row_sweep for longer rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/primitives/row_ring.hpp"
#include "kernels/primitives/row_sweep.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// Rows up to this long are kept by small blocks; by a ring of up to so many, or all that the device has.
constexpr int k_small_threads = 64;
constexpr int64_t k_small_cols = 65536;
constexpr int64_t k_small_team = 3;

// Rule: see row_halves.hpp.
template <class Rule, class T>
void launch_row_stream(const typename Rule::template arguments<T>& a, simt::stream_t stream) {
  const auto properties = simt::device_properties(stream);
  const int64_t most = std::min(properties.sm_count, k_max_team);
  // The ring wants compute capability 9.0, as clusters do, and large blocks the shared memory that came with it.
  const bool has_ring = properties.max_cluster > 1;
  const bool has_large = properties.shared_per_block_optin > k_ring_slots * sizeof(part_slot<T, k_ring_threads>);
  if (a.cols <= k_small_cols || !has_large) {
    const int64_t team = std::min(k_small_team, most);
    const ring_share share = share_ring<Rule, T, k_small_threads>(a, team);
    if (has_ring && share.blocks <= team) return launch_row_ring<Rule, T, k_small_threads>(a, share, stream);
    return launch_row_sweep<Rule, T, k_small_threads>(a, stream);
  }
  const ring_share share = share_ring<Rule, T, k_ring_threads>(a, most);
  if (has_ring && share.blocks <= most) return launch_row_ring<Rule, T, k_ring_threads>(a, share, stream);
  launch_row_sweep<Rule, T, k_sweep_threads>(a, stream);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
