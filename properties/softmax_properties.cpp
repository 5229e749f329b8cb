// softmax on trial: the properties of its contract (kernels/softmax.hpp), with bounds from reference/softmax.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "properties/engine/property.hpp"
#include "properties/engine/trial.hpp"
#include "properties/row_generators.hpp"
#include "reference/softmax.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::softmax_row;

constexpr double k_inf = std::numeric_limits<double>::infinity();

// ---- cases ----

trial_case softmax_case(const target& t, int64_t rows, int64_t cols, recipe fill, bool with_index = false) {
  trial_case c =
      row_case(t, {input_matrix("x", t.type, rows, cols, std::move(fill)), output_matrix("y", t.type, rows, cols)});
  if (with_index) c.tensors.push_back(output_vector("index", dtype::i64, rows));
  return c;
}

// Outputs follow x after its shape changed.
bool repair_outputs(trial_case& c) {
  const tensor_spec* x = c.find("x");
  tensor_spec* y = c.find("y");
  if (!x || !y || x->shape.size() != 2) return false;
  y->shape = x->shape;
  y->type = x->type;
  if (!y->in_place.empty()) {
    y->ld = x->ld;
    y->offset = x->offset;
  }
  y->ld = std::max(y->ld, x->cols());
  if (tensor_spec* index = c.find("index")) {
    index->shape = {x->rows()};
    index->ld = x->rows();
  }
  return true;
}

bool repair_needs_two_rows(trial_case& c) { return repair_outputs(c) && c.at("x").rows() >= 2; }

// ---- checks ----

void judge_row(trial& t, const host_tensor& x, const host_tensor& y, const softmax_row& model, int64_t row) {
  for (int64_t i = 0; i < x.spec.cols(); ++i) {
    const double actual = y.value(row, i);
    const reference::judgement j = model.judge(i, actual);
    t.judge("y", row, i, x.value(row, i), actual, j, [&] { return model.expected_text(i); });
  }
}

void judge_index(trial& t, const run_result& r, int64_t row, const softmax_row& model) {
  if (!t.the_case().find("index")) return;
  const auto index = static_cast<int64_t>(r.at("index").bits(0, row));
  t.require(index == model.argmax(), fmt::format("index[{}] is {}, expected {}", row, index, model.argmax()));
}

void judge_all(trial& t, const run_result& r) {
  const host_tensor& x = t.input("x");
  const host_tensor& y = r.at("y");
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    const std::vector<double> values = x.row(row);
    const softmax_row model(values, y.spec.type);
    judge_row(t, x, y, model, row);
    judge_index(t, r, row, model);
  }
}

void check_component_bound(trial& t) { judge_all(t, t.run()); }

// A relation between outputs holds for kernels that compute nothing, too: the checks below judge the outputs first.

bool all_finite(const std::vector<double>& row) {
  return std::all_of(row.begin(), row.end(), [](double v) { return std::isfinite(v); });
}

// Sum without rounding error that matters: two-sum compensated (Ogita, Rump & Oishi, SIAM J. Sci. Comput. 26, 2005:
// error <= 2^-53 |sum| + n^2 2^-105 sum|y_i|), far below the bounds it is compared with.
double precise_sum(const host_tensor& t, int64_t row) {
  double sum = 0, rest = 0;
  for (int64_t i = 0; i < t.spec.cols(); ++i) {
    const double v = t.value(row, i), s = sum + v, z = s - sum;
    rest += (sum - (s - z)) + (v - z);
    sum = s;
  }
  return sum + rest;
}

void check_probability_row(trial& t) {
  const run_result r = t.run();
  judge_all(t, r);
  const host_tensor &x = t.input("x"), &y = r.at("y");
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    const std::vector<double> values = x.row(row);
    if (!all_finite(values)) continue;
    const softmax_row model(values, y.spec.type);
    for (int64_t i = 0; i < x.spec.cols(); ++i) {
      const double p = y.value(row, i);
      t.require(p >= 0 && p <= 1, fmt::format("y[{},{}] = {:.9g} ({:a}) is no probability", row, i, p, p));
    }
    const double sum = precise_sum(y, row), allowed = model.sum_of_bounds() + 0x1p-50;
    t.require(std::fabs(sum - 1) <= allowed,
              fmt::format("row {} sums to {:.17g}; 1 +- {:.3g} is allowed", row, sum, allowed));
  }
}

