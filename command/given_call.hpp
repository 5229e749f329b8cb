// A case of given arrays: those of `check` in Python, and those of `verify --input`.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/host_tensor.hpp"

namespace warpcheck::cli {

struct given_array {
  dtype type = dtype::f32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;  // row after row
};

// One call form of an operator, and its given tensors.
struct given_names {
  size_t form = 0;
  std::vector<std::string> inputs, outputs;
};
// Returns the first form that has these tensors and no further required input, and that no scalar excludes. A name may
// be empty and then means the next tensor of the form. Throws usage_error that names a tensor that no form has, or the
// missing one.
given_names names_of_call(const engine::description& d, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs, const std::map<std::string, std::string>& scalars);
// The element types that a tensor may have.
std::vector<dtype> types_of(const engine::description& d, const tensor_rule& t);

// Sets a scalar of the case; an enumeration may be given by its code. Throws usage_error that names the existing
// scalars.
void set_scalar(engine::trial_case& c, const std::string& name, const std::string& value);

struct given_call {
  engine::trial_case c;
  engine::tensor_map values;  // of the inputs
};
// Returns the case of a call with these arrays, in the order of their names. Scalars and extents are given by name.
// Throws usage_error if the arrays contradict each other or the operator's description.
given_call call_of_arrays(const engine::description& d, const given_names& names,
                          const std::vector<given_array>& inputs, const std::vector<given_array>& outputs,
                          const std::map<std::string, std::string>& scalars, std::string_view device,
                          std::string_view candidate);

}  // namespace warpcheck::cli
