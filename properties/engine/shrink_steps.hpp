// The steps that make a case simpler, kind by kind: what shrink.hpp is made of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/engine/case.hpp"

namespace warpcheck::engine {

inline bool is_emulated(const trial_case& c) { return c.knob("device") == "emulated"; }

// A dimension of an input, and what changes with it.
struct axis {
  size_t tensor = 0, dimension = 0;
  bool alone = false;  // only dimensions of the same position (rows with rows), where an extent is both
};
int64_t extent(const trial_case& c, const axis& a);
// One axis per extent that differs from the others, then those of square inputs alone.
std::vector<axis> axes(const trial_case& c);
// The case with that extent changed to n, edits and columns of its recipes kept inside; not repaired.
trial_case resized(const trial_case& c, const axis& a, int64_t n);
// Sizes below n at which kernels change their ways: around powers of two, and those of n's class modulo such a power.
std::vector<int64_t> turning_points(int64_t n);
// Sets layout of a tensor and of those that share its memory.
void set_layout(trial_case& c, const std::string& tensor, int64_t ld, int64_t offset);

// Not all are simpler, and some may be there twice: see only_simpler.
using steps = std::vector<trial_case>;
steps simpler_fills(const trial_case& c);
// Parts of a user's array without their first rows or columns.
steps simpler_parts(const trial_case& c);
// The tensor's rows (dimension 0) or columns from `begin` on, `n` of them, and what changes with their number.
trial_case part_of(const trial_case& c, size_t tensor, size_t dimension, int64_t begin, int64_t n);
steps simpler_edits(const trial_case& c);
steps simpler_layouts(const trial_case& c);
steps simpler_knobs(const trial_case& c);
steps simpler_extents(const trial_case& c);
// Keeps the order, drops what is not simpler than `c` and what is there twice.
steps only_simpler(const trial_case& c, steps all);

}  // namespace warpcheck::engine
