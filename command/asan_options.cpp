// Part of the sanitized command only.
#include "simt/emulated/asan_options.hpp"

#include <sanitizer/asan_interface.h>

#include <cstdlib>

namespace {

// A module of the asan flavour takes over with its first launch. Before that, no kernel can be the cause.
const bool ends_at_reports = [] {
  __asan_set_error_report_callback([](const char*) { std::abort(); });
  return true;
}();

}  // namespace
