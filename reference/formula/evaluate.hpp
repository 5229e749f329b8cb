// A formula evaluated for one call: the exact value of an element, its bound, and the verdict on a candidate's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "reference/formula/bounded.hpp"
#include "reference/formula/program.hpp"
#include "reference/numerics/compare.hpp"

namespace warpcheck::formula {

// Requirements on one element.
struct demand {
  double expected = 0;   // to double; NaN or infinite where the extended reals define it so
  double bound = 0;      // the largest error, an output's rounding to 16 bits included; infinite if the element is free
  uint8_t specials = 0;  // specials that are admitted, too
  bool is_free = false;  // every value is correct
};

class evaluation {
 public:
  // Both must outlive the object. Throws formula_error if the call does not fit the formula.
  evaluation(const formula_operator& op, const call_data& call);
  ~evaluation();

  std::vector<int64_t> shape_of(std::string_view output) const;
  bounded element(std::string_view output, int64_t i);  // of any definition
  demand demand_of(std::string_view output, int64_t i);
  // The verdict on a candidate's value. Arithmetic of 50, then 100 digits decides if double cannot. An infinite bound
  // accepts every number of the output's type.
  reference::judgement judge(std::string_view output, int64_t i, double actual,
                             reference::precision policy = reference::precision::adaptive);
  // Returns the exact value in decimal digits: 20, or as many as 100 digits hold if at least 50 of them are certain;
  // otherwise "".
  std::string text(std::string_view output, int64_t i);
  std::string long_text(std::string_view output, int64_t i);
  int64_t operations() const;  // nodes evaluated so far in double

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace warpcheck::formula
