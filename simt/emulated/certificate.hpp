// The schedule certificate: counts the choices of a launch, which depend on the order in which its threads run. A
// launch without any has the same outcome under every schedule (docs/emulated_device.md has the theorem). Race flavour
// only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simt/emulated/kernel_api.hpp"

namespace simt {
enum class tensor_element : uint8_t;
enum class tensor_reduction : uint8_t;

inline namespace emu {

class mbarrier;
struct barrier_order;

// Waits for the phase of that parity.
void wait_for_phase(mbarrier* m, unsigned parity, barrier_order order, const call_site& site);
// Returns the parity of the phase for which the caller's next arrival counts. It is no choice, as the phase is none.
unsigned arrival_parity(const mbarrier* m, const call_site& site);

// Kinds of choice edges, and of gaps in what the detector sees.
enum class choice : uint8_t {
  atomic,          // an atomic: its result, or the order of updates, may matter
  atomic_access,   // an atomic load or store, or a volatile access
  published,       // a fence acquires what an atomic has read
  barrier_member,  // which phase an arrival, a wait or a copy belongs to
  barrier_poll,    // a barrier's state as a value
  active_mask,     // which lanes run together
  clock,           // a clock
  spin,            // a wait for other threads that no barrier makes
  race,            // a race that the launch outlives
  unknown_reader,  // accesses that the detector no longer knows one by one, and that may be unordered
  unseen_memory,   // a write to memory that the detector does not follow
  foreign_local,   // an access to a local variable of another thread
  kernel_heap,     // an allocation by a kernel: its address, its contents and which of them fails
  placement,       // where a thread runs
  bulk_reduction,  // a bulk reduction: the order of updates may matter
  lost_history,    // names are used up
  earlier_launch,  // a launch that this one may overlap has no certificate
};

// Operations of integer atomics of which two of a kind give the same word in either order. Minimum and maximum compare
// as signed or as unsigned numbers.
enum class commuting : uint8_t { no, add, min, unsigned_min, max, unsigned_max, bit_and, bit_or, bit_xor };

#ifdef SIMT_FLAVOUR_RACE
void hb_choice(choice kind, const void* pc);
// Counts an atomic of a kind that commutes. It is a choice if the word takes another kind in this launch, or if the
// flag that is returned is set before the launch ends: then somebody has used the atomic's result.
unsigned char* hb_commutes(const void* p, size_t bytes, commuting operation, const void* pc);
// Counts a bulk reduction of `bytes` bytes. It is a choice unless it commutes with all atomics and bulk reductions of
// the launch on its words.
void hb_bulk_reduces(const void* p, size_t bytes, tensor_element type, tensor_reduction how, const void* pc);
#else
inline void hb_bulk_reduces(const void*, size_t, tensor_element, tensor_reduction, const void*) {}
inline void hb_choice(choice, const void*) {}
#endif

}  // namespace emu
}  // namespace simt
