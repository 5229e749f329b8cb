// Calls of a formula whose time is measured.
#pragma once

#include <map>
#include <string>

#include "properties/formula/formula_description.hpp"

namespace warpcheck::formula_trial {

// Rows of about 2^12, 2^18 and 2^24 elements, with sizes that follow from the formula. A formula whose whole scalars
// leave no such sizes has none.
engine::bench_list bench_of(const named_formula& f);
// The recipes of inputs that cannot be uniform in [-8, 8), for a row of these sizes.
std::map<std::string, engine::recipe> bench_fills_of(const named_formula& f, const engine::sizes& of);

}  // namespace warpcheck::formula_trial
