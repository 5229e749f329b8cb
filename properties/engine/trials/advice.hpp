// Advice to the author of a failing kernel: the statement with which the suite would judge its case as passed. Every
// text is the end of a message, or "" if no statement helps.
#pragma once

#include <string>

#include "properties/engine/cases/case.hpp"
#include "properties/engine/cases/offer.hpp"

namespace warpcheck::engine {

// On sums, logarithms, exponentials and ties, for a case with the verdict `violation` and its largest error ratio.
std::string advice_on_accuracy(const trial_case& c, const offer& stated, double error_ratio);
// On aligned tensors, as vector loads need them.
std::string advice_on_alignment(const trial_case& c, const offer& stated);
// On extents that are multiples, as tiles need them, or not 0. This takes dozens of trials, so it is for the smallest
// case of a failure.
std::string advice_on_sizes(const trial_case& c, const offer& stated);

}  // namespace warpcheck::engine
