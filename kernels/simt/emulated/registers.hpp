// Where products of a warpgroup tell the race detector about their accumulators; nothing happens in the other flavours.
#pragma once

#include "kernels/simt/emulated/executor.hpp"

namespace simt {
inline namespace emu {

#ifdef SIMT_FLAVOUR_RACE
void registers_taken(thread& t, const float* d, size_t count, const void* pc);
void registers_landed(thread& t, const float* d);
void registers_fenced(thread& t);
#else
inline void registers_taken(thread&, const float*, size_t, const void*) {}
inline void registers_landed(thread&, const float*) {}
inline void registers_fenced(thread&) {}
#endif

}  // namespace emu
}  // namespace simt
