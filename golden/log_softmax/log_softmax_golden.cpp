// log_softmax: known answers with closed forms, and the published field bugs that fit a small case.
#include "reference/log_softmax/log_softmax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "golden/decimal.hpp"
#include "golden/row_golden.hpp"

namespace warpcheck::golden {
namespace {

struct row {
  std::vector<double> x;
  std::vector<std::string> y;
};

std::string text(const real& value) { return value == 0 ? "0" : rounded(value); }

// Results x_i - m - log_sum for ln s = log_sum.
row with_log_sum(std::vector<double> x, const real& log_sum) {
  row r{std::move(x), {}};
  const double top = *std::ranges::max_element(r.x);
  for (const double v : r.x) r.y.push_back(std::isinf(v) ? "-inf" : text(real(v) - real(top) - log_sum));
  return r;
}

row undefined(std::vector<double> x) {
  row r{std::move(x), {}};
  r.y.assign(r.x.size(), "nan");
  return r;
}

// k equal maxima beside -Inf: -ln k.
row shared(std::vector<double> x) {
  const auto k = std::ranges::count(x, *std::ranges::max_element(x));
  return with_log_sum(std::move(x), k == 1 ? real(0) : real(log(real(k))));
}

row peak(int64_t n, int64_t at, double top, double gap) {
  return with_log_sum(with(repeated(top - gap, n), static_cast<size_t>(at), top),
                      log_of_one_plus((n - 1) * exp(real(-gap))));
}

row geometric(int64_t n, double step, double top, bool rising = false) {
  std::vector<double> x;
  const real q = exp(real(-step));
  for (int64_t i = 0; i < n; ++i) x.push_back(top - step * static_cast<double>(rising ? n - 1 - i : i));
  return with_log_sum(std::move(x), log((1 - pow(q, static_cast<int>(n))) / (1 - q)));
}

class collection : public row_answers {
 public:
  collection() : row_answers("log_softmax") {}
  void add(std::string name, std::string source, dtype type, const std::vector<row>& rows, row_layout l = {}) {
    row_answers::add(std::move(name), std::move(source), type, inputs_of(rows),
                     {{"y", type, true, texts_of(rows, &row::y)}}, l);
  }
};

std::vector<golden_file> known_answers() {
  collection c;
  const std::string tie = "closed form: k equal maxima beside -Inf give -ln k";
  const std::string two = "closed form: -ln(1 + (n-1) e^-t) at the maximum, t less elsewhere";
  const std::string series = "closed form: geometric series, -step i - ln((1 - q^n)/(1 - q)), q = e^-step";
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
    const std::string t(warpcheck::name_of(type));
    const double most = type == dtype::f32 ? 0x1.fffffep+127 : type == dtype::f16 ? 65504.0 : 0x1.fep+127;
    c.add("single-" + t, "contract: a row of one finite element gives +0", type,
          {shared({3.25}), shared({-most}), shared({0.0})}, {.offset_x = 1});
    c.add("lowest-finite-" + t, tie + "; the usual mask value everywhere", type, {shared(repeated(-most, 7))});
    c.add("thirds-" + t, tie, type, {shared({1, -k_inf, 1, -k_inf, 1}), shared({-k_inf, -2, -2, -2, -k_inf})},
          {.ldx = 8, .ldy = 6});
    c.add("integers-" + t, series, type, {geometric(9, 1, 0), geometric(9, 1, 4, true)});
    c.add("in-place-" + t, series, type, {geometric(5, 0.5, 1), geometric(5, 2, 0)},
          {.ldx = 7, .offset_x = 3, .in_place = true});
    c.add("all-minus-infinity-" + t, "contract: all -Inf gives NaN", type, {undefined(repeated(-k_inf, 5))});
    c.add("nan-places-" + t, "contract: a NaN makes the row NaN", type,
          {undefined({k_nan, 1, 2, 3}), undefined({1, k_nan, 2, k_inf}), undefined({1, -k_inf, 3, k_nan})});
    c.add("infinity-places-" + t, "contract: +Inf makes the row NaN", type,
          {undefined({k_inf, 1, 2}), undefined({1, 2, k_inf}), undefined({-k_inf, k_inf, k_inf})});
  }
  std::vector<row> tails;
  for (const double t : {1, 8, 16, 17, 30, 60, 87, 88, 100, 103}) tails.push_back(peak(2, 0, 0, t));
  c.add("tails", two + "; log1p keeps the tail", dtype::f32, tails);
  c.add("tails-reversed", two + "; the maximum comes last", dtype::f32, {peak(2, 1, 0, 30), peak(2, 1, 0, 95)});
  c.add("stagnation-1024", two + "; e^-16.64 < 2^-24: a serial sum stays at 1", dtype::f32,
        {peak(1024, 0, 0, -f32(-16.64))});
  c.add("ascending-1025", series + "; the running maximum rises at every step", dtype::f32,
        {geometric(1025, 0.125, 128, true)});
  c.add("descending-129", series, dtype::f32, {geometric(129, 0.25, 0)});
  for (const int64_t n : {2, 31, 32, 33, 63, 64, 65, 128, 255, 256, 257, 1000})
    c.add(fmt::format("zeros-{}", n), tie, dtype::f32, {shared(repeated(0, n))});
  // The published defects, as small as they get.
  c.add("field-no-maximum", "field bug singa#598, NNlib.jl#506 (overflow without the maximum); " + series, dtype::f32,
        {geometric(4, 100, 1000), geometric(4, 1, -200), geometric(4, 1, f32(1e7))});
  c.add("field-large-logits", "field bug pytorch#38839, mlx#4169 (logits near -1e7); " + series, dtype::f32,
        {geometric(6, 1, -1e7), geometric(6, 1, -1e7, true)});
  c.add("field-row-of-517", "field bug pytorch#143644 (n = 517); " + two, dtype::f32, {peak(517, 516, 4, 9)});
  std::vector<double> half = repeated(0, 64);
  for (size_t i = 0; i < 32; ++i) half[i] = -k_inf;
  c.add("field-masked-slice", "field bug FlashInfer#1178 (NaN where a slice is fully masked); " + tie, dtype::f32,
        {shared(half)});
  c.add("field-rows-of-2", "field bug pytorch#52715 (rows of 2); " + series, dtype::f32,
        std::vector<row>(37, geometric(2, 1, 0)));
  for (const int64_t n : {33, 35, 47})
    c.add(fmt::format("field-odd-row-{}", n), "field bug Paddle#52952 (odd row lengths above 32); " + two, dtype::f32,
          {peak(n, n - 1, 0, 3), peak(n, 32, 0, 3)});
  return c.take();
}

std::vector<row_model> models(const engine::trial_case& c, const std::vector<double>& x) {
  return {element_model("y", static_cast<int64_t>(x.size()), reference::log_softmax_row(x, c.at("y").type))};
}

const operator_golden data = row_golden("log_softmax", {dtype::f32, dtype::f16, dtype::bf16}, known_answers, models);

}  // namespace

operator_golden log_softmax_golden() { return data; }

}  // namespace warpcheck::golden
