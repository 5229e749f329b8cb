#include "properties/row_properties.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "properties/engine/error.hpp"
#include "reference/argmax.hpp"
#include "reference/numerics/float_value.hpp"

namespace warpcheck {

using namespace engine;

namespace {

constexpr double k_inf = std::numeric_limits<double>::infinity();
constexpr int k_all = 100;  // percent

bool is_matrix(const tensor_spec* t) { return t && t->shape.size() == 2; }

int64_t telling(const row_operator& op, const draw& d, int64_t cols) {
  return op.seldom_one_column && cols == 1 && d.index() % 8 ? 2 + d.index() % 7 : cols;
}

row_length telling(const row_operator& op, const draw& d, row_length length) {
  length.cols = telling(op, d, length.cols);
  return length;
}

}  // namespace

// ---- cases ----

bool repair_needs_two_rows(trial_case& c) { return repair_row_outputs(c) && c.at("x").rows() >= 2; }

void close_gaps(trial_case& c) {
  for (tensor_spec& t : c.tensors) t.ld = t.cols();
}

bool repair_dense_rows(trial_case& c) {
  const bool whole = repair_row_outputs(c);
  close_gaps(c);
  return whole;
}

bool repair_needs_two_dense_rows(trial_case& c) { return repair_dense_rows(c) && c.at("x").rows() >= 2; }

// Choices are made one per statement: the order in which a call's arguments are evaluated is the compiler's, and a seed
// must draw the same case everywhere.

trial_case any_rows(const row_operator& op, const target& t, draw& d) {
  const row_length length = telling(
      op, d,
      d.index() % 4 == 1 ? row_length{draw_extent(d, t, 300, most_cols(t))} : draw_row_length(d, t, most_cols(t)));
  const int64_t rows = draw_rows(d, t, length);
  const int extra = op.draw_extra(d, 50);
  trial_case c = op.make_case(t, rows, length.cols, op.draw_fill(d, t, length.cols), extra);
  force_variant(c, length);
  draw_layout(d, c);
  repair_row_outputs(c);
  return c;
}

trial_case small_rows(const row_operator& op, const target& t, draw& d) {
  const int64_t cols = telling(op, d, draw_extent(d, t, 300, std::min<int64_t>(most_cols(t), 2100)));
  const int extra = op.draw_extra(d, 30);
  recipe fill = op.draw_fill(d, t, cols);
  const int64_t rows = draw_rows(d, t, cols);
  return op.make_case(t, rows, cols, std::move(fill), extra);
}

trial_case tied_rows(const row_operator& op, const target& t, draw& d) {
  const row_length length = telling(op, d, draw_row_length(d, t, most_cols(t)));
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
  const int64_t cols = draw_extent(d, t, 300, most_cols(t));
  const int extra = op.draw_extra(d, 50);
  // Values k/8 with |k| <= 24 have six bits; the shift keeps every sum inside the significand (bf16: 8 bits).
  recipe fill = make_recipe("dyadic", {d.seed(), 24, 3});
  const int64_t rows = draw_rows(d, t, cols);
  trial_case c = op.make_case(t, rows, cols, std::move(fill), extra);
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
  const row_length length =
      telling(op, d, d.index() % 2 ? draw_row_length(d, t, most_cols(t)) : row_length{draw_extent(d, t, 1100, 1100)});
  const int64_t cols = length.cols;
  // Every position where the matrix stays small; else a step that is coprime to powers of two, so that rows visit
  // lanes, warps and tiles evenly, and always the two ends.
  const int64_t most_rows = length.variant == "auto" ? std::max<int64_t>(2, element_budget(t) / cols) : 4;
  const int64_t rows = std::min(cols, most_rows);
  const double step = rows == cols ? 1 : static_cast<double>(d.between(1, cols) | 1);
  const double first = rows == cols ? 0 : static_cast<double>(d.one_of({int64_t{0}, cols - 1, d.between(0, cols - 1)}));
  trial_case c = op.make_case(t, rows, cols, make_recipe("diagonal", {first, step, op.spike_peak, op.spike_rest}),
                              op.draw_extra(d, 30));
  force_variant(c, length);
  return c;
}

trial_case masked_rows(const row_operator& op, const target& t, draw& d) {
  const row_length length = telling(op, d, draw_row_length(d, t, most_cols(t)));
  const int64_t cols = length.cols;
  const int64_t unit = d.one_of({int64_t{1}, int64_t{4}, int64_t{32}, int64_t{128}, int64_t{256}, int64_t{1024}});
  const int64_t begin = d.between(0, (cols - 1) / unit) * unit;
  const int64_t end = std::min(cols, begin + unit * d.between(1, 4));
  const char* kind = d.chance(50) ? "masked" : "unmasked";
  recipe fill = make_recipe(kind, {static_cast<double>(begin), static_cast<double>(end), d.seed()});
  const int64_t rows = draw_rows(d, t, length);
  trial_case c = op.make_case(t, rows, cols, std::move(fill), op.draw_extra(d, k_all));
  force_variant(c, length);
  return c;
}

trial_case special_rows(const row_operator& op, const target& t, draw& d) {
  const row_length length = telling(op, d, draw_row_length(d, t, most_cols(t)));
  const int64_t cols = length.cols;
  recipe fill = make_recipe("randn", {d.seed()});
  const double top = reference::max_finite(t.type);
  switch (d.between(0, 5)) {
    case 0: fill = make_recipe("constant", {-k_inf}); break;
    case 1: fill = make_recipe("constant", {-top}); break;
    case 2: fill = make_recipe("special", {d.seed()}); break;
    case 3: fill = make_recipe("bits", {d.seed()}); break;
    default: break;
  }
  const int64_t rows = draw_rows(d, t, length);
  const int64_t edits = d.between(0, 2);
  for (int64_t k = 0; k < edits; ++k) {
    const int64_t at = d.one_of({int64_t{0}, cols / 2, cols - 1, std::min<int64_t>(cols - 1, 31),
                                 std::min<int64_t>(cols - 1, 32), d.between(0, cols - 1)});
    fill.edits.push_back({d.between(0, rows - 1), at, d.one_of({std::nan(""), k_inf, -k_inf, top, -top, 0.0, -0.0})});
  }
  trial_case c = op.make_case(t, rows, cols, fill, op.draw_extra(d, k_all));
  force_variant(c, length);
  return c;
}

trial_case tied_maxima(const row_operator& op, const target& t, draw& d) {
  const row_length length = telling(op, d, draw_row_length(d, t, most_cols(t)));
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
  tensor_spec& x = *c.find("x");
  x.shape[0] = std::max<int64_t>(2, x.shape[0]);
  draw_layout(d, c);
  repair_row_outputs(c);
  return c;
}

trial_case phase_rows(const row_operator& op, const target& t, draw& d) {
  const int64_t most = std::min<int64_t>(most_cols(t), 40000);
  const row_length length =
      telling(op, d,
              d.index() / 16 % 2 ? draw_forced_length(d, t, d.between(0, 1000), most)
                                 : row_length{draw_extent_of_variant(d, t, d.index() / 32, most)});
  const int64_t cols = length.cols;
  recipe fill = make_recipe("uniform", {d.seed(), -20, 20});
  const int64_t rows = d.between(1, 3);
  trial_case c = op.make_case(t, rows, cols, std::move(fill), op.draw_extra(d, 0));
  force_variant(c, length);
  for (tensor_spec& s : c.tensors) s.offset = (s.is_input ? d.index() : d.index() / 4) % 4;
  c.find("x")->ld = cols + d.one_of({0, 1, 3, 32});
  if (tensor_spec* y = c.find("y"); is_matrix(y)) y->ld = cols + d.one_of({0, 1, 2, 5});
  return c;
}

trial_case seam_rows(const row_operator& op, const target& t, draw& d) {
  std::vector<int64_t> seams;
  for (const target::variant& v : t.variants)
    for (int64_t e : {v.dispatch_min, v.dispatch_max})
      for (int64_t s : {e - 1, e, e + 1})
        if (s >= 1 && s <= most_cols(t)) seams.push_back(s);
  if (seams.empty()) seams.push_back(33);
  const int64_t cols = seams[static_cast<size_t>(d.index()) % seams.size()];
  recipe fill = op.draw_fill(d, t, cols);
  const int64_t rows = std::min<int64_t>(2, draw_rows(d, t, cols));
  return op.make_case(t, rows, cols, std::move(fill), op.draw_extra(d, k_all));
}

namespace {

// A variant on one multiprocessor, whose grid is full soon.
trial_case many_rows_of(const row_operator& op, const target& t, draw& d, const target::variant& v) {
  const int extra = op.draw_extra(d, 50);
  recipe fill = make_recipe("uniform", {d.seed(), -8, 8});
  const int64_t cols = std::max<int64_t>(v.min_extent, d.between(2, 3));
  trial_case c = op.make_case(t, op.rows_beyond_grid(v), cols, std::move(fill), extra);
  c.knobs["variant"] = v.name;
  c.knobs["sm"] = "1";
  // Millions of threads: one schedule, whatever it is, visits every row.
  c.knobs["schedule"] = "fair";
  c.knobs["detect"] = "off";
  return c;
}

}  // namespace

trial_case many_rows_of_each(const row_operator& op, const target& t, draw& d) {
  const size_t turn = static_cast<size_t>(d.index()) % (t.variants.size() + 1);
  return turn == 0 ? many_rows(op, t, d) : many_rows_of(op, t, d, t.variants[turn - 1]);
}

trial_case many_rows(const row_operator& op, const target& t, draw& d) {
  if (d.index() % 2 && !t.variants.empty())
    return many_rows_of(op, t, d, t.variants[static_cast<size_t>(d.index() / 2) % t.variants.size()]);
  const int64_t rows = d.one_of({int64_t{65535}, int64_t{65536}, int64_t{65537}, int64_t{70000}, int64_t{270337}});
  const int extra = op.draw_extra(d, 50);
  recipe fill = make_recipe("uniform", {d.seed(), -8, 8});
  const int64_t cols = d.between(2, t.device == "cuda" ? 40 : 3);
  return op.make_case(t, t.device == "cuda" ? rows : std::min<int64_t>(rows, 70000), cols, std::move(fill), extra);
}

trial_case far_rows(const row_operator& op, const target& t, draw& d) {
  const int64_t ld = d.one_of({(int64_t{1} << 31) - 5, (int64_t{1} << 31) + 3, (int64_t{1} << 32) + 1});
  int64_t cols = draw_extent(d, t, 300, 5000);
  const target::variant* const forced = op.every_variant_far && !t.variants.empty()
                                            ? &t.variants[static_cast<size_t>(d.index()) % t.variants.size()]
                                            : nullptr;
  if (forced && forced->max_extent >= 0) cols = std::min(cols, forced->max_extent);
  recipe fill = make_recipe("uniform", {d.seed(), -20, 20});
  trial_case c = op.make_case(t, 2, cols, std::move(fill), op.draw_extra(d, k_all));
  tensor_spec* y = c.find("y");
  (!is_matrix(y) || d.chance(50) ? c.find("x") : y)->ld = ld;
  if (forced) c.knobs["variant"] = forced->name;
  c.knobs["schedule"] = "fair";
  return c;
}

trial_case wide_row(const row_operator& op, const target& t, draw& d) {
  // Odd, and beyond 2^24: no f32 holds it. Of the variants, those for any length. Where the row is cut into tiles of
  // 2^14 elements, the peak is in tile 5 * 256, not the first that a thread of 256 collects.
  const int64_t at = 5 * (int64_t{1} << 22) + 1 + 2 * d.between(0, 3);
  recipe fill = make_recipe("spike", {static_cast<double>(at), 7, d.one_of({0.0, -1.0})});
  const int64_t cols = at + d.between(1, 5);
  trial_case c = op.make_case(t, 1, cols, std::move(fill), op.draw_extra(d, k_all));
  c.knobs["schedule"] = "fair";
  c.knobs["detect"] = "off";
  return c;
}

trial_case repeated_rows(const row_operator& op, const target& t, draw& d) {
  trial_case c = small_rows(op, t, d);
  c.knobs["repeat"] = t.device == "emulated" ? "5" : "100";
  c.knobs["sm"] = format_number(static_cast<double>(d.one_of({1, 2, 7, 132})));
  if (t.device == "cuda" && d.index() % 2) c.knobs["schedule"] = "noise";  // another stream keeps the device busy
  return c;
}

trial_case stagnation_rows(const row_operator& op, const target& t, draw& d) {
  const int64_t cols = telling(op, d, draw_extent_of_variant(d, t, d.index(), most_cols(t)));
  const double at = static_cast<double>(d.one_of({int64_t{0}, int64_t{0}, cols - 1, d.between(0, cols - 1)}));
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
    const int64_t cols = std::max<int64_t>(v.min_extent, v.max_extent < 0 ? 1100 : 2);
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
    const row_length length = draw_forced_length(d, t, d.index() / 2, std::min<int64_t>(most_cols(t), 12300));
    const int extra = op.draw_extra(d, 50);
    recipe fill = op.draw_fill(d, t, length.cols);
    const int64_t rows = d.between(1, 3);
    c = op.make_case(t, rows, length.cols, std::move(fill), extra);
    force_variant(c, length);
    draw_layout(d, c);
    repair_row_outputs(c);
  }
  c.knobs["detect"] = "only";
  const int64_t seed = d.between(0, 999999);
  c.knobs["schedule"] = fmt::format("{}:{}", d.one_of({"random", "pct_warp", "preempt", "pct"}), seed);
  return c;
}

