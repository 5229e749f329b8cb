// Kernels of one precision lower, which a trial must reject: if it does not, it cannot tell the precisions apart.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/engine/cases/case.hpp"
#include "properties/formula/formula_description.hpp"
#include "reference/formula/machine.hpp"

namespace warpcheck::formula_trial {

// The formula's interpreter with one part in a lower type, and what the cases say to it.
struct lower_precision {
  std::string name;  // "operands in tf32"
  formula::machine_options how;
  int64_t cases = 0;  // that were tried, up to the one that rejects it
  bool is_rejected = false;
};

// Operands, sums and all operations in a type below that of the contract. A formula that only selects inputs has
// operands alone. Empty if there is no lower type.
std::vector<lower_precision> lower_precisions(const named_formula& f);
// Runs one case with each that no case rejected yet.
void try_lower_precisions(const named_formula& f, const engine::trial_case& c, std::vector<lower_precision>& list);

}  // namespace warpcheck::formula_trial
