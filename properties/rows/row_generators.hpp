// Generators shared by the row operators: an operator describes itself once (row_operator), and the generators below
// make its cases.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/trials/checks.hpp"
#include "properties/rows/row_inputs.hpp"

namespace warpcheck {

struct row_operator {
  // x is the one input: [rows, cols], or, of an operator that knows no rows, a vector of as many elements.
  engine::description described;

  // Draws, before the rows, what a case has besides them (an optional output, an operation): `percent` of the cases
  // have the optional part. 0 if there is no choice.
  std::function<int(engine::draw&, int percent)> draw_extra = [](engine::draw&, int) { return 0; };
  // Adds it to a case.
  std::function<void(engine::trial_case&, int extra)> set_extra;
  engine::trial_case make_case(const engine::target&, int64_t rows, int64_t cols, engine::recipe fill, int extra) const;
  // All that draw_extra can give: a user's own rows are judged with each.
  std::vector<int> extras = {0};
  // Outputs that a candidate need not offer.
  std::vector<std::string> optional_outputs;
  // Judges every output of a row.
  std::function<void(engine::trial&, const engine::run_result&, int64_t row)> judge_row;

  std::function<engine::recipe(engine::draw&, const engine::target&, int64_t cols)> draw_fill = draw_row_fill;
  // Rows lie one after another without gaps.
  bool dense = false;
  // Rows of one element have an answer that can be guessed: they are drawn but seldom.
  bool seldom_one_column = false;
  // Rows far apart go through every variant by force, in turn; else through what the dispatch picks.
  bool every_variant_far = true;
  // The values of a row in which one element determines the result, and any other element in its place shows.
  double spike_peak = 0, spike_rest = -200;
  // More rows than the grid of one multiprocessor carries, for rows of a few columns, when this variant is forced.
  std::function<int64_t(const engine::target::variant&)> rows_beyond_grid = [](const engine::target::variant& v) {
    return cols_of(v).max >= 0 && cols_of(v).max <= 4096 ? 16500 : 2100;  // those for short rows take several a block
  };
  // So many rows that a block reads more than a part of each; of fewer, a block has one part. Rows are a little longer
  // than `cols`.
  struct tiled_grid {
    int64_t cols, rows;
  };
  std::vector<tiled_grid> tiled_grids;
};

// For operators on kernels/rows/row_reduction.hpp: kernels by lanes take up to 512 rows per block.
inline int64_t rows_beyond_reduction_grid(const engine::target::variant& v) {
  return cols_of(v).max >= 0 ? 2048 * 512 + 300 : 2100;
}
// Theirs, in small blocks and in large ones: rows of a tile of two parts, and an end; rows of one tile, of a part and
// an end.
inline std::vector<row_operator::tiled_grid> tiled_reduction_grids() {
  return {{8192, 520}, {4096, 1030}, {32768, 130}, {16384, 260}};
}

// The percentage that asks for all that is optional, and one with which a kernel that lacks it has its turn, too.
constexpr int k_all = 100;
constexpr int k_mostly = 70;

inline bool is_matrix(const engine::tensor_spec& t) { return t.shape.size() == 2; }

// An element at, or up to a line before, a place where vectors, lanes, tiles or blocks that share a row may meet.
int64_t draw_meeting_place(engine::draw& d, int64_t cols);

bool has_elements(const engine::trial_case& c);
bool has_two_rows(const engine::trial_case& c);  // of one column or more
// Takes the gaps between rows away.
void close_gaps(engine::trial_case& c);

// Rows of two columns or more, with the elements that `fill` returns for their length, and with `extra` or what the
// operator draws.
engine::trial_case filled_rows(const row_operator&, const engine::target&, engine::draw&,
                               const std::function<engine::recipe(int64_t cols)>& fill,
                               std::optional<int> extra = std::nullopt);

using row_generator = engine::trial_case (*)(const row_operator&, const engine::target&, engine::draw&);

// Every variant, by dispatch or by force, any layout.
engine::trial_case any_rows(const row_operator&, const engine::target&, engine::draw&);
// A few thousand columns at most: for properties that launch often.
engine::trial_case small_rows(const row_operator&, const engine::target&, engine::draw&);
// The same, and every fourth case any_rows: for relations between two launches or operators.
engine::trial_case related_rows(const row_operator&, const engine::target&, engine::draw&);
// Equal elements, alone or beside -Inf; and a row of more equal tiles of a block than a warp has lanes.
engine::trial_case tied_rows(const row_operator&, const engine::target&, engine::draw&);
// Multiples of 1/8 and a knob `shift` that every one of them takes exactly.
engine::trial_case dyadic_rows(const row_operator&, const engine::target&, engine::draw&);
// The spike at every position of short rows, in all cases on a GPU; beyond, at neighbours where lanes, warps, tiles or
// blocks meet, at steps that visit these evenly, and at the ends.
engine::trial_case spike_rows(const row_operator&, const engine::target&, engine::draw&);
// Slices of -Inf, or all but slices.
engine::trial_case masked_rows(const row_operator&, const engine::target&, engine::draw&);
// NaN, infinities, extremes and zeros of either sign.
engine::trial_case special_rows(const row_operator&, const engine::target&, engine::draw&);
// Equal largest elements, or NaN, at (i, j) with i < j where j may belong to a lower thread, e.g. (1, 256) for 256.
engine::trial_case tied_maxima(const row_operator&, const engine::target&, engine::draw&);
engine::trial_case two_or_more_rows(const row_operator&, const engine::target&, engine::draw&);
// Two rows or more; those of y lie in the gaps of x, a vector in the first of them.
engine::trial_case interleaved_rows(const row_operator&, const engine::target&, engine::draw&);
// Sixteen combinations of input and output offset, with leading dimensions.
engine::trial_case misaligned_rows(const row_operator&, const engine::target&, engine::draw&);
// The same for matrices x and y, and rows of which teams of blocks take several each, whole tiles at other distances in
// y than in x; and rows that all blocks of a large device keep together.
engine::trial_case misaligned_or_team_rows(const row_operator&, const engine::target&, engine::draw&);
// Row lengths where the dispatch changes, and their neighbours.
engine::trial_case boundary_rows(const row_operator&, const engine::target&, engine::draw&);
// More rows than a grid carries, by what the dispatch picks and by every variant in turn.
engine::trial_case many_rows(const row_operator&, const engine::target&, engine::draw&);
// Up to 256 columns, and so many rows that every multiprocessor (one on the emulated device) has two blocks of four
// warps or more, however many a warp takes: kernels may take fewer rows another way. Of an operator that has them,
// every fourth case is a tiled grid.
engine::trial_case full_grid_rows(const row_operator&, const engine::target&, engine::draw&);
// The least distance of rows that lie far apart: with their length it is beyond 2^31.
constexpr int64_t k_far_rows = (int64_t{1} << 31) - 5;
// Rows that lie more than 2^31 elements apart, in sparse memory whose gaps nobody touches.
engine::trial_case far_rows(const row_operator&, const engine::target&, engine::draw&);
// A spike at an odd index beyond 2^24; so many tiles that a block combines what it knows in several levels.
engine::trial_case wide_row(const row_operator&, const engine::target&, engine::draw&);
// For many launches, a variant by dispatch or by force in turn.
engine::trial_case repeated_rows(const row_operator&, const engine::target&, engine::draw&);
// 0 beside e^-16.64, just below 2^-24: added one by one to 1 in f32, every term is lost.
engine::trial_case stagnation_rows(const row_operator&, const engine::target&, engine::draw&);
// Under the detector and random schedules.
engine::trial_case hazard_rows(const row_operator&, const engine::target&, engine::draw&);
engine::trial_case empty_rows(const row_operator&, const engine::target&, engine::draw&);
// At least two rows and columns, everything optional asked for.
engine::trial_case refused_rows(const row_operator&, const engine::target&, engine::draw&);

}  // namespace warpcheck
