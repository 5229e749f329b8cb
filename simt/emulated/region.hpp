// The emulated device's address space: arenas of shared memory, then device memory. Reserved once, paid for when
// touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "simt/emulated_memory.hpp"

namespace simt {
inline namespace emu {

inline constexpr size_t k_max_slots = 2048;  // resident blocks
// A generic address of shared memory is its shared address in the low 18 bits, as on a GPU: programs build descriptors
// of matrices from them. What lies below the first address is the system's (compute capability 9.0).
inline constexpr size_t k_shared_window = size_t{1} << 18;
inline constexpr uint32_t k_first_shared = 1024;
// Shared memory of one resident block with its red zones: a window of static arrays, then one of dynamic memory.
inline constexpr size_t k_arena_bytes = 2 * k_shared_window;
inline constexpr size_t k_arena_dynamic = k_shared_window + k_first_shared;
inline constexpr size_t k_arenas_bytes = k_max_slots * k_arena_bytes;
inline constexpr size_t k_region_bytes = k_arenas_bytes + k_device_memory_bytes;
// Address space on both sides of the region that nobody has: an index may be this far off.
inline constexpr size_t k_guard_bytes = size_t{1} << 40;

char* region_base();
inline char* region_arena(uint32_t slot) { return region_base() + slot * k_arena_bytes; }

// Calls f(begin, bytes) for every live allocation of device memory.
void each_allocation(const std::function<void(char*, size_t)>& f);

// Makes [p, p + bytes) of an arena accessible (and uninitialised), or inaccessible again, to the flavour's checks.
void region_open(char* p, size_t bytes);
void region_close(char* p, size_t bytes);

// Reserves zeroed address space of which only touched pages cost memory, with at least `guard` inaccessible bytes on
// both sides, and then at a multiple of k_arena_bytes; throws device_error.
void* reserve(size_t bytes, size_t guard = 0);

}  // namespace emu
}  // namespace simt
