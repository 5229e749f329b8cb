// Faults of a program's process.
#pragma once

namespace simt::import {

// An integer division by zero in a kernel goes on from now on, as on a GPU, and is noted with its line. What crashes
// the host's code is reported with its line.
void catch_program_faults();

}  // namespace simt::import
