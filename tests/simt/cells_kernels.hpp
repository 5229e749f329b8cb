// Host side of cells_kernels.cu on the emulated device.
#pragma once

#include "simt/emulation.hpp"

namespace warpcheck::self {
inline namespace emulated {

// Each gets 128 words of device memory. Flaw 0: none; others leave out a barrier.
void run_late_epochs(int* words, int flaw, simt::emulation* stream);        // one
void run_many_accesses(int* words, int flaw, simt::emulation* stream);      // two
void run_read_after_atomic(int* words, int flaw, simt::emulation* stream);  // one
void run_parts_of_words(int* words, int flaw, simt::emulation* stream);     // three

}  // namespace emulated
}  // namespace warpcheck::self
