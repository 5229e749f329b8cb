// The schedule certificate: counts what of a launch depends on the order in which its threads run. A launch without any
// has the same outcome under every schedule (docs/emulated_device.md has the theorem). Race flavour only.
#pragma once

#include <cstdint>

#include "simt/emulated/kernel_api.hpp"

namespace simt {
inline namespace emu {

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
  lost_history,    // names are used up
  earlier_launch,  // a launch that this one may overlap has no certificate
};

#ifdef SIMT_FLAVOUR_RACE
void hb_choice(choice kind, const void* pc);
#else
inline void hb_choice(choice, const void*) {}
#endif

}  // namespace emu
}  // namespace simt
