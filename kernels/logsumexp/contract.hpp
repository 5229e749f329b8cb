// The calls of logsumexp (see the contract in logsumexp.hpp) as data.
#pragma once

#include "abi/contract.hpp"

namespace warpcheck {

inline const contract& logsumexp_contract() {
  static const contract c = {"logsumexp",
                             {"rows", "cols"},
                             {{"rows",
                               {{"x", true, "rows, cols", WARPCHECK_F32 | WARPCHECK_F16 | WARPCHECK_BF16},
                                {"y", false, "rows", WARPCHECK_F32 | WARPCHECK_F16 | WARPCHECK_BF16}}}}};
  return c;
}

}  // namespace warpcheck
