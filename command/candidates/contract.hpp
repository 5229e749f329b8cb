// Checks of a call's tensors and scalars against the operator's description. Python functions and entries of CUDA
// sources check nothing, so calls that break the contract are refused before they reach them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "abi/candidate.h"

namespace warpcheck::cli {

// The factors of each dimension: names of extents or scalars, and numbers.
using shape_rule = std::vector<std::vector<std::string>>;

// The shape for one value of a scalar.
struct other_shape {
  std::string scalar;
  double value = 0;
  shape_rule shape;
};
struct tensor_rule {
  std::string name;
  bool is_input = true, is_optional = false;
  uint32_t types = 0;  // allowed types, of warpcheck_dtype_bit; 0: that of the first tensor
  shape_rule shape;
  std::vector<other_shape> others;
};
struct scalar_rule {
  std::string name;
  double least = 0, most = 0;
  bool is_integer = false;
  double usual = 0;       // the value unless a call sets it
  std::string of_tensor;  // the tensor that it belongs to; empty: the whole call
};
// One way to call the operator.
struct form_rule {
  std::vector<tensor_rule> tensors;  // inputs first
  std::vector<scalar_rule> scalars;
};
struct contract {
  std::vector<std::string> extents;  // extents that a table names
  std::vector<form_rule> forms;

  // Element types of the first input.
  uint32_t dtypes() const { return forms.at(0).tensors.at(0).types; }
};
std::string to_text(const contract& c);
contract contract_of(const std::string& text);

struct tensor_view {
  const tensor_rule* rule = nullptr;
  const DLTensor* tensor = nullptr;  // nullptr: absent
  char* data = nullptr;
  int64_t rows = 0, cols = 0, ld = 0, element = 1;  // all dimensions but the last are rows

  bool is_empty() const { return rows == 0 || cols == 0; }
};
struct checked_call {
  std::vector<tensor_view> tensors;  // all of the form, in its order
  std::vector<std::pair<const scalar_rule*, double>> scalars;
  std::map<std::string, int64_t> extents;  // that the shapes imply
};
// Throws std::invalid_argument with one sentence if the call breaks the contract.
checked_call check_call(const contract& c, const warpcheck_call& call);

// True if a tensor is memory for the candidate's own use.
bool is_workspace(const tensor_view& v);

// Answers a call with a status and its sentence.
warpcheck_status answer(warpcheck_call* call, warpcheck_status status, const std::string& message);
// An operator without variants that is called by its contract, as an entry of a candidate's table. `extents` gets the
// names that it points to, which belong to the contract.
warpcheck_operator operator_of(const contract& c, const char* op, warpcheck_device device, uint32_t dtypes,
                               warpcheck_status (*run)(warpcheck_call*), std::vector<const char*>& extents);

// Returns "f32" for WARPCHECK_F32; nullptr for anything but a single type.
const char* dtype_name(uint32_t bit);

}  // namespace warpcheck::cli
