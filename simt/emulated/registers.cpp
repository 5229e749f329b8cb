// Accumulators: the thread's own, but not while a product is in flight, and to a product again only through a fence.
// They are local arrays, whose accesses the compiler's hooks show.
#include "simt/emulated/registers.hpp"

#include <algorithm>
#include <cstring>

#include "simt/emulated/detector.hpp"
#include "simt/emulated/symbols.hpp"

namespace simt {
inline namespace emu {

void registers_taken(thread& t, const uint32_t* d, size_t count, const void* pc) {
  const auto overlaps = [&](const watched_registers& w) {
    return w.begin < d + count && d < w.end && w.read_until == 0;
  };
  for (const watched_registers& w : t.watched) {
    if (!overlaps(w) || !(w.in_flight || w.touched)) continue;
    fail(w.in_flight ? "race" : "uninitialized", [&] {
      const std::string who = "wgmma of " + describe_thread_id(t.id) + " at " + source_line(code_offset(pc));
      return w.in_flight ? who + " has accumulators in common with one in flight, begun at " + source_line(w.pc)
                         : who + " uses accumulators that the thread has accessed since its last wgmma_fence";
    });
  }
  t.watched.erase(std::remove_if(t.watched.begin(), t.watched.end(), overlaps), t.watched.end());
  detector.watches = true;
  t.watched.push_back({d, d + count, true, false, code_offset(pc)});
}

// clang's hooks do not show reads of a local array's elements one by one (LLVM, ThreadSanitizer.cpp: an element's
// address is captured nowhere). What was read shows where it is stored.
void check_last_store(thread& t) {
  if (t.stored.p == nullptr) return;
  const auto stored = t.stored;
  t.stored = {};
  for (size_t i = 0; i + 4 <= stored.bytes; i += 4) {
    uint32_t word;
    std::memcpy(&word, stored.p + i, sizeof word);
    constexpr uint32_t k_quiet = 0x00400000;
    if (((word | k_quiet) & 0x7fffffff) != (k_in_flight | k_quiet)) continue;
    const auto product = std::find_if(t.watched.begin(), t.watched.end(),
                                      [](const auto& w) { return w.in_flight && w.read_until == 0; });
    if (product == t.watched.end()) return;
    fail("race", [&] {
      return "store of an accumulator's value by " + describe_thread_id(t.id) + " at " + source_line(stored.pc) +
             " and the wgmma in flight that was begun at " + source_line(product->pc) +
             " are not ordered: no wgmma_wait lies between them";
    });
  }
}

void note_store(thread& t, const void* p, size_t bytes, uint32_t pc) {
  check_last_store(t);
  t.stored = {static_cast<const char*>(p), bytes, pc};
}

void registers_landed(thread& t, const uint32_t* d) {
  for (watched_registers& w : t.watched)
    if (w.begin == d) w.in_flight = false;
}

void fragment_taken(thread& t, const uint32_t* a, uint32_t group, const void* pc) {
  for (watched_registers& w : t.watched) {
    if (w.begin != a || w.read_until == 0) continue;
    w.read_until = group;
    return;
  }
  detector.watches = true;
  t.watched.push_back({a, a + 4, true, false, code_offset(pc), group});
}

void fragments_landed(thread& t, uint32_t below) {
  const auto is_done = [below](const watched_registers& w) { return w.read_until != 0 && w.read_until < below; };
  t.watched.erase(std::remove_if(t.watched.begin(), t.watched.end(), is_done), t.watched.end());
}

void fragment_gone(thread& t, const uint32_t* a) {
  const auto is_it = [a](const watched_registers& w) { return w.read_until != 0 && w.begin == a; };
  t.watched.erase(std::remove_if(t.watched.begin(), t.watched.end(), is_it), t.watched.end());
}

void registers_fenced(thread& t) {
  for (watched_registers& w : t.watched) w.touched = false;
}

void check_registers(thread& t, uintptr_t address, size_t bytes, access_kind kind, uint32_t pc) {
  for (watched_registers& w : t.watched) {
    if (address >= reinterpret_cast<uintptr_t>(w.end) || reinterpret_cast<uintptr_t>(w.begin) >= address + bytes)
      continue;
    if (w.read_until != 0 && kind == access_kind::read) continue;
    w.touched = w.read_until == 0;
    if (!w.in_flight) continue;
    fail("race", [&] {
      return std::string(kind == access_kind::read ? "read" : "write") +
             (w.read_until == 0 ? " of an accumulator by " : " of a fragment of A by ") + describe_thread_id(t.id) +
             " at " + source_line(pc) + " and the wgmma in flight that was begun at " + source_line(w.pc) +
             " are not ordered: no wgmma_wait lies between them";
    });
  }
}

}  // namespace emu
}  // namespace simt
