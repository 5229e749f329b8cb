// sigmoid on trial: the properties of its contract (kernels/sigmoid/sigmoid.hpp), with bounds from
// reference/sigmoid/sigmoid.hpp.
#include "reference/sigmoid/sigmoid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/sigmoid/contract.hpp"
#include "properties/engine/error.hpp"
#include "properties/rows/row_properties.hpp"
#include "reference/numerics/float_value.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::sigmoid_model;

constexpr double k_inf = std::numeric_limits<double>::infinity();

double shift_of(const trial& t) { return knob_or(t.the_case(), "mu", 0); }
double gain_of(const trial& t) { return knob_or(t.the_case(), "sigma", 1); }

sigmoid_model model_of(const trial& t) { return {shift_of(t), gain_of(t), t.the_case().at("y").type}; }

void judge_sigmoid(trial& t, const run_result& r, int64_t) {
  const host_tensor &x = t.input("x"), &y = r.at("y");
  const sigmoid_model model = model_of(t);
  reference::judgement last;
  for (int64_t i = 0; i < x.spec.cols(); ++i) {
    const double in = x.value(0, i), actual = y.value(0, i);
    // Long vectors hold one value almost everywhere, and a judgement takes 0.4 us.
    const bool is_repeated = i > 0 && x.bits(0, i) == x.bits(0, i - 1) && y.bits(0, i) == y.bits(0, i - 1);
    if (!is_repeated) last = model.judge(in, actual);
    t.judge("y", 0, i, in, actual, last, [&] { return model.expected_text(in); });
  }
}

recipe draw_sigmoid_fill(draw& d, const target& t, int64_t cols) {
  switch (d.between(0, 12)) {
    case 0: return make_recipe("randn", {d.seed()});                   // the usual test
    case 1: return make_recipe("uniform", {d.seed(), -20, 20});        // both ways to 0 and 1
    case 2: return make_recipe("uniform", {d.seed(), -104, 104});      // every magnitude of the result
    case 3: return make_recipe("uniform", {d.seed(), -103.9, -87.4});  // subnormal results
    case 4: return make_recipe("ascending", {-17, 17});
    case 5: return make_recipe("log_uniform", {d.seed(), -30, 7});  // near 1/2, on both sides
    case 6: return make_recipe("near_underflow", {d.seed()});
    case 7: return make_recipe("near_overflow", {d.seed()});  // x - mu and its product may overflow
    case 8: return make_recipe("finite_bits", {d.seed()});
    case 9: return make_recipe("integers", {d.seed(), -12, 12});
    case 10: return make_recipe("duplicates", {d.seed(), 3});     // equal inputs
    case 11: return make_recipe("cancellation", {d.seed(), 16});  // v and -v
    default: {
      // Values at which published kernels failed: the naive form returns 0 or 1, or has lost its digits.
      recipe r = make_recipe("uniform", {d.seed(), -4, 4});
      for (const double z : {-103.5, -95.0, -89.0, -88.8, -60.0, -20.0, -16.74, -1e-8, 0.0, 1e-8, 16.74, 88.8, 1e4})
        r.edits.push_back({0, d.between(0, cols - 1), decode(t.type, encode(t.type, z))});
      return r;
    }
  }
}

// Shift and gain; mostly those with which the published kernels were wrong.
void draw_scalars(draw& d, const target& t, trial_case& c) {
  struct scalars {
    const char *mu, *sigma;
  };
  const scalars chosen = d.one_of({scalars{"0", "1"},
                                   {"0", "1"},
                                   {"3", "0.5"},
                                   {"0", "-1"},
                                   {"0.25", "-1.5"},
                                   {"100", "2"},
                                   {"-7", "0.0009765625"},
                                   {"0", "60"},
                                   {"3e+38", "1e-38"},
                                   {"1e-40", "1"}});
  const auto f32 = [](const char* text) { return format_number(static_cast<float>(*parse_number(text))); };
  if (d.chance(10)) {
    // The value next to an element: the difference is as small as it gets.
    const value_source x(c.at("x").fill, t.type, c.at("x").cols());
    const auto near = static_cast<float>(c.at("x").cols() > 0 ? decode(t.type, x.bits(0, 0)) : 1);
    if (std::isfinite(near)) {
      c.knobs["mu"] = format_number(std::nextafter(near, std::numeric_limits<float>::infinity()));
      return;
    }
  }
  if (f32(chosen.mu) != "0") c.knobs["mu"] = f32(chosen.mu);
  if (f32(chosen.sigma) != "1") c.knobs["sigma"] = f32(chosen.sigma);
}

