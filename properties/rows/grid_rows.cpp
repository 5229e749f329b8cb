// Matrices of more rows than a grid takes at once, and rows that lie far apart.
#include <algorithm>
#include <utility>

#include "properties/rows/row_generators.hpp"

namespace warpcheck {

using namespace engine;

namespace {

// More long rows than multiprocessors or warps of a usual grid. Each is at a level of its own, so that what a block
// keeps of its last row shows.
trial_case long_rows_of_stranger(const row_operator& op, const target& t, draw& d) {
  const int64_t rows = 265 + d.between(0, 40), cols = 1025 + d.between(0, 9);
  const int extra = op.draw_extra(d, k_mostly);
  trial_case c = op.make_case(t, rows, cols, make_recipe("levels", {d.seed(), -900, 900, 8}), extra);
  run_once(c);
  return c;
}

// A variant on one multiprocessor, whose grid is full soon.
trial_case many_rows_of(const row_operator& op, const target& t, draw& d, const target::variant& v) {
  const int extra = op.draw_extra(d, 50);
  // Half of them at levels of their own, of which a block must forget the last.
  const double far = d.index() / 2 % 2 == 0 ? 0 : 900;
  recipe fill = make_recipe("levels", {d.seed(), -far, far, 8});
  const int64_t cols = std::max<int64_t>(cols_of(v).min, d.between(2, 3));
  // A GPU has all of its multiprocessors, up to 132. Of variants for any length all blocks may share a row: so many
  // would take minutes, as would more than a few million rows on the host.
  const int64_t of_one = op.rows_beyond_grid(v);
  const int64_t rows = t.device == "cuda" && cols_of(v).max >= 0 && of_one < 20000 ? 132 * of_one : of_one;
  trial_case c = op.make_case(t, rows, cols, std::move(fill), extra);
  c.knobs["variant"] = v.name;
  c.knobs["sm"] = "1";
  // Millions of threads: one schedule, whatever it is, visits every row.
  run_once(c);
  return c;
}

}  // namespace

trial_case many_rows(const row_operator& op, const target& t, draw& d) {
  if (t.variants.empty() && d.index() % 2) return long_rows_of_stranger(op, t, d);
  const size_t turn = static_cast<size_t>(d.index()) % (t.variants.size() + 1);
  if (turn > 0) return many_rows_of(op, t, d, t.variants[turn - 1]);
  const bool gpu = t.device == "cuda";
  int64_t rows = d.one_of({int64_t{65535}, int64_t{65536}, int64_t{65537}, int64_t{70000}, int64_t{270337},
                           int64_t{1} << 20, (int64_t{1} << 21) + 1});
  if (!gpu) rows = std::min<int64_t>(rows, 70000);
  const int extra = op.draw_extra(d, 50);
  recipe fill = make_recipe("uniform", {d.seed(), -8, 8});
  const int64_t cols = d.between(2, gpu && rows < int64_t{1} << 20 ? 40 : 3);
  return op.make_case(t, rows, cols, std::move(fill), extra);
}

namespace {

// Rows that begin differently each, or all on a boundary.
trial_case tiled_grid_rows(const row_operator& op, const target& t, draw& d, const row_operator::tiled_grid& grid,
                           bool aligned) {
  recipe fill = make_recipe("uniform", {d.seed(), -8, 8});
  const int64_t end = d.between(1, 50), cols = grid.cols + (aligned ? 8 * end : end);
  const int64_t rows = grid.rows + d.between(0, 40);
  trial_case c = op.make_case(t, rows, cols, std::move(fill), op.draw_extra(d, 50));
  if (!aligned) c.find("x")->ld = cols | 1;
  run_once(c);
  return c;
}

}  // namespace

trial_case full_grid_rows(const row_operator& op, const target& t, draw& d) {
  if (!op.tiled_grids.empty() && t.size > 0 && d.index() % 4 == 0) {
    // Every fourth on a boundary, each time another.
    const auto turn = static_cast<size_t>(d.index() / 4);
    const row_operator::tiled_grid& grid = op.tiled_grids[(turn + turn / 4) % op.tiled_grids.size()];
    if (2 * grid.cols <= t.max_cols && 2 * grid.rows <= t.max_rows)
      return tiled_grid_rows(op, t, d, grid, turn % 4 == 3);
  }
  // In turn: whole vectors, or rows that begin off a boundary; what the dispatch picks, or by force; and the lengths
  // between which the number of lanes changes. Each combination goes a way of its own.
  const bool whole = d.index() % 2 == 0, forced = d.index() / 2 % 2 != 0;
  constexpr int64_t k_whole[][2] = {{17, 32}, {33, 256}, {5, 16}, {1, 256}};
  constexpr int64_t k_split[][2] = {{65, 128}, {129, 256}, {17, 64}, {1, 16}};
  const auto& [least, most] = (whole ? k_whole : k_split)[d.index() / 4 % 4];
  int64_t cols = d.between(least, most);
  if (whole) cols = (cols + 3) / 4 * 4;
  const int64_t elements = (int64_t{1} << 13) * (t.device == "cuda" ? 132 : 1);
  const int64_t rows = elements / cols + d.between(1, 130);
  // Mostly rows that differ, so that one in another's place shows.
  recipe fill = d.chance(75) ? make_recipe("uniform", {d.seed(), -8, 8}) : op.draw_fill(d, t, cols);
  trial_case c = op.make_case(t, rows, cols, std::move(fill), op.draw_extra(d, 50));
  if (!whole) c.find("x")->ld = cols | 1;
  c.knobs["sm"] = "1";
  // On one multiprocessor they are so few that another variant may be picked than where a large grid is full.
  for (const target::variant& v : t.variants)
    if (forced && cols >= cols_of(v).dispatch_min && cols <= cols_of(v).dispatch_max) {
      c.knobs["variant"] = v.name;
      break;
    }
  return c;
}

trial_case far_rows(const row_operator& op, const target& t, draw& d) {
  constexpr int64_t k_half = int64_t{1} << 31;
  int64_t ld = d.one_of({k_half - 5, k_half + 3, 2 * k_half + 1});
  int64_t cols = draw_extent(d, t, 300, 5000);
  if (d.chance(50)) {  // whole vectors, and rows that several blocks share
    ld = d.one_of({k_half + 4, 2 * k_half + 4});
    if (d.chance(40)) cols = d.between(4097, 5000);
    cols = (cols + 7) / 8 * 8;
  }
  const target::variant* const forced = op.every_variant_far && !t.variants.empty()
                                            ? &t.variants[static_cast<size_t>(d.index()) % t.variants.size()]
                                            : nullptr;
  if (forced && cols_of(*forced).max >= 0) cols = std::min(cols, cols_of(*forced).max);
  recipe fill = make_recipe("uniform", {d.seed(), -20, 20});
  trial_case c = op.make_case(t, 2, cols, std::move(fill), op.draw_extra(d, k_mostly));
  tensor_spec* y = c.find("y");
  (!y || !is_matrix(*y) || d.chance(50) ? c.find("x") : y)->ld = ld;
  if (forced) c.knobs["variant"] = forced->name;
  c.knobs["schedule"] = "fair";
  return c;
}

}  // namespace warpcheck
