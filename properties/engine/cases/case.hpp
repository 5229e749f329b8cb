// A case: one fully determined trial, and its one-line text form, which round-trips exactly and reproduces the trial on
// any machine.
//
//   v1 softmax/within-error-bound x=f32[3x1025] ld=1028 offset=1 fill=randn(7) edit=1,1024:+inf | y=f32[3x1025] |
//   variant=auto ...
//
// `v1`, operator/property, one group per tensor (inputs first), separated by `|`, then the knobs. Within a group:
// name=dtype[shape] of one to eight dimensions, `ld` (elements between rows, default the row length), `offset`
// (elements by which the base misses 256-byte alignment), `fill` and `edit` for inputs, `in_place=NAME` for an
// output that shares an input's memory. `same=NAME`, in place of a fill, is for an input that is the memory of an input
// before it. `beside=NAME` is for a tensor whose rows lie in the gaps of a tensor before it: each row begins where one
// of that tensor ends, so both have one `ld` and one dtype. An optional output that is not asked for has no group.
// Unknown keys are errors, so the grammar can grow under the same version only by additions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "properties/engine/cases/recipe.hpp"

namespace warpcheck::engine {

inline constexpr size_t k_most_dimensions = 8;

struct tensor_spec {
  std::string name;
  dtype type = dtype::f32;
  std::vector<int64_t> shape;  // rank 1 to k_most_dimensions, every extent >= 0
  int64_t ld = 0;              // elements between starts of rows; equals the row length unless set
  int64_t offset = 0;          // 0..255 elements
  bool is_input = false;       // inputs have a fill, outputs are poisoned
  recipe fill;
  std::string in_place;  // outputs only: the input whose memory this tensor shares
  std::string same;      // inputs only: the input whose memory, and therefore values, this tensor shares
  std::string beside;    // the tensor in whose gaps between rows the rows of this one lie

  // The last dimension is a row; the product of the others is the number of rows.
  int64_t rows() const { return std::accumulate(shape.begin(), shape.end() - 1, int64_t{1}, std::multiplies<>()); }
  int64_t cols() const { return shape.back(); }
  int64_t elements() const { return rows() * cols(); }
  // Memory for the candidate's own use (abi/candidate.h): its content is arbitrary before the call and ignored after
  // it.
  bool is_workspace() const { return !is_input && name == "work"; }
  bool is_in_memory_of_another() const { return !in_place.empty() || !same.empty() || !beside.empty(); }
  bool operator==(const tensor_spec&) const = default;
};

struct trial_case {
  std::string op;
  std::string property;
  std::vector<tensor_spec> tensors;
  std::map<std::string, std::string> knobs;  // only those that differ from their default

  const tensor_spec* find(std::string_view tensor) const;
  tensor_spec* find(std::string_view tensor);
  const tensor_spec& at(std::string_view tensor) const;  // a missing tensor is a usage_error that names it
  std::string knob(std::string_view name) const;         // the default if the case does not set it
  int64_t elements() const;                              // of all tensors
  double number(std::string_view name) const;            // a numeric knob; usage_error if it is none
  bool operator==(const trial_case&) const = default;
};
// True if an input has values of a file (`npy`).
bool has_arrays_in_hand(const trial_case& c);

// The knobs of every case, with defaults and meaning. A property may declare more.
struct knob_info {
  std::string name;
  std::string fallback;
  std::string meaning;
};
const std::vector<knob_info>& standard_knobs();

std::string format(const trial_case& c);
// `extra` are the property's own knobs. Throws usage_error: what, where (the offending word), what is allowed.
trial_case parse_case(std::string_view text, const std::vector<knob_info>& extra = {});
// Parses only the operator/property part of a line, which determines the property whose knobs apply.
std::pair<std::string, std::string> parse_case_name(std::string_view text);

// Returns the reason why a tensor cannot share the memory of another one as the case demands, or "".
std::string wrong_memory(const trial_case& c);
// Repairs tensors that share the memory of another one after a change of either: they take its layout, an input that is
// the same also its values, and a tensor with another's rows in its gaps gets room for these. A tensor that no longer
// fits gets its own memory.
void settle_memory(trial_case& c);
// The tensor whose rows lie in the gaps of this one, or null.
const tensor_spec* guest_of(const trial_case& c, const tensor_spec& host);

// A row operator's usual tensors: input x[rows, cols] and output y of the same shape.
tensor_spec input_matrix(std::string name, dtype type, int64_t rows, int64_t cols, recipe fill);
tensor_spec output_matrix(std::string name, dtype type, int64_t rows, int64_t cols);
tensor_spec input_vector(std::string name, dtype type, int64_t elements, recipe fill);
tensor_spec output_vector(std::string name, dtype type, int64_t elements);

}  // namespace warpcheck::engine
