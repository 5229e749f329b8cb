// Conditional code with barriers. __syncthreads() is allowed there only if all threads of the block evaluate the
// condition alike (CUDA C++ Programming Guide, "Synchronization Functions"). The importer turns
// `if (c) { __syncthreads(); }` into `if (conditional k(1); k.evaluates(c)) { __syncthreads(); }`, and
// `while (c) { __syncthreads(); }` into `for (conditional k(1); k.begins();) while (k.evaluates(c)) ...`.
#pragma once

#include "simt/emulated/kernel_api.hpp"

namespace simt {
inline namespace emu {

struct thread;
struct block_state;

// A branch or loop from its first evaluation until the thread leaves it. Not inline: code that is would be checked for
// races.
class conditional {
 public:
  // Conditionals of one line have different numbers. Bit 0 (1) of `returns`: code that runs if the condition is false
  // (true) may end the function, as an early return does.
  explicit conditional(uint32_t number, unsigned returns = 0, SIMT_SITE);
  ~conditional();
  conditional(const conditional&) = delete;
  conditional& operator=(const conditional&) = delete;
  bool begins();  // true for the first call
  bool evaluates(bool outcome);

 private:
  friend const conditional* skipped_conditional(const thread& exited, const thread& waiting);
  friend void judge_skipped_barrier(const block_state& b);

  call_site site_;
  const void* pc_;
  uint32_t number_;
  unsigned returns_;
  bool has_begun_ = false, outcome_ = false;
  const conditional* outer_ = nullptr;
  // The latest evaluation: barriers of the block before it, and its place among the thread's evaluations since the last
  // of them.
  uint32_t barriers_ = 0, run_ = ~0u, times_ = 0;
};

}  // namespace emu
}  // namespace simt
