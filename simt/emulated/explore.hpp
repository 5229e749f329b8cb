// Exploration of a launch: the launch runs once for each class of schedules that differ in the order of two choices
// (docs/emulated_device.md, "Every class of schedules"). Race flavour only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simt/emulated/certificate.hpp"
#include "simt/emulated/executor.hpp"

namespace simt {
inline namespace emu {

#ifdef SIMT_FLAVOUR_RACE
// True while the launch that runs is explored.
bool explores();
// True if the present run was given up, since it is of a class that has run.
bool explore_gave_up();

// Runs a launch by calls of `run`, each from the same memory, until all classes or those that the stream's schedule
// allows have run. The memory afterwards is that of the first run.
void explore_launch(emulation& stream, const launch_config& config, void (*run)(const void*), const void* with);

// The running thread waits until it is its turn to execute the atomic or volatile access that it calls this for.
void explore_point(const void* p, size_t bytes, atomic_kind kind, commuting operation, const void* pc);
// It has executed it.
void explore_executed(atomic_kind kind, bool changed);
// No thread can run: lets the next one of those that wait for their turn.
void explore_choose();

// The threads of these slots, or these lanes of a warp, go on together: what one of them has executed comes before what
// another one executes next.
void explore_meet(uint32_t first_slot, uint32_t slots);
void explore_meet(const thread* warp, uint32_t lanes);
#else
inline bool explores() { return false; }
inline bool explore_gave_up() { return false; }
inline void explore_launch(emulation&, const launch_config&, void (*run)(const void*), const void* with) { run(with); }
inline void explore_point(const void*, size_t, atomic_kind, commuting, const void*) {}
inline void explore_executed(atomic_kind, bool) {}
inline void explore_choose() {}
inline void explore_meet(uint32_t, uint32_t) {}
inline void explore_meet(const thread*, uint32_t) {}
#endif

}  // namespace emu
}  // namespace simt
