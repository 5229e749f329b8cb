// Copies that run beside their threads; shared by async_copies.cpp and tensor_copies.cpp.
#pragma once

#include <memory>
#include <vector>

#include "simt/emulated/executor.hpp"
#include "simt/emulated/wide.hpp"
#include "simt/tensor_map.hpp"

namespace simt {
inline namespace emu {

// A box of a tensor, or neighbouring bytes of which a store reduces elements.
struct tensor_tile {
  tensor_element type;
  swizzle pattern = swizzle::none;
  bool fills_with_nan = false;
  tensor_reduction reduction = tensor_reduction::none;
  std::vector<tensor_piece> pieces;
  size_t place = 0;  // of the tile in its block's arena; the arena begins at a multiple of a swizzle's period
};
void load_tile(const tensor_tile& t, char* destination);
void store_tile(const tensor_tile& t, const char* source);

// A bulk copy or remote store in flight.
struct flight {
  char* destination;
  const void* source;  // nullptr: `bits`
  uint64_t bits;
  unsigned bytes;
  mbarrier* barrier;
  uint32_t id;                                          // race flavour: the name under which it accesses memory
  local_shared_ptr<const tensor_tile> tile = {};        // nullptr: neighbouring bytes
  uint64_t phase = 0;                                   // of the barrier when the copy was started
  tensor_reduction reduction = tensor_reduction::none;  // of `bits`, an element of the type
  tensor_element element = tensor_element::u32;
};
void start_flight(flight f);
void start_store(pending_store s);
// True if a lane of the caller's warp has a store in flight that writes the same bytes: hardware makes one of all.
bool is_in_flight(const pending_store& s);

block_state* owner_of(const void* p);  // the active block whose shared memory p points to
// The place of p, of the own block's shared memory, in block `rank` of the cluster.
char* in_rank(void* p, unsigned rank);
void need_alignment(const void* p, unsigned align, const char* what);
void need_own_shared(const void* p, const char* what = "destination");
void need_ranks(uint16_t ranks);
// A copy is to complete on the mbarrier, whose initialisation it must see.
void need_completion(mbarrier* m, const call_site& site, const void* pc);
void need_remote_completion(const mbarrier* m, const void* pc);

}  // namespace emu
}  // namespace simt