trial_case empty_rows(const row_operator& op, const target& t, draw& d) {
  const bool no_rows = d.index() % 2 == 0;
  const int extra = op.draw_extra(d, 70);
  const int64_t cols = no_rows ? d.between(0, 40) : 0;
  const int64_t rows = no_rows ? 0 : d.between(0, 5);
  return op.make_case(t, rows, cols, make_recipe("constant", {0}), extra);
}

trial_case refused_rows(const row_operator& op, const target& t, draw& d) {
  // Columns such that a row of any element type is no shorter than an index.
  const int64_t cols = d.between(4, 70);
  const int64_t rows = d.between(2, 4);
  return op.make_case(t, rows, cols, make_recipe("constant", {0}), op.draw_extra(d, k_all));
}

// ---- checks ----

bool all_finite(const std::vector<double>& row) {
  return std::all_of(row.begin(), row.end(), [](double v) { return std::isfinite(v); });
}

bool has_subnormal_terms(const std::vector<double>& row) {
  double maximum = -k_inf;
  for (const double v : row) maximum = std::max(maximum, v);
  return std::any_of(row.begin(), row.end(), [&](double v) { return std::isfinite(v) && maximum - v > 87; });
}

void judge_index(trial& t, const run_result& r, int64_t row, int64_t expected) {
  if (!t.the_case().find("index")) return;
  const auto index = static_cast<int64_t>(r.at("index").bits(0, row));
  t.require(index == expected, fmt::format("index[{}] is {}, expected {}", row, index, expected));
}

