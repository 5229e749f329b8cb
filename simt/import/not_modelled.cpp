// Ends a launch from the program's side.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "simt/emulated/executor.hpp"
#include "simt/import/launch.hpp"

namespace simt::import {

void not_modelled(const char* what, const char* name, const site& where) {
  const auto text = [&] {
    return ::simt::import::describe(where) + ": " + what + " '" + name + "' is not modelled on the emulated device";
  };
  const bool is_program = the_program().report != nullptr;
  if (in_kernel()) fail(is_program ? "unsupported" : "error_return", text);
  if (!is_program) throw device_error(text());
  report("unsupported", text(), true);
  std::abort();
}

}  // namespace simt::import

// Sources that are not ours are compiled with a check of __builtin_unreachable(). It makes g++ leave a function whose
// return is missing, as nvcc's unoptimised host code does, instead of assuming that no caller gets there.
extern "C" void __ubsan_handle_builtin_unreachable(void*) {
  std::fputs("the program reached __builtin_unreachable()\n", stderr);
  std::abort();
}
