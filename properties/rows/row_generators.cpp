#include "properties/rows/row_generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "properties/rows/special_rows.hpp"

namespace warpcheck {

using namespace engine;

namespace {

constexpr double k_inf = std::numeric_limits<double>::infinity();
// Rows up to this long have a spike at every position.
constexpr int64_t k_every_position = 1100;
constexpr int64_t k_longest_boundary = int64_t{1} << 19;

int64_t seldom_one(const draw& d, int64_t cols) { return cols == 1 && d.index() % 8 ? 2 + d.index() % 7 : cols; }

int64_t distinguishing(const row_operator& op, const draw& d, int64_t cols) {
  return op.seldom_one_column ? seldom_one(d, cols) : cols;
}

row_length distinguishing(const row_operator& op, const draw& d, row_length length) {
  length.cols = distinguishing(op, d, length.cols);
  return length;
}

std::vector<std::string> variants_of_any_length(const target& t) {
  std::vector<std::string> names;
  for (const target::variant& v : t.variants)
    if (cols_of(v).max < 0) names.push_back(v.name);
  return names;
}

// By one block of a variant for any length: what it combines is more than a warp has lanes.
trial_case tied_tiles(const row_operator& op, const target& t, draw& d, const std::string& variant) {
  const int64_t cols = std::max<int64_t>(1, std::min<int64_t>(most_cols(t), 40000) - d.between(0, 200));
  recipe fill = make_recipe("constant", {d.one_of({0.0, -1.0, 80.0})});
  if (d.chance(50)) {
    const auto seed = d.seed();
    fill = make_recipe("duplicates", {seed, static_cast<double>(d.between(2, 5))});
  }
  trial_case c = op.make_case(t, 1, cols, std::move(fill), op.draw_extra(d, 0));
  c.knobs["variant"] = variant;
  c.knobs["sm"] = "1";
  return c;
}

}  // namespace

int64_t draw_meeting_place(draw& d, int64_t cols) {
  int64_t unit = d.one_of({4096, 8192, 16384});  // of tiles and blocks
  if (d.chance(50)) unit = int64_t{4} << d.between(0, 9);
  const int64_t place = d.between(1, std::max<int64_t>(1, cols / unit)) * unit;
  // Tiles of rows that begin behind a boundary begin before a multiple of their size, by up to a line.
  const int64_t before = d.chance(50) ? d.between(-1, 2) : d.between(0, 64);
  return std::clamp<int64_t>(place - before, 0, cols - 1);
}

// Choices are made one per statement: the order in which a call's arguments are evaluated is the compiler's, and a seed
// must draw the same case everywhere.

trial_case filled_rows(const row_operator& op, const target& t, draw& d,
                       const std::function<recipe(int64_t cols)>& fill, std::optional<int> extra) {
  row_length length = draw_row_length(d, t, most_cols(t));
  length.cols = std::max<int64_t>(2, length.cols);
  recipe filled = fill(length.cols);
  const int64_t rows = draw_rows(d, t, length);
  trial_case c = op.make_case(t, rows, length.cols, std::move(filled), extra ? *extra : op.draw_extra(d, 50));
  force_variant(c, length);
  return c;
}

trial_case any_rows(const row_operator& op, const target& t, draw& d) {
  const row_length length = distinguishing(
      op, d,
      d.index() % 4 == 1 ? row_length{draw_extent(d, t, 300, most_cols(t))} : draw_row_length(d, t, most_cols(t)));
  const int64_t rows = draw_rows(d, t, length);
  const int extra = op.draw_extra(d, 50);
  trial_case c = op.make_case(t, rows, length.cols, op.draw_fill(d, t, length.cols), extra);
  force_variant(c, length);
  if (length.least_rows == 1) draw_layout(d, c);  // a variant's first rows are aligned: only these fill all its tiles
  follow(c);
  return c;
}

trial_case small_rows(const row_operator& op, const target& t, draw& d) {
  const int64_t cols = distinguishing(op, d, draw_extent(d, t, 300, std::min<int64_t>(most_cols(t), 2100)));
  const int extra = op.draw_extra(d, 30);
  recipe fill = op.draw_fill(d, t, cols);
  const int64_t rows = draw_rows(d, t, cols);
  return op.make_case(t, rows, cols, std::move(fill), extra);
}

trial_case related_rows(const row_operator& op, const target& t, draw& d) {
  return d.index() % 4 == 3 ? any_rows(op, t, d) : small_rows(op, t, d);
}

trial_case tied_rows(const row_operator& op, const target& t, draw& d) {
  if (const std::vector<std::string> names = variants_of_any_length(t); !names.empty() && d.index() % 8 == 5)
    return tied_tiles(op, t, d, names[static_cast<size_t>(d.index() / 8) % names.size()]);
  const row_length length = distinguishing(op, d, draw_row_length(d, t, most_cols(t)));
  const int64_t cols = length.cols;
  recipe fill;
  switch (d.between(0, 3)) {
    case 0: fill = make_recipe("constant", {d.one_of({0.0, -1.0, 80.0, -3e4})}); break;
    case 1: fill = make_recipe("duplicates", {d.seed(), static_cast<double>(d.between(2, 5))}); break;
    case 2: fill = make_recipe("alternating", {2.5, -k_inf}); break;
    default: {
      const int64_t begin = d.between(0, cols - 1);
      fill = make_recipe("spike", {static_cast<double>(begin), 7.0, -k_inf});
      const int64_t more = d.between(0, 5);
      for (int64_t k = 0; k < more; ++k) fill.edits.push_back({0, d.between(0, cols - 1), 7.0});
    }
  }
  const int64_t rows = draw_rows(d, t, length);
  trial_case c = op.make_case(t, rows, cols, fill, op.draw_extra(d, 0));
  force_variant(c, length);
  return c;
}

trial_case dyadic_rows(const row_operator& op, const target& t, draw& d) {
  const row_length length = d.index() % 4 == 3 ? draw_forced_length(d, t, d.index() / 4, most_cols(t))
                                               : row_length{draw_extent(d, t, 300, most_cols(t))};
  const int extra = op.draw_extra(d, 50);
  // Values k/8 with |k| <= 24 have six bits; the shift keeps every sum inside the significand (bf16: 8 bits).
  recipe fill = make_recipe("dyadic", {d.seed(), 24, 3});
  const int64_t rows = draw_rows(d, t, length);
  trial_case c = op.make_case(t, rows, length.cols, std::move(fill), extra);
  force_variant(c, length);
  double shift = 0;
  if (t.type == dtype::f32)
    shift = d.one_of({100.0, -200.0, 1e4, -1e4, 1e6, -1e6, 0.125, 3.5});
  else if (t.type == dtype::f16)
    shift = d.one_of({100.0, -120.0, 0.125, -3.5});
  else
    shift = d.one_of({12.0, -12.0, 0.125, -3.5});
  c.knobs["shift"] = format_number(shift);
  return c;
}

trial_case spike_rows(const row_operator& op, const target& t, draw& d) {
  // The short lengths come in turn, scattered: 2 * k_every_position cases have all of them. Every seventh has the spike
  // at every position on the emulated device, 7 being coprime to their number: of these, all come in seven times as
  // many.
  const int64_t turn = d.index() / 2;
  const bool in_turn = d.index() % 2 == 0;
  const row_length length = distinguishing(
      op, d,
      in_turn ? row_length{std::min(1 + (641 + turn * 377) % k_every_position, std::max<int64_t>(1, t.max_cols))}
              : draw_row_length(d, t, most_cols(t)));
  const int64_t cols = length.cols;
  // Every position where the matrix stays small. Else neighbours around a place where vectors, lanes, tiles or blocks
  // meet, or a step that is coprime to powers of two, so that rows visit these evenly; and the two ends.
  const bool every = length.variant == "auto" && cols <= k_every_position &&
                     (t.device == "cuda" || (t.size > 0 && in_turn && turn % 7 == 0));
  const int64_t most_rows = every                      ? k_every_position
                            : length.variant == "auto" ? std::max<int64_t>(2, max_elements(t) / cols)
                                                       : 4;
  const int64_t rows = std::min(cols, most_rows);
  int64_t first = 0, step = 1;
  if (rows < cols) {
    const bool neighbours = d.chance(50);
    step = neighbours ? 1 : d.between(1, cols) | 1;
    const int64_t meeting = draw_meeting_place(d, cols);
    first = neighbours ? meeting : d.one_of({int64_t{0}, cols - 1, d.between(0, cols - 1)});
  }
  recipe fill =
      make_recipe("diagonal", {static_cast<double>(first), static_cast<double>(step), op.spike_peak, op.spike_rest});
  trial_case c = op.make_case(t, rows, cols, std::move(fill), op.draw_extra(d, 30));
  force_variant(c, length);
  return c;
}

trial_case masked_rows(const row_operator& op, const target& t, draw& d) {
  const row_length length = distinguishing(op, d, draw_row_length(d, t, most_cols(t)));
  const int64_t cols = length.cols;
  const int64_t unit = d.one_of({int64_t{1}, int64_t{4}, int64_t{32}, int64_t{128}, int64_t{256}, int64_t{1024}});
  const int64_t begin = d.between(0, (cols - 1) / unit) * unit;
  const int64_t end = std::min(cols, begin + unit * d.between(1, 4));
  const char* kind = d.chance(50) ? "masked" : "unmasked";
  recipe fill = make_recipe(kind, {static_cast<double>(begin), static_cast<double>(end), d.seed()});
  const int64_t rows = draw_rows(d, t, length);
  trial_case c = op.make_case(t, rows, cols, std::move(fill), op.draw_extra(d, k_mostly));
  force_variant(c, length);
  return c;
}

namespace {

// Zeros of both signs are the largest elements, in every row one sign or the other first.
trial_case signed_zeros(const row_operator& op, const target& t, draw& d) {
  const row_length length = distinguishing(
      op, d,
      d.chance(50) ? draw_forced_length(d, t, d.index() / 4, most_cols(t)) : draw_row_length(d, t, most_cols(t)));
  const int64_t cols = std::max<int64_t>(2, length.cols);
  recipe fill = make_recipe("uniform", {d.seed(), -9, -1});
  const int64_t rows = d.between(1, 3);
  for (int64_t row = 0; row < rows; ++row) {
    const bool negative_first = d.chance(75);
    // Side by side, in lanes or tiles of their own, or where a lane has come to its next vectors.
    const int64_t step = std::min(cols - 1, d.one_of({int64_t{1}, int64_t{1}, int64_t{1}, int64_t{32}, int64_t{1024},
                                                      int64_t{1024}, int64_t{1024}, d.between(1, cols - 1)}));
    const int64_t first = d.between(0, cols - 1 - step), second = first + step;
    fill.edits.push_back({row, first, negative_first ? -0.0 : 0.0});
    fill.edits.push_back({row, second, negative_first ? 0.0 : -0.0});
  }
  trial_case c = op.make_case(t, rows, cols, std::move(fill), op.draw_extra(d, k_all));
  force_variant(c, length);
  return c;
}

}  // namespace

trial_case special_rows(const row_operator& op, const target& t, draw& d) {
  if (d.index() % 4 == 2) return signed_zeros(op, t, d);
  if (d.index() % 8 == 3) return special_end(op, t, d, d.index() / 8);
  // A variant is forced in each eighth case, in turn: first with rows of -Inf alone, then with others.
  const int64_t turn = d.index() / 8, variants = std::max<int64_t>(1, std::ssize(t.variants));
  const bool is_forced = d.index() % 8 == 7, is_masked = is_forced && turn / variants % 2 == 0;
  // Of any length: the longest rows leave no warp of a block idle.
  row_length length =
      is_forced ? draw_forced_length(d, t, turn + variants, most_cols(t)) : draw_row_length(d, t, most_cols(t));
  length.cols = seldom_one(d, length.cols);
  const int64_t cols = length.cols;
  recipe fill = make_recipe("randn", {d.seed()});
  const double top = reference::max_finite(t.type);
  const int64_t kind = is_masked ? 0 : d.between(0, 5);
  if (kind <= 1) fill = make_recipe("constant", {kind == 0 ? -k_inf : -top});
  if (kind == 2 || kind == 3) fill = make_recipe(kind == 2 ? "special" : "bits", {d.seed()});
  const int64_t rows = is_masked ? std::min<int64_t>(2, t.max_rows) : draw_rows(d, t, length);
  // Equal rows of equal elements have results that can be guessed: seldom nothing else.
  const int64_t edits = is_masked ? 1 : d.between(kind <= 1 && d.chance(80) ? 1 : 0, 2);
  for (int64_t k = 0; k < edits; ++k) {
    const int64_t at = d.one_of({int64_t{0}, cols / 2, cols - 1, std::min<int64_t>(cols - 1, 31),
                                 std::min<int64_t>(cols - 1, 32), d.between(0, cols - 1), draw_meeting_place(d, cols)});
    fill.edits.push_back({d.between(0, rows - 1), at, d.one_of({std::nan(""), k_inf, -k_inf, top, -top, 0.0, -0.0})});
  }
  trial_case c = op.make_case(t, rows, cols, fill, op.draw_extra(d, is_masked ? k_all : k_mostly));
  force_variant(c, length);
  return c;
}

trial_case tied_maxima(const row_operator& op, const target& t, draw& d) {
  const row_length length = distinguishing(op, d, draw_row_length(d, t, most_cols(t)));
  const int64_t cols = std::max<int64_t>(2, length.cols);
  recipe fill = make_recipe("uniform", {d.seed(), -9, 1});
  const int64_t rows = d.between(1, 3);
  trial_case c = op.make_case(t, rows, cols, std::move(fill), op.draw_extra(d, k_all));
  force_variant(c, length);
  const double peak = d.chance(20) ? std::nan("") : 5.0;
  const int64_t ties = d.between(2, 4);
  const int64_t first = d.one_of({int64_t{1}, d.between(0, cols - 1), d.between(0, cols - 1)});
  const int64_t steps[] = {255, 256, 127, 128, 31, 32, 1023, 1024, 1, 4};
  for (int64_t k = 0; k < ties; ++k) {
    const int64_t at = std::min(cols - 1, first + k * d.one_of(std::span<const int64_t>(steps)));
    c.find("x")->fill.edits.push_back({d.between(0, rows - 1), at, peak});
  }
  return c;
}

trial_case two_or_more_rows(const row_operator& op, const target& t, draw& d) {
  trial_case c = small_rows(op, t, d);
  if (d.index() % 4 == 3) {
    // Every variant, rows that several warps, tiles or blocks share among them.
    const row_length length = draw_forced_length(d, t, d.index() / 4, std::min<int64_t>(most_cols(t), 17000));
    recipe fill = op.draw_fill(d, t, length.cols);
    const int64_t rows = d.between(2, 3);
    c = op.make_case(t, rows, length.cols, std::move(fill), op.draw_extra(d, 30));
    force_variant(c, length);
  }
  tensor_spec& x = *c.find("x");
  x.shape[0] = std::max<int64_t>(2, x.shape[0]);
  draw_layout(d, c);
  follow(c);
  return c;
}

trial_case interleaved_rows(const row_operator& op, const target& t, draw& d) {
  trial_case c = two_or_more_rows(op, t, d);
  tensor_spec &x = *c.find("x"), &y = *c.find("y");
  if (!is_matrix(y)) x.shape[0] = std::min<int64_t>(x.shape[0], 64);  // y lies in the first gap of x
  for (tensor_spec* s : {&x, &y})  // a row of one column has one answer, which is easily guessed
    if (is_matrix(*s) && s->cols() == 1 && most_cols(t) > 1) s->shape.back() = 2;
  y.type = x.type;
  y.shape.front() = x.shape.front();
  y.beside = "x";
  // In whole vectors every other time, so that kernels that read and write these do so.
  x.ld = x.cols() + y.cols() + (d.chance(50) ? 8 - (x.cols() + y.cols()) % 8 : d.between(0, 5));
  follow(c);
  return c;
}

namespace {

// Ends the rows where a tile may end, or a few elements before: rows that begin behind a boundary have one tile more.
void end_before_a_tile_does(draw& d, const target& t, row_length& length) {
  const int64_t unit = int64_t{1024} << d.between(0, 3);
  const int64_t cols = length.cols / unit * unit - d.between(0, 6);
  int64_t least = 1;
  for (const target::variant& v : t.variants)
    if (v.name == length.variant) least = std::max(least, cols_of(v).min);
  if (cols >= least) length.cols = cols;
}

}  // namespace

trial_case misaligned_rows(const row_operator& op, const target& t, draw& d) {
  const int64_t most = std::min<int64_t>(most_cols(t), 40000);
  // In turn by what the dispatch picks, by force, and in whole vectors: kernels that ask for these of the input alone
  // must still look at every row of the output. Of all lengths alike, for several blocks may share a row.
  const int64_t turn = d.index() / 16 % 4;
  const bool whole = turn == 2 && most >= 8;
  row_length length;
  if (whole)
    length = {8 * d.between(1, most / 8)};
  else
    length = distinguishing(op, d,
                            turn % 2 ? draw_forced_length(d, t, d.between(0, 1000), most)
                                     : row_length{draw_extent_of_variant(d, t, d.index() / 32, most)});
  if (!whole && d.chance(40)) end_before_a_tile_does(d, t, length);
  const int64_t cols = length.cols;
  recipe fill = make_recipe("uniform", {d.seed(), -20, 20});
  const int64_t rows = d.between(whole ? 2 : 1, 3);
  trial_case c = op.make_case(t, rows, cols, std::move(fill), op.draw_extra(d, 0));
  force_variant(c, length);
  misalign(c, d.index());
  c.find("x")->ld = cols + (whole ? d.one_of({0, 8, 32}) : d.one_of({0, 1, 3, 32}));
  if (tensor_spec* y = c.find("y"); y && is_matrix(*y))
    y->ld = cols + (whole ? d.one_of({1, 2, 5}) : d.one_of({0, 1, 2, 5}));
  return c;
}

trial_case misaligned_or_team_rows(const row_operator& op, const target& t, draw& d) {
  // Sixteen cases at a time, so that no combination of offsets is left out.
  if (d.index() / 16 % 4 != 3) return misaligned_rows(op, t, d);
  const std::vector<std::string> of_any_length = variants_of_any_length(t);
  const int64_t most = std::min<int64_t>(most_cols(t), 40000);
  // A few blocks, whose last tiles are whole, or with neither end whole and one block more; or many, of which the last
  // tile is whole, or ends anywhere, or has one element. Rows begin on the boundary of a tile or off it, all alike.
  //
  // In turn, not by chance: a kernel that takes one end for another is wrong in one or two of the sixteen.
  const int64_t turn = d.index() % 16;
  const bool few = turn % 2 == 1, second = turn / 4 % 2 == 1, late = turn / 8 == 1;
  // of a small block of persistent_two_pass and persistent_pipeline
  const int64_t tile = 4096 / static_cast<int64_t>(size_of(t.type));
  const int64_t blocks = d.between(1, 2);
  constexpr int64_t k_tiles_of_block = 4;  // of persistent_pipeline
  const int64_t any = d.between(most / 2, most), to_tile = any / tile * tile;
  const bool ends = few && late && !second;
  const int64_t more = ends ? d.between(1, 40) : 0;
  const int64_t end = few ? blocks * k_tiles_of_block * tile + more : second ? to_tile + 1 : late ? any : to_tile;
  const bool off = few ? second || ends : second == late;
  const int64_t behind = d.one_of({1, 6}), begin = off ? behind : 0, cols = end - begin;
  if (of_any_length.empty() || end > most || cols < 1) return misaligned_rows(op, t, d);
  recipe fill = make_recipe("uniform", {d.seed(), -20, 20});
  trial_case c = op.make_case(t, d.between(2, 4), cols, std::move(fill), 0);
  c.knobs["variant"] = of_any_length[static_cast<size_t>(d.index() / 2) % of_any_length.size()];
  if (few) {
    c.knobs["sm"] = fmt::format("{}", ends ? blocks + 1 : blocks);
  } else {
    // More blocks than a warp has lanes; they ask each other often, so one schedule is enough.
    c.knobs["sm"] = d.chance(20) ? "132" : "36";
    c.knobs["schedule"] = "fair";
  }
  const int64_t ld = (end + 63) / 64 * 64;
  c.find("x")->ld = ld + d.one_of({0, 64, 128});
  c.find("y")->ld = ld + (off ? d.one_of({0, 8}) : d.one_of({0, 8, 1, 3}));
  // On a boundary means behind the first line of the allocation: a case without an offset is not of this property.
  c.find("x")->offset = off ? begin : 64;
  // Vectors of y meet those of x; or they would if x began as far behind a boundary as it begins before one.
  c.find("y")->offset = second && late ? (8 - begin) % 8 : begin;
  return c;
}

trial_case boundary_rows(const row_operator& op, const target& t, draw& d) {
  // Sizes at which the dispatch changes and, in every other case, sizes at which a kernel may change: powers of two,
  // tiles, and their neighbours. Also the ends of clusters, which are longer than the rows that others draw.
  const int64_t common = most_cols(t);
  const int64_t most =
      t.device == "emulated" && t.size == 0 ? common : std::min(std::max(common, k_longest_boundary), t.max_cols);
  std::vector<int64_t> boundaries;
  const auto add = [&](int64_t s) {
    if (s >= 1 && s <= most) boundaries.push_back(s);
  };
  for (const target::variant& v : t.variants)
    for (int64_t e : {cols_of(v).dispatch_min, cols_of(v).dispatch_max})
      for (int64_t s : {e - 4, e - 1, e, e + 1}) add(s);  // also a vector less
  for (const int64_t b : t.boundaries.front())
    if (b > 65536)
      for (int64_t s : {b, b + 4}) add(s);
  // For a candidate that publishes nothing; on the emulated device up to cases of a second.
  if (t.variants.empty())
    for (const int64_t b : t.boundaries.front())
      for (int64_t s : {b - 1, b, b + 1})
        if (t.device != "emulated" || s <= 131073 || t.size == 2) add(s);
  std::vector<int64_t> critical = critical_extents(t, common);
  constexpr int64_t k_least = 31;  // shorter ones come often enough
  critical.erase(critical.begin(), std::lower_bound(critical.begin(), critical.end(), std::min(k_least, common)));
  constexpr int64_t k_long[] = {131071, (1 << 19) + 1, 1 << 20, (1 << 22) - 1, 1 << 22, (1 << 22) + 1, (1 << 22) + 3};
  for (const int64_t s : k_long)
    if (s <= common) critical.push_back(s);
  const std::vector<int64_t>& list = d.index() % 2 || boundaries.empty() ? critical : boundaries;
  // Scattered: by a step that is coprime to the number of lengths.
  const auto turn = static_cast<size_t>(d.index() / 2);
  const int64_t cols = list[turn * (list.size() % 37 ? 37 : 1) % list.size()];
  recipe fill = op.draw_fill(d, t, cols);
  const int64_t rows = std::min<int64_t>(2, draw_rows(d, t, cols));
  // Some variants give no index. In turn, not by chance: each length comes once in a run.
  trial_case c = op.make_case(t, rows, cols, std::move(fill), op.draw_extra(d, turn % 3 == 2 ? 0 : k_all));
  if (cols > common) c.knobs["schedule"] = "fair";
  return c;
}

trial_case wide_row(const row_operator& op, const target& t, draw& d) {
  // Odd, and beyond 2^24: no f32 holds it. Of the variants, those for any length. Where the row is cut into tiles of
  // 2^14 elements, the peak is in tile 5 * 256, not the first that a thread of 256 collects.
  const int64_t at = 5 * (int64_t{1} << 22) + 1 + 2 * d.between(0, 3);
  recipe fill = make_recipe("spike", {static_cast<double>(at), 7, d.one_of({0.0, -1.0})});
  const int64_t cols = at + d.between(1, 5);
  trial_case c = op.make_case(t, 1, cols, std::move(fill), op.draw_extra(d, k_all));
  run_once(c);
  return c;
}

trial_case repeated_rows(const row_operator& op, const target& t, draw& d) {
  trial_case c = small_rows(op, t, d);
  if (d.index() % 2) {
    // More than a tile of any variant.
    const int64_t most = std::min<int64_t>(most_cols(t), t.device == "emulated" ? 17000 : 131072);
    const row_length length = distinguishing(op, d, draw_forced_length(d, t, d.index() / 2, most));
    const int extra = op.draw_extra(d, 30);
    recipe fill = op.draw_fill(d, t, length.cols);
    const int64_t rows = draw_rows(d, t, length);
    c = op.make_case(t, rows, length.cols, std::move(fill), extra);
    force_variant(c, length);
  }
  c.knobs["repeat"] = t.device == "emulated" ? "21" : "100";  // emulated: three fixed orders and 63 random ones
  c.knobs["sm"] = format_number(static_cast<double>(d.one_of({1, 2, 7, 132})));
  if (t.device == "cuda" && d.index() % 2) c.knobs["schedule"] = "noise";  // another stream keeps the device busy
  return c;
}

trial_case stagnation_rows(const row_operator& op, const target& t, draw& d) {
  const int64_t cols = distinguishing(op, d, draw_extent_of_variant(d, t, d.index(), most_cols(t)));
  const double at = static_cast<double>(d.one_of({int64_t{0}, int64_t{0}, cols - 1, d.between(0, cols - 1)}));
  if (d.index() % 5 == 3) return late_rise(op, t, d, cols);
  trial_case c = op.make_case(t, 1, cols, make_recipe("stagnation", {at, -16.64}), op.draw_extra(d, 0));
  if (d.chance(40)) c.find("x")->fill.edits.push_back({0, d.between(0, cols - 1), 0.0});
  return c;
}

trial_case hazard_rows(const row_operator& op, const target& t, draw& d) {
  if (d.index() % 48 == 5 && !t.variants.empty()) {
    // More rows than the grid of one multiprocessor: what a block leaves behind meets its next row; of rows long enough
    // for several warps where the variant takes any length. Whatever the schedule, the detector sees it.
    const size_t n = t.variants.size();
    const target::variant& v = t.variants[n - 1 - static_cast<size_t>(d.index() / 48) % n];
    const int extra = op.draw_extra(d, 50);
    const int64_t cols = std::max<int64_t>(cols_of(v).min, cols_of(v).max < 0 ? 1100 : 2);
    trial_case c = op.make_case(t, std::min<int64_t>(2060, op.rows_beyond_grid(v)), cols,
                                make_recipe("uniform", {d.seed(), -8, 8}), extra);
    c.knobs["variant"] = v.name;
    c.knobs["sm"] = "1";
    c.knobs["schedule"] = "fair";
    c.knobs["detect"] = "only";
    return c;
  }
  trial_case c = small_rows(op, t, d);
  if (d.index() % 2) {
    const int64_t turn = d.index() / 2, most = std::min<int64_t>(most_cols(t), 12300);
    row_length length = draw_forced_length(d, t, turn, most);
    // Every other time a variant has its turn, whole vectors of so long a row that several blocks may share it.
    const auto n = static_cast<int64_t>(t.variants.size());
    const bool whole = n > 0 && turn / n % 2 == 1 && most >= 8192;
    if (whole) {
      const target::variant& v = t.variants[static_cast<size_t>(turn % n)];
      const int64_t cols = d.between(4097, most) / 8 * 8;
      length.cols = cols_of(v).max < 0 ? cols : std::min(cols, cols_of(v).max);
    }
    const int extra = op.draw_extra(d, 50);
    recipe fill = op.draw_fill(d, t, length.cols);
    const int64_t rows = d.between(1, 3);
    c = op.make_case(t, rows, length.cols, std::move(fill), extra);
    force_variant(c, length);
    if (!whole) draw_layout(d, c);
    follow(c);
  }
  c.knobs["detect"] = "only";
  const int64_t seed = d.between(0, 999999);
  c.knobs["schedule"] = fmt::format("{}:{}", d.one_of({"random", "pct_warp", "preempt", "pct"}), seed);
  return c;
}

trial_case empty_rows(const row_operator& op, const target& t, draw& d) {
  const int extra = op.draw_extra(d, 70);
  const auto draw_shape = [&](bool has_rows) {
    const int64_t cols = has_rows ? 0 : d.between(0, 40);
    return op.make_case(t, has_rows ? d.between(0, 5) : 0, cols, make_recipe("constant", {0}), extra);
  };
  trial_case c = draw_shape(d.index() % 2 != 0);
  return t.offered.missing(c) ? draw_shape(d.index() % 2 == 0) : c;
}

trial_case refused_rows(const row_operator& op, const target& t, draw& d) {
  // Columns such that a row of any element type is no shorter than an index.
  const int64_t cols = d.between(4, 70), rows = d.between(2, 4);
  return op.make_case(t, rows, cols, make_recipe("constant", {0}), op.draw_extra(d, k_all));
}

}  // namespace warpcheck