void judge_rows(const row_operator& op, trial& t, const run_result& r) {
  const int64_t rows = t.input("x").spec.rows();
  for (int64_t row = 0; row < rows; ++row) op.judge_row(t, r, row);
}

void check_values(const row_operator& op, trial& t) { judge_rows(op, t, t.run()); }

// A relation between outputs holds for kernels that compute nothing, too: the checks below judge the outputs first.

void check_row_isolation(const row_operator& op, trial& t) {
  const run_result before = t.run();
  judge_rows(op, t, before);
  const host_tensor& x = t.input("x");
  const int64_t rows = x.spec.rows();
  const double intruders[] = {std::numeric_limits<double>::quiet_NaN(), k_inf, 3e38, -k_inf};
  int which = 0;
  for (int64_t victim : {int64_t{0}, rows / 2, rows - 1}) {
    host_tensor changed = x;
    const double intruder = intruders[which++];
    for (int64_t i = 0; i < x.spec.cols(); ++i) changed.set_bits(victim, i, encode(x.spec.type, intruder));
    const run_result after = t.run(t.the_case(), {{"x", changed}});
    for (const auto& [name, y] : before.tensors) {
      const host_tensor& z = after.at(name);
      for (int64_t row = 0; row < rows; ++row) {
        if (row == victim) continue;
        // A vector has one element per row.
        const int64_t line = is_matrix(&y.spec) ? row : 0;
        const int64_t begin = is_matrix(&y.spec) ? 0 : row, end = is_matrix(&y.spec) ? y.spec.cols() : row + 1;
        for (int64_t i = begin; i < end; ++i)
          t.require(y.bits(line, i) == z.bits(line, i),
                    fmt::format("{}[{},{}] changes from {:a} to {:a} when row {} becomes {}", name, line, i,
                                y.value(line, i), z.value(line, i), victim, intruder));
      }
    }
  }
}