void check_equal_logits(trial& t) {
  const run_result r = t.run();
  judge_all(t, r);
  const host_tensor &x = t.input("x"), &y = r.at("y");
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    std::map<double, int64_t> seen;  // value -> first column; -0 and +0 are one value
    int64_t maxima = 0, masked = 0;
    double largest = -k_inf;
    for (int64_t i = 0; i < x.spec.cols(); ++i) {
      const double v = x.value(row, i);
      const auto [first, fresh] = seen.emplace(v + 0.0, i);
      t.require(fresh || y.bits(row, i) == y.bits(row, first->second),
                fmt::format("x[{},{}] == x[{},{}] = {:.9g}, but y is {:a} and {:a}", row, i, row, first->second, v,
                            y.value(row, i), y.value(row, first->second)));
      masked += v == -k_inf;
      maxima = v > largest ? 1 : maxima + (v == largest);
      largest = std::max(largest, v);
    }
    if (maxima == 0 || maxima + masked != x.spec.cols() || !std::isfinite(largest)) continue;
    // k equal maxima, the rest -Inf: exactly RN(1/k) in f32, rounded once more to a 16-bit type.
    const double share =
        decode(y.spec.type, encode(y.spec.type, static_cast<double>(1.0f / static_cast<float>(maxima))));
    for (int64_t i = 0; i < x.spec.cols(); ++i) {
      const double expected = x.value(row, i) == -k_inf ? 0.0 : share;
      t.require(y.bits(row, i) == encode(y.spec.type, expected),
                fmt::format("y[{},{}] = {:a}, expected exactly {:a} beside {} equal maxima", row, i, y.value(row, i),
                            expected, maxima));
    }
  }
}

void check_exact_shift(trial& t) {
  const double shift = t.the_case().number("shift");
  host_tensor shifted = t.input("x");
  for (int64_t row = 0; row < shifted.spec.rows(); ++row)
    for (int64_t i = 0; i < shifted.spec.cols(); ++i) {
      const double sum = shifted.value(row, i) + shift;
      const uint64_t bits = encode(shifted.spec.type, sum);
      if (decode(shifted.spec.type, bits) - shift != shifted.value(row, i))
        return t.skip(fmt::format("x[{},{}] + {} is not exact in {}", row, i, shift, name_of(shifted.spec.type)));
      shifted.set_bits(row, i, bits);
    }
  const run_result before = t.run();
  judge_all(t, before);
  const run_result after = t.run(t.the_case(), {{"x", shifted}});
  const host_tensor &y = before.at("y"), &z = after.at("y");
  for (int64_t row = 0; row < y.spec.rows(); ++row)
    for (int64_t i = 0; i < y.spec.cols(); ++i)
      t.require(y.bits(row, i) == z.bits(row, i),
                fmt::format("y[{},{}] = {:a} becomes {:a} when {} is added to every logit", row, i, y.value(row, i),
                            z.value(row, i), shift));
  if (t.the_case().find("index"))
    t.require(before.at("index").bytes == after.at("index").bytes,
              "the index changes when a constant is added to every logit");
}

void check_permutation(trial& t) {
  const host_tensor& x = t.input("x");
  const int64_t n = x.spec.cols();
  // i -> (i * step + shift) mod n with step coprime to n.
  int64_t step = std::max<int64_t>(1, n / 3);
  while (std::gcd(step, std::max<int64_t>(n, 1)) != 1) ++step;
  const auto image = [&](int64_t i) { return (i * step + n / 2) % n; };
  host_tensor permuted = x;
  for (int64_t row = 0; row < x.spec.rows(); ++row)
    for (int64_t i = 0; i < n; ++i) permuted.set_bits(row, image(i), x.bits(row, i));
  const run_result before = t.run();
  judge_all(t, before);
  const run_result after = t.run(t.the_case(), {{"x", permuted}});
  const host_tensor &y = before.at("y"), &z = after.at("y");
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    const std::vector<double> values = x.row(row);
    if (!all_finite(values)) continue;
    const softmax_row model(values, y.spec.type);
    for (int64_t i = 0; i < n; ++i) {
      const double a = y.value(row, i), b = z.value(row, image(i)), allowed = 2 * model.bound(i);
      t.require(
          std::fabs(a - b) <= allowed,
          fmt::format("y[{},{}] = {:.9g} becomes {:.9g} when the row is permuted; a difference of {:.3g} is allowed",
                      row, i, a, b, allowed));
    }
  }
}