std::vector<bench_row> timed_rows() {
  bench_rows rows(0.98);
  for (const int64_t n : {int64_t{65536}, int64_t{1048576}, int64_t{16777216}, int64_t{268435456}}) rows.add_vector(n);
  rows.add_vector(int64_t{1} << 26).offset = 1;
  for (const dtype type : {dtype::f16, dtype::bf16}) rows.add_vector(int64_t{1} << 27, type);
  return rows.take();
}

row_operator sigmoid_operator() {
  row_operator op;
  op.described = description_of(sigmoid_contract());
  op.described.statements = {.sums = false, .logistic = [](const trial_case&) { return true; }};
  op.described.null_kernels = {{"special-values", 40, "a NaN in mu or sigma gives NaN everywhere, as the mean does"}};
  op.described.bench = {"cols", timed_rows()};
  op.judge_row = judge_sigmoid;
  op.draw_fill = draw_sigmoid_fill;
  return op;
}

// ---- cases ----

trial_case any_vector(const row_operator& op, const target& t, draw& d) {
  const int64_t n = draw_extent(d, t, d.index() % 4 ? 300 : most_cols(t), most_cols(t));
  trial_case c = op.make_case(t, 1, n, op.draw_fill(d, t, n), 0);
  draw_scalars(d, t, c);
  for (tensor_spec& s : c.tensors) s.offset = d.chance(50) ? d.between(0, 7) : 0;
  return c;
}

trial_case short_vector(const row_operator& op, const target& t, draw& d) {
  const int64_t n = draw_extent(d, t, 300, 2100);
  trial_case c = op.make_case(t, 1, n, op.draw_fill(d, t, n), 0);
  draw_scalars(d, t, c);
  return c;
}

trial_case phases(const row_operator& op, const target& t, draw& d) {
  const int64_t n = draw_extent(d, t, 300, 5000);
  trial_case c = op.make_case(t, 1, n, make_recipe("uniform", {d.seed(), -20, 20}), 0);
  misalign(c, d.index());
  return c;
}

trial_case special_vector(const row_operator& op, const target& t, draw& d) {
  const int64_t n = draw_extent(d, t, 300, most_cols(t));
  const char* kind = d.one_of({"special", "bits", "randn"});
  trial_case c = op.make_case(t, 1, n, make_recipe(kind, {d.seed()}), 0);
  const double top = reference::max_finite(t.type);
  for (const int64_t at : {int64_t{0}, n / 2, n - 1, std::min<int64_t>(n - 1, 31), std::min<int64_t>(n - 1, 32)})
    c.find("x")->fill.edits.push_back({0, at, d.one_of({std::nan(""), k_inf, -k_inf, top, -top, 0.0, -0.0})});
  // The scalars are special, too, or make the product so.
  const char* mu = d.one_of({"0", "0", "3", "+inf", "-inf", "nan", "3e+38", "-3e+38"});
  const char* sigma = d.one_of({"1", "1", "-1", "+inf", "-inf", "nan", "0", "3e+38"});
  if (std::string_view(mu) != "0") c.knobs["mu"] = format_number(static_cast<float>(*parse_number(mu)));
  if (std::string_view(sigma) != "1") c.knobs["sigma"] = format_number(static_cast<float>(*parse_number(sigma)));
  return c;
}

trial_case zero_gain(const row_operator& op, const target& t, draw& d) {
  trial_case c = special_vector(op, t, d);
  c.knobs.erase("mu");
  if (d.chance(50)) c.knobs["mu"] = "3";
  c.knobs["sigma"] = d.one_of({"0", "-0"});
  return c;
}

