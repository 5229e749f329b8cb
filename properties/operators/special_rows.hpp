// Rows that some generators of row_generators.cpp draw now and then.
#pragma once

#include <algorithm>
#include <cstdint>

#include "properties/operators/row_generators.hpp"

namespace warpcheck {

// More long rows than multiprocessors or warps of a usual grid, none of which has the maximum of another.
inline engine::trial_case long_rows_of_stranger(const row_operator& op, const engine::target& t, engine::draw& d) {
  const int64_t rows = 265 + d.between(0, 40), cols = 1025 + d.between(0, 9);
  const int extra = op.draw_extra(d, k_mostly);
  engine::trial_case c = op.make_case(t, rows, cols, engine::make_recipe("randn", {d.seed(), 0, 10}), extra);
  c.knobs["schedule"] = "fair";
  c.knobs["detect"] = "off";
  return c;
}

// A long run of zeros, then maxima so far above that it adds nothing: by one step, or at every element again.
inline engine::trial_case late_rise(const row_operator& op, const engine::target& t, engine::draw& d, int64_t cols) {
  const auto column = static_cast<double>(d.chance(50) ? draw_meeting_place(d, cols) : d.between(0, cols - 1));
  const double peak = d.one_of({30.0, 200.0, 1e4}), climb = d.one_of({0.0, 0.25, 8.0});
  // f16 ends at 65504.
  const double least = std::min(climb, 5e4 / static_cast<double>(cols));
  return op.make_case(t, 1, cols, engine::make_recipe("late_rise", {column, peak, least}), op.draw_extra(d, 0));
}

}  // namespace warpcheck
