// Stands in for CUDA's header of this name: reductions over the threads of a tile or a coalesced group, also into
// atomic variables.
#pragma once

#include "simt/import/cooperative_groups.h"

namespace cooperative_groups {

template <class T>
struct plus {
  T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct greater {
  T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T>
struct less {
  T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct bit_and {
  T operator()(T a, T b) const { return a & b; }
};
template <class T>
struct bit_or {
  T operator()(T a, T b) const { return a | b; }
};
template <class T>
struct bit_xor {
  T operator()(T a, T b) const { return a ^ b; }
};

template <unsigned Size, class Parent, class T, class Op>
T reduce(const thread_block_tile<Size, Parent>& tile, T value, Op op, SIMT_SITE) {
  if constexpr (Size > 32) {
    return tile.fold(value, op, site);
  } else {
    for (unsigned lanes = Size / 2; lanes > 0; lanes /= 2) value = op(value, tile.shfl_xor(value, lanes, site));
    return value;
  }
}
template <class T, class Op>
T reduce(const coalesced_group& g, T value, Op op, SIMT_SITE) {
  T all = g.shfl(value, 0, site);
  for (unsigned rank = 1; rank < g.size(); ++rank) all = op(all, g.shfl(value, static_cast<int>(rank), site));
  return all;
}

// Makes the variable op(variable, by) and returns what it was.
template <class Atomic, class T, class Op>
SIMT_INLINE T update(Atomic& variable, T by, Op op) {
  constexpr auto order = cuda::memory_order_relaxed;
  if constexpr (std::is_same_v<Op, plus<T>>) {
    return variable.fetch_add(by, order);
  } else if constexpr (std::is_same_v<Op, less<T>>) {
    return variable.fetch_min(by, order);
  } else if constexpr (std::is_same_v<Op, greater<T>>) {
    return variable.fetch_max(by, order);
  } else if constexpr (std::is_same_v<Op, bit_and<T>>) {
    return variable.fetch_and(by, order);
  } else if constexpr (std::is_same_v<Op, bit_or<T>>) {
    return variable.fetch_or(by, order);
  } else if constexpr (std::is_same_v<Op, bit_xor<T>>) {
    return variable.fetch_xor(by, order);
  } else {
    T before = variable.load(order);
    while (!variable.compare_exchange_weak(before, op(before, by), order)) {
    }
    return before;
  }
}

// One thread of the group updates the variable by all values, or stores their reduction. Others see it after a barrier.
template <class Group, class Atomic, class T, class Op>
void reduce_update_async(const Group& g, Atomic&& variable, T value, Op op, SIMT_SITE) {
  const T all = reduce(g, value, op, site);
  if (g.thread_rank() == 0) update(variable, all, op);
}
template <class Group, class Atomic, class T, class Op>
void reduce_store_async(const Group& g, Atomic&& variable, T value, Op op, SIMT_SITE) {
  const T all = reduce(g, value, op, site);
  if (g.thread_rank() == 0) variable.store(all, cuda::memory_order_relaxed);
}

}  // namespace cooperative_groups
