// A kernel's access to an address where nothing is: the signal becomes a finding of the launch.
#include <signal.h>
#include <ucontext.h>

#include <cstdio>
#include <utility>

#include "simt/emulated/executor.hpp"
#include "simt/emulated/happens_before.hpp"
#include "simt/emulated/symbols.hpp"

namespace simt {
inline namespace emu {
namespace {

constexpr int k_faults[] = {SIGSEGV, SIGBUS};
struct sigaction before_ours[2];

// The host's own fault: whoever was there before sees it.
void hand_on(int signal, siginfo_t* info, void* context) {
  const struct sigaction& before = before_ours[signal == k_faults[1]];
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  sigaction(signal, &before, nullptr);  // the instruction faults again
}

// The instruction, as if it were a return address; nullptr where it is unknown, or none of the kernel's module.
const void* instruction_of([[maybe_unused]] void* context) {
#ifdef __x86_64__
  const auto at = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  const void* pc = reinterpret_cast<const void*>(at + 1);
  if (is_of_this_module(pc)) return pc;
#endif
  return nullptr;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  if (current == nullptr) return hand_on(signal, info, context);
  const bool is_known = info->si_code != SI_KERNEL;  // else it is no address at all
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  const void* pc = instruction_of(context);
  fail("out_of_bounds", [=] {
    const uint32_t noted = hb_last_far_access();
    char hex[32];
    std::snprintf(hex, sizeof hex, "%#llx", static_cast<unsigned long long>(address));
    return "access by " + describe(*current) + " at " +
           (noted != 0      ? source_line(noted)
            : pc != nullptr ? source_line(code_offset(pc))
                            : "an unknown line after " + describe(current->site)) +
           " to " +
           (is_known ? "address " + std::string(hex) + ", where nothing is"
                     : "an invalid address, or to one that is no multiple of a vector's size");
  });
}

}  // namespace

void catch_faults() {
  // A fault may be that of a stack. Each thread of the host that launches has one of these, for good.
  constexpr size_t k_bytes = 64 * 1024;
  thread_local bool has_stack = false;
  if (stack_t own{}; !std::exchange(has_stack, true) && sigaltstack(nullptr, &own) == 0 && own.ss_sp == nullptr) {
    own.ss_sp = new char[k_bytes];
    own.ss_size = k_bytes;
    own.ss_flags = 0;
    sigaltstack(&own, nullptr);
  }
  static const bool installed = [] {
    struct sigaction ours {};
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (const int signal : k_faults) sigaction(signal, &ours, &before_ours[signal == k_faults[1]]);
    return true;
  }();
  static_cast<void>(installed);
}

}  // namespace emu
}  // namespace simt