trial_case mirrored(const row_operator& op, const target& t, draw& d) {
  const int64_t n = draw_extent(d, t, 300, most_cols(t));
  trial_case c = op.make_case(t, 1, n, op.draw_fill(d, t, n), 0);
  const char* sigma = d.one_of({"1", "-1", "0.5", "-2.5"});
  if (std::string_view(sigma) != "1") c.knobs["sigma"] = sigma;
  return c;
}

trial_case repeated_vector(const row_operator& op, const target& t, draw& d) {
  trial_case c = any_vector(op, t, d);
  c.knobs["repeat"] = t.device == "emulated" ? "21" : "100";
  c.knobs["sm"] = format_number(static_cast<double>(d.one_of({1, 2, 7, 132})));
  return c;
}

// Elements enough for the dispatch's other size of a tile, and for more blocks than any grid dimension but x carries.
trial_case long_vector(const row_operator& op, const target& t, draw& d) {
  const int64_t n = t.device == "cuda" ? (int64_t{1} << 27) + d.between(-2, 2)
                                       : (int64_t{1} << 21) + d.one_of({int64_t{-1}, int64_t{0}, int64_t{5}});
  trial_case c = op.make_case(t, 1, n, make_recipe("spike", {static_cast<double>(n - 1), 3, -2}), 0);
  c.find("x")->offset = d.between(0, 3);
  run_once(c);
  return c;
}

trial_case hazards(const row_operator& op, const target& t, draw& d) {
  trial_case c = any_vector(op, t, d);
  c.knobs["detect"] = "only";
  const int64_t seed = d.between(0, 999999);
  c.knobs["schedule"] = fmt::format("{}:{}", d.one_of({"random", "pct_warp", "preempt", "pct"}), seed);
  return c;
}

trial_case empty_vector(const row_operator& op, const target& t, draw& d) {
  trial_case c = op.make_case(t, 1, 0, make_recipe("constant", {0}), 0);
  for (tensor_spec& s : c.tensors) s.offset = d.between(0, 7);
  return c;
}

trial_case refused_vector(const row_operator& op, const target& t, draw& d) {
  return op.make_case(t, 1, d.between(4, 70), make_recipe("constant", {0}), 0);
}

// ---- checks ----

void check_symmetry(const row_operator& op, trial& t) {
  if (shift_of(t) != 0) return t.skip("mu is not 0");
  const host_tensor& x = t.input("x");
  host_tensor mirror = x;
  for (int64_t i = 0; i < x.spec.cols(); ++i) {
    if (!std::isfinite(x.value(0, i))) return t.skip(fmt::format("x[{}] is not finite", i));
    mirror.set_bits(0, i, encode(x.spec.type, -x.value(0, i)));
  }
  const run_result r = t.run();
  judge_rows(op, t, r);
  const run_result s = t.run(t.the_case(), {{"x", mirror}});
  const sigmoid_model model = model_of(t);
  for (int64_t i = 0; i < x.spec.cols(); ++i) {
    const double v = x.value(0, i), a = r.at("y").value(0, i), b = s.at("y").value(0, i);
    // Each addition of two doubles below rounds once.
    const double allowed = model.bound(v) + model.bound(-v) + 0x1p-52;
    t.require(std::fabs(a + b - 1) <= allowed, "y({:.9g}) + y({:.9g}) = {:.17g}; 1 +- {:.3g} is allowed", v, -v, a + b,
              allowed);
    if (v == 0) t.require(a == 0.5, "y[{}] = {:a} at x = mu, expected exactly 0.5", i, a);
  }
}

void check_monotone(const row_operator& op, trial& t) {
  const double sigma = gain_of(t);
  if (shift_of(t) != 0 || sigma == 0) return t.skip("mu is not 0, or sigma is");
  const host_tensor& x = t.input("x");
  const run_result r = t.run();
  judge_rows(op, t, r);
  const sigmoid_model model = model_of(t);
  std::vector<int64_t> order;
  for (int64_t i = 0; i < x.spec.cols(); ++i)
    if (std::isfinite(x.value(0, i))) order.push_back(i);
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
    return sigma > 0 ? x.value(0, a) < x.value(0, b) : x.value(0, a) > x.value(0, b);
  });
  for (size_t k = 1; k < order.size(); ++k) {
    const int64_t i = order[k - 1], j = order[k];
    const double a = r.at("y").value(0, i), b = r.at("y").value(0, j);
    const double allowed = model.bound(x.value(0, i)) + model.bound(x.value(0, j));
    t.require(b >= a - allowed, "y falls from {:.9g} at x = {:.9g} to {:.9g} at {:.9g}; {:.3g} is allowed", a,
              x.value(0, i), b, x.value(0, j), allowed);
    t.require(x.value(0, i) != x.value(0, j) || r.at("y").bits(0, i) == r.at("y").bits(0, j),
              "x[{}] == x[{}], but y is {:a} and {:a}", i, j, a, b);
  }
}

