// Part of the stand-in for CUDA's cooperative_groups.h: tiles of more than a warp.
#pragma once

#include "simt/import/cooperative_groups.h"

namespace cooperative_groups {

// Memory for such tiles, which GPUs before compute capability 8.0 need; the emulated device has its own.
template <unsigned MaxThreads = 1024>
struct block_tile_memory {
  unsigned char storage[MaxThreads * 16];
};
template <unsigned MaxThreads>
thread_block this_thread_block(block_tile_memory<MaxThreads>&, SIMT_SITE) {
  __syncthreads(site);
  return {};
}

// `Size` neighbouring threads of a block, a power of two from 64; the tile of the calling thread.
template <unsigned Size>
class wide_tile {
 public:
  static unsigned thread_rank() { return thread_block::thread_rank() % Size; }
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  static void sync(SIMT_SITE) { ::simt::emu::tile_sync(number(), Size, site); }
  template <class T>
  T shfl(T value, int rank, SIMT_SITE) const {
    exchange(value, site);
    return of<T>(static_cast<unsigned>(rank) % Size);
  }
  int any(int predicate, SIMT_SITE) const {
    return fold(
        predicate != 0 ? 1 : 0, [](int a, int b) { return a | b; }, site);
  }
  int all(int predicate, SIMT_SITE) const {
    return fold(
        predicate != 0 ? 1 : 0, [](int a, int b) { return a & b; }, site);
  }
  // The values of all threads, combined in the order of their ranks.
  template <class T, class Op>
  T fold(T value, Op op, SIMT_SITE) const {
    exchange(value, site);
    T all = of<T>(0);
    for (unsigned rank = 1; rank < Size; ++rank) all = op(all, of<T>(rank));
    return all;
  }

 private:
  static unsigned number() { return thread_block::thread_rank() / Size; }
  template <class T>
  static void exchange(const T& value, const ::simt::emu::call_site& site) {
    static_assert(sizeof(T) <= 32 && std::is_trivially_copyable_v<T>, "a value of at most 32 bytes");
    ::simt::emu::tile_exchange(number(), Size, thread_rank(), &value, sizeof value, site);
  }
  template <class T>
  static T of(unsigned rank) {
    T value;
    ::simt::emu::tile_value(number(), Size, rank, &value, sizeof value);
    return value;
  }
};

}  // namespace cooperative_groups
