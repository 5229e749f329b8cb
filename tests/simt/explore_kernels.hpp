// Host side of explore_kernels.cu on the emulated device.
#pragma once

#include <vector>

#include "simt/emulation.hpp"

namespace warpcheck::self {

inline constexpr int k_explore_words = 256;

struct explore_trial {
  const char* name;
  // Launches the kernel over zeroed `out`, k_explore_words of device memory. Flaws: 0 none; 1 nothing acquires; 2
  // nothing is released; 3 fences of the block's scope.
  void (*run)(int* out, int flaw, simt::emulation* stream);
  int flaws;                 // that it can have
  unsigned long long least;  // classes
  unsigned long long outcomes;
};

std::vector<explore_trial> explore_trials();
// A race that needs one order of twelve choices; choices that have one order; a loop that never ends; a grid of 13
// times 5 blocks; more than 20000 choices.
void run_one_order_of_many(int* out, simt::emulation* stream);
void run_one_order(int* out, simt::emulation* stream);
void run_waits_for_nobody(int* out, simt::emulation* stream);
void run_on_many_blocks(int* out, simt::emulation* stream);
void run_many_choices(int* out, simt::emulation* stream);

// Steps of a thread of a small program on two words.
enum step_kind : int { step_load, step_store, step_add, step_add_unused, step_swap, step_compare_and_swap };
struct program_step {
  int kind, word, value;
};
inline constexpr int k_program_threads = 3, k_program_steps = 3;

// Runs a program, a block of one thread for each of its threads. out[0] and out[1] are the words; what step s of thread
// t has seen goes to out[2 + t * k_program_steps + s].
void run_program(const program_step* steps, int* out, simt::emulation* stream);

}  // namespace warpcheck::self
