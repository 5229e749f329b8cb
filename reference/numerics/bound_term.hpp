// A bound taken apart, for explanations; no verdict uses it.
#pragma once

#include <cmath>
#include <vector>

#include "reference/numerics/dtype.hpp"
#include "reference/numerics/float_value.hpp"

namespace warpcheck::reference {

// A part of a bound, for explanations: the source of an error, and its size. The parts of an element add up to its
// bound, but for rounding in double.
struct bound_term {
  const char* what;
  double value;
};

// Adds the output's own rounding to the parts of B, if the output is rounded once more.
inline std::vector<bound_term> with_output_rounding(dtype output, double exact, std::vector<bound_term> terms) {
  if (size_of(output) != 2) return terms;
  double sum = 0;
  for (const bound_term& t : terms) sum += t.value;
  terms.push_back({"the rounding to the output's type",
                   unit_roundoff(output) * (std::fabs(exact) + sum) + min_subnormal(output) / 2});
  return terms;
}

}  // namespace warpcheck::reference