void check_spike(trial& t) {
  const host_tensor& x = t.input("x");
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    int64_t spikes = 0, rest = 0;
    for (int64_t i = 0; i < x.spec.cols(); ++i) {
      spikes += x.value(row, i) == 0.0;
      rest += x.value(row, i) == -200.0;
    }
    if (spikes != 1 || rest != x.spec.cols() - 1) return t.skip(fmt::format("row {} is not one 0 among -200", row));
  }
  const run_result r = t.run();
  const host_tensor& y = r.at("y");
  for (int64_t row = 0; row < x.spec.rows(); ++row)
    for (int64_t i = 0; i < x.spec.cols(); ++i) {
      const double expected = x.value(row, i) == 0.0 ? 1.0 : 0.0;
      t.require(y.bits(row, i) == encode(y.spec.type, expected),
                fmt::format("y[{},{}] = {:.9g} ({:a}), expected exactly {} in a row of one 0 among -200", row, i,
                            y.value(row, i), y.value(row, i), expected));
    }
  if (!t.the_case().find("index")) return;
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    const auto index = static_cast<int64_t>(r.at("index").bits(0, row));
    t.require(index >= 0 && index < x.spec.cols() && x.value(row, index) == 0.0,
              fmt::format("index[{}] = {} is not the spike's", row, index));
  }
}

void check_row_isolation(trial& t) {
  const run_result before = t.run();
  judge_all(t, before);
  const host_tensor& x = t.input("x");
  const int64_t rows = x.spec.rows();
  const double intruders[] = {std::numeric_limits<double>::quiet_NaN(), k_inf, 3e38, -k_inf};
  int which = 0;
  for (int64_t victim : {int64_t{0}, rows / 2, rows - 1}) {
    host_tensor changed = x;
    const double intruder = intruders[which++];
    for (int64_t i = 0; i < x.spec.cols(); ++i) changed.set_bits(victim, i, encode(x.spec.type, intruder));
    const run_result after = t.run(t.the_case(), {{"x", changed}});
    for (int64_t row = 0; row < rows; ++row) {
      if (row == victim) continue;
      for (int64_t i = 0; i < x.spec.cols(); ++i)
        t.require(before.at("y").bits(row, i) == after.at("y").bits(row, i),
                  fmt::format("y[{},{}] changes from {:a} to {:a} when row {} becomes {}", row, i,
                              before.at("y").value(row, i), after.at("y").value(row, i), victim, intruder));
    }
  }
}

void check_in_place(trial& t) {
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
  judge_all(t, apart);
}

void check_seam(trial& t) {
  const int64_t cols = t.the_case().at("x").cols();
  const warpcheck_operator& op = t.op();
  for (int v = 0; v < op.num_variants; ++v) {
    const warpcheck_variant& variant = op.variants[v];
    if (cols < variant.min_extent || (variant.max_extent >= 0 && cols > variant.max_extent)) continue;
    trial_case forced = t.the_case();
    forced.knobs["variant"] = variant.name;
    judge_all(t, t.run(forced));
  }
}

// The index alone: y has its bound in other properties.
void check_index(trial& t) {
  const run_result r = t.run();
  const host_tensor& x = t.input("x");
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    int64_t expected = 0;
    for (int64_t i = 1; i < x.spec.cols(); ++i)
      if (x.value(row, i) > x.value(row, expected)) expected = i;
    const auto index = static_cast<int64_t>(r.at("index").bits(0, row));
    t.require(index == expected, fmt::format("index[{}] is {}, expected {}", row, index, expected));
  }
}

void check_empty(trial& t) {
  if (t.the_case().at("x").elements() > 0) return t.skip("the input is not empty");
  const run_result r = t.run();
  if (!t.the_case().find("index")) return;
  const host_tensor& index = r.at("index");
  for (int64_t row = 0; row < index.spec.cols(); ++row)
    t.require(
        static_cast<int64_t>(index.bits(0, row)) == -1,
        fmt::format("index[{}] = {} for an empty row, expected -1", row, static_cast<int64_t>(index.bits(0, row))));
}

