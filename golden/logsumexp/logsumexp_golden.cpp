// logsumexp: known answers with closed forms, and the published field bugs that fit a small case.
#include "reference/logsumexp/logsumexp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "golden/decimal.hpp"
#include "golden/row_golden.hpp"

namespace warpcheck::golden {
namespace {

constexpr double k_f32_max = 0x1.fffffep+127;

struct row {
  std::vector<double> x;
  std::string y;
};

std::string text(const real& value) { return value == 0 ? "0" : rounded(value); }
std::string integer(int64_t value) { return fraction(value, 1); }

// k elements of value `top` beside -Inf: top + ln k.
row tied(std::vector<double> x, double top) {
  const auto k = std::ranges::count(x, top);
  return {std::move(x), k == 1 ? text(real(top)) : text(real(top) + log(real(k)))};
}

// One `top`, `count` times `top - gap`: top + ln(1 + count e^-gap).
row peak(int64_t count, int64_t at, double top, double gap) {
  std::vector<double> x = with(repeated(top - gap, count + 1), static_cast<size_t>(at), top);
  const real tail = log_of_one_plus(count * exp(real(-gap)));
  return {std::move(x), text(real(top) + tail)};
}

// x_i = top - step i: top + ln((1 - q^n)/(1 - q)), q = e^-step.
row geometric(int64_t n, double step, double top, bool rising = false) {
  row r;
  const real q = exp(real(-step));
  for (int64_t i = 0; i < n; ++i) r.x.push_back(top - step * static_cast<double>(rising ? n - 1 - i : i));
  r.y = text(real(top) + log((1 - pow(q, static_cast<int>(n))) / (1 - q)));
  return r;
}

class collection : public row_answers {
 public:
  collection() : row_answers("logsumexp") {}
  void add(std::string name, std::string source, dtype type, const std::vector<row>& rows, row_layout l = {},
           bool wide = false) {
    row_answers::add(std::move(name), std::move(source), type, inputs_of(rows),
                     {{"y", wide ? dtype::f32 : type, false, texts_of(rows, &row::y)}}, l);
  }
};

std::vector<golden_file> known_answers() {
  collection c;
  const std::string tie = "closed form: k equal maxima beside -Inf give m + ln k";
  const std::string two = "closed form: m + ln(1 + (n-1) e^-t)";
  const std::string series = "closed form: geometric series, m + ln((1 - q^n)/(1 - q)), q = e^-step";
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
    const std::string t(warpcheck::name_of(type));
    c.add("single-" + t, "contract: a row of one finite element gives it", type,
          {{{3.25}, "3.25e0"}, {{-8}, integer(-8)}}, {.offset_x = 1});
    c.add("thirds-" + t, tie, type, {tied({1, -k_inf, 1, -k_inf, 1}, 1), tied({-k_inf, -2, -2, -2, -k_inf}, -2)},
          {.ldx = 8});
    c.add("integers-" + t, series, type, {geometric(9, 1, 0), geometric(9, 1, 4, true)});
    c.add("all-minus-infinity-" + t, "field bug onnxruntime#28461, tensorflow#11692; contract: all -Inf gives -Inf",
          type, {{repeated(-k_inf, 5), "-inf"}});
    c.add("nan-places-" + t, "contract: a NaN in the row gives NaN", type,
          {{{k_nan, 1, 2, 3}, "nan"}, {{1, 2, k_nan, k_inf}, "nan"}, {{-k_inf, k_inf, 2, k_nan}, "nan"}});
    c.add("infinity-places-" + t, "contract: +Inf without NaN gives +Inf", type,
          {{{k_inf, 1, 2}, "+inf"}, {{1, 2, k_inf}, "+inf"}, {{-k_inf, k_inf, k_inf}, "+inf"}});
    if (type != dtype::f32) {
      c.add("wide-" + t, series + "; y is f32", type, {geometric(9, 1, 0), geometric(9, 0.5, 2, true)}, {}, true);
      c.add("tails-wide-" + t, two + "; y is f32", type, {peak(1, 0, 0, 30), peak(1, 1, 0, 60)}, {}, true);
    }
  }
  std::vector<row> tails;
  for (const double t : {1, 8, 16, 17, 30, 60, 87, 88, 100, 103}) tails.push_back(peak(1, 0, 0, t));
  c.add("tails", two + "; log1p keeps the tail", dtype::f32, tails);
  c.add("tails-reversed", two + "; the maximum comes last", dtype::f32, {peak(1, 1, 0, 30), peak(1, 1, 0, 95)});
  c.add("lowest-finite", tie + "; the usual mask value everywhere", dtype::f32,
        {tied(repeated(-k_f32_max, 7), -k_f32_max)});
  c.add("largest-finite", tie, dtype::f32, {tied(repeated(k_f32_max, 7), k_f32_max)});
  c.add("stagnation-1024", two + "; e^-16.64 < 2^-24: a serial sum stays at 1", dtype::f32,
        {peak(1023, 0, 0, -f32(-16.64)), peak(1023, 1023, 0, -f32(-16.64))});
  c.add("ascending-1025", series + "; the running maximum rises at every step", dtype::f32,
        {geometric(1025, 0.125, 128, true)});
  c.add("descending-129", series, dtype::f32, {geometric(129, 0.25, 0)});
  for (const int64_t n : {2, 31, 32, 33, 63, 64, 65, 128, 255, 256, 257, 1000})
    c.add(fmt::format("zeros-{}", n), tie, dtype::f32, {tied(repeated(0, n), 0)});
  // The published defects, as small as they get.
  c.add("field-no-maximum", "field bug singa#598, NNlib.jl#506 (overflow without the maximum); " + series, dtype::f32,
        {geometric(4, 100, 1000), geometric(4, 1, -200), geometric(4, 1, f32(1e7))});
  c.add("field-large-logits", "field bug pytorch#38839, mlx#4169 (logits near -1e7); " + series, dtype::f32,
        {geometric(6, 1, -1e7), geometric(6, 1, -1e7, true)});
  c.add("field-no-log1p", "field bug pytorch#113708 (without log1p); " + two, dtype::f32,
        {peak(1, 0, 0, 20), peak(1, 1, 0, 25)});
  std::vector<double> half = repeated(0, 64);
  for (size_t i = 0; i < 32; ++i) half[i] = -k_inf;
  c.add("field-masked-slice", "field bug FlashInfer#1178 (NaN where a slice is fully masked); " + tie, dtype::f32,
        {tied(half, 0)});
  return c.take();
}

std::vector<row_model> models(const engine::trial_case& c, const std::vector<double>& x) {
  return {scalar_model("y", reference::logsumexp_row(x, c.at("y").type))};
}

const operator_golden data = row_golden("logsumexp", {dtype::f32, dtype::f16, dtype::bf16}, known_answers, models);

}  // namespace

operator_golden logsumexp_golden() { return data; }

}  // namespace warpcheck::golden
