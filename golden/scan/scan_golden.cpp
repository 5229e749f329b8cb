// scan: known answers with closed forms, and the published field bugs that fit a small case.
#include "reference/scan/scan.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "golden/decimal.hpp"
#include "golden/row_golden.hpp"

namespace warpcheck::golden {
namespace {

using reference::prefix;

constexpr double k_f32_max = 0x1.fffffep+127;

// Rows with their inclusive prefixes as text; the exclusive ones follow.
struct row {
  std::vector<double> x;
  std::vector<std::string> inclusive;
};

// A row and its prefixes, written down by hand as multiples of 1/8.
row known(std::vector<double> x, const std::vector<double>& inclusive) {
  row r{std::move(x), {}};
  for (const double v : inclusive) r.inclusive.push_back(quotient(v * 8, 8));
  return r;
}

class collection : public row_answers {
 public:
  collection() : row_answers("scan") {}
  // A file per kind of prefix.
  void add(const std::string& name, const std::string& source, dtype type, const std::vector<row>& rows,
           const row_layout& l = {}) {
    const auto exclusive = [](const row& r) {
      std::vector<std::string> y = {"0"};
      y.insert(y.end(), r.inclusive.begin(), r.inclusive.end() - 1);
      return y;
    };
    const auto x = inputs_of(rows);
    row_answers::add("inclusive-" + name, source, type, x, {{"y", type, true, texts_of(rows, &row::inclusive)}}, l);
    row_answers::add("exclusive-" + name, source, type, x, {{"y", type, true, texts_of(rows, exclusive)}}, l,
                     {{"kind", "1"}});
  }
};

// 1, 1, ...: prefix i is i + 1.
row ones(int64_t n, dtype type) {
  row r{repeated(1, n), {}};
  for (int64_t i = 1; i <= n; ++i) r.inclusive.push_back(is_float(type) ? fraction(i, 1) : std::to_string(i));
  return r;
}

// 1, 2, ...: prefix i is (i + 1)(i + 2) / 2.
row integers(int64_t n, dtype type) {
  row r;
  for (int64_t i = 1; i <= n; ++i) {
    r.x.push_back(static_cast<double>(i));
    const int64_t sum = i * (i + 1) / 2;
    r.inclusive.push_back(is_float(type) ? fraction(sum, 1) : std::to_string(sum));
  }
  return r;
}

std::vector<golden_file> known_answers() {
  collection c;
  for (const dtype type : {dtype::f32, dtype::f64}) {
    const std::string t(warpcheck::name_of(type));
    c.add("single-" + t, "contract: a row of one element is its own inclusive prefix", type,
          {known({3.25}, {3.25}), known({-k_inf}, {-k_inf}), known({k_nan}, {k_nan})}, {.offset_x = 1});
    c.add("specials-" + t, "contract: specials are causal", type,
          {known({1, k_nan, 2, k_inf, 3}, {1, k_nan, k_nan, k_nan, k_nan}),
           known({1, 2, k_inf, 4, 5}, {1, 3, k_inf, k_inf, k_inf}),
           known({-k_inf, 1, 2, k_inf, 5}, {-k_inf, -k_inf, -k_inf, k_nan, k_nan}),
           known({0.125, -0.125, 1, -k_inf, 5}, {0.125, 0, 1, -k_inf, -k_inf})},
          {.offset_x = 3, .offset_y = 1});
    c.add("cancelling-" + t, "closed form: every second prefix cancels", type,
          {known({1, -1, 5, -5, 0.125, -0.125}, {1, 0, 5, 0, 0.125, 0})}, {.in_place = true});
    c.add("large-beside-small-" + t, "closed form", type, {known({4096, 1, -4096, 1, 0, 0}, {4096, 4097, 1, 2, 2, 2})});
  }
  for (const dtype type : {dtype::f32, dtype::f64, dtype::i64}) {
    const std::string t(warpcheck::name_of(type));
    for (const int64_t n : {31, 32, 33, 64, 128, 129, 1024, 1025})
      c.add(fmt::format("ones-{}-{}", n, t), "closed form: prefix i of ones is i + 1", type, {ones(n, type)});
    c.add("integers-" + t, "closed form: n (n + 1) / 2", type, {integers(100, type), integers(100, type)});
  }
  c.add("wraps", "contract: integers wrap modulo 2^64; closed form", dtype::i64,
        {{{0x1p62, 0x1p62, 0x1p62, 0x1p62, 1, -1},
          {"4611686018427387904", "-9223372036854775808", "-4611686018427387904", "0", "1", "0"}},
         {{-0x1p63, -1, 1, -0x1p63, -2, 3},
          {"-9223372036854775808", "9223372036854775807", "-9223372036854775808", "0", "-2", "1"}}});
  c.add(
      "may-overflow", "closed form: the largest f32 twice is cancelled", dtype::f32,
      {{{1, k_f32_max / 2, -k_f32_max / 2, 2}, {"1e0", "1.70141173319264429905852091742258462721e38", "1e0", "3e0"}}});
  // The published defects, as small as they get.
  c.add("field-lane-0-of-later-warps",
        "field bug LightGBM#7401 (exclusive scan reads before its scratch in lane 0 of later warps); closed form",
        dtype::f32, {integers(257, dtype::f32)});
  c.add("field-more-than-256", "field bug LightGBM#7439 (scan of more than 256 bins); closed form", dtype::f64,
        {integers(600, dtype::f64)});
  return c.take();
}

// Every index below the row's length has one right answer.
row_model integer_model(prefix kind, const std::vector<double>& x) {
  std::vector<uint64_t> bits;
  for (const double v : x) bits.push_back(engine::encode(dtype::i64, v));
  const auto y = std::make_shared<const std::vector<uint64_t>>(reference::scan_integers(kind, bits));
  const auto at = [y](int64_t i) { return static_cast<int64_t>((*y)[static_cast<size_t>(i)]); };
  return {"y", static_cast<int64_t>(x.size()), [at](int64_t i) { return fmt::format("{}", at(i)); },
          [at](int64_t i, double actual) {
            return reference::judge_fixed(dtype::f64, actual, static_cast<double>(at(i)));
          }};
}

std::vector<row_model> models(const engine::trial_case& c, const std::vector<double>& x) {
  const prefix kind = c.knobs.count("kind") && c.knobs.at("kind") == "1" ? prefix::exclusive : prefix::inclusive;
  const dtype type = c.at("x").type;
  if (!is_float(type)) return {integer_model(kind, x)};
  return {element_model("y", static_cast<int64_t>(x.size()), reference::scan_row(kind, x, type))};
}

const operator_golden data = row_golden("scan", {dtype::f32, dtype::f64, dtype::i64}, known_answers, models);

}  // namespace

operator_golden scan_golden() { return data; }

}  // namespace warpcheck::golden
