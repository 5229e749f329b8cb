// The calls of sigmoid (see the contract in sigmoid.hpp) as data.
#pragma once

#include "abi/contract.hpp"

namespace warpcheck {

inline const contract& sigmoid_contract() {
  static const contract c = {
      "sigmoid",
      {"cols"},
      {{"vector",
        {{"x", true, "cols", WARPCHECK_F32 | WARPCHECK_F16 | WARPCHECK_BF16}, {"y", false, "cols"}},
        {{"mu", 0, "the shift"}, {"sigma", 1, "the gain: it multiplies"}}}}};
  return c;
}

}  // namespace warpcheck
