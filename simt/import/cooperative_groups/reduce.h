// Stands in for CUDA's header of this name: reductions over the lanes of a tile or a coalesced group.
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
  for (unsigned lanes = Size / 2; lanes > 0; lanes /= 2) value = op(value, tile.shfl_xor(value, lanes, site));
  return value;
}
template <class T, class Op>
T reduce(const coalesced_group& g, T value, Op op, SIMT_SITE) {
  T all = g.shfl(value, 0, site);
  for (unsigned rank = 1; rank < g.size(); ++rank) all = op(all, g.shfl(value, static_cast<int>(rank), site));
  return all;
}

}  // namespace cooperative_groups
