// The smallest contract of arithmetic that admits what a candidate returned.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "properties/formula/formula_description.hpp"

namespace warpcheck::formula_trial {

// Notes of a case (engine::case_notes), before the statement or the class of values: what it needs at least, elements
// that were compared, and those of which the bound admits every number.
inline const std::string k_need_note = "needs ", k_compared_note = "compared ", k_free_note = "free ";

struct returned_element {
  std::string output;
  int64_t place = 0;
  double actual = 0;
};

// Statements of a contract, "sums of depth": the least number of each with which the formula's bound admits the
// elements. The contract of the formula must admit them. Slack is made least first, then division, depth, functions and
// pow, each with what was found before; a depth is 0 or a power of two. Statements about what the formula does not have
// are left out.
std::map<std::string, double> least_needs(const named_formula& f, const formula::call_data& call,
                                          const std::vector<returned_element>& elements);
// The same as a text: "sums of depth 8, functions 1 ulp".
std::string needs_text(const std::map<std::string, double>& needs);

}  // namespace warpcheck::formula_trial
