// The asan flavour: AddressSanitizer watches the kernels' own accesses, this file those that the executor makes for
// them.
#include <sanitizer/asan_interface.h>

#include "kernels/simt/emulated/happens_before.hpp"
#include "kernels/simt/emulated/symbols.hpp"

namespace simt {
inline namespace emu {
namespace {

void check(const void* p, size_t bytes, const char* what, const void* pc) {
  if (__asan_region_is_poisoned(const_cast<void*>(p), bytes) == nullptr) return;
  fail("out_of_bounds", [&] {
    return std::string(what) + " of " + std::to_string(bytes) + " bytes by " + describe(*current) + " at " +
           source_line(code_offset(pc)) + " touches memory outside of every array and buffer";
  });
}

}  // namespace

void hb_atomic(thread&, const void* p, size_t bytes, memory_scope, const void* pc) {
  check(p, bytes, "atomic access", pc);
}

void hb_group_copies(thread&, const void* destination, const void* source, size_t bytes, const void* pc) {
  check(source, bytes, "asynchronous read", pc);
  check(destination, bytes, "asynchronous write", pc);
}

uint32_t hb_flight_starts(thread&, const void* destination, const void* source, size_t bytes, const void* pc) {
  if (source != nullptr) check(source, bytes, "asynchronous read", pc);
  check(destination, bytes, "asynchronous write", pc);
  return 0;
}

}  // namespace emu
}  // namespace simt
