// The asan flavour: AddressSanitizer watches the kernels' own accesses, this file those that the executor makes for
// them.
#include <sanitizer/asan_interface.h>

#include <cstdlib>

#include "simt/emulated/asan_options.hpp"
#include "simt/emulated/happens_before.hpp"
#include "simt/emulated/symbols.hpp"

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

// ASan's report during a launch, in its own words: the headline and the kernel's frame.
std::string reported;

void remember(const char* report) {
  if (current == nullptr) std::abort();  // the host's own mistake: ASan has printed it
  if (!reported.empty()) return;
  const std::string text = report;
  const size_t headline = text.find("AddressSanitizer: ");
  const size_t begin = headline == std::string::npos ? 0 : headline + 18;
  reported = text.substr(begin, text.find(" on ", begin) - begin) + " by " + describe(*current);
  const size_t frame = text.find("#0 ");
  const size_t in = text.find(" in ", frame);
  if (frame != std::string::npos && in != std::string::npos) {
    const std::string function = text.substr(in + 4, text.find('\n', in) - in - 4);
    reported += " at " + function.substr(function.rfind(' ') + 1);
  }
}

}  // namespace

void asan_launch_begins() {
  reported.clear();
  __asan_set_error_report_callback(remember);
}

// With halt_on_error=1 ASan has ended the process before.
void asan_launch_ends(emulation& stream) {
  if (reported.empty()) return;
  device.failed = true;
  stream.findings.push_back({"out_of_bounds", reported});
}

// If a module has a C++ runtime of its own, ASan does not see its throw, and memory that unwound frames poisoned stays
// poisoned.
void asan_before_throw() { __asan_handle_no_return(); }

void hb_atomic(thread&, const void* p, size_t bytes, memory_scope, atomic_kind, const void* pc) {
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

void hb_flight_counts(uint32_t, const void* barrier, size_t bytes, const void* pc) {
  check(barrier, bytes, "atomic access", pc);
}

void hb_read(const void* p, size_t bytes, const void* pc) { check(p, bytes, "read", pc); }

void hb_agent_access(uint32_t, uint32_t, const void* p, size_t bytes, bool writes, const void* pc) {
  check(p, bytes, writes ? "asynchronous write" : "asynchronous read", pc);
}

}  // namespace emu
}  // namespace simt
