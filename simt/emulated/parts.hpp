// Long launches in parts. Copies of this process (fork) run the blocks that have not started, all at once, and the
// launch takes over what they have written. It does so only if the order of the blocks cannot matter: no part has a
// finding or a choice (certificate.hpp), and none accesses a byte that another one writes. Otherwise the launch goes on
// as if there had been no parts.
#pragma once

#include <cstdint>

namespace simt {
inline namespace emu {

#ifndef SIMT_FLAVOUR_ASAN
extern bool is_part;  // this process runs a part of a launch

// Ends the part without a result.
[[noreturn]] void leave_part();
// The next cluster that a part runs; the launch's number of clusters if all have been given away.
uint64_t next_cluster_of_part();

// True if parts have run all blocks of the launch that had not ended.
bool ran_in_parts();
#else
inline constexpr bool is_part = false;
[[noreturn]] inline void leave_part() { __builtin_unreachable(); }
inline uint64_t next_cluster_of_part() { return 0; }
inline bool ran_in_parts() { return false; }
#endif

// The kernel is about to do something that a launch cannot take over from a part: this one ends, and the launch of a
// process that is none has no parts any more.
void note_effect_of_order();

// The time that must be left of a launch for parts to pay off; tests lower it.
void set_least_time_for_parts(double milliseconds);
bool has_one_thread();  // this process

}  // namespace emu
}  // namespace simt
