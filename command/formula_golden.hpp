// Golden data of operators by formula: recorded inputs, with the exact outputs that the formula gave for them.
#pragma once

#include <string>

namespace warpcheck::cli {

// Makes golden data of the registered formula known to `golden check` and `golden regenerate`, and adds the property
// `golden`, whose cases are the recorded inputs below folder/OP; none if there is no such folder. usage_error: a file
// there is malformed.
void add_formula_golden(const std::string& op, const std::string& folder);
// The same for the folder `golden`, if it holds recorded inputs of the formula.
void add_recorded_inputs(const std::string& op);

}  // namespace warpcheck::cli
