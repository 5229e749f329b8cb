// The description of an operator's calls. Construction and checks of cases, shapes, shrinking by named extent, classes,
// refusals, lists and rows of benchmarks follow from it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "abi/contract.hpp"
#include "properties/engine/cases/case.hpp"
#include "properties/engine/cases/draw.hpp"
#include "properties/engine/cases/host_tensor.hpp"

namespace warpcheck::engine {

using sizes = std::map<std::string, int64_t, std::less<>>;  // of extents, by name
inline int64_t size_in(const sizes& of, std::string_view extent) {
  const auto found = of.find(extent);
  return found == of.end() ? 0 : found->second;
}

struct extent_info {
  std::string name;
  // Computes an extent that follows from others and from knobs; null if a call can choose it.
  std::function<int64_t(const sizes&, const trial_case&)> derived = nullptr;
  bool is_single = false;  // an entry without a parameter of its name (docs/bring_your_own) offers the size 1 alone
};

// One way to call the operator. A case is of the form whose tensors it has.
struct call_form : form_rule {
  std::vector<scalar_rule> knobs = {};    // not passed to the candidate: they only determine how the case is made
  std::vector<std::string> derived = {};  // inputs usually filled by derived(): description::derive makes their values

  const tensor_rule* find(std::string_view tensor) const;
};

// The limit of a row that does more than move its bytes: `products` of an m x k and a k x n matrix, each as a sum of
// `parts`, at the rate of the GPU's multiply-adds in f32 from registers, or of the best known product of such operands
// on tensor cores.
enum class product_rate { f32, tf32, bf16 };
struct product_work {
  product_rate rate;
  int64_t m, n, k;
  double products = 1, parts = 1;

  double flop() const {
    return 2 * products * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
};

// A call whose time is measured (bench/README.md).
struct bench_row {
  sizes of;                                         // of the free extents that its tensors have
  double target = 0;                                // the fraction of the limit that is our aim
  dtype type = dtype::f32;                          // of the first tensor
  int64_t offset = 0;                               // elements past a boundary, of all tensors shaped as the first
  std::string variant = {};                         // forced; "": the candidate's own choice
  std::map<std::string, dtype> tensors = {};        // optional tensors that it has, and tensors of several types
  std::string note = {};                            // end of its name
  std::map<std::string, std::string> scalars = {};  // those without their usual value
  std::map<std::string, recipe> fills = {};         // of inputs that are not uniform in [-8, 8)
  size_t form = 0;                                  // of the description's forms
  std::string name = {};                            // its name after the operator; "": type and extents
  double target_us = 0;                             // the time that is our aim; 0: none
};

// A part of a row's call that is a call by itself.
struct bench_part {
  std::string name;  // "rows 3 to 5"
  bench_row row;     // its sizes and tensors
  // The place of its tensors' values in those of the whole call.
  struct box {
    std::string tensor, from;
    std::vector<int64_t> begin, shape;  // by dimension of `from`
    int64_t at = 0;                     // element of `tensor` at which the box's values begin
  };
  std::vector<box> boxes;
};
// Returns the place of part p of `count`, 0 to `last`: the first two of more than two parts are at the ends, the others
// are drawn.
int64_t place_of_part(int p, int count, int64_t last, uint64_t seed, uint64_t dimension);

// A line that is fitted to the times of rows, over a number that each row has.
struct bench_line {
  std::string name, per;
  std::function<std::optional<double>(const bench_row&)> at;  // none: the row is not of this line
};

struct bench_list {
  // The extent whose slices have separate results, one after the other: then some slices are judged, otherwise all
  // results.
  std::string slices;
  std::vector<bench_row> rows;
  std::vector<bench_line> lines = {};
  // An input that lists slices of the extent of its own name, each once: a call reads these slices only.
  std::string selection = {};
  std::string property = "within-error-bound";  // whose check judges the rows
  // Returns the parts to judge in place of slices, `count` of them, drawn by the seed; null: slices.
  std::function<std::vector<bench_part>(const bench_row&, uint64_t seed, int count)> parts = nullptr;
  std::function<product_work(const bench_row&)> work = nullptr;  // null: the limit is to move the bytes
  std::string steps = {};                                        // the extent by whose size times are also divided
};

// A call of both passes as two calls, for candidates with a reserve (abi/candidate_reserve.h).
struct split_call {
  std::string scalar, both, forward, backward;  // the scalar that selects the pass, and its values
  std::vector<std::string> of_forward;          // outputs of the forward call; all others belong to the backward call
  std::vector<std::pair<std::string, std::string>> handed;  // output -> input of the backward call
};

// The statements of a candidate that reach the verdicts on the operator (abi/candidate_states.h).
struct statement_rules {
  bool sums = true;         // bounds follow the depth of sums
  bool gates = false;       // bounds follow the error of gate functions, not the depth of sums
  bool log_of_sum = false;  // results are logarithms of sums
  bool ties = false;        // results are orders of keys, of which some may be equal
  bool plan = true;
  bool batch_invariant = true;
  // True if the case's result is a logistic function's; null: that of no case is.
  std::function<bool(const trial_case&)> logistic = nullptr;
  std::string judged_by = "within-error-bound";  // the property whose cases determine the least statement
};

// The share of a property's cases that a kernel that computes nothing may pass (`verify --null-kernels`).
struct null_kernel_quota {
  std::string_view property;  // "": each property that has no quota of its own
  int percent;
  std::string_view reason;
};

struct description {
  std::string op;
  std::vector<extent_info> extents;
  std::vector<call_form> forms;
  // Returns the reason why sizes that fit the tensors are still no legal case, or "".
  std::function<std::string(const sizes&, const trial_case&)> illegal = nullptr;
  bench_list bench = {};
  // Makes a case legal again after one of its tensors was left out or one of its scalars changed; null: nothing depends
  // on these.
  std::function<void(trial_case&)> mend = nullptr;
  // Completes the inputs, which have the values of their fills: makes those whose fill is derived(), and values of
  // other fills legal. Null: every value is legal.
  std::function<void(const trial_case&, tensor_map&)> derive = nullptr;
  bool lists_all_tensors = false;  // cases list all tensors of their form; an absent one has no elements
  std::optional<split_call> split = {};
  statement_rules statements = {};
  std::vector<null_kernel_quota> null_kernels = {};
  std::string formula = {};  // FILE.op#HASH, which cases name in the knob of this name; "": the operator is no formula

