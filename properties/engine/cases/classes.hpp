// Classes of cases. A run must have cases of every class: if a generator never draws one, the coverage minimum reports
// the class by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "properties/engine/cases/case.hpp"

namespace warpcheck::engine {

// The classes of a case: one of rows, one of columns (both of its first input) and one of values.
//   rows:none, one, few (2..31), many; vector for a first input that has no rows
//   columns:none, one, below-warp (2..31), warp (32), power (64, 128, ...), power-1 (63, ...), power+1 (33, 65, ...),
//           multiple (of 32), tail
//   values:equal, exact, range, wide, huge, tiny, cancelling, ordered, peaked, masked, ties, special, array; by the
//          recipes of all inputs, the most unusual one deciding
std::vector<std::string> classes_of(const trial_case& c);
// The same as one word, with the variant that ran: "few x power+1 x ties x softmax_warp".
std::string combination_of(const std::vector<std::string>& classes, std::string_view variant);

// Every class that a run of an operator must reach: all but `values:array`, which only a user's file has.
const std::vector<std::string>& required_classes();

// A class that an operator need not reach, with the reason; registered beside its properties, before main.
struct coverage_exemption {
  std::string op;
  std::string name;  // "values:masked"
  std::string reason;
};
struct coverage_exemption_registration {
  explicit coverage_exemption_registration(std::vector<coverage_exemption> coverage_exemptions);
};
std::vector<coverage_exemption> coverage_exemptions_of(std::string_view op);

// Returns the coverage minimum of a class in a run with this many cases of an operator: a thousandth, at least one.
int64_t coverage_minimum(int64_t cases);
// One sentence for every required class of the operator that has fewer cases than its coverage minimum. An operator
// whose first input is always a vector need not have rows.
std::vector<std::string> unmet_coverage_minimums(std::string_view op, const std::map<std::string, int64_t>& reached,
                                                 int64_t cases);

// Counts the combinations of classes and variants: nonempty rows and columns, required values, and for each variant the
// columns that it accepts (min..max; max -1: no limit).
struct extent_range {
  int64_t least = 0;
  int64_t most = -1;
};
int64_t combinations(const std::vector<extent_range>& variants);

// Returns the shapes of all inputs, coarse enough that one bug is one class, and fine enough that bugs at other sizes
// are other classes: exact up to 4 and beside powers of two, else the power of two below: "x[1x2^11+1]", "x[2^4..x33]".
std::string shape_class(const trial_case& c);

}  // namespace warpcheck::engine
