// Cases of a formula: sizes of its extents, recipes of its inputs and values of its scalars, from the formula alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "properties/engine/cases/draw.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/formula/formula_description.hpp"
#include "reference/formula/polynomial.hpp"

namespace warpcheck::formula_trial {

// Variations that a generator may draw.
struct case_options {
  int64_t most = 0;       // of the one extent that is long; 0: as the device allows
  int64_t least = 1;      // of every extent
  bool is_plain = false;  // values of inputs are ordinary numbers
  bool draws_scalars = true;
  bool is_few = false;  // as few elements as may be
  std::map<std::string, int64_t> fixed = {};  // sizes of some extents
};

// A legal case with elements.
engine::trial_case draw_case(const named_formula& f, const engine::target& t, engine::draw& d,
                             const case_options& how = {});
// Some of these have inputs beside a number of the formula, which a formula with another number tells apart.
engine::trial_case draw_value_case(const named_formula& f, const engine::target& t, engine::draw& d);
// A case with NaN, infinities and extremes at some places of inputs that may hold any value.
engine::trial_case draw_special_case(const named_formula& f, const engine::target& t, engine::draw& d);
// Inputs of one small value but for elements that stand out, at every place in turn.
engine::trial_case draw_spike_case(const named_formula& f, const engine::target& t, engine::draw& d);
// A case in which an extent is 0, and with it every output without elements.
engine::trial_case draw_empty_case(const named_formula& f, const engine::target& t, engine::draw& d,
                                   const std::vector<std::string>& extents);
// A case on whole numbers that are so small that no sum of the polynomial is rounded in f32, in any order.
engine::trial_case draw_exact_case(const named_formula& f, const formula::polynomial& p, const engine::target& t,
                                   engine::draw& d);
bool is_exact_case(const named_formula& f, const formula::polynomial& p, const engine::trial_case& c);
// Tensors that can have two rows: each dimension but the last is an extent of its own.
std::vector<formula::tensor> tensors_of_rows(const formula::formula_operator& op);
// A case in which the two rows of one of these lie further apart than 31 or 32 bits count elements. It takes 64 GiB of
// addresses at most (of f32), and memory only where its rows are.
engine::trial_case draw_far_case(const named_formula& f, const engine::target& t, engine::draw& d);
bool has_far_rows(const engine::trial_case& c);

// True if an input may hold every value of its type.
bool is_free_input(const formula::tensor& t);

}  // namespace warpcheck::formula_trial
