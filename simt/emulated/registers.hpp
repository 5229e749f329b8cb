// Functions by which products of a warpgroup report their accumulators to the race detector; empty in the other
// flavours.
#pragma once

#include "simt/emulated/executor.hpp"

namespace simt {
inline namespace emu {

// The content of accumulators in flight: as f32 a signalling NaN, whose lower bits arithmetic passes on.
inline constexpr uint32_t k_in_flight = 0x7fa5c35a;
// The content of registers that nobody wrote: of local variables by g++'s -ftrivial-auto-var-init=pattern.
inline constexpr uint32_t k_unwritten = 0xfefefefe;

#ifdef SIMT_FLAVOUR_RACE
void registers_taken(thread& t, const uint32_t* d, size_t count, const void* pc);
void registers_landed(thread& t, const uint32_t* d);
// A fragment of A, which products up to this group read.
void fragment_taken(thread& t, const uint32_t* a, uint32_t group, const void* pc);
void fragments_landed(thread& t, uint32_t below);
void fragment_gone(thread& t, const uint32_t* a);
void registers_fenced(thread& t);
void check_last_store(thread& t);
#else
inline void registers_taken(thread&, const uint32_t*, size_t, const void*) {}
inline void registers_landed(thread&, const uint32_t*) {}
inline void fragment_taken(thread&, const uint32_t*, uint32_t, const void*) {}
inline void fragments_landed(thread&, uint32_t) {}
inline void fragment_gone(thread&, const uint32_t*) {}
inline void registers_fenced(thread&) {}
inline void check_last_store(thread&) {}
#endif

}  // namespace emu
}  // namespace simt
