// Faults of a program's process.
#pragma once

#include "simt/emulation.hpp"

namespace simt::import {

// From this call on, an integer division by zero in a kernel continues as on a GPU, and is noted with its line. A crash
// of host code is reported with its line.
void catch_program_faults();

// Ends the program as not modelled if its last launch was a livelock that polls a word of managed or pinned memory. The
// host waits while a launch runs here, so a kernel that waits for the host never ends. If the program has only one
// thread, and that thread waits for this launch, nobody could write the word: then the livelock is a fault of the
// program.
void report_wait_for_host(const emulation& on);

}  // namespace simt::import
