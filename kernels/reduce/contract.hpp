// The calls of reduce (see the contract in reduce.hpp) as data.
#pragma once

#include "abi/contract.hpp"

namespace warpcheck {

inline const contract& reduce_contract() {
  static const contract c = {"reduce",
                             {"rows", "cols"},
                             {{"rows",
                               {{"x", true, "rows, cols", WARPCHECK_F32 | WARPCHECK_F64}, {"y", false, "rows"}},
                               {{"op", 0, "the reduction: 0 sum, 1 minimum, 2 maximum", 0, 2, true}}}}};
  return c;
}

}  // namespace warpcheck