  // Returns the form of a case, or null.
  const call_form* form_of(const trial_case& c) const;
  const extent_info* find(std::string_view extent) const;
};

// Returns the description of an operator from its contract; the rest is for the properties to add.
description description_of(const contract& c);
// Returns the extent of this name, for which the caller knows that there is one.
extent_info& find_extent(description& d, std::string_view name);

// Throws usage_error if a tensor's shape names an unknown extent or scalar, if a bench row leaves out a free extent or
// names an unknown thing, or if the operator has a description already.
void describe_operator(description d);
struct description_registration {
  explicit description_registration(description d) { describe_operator(std::move(d)); }
};
const description* find_description(std::string_view op);  // null if there is none
// An operator without a description allows no statement but 'lacks'.
statement_rules statements_of(std::string_view op);

// Returns the type's bit of warpcheck_dtype_bit (candidate.h).
uint32_t dtype_bit(dtype type);
// Returns the allowed types in the order of their bits; none: that of the first tensor.
std::vector<dtype> types_of(const tensor_rule& t);
// Returns the text of a scalar's usual value: the name of its code, or the number.
std::string usual_text(const scalar_rule& s);
// Returns the value that is passed for a scalar with this text; NaN if it is no value of the scalar.
double passed_value(const scalar_rule& s, const std::string& text);
// Returns the scalars of a case's call by name and value, in the form's order. Throws usage_error if a value is none of
// the names.
std::vector<std::pair<const char*, double>> scalars_of(const trial_case& c);

// Returns the sizes of a case's extents by its tensors; the first tensor with an extent determines it. Extents that no
// tensor has are left out, and derived extents are computed.
sizes sizes_of(const description& d, const trial_case& c);
// Returns the free extent that a dimension of the case's tensor is, or "" if it follows from others or is a product.
std::string_view extent_of(const description& d, const trial_case& c, const tensor_spec& t, size_t dimension);
// Returns the shape of a tensor by the sizes, whether the case has it or not.
std::vector<int64_t> shape_by(const trial_case& c, std::string_view tensor, const sizes& of);
// Returns where a call must leave out the tensor ("pass is forward") if the case's call is such a call, otherwise "".
std::string why_absent(const trial_case& c, const tensor_rule& info);
// Gives every tensor of the case the shape that follows from the sizes, with the same gap between rows as before.
// Absent tensors stay absent.
void reshape(const description& d, trial_case& c, const sizes& of);
// Recomputes the shapes of a case from the first mention of each extent, and drops edits outside.
void follow(trial_case& c);
// True if the description of its operator allows the case. For a property that may break the contract, scalars may have
// any value; sizes must be legal.
bool is_legal(const trial_case& c);
// Returns the scalar of the case's knob of this name, or null.
const scalar_rule* find_scalar(const trial_case& c, std::string_view name);
// Sets a knob, unless it has this value already.
void set_knob(trial_case& c, const std::string& name, const std::string& value);
// One schedule without the detector, where cases are many launches or large.
void run_once(trial_case& c);
// Returns the fault of a case by its operator's description, or "".
std::string what_is_wrong(const description& d, const trial_case& c, bool may_break_contract);

// Returns a case of the form with these sizes, without optional tensors; its inputs have the fills of their names.
// Operator, device and candidate are those of the target; the runner sets the name of the property.
trial_case make_case(const description& d, const target& t, const sizes& of, std::map<std::string, recipe> fills,
                     size_t form = 0);
// Returns a tensor of the form, without a size.
tensor_spec make_tensor(const call_form& form, const tensor_rule& info, dtype type);
// Adds an optional tensor at its place, with its shape by the case's sizes.
tensor_spec& add_tensor(trial_case& c, std::string_view name, dtype type, recipe fill = {});
// Draws sizes of all free extents: at the boundaries that the target publishes, 0 and 1, primes, or any number up to
// `most` of the extent.
sizes draw_sizes(draw& d, const target& t, const description& of, const sizes& most);

}  // namespace warpcheck::engine
