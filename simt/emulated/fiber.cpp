#include "simt/emulated/fiber.hpp"

#include <sys/mman.h>

#include "simt/error.hpp"

#ifdef SIMT_PORTABLE_SWITCH
#include <boost/context/detail/fcontext.hpp>
#elif !defined(__x86_64__)
#error "the built-in context switch is for x86-64: configure with SIMT_PORTABLE_SWITCH=ON"
#endif

namespace simt {
inline namespace emu {
namespace {

constexpr size_t k_stacks_per_chunk = 1024;

#ifdef SIMT_PORTABLE_SWITCH

namespace context = boost::context::detail;

// The place where the flow that is being left stores its continuation.
void** save_slot = nullptr;
void (*start_entry)() = nullptr;

void arrive(context::transfer_t from) { *save_slot = from.fctx; }

void trampoline(context::transfer_t from) {
  arrive(from);
  start_entry();
}

void raw_switch(void** save, void* to) {
  save_slot = save;
  arrive(context::jump_fcontext(to, nullptr));
}

void* raw_make(char* top, size_t bytes, void (*entry)()) {
  start_entry = entry;  // one entry function serves all fibers
  return context::make_fcontext(top, bytes, trampoline);
}

#else

// Saves the callee-saved registers of the System V ABI and ends in `ret`, which keeps the processor's return-address
// prediction balanced: an indirect jump here costs twice as much.
extern "C" void simt_raw_switch(void** save, void* to);
asm(R"(
.pushsection .text
.p2align 4
.type simt_raw_switch, @function
simt_raw_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size simt_raw_switch, .-simt_raw_switch
.popsection
)");

void raw_switch(void** save, void* to) { simt_raw_switch(save, to); }

void* raw_make(char* top, size_t, void (*entry)()) {
  auto** p = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t{15});
  *--p = nullptr;  // the return address of entry(), which never returns
  *--p = reinterpret_cast<void*>(entry);
  return p - 6;  // six registers, whose values do not matter
}

#endif

}  // namespace

char* new_stack() {
  // One mapping per chunk, with a guard page below: one for each stack would meet the system's limit on mappings before
  // 64 x 1024 threads.
  static char* chunk = nullptr;
  static size_t left = 0;
  if (left == 0) {
    void* p = mmap(nullptr, k_page_bytes + k_stacks_per_chunk * k_stack_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED || mprotect(p, k_page_bytes, PROT_NONE) != 0)
      throw device_error("the address space for the stacks of emulated threads is used up");
    chunk = static_cast<char*>(p) + k_page_bytes;
    left = k_stacks_per_chunk;
  }
  char* stack = chunk;
  chunk += k_stack_bytes;
  --left;
  return stack;
}

void reset_stack([[maybe_unused]] fiber& f) {
#ifdef SIMT_FLAVOUR_ASAN
  __asan_unpoison_memory_region(f.stack, k_stack_bytes);
#endif
}

void prepare_fiber(fiber& f, void (*entry)(), unsigned colour) {
  const size_t usable = k_stack_bytes - ((colour * 832u) & 4032u);  // 832 = 13 lines: spreads over the 64 sets of L1
  f.context = raw_make(f.stack + usable, usable, entry);
#ifdef SIMT_FLAVOUR_ASAN
  f.fake_stack = nullptr;
  f.asan_bottom = f.stack;
  f.asan_size = k_stack_bytes;
#endif
}

void switch_fiber(fiber& from, fiber& to, [[maybe_unused]] bool finished) {
#ifdef SIMT_FLAVOUR_ASAN
  __sanitizer_start_switch_fiber(finished ? nullptr : &from.fake_stack, to.asan_bottom, to.asan_size);
  raw_switch(&from.context, to.context);
  __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#else
  raw_switch(&from.context, to.context);
#endif
}

void fiber_entered([[maybe_unused]] fiber& self, [[maybe_unused]] fiber& main) {
#ifdef SIMT_FLAVOUR_ASAN
  const void* bottom = nullptr;
  size_t size = 0;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
  // The first fiber of a launch is entered from the main flow, whose stack ASan names here.
  if (main.asan_bottom == nullptr) {
    main.asan_bottom = bottom;
    main.asan_size = size;
  }
#endif
}

}  // namespace emu
}  // namespace simt
