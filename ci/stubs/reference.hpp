// Exact model and error bound of a row of $op. Derivation: docs/numerics.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/numerics/compare.hpp"
#include "reference/numerics/multiprecision.hpp"

namespace warpcheck::reference {

class ${op}_row {
 public:
  explicit ${op}_row(std::vector<double> x) : x_(std::move(x)) {}

  judgement judge(int64_t i, double actual) const {
    return decide<mp50, mp100>(dtype::f32, actual, precision::adaptive, *this, i);
  }
  std::string expected_text(int64_t i) const { return evaluate<mp50>(i).exact.value.str(20); }

  template <class Real>
  bounded_value<Real> evaluate(int64_t i) const {
    using number = basic_enclosure<Real>;
#error "reference/$op/$op.hpp: return the exact value of y[i] and the bound of a kernel's, as enclosures (step 3)"
    return {number(x_[static_cast<size_t>(i)]), number(0)};
  }

 private:
  std::vector<double> x_;
};

}  // namespace warpcheck::reference
