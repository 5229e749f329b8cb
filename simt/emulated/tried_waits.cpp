#include "simt/emulated/tried_waits.hpp"

#include <unwind.h>

#include <algorithm>
#include <iterator>

#include "simt/emulated/certificate_state.hpp"
#include "simt/emulated/happens_before.hpp"

namespace simt {
inline namespace emu {
namespace {

#ifdef __x86_64__
constexpr int k_preserved[] = {3, 6, 12, 13, 14, 15};  // by a call: rbx, rbp, r12 to r15, by their numbers in DWARF

// Called for each frame from the inside: keeps what the frame of the call at tried.pc will find after the call.
_Unwind_Reason_Code keep_state(_Unwind_Context* frame, void* tried) {
  auto& now = *static_cast<tried_wait*>(tried);
  if (_Unwind_GetIP(frame) != reinterpret_cast<uintptr_t>(now.pc)) return _URC_NO_REASON;
  std::transform(std::begin(k_preserved), std::end(k_preserved), now.registers,
                 [frame](int number) { return _Unwind_GetGR(frame, number); });
  const auto* const begin = reinterpret_cast<const char*>(_Unwind_GetCFA(frame));
  now.stack.assign(begin, static_cast<const char*>(current->flow.stack + k_stack_bytes));
  return _URC_NORMAL_STOP;
}

// Leaves the stack empty if the frame is not found.
void keep_state(tried_wait& now) { _Unwind_Backtrace(keep_state, &now); }
#else
void keep_state(tried_wait&) {}
#endif

tried_wait state_of(const thread& t, const void* barrier, unsigned parity, const void* pc) {
  tried_wait now;
  now.barrier = barrier;
  now.parity = parity;
  now.pc = pc;
  now.accesses = device.accesses;
  now.steps = device.stream->steps;
  now.clock = t.clock;
  keep_state(now);
  return now;
}

}  // namespace

bool hb_asks_again(thread& t, const void* barrier, unsigned parity, const void* pc) {
  if (t.tried == nullptr) return false;
  tried_wait& last = *t.tried;
  const bool is_same = last.barrier == barrier && last.parity == parity && last.pc == pc;
  if (is_same && !last.is_wait) {
    const tried_wait now = state_of(t, barrier, parity, pc);
    last.is_wait = now.accesses == last.accesses && now.steps == last.steps && now.clock == last.clock &&
                   std::equal(std::begin(now.registers), std::end(now.registers), last.registers) &&
                   now.stack == last.stack;
  }
  if (is_same && last.is_wait) return true;
  hb_stops_trying(t);
  return false;
}

bool hb_tries_answer(thread& t, const phase_clock& k, const void* barrier, unsigned parity, bool is_complete,
                     const void* pc) {
  if (certificate.holds) {
    if (is_complete && knows_phase(k, t)) return false;
    t.tried = std::make_unique<tried_wait>(state_of(t, barrier, parity, pc));
    if (!t.tried->stack.empty()) return true;
    t.tried.reset();
  }
  hb_choice(choice::barrier_poll, pc);
  return false;
}

void hb_stops_trying(thread& t) {
  if (!t.tried->is_wait) hb_choice(choice::barrier_poll, t.tried->pc);
  t.tried.reset();
}

}  // namespace emu
}  // namespace simt
