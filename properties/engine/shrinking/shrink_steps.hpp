// The kinds of steps that make a case simpler; only for the sources of shrink.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "properties/engine/cases/case.hpp"

namespace warpcheck::engine {

// True if the knob determines the candidate or the device: every simpler case keeps it.
bool is_fixed_knob(std::string_view name);

inline bool is_emulated(const trial_case& c) { return c.knob("device") == "emulated"; }

// Extents of the operator's description that change together.
using axis = std::vector<std::string>;
int64_t extent(const trial_case& c, const axis& a);
// Returns one axis for each size of free extents, with all extents of that size, then each of these extents alone,
// because equal sizes may be unrelated.
std::vector<axis> axes(const trial_case& c);
// The case with these extents changed to n, edits and columns of its recipes kept inside.
trial_case resized(const trial_case& c, const axis& a, int64_t n);
// The case without the knob, which then has its default: tensors whose shape follows from it get that shape.
trial_case without_knob(const trial_case& c, const std::string& name);
// Returns sizes below n at which kernels change their code path: around powers of two, and those congruent to n modulo
// a power of two.
std::vector<int64_t> turning_points(int64_t n);
// Sets the layout of a tensor and of those that share its memory; gaps that contain another tensor's rows stay long
// enough.
void set_layout(trial_case& c, const std::string& tensor, int64_t ld, int64_t offset);
// Gives the tensor its own memory; rows that lay in another tensor's gaps become dense.
void move_apart(trial_case& c, const std::string& tensor);

// Not all are simpler, and there may be duplicates: see only_simpler.
using steps = std::vector<trial_case>;
steps simpler_fills(const trial_case& c);
// Parts of a user's array without their first rows or columns.
steps simpler_parts(const trial_case& c);
// Returns the case with `n` rows (dimension 0) or columns of the tensor from `begin` on, and with everything that
// depends on their number; the same case if the dimension is no free extent.
trial_case part_of(const trial_case& c, size_t tensor, size_t dimension, int64_t begin, int64_t n);
steps simpler_edits(const trial_case& c);
steps simpler_layouts(const trial_case& c);
steps simpler_knobs(const trial_case& c);
steps simpler_extents(const trial_case& c);
// Removes steps that are not simpler than `c`, and duplicates; keeps the order.
steps only_simpler(const trial_case& c, steps all);

}  // namespace warpcheck::engine
