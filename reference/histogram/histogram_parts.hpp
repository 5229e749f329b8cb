// Bounds of histogram.hpp taken apart, for explanations; no verdict uses them.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/numerics/bound_term.hpp"

namespace warpcheck::reference {

// Returns the parts of the bound of a sum of `count` terms whose sizes add up to `sizes`: float32, float64, and a
// restored slot.
std::vector<bound_term> float32_terms(int64_t count, double sizes);
std::vector<bound_term> float64_terms(int64_t count, double sizes);
std::vector<bound_term> fix_terms(double sizes);

}  // namespace warpcheck::reference
