// Checks for operators whose first dimension consists of independent rows. Each check judges the outputs first, because
// kernels that compute nothing satisfy relations between two results, too.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "properties/engine/cases/draw.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/trial.hpp"

namespace warpcheck::engine {

// Judges every output of a result by the operator's reference.
using judge_outputs = std::function<void(trial&, const run_result&)>;

// Draws gaps between the rows of matrices, and offsets, for some of the tensors.
void draw_gaps_and_offsets(draw& d, trial_case& c);
// Gives inputs and outputs one of sixteen combinations of offsets; none leaves all tensors without an offset.
void misalign(trial_case& c, int64_t index);
// True if a tensor has an offset.
bool is_misaligned(const trial_case& c);

// Requires the bits of `before` in `after`; `why` completes "x[1,2] changes from a to b ...". Ignores row `but_row` of
// the first dimension.
void require_same_bits(trial& t, const run_result& before, const run_result& after, std::string_view why,
                       int64_t but_row = -1);

// Checks that the result has the same bits without gaps and offsets.
void check_layout(trial& t, const judge_outputs& judge);
// Checks that NaN throughout a row of the input changes no bit of another row's result.
void check_isolation(trial& t, std::string_view input, const judge_outputs& judge);
// Checks that slices of the extent have the same bits alone, in reverse order, and in a call of twice as many and one.
void check_batch_invariance(trial& t, std::string_view extent, const judge_outputs& judge);
// Property batch-invariance of an operator for the slices of an extent, on the cases of `generate`.
property batch_invariance(std::string op, std::vector<dtype> types, std::string extent,
                          std::function<trial_case(const target&, draw&)> generate, judge_outputs judge);
// Checks that the kernel that ran is the one that the dispatch table lists for this size, and that each technique that
// accepts the sizes is correct.
void check_dispatch(trial& t, const judge_outputs& judge);

}  // namespace warpcheck::engine
