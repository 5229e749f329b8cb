// The calls of scan (see the contract in scan.hpp) as data.
#pragma once

#include "abi/contract.hpp"

namespace warpcheck {

inline const contract& scan_contract() {
  static const contract c = {
      "scan",
      {"rows", "cols"},
      {{"rows",
        {{"x", true, "rows, cols", WARPCHECK_F32 | WARPCHECK_F64 | WARPCHECK_I64}, {"y", false, "rows, cols"}},
        {{"kind", 0, "the prefix: 0 inclusive, 1 exclusive", 0, 1, true}}}}};
  return c;
}

}  // namespace warpcheck
