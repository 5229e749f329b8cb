// Defines the default AddressSanitizer options of a process that runs the asan flavour; ASAN_OPTIONS overrides them.
// Included by one source of an executable: the runtime reads it before main.
#pragma once

// A report in a kernel becomes a finding of the launch, every time that it is made; one outside of launches ends the
// process (asan.cpp, and whoever includes this, see to that). Weak with g++: an executable may define its own. clang's
// runtime brings a weak one, which would win over a second.
#ifdef __clang__
#define SIMT_WEAK
#else
#define SIMT_WEAK , weak
#endif
extern "C" __attribute__((visibility("default") SIMT_WEAK)) const char* __asan_default_options() {
  return "halt_on_error=0:suppress_equal_pcs=0";
}
#undef SIMT_WEAK
