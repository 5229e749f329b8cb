// The steps that make a case simpler, kind by kind: what shrink.hpp is made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "properties/engine/cases/case.hpp"

namespace warpcheck::engine {

// True if the knob says what is on trial, or where: no simpler case is without it.
bool is_fixed_knob(std::string_view name);

inline bool is_emulated(const trial_case& c) { return c.knob("device") == "emulated"; }

// Extents of the operator's description that change together.
using axis = std::vector<std::string>;
int64_t extent(const trial_case& c, const axis& a);
// One axis per size that free extents have, of all that have it; then, of those that share a size, each alone: equal
// extents need not mean the same.
std::vector<axis> axes(const trial_case& c);
// The case with these extents changed to n, edits and columns of its recipes kept inside.
trial_case resized(const trial_case& c, const axis& a, int64_t n);
// The case without the knob, which then has its default: tensors whose shape follows from it get that shape.
trial_case without_knob(const trial_case& c, const std::string& name);
// Sizes below n at which kernels change their ways: around powers of two, and those of n's class modulo such a power.
std::vector<int64_t> turning_points(int64_t n);
// Sets layout of a tensor and of those that share its memory; gaps in which another's rows lie stay long enough.
void set_layout(trial_case& c, const std::string& tensor, int64_t ld, int64_t offset);
// Gives the tensor memory of its own, in which rows that lay in another's gaps have none.
void move_apart(trial_case& c, const std::string& tensor);

// Not all are simpler, and some may be there twice: see only_simpler.
using steps = std::vector<trial_case>;
steps simpler_fills(const trial_case& c);
// Parts of a user's array without their first rows or columns.
steps simpler_parts(const trial_case& c);
// The tensor's rows (dimension 0) or columns from `begin` on, `n` of them, and what changes with their number; the case
// as it is where the dimension is no free extent of its own.
trial_case part_of(const trial_case& c, size_t tensor, size_t dimension, int64_t begin, int64_t n);
steps simpler_edits(const trial_case& c);
steps simpler_layouts(const trial_case& c);
steps simpler_knobs(const trial_case& c);
steps simpler_extents(const trial_case& c);
// Keeps the order, drops what is not simpler than `c` and what is there twice.
steps only_simpler(const trial_case& c, steps all);

}  // namespace warpcheck::engine
