// The contract of arithmetic: which rounding errors a kernel that evaluates a formula may make.
//
//   arithmetic f32: functions 2 ulp, pow 4 ulp, division 2, slack 1, sums in any order
//
// Each statement changes one number of the bound (docs/formulas.md, "The contract"). The line above is the default.
#pragma once

#include <string>
#include <string_view>

#include "reference/formula/lexer.hpp"
#include "reference/formula/tree.hpp"

namespace warpcheck::formula {

struct contract {
  number_type format = number_type::f32;  // of intermediate values
  double functions = 2;                   // ulp of an elementary function
  double power = 4;                       // ulp of pow
  int division = 2;                       // roundings of a division: 2 is a product with the rounded reciprocal
  int slack = 1;                          // additional roundings of each operation
  expr depth = nullptr;                   // additions that a term of a sum of n passes through; null: n - 1, any order
  int sum_units = 1;                      // an addition errs by this many u: 2 if tensor cores truncate
  int rescales = 0;                       // each exp is multiplied by another one at most this often
  bool exp_by_exp2 = false;               // exp(x) is exp2(x log2 e)
  bool exact = false;                     // a sum that every order computes exactly must be exact
  bool flush = false;                     // subnormal numbers may become 0
  bool overflow_free = false;             // if an intermediate may overflow, the result is free
};

// Reads a line `arithmetic ...`; "" gives the default. Throws formula_error like parse_file().
contract parse_contract(std::string_view text);
contract parse_contract(const logical_line& line, std::string_view file);
// Returns the line that parse_contract() reads, without statements that equal the default; "" for the default.
std::string to_text(const contract& c);
// The most additions that a term of a sum of n terms passes through.
double depth_of(const contract& c, double n);

}  // namespace warpcheck::formula
