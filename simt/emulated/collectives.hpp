// Block and warp collectives. Every thread of the domain (the block, or the lanes of a mask) must take part.
#pragma once

#include "simt/emulated/kernel_api.hpp"

namespace simt {
inline namespace emu {

enum class reduction : uint8_t { any, all, count, none };
// Its threads are at one line, except at PTX's bar.sync (`none`): CUDA C++ forbids __syncthreads() in branches that
// only some threads take, PTX identifies a barrier by its number alone.
void meet_block(int predicate, reduction r, const call_site& site);
int barrier_result(reduction r) noexcept;  // of the last one that the calling thread met at
inline int block_barrier(int predicate, reduction r, const call_site& site) {
  meet_block(predicate, r, site);
  return barrier_result(r);
}

enum class warp_op : uint8_t {
  sync,
  shuffle_index,
  shuffle_up,
  shuffle_down,
  shuffle_xor,
  ballot,
  match_any,
  match_all,
  mma,
  ldmatrix,
  exchange,
  reduce_add,
  reduce_min_signed,
  reduce_max_signed,
  reduce_min_unsigned,
  reduce_max_unsigned,
  reduce_and,
  reduce_or,
  reduce_xor
};
// Waits for the lanes of `mask`. `argument` and `width` belong to shuffles.
void meet_warp(warp_op op, unsigned mask, uint64_t value, unsigned argument, int width, const call_site& site);
uint64_t warp_result() noexcept;  // the calling lane's
SIMT_INLINE uint64_t warp_collective(warp_op op, unsigned mask, uint64_t value, unsigned argument, int width,
                                     const call_site& site) {
  meet_warp(op, mask, value, argument, width, site);
  return warp_result();
}
unsigned active_mask() noexcept;
unsigned lane_index() noexcept;

}  // namespace emu
}  // namespace simt

inline void __syncthreads(SIMT_SITE) { simt::emu::meet_block(0, simt::emu::reduction::any, site); }
inline int __syncthreads_or(int predicate, SIMT_SITE) {
  return simt::emu::block_barrier(predicate, simt::emu::reduction::any, site);
}
inline int __syncthreads_and(int predicate, SIMT_SITE) {
  return simt::emu::block_barrier(predicate, simt::emu::reduction::all, site);
}
inline int __syncthreads_count(int predicate, SIMT_SITE) {
  return simt::emu::block_barrier(predicate, simt::emu::reduction::count, site);
}

inline void __syncwarp(unsigned mask = 0xffffffffu, SIMT_SITE) {
  simt::emu::meet_warp(simt::emu::warp_op::sync, mask, 0, 0, 32, site);
}

#define SIMT_SHUFFLE(name, op, Argument)                                                                               \
  template <class T>                                                                                                   \
  SIMT_INLINE T name(unsigned mask, T value, Argument argument, int width = 32, SIMT_SITE) {                           \
    return simt::emu::from_bits<T>(simt::emu::warp_collective(simt::emu::warp_op::op, mask, simt::emu::to_bits(value), \
                                                              static_cast<unsigned>(argument), width, site));          \
  }
SIMT_SHUFFLE(__shfl_sync, shuffle_index, int)
SIMT_SHUFFLE(__shfl_up_sync, shuffle_up, unsigned)
SIMT_SHUFFLE(__shfl_down_sync, shuffle_down, unsigned)
SIMT_SHUFFLE(__shfl_xor_sync, shuffle_xor, int)
#undef SIMT_SHUFFLE

inline unsigned __ballot_sync(unsigned mask, int predicate, SIMT_SITE) {
  return static_cast<unsigned>(
      simt::emu::warp_collective(simt::emu::warp_op::ballot, mask, predicate != 0, 0, 32, site));
}
inline int __any_sync(unsigned mask, int predicate, SIMT_SITE) { return __ballot_sync(mask, predicate, site) != 0; }
inline int __all_sync(unsigned mask, int predicate, SIMT_SITE) {
  return __ballot_sync(mask, predicate == 0, site) == 0;
}
SIMT_INLINE unsigned __activemask() { return simt::emu::active_mask(); }

template <class T>
SIMT_INLINE unsigned __match_any_sync(unsigned mask, T value, SIMT_SITE) {
  return static_cast<unsigned>(
      simt::emu::warp_collective(simt::emu::warp_op::match_any, mask, simt::emu::to_bits(value), 0, 32, site));
}

namespace simt {
inline namespace emu {

// As on CUDA (simt/cuda.hpp), by one collective.
template <int First, int Bits>
SIMT_INLINE unsigned match_bits(unsigned value, SIMT_SITE) {
  return __match_any_sync(~0u, (value >> First) & ((1u << (Bits - 1) << 1) - 1), site);
}

}  // namespace emu
}  // namespace simt

template <class T>
SIMT_INLINE unsigned __match_all_sync(unsigned mask, T value, int* predicate, SIMT_SITE) {
  const auto same = static_cast<unsigned>(
      simt::emu::warp_collective(simt::emu::warp_op::match_all, mask, simt::emu::to_bits(value), 0, 32, site));
  *predicate = same != 0;
  return same;
}

#define SIMT_REDUCE(name, T, op)                                                                           \
  inline T name(unsigned mask, T value, SIMT_SITE) {                                                       \
    return simt::emu::from_bits<T>(                                                                        \
        simt::emu::warp_collective(simt::emu::warp_op::op, mask, simt::emu::to_bits(value), 0, 32, site)); \
  }
SIMT_REDUCE(__reduce_add_sync, unsigned, reduce_add)
SIMT_REDUCE(__reduce_add_sync, int, reduce_add)
SIMT_REDUCE(__reduce_min_sync, unsigned, reduce_min_unsigned)
SIMT_REDUCE(__reduce_min_sync, int, reduce_min_signed)
SIMT_REDUCE(__reduce_max_sync, unsigned, reduce_max_unsigned)
SIMT_REDUCE(__reduce_max_sync, int, reduce_max_signed)
SIMT_REDUCE(__reduce_and_sync, unsigned, reduce_and)
SIMT_REDUCE(__reduce_or_sync, unsigned, reduce_or)
SIMT_REDUCE(__reduce_xor_sync, unsigned, reduce_xor)
#undef SIMT_REDUCE
