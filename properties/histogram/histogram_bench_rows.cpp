// The timed rows of histogram: columns of 255 bins of one byte, in each of its modes.
#include <fmt/format.h>

#include <cmath>

#include "properties/histogram/histogram_problem.hpp"

namespace warpcheck {

using namespace engine;

namespace {

constexpr int64_t k_rows = 10000000, k_cols = 28;
constexpr double k_bins = 255;
constexpr const char* k_modes[] = {"fixed64", "float32", "float64",
                                   "quantised"};  // `quantised` behind the accumulators

// All bins alike, or bin 0 with this share of the rows, in percent: what is drawn below 0 is stored as 0.
recipe bins_with(int heavy) {
  if (heavy == 100) return make_recipe("constant", {0});
  const double rest = k_bins - 1;
  return make_recipe("integers", {1, heavy == 0 ? 0 : 1 - std::round(rest * heavy / (100 - heavy)), rest});
}

bench_row timed(int mode, int64_t rows, int64_t cols) {
  bench_row row;
  row.of = {{"rows", rows}, {"cols", cols}};
  row.type = dtype::u8;
  row.name = fmt::format("{}/{}x{}x{}", k_modes[mode], rows, cols, k_bins);
  row.scalars = {{"max_rows", format_number(static_cast<double>(rows))}};
  row.fills = {{"bins", bins_with(0)}};
  if (mode == 3) {
    row.form = 1;
    row.scalars["stage"] = format_number(static_cast<int>(histogram_stage::quantised));
    row.fills["gh"] = make_recipe("bits", {2});
  } else {
    row.scalars["accum"] = format_number(mode);
    row.fills["g"] = make_recipe("uniform", {2, -1, 1});
    row.fills["h"] = make_recipe("uniform", {3, 0, 1});
  }
  return row;
}

bench_row timed_heavy(int mode, int heavy) {
  bench_row row = timed(mode, k_rows, k_cols);
  row.name += fmt::format("/heavy:{}", heavy);
  row.fills["bins"] = bins_with(heavy);
  return row;
}

// A leaf that lists one of `part` rows, in an order that jumps.
bench_row timed_leaf(int mode, int64_t rows, int64_t cols, int64_t part) {
  bench_row row = timed(mode, rows, cols);
  row.name += fmt::format("/leaf:1:{}", part);
  row.of["listed"] = rows / part;
  row.tensors = {{"rows", dtype::i32}};
  row.fills["rows"] = make_recipe("permutation", {4, static_cast<double>(rows)});
  return row;
}

// Time over updates, of leaves of the large table.
bench_line line_of(int mode) {
  const std::string name = k_modes[mode];
  return {name + " leaves", "million updates", [=](const bench_row& row) -> std::optional<double> {
            if (!row.of.contains("listed") || row.of.at("rows") != k_rows || !row.name.starts_with(name))
              return std::nullopt;
            return static_cast<double>(row.of.at("listed") * row.of.at("cols")) * 1e-6;
          }};
}

}  // namespace

bench_list histogram_bench_list() {
  constexpr int64_t k_few_rows = 8192, k_few_cols = 16;  // the emulated device has them in a second
  bench_list list;
  list.slices = "cols";
  list.selection = "rows";
  list.property = "exact-model";
  for (const int mode : {3, 0}) {
    list.rows.push_back(timed(mode, k_rows, k_cols));
    for (const int heavy : {10, 50, 100}) list.rows.push_back(timed_heavy(mode, heavy));
    for (const int64_t part : {8, 64, 512}) list.rows.push_back(timed_leaf(mode, k_rows, k_cols, part));
    list.lines.push_back(line_of(mode));
  }
  for (const int mode : {1, 2}) list.rows.push_back(timed(mode, k_rows, k_cols));
  for (const int mode : {3, 0, 1, 2}) list.rows.push_back(timed(mode, k_few_rows, k_few_cols));
  list.rows.push_back(timed_leaf(3, k_few_rows, k_few_cols, 8));
  return list;
}

}  // namespace warpcheck
