// Rows that some generators of row_generators.cpp draw now and then.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "properties/rows/row_generators.hpp"

namespace warpcheck {

// A NaN or an infinity in the last tile, vector or element of rows as long as each variant takes them, in turn.
inline engine::trial_case special_end(const row_operator& op, const engine::target& t, engine::draw& d, int64_t turn) {
  constexpr int64_t k_before[] = {0, 1, 4, 31, 128, 300, 1023, 4000};
  constexpr double k_values[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::quiet_NaN()};
  row_length length = draw_forced_length(d, t, turn, most_cols(t));
  // As long as it may be, or a little less: the last tile is whole or not.
  if (!t.variants.empty()) {
    const int64_t most = cols_of(t.variants[static_cast<size_t>(turn) % t.variants.size()]).max;
    length.cols = (most < 0 ? most_cols(t) : std::min(most, most_cols(t))) - d.between(0, 1) * d.between(0, 40);
    length.cols = std::max<int64_t>(1, length.cols);
  }
  engine::recipe fill = engine::make_recipe("randn", {d.seed()});
  const int64_t at = std::max<int64_t>(0, length.cols - 1 - k_before[turn % 8]);
  fill.edits.push_back({0, at, k_values[turn % 5]});
  engine::trial_case c = op.make_case(t, 2, length.cols, std::move(fill), op.draw_extra(d, k_mostly));
  force_variant(c, length);
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
