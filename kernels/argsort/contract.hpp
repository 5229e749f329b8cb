// The calls of argsort (see the contract in argsort.hpp) as data.
#pragma once

#include "abi/contract.hpp"

namespace warpcheck {

inline const contract& argsort_contract() {
  static const contract c = {
      "argsort",
      {"rows", "cols"},
      {{"rows",
        {{"x", true, "rows, cols", WARPCHECK_F32}, {"index", false, "rows, cols", WARPCHECK_I32 | WARPCHECK_I64}},
        {{"order", 0, "the direction: 0 ascending, 1 descending", 0, 1, true}}}}};
  return c;
}

}  // namespace warpcheck
