// A formula as an operator of the engine: its name, its description, and what a call of it is for the reference.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/host_tensor.hpp"
#include "reference/formula/program.hpp"
#include "reference/formula/tree.hpp"

namespace warpcheck::formula_trial {

// An operator of a .op file.
struct named_formula {
  formula::formula_operator op;
  std::string file;  // as it was given, or its name in the library

  // The name of the engine's operator: "rms_norm.op" for rms_norm.
  std::string engine_name() const { return op.name + ".op"; }
  // FILE.op#HASH: the hash is that of the operator's canonical text, so that comments and neighbours do not count.
  std::string identity() const;
};
using shared_formula = std::shared_ptr<const named_formula>;

// The element type in memory. usage_error if no tensor can have it.
dtype memory_type(const formula::tensor& t);
// usage_error if the formula has what no call can have: more tensors or extents than the ABI, elements without memory.
engine::description describe(const named_formula& f);

// The call of a case for the reference, with inputs as given.
formula::call_data call_of(const named_formula& f, const engine::trial_case& c, const engine::tensor_map& inputs);
// The sizes of the formula's extents, whole scalars included.
formula::whole_values values_of(const named_formula& f, const engine::sizes& of, const engine::trial_case& c);
// Operations that an evaluation of all outputs takes, about.
double cost_of(const formula::formula_operator& op, formula::whole_values of);

}  // namespace warpcheck::formula_trial