void check_in_place(const row_operator& op, trial& t) {
  trial_case in_place = t.the_case();
  tensor_spec& y = *in_place.find("y");
  const tensor_spec& x = in_place.at("x");
  y.in_place = "x";
  y.ld = x.ld;
  y.offset = x.offset;
  const run_result apart = t.run(), same = t.run(in_place);
  const host_tensor &a = apart.at("y"), &b = same.at("y");
  for (int64_t row = 0; row < a.spec.rows(); ++row)
    for (int64_t i = 0; i < a.spec.cols(); ++i)
      t.require(a.bits(row, i) == b.bits(row, i), fmt::format("y[{},{}] is {:a} out of place and {:a} in place", row, i,
                                                              a.value(row, i), b.value(row, i)));
  judge_rows(op, t, apart);
}

void check_seam(const row_operator& op, trial& t) {
  const int64_t cols = t.the_case().at("x").cols();
  const warpcheck_operator& table = t.op();
  for (int v = 0; v < table.num_variants; ++v) {
    const warpcheck_variant& variant = table.variants[v];
    if (cols < variant.min_extent || (variant.max_extent >= 0 && cols > variant.max_extent)) continue;
    trial_case forced = t.the_case();
    forced.knobs["variant"] = variant.name;
    judge_rows(op, t, t.run(forced));
  }
}

