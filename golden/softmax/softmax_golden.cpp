// softmax: known answers with closed forms, and the published field bugs that fit a small case. Exact values come from
// a formula that is not the reference's: the sum of unshifted exponentials, or a closed form.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "golden/decimal.hpp"
#include "golden/row_golden.hpp"
#include "reference/softmax/softmax.hpp"

namespace warpcheck::golden {
namespace {

constexpr double k_f32_max = std::numeric_limits<float>::max();

std::string part(int64_t p, int64_t q) { return fraction(p, q); }

// ---- rows and their exact values ----

// One row's values and answers.
struct row {
  std::vector<double> x;
  std::vector<std::string> y;
  int64_t index = 0;
};

row undefined_row(std::vector<double> x, int64_t index) {
  row r{std::move(x), {}, index};
  r.y.assign(r.x.size(), "nan");
  return r;
}

// k maxima (of any finite value) beside -Inf: 1/k each.
row shared_row(std::vector<double> x) {
  row r{std::move(x), {}, 0};
  r.index = std::ranges::max_element(r.x) - r.x.begin();
  const double top = r.x[static_cast<size_t>(r.index)];
  const auto k = std::ranges::count(r.x, top);
  for (const double v : r.x) r.y.push_back(v == top ? part(1, k) : "0");
  return r;
}

// Any row of finite values of moderate size and -Inf: y_i = e^(x_i) / sum_k e^(x_k), by the definition, without a
// shift. 100 digits hold every term, because none is lost in a range of exponents of 10^(+-67108864).
row direct_row(std::vector<double> x) {
  row r{std::move(x), {}, 0};
  r.index = std::ranges::max_element(r.x) - r.x.begin();
  std::vector<real> terms;
  real sum = 0;
  for (const double v : r.x) {
    terms.push_back(std::isinf(v) ? real(0) : real(exp(real(v))));
    sum += terms.back();
  }
  for (const real& term : terms) r.y.push_back(term == 0 ? "0" : rounded(term / sum));
  return r;
}

// x_i = -step * i (shifted by `top`): a geometric series, y_i = q^i (1 - q) / (1 - q^n), q = e^(-step).
row geometric_row(int64_t n, double step, double top) {
  row r;
  const real q = exp(real(-step)), scale = (1 - q) / (1 - pow(q, static_cast<int>(n)));
  real term = 1;
  for (int64_t i = 0; i < n; ++i, term *= q) {
    r.x.push_back(top - step * static_cast<double>(i));
    r.y.push_back(rounded(term * scale));
  }
  return r;
}

// The series the other way round: the maximum is the last element.
row reversed(row r) {
  std::ranges::reverse(r.x);
  std::ranges::reverse(r.y);
  r.index = static_cast<int64_t>(r.x.size()) - 1 - r.index;
  return r;
}

// One `top`, n - 1 times `top - gap`: y = 1 / (1 + (n-1) e^(-gap)) at `at`, e^(-gap) times that elsewhere.
row peak_row(int64_t n, int64_t at, double top, double gap) {
  row r;
  r.index = at;
  const real tail = exp(real(-gap)), peak = 1 / (1 + (n - 1) * tail);
  const std::string high = rounded(peak), low = rounded(peak * tail);
  for (int64_t i = 0; i < n; ++i) {
    r.x.push_back(i == at ? top : top - gap);
    r.y.push_back(i == at ? high : low);
  }
  return r;
}

// ---- cases ----

class collection : public row_answers {
 public:
  collection() : row_answers("softmax") {}
  // Values are listed in the file, or made by a recipe, which must make the rows' values.
  void add(std::string name, std::string source, dtype type, const std::vector<row>& rows, const row_layout& l = {},
           bool with_index = true, std::optional<engine::recipe> fill = std::nullopt) {
    std::vector<answer> answers = {{"y", type, true, texts_of(rows, &row::y)}};
    const auto index = [](const row& r) { return std::to_string(r.index); };
    if (with_index) answers.push_back({"index", dtype::i64, false, texts_of(rows, index)});
    row_answers::add(std::move(name), std::move(source), type, inputs_of(rows), std::move(answers), l, {},
                     std::move(fill));
  }
  void add(std::string name, std::string source, dtype type, const std::vector<row>& rows, engine::recipe x) {
    add(std::move(name), std::move(source), type, rows, {}, true, std::move(x));
  }
};

void add_closed_forms(collection& c) {
  const std::string tie = "closed form: k equal maxima beside -Inf give 1/k";
  const std::string two = "closed form: 1/(1 + (n-1) e^-t) at the maximum, e^-t times that elsewhere";
  const std::string series = "closed form: geometric series, y_i = q^i (1 - q)/(1 - q^n), q = e^-step";
  const std::string direct = "definition: e^(x_i) / sum e^(x_k), unshifted, 100 digits";
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
    const std::string t(warpcheck::name_of(type));
    const double most = type == dtype::f32 ? k_f32_max : type == dtype::f16 ? 65504.0 : 0x1.fep+127;
    c.add("single-" + t, "contract: a row of one finite element gives 1", type,
          {shared_row({3.25}), shared_row({-most}), shared_row({0.0}), shared_row({most})}, {.offset_x = 1});
    c.add("lowest-finite-" + t, tie + "; the usual mask value everywhere", type, {shared_row(repeated(-most, 7))},
          engine::make_recipe("constant", {-most}));
    c.add("largest-finite-" + t, tie, type, {shared_row(repeated(most, 33))}, engine::make_recipe("constant", {most}));
    c.add("extremes-" + t, "closed form: e^(-2 max) is below 1e-9999", type, {peak_row(3, 1, most, 2 * most)});
    c.add("thirds-" + t, tie, type, {shared_row({1, -k_inf, 1, -k_inf, 1}), shared_row({-k_inf, -2, -2, -2, -k_inf})},
          {.ldx = 8, .ldy = 6});
    c.add("zeros-of-both-signs-" + t, "closed form: +0 and -0 are equal: 1/n", type,
          {shared_row({0.0, -0.0, 0.0}), shared_row({-0.0, 0.0, -0.0})});
    c.add("integers-" + t, series, type, {geometric_row(9, 1, 0), reversed(geometric_row(9, 1, 4))});
    c.add("in-place-" + t, series, type, {geometric_row(5, 0.5, 1), geometric_row(5, 2, 0)},
          {.ldx = 7, .offset_x = 3, .in_place = true});
    c.add("all-minus-infinity-" + t, "contract: all -Inf gives NaN, index 0", type,
          {undefined_row(repeated(-k_inf, 5), 0)}, engine::make_recipe("constant", {-k_inf}));
    c.add(
        "nan-places-" + t, "contract: a NaN makes the row NaN, index of the first", type,
        {undefined_row({k_nan, 1, 2, 3}, 0), undefined_row({1, k_nan, 2, k_nan}, 1), undefined_row({1, 2, 3, k_nan}, 3),
         undefined_row({k_inf, -k_inf, k_nan, k_inf}, 2), undefined_row(repeated(k_nan, 4), 0)});
    c.add("infinity-places-" + t, "contract: +Inf makes the row NaN, index of the first", type,
          {undefined_row({k_inf, 1, 2}, 0), undefined_row({1, 2, k_inf}, 2), undefined_row({-k_inf, k_inf, k_inf}, 1)});
  }
  c.add("tail-of-30", two, dtype::f32, {peak_row(2, 0, 0, 30)});
  c.add("tail-without-index", two, dtype::f32, {peak_row(2, 1, 7, 30)}, {}, false);
  c.add("tails-to-nothing", direct + "; results from 1 down to below the smallest subnormal", dtype::f32,
        {direct_row({0, -17, -87, -88, -95, -100, -103, -103.5, -104, -110, -150})});
  c.add("tail-of-17", two + "; 1 + e^-t rounds to 1 in f32", dtype::f32,
        {peak_row(3, 0, 1e4, 17), peak_row(3, 2, -3, 17)});
  c.add("tails-f16", direct + "; subnormal and vanishing results", dtype::f16,
        {direct_row({0, -9, -10, -16, -17, -18, -30})});
  c.add("tails-bf16", direct + "; subnormal and vanishing results", dtype::bf16,
        {direct_row({0, -9, -87, -91, -92.5, -93, -100})});
  c.add("one-two-three", direct + "; x = ln 1, ln 2, ln 3 rounded to f32", dtype::f32,
        {direct_row({0, f32(std::log(2.0)), f32(std::log(3.0))})});
  c.add("stagnation-1024", two + "; e^-16.64 < 2^-24: a serial sum stays at 1", dtype::f32,
        {peak_row(1024, 0, 0, -f32(-16.64))}, engine::make_recipe("stagnation", {0, f32(-16.64)}));
  c.add("stagnation-last", two + "; the maximum comes last", dtype::f32, {peak_row(257, 256, 0, -f32(-16.64))},
        engine::make_recipe("stagnation", {256, f32(-16.64)}));
  c.add("ascending-1025", series + "; the running maximum rises at every step", dtype::f32,
        {reversed(geometric_row(1025, 0.125, 128))}, engine::make_recipe("ascending", {0, 128}));
  c.add("descending-129", series, dtype::f32, {geometric_row(129, 0.25, 0)},
        engine::make_recipe("descending", {-32, 0}));
  for (const int64_t n : {2, 31, 32, 33, 63, 64, 65, 128, 255, 256, 257, 1000})
    c.add(fmt::format("ones-{}", n), "closed form: n equal elements give 1/n", dtype::f32, {shared_row(repeated(1, n))},
          engine::make_recipe("constant", {1}));
  for (const int64_t n : {33, 100, 257})
    c.add(fmt::format("spike-last-{}", n), two + ": 1 and +0 in f32", dtype::f32, {peak_row(n, n - 1, 0, 200)},
          engine::make_recipe("spike", {static_cast<double>(n - 1), 0, -200}));
}

// The published defects of row_ops field reports, as small as they get.
void add_field_bugs(collection& c) {
  const std::string tie = "; closed form: k equal maxima beside -Inf give 1/k";
  const std::string two = "; closed form: 1/(1 + (n-1) e^-t) and e^-t times that";
  const std::string series = "; closed form: geometric series";
  const std::string direct = "; definition, unshifted, 100 digits";
  c.add("field-no-maximum", "field bug singa#598, NNlib.jl#506 (overflow without the maximum)" + series, dtype::f32,
        {geometric_row(4, 100, 1000), geometric_row(4, 1, -200), geometric_row(4, 1, f32(1e7))});
  c.add("field-large-logits", "field bug pytorch#38839, mlx#4169 (logits near -1e7)" + series, dtype::f32,
        {geometric_row(6, 1, -1e7), reversed(geometric_row(6, 1, -1e7))});
  std::vector<double> half = repeated(0, 64), other = half;
  for (size_t i = 0; i < 32; ++i) half[i] = other[63 - i] = -k_inf;
  c.add("field-masked-slice", "field bug FlashInfer#1178 (NaN where a slice is fully masked)" + tie, dtype::f32,
        {shared_row(half), shared_row(other)});
  c.add("field-sentinel-beside-nan",
        "field bug reported as XPU pull request 5022 (finite sentinel hides NaN); contract: NaN, index of the first",
        dtype::f32, {undefined_row({-k_f32_max, k_nan, -k_f32_max}, 1), undefined_row({-k_inf, -k_inf, k_nan}, 2)});
  c.add("field-tie-rule", "field bug pytorch#42004 (which of two equal maxima); contract: the lowest index" + tie,
        dtype::f32,
        {shared_row(with(with(repeated(-k_inf, 300), 1, 2), 256, 2)),
         shared_row(with(with(repeated(-k_inf, 300), 31, 2), 32, 2))});
  c.add("field-argmax-and-nan", "field bug jax#6764, OneFlow#7606 (argmax and NaN); contract: NaN, index of the first",
        dtype::f32,
        {undefined_row(with(with(repeated(5, 70), 69, k_nan), 33, k_nan), 33),
         undefined_row(with(repeated(k_inf, 70), 64, k_nan), 64)});
  std::vector<row> columns;
  for (int i = 0; i < 40; ++i) columns.push_back(shared_row({static_cast<double>(i - 20)}));
  c.add("field-one-column", "field bug pytorch#38922, pytorch#40022 (N x 1); contract: 1, index 0", dtype::f32,
        columns);
  c.add("field-rows-of-5", "field bug Paddle#72681 (many rows of 5)" + series, dtype::f32,
        std::vector<row>(67, reversed(geometric_row(5, 1, 0))), engine::make_recipe("ascending", {-4, 0}));
  c.add("field-rows-of-9", "field bug tensorflow#61639 (rows of 9)" + series, dtype::f32,
        std::vector<row>(33, reversed(geometric_row(9, 1, 0))), engine::make_recipe("ascending", {-8, 0}));
  for (const int64_t n : {33, 35, 47})
    c.add(fmt::format("field-odd-row-{}", n), "field bug Paddle#52952 (odd row lengths above 32)" + two, dtype::f32,
          {peak_row(n, n - 1, 0, 3), peak_row(n, 32, 0, 3)});
  c.add("field-row-of-517", "field bug pytorch#143644 (n = 517)" + two, dtype::f32, {peak_row(517, 516, 4, 9)},
        engine::make_recipe("spike", {516, 4, -5}));
  c.add("field-lost-sums", "field bug neon#171 (0.1-0.2 % of the sums wrong): n equal elements" + tie, dtype::f32,
        std::vector<row>(8, shared_row(repeated(-1, 200))), engine::make_recipe("constant", {-1}));
  c.add("field-row-isolation", "field bug llama.cpp#26385 (scratch reused across rows): neighbours NaN, +Inf" + direct,
        dtype::f32,
        {undefined_row({k_nan, 0, 1}, 0), direct_row({0, 1, 2.5}), undefined_row({0, k_inf, 1}, 1),
         direct_row({-1, 3, 0.75})});
}

std::vector<golden_file> known_answers() {
  collection c;
  add_closed_forms(c);
  add_field_bugs(c);
  return c.take();
}

std::vector<row_model> models(const engine::trial_case& c, const std::vector<double>& x) {
  reference::softmax_row model(x, c.at("y").type);
  row_model index = index_model(model.argmax());
  return {element_model("y", static_cast<int64_t>(x.size()), std::move(model)), std::move(index)};
}

const operator_golden data =
    row_golden("softmax", {dtype::f32, dtype::f16, dtype::bf16}, known_answers, models, {"index"});

}  // namespace

operator_golden softmax_golden() { return data; }

}  // namespace warpcheck::golden