void check_refusals(trial& t) {
  const tensor_spec& x = t.the_case().at("x");
  if (x.rows() < 2 || x.cols() < 2 || !t.the_case().find("index"))
    return t.skip("it takes two rows, two columns and an index to break the contract in every way");
  const auto element = static_cast<int64_t>(size_of(x.type));
  // Tensors of the call: 0 is x, 1 is y, 2 is the index.
  t.expect_refusal("rows = -1", [](auto& v) { v[0].shape[0] = v[1].shape[0] = v[2].shape[0] = -1; });
  t.expect_refusal("cols = -1", [](auto& v) { v[0].shape[1] = v[1].shape[1] = -1; });
  t.expect_refusal("ldx = cols - 1", [](auto& v) { v[0].strides[0] = v[0].shape[1] - 1; });
  t.expect_refusal("ldy = cols - 1", [](auto& v) { v[1].strides[0] = v[1].shape[1] - 1; });
  t.expect_refusal("x = null", [](auto& v) { v[0].data = nullptr; });
  t.expect_refusal("y = null", [](auto& v) { v[1].data = nullptr; });
  t.expect_refusal("y overlaps x by all but one element",
                   [&](auto& v) { v[1].data = static_cast<char*>(v[0].data) + element; });
  t.expect_refusal("y = x with other strides", [](auto& v) {
    v[1].data = v[0].data;
    v[1].strides[0] = v[0].strides[0] + 1;
  });
  t.expect_refusal("index lies in x", [](auto& v) { v[2].data = v[0].data; });
  t.expect_refusal("index lies in y", [](auto& v) { v[2].data = v[1].data; });
}

// ---- generators ----

trial_case any_rows(const target& t, draw& d) {
  row_length length =
      d.index() % 4 == 1 ? row_length{draw_extent(d, t, 300, most_cols(t))} : draw_row_length(d, t, most_cols(t));
  const int64_t rows = draw_rows(d, t, length);
  trial_case c = softmax_case(t, rows, length.cols, draw_row_fill(d, t, length.cols), d.chance(50));
  force_variant(c, length);
  draw_layout(d, c);
  return c;
}

trial_case small_rows(const target& t, draw& d) {
  const int64_t cols = draw_extent(d, t, 300, std::min<int64_t>(most_cols(t), 2100));
  return softmax_case(t, draw_rows(d, t, cols), cols, draw_row_fill(d, t, cols), d.chance(30));
}

trial_case tied_rows(const target& t, draw& d) {
  const row_length length = draw_row_length(d, t, most_cols(t));
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
  trial_case c = softmax_case(t, draw_rows(d, t, length), cols, fill);
  force_variant(c, length);
  return c;
}

