// Accumulators: the thread's own, but not while a product is in flight, and to a product again only through a fence.
// They are local arrays, whose accesses the compiler's hooks show.
#include "kernels/simt/emulated/registers.hpp"

#include <algorithm>

#include "kernels/simt/emulated/detector.hpp"
#include "kernels/simt/emulated/symbols.hpp"

namespace simt {
inline namespace emu {

void registers_taken(thread& t, const float* d, size_t count, const void* pc) {
  const auto overlaps = [&](const watched_registers& w) { return w.begin < d + count && d < w.end; };
  for (const watched_registers& w : t.watched) {
    if (!overlaps(w) || !(w.in_flight || w.touched)) continue;
    fail(w.in_flight ? "race" : "uninitialized", [&] {
      const std::string who = "wgmma of " + describe_thread_id(t.id) + " at " + source_line(code_offset(pc));
      return w.in_flight ? who + " has accumulators in common with one in flight, begun at " + source_line(w.pc)
                         : who + " uses accumulators that the thread has accessed since its last wgmma_fence";
    });
  }
  t.watched.erase(std::remove_if(t.watched.begin(), t.watched.end(), overlaps), t.watched.end());
  t.watched.push_back({d, d + count, true, false, code_offset(pc)});
}

void registers_landed(thread& t, const float* d) {
  for (watched_registers& w : t.watched)
    if (w.begin == d) w.in_flight = false;
}

void registers_fenced(thread& t) {
  for (watched_registers& w : t.watched) w.touched = false;
}

void check_registers(thread& t, uintptr_t address, size_t bytes, access_kind kind, uint32_t pc) {
  for (watched_registers& w : t.watched) {
    if (address >= reinterpret_cast<uintptr_t>(w.end) || reinterpret_cast<uintptr_t>(w.begin) >= address + bytes)
      continue;
    w.touched = true;
    if (!w.in_flight) continue;
    fail("race", [&] {
      return std::string(kind == access_kind::read ? "read" : "write") + " of an accumulator by " +
             describe_thread_id(t.id) + " at " + source_line(pc) + " and the wgmma in flight that was begun at " +
             source_line(w.pc) + " are not ordered: no wgmma_wait lies between them";
    });
  }
}

}  // namespace emu
}  // namespace simt
