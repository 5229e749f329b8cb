// The executor reports ordering to the race detector here; the functions do nothing in the other flavours. The accesses
// that the executor makes for a kernel are checked in the asan flavour too.
#pragma once

#include "simt/emulated/executor.hpp"
#include "simt/emulated/wide.hpp"
#include "simt/tensor_types.hpp"

namespace simt {
inline namespace emu {

enum class agent_kind : uint8_t { none, copy, product, initialisation };
enum class proxy_use : uint8_t { reads, writes, completes };  // completes: on an mbarrier

#ifdef SIMT_FLAVOUR_RACE
void hb_launch_begins(bool programmatic_launch);
void hb_launch_ends();
// True if nothing in the launch until now depends on the order of its threads.
bool hb_has_one_outcome_so_far();
void hb_stream_settles();  // no later launch overlaps one before this point
void hb_waits_for_previous(thread& t);
void hb_block_starts(block_state& b);
void hb_thread_starts(thread& t);
void hb_thread_exits(thread& t);  // the block's last: its shared memory is gone
void hb_block_barrier(block_state& b);
void hb_warp_sync(block_state& b, unsigned warp, uint32_t lanes);
void hb_fence(thread& t, memory_scope scope, fence_order order);
void hb_wide_arrives(wide_barrier& w, thread& t, bool releases);
void hb_wide_completes(wide_barrier& w, uint32_t first_slot, uint32_t slots);
void hb_wide_passes(const wide_barrier& w, thread& t);
void hb_phase_arrives(phase_clock& k, thread& t, const block_state& owner, barrier_order order);
void hb_phase_completes(phase_clock& k);
void hb_phase_passes(phase_clock& k, thread& t, const void* p, barrier_order order);
// The phase expects bytes of copies, without an arrival.
void hb_phase_expects(phase_clock& k, const thread& t);
// The thread's groups of copies so far complete before the phase, which teaches the thread nothing.
void hb_phase_gathers_groups(phase_clock& k, const thread& t);
// A copy that t starts will complete on the barrier. It lands in the phase that was incomplete then, or in a later one.
void hb_flight_counts_on(phase_clock& k, const thread& t);
void hb_flight_lands(phase_clock& k, uint32_t id, bool is_same_phase);
void hb_groups_complete(thread& t, uint32_t below);
void hb_write(const void* p, size_t bytes, const void* pc);
// Makes the initialisation of these mbarriers visible to all threads that even a relaxed arrival of t reaches.
void hb_releases_init(thread& t, const std::vector<const mbarrier*>& barriers, const void* pc);
void hb_proxy_fence(thread& t, proxy_space space);
// Tensor maps: their proxy sees what this launch wrote if a fence has released it and one of the block has acquired it.
void hb_releases_maps(thread& t);
void hb_acquires_map(const thread& t, const void* map);
void hb_uses_map(const thread& t, const void* map, const void* pc);
// The asynchronous proxy is about to read or write: no access of the generic one may lack its fence.
void hb_enters_proxy(thread& t, const void* p, size_t bytes, proxy_use use, const void* pc);
uint32_t hb_name_agent(const thread& t, agent_kind kind);
void hb_agent_done(thread& t, uint32_t agent, uint32_t below);
void report_unwritten(emulation& stream);
uint32_t hb_last_far_access();  // its offset in the code; 0: none in this launch
void hb_compares();             // the next atomic is a compare and swap
#else
inline void hb_launch_begins(bool) {}
inline void hb_launch_ends() {}
inline bool hb_has_one_outcome_so_far() { return true; }
inline void hb_stream_settles() {}
inline void hb_waits_for_previous(thread&) {}
inline void hb_block_starts(block_state&) {}
inline void hb_thread_starts(thread&) {}
inline void hb_thread_exits(thread&) {}
inline void hb_block_barrier(block_state&) {}
inline void hb_warp_sync(block_state&, unsigned, uint32_t) {}
inline void hb_fence(thread&, memory_scope, fence_order) {}
inline void hb_wide_arrives(wide_barrier&, thread&, bool) {}
inline void hb_wide_completes(wide_barrier&, uint32_t, uint32_t) {}
inline void hb_wide_passes(const wide_barrier&, thread&) {}
inline void hb_phase_arrives(phase_clock&, thread&, const block_state&, barrier_order) {}
inline void hb_phase_completes(phase_clock&) {}
inline void hb_phase_passes(phase_clock&, thread&, const void*, barrier_order) {}
inline void hb_phase_expects(phase_clock&, const thread&) {}
inline void hb_phase_gathers_groups(phase_clock&, const thread&) {}
inline void hb_flight_counts_on(phase_clock&, const thread&) {}
inline void hb_flight_lands(phase_clock&, uint32_t, bool) {}
inline void hb_groups_complete(thread&, uint32_t) {}
inline void hb_write(const void*, size_t, const void*) {}
inline void hb_releases_init(thread&, const std::vector<const mbarrier*>&, const void*) {}
inline void hb_proxy_fence(thread&, proxy_space) {}
inline void hb_releases_maps(thread&) {}
inline void hb_acquires_map(const thread&, const void*) {}
inline void hb_uses_map(const thread&, const void*, const void*) {}
inline void hb_enters_proxy(thread&, const void*, size_t, proxy_use, const void*) {}
inline uint32_t hb_name_agent(const thread&, agent_kind) { return 0; }
inline void hb_agent_done(thread&, uint32_t, uint32_t) {}
inline void report_unwritten(emulation&) {}
inline uint32_t hb_last_far_access() { return 0; }
inline void hb_compares() {}
#endif

#ifdef SIMT_FLAVOUR_ASAN
void asan_launch_begins();
void asan_launch_ends(emulation& stream);
// Before an exception that passes through frames of a kernel's host code.
void asan_before_throw();
#else
inline void asan_launch_begins() {}
inline void asan_launch_ends(emulation&) {}
inline void asan_before_throw() {}
#endif

// Accesses that the executor makes for a kernel. `source` may be nullptr.
#ifdef SIMT_FLAVOUR_PLAIN
inline void hb_atomic(thread&, const void*, size_t, memory_scope, atomic_kind, const void*) {}
inline void hb_group_copies(thread&, const void*, const void*, size_t, const void*) {}
inline uint32_t hb_flight_starts(thread&, const void*, const void*, size_t, const void*) { return 0; }
inline void hb_flight_counts(uint32_t, const void*, size_t, const void*) {}
inline void hb_read(const void*, size_t, const void*) {}
inline void hb_agent_access(uint32_t, uint32_t, const void*, size_t, bool, const void*) {}
#else
void hb_read(const void* p, size_t bytes, const void* pc);
// By an agent that hb_name_agent named, in its epoch `clock`.
void hb_agent_access(uint32_t agent, uint32_t clock, const void* p, size_t bytes, bool writes, const void* pc);
void hb_atomic(thread& t, const void* p, size_t bytes, memory_scope scope, atomic_kind kind, const void* pc);
void hb_group_copies(thread& t, const void* destination, const void* source, size_t bytes, const void* pc);
// Returns the name under which the copy in flight is known.
uint32_t hb_flight_starts(thread& t, const void* destination, const void* source, size_t bytes, const void* pc);
void hb_flight_counts(uint32_t id, const void* barrier, size_t bytes, const void* pc);
#endif

}  // namespace emu
}  // namespace simt