trial_case dyadic_rows(const target& t, draw& d) {
  const int64_t cols = draw_extent(d, t, 300, most_cols(t));
  // Values k/8 with |k| <= 24 have six bits; the shift keeps every sum inside the significand (bf16: 8 bits).
  trial_case c = softmax_case(t, draw_rows(d, t, cols), cols, make_recipe("dyadic", {d.seed(), 24, 3}), d.chance(50));
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

trial_case spike_rows(const target& t, draw& d) {
  const row_length length =
      d.index() % 2 ? draw_row_length(d, t, most_cols(t)) : row_length{draw_extent(d, t, 1100, 1100)};
  const int64_t cols = length.cols;
  // Every position where the matrix stays small; else a step that is coprime to powers of two, so that rows visit
  // lanes, warps and tiles evenly, and always the two ends.
  const int64_t most_rows = length.variant == "auto" ? std::max<int64_t>(2, element_budget(t) / cols) : 4;
  const int64_t rows = std::min(cols, most_rows);
  const double step = rows == cols ? 1 : static_cast<double>(d.between(1, cols) | 1);
  const double first = rows == cols ? 0 : static_cast<double>(d.one_of({int64_t{0}, cols - 1, d.between(0, cols - 1)}));
  trial_case c = softmax_case(t, rows, cols, make_recipe("diagonal", {first, step, 0, -200}), d.chance(30));
  force_variant(c, length);
  return c;
}

trial_case masked_rows(const target& t, draw& d) {
  const row_length length = draw_row_length(d, t, most_cols(t));
  const int64_t cols = length.cols;
  const int64_t unit = d.one_of({int64_t{1}, int64_t{4}, int64_t{32}, int64_t{128}, int64_t{256}, int64_t{1024}});
  const int64_t begin = d.between(0, (cols - 1) / unit) * unit;
  const int64_t end = std::min(cols, begin + unit * d.between(1, 4));
  const char* kind = d.chance(50) ? "masked" : "unmasked";
  trial_case c =
      softmax_case(t, draw_rows(d, t, length), cols,
                   make_recipe(kind, {static_cast<double>(begin), static_cast<double>(end), d.seed()}), true);
  force_variant(c, length);
  return c;
}

trial_case special_rows(const target& t, draw& d) {
  const row_length length = draw_row_length(d, t, most_cols(t));
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
  trial_case c = softmax_case(t, rows, cols, fill, true);
  force_variant(c, length);
  return c;
}

trial_case tied_maxima(const target& t, draw& d) {
  // Equal largest logits at (i, j) with i < j where j may belong to a lower thread, e.g. (1, 256) for 256 threads.
  const row_length length = draw_row_length(d, t, most_cols(t));
  const int64_t cols = std::max<int64_t>(2, length.cols);
  trial_case c = softmax_case(t, d.between(1, 3), cols, make_recipe("uniform", {d.seed(), -9, 1}), true);
  force_variant(c, length);
  const double peak = d.chance(20) ? std::nan("") : 5.0;
  const int64_t ties = d.between(2, 4);
  const int64_t first = d.one_of({int64_t{1}, d.between(0, cols - 1), d.between(0, cols - 1)});
  const int64_t steps[] = {255, 256, 127, 128, 31, 32, 1023, 1024, 1, 4};
  for (int64_t k = 0; k < ties; ++k) {
    const int64_t at = std::min(cols - 1, first + k * d.one_of(std::span<const int64_t>(steps)));
    c.find("x")->fill.edits.push_back({d.between(0, c.at("x").rows() - 1), at, peak});
  }
  return c;
}

trial_case two_or_more_rows(const target& t, draw& d) {
  trial_case c = small_rows(t, d);
  tensor_spec& x = *c.find("x");
  x.shape[0] = std::max<int64_t>(2, x.shape[0]);
  draw_layout(d, c);
  repair_outputs(c);
  return c;
}

trial_case phase_rows(const target& t, draw& d) {
  const int64_t most = std::min<int64_t>(most_cols(t), 40000);
  const row_length length = d.index() / 16 % 2 ? draw_forced_length(d, t, d.between(0, 1000), most)
                                               : row_length{draw_extent_of_variant(d, t, d.index() / 32, most)};
  const int64_t cols = length.cols;
  trial_case c = softmax_case(t, d.between(1, 3), cols, make_recipe("uniform", {d.seed(), -20, 20}));
  force_variant(c, length);
  c.find("x")->offset = d.index() % 4;
  c.find("y")->offset = d.index() / 4 % 4;
  c.find("x")->ld = cols + d.one_of({0, 1, 3, 32});
  c.find("y")->ld = cols + d.one_of({0, 1, 2, 5});
  return c;
}

trial_case seam_rows(const target& t, draw& d) {
  std::vector<int64_t> seams;
  for (const target::variant& v : t.variants)
    for (int64_t e : {v.dispatch_min, v.dispatch_max})
      for (int64_t s : {e - 1, e, e + 1})
        if (s >= 1 && s <= most_cols(t)) seams.push_back(s);
  if (seams.empty()) seams.push_back(33);
  const int64_t cols = seams[static_cast<size_t>(d.index()) % seams.size()];
  return softmax_case(t, std::min<int64_t>(2, draw_rows(d, t, cols)), cols, draw_row_fill(d, t, cols), true);
}

trial_case many_rows(const target& t, draw& d) {
  if (d.index() % 2 && !t.variants.empty()) {
    // Every variant on one multiprocessor, whose grid is full soon. Those for short rows take several rows a block.
    const target::variant& v = t.variants[static_cast<size_t>(d.index() / 2) % t.variants.size()];
    const bool short_rows = v.max_extent >= 0 && v.max_extent <= 4096;
    trial_case c = softmax_case(t, short_rows ? 16500 : 2100, std::max<int64_t>(v.min_extent, d.between(2, 3)),
                                make_recipe("uniform", {d.seed(), -8, 8}), d.chance(50));
    c.knobs["variant"] = v.name;
    c.knobs["sm"] = "1";
    // Millions of threads: one schedule, whatever it is, visits every row.
    c.knobs["schedule"] = "fair";
    c.knobs["detect"] = "off";
    return c;
  }
  const int64_t rows = d.one_of({int64_t{65535}, int64_t{65536}, int64_t{65537}, int64_t{70000}, int64_t{270337}});
  const int64_t most = t.device == "cuda" ? 40 : 3;
  return softmax_case(t, t.device == "cuda" ? rows : std::min<int64_t>(rows, 70000), d.between(2, most),
                      make_recipe("uniform", {d.seed(), -8, 8}), d.chance(50));
}

trial_case far_rows(const target& t, draw& d) {
  // Offsets beyond 2^31 and 2^32 elements: rows lie in sparse memory whose gaps nobody touches.
  const int64_t ld = d.one_of({(int64_t{1} << 31) - 5, (int64_t{1} << 31) + 3, (int64_t{1} << 32) + 1});
  const int64_t cols = draw_extent(d, t, 300, 5000);
  trial_case c = softmax_case(t, 2, cols, make_recipe("uniform", {d.seed(), -20, 20}), true);
  (d.chance(50) ? c.find("x") : c.find("y"))->ld = ld;
  c.knobs["schedule"] = "fair";
  return c;
}

trial_case wide_row(const target& t, draw& d) {
  // Odd, and beyond 2^24: no f32 holds it. Of the variants, those for any length.
  const int64_t at = (int64_t{1} << 24) + 1 + 2 * d.between(0, 3);
  trial_case c = softmax_case(t, 1, at + d.between(1, 5),
                              make_recipe("spike", {static_cast<double>(at), 7, d.one_of({0.0, -1.0})}), true);
  c.knobs["schedule"] = "fair";
  c.knobs["detect"] = "off";
  return c;
}

trial_case repeated_rows(const target& t, draw& d) {
  trial_case c = small_rows(t, d);
  c.knobs["repeat"] = t.device == "emulated" ? "5" : "100";
  c.knobs["sm"] = format_number(static_cast<double>(d.one_of({1, 2, 7, 132})));
  return c;
}

trial_case stagnation_rows(const target& t, draw& d) {
  const int64_t cols = draw_extent_of_variant(d, t, d.index(), most_cols(t));
  const double at = static_cast<double>(d.one_of({int64_t{0}, int64_t{0}, cols - 1, d.between(0, cols - 1)}));
  // e^-16.64 is just below 2^-24: added one by one to 1 in f32, every term is lost.
  trial_case c = softmax_case(t, 1, cols, make_recipe("stagnation", {at, -16.64}));
  if (d.chance(40)) c.find("x")->fill.edits.push_back({0, d.between(0, cols - 1), 0.0});
  return c;
}

trial_case hazard_rows(const target& t, draw& d) {
  if (d.index() % 48 == 5 && !t.variants.empty()) {
    // More rows than the grid of one multiprocessor: what a block leaves behind meets its next row. Whatever the
    // schedule, the detector sees it.
    const size_t n = t.variants.size();
    const target::variant& v = t.variants[n - 1 - static_cast<size_t>(d.index() / 48) % n];
    trial_case c = softmax_case(t, 2060, std::max<int64_t>(v.min_extent, 2), make_recipe("uniform", {d.seed(), -8, 8}),
                                d.chance(50));
    c.knobs["variant"] = v.name;
    c.knobs["sm"] = "1";
    c.knobs["schedule"] = "fair";
    c.knobs["detect"] = "only";
    return c;
  }
  trial_case c = small_rows(t, d);
  if (d.index() % 2) {
    const row_length length = draw_forced_length(d, t, d.index() / 2, std::min<int64_t>(most_cols(t), 12300));
    c = softmax_case(t, d.between(1, 3), length.cols, draw_row_fill(d, t, length.cols), d.chance(50));
    force_variant(c, length);
    draw_layout(d, c);
  }
  c.knobs["detect"] = "only";
  c.knobs["schedule"] = fmt::format("{}:{}", d.one_of({"random", "pct_warp", "preempt", "pct"}), d.between(0, 999999));
  return c;
}

trial_case empty_rows(const target& t, draw& d) {
  const bool no_rows = d.chance(50);
  return softmax_case(t, no_rows ? 0 : d.between(0, 5), no_rows ? d.between(0, 40) : 0, make_recipe("constant", {0}),
                      d.chance(70));
}

trial_case refused_rows(const target& t, draw& d) {
  // Columns such that a row of any element type is no shorter than an index.
  return softmax_case(t, d.between(2, 4), d.between(4, 70), make_recipe("constant", {0}), true);
}

// A user's rows, as they are.
trial_case input_case(const target& t, const tensor_spec& x) {
  trial_case c = softmax_case(t, x.rows(), x.cols(), x.fill, true);
  *c.find("x") = x;
  return c;
}

// ---- registration ----

const std::vector<dtype> k_types = {dtype::f32, dtype::f16, dtype::bf16};

property make(std::string name, std::string sentence, std::function<trial_case(const target&, draw&)> generate,
              std::function<void(trial&)> check) {
  property p;
  p.op = "softmax";
  p.name = std::move(name);
  p.sentence = std::move(sentence);
  p.types = k_types;
  p.generate = std::move(generate);
  p.check = std::move(check);
  p.repair = repair_outputs;
  return p;
}

const property_registration registration([] {
  std::vector<property> list;
  const auto add = [&](property p) -> property& { return list.emplace_back(std::move(p)); };
  add(make("component-bound", "every element lies within its own bound, and the index is the first maximum's", any_rows,
           check_component_bound))
      .for_input = input_case;
  add(make("probability-row", "every value is in [0, 1] and a row's values sum to 1 within the sum of their bounds",
           any_rows, check_probability_row))
      .for_input = input_case;
  add(make("equal-logits-equal-bits", "equal logits get equal bits; k equal maxima among -Inf get exactly RN(1/k)",
           tied_rows, check_equal_logits))
      .for_input = input_case;
  property& shift = add(make("exact-shift", "adding a constant that keeps every logit exact changes no bit",
                             dyadic_rows, check_exact_shift));
  shift.knobs = {{"shift", "0", "the constant that is added"}};
  add(make("permutation", "permuting a row permutes its outputs within the two bounds", small_rows, check_permutation));
  add(make("spike-coverage", "one 0 among -200 gives exactly 1 there and exactly +0 elsewhere, at every position",
           spike_rows, check_spike));
  add(make("masked-slices", "a row with slices of -Inf is right elsewhere and exactly +0 there", masked_rows,
           check_component_bound));
  add(make("special-table",
           "NaN, infinities, extremes and zeros give what the contract's table says, wherever they are", special_rows,
           check_component_bound));
  property& isolation = add(make("row-isolation", "what another row or a gap holds changes no bit of this row",
                                 two_or_more_rows, check_row_isolation));
  isolation.repair = repair_needs_two_rows;
  isolation.for_input = input_case;
  add(make("in-place-equals-out-of-place", "in place gives the bits of out of place", any_rows, check_in_place));
  add(make("phase", "every combination of input and output misalignment and leading dimension is right", phase_rows,
           check_component_bound));
  add(make("regime-seam",
           "every variant that accepts a row length is right there, above all where the dispatch changes", seam_rows,
           check_seam));
  add(make("rows-beyond-grid", "more rows than any grid dimension give every row its own result", many_rows,
           check_component_bound))
      .share_percent = 12;
  add(make("large-offset", "rows that lie more than 2^31 elements apart are right", far_rows, check_component_bound))
      .share_percent = 5;
  add(make("bit-repeatability", "every launch, schedule and processor count gives the same bits", repeated_rows,
           check_component_bound))
      .share_percent = 50;
  add(make("first-index", "the index is the lowest of the largest logit's, and the first NaN's if there is one",
           tied_maxima, check_component_bound));
  property& wide = add(make("wide-index", "an index that no f32 holds is exact", wide_row, check_index));
  wide.types = {dtype::f32};
  wide.share_percent = 1;
  add(make("depth", "rows on which a long addition chain loses every term stay within the bound", stagnation_rows,
           check_component_bound));
  property& hazard = add(
      make("no-hazard", "no race, uninitialised read, out-of-bounds access or divergent barrier under random schedules",
           hazard_rows, check_component_bound));
  hazard.share_percent = 50;
  add(make("empty", "no rows or no columns: nothing is written but index -1", empty_rows, check_empty)).share_percent =
      20;
  add(make("refusals", "calls that break the contract are refused with a sentence and write nothing", refused_rows,
           check_refusals))
      .share_percent = 10;
  return list;
}());

}  // namespace
}  // namespace warpcheck
