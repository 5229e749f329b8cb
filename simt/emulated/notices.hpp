// Findings that do not end a launch (race flavour), because a foreign program should show all its faults, and some
// races are harmless on every GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "simt/emulation.hpp"

namespace simt {
inline namespace emu {

// The findings after which a launch goes on. `benign`: races of two writes of the same bytes, and of the plain read
// before a loop of compare and swap, which may be stale since the swap checks it. `all`: all races, accesses
// outside an allocation, and skipped barriers.
enum class tolerance : uint8_t { none, benign, all };

#ifdef SIMT_FLAVOUR_RACE
// For all launches of this module from now on.
void tolerate(tolerance t);
// Volatile accesses of all launches from now on are plain ones, which order nothing and race.
void treat_volatile_as_plain(bool plain);
// Returns the findings since the last call after which launches went on, each pair of source lines once.
std::vector<finding> take_notices();
#else
inline void tolerate(tolerance) {}
inline void treat_volatile_as_plain(bool) {}
inline std::vector<finding> take_notices() { return {}; }
#endif

}  // namespace emu
}  // namespace simt
