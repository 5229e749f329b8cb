// The value and the bound of matmul.hpp taken apart, for explanations; no verdict uses them.
#pragma once

#include <vector>

#include "reference/matmul/matmul.hpp"
#include "reference/numerics/bound_term.hpp"
#include "reference/numerics/model_step.hpp"

namespace warpcheck::reference {

// The numbers of roundings after the sum: r, q and j of the bound.
struct matmul_roundings {
  int after_sum, after_c, after_bias;
};
matmul_roundings roundings_of(const matmul_setting& setting);

// The parts of an element's bound, which add up to it; none if only one value passes.
std::vector<bound_term> matmul_bound_terms(const matmul_setting& setting, const matmul_operands& operands);
// The steps of an element with a bound: the products' sum, alpha, beta c, bias, the sigmoid. The kernel gave `actual`.
std::vector<model_step> matmul_steps(const matmul_setting& setting, const matmul_operands& operands, double actual);

}  // namespace warpcheck::reference
