// Stackful coroutines, one per emulated thread.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef SIMT_FLAVOUR_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace simt {
inline namespace emu {

#ifdef SIMT_FLAVOUR_ASAN
inline constexpr size_t k_stack_bytes = 256 * 1024;
#else
inline constexpr size_t k_stack_bytes = 128 * 1024;
#endif
inline constexpr size_t k_page_bytes = 4096;

// A suspended flow of control and the stack it lives on (the main flow keeps the process's own stack).
struct fiber {
  void* context = nullptr;
  char* stack = nullptr;  // lowest address; nullptr for the main flow
#ifdef SIMT_FLAVOUR_ASAN
  void* fake_stack = nullptr;
  const void* asan_bottom = nullptr;
  size_t asan_size = 0;
#endif
};

// Before the first fiber: throws device_error where there is no address space for stacks.
void reserve_stacks();
// Makes f start at entry() when switched to, on a stack of its own.
void prepare_fiber(fiber& f, void (*entry)());
// Suspends `from` and resumes `to`. A `from` that is `finished` never runs again.
void switch_fiber(fiber& from, fiber& to, bool finished);
// The first statement of every entry().
void fiber_entered(fiber& self, fiber& main);
// Takes the stack off a fiber that has finished, or that is `abandoned` half-way. Another fiber may start on it.
void free_stack(fiber& f, bool abandoned);
// True if the address lies in the stack of some fiber.
bool is_of_stack(uintptr_t address);
// True if the calling fiber has used up its stack, except for the part that the executor may need.
inline bool stack_used_up(const fiber& f) {
  constexpr std::ptrdiff_t k_reserve = 8192;
  return static_cast<const char*>(__builtin_frame_address(0)) - f.stack < k_reserve;
}

}  // namespace emu
}  // namespace simt