void check_zero_gain(const row_operator& op, trial& t) {
  if (gain_of(t) != 0) return t.skip("sigma is not 0");
  const run_result r = t.run();
  const host_tensor& x = t.input("x");
  for (int64_t i = 0; i < x.spec.cols(); ++i) {
    const double v = x.value(0, i), y = r.at("y").value(0, i);
    t.require(std::isfinite(v) ? y == 0.5 : std::isnan(y), "y[{}] = {:.9g} for x = {:.9g} and sigma = 0, expected {}",
              i, y, v, std::isfinite(v) ? "0.5" : "NaN");
  }
  judge_rows(op, t, r);
}

void check_empty(const row_operator&, trial& t) {
  require_empty(t);
  t.run();
}

void check_refusals(const row_operator&, trial& t) {
  const tensor_spec& x = t.the_case().at("x");
  if (x.cols() < 2) return t.skip("it takes two elements to break the contract in every way");
  const auto element = static_cast<int64_t>(size_of(x.type));
  t.expect_refusal("n = -1", [](auto& v) { v[0].shape[0] = v[1].shape[0] = -1; });
  t.expect_refusal("x = null", [](auto& v) { v[0].data = nullptr; });
  t.expect_refusal("y = null", [](auto& v) { v[1].data = nullptr; });
  t.expect_refusal("y overlaps x by all but one element",
                   [&](auto& v) { v[1].data = static_cast<char*>(v[0].data) + element; });
  t.expect_refusal("y is off by a byte", [](auto& v) { v[1].data = static_cast<char*>(v[1].data) + 1; });
  t.expect_refusal("y has one element less", [](auto& v) { v[1].shape[0] -= 1; });
}

// A user's array of one row, which is a vector here.
std::vector<trial_case> input_case(const target& t, const tensor_spec& x) {
  if (x.rows() != 1) throw usage_error(fmt::format("input: it has {} rows; sigmoid takes 1", x.rows()));
  return {sigmoid_operator().make_case(t, 1, x.cols(), x.fill, 0)};
}

const property_registration registration([] {
  row_properties p(sigmoid_operator());
  p.add("within-error-bound", "every element lies within its own bound", any_vector, check_values).for_input =
      input_case;
  p.add("sigmoid-symmetry", "y(z) + y(-z) is 1 within the two bounds, and y(mu) exactly 0.5", mirrored, check_symmetry);
  p.add("monotone", "y does not fall by more than the bounds while z rises, and equal inputs give equal bits", mirrored,
        check_monotone);
  p.add("sigma-zero", "sigma = 0 gives 0.5 for finite x, NaN for NaN and infinities", zero_gain, check_zero_gain);
  p.add("special-values", "NaN, infinities and extremes in x, mu and sigma give the results of the contract",
        special_vector, check_values);
  p.add_common("in-place-equals-out-of-place", any_vector);
  p.add("misalignment", "every combination of input and output misalignment is right", phases, check_values);
  p.add_common("bit-repeatability", repeated_vector);
  p.add_reused_storage(short_vector);
  p.add_batch_invariance();
  p.add("large-offset", "vectors that take more than one size of tile are right to the last element", long_vector,
        check_values)
      .share_percent = 2;
  p.add("no-hazard", "no race, uninitialised read or out-of-bounds access under random schedules", hazards,
        check_values)
      .share_percent = 50;
  property& empty = p.add("empty", "no elements: nothing is written", empty_vector, check_empty);
  empty.share_percent = 2;
  empty.holds = nullptr;
  p.add_common("rejects-invalid-calls", refused_vector, check_refusals);
  return p.take();
}());

}  // namespace
}  // namespace warpcheck
