// sigmoid: known answers with closed forms, and the published field bugs that fit a small case. Exact values are those
// of 1 / (1 + e^-z) in 100 digits, for any z, by the definition.
#include "reference/sigmoid/sigmoid.hpp"

#include <cmath>

#include "golden/decimal.hpp"
#include "golden/row_golden.hpp"

namespace warpcheck::golden {
namespace {

// One element; z as text where infinities meet.
std::string value(double x, double mu, double sigma) {
  if (x == mu && std::isfinite(x) && std::isfinite(sigma)) return fraction(1, 2);
  const real z = (real(x) - real(mu)) * real(sigma);
  return rounded(1 / (1 + exp(-z)));
}

class collection : public row_answers {
 public:
  collection() : row_answers("sigmoid") {}
  void add(std::string name, std::string source, dtype type, const std::vector<double>& x, std::vector<std::string> y,
           double mu = 0, double sigma = 1, row_layout l = {}) {
    l.flat = true;
    knobs k;
    if (mu != 0) k["mu"] = engine::format_number(mu);
    if (sigma != 1) k["sigma"] = engine::format_number(sigma);
    row_answers::add(std::move(name), std::move(source), type, {x}, {{"y", type, false, std::move(y)}}, l,
                     std::move(k));
  }
  void add(std::string name, std::string source, dtype type, const std::vector<double>& x, double mu = 0,
           double sigma = 1, const row_layout& l = {}) {
    std::vector<std::string> y;
    for (const double v : x) y.push_back(value(v, mu, sigma));
    add(std::move(name), std::move(source), type, x, std::move(y), mu, sigma, l);
  }
};

std::vector<golden_file> known_answers() {
  collection c;
  const std::string definition = "definition: 1/(1 + e^-z) with 100 digits";
  const std::string half = fraction(1, 2);
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
    const std::string t(warpcheck::name_of(type));
    c.add("integers-" + t, definition, type, {-8, -3, -2, -1, 0, 1, 2, 3, 8}, 0, 1, {.offset_x = 3, .offset_y = 1});
    c.add("in-place-" + t, definition, type, {-2, -0.5, 0, 0.5, 2}, 0, 1, {.offset_x = 1, .in_place = true});
    c.add("gain-and-shift-" + t, definition + "; mu = 3, sigma = 1/2", type, {-5, 0, 2, 3, 4, 9}, 3, 0.5);
    c.add("falling-" + t, definition + "; sigma < 0", type, {-3, -1, 0, 1, 3}, 0, -1.5);
    c.add("special-" + t, "contract: NaN, infinities and zeros", type, {k_nan, k_inf, -k_inf, 0.0, -0.0},
          {"nan", fraction(1, 1), "0", half, half});
    c.add("gain-zero-" + t, "contract: sigma = 0 gives 0.5 for finite x, else NaN", type, {k_nan, k_inf, -k_inf, 3, -7},
          {"nan", "nan", "nan", half, half}, 0, 0);
    c.add("gain-infinite-" + t, "contract: infinite z, and Inf * 0 at x = mu", type, {2, 3, 4},
          {"0", "nan", fraction(1, 1)}, 3, k_inf);
    c.add("shift-nan-" + t, "contract: NaN in mu", type, {2, k_inf}, {"nan", "nan"}, k_nan);
    c.add("gain-nan-" + t, "contract: NaN in sigma", type, {2, 0}, {"nan", "nan"}, 0, k_nan);
    c.add("shift-infinite-" + t, "contract: Inf - Inf, and a shift of +Inf", type, {k_inf, 2, -k_inf},
          {"nan", "0", "0"}, k_inf);
  }
  c.add("tails", definition + "; results down to the smallest subnormal", dtype::f32,
        {-103.5, -95, -89, f32(-88.8), -60, -20, f32(-16.74), f32(-1e-8), f32(1e-8), f32(16.74), f32(88.8), 1e4});
  c.add("tails-f16", definition + "; subnormal results", dtype::f16, {-17, -16, -12, -10, 9, 12});
  c.add("tails-bf16", definition + "; subnormal results", dtype::bf16, {-93, -92, -88, -60, 5, 12});
  c.add("next-to-the-shift", definition + "; x - mu is one spacing", dtype::f32, {std::nextafter(1e4f, 2e4f), 1e4}, 1e4,
        512);
  c.add("difference-overflows", "contract: x - mu beyond f32 counts as infinite", dtype::f32, {f32(3e38), f32(-3e38)},
        {fraction(1, 1), half}, f32(-3e38), f32(1e-38));
  // The published defects.
  c.add("field-negative", "field bug pytorch/xla#4311 (-5.96e-8 at -16.74); " + definition, dtype::f32,
        {f32(-16.74), -17, -16.5});
  c.add("field-zero-too-early", "field bug tt-metal#26211 (0 from -11); " + definition, dtype::f32,
        {-11, -12, -15, -30});
  c.add("field-no-shift", "field bug: the sign of the exponent; " + definition, dtype::f32, {3, -3});
  return c.take();
}

// Judges by x alone.
struct element_of_row {
  reference::sigmoid_model model;
  std::vector<double> x;
  reference::judgement judge(int64_t i, double actual) const { return model.judge(x[static_cast<size_t>(i)], actual); }
  std::string expected_text(int64_t i) const { return model.expected_text(x[static_cast<size_t>(i)]); }
};

std::vector<row_model> models(const engine::trial_case& c, const std::vector<double>& x) {
  const auto scalar = [&](const char* name, double fallback) {
    return c.knobs.count(name) ? *engine::parse_number(c.knobs.at(name)) : fallback;
  };
  const reference::sigmoid_model model(scalar("mu", 0), scalar("sigma", 1), c.at("y").type);
  return {element_model("y", static_cast<int64_t>(x.size()), element_of_row{model, x})};
}

const operator_golden data = row_golden("sigmoid", {dtype::f32, dtype::f16, dtype::bf16}, known_answers, models);

}  // namespace

operator_golden sigmoid_golden() { return data; }

}  // namespace warpcheck::golden