host_tensor shifted_input(trial& t) {
  const double shift = knob_or(t.the_case(), "shift", 0);
  host_tensor shifted = t.input("x");
  for (int64_t row = 0; row < shifted.spec.rows(); ++row)
    for (int64_t i = 0; i < shifted.spec.cols(); ++i) {
      const double sum = shifted.value(row, i) + shift;
      const uint64_t bits = encode(shifted.spec.type, sum);
      if (decode(shifted.spec.type, bits) - shift != shifted.value(row, i))
        t.skip(fmt::format("x[{},{}] + {} is not exact in {}", row, i, shift, name_of(shifted.spec.type)));
      shifted.set_bits(row, i, bits);
    }
  return shifted;
}

void check_exact_shift(const row_operator& op, trial& t) {
  const host_tensor shifted = shifted_input(t);
  const run_result before = t.run();
  judge_rows(op, t, before);
  const run_result after = t.run(t.the_case(), {{"x", shifted}});
  for (const auto& [name, y] : before.tensors) {
    const host_tensor& z = after.at(name);
    for (int64_t row = 0; row < y.spec.rows(); ++row)
      for (int64_t i = 0; i < y.spec.cols(); ++i)
        t.require(y.bits(row, i) == z.bits(row, i),
                  fmt::format("{}[{},{}] = {:a} becomes {:a} when {} is added to every logit", name, row, i,
                              y.value(row, i), z.value(row, i), knob_or(t.the_case(), "shift", 0)));
  }
}

permutation::permutation(int64_t cols) : n(cols), step(std::max<int64_t>(1, cols / 3)) {
  while (std::gcd(step, std::max<int64_t>(n, 1)) != 1) ++step;
}

host_tensor permutation::operator()(const host_tensor& x) const {
  host_tensor permuted = x;
  for (int64_t row = 0; row < x.spec.rows(); ++row)
    for (int64_t i = 0; i < n; ++i) permuted.set_bits(row, image(i), x.bits(row, i));
  return permuted;
}

