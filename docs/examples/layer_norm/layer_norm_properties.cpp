// layer_norm on trial: its description, the cases, and what must hold of every one (the contract is in layer_norm.hpp).
#include <algorithm>
#include <cmath>

#include "golden/answers.hpp"
#include "golden/decimal.hpp"
#include "golden/plugin.hpp"
#include "layer_norm.hpp"
#include "layer_norm_reference.hpp"
#include "properties/engine/trials/checks.hpp"
#include "properties/engine/trials/property_list.hpp"
#include "properties/engine/cases/refusals.hpp"

namespace layer_norm {
namespace {

using namespace warpcheck;
using namespace engine;

description describe() {
  description d = description_of(the_contract());
  d.bench = {"rows",  // each has its results; what is timed, and the fraction of a copy that we aim at
             {{{{"rows", 65536}, {"cols", 1024}}, 0.9},
              {{{"rows", 8192}, {"cols", 8192}}, 0.9},
              {{{"rows", 256}, {"cols", 1024}}, 0.5}}};
  return d;
}

// Cases: the order in which they draw is fixed, one draw a statement.

recipe draw_x(draw& d) {
  const double seed = d.seed();
  const recipe all[] = {
      make_recipe("randn", {seed}), make_recipe("randn", {seed, 1000, 0.01}),  // digits that the variance needs
      make_recipe("integers", {seed, -9, 9}), make_recipe("constant", {3}),    // no variance but eps
      make_recipe("duplicates", {seed, 3}), make_recipe("ascending", {-5, 5}),
      make_recipe("log_uniform", {seed, -30, 30}), make_recipe("finite_bits", {seed}),
      make_recipe("near_overflow", {seed}),  // sums and squares beyond f32
      make_recipe("near_underflow", {seed}), make_recipe("cancellation", {seed, 16}),
      make_recipe("one_hot", {seed, 50, 0}),  // an element that is left out shows
      make_recipe("uniform", {seed, -20, 20})};
  return all[static_cast<size_t>(d.index()) % std::size(all)];
}

trial_case make(const target& t, draw& d, const sizes& of, recipe x) {
  const double seed = d.seed();
  const bool plain = d.chance(20);
  const recipe gamma = plain ? make_recipe("constant", {1}) : make_recipe("uniform", {seed, -2, 2});
  const recipe beta = plain ? make_recipe("constant", {0}) : make_recipe("uniform", {seed + 1, -1, 1});
  trial_case c = make_case(*find_description(t.op), t, of, {{"x", std::move(x)}, {"gamma", gamma}, {"beta", beta}});
  set_knob(c, "eps", d.one_of({"1e-05", "1e-05", "1e-12", "0.001", "1"}));
  return c;
}

trial_case with(trial_case c, const std::map<std::string, std::string>& knobs) {
  for (const auto& [name, value] : knobs) c.knobs[name] = value;
  return c;
}

sizes draw_shape(const target& t, draw& d) {
  sizes of = draw_sizes(d, t, *find_description(t.op), {{"rows", 40}, {"cols", t.size > 0 ? 5000 : 1100}});
  if (of["cols"] > 300) of["rows"] = std::min<int64_t>(of["rows"], 3);
  return of;
}

trial_case any_case(const target& t, draw& d) {
  const sizes of = draw_shape(t, d);
  trial_case c = make(t, d, of, draw_x(d));
  draw_gaps_and_offsets(d, c);
  return c;
}

trial_case constant_rows(const target& t, draw& d) {
  return make(t, d, draw_shape(t, d), make_recipe("constant", {static_cast<double>(d.index() * 17 - 50)}));
}

trial_case special_rows(const target& t, draw& d) {
  sizes of = draw_shape(t, d);
  for (auto& [name, size] : of) size = std::max<int64_t>(2, size);
  recipe x = make_recipe(d.chance(50) ? "randn" : "special", {7});
  const double infinity = std::numeric_limits<double>::infinity();
  for (int64_t k = d.between(1, 2); k > 0; --k)
    x.edits.push_back(
        {0, d.index() * k % of["cols"], d.index() % 2 ? -infinity : d.one_of({std::nan(""), infinity, 3e38})});
  return make(t, d, of, std::move(x));
}

trial_case boundary(const target& t, draw& d) {  // where the dispatch changes
  const int64_t rows = d.between(2, 5), any = d.between(2, 40);
  const int64_t cols = d.one_of({int64_t{1023}, int64_t{1024}, int64_t{1025}, any});
  return make(t, d, {{"rows", rows}, {"cols", cols}}, draw_x(d));
}

trial_case many_rows(const target& t, draw& d) {  // more than the blocks of one multiprocessor take at a time
  const bool block = d.index() % 2 == 1;
  trial_case c = make(t, d, {{"rows", block ? 2060 : 16400}, {"cols", 3}}, make_recipe("integers", {d.seed(), -9, 9}));
  c.knobs["variant"] = block ? "layer_norm_block" : "layer_norm_warp";
  c.knobs["sm"] = "1";
  run_once(c);
  return c;
}

row_model model_of(const trial_case& c, const host_tensor& x, const host_tensor& gamma, const host_tensor& beta,
                   int64_t row) {
  return {x.row(row), gamma.row(0), beta.row(0), scalars_of(c).front().second};
}
void judge(trial& t, const run_result& r) {
  const host_tensor& x = t.input("x");
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    const row_model model = model_of(t.the_case(), x, t.input("gamma"), t.input("beta"), row);
    const auto one = [&](const char* tensor, int64_t line, int64_t at, int64_t what, double input) {
      const double actual = r.at(tensor).value(line, at);
      t.judge(tensor, line, at, input, actual, model.judge(what, actual), [&] { return model.text(what); });
    };
    one("mean", 0, row, row_model::k_mean, NAN);
    one("rstd", 0, row, row_model::k_rstd, NAN);
    for (int64_t i = 0; i < x.spec.cols(); ++i) one("y", row, i, i, x.value(row, i));
  }
}
void check_values(trial& t) { judge(t, t.run()); }

void check_constant(trial& t) {
  const run_result r = t.run();
  judge(t, r);
  const host_tensor &x = t.input("x"), &beta = t.input("beta");
  for (int64_t row = 0; row < x.spec.rows(); ++row)
    for (int64_t i = 0; i < x.spec.cols(); ++i) {
      const double value = x.value(row, i), mean = r.at("mean").value(0, row), y = r.at("y").value(row, i);
      if (value != x.value(row, 0) || value != std::trunc(value)) t.skip("a row is not of one integer");
      t.require(y == beta.value(0, i) && mean == value, "a row of {} has mean {:a} and y {:a} where beta is {:a}",
                value, mean, y, beta.value(0, i));
    }
}

// Answers of one row of integers, with gamma 3, beta 1 and eps 1/4, that are fractions.
golden::golden_file answer(const char* name, const char* source, std::vector<double> x, std::vector<std::string> y,
                           const char* mean, const std::string& rstd) {
  const std::vector<double> gamma(x.size(), 3), beta(x.size(), 1);
  return golden::known_answer("layer_norm", name, "layer_norm_properties.cpp", source,
                              {{"rows", 1}, {"cols", std::ssize(x)}}, {{"x", x}, {"gamma", gamma}, {"beta", beta}},
                              {{"eps", "0.25"}}, {{"y", y}, {"mean", {mean}}, {"rstd", {rstd}}});
}

std::vector<golden::golden_file> known_answers() {
  return {answer("two-thirds", "variance 2: rstd is 2/3, y = 2 x + 1", {-2, 2, 0, 0}, {"-3e0", "5e0", "1e0", "1e0"},
                 "0", golden::fraction(2, 3, 40)),
          answer("constant", "no variance: y is beta, rstd is 1/sqrt(eps)", {7, 7}, {"1e0", "1e0"}, "7e0", "2e0")};
}

std::vector<std::string> disagreements(const golden::golden_file& f) {
  const trial_case c = golden::replay_case(f);
  const auto input = [&](const char* tensor) { return materialize(c.at(tensor)); };
  const row_model model = model_of(c, input("x"), input("gamma"), input("beta"), 0);
  const auto what = [](const std::string& tensor, int64_t i) {
    return tensor == "mean" ? row_model::k_mean : tensor == "rstd" ? row_model::k_rstd : i;
  };
  return disagreements_with(f, {[&](const std::string& t, int64_t i) { return model.text(what(t, i)); },
                                [&](const std::string& t, int64_t i, double v) { return model.judge(what(t, i), v); }});
}

std::vector<property> properties() {
  property_list list("layer_norm", {dtype::f32});
  list.add("within-error-bound", "every element of y, mean and rstd lies within its own bound", any_case, check_values);
  list.add("constant-rows", "a row of one integer has y = beta and that mean, exactly", constant_rows, check_constant,
           50);
  list.add("special-values", "NaN, infinities and extremes give what the contract says", special_rows, check_values);
  list.add("row-isolation", "the contents of another row change no bit of this one", special_rows,
           [](trial& t) { check_isolation(t, "x", judge); }, 50);
  list.add("layout", "leading dimensions and offsets change no bit", any_case,
           [](trial& t) { check_layout(t, judge); });
  list.add("dispatch-boundaries", "every variant that takes a row is right, and what is published is what runs",
           boundary, [](trial& t) { check_dispatch(t, judge); }, 50);
  list.add("rows-beyond-grid", "more rows than the grid has blocks give every row its result", many_rows, check_values,
           4);
  list.add("no-hazard", "no race, uninitialised read, out-of-bounds access or divergent barrier",
           [](const target& t, draw& d) { return with(boundary(t, d), {{"detect", "only"}}); }, check_values, 50);
  list.add("rejects-invalid-calls", "calls that break the contract are refused with a sentence and write nothing",
           boundary, [](trial& t) { refuse_common(t); }, 20);
  list.append(golden::golden_property("layer_norm", {dtype::f32}, known_answers, check_values));
  return list.take();
}

}  // namespace
}  // namespace layer_norm

WARPCHECK_PLUGIN() {
  using namespace layer_norm;
  return {describe(), properties(), {}, {"layer_norm", known_answers, disagreements}};
}
