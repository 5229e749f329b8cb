// The calls of argmax (see the contract in argmax.hpp) as data.
#pragma once

#include "abi/contract.hpp"

namespace warpcheck {

inline const contract& argmax_contract() {
  static const contract c = {"argmax",
                             {"rows", "cols"},
                             {{"rows",
                               {{"x", true, "rows, cols", WARPCHECK_F32 | WARPCHECK_F16 | WARPCHECK_BF16},
                                {"index", false, "rows", WARPCHECK_I64}}}}};
  return c;
}

}  // namespace warpcheck