void require_spikes(const row_operator& op, trial& t) {
  const host_tensor& x = t.input("x");
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    int64_t spikes = 0, rest = 0;
    for (int64_t i = 0; i < x.spec.cols(); ++i) {
      spikes += x.value(row, i) == op.spike_peak;
      rest += x.value(row, i) == op.spike_rest;
    }
    if (spikes != 1 || rest != x.spec.cols() - 1)
      t.skip(fmt::format("row {} is not one {} among {}", row, op.spike_peak, op.spike_rest));
  }
}

row_ties require_equal_bits(trial& t, const host_tensor& y, int64_t row) {
  const host_tensor& x = t.input("x");
  std::map<double, int64_t> seen;  // value -> first column; -0 and +0 are one value
  row_ties ties{-k_inf, 0, 0};
  for (int64_t i = 0; i < x.spec.cols(); ++i) {
    const double v = x.value(row, i);
    const auto [first, fresh] = seen.emplace(v + 0.0, i);
    t.require(fresh || y.bits(row, i) == y.bits(row, first->second),
              fmt::format("x[{},{}] == x[{},{}] = {:.9g}, but y is {:a} and {:a}", row, i, row, first->second, v,
                          y.value(row, i), y.value(row, first->second)));
    ties.masked += v == -k_inf;
    ties.maxima = v > ties.largest ? 1 : ties.maxima + (v == ties.largest);
    ties.largest = std::max(ties.largest, v);
  }
  return ties;
}

void check_wide_index(const row_operator&, trial& t) {
  const run_result r = t.run();
  for (int64_t row = 0; row < t.input("x").spec.rows(); ++row)
    judge_index(t, r, row, reference::argmax(t.input("x").row(row)));
}

void require_empty(trial& t) {
  if (t.the_case().at("x").elements() > 0) t.skip("the input is not empty");
}

run_result run_other(trial& t, const std::string& op, const std::string& property, std::vector<tensor_spec> outputs,
                     const std::map<std::string, std::string>& knobs) {
  trial_case c;
  c.op = op;
  c.property = property;
  c.tensors = {t.the_case().at("x")};
  for (tensor_spec& y : outputs) c.tensors.push_back(std::move(y));
  for (const char* knob : {"device", "candidate", "schedule", "detect"})
    if (t.the_case().knobs.count(knob)) c.knobs[knob] = t.the_case().knobs.at(knob);
  for (const auto& [name, value] : knobs) c.knobs[name] = value;
  std::string problem;
  try {
    trial other(c);
    try {
      return other.run();
    } catch (const trial_over&) {
      const case_report r = other.finish();
      if (r.result != verdict::skipped)
        t.require(false, fmt::format("{} on the same input: {} {}", op, name_of(r.result), r.message));
      problem = r.message;
    }
  } catch (const environment_error& e) {
    problem = e.what();
  }
  t.skip(problem);
  return {};
}

void refuse_common(trial& t, size_t optional) {
  const trial_case& c = t.the_case();
  if (c.at("x").rows() < 2 || c.at("x").cols() < 2)
    t.skip("it takes two rows and columns to break the contract in every way");
  const auto element = static_cast<int64_t>(size_of(c.at("x").type));
  t.expect_refusal("rows = -1", [](auto& v) {
    for (DLTensor& d : v) d.shape[0] = -1;
  });
  t.expect_refusal("cols = -1", [](auto& v) {
    for (DLTensor& d : v)
      if (d.ndim == 2) d.shape[1] = -1;
  });
  t.expect_refusal("ldx = cols - 1", [](auto& v) { v[0].strides[0] = v[0].shape[1] - 1; });
  t.expect_refusal("x = null", [](auto& v) { v[0].data = nullptr; });
  for (size_t i = 1; i < c.tensors.size(); ++i) {
    const std::string name = c.tensors[i].name;
    if (i + optional < c.tensors.size()) t.expect_refusal(name + " = null", [i](auto& v) { v[i].data = nullptr; });
    if (is_matrix(&c.tensors[i])) {
      t.expect_refusal("ld" + name + " = cols - 1", [i](auto& v) { v[i].strides[0] = v[i].shape[1] - 1; });
      t.expect_refusal(name + " overlaps x by all but one element",
                       [i, element](auto& v) { v[i].data = static_cast<char*>(v[0].data) + element; });
      t.expect_refusal(name + " = x with other strides", [i](auto& v) {
        v[i].data = v[0].data;
        v[i].strides[0] = v[0].strides[0] + 1;
      });
    } else {
      t.expect_refusal(name + " lies in x", [i](auto& v) { v[i].data = v[0].data; });
    }
    for (size_t j = 1; j < i; ++j)
      t.expect_refusal(name + " lies in " + c.tensors[j].name, [i, j](auto& v) { v[i].data = v[j].data; });
  }
}

