// Stands in for CUDA's header of this name: scans over the lanes of a tile or a coalesced group.
#pragma once

#include "reduce.h"

namespace cooperative_groups {

template <class Group, class T, class Op = plus<T>>
T inclusive_scan(const Group& g, T value, Op op = {}, SIMT_SITE) {
  const unsigned rank = g.thread_rank();
  for (unsigned before = 1; before < g.size(); before *= 2) {
    const T other = g.shfl_up(value, before, site);
    if (rank >= before) value = op(other, value);
  }
  return value;
}
// The first thread gets T{}.
template <class Group, class T, class Op = plus<T>>
T exclusive_scan(const Group& g, T value, Op op = {}, SIMT_SITE) {
  const T before = g.shfl_up(inclusive_scan(g, value, op, site), 1, site);
  return g.thread_rank() == 0 ? T{} : before;
}

}  // namespace cooperative_groups
