// Targets of translated wmma instructions: fragments of mma.h in registers.
#pragma once

#include "simt/import/mma.h"

namespace simt::import::ptx {

template <class Fragment, class Register, size_t N>
void put_fragment(const Fragment& f, Register (&to)[N]) {
  static_assert(sizeof f.x == sizeof to, "the fragment has other registers");
  memcpy(to, f.x, sizeof f.x);
}
template <class Fragment, class Register, size_t N>
Fragment get_fragment(const Register (&from)[N]) {
  Fragment f;
  static_assert(sizeof f.x == sizeof from, "the fragment has other registers");
  memcpy(f.x, from, sizeof f.x);
  return f;
}

}  // namespace simt::import::ptx
