// The calls of softmax (see the contract in softmax.hpp) as data.
#pragma once

#include "abi/contract.hpp"

namespace warpcheck {

inline const contract& softmax_contract() {
  static const contract c = {"softmax",
                             {"rows", "cols"},
                             {{"rows",
                               {{"x", true, "rows, cols", WARPCHECK_F32 | WARPCHECK_F16 | WARPCHECK_BF16},
                                {"y", false, "rows, cols"},
                                {"index", false, "rows", WARPCHECK_I64, true}}}}};
  return c;
}

}  // namespace warpcheck
