// The calls of log_softmax (see the contract in log_softmax.hpp) as data.
#pragma once

#include "abi/contract.hpp"

namespace warpcheck {

inline const contract& log_softmax_contract() {
  static const contract c = {
      "log_softmax",
      {"rows", "cols"},
      {{"rows",
        {{"x", true, "rows, cols", WARPCHECK_F32 | WARPCHECK_F16 | WARPCHECK_BF16}, {"y", false, "rows, cols"}}}}};
  return c;
}

}  // namespace warpcheck
