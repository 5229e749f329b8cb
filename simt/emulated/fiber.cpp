#include "simt/emulated/fiber.hpp"

#include <algorithm>
#include <utility>

#include "simt/emulated/own_vector.hpp"
#include "simt/emulated/region.hpp"

#ifdef SIMT_PORTABLE_SWITCH
#include <boost/context/detail/fcontext.hpp>
#elif !defined(__x86_64__)
#error "the built-in context switch is for x86-64: configure with SIMT_PORTABLE_SWITCH=ON"
#endif

namespace simt {
inline namespace emu {
namespace {

constexpr size_t k_most_stacks = k_max_slots * 1024;
// From a stack to the next. An odd number of pages, so that the pages in use are spread over the sets of the TLB.
constexpr size_t k_stride = k_stack_bytes + k_page_bytes;
char* stacks = nullptr;
own_vector<uint64_t> free_stacks;  // a bit for each, as far as any was taken
size_t lowest_free = 0;             // the words before this one have none

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

// Saves the callee-saved registers of the System V ABI. It ends in an indirect jump: a processor predicts that a
// `ret` goes back to where the flow that is left waits, and the other flow mostly waits elsewhere. A caller in tail
// position leaves no such `ret` to its own callers either.
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
  popq %rcx
  jmp *%rcx
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

bool is_of_stack(uintptr_t address) { return address - reinterpret_cast<uintptr_t>(stacks) < k_most_stacks * k_stride; }

void reserve_stacks() {
  if (stacks == nullptr) stacks = static_cast<char*>(reserve(k_most_stacks * k_stride, k_page_bytes));
}

void prepare_fiber(fiber& f, void (*entry)()) {
  // The lowest that is free, so that the stacks of neighbours are neighbours.
  while (lowest_free < free_stacks.size() && free_stacks[lowest_free] == 0) ++lowest_free;
  if (lowest_free == free_stacks.size()) free_stacks.push_back(~uint64_t{0});
  uint64_t& bits = free_stacks[lowest_free];
  const size_t number = lowest_free * 64 + static_cast<size_t>(__builtin_ctzll(bits));
  bits &= bits - 1;
  f.stack = stacks + number * k_stride;
  // Tops at equal offsets in a page would fall into the same cache sets: 832 = 13 lines spreads over the 64 sets of L1.
  const size_t colour = number * 832 & 4032;
  const size_t usable = k_stack_bytes - colour;
  f.context = raw_make(f.stack + usable, usable, entry);
#ifdef SIMT_FLAVOUR_ASAN
  f.fake_stack = nullptr;
  f.asan_bottom = f.stack;
  f.asan_size = k_stack_bytes;
#endif
}

void free_stack(fiber& f, [[maybe_unused]] bool abandoned) {
#ifdef SIMT_FLAVOUR_ASAN
  if (abandoned) __asan_unpoison_memory_region(f.stack, k_stack_bytes);
#endif
  const auto number = static_cast<size_t>(std::exchange(f.stack, nullptr) - stacks) / k_stride;
  free_stacks[number / 64] |= uint64_t{1} << number % 64;
  lowest_free = std::min(lowest_free, number / 64);
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
