// The contract of an operator's calls as data, and the check of a call against it: entries of CUDA sources, Python
// functions and interpreted formulas take their tensors and scalars from a checked_call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "abi/candidate.h"

namespace warpcheck {

// A legal call that this candidate does not offer.
struct unsupported_call : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The shape for one value of a scalar, in place of the usual shape.
struct other_shape {
  std::string scalar;
  double value = 0;
  std::string shape;
};

struct scalar_value {
  std::string scalar;
  double value = 0;
};

struct tensor_rule {
  std::string name;
  bool is_input = true;
  std::string shape;         // for each dimension a product of extents, scalars and numbers: "time, 3*hidden"
  uint32_t types = 0;        // allowed types, of warpcheck_dtype_bit; 0: that of the first tensor
  bool is_optional = false;  // a call may leave it out, or give it no elements, which means the same
  std::vector<other_shape> others = {};
  std::vector<std::string> may_be = {};  // the inputs whose memory it may share
  // A call leaves it out where a scalar has one of these values, or where it has no tensor `beside`.
  std::vector<scalar_value> never_with = {};
  std::string beside = {};
  std::string before = {};  // of an input that is never apart from this output: it is the output as it was before
};

struct scalar_rule {
  std::string name;
  double usual = 0;  // the value unless a call sets it
  std::string meaning = {};
  // NaN is legal only if there are no limits. The largest finite numbers stand for none, too.
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
  bool is_integer = false;
  std::vector<std::string> names = {};  // of the codes 0, 1, ... of an enumeration
  std::string of_tensor = {};           // the optional tensor that it belongs to; empty: the whole call
};
scalar_rule enumeration(std::string name, std::vector<std::string> names, double usual, std::string meaning,
                        std::string of_tensor = {});

// One way to call the operator.
struct form_rule {
  std::string name;
  std::vector<tensor_rule> tensors;  // inputs first, in the order of the call
  std::vector<scalar_rule> scalars = {};
  scalar_value when = {};  // calls of this form have this value; without a name the tensors alone tell forms apart
};

struct contract {
  std::string op;
  std::vector<std::string> extents;
  std::vector<form_rule> forms;

  // Element types of the first input.
  uint32_t dtypes() const { return forms.at(0).tensors.at(0).types; }
};

// Returns the text without the blanks around it.
inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}
// Returns the parts between separators, empty ones included, each without the blanks around it: a text without a
// separator has one part.
inline std::vector<std::string_view> trimmed_parts(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(trimmed(text.substr(begin, end - begin)));
    begin = end + separator.size();
  }
  return parts;
}
int dimensions_of(std::string_view shape);

// A tensor of a call as rows: all dimensions but the last are rows.
struct tensor_view {
  const tensor_rule* rule = nullptr;
  const DLTensor* tensor = nullptr;  // nullptr: absent
  char* data = nullptr;              // nullptr if there are no elements
  int64_t rows = 0, cols = 0, ld = 0, element = 1;
  uint32_t type = 0;  // of warpcheck_dtype_bit

  bool is_empty() const { return rows == 0 || cols == 0; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};
// True if a tensor is memory for the candidate's own use.
bool is_workspace(const tensor_view& v);

struct checked_call {
  const form_rule* form = nullptr;
  std::vector<tensor_view> tensors;  // all of the form, in its order
  std::vector<std::pair<const scalar_rule*, double>> scalars;
  std::map<std::string, int64_t, std::less<>> extents;  // that the shapes imply

  // These throw std::logic_error if the form has no such tensor or scalar, or no tensor has the extent.
  const tensor_view& at(std::string_view tensor) const;
  double scalar(std::string_view name) const;
  int64_t extent(std::string_view name) const;
  template <class T>
  T* data(std::string_view tensor) const {
    return at(tensor).as<T>();
  }
};

// Throws std::invalid_argument with one sentence if the tensors' number, types and shapes or the scalars break the
// contract, unsupported_call if the elements of a row are not side by side. The contract must outlive the result.
checked_call check_call(const contract& c, const warpcheck_call& call);
// Throws std::invalid_argument if the memory of a tensor breaks the contract: null pointers, alignment, distances of
// rows, overlaps. For candidates that check nothing themselves.
void check_memory(const checked_call& call);

}  // namespace warpcheck
