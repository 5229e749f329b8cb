// The bound of matmul.hpp taken apart, for explanations; no verdict uses it.
#pragma once

#include <vector>

#include "reference/matmul/matmul.hpp"
#include "reference/numerics/bound_term.hpp"

namespace warpcheck::reference {

// The numbers of roundings after the sum: r, q and j of the bound.
struct matmul_roundings {
  int after_sum, after_c, after_bias;
};
matmul_roundings roundings_of(const matmul_setting& setting);

// The parts of an element's bound, which add up to it; none if only one value passes.
std::vector<bound_term> matmul_bound_terms(const matmul_setting& setting, const matmul_operands& operands);

}  // namespace warpcheck::reference
