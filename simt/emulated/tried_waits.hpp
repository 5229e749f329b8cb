// Loops that do nothing but ask for a phase of a barrier: they are waits, whose order is no choice. The race flavour
// finds them by what they do. It answers "not complete" once, which is possible in some schedule. If the thread then
// comes back to the same question in the same state, and has done nothing in between, such an answer has no effect: a
// thread is deterministic, so it comes back however often it is answered so.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simt/emulated/executor.hpp"
#include "simt/emulated/own_vector.hpp"

namespace simt {
inline namespace emu {

// A question that was answered "not complete", and the state of the thread that asked.
struct tried_wait {
  const void* barrier = nullptr;
  unsigned parity = 0;
  const void* pc = nullptr;
  bool is_wait = false;  // the thread has come back
  uint64_t accesses = 0, steps = 0;
  uint32_t clock = 0;
  uintptr_t registers[6] = {};
  own_vector<char> stack;  // of the kernel's frames
};

#ifdef SIMT_FLAVOUR_RACE
// True if t comes back to the question that it asked last, and may have asked it more or less often.
bool hb_asks_again(thread& t, const void* barrier, unsigned parity, const void* pc);
// True if the answer is to be "not complete", to see what t does then. Counts a choice where that cannot be seen.
bool hb_tries_answer(thread& t, const phase_clock& k, const void* barrier, unsigned parity, bool is_complete,
                     const void* pc);
void hb_stops_trying(thread& t);
// The thread does something that matters to others, or to what it does later.
inline void hb_acts(thread& t) {
  if (t.tried != nullptr) hb_stops_trying(t);
}
#else
inline bool hb_asks_again(thread&, const void*, unsigned, const void*) { return false; }
inline bool hb_tries_answer(thread&, const phase_clock&, const void*, unsigned, bool, const void*) { return false; }
inline void hb_acts(thread&) {}
#endif

}  // namespace emu
}  // namespace simt
