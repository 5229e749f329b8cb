// Faults of a program's process.
#pragma once

#include "simt/emulation.hpp"

namespace simt::import {

// An integer division by zero in a kernel goes on from now on, as on a GPU, and is noted with its line. What crashes
// the host's code is reported with its line.
void catch_program_faults();

// Ends the program, as one that is not modelled, where its last launch was a livelock that asks a word of managed or
// pinned memory: a launch runs while the host waits for it, so that a kernel which waits for the host never ends here.
// Where the program has one thread, which waits for this launch, nobody is left to write: that livelock is the
// program's.
void report_wait_for_host(const emulation& on);

}  // namespace simt::import
