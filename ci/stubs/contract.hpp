// The calls of $op (see the contract in $op.hpp) as data.
#pragma once

#include "abi/contract.hpp"

#error "kernels/$op/contract.hpp: list the operator's extents, tensors and scalars (step 1)"

namespace warpcheck {

inline const contract& ${op}_contract() {
  static const contract c = {"$op",
                             {"rows", "cols"},
                             {{"rows", {{"x", true, "rows, cols", WARPCHECK_F32}, {"y", false, "rows, cols"}}}}};
  return c;
}

}  // namespace warpcheck
