// Part of the stand-in for CUDA's cooperative_groups.h: tiles of more than a warp. Their threads synchronise and
// exchange values through the block_tile_memory that the block was made with.
#pragma once

#include "simt/import/cooperative_groups.h"

namespace cooperative_groups {

struct tile_memory {
  static constexpr unsigned k_tiles = 16;
  unsigned arrived[k_tiles], round[k_tiles];  // one per tile
  unsigned char (*values)[16];                // one per thread
};
template <unsigned MaxThreads = 1024>
struct block_tile_memory : tile_memory {
  unsigned char storage[MaxThreads][16];
};
struct block_with_memory : thread_block {
  tile_memory* memory;
};

template <unsigned MaxThreads>
block_with_memory this_thread_block(block_tile_memory<MaxThreads>& memory, SIMT_SITE) {
  if (thread_block::thread_rank() == 0) {
    for (unsigned i = 0; i < tile_memory::k_tiles; ++i) memory.arrived[i] = memory.round[i] = 0;
    memory.values = memory.storage;
  }
  __syncthreads(site);
  return {{}, &memory};
}

// `Size` neighbouring threads of a block; a power of two from 64.
template <unsigned Size>
class wide_tile {
  static_assert(Size <= 1024 && (Size & (Size - 1)) == 0, "a tile of more than a warp has 64, 128, 256, 512 or 1024");

 public:
  explicit wide_tile(tile_memory* memory) : memory_(memory) {}
  static unsigned thread_rank() { return thread_block::thread_rank() % Size; }
  static unsigned meta_group_rank() { return thread_block::thread_rank() / Size; }
  static unsigned meta_group_size() { return (thread_block::size() + Size - 1) / Size; }
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }

  void sync() const {
    unsigned& round = memory_->round[meta_group_rank()];
    unsigned& arrived = memory_->arrived[meta_group_rank()];
    const unsigned before = ::simt::load_acquire(&round);
    if (::simt::fetch_add(&arrived, 1u) + 1 == Size) {
      ::simt::store_release(&arrived, 0u);
      ::simt::store_release(&round, before + 1);
    } else {
      while (::simt::load_acquire(&round) == before) {
      }
    }
  }
  template <class T>
  T shfl(T value, int rank) const {
    return with_values(value, [&](const auto& of) { return of(static_cast<unsigned>(rank) % Size); });
  }
  int any(int predicate) const {
    return fold(predicate != 0 ? 1 : 0, [](int a, int b) { return a | b; });
  }
  int all(int predicate) const {
    return fold(predicate != 0 ? 1 : 0, [](int a, int b) { return a & b; });
  }
  // The values of all threads, by rank.
  template <class T, class Op>
  T fold(T value, Op op) const {
    return with_values(value, [&](const auto& of) {
      T all = of(0);
      for (unsigned rank = 1; rank < Size; ++rank) all = op(all, of(rank));
      return all;
    });
  }

 private:
  // Calls `use` with a function that returns the value of a rank.
  template <class T, class Use>
  T with_values(T value, Use use) const {
    static_assert(sizeof(T) <= 16 && std::is_trivially_copyable_v<T>, "a value of at most 16 bytes");
    unsigned char(*const places)[16] = memory_->values + meta_group_rank() * Size;
    __builtin_memcpy(places[thread_rank()], &value, sizeof value);
    sync();
    const T result = use([&](unsigned rank) {
      T other;
      __builtin_memcpy(&other, places[rank], sizeof other);
      return other;
    });
    sync();
    return result;
  }
  tile_memory* memory_;
};

template <unsigned Size, std::enable_if_t<(Size > 32), int> = 0>
wide_tile<Size> tiled_partition(const block_with_memory& block) {
  return wide_tile<Size>(block.memory);
}
template <unsigned Size, class T, class Op>
T reduce(const wide_tile<Size>& tile, T value, Op op, const ::simt::emu::call_site& = {}) {
  return tile.fold(value, op);
}
template <unsigned Size>
void sync(const wide_tile<Size>& tile) {
  tile.sync();
}

}  // namespace cooperative_groups
