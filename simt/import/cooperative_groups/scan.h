// Stands in for CUDA's header of this name: scans over the threads of a tile or a coalesced group.
#pragma once

#include "reduce.h"

namespace cooperative_groups {

template <class Group, class T, class Op = plus<T>>
T inclusive_scan(const Group& g, T value, Op op = {}, SIMT_SITE) {
  const unsigned rank = g.thread_rank();
  for (unsigned before = 1; before < g.size(); before *= 2) {
    const T other = g.shfl(value, static_cast<int>(rank - before), site);
    if (rank >= before) value = op(other, value);
  }
  return value;
}
// The first thread gets T{}.
template <class Group, class T, class Op = plus<T>>
T exclusive_scan(const Group& g, T value, Op op = {}, SIMT_SITE) {
  const int rank = static_cast<int>(g.thread_rank());
  const T before = g.shfl(inclusive_scan(g, value, op, site), rank - 1, site);
  return rank == 0 ? T{} : before;
}

// The same, as if the variable came before all values. It becomes the result of the last thread.
template <class Group, class Atomic, class T, class Op = plus<T>>
T inclusive_scan_update(const Group& g, Atomic&& variable, T value, Op op = {}, SIMT_SITE) {
  const T through = inclusive_scan(g, value, op, site);
  const unsigned last = g.size() - 1;
  const T before = g.thread_rank() == last ? update(variable, through, op) : T{};
  return op(g.shfl(before, static_cast<int>(last), site), through);
}
template <class Group, class Atomic, class T, class Op = plus<T>>
T exclusive_scan_update(const Group& g, Atomic&& variable, T value, Op op = {}, SIMT_SITE) {
  const int rank = static_cast<int>(g.thread_rank()), last = static_cast<int>(g.size()) - 1;
  const T through = inclusive_scan(g, value, op, site), before = g.shfl(through, rank - 1, site);
  const T start = g.shfl(rank == last ? update(variable, through, op) : T{}, last, site);
  return rank == 0 ? start : op(start, before);
}

}  // namespace cooperative_groups
