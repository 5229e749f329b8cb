// What the contracts of kernels/<op>.hpp say of a call's tensors and scalars, for operators that a Python function may
// implement: such a function checks nothing, so that what breaks the contract is refused before it is called.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/candidate.h"

namespace warpcheck::python {

enum class output_shape : uint8_t { as_input, per_row };

struct output_rule {
  const char* name;
  output_shape shape;
  uint32_t dtypes;  // that it may have; 0: the input's
  bool is_optional = false;
  bool may_be_input = false;  // the in-place form
};
struct scalar_rule {
  const char* name;
  int codes = 0;  // of an enumeration from 0; 0: any number
};
struct operator_rule {
  const char* name;
  int dimensions;   // of the input x
  uint32_t dtypes;  // that x may have
  output_rule output;
  const scalar_rule* scalars;
  int num_scalars;
  const output_rule* second = nullptr;
};

// nullptr where the operator has no such rule.
const operator_rule* find_rule(std::string_view op);
std::string rule_names();

struct tensor_view {
  const char* name;
  char* data;
  int64_t rows, cols, ld, element;
  const DLTensor* tensor;  // nullptr: not there

  bool empty() const { return rows == 0 || cols == 0; }
};

// The tensors of the call in the order that the function gets them, the optional one last, if the operator has one.
// Throws std::invalid_argument with one sentence where the call breaks the contract.
std::vector<tensor_view> checked_tensors(const operator_rule& rule, const warpcheck_call& call);
// The value of a scalar; throws likewise.
double checked_scalar(const scalar_rule& rule, const warpcheck_call& call);

uint32_t dtype_bit(const DLDataType& type);
// "f32" of WARPCHECK_F32; nullptr for what is no single type.
const char* dtype_name(uint32_t bit);

}  // namespace warpcheck::python
