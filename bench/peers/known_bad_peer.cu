// A kernel of properties/controls/known_bad as a candidate of device cuda: WARPCHECK_KNOWN_BAD_NAME, and the function
// that gives its operator, WARPCHECK_KNOWN_BAD_OPERATOR.
#include "abi/candidate_library.hpp"

extern "C" {
const warpcheck_operator* WARPCHECK_KNOWN_BAD_OPERATOR(void);

__attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(uint32_t abi_version) {
  static const warpcheck_operator* const operators[] = {WARPCHECK_KNOWN_BAD_OPERATOR()};
  return warpcheck::candidate_library(abi_version, WARPCHECK_KNOWN_BAD_NAME, "cuda", operators);
}
}
