// Shared parts of the operators' explanations (engine/explanation.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/engine/trials/explanation.hpp"

namespace warpcheck {

using doubles = std::vector<double>;

std::string digits(double v);  // nine digits

// Which of the terms are missing (or, where `missing` is negative, are there twice), if a simple answer fits within
// `tolerance`: the last or first so many, or one. "the last 32 elements (columns 33 to 64) are missing"; else "".
std::string missing_terms(const doubles& terms, double missing, double tolerance);

// Returns a sentence on how a sum departs, with the terms that explain it if they are known.
std::string missing_sentence(const doubles& terms, double exact, double actual, double bound);

// Returns the index of the element with the largest error ratio; 0 without numbers.
size_t furthest(const std::vector<double>& actual, const std::vector<double>& exact, const std::vector<double>& bound);

// The columns of a row that lie further from the exact values than their bounds; NaN where a number is due does.
std::vector<int64_t> columns_outside(const engine::explained_row& row, const doubles& actual);

// Returns the sentence for a row with NaN in place of numbers, in all columns or in the listed ones.
std::string nan_sentence(const doubles& actual, const std::vector<int64_t>& outside);

}  // namespace warpcheck
