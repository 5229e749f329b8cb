// Where the executor tells the race detector what orders what. Nothing happens in the flavours without it.
#pragma once

#include "kernels/simt/emulated/executor.hpp"

namespace simt {
inline namespace emu {

#ifdef SIMT_FLAVOUR_RACE
void hb_launch_begins();
void hb_launch_ends();
void hb_block_starts(block_state& b);
void hb_thread_starts(thread& t);
void hb_block_barrier(block_state& b);
void hb_warp_sync(block_state& b, unsigned warp, uint32_t lanes);
void hb_fence(thread& t, memory_scope scope);
void hb_atomic(thread& t, const void* p, size_t bytes, memory_scope scope, const void* pc);
void report_unwritten(emulation& stream);
#else
inline void hb_launch_begins() {}
inline void hb_launch_ends() {}
inline void hb_block_starts(block_state&) {}
inline void hb_thread_starts(thread&) {}
inline void hb_block_barrier(block_state&) {}
inline void hb_warp_sync(block_state&, unsigned, uint32_t) {}
inline void hb_fence(thread&, memory_scope) {}
inline void hb_atomic(thread&, const void*, size_t, memory_scope, const void*) {}
inline void report_unwritten(emulation&) {}
#endif

}  // namespace emu
}  // namespace simt
