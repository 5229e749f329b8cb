// Generators shared by the row operators: shapes, layouts and the adversarial rows of docs/numerics.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/engine/trials/property.hpp"

namespace warpcheck {

// A row operator's one extent is the length of its rows.
inline const warpcheck_range& cols_of(const engine::target::variant& v) { return v.ranges.front(); }

// Elements that one generated case may hold: the emulated device executes ~10^7 thread steps a second.
int64_t max_elements(const engine::target& t);
// The longest generated row.
int64_t most_cols(const engine::target& t);

// A case of the target with these tensors; operator, device and candidate are set, the property's name by the runner.
engine::trial_case row_case(const engine::target& t, std::vector<engine::tensor_spec> tensors);

// Few rows where rows are long; sometimes around the number of rows that a warp or block takes at once.
int64_t draw_rows(engine::draw& d, const engine::target& t, int64_t cols);

// The length of a case's rows, with the variant that the case forces or "auto". Three cases in four take the range in
// which the candidate's dispatch picks a variant, another one each time; every fourth forces a variant, in its turn:
// first on two or three of the longest rows that it accepts, which alone fill all of its warps and tiles; then on any
// length, often one at which its tiles end. Some variants are reached in no other way.
struct row_length {
  int64_t cols;
  std::string variant = "auto";
  int64_t least_rows = 1;  // of a forced variant
};
row_length draw_row_length(engine::draw& d, const engine::target& t, int64_t most);
row_length draw_forced_length(engine::draw& d, const engine::target& t, int64_t i, int64_t most);
// As draw_rows; few where a variant is forced, since one for long rows takes as many threads for a short one.
int64_t draw_rows(engine::draw& d, const engine::target& t, const row_length& length);
void force_variant(engine::trial_case& c, const row_length& length);

// A recipe for rows of `cols` logits: ranges from subnormal results to overflow, orders that rescale at every step,
// ties, spikes at boundaries, stagnation, tails where 1 + e^-d rounds to 1, masks; each with its reason in
// draw_row_fill.
engine::recipe draw_row_fill(engine::draw& d, const engine::target& t, int64_t cols);

// Rows with a reason to be summed wrongly: cancellation, every exponent, running sums that overflow, terms that a
// serial sum loses.
engine::recipe draw_sum_fill(engine::draw& d, const engine::target& t, int64_t cols);

// Leading dimensions beyond the row length and bases off by 0-7 elements, on x and y independently, half of the time.
void draw_layout(engine::draw& d, engine::trial_case& c);

}  // namespace warpcheck