// ---- registration ----

property& row_properties::add(std::string name, std::string sentence, row_generator generate, row_check check) {
  property p;
  p.op = op_.name;
  p.name = std::move(name);
  p.sentence = std::move(sentence);
  p.types = op_.types;
  p.generate = [op = op_, generate](const target& t, draw& d) {
    trial_case c = generate(op, t, d);
    if (op.dense) close_gaps(c);
    return c;
  };
  p.check = [op = op_, check = std::move(check)](trial& t) { check(op, t); };
  p.repair = op_.dense ? repair_dense_rows : repair_row_outputs;
  return list_.emplace_back(std::move(p));
}

property& row_properties::add_for_input(std::string name, std::string sentence, row_generator generate,
                                        row_check check) {
  property& p = add(std::move(name), std::move(sentence), generate, std::move(check));
  p.for_input = [op = op_](const target& t, const tensor_spec& x) {
    draw all(rc::Random(), 0);
    trial_case c = op.make_case(t, x.rows(), x.cols(), x.fill, op.draw_extra(all, k_all));
    *c.find("x") = x;
    return c;
  };
  return p;
}

namespace {

struct common_property {
  std::string_view name;
  const char* sentence;
  row_generator generate;
  void (*check)(const row_operator&, trial&);
  int share_percent = 100;
  bool for_input = false;
  bool needs_two_rows = false;
};

void check_common_refusals(const row_operator&, trial& t) { refuse_common(t); }

constexpr common_property k_common[] = {
    {"special-table", "NaN, infinities, extremes and zeros give what the contract says, wherever they are",
     special_rows, check_values},
    {"depth", "rows on which a long addition chain loses every term stay within the bound", stagnation_rows,
     check_values},
    {"row-isolation", "what another row or a gap holds changes no bit of this row's result", two_or_more_rows,
     check_row_isolation, 100, true, true},
    {"in-place-equals-out-of-place", "in place gives the bits of out of place", any_rows, check_in_place},
    {"phase", "every combination of input and output misalignment and leading dimension is right", phase_rows,
     check_values},
    {"regime-seam", "every variant that accepts a row length is right there, above all where the dispatch changes",
     seam_rows, check_seam},
    {"rows-beyond-grid", "more rows than any grid dimension give every row its own result", many_rows, check_values, 5},
    {"large-offset", "rows that lie more than 2^31 elements apart are right", far_rows, check_values, 5},
    {"bit-repeatability", "every launch, schedule and processor count gives the same bits", repeated_rows, check_values,
     50},
    {"no-hazard", "no race, uninitialised read, out-of-bounds access or divergent barrier under random schedules",
     hazard_rows, check_values, 50},
    {"refusals", "calls that break the contract are refused with a sentence and write nothing", refused_rows,
     check_common_refusals, 10},
};

}  // namespace

property& row_properties::add_common(std::string_view name, row_generator generate, row_check check) {
  const auto* const common =
      std::find_if(std::begin(k_common), std::end(k_common), [&](const common_property& c) { return c.name == name; });
  if (common == std::end(k_common)) throw std::logic_error(fmt::format("no common property is called {}", name));
  if (!generate) generate = common->generate;
  if (!check) check = common->check;
  property& p = common->for_input ? add_for_input(std::string(name), common->sentence, generate, std::move(check))
                                  : add(std::string(name), common->sentence, generate, std::move(check));
  if (common->needs_two_rows) p.repair = op_.dense ? repair_needs_two_dense_rows : repair_needs_two_rows;
  p.share_percent = common->share_percent;
  return p;
}

}  // namespace warpcheck
