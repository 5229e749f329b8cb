// A property: a sentence that holds for every correct candidate, with the generator of its cases and the check of one
// case.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "abi/candidate.h"
#include "properties/engine/cases/case.hpp"
#include "properties/engine/cases/draw.hpp"
#include "properties/engine/cases/offer.hpp"

namespace warpcheck::engine {

class trial;

// The facts about a candidate that a generator may use: its offer, and the sizes at which its code paths change.
struct target {
  std::string op;
  std::string device;
  std::string candidate = "builtin";
  dtype type = dtype::f32;
  std::vector<std::string> extents = {"cols"};  // the extents of the ranges and boundaries below
  struct variant {
    std::string name;
    std::vector<warpcheck_range> ranges;  // by extent
  };
  std::vector<variant> variants;
  std::vector<std::vector<int64_t>> boundaries = {{}};  // by extent
  offer offered;                                        // cases beyond it are drawn again, or cut to it
  int size = 0;                                         // 0 quick, 1 ci, 2 full: how large generated shapes may grow
  // The user's limits for inputs; generators stay below them, and generate_case returns no larger case.
  int64_t max_rows = std::numeric_limits<int64_t>::max(), max_cols = std::numeric_limits<int64_t>::max();
};

struct property {
  std::string op;
  std::string name;      // kebab-case: within-error-bound
  std::string sentence;  // for `warpcheck list`
  std::vector<dtype> types;
  std::vector<knob_info> knobs;  // names beyond the standard ones
  // Draws one case for the target. Shrinking works on the case (shrink.hpp), not here.
  std::function<trial_case(const target&, draw&)> generate;
  std::function<void(trial&)> check;
  // True if a case with changed sizes or fill still belongs to this property; null: always.
  std::function<bool(const trial_case&)> holds;
  bool needs_our_plan = false;          // it holds for candidates with the sums, bits and workspaces of our kernels
  bool needs_batch_invariance = false;  // it holds for candidates that state batch-invariant
  bool may_break_contract = false;      // its cases may have scalars that the description does not allow
  // Percentage of the requested cases that is generated (at least one case), for properties with large cases.
  int share_percent = 100;
  // Returns the cases that judge a user's own input tensor (`--input`), one for each thing that a call can ask for;
  // null if the property makes its own inputs.
  std::function<std::vector<trial_case>(const target&, const tensor_spec& input)> for_input;
  // Outputs that a candidate need not offer: a case that it answers with WARPCHECK_UNSUPPORTED is judged without them.
  std::vector<std::string> optional_outputs;
};

// Every operator's file registers its properties once, before main.
struct property_registration {
  explicit property_registration(std::vector<property> properties);
};
std::span<const property> all_properties();  // in order of registration, grouped by operator
// The property of this name. Throws usage_error, which names those that exist.
const property& find_property(std::string_view op, std::string_view name);
// Returns the property of this name, or null.
const property* registered_property(std::string_view op, std::string_view name);
std::vector<std::string> operators_with_properties();

// Operators of a plug-in: the path of its library, which the command that replays a case contains.
void set_plugin(const std::string& op, const std::string& path);
// Returns the shell command that repeats a case: `warpcheck replay 'LINE'`, with the plug-in of its operator.
std::string replay_command(std::string_view line);

// Parses a line with the knobs of its property and its operator. Throws usage_error if the operator's description does
// not admit the case.
trial_case parse_case_line(std::string_view line);

}  // namespace warpcheck::engine
