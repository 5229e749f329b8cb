// Bank conflicts of shared memory (race flavour). A warp's loads or stores at one place in the code, in the same turn
// since its lanes last met, are one instruction. It takes 32 lanes of up to 4 bytes at once, 16 of 8 bytes or 8 of 16,
// and as many wavefronts as the most words of 4 bytes that these lanes access in one of the 32 banks (CUDA C++ Best
// Practices Guide, "Shared Memory and Memory Banks").
#pragma once

#include <cstddef>
#include <cstdint>

#include "simt/emulated/executor.hpp"
#include "simt/emulated_counts.hpp"

namespace simt {
inline namespace emu {

// Notes an access of the thread to its block's shared memory; `place`: in the code.
void count_bank_access(const thread& t, size_t offset, size_t bytes, uint32_t place);
// The lanes of a warp, or all threads of a block, have met.
void count_banks_of_warp(const block_state& b, unsigned warp, launch_counts& counts);
void count_banks_of_block(const block_state& b, launch_counts& counts);

}  // namespace emu
}  // namespace simt
