// What the operators that tell their steps have in common (engine/explanation.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/engine/explanation.hpp"

namespace warpcheck {

using doubles = std::vector<double>;

std::string told(double v);  // nine digits

// Which of the terms are missing (or, where `missing` is negative, are there twice), if a simple answer fits within
// `tolerance`: the last or first so many, or one. "the last 32 elements (columns 33 to 64) are missing"; else "".
std::string missing_terms(const doubles& terms, double missing, double tolerance);

// The columns of a row that lie further from the exact values than their bounds; NaN where a number is due does.
std::vector<int64_t> columns_outside(const engine::told_row& row, const doubles& actual);

// The sentence for a row that holds NaN where numbers are due: all of it, or the columns.
std::string told_nan(const doubles& actual, const std::vector<int64_t>& outside);

}  // namespace warpcheck
