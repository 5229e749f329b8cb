// reduce: known answers with closed forms, and the published field bugs that fit a small case.
#include "reference/reduce/reduce.hpp"

#include <fmt/format.h>

#include <cmath>

#include "golden/decimal.hpp"
#include "golden/row_golden.hpp"

namespace warpcheck::golden {
namespace {

constexpr double k_f32_max = 0x1.fffffep+127;

// A row with its sum (as text: it need not be a number of the type), least and greatest element.
struct row {
  std::vector<double> x;
  std::string sum;
  double least, greatest;
};

class collection : public row_answers {
 public:
  collection() : row_answers("reduce") {}
  // A file per reduction. The extremes are multiples of 1/8.
  void add(const std::string& name, const std::string& source, dtype type, const std::vector<row>& rows,
           row_layout l = {}) {
    const std::vector<std::string> y[] = {texts_of(rows, &row::sum),
                                          texts_of(rows, [](const row& r) { return quotient(r.least * 8, 8); }),
                                          texts_of(rows, [](const row& r) { return quotient(r.greatest * 8, 8); })};
    constexpr const char* k_reductions[] = {"sum", "min", "max"};
    for (int op = 0; op < 3; ++op)
      row_answers::add(fmt::format("{}-{}", k_reductions[op], name), source, type, inputs_of(rows),
                       {{"y", type, false, y[op]}}, l, op == 0 ? knobs{} : knobs{{"op", std::to_string(op)}});
  }
  // The sum alone.
  void add_sum(const std::string& name, const std::string& source, dtype type, const std::vector<double>& x,
               std::string sum) {
    row_answers::add("sum-" + name, source, type, {x}, {{"y", type, false, {std::move(sum)}}});
  }
};

std::vector<double> integers(int64_t from, int64_t to) {
  std::vector<double> x;
  for (int64_t v = from; v <= to; ++v) x.push_back(static_cast<double>(v));
  return x;
}

std::vector<golden_file> known_answers() {
  collection c;
  for (const dtype type : {dtype::f32, dtype::f64}) {
    const std::string t(warpcheck::name_of(type));
    c.add("single-" + t, "contract: a row of one element is its own sum, least and greatest", type,
          {{{3.25}, fraction(13, 4), 3.25, 3.25}, {{-k_inf}, "-inf", -k_inf, -k_inf}, {{k_nan}, "nan", k_nan, k_nan}},
          {.offset_x = 1});
    c.add("nan-places-" + t, "contract: a NaN in the row gives NaN", type,
          {{{k_nan, 1, 2, 3}, "nan", k_nan, k_nan},
           {{1, 2, k_nan, k_inf}, "nan", k_nan, k_nan},
           {{-k_inf, 1, 2, k_nan}, "nan", k_nan, k_nan}},
          {.ldx = 7});
    c.add("infinities-" + t, "contract: infinities; both of them have no sum", type,
          {{{k_inf, 1, 2}, "+inf", 1, k_inf},
           {{1, -k_inf, 2}, "-inf", -k_inf, 2},
           {{-k_inf, 1, k_inf}, "nan", -k_inf, k_inf},
           {{-k_inf, -k_inf, -k_inf}, "-inf", -k_inf, -k_inf}});
    c.add("integers-" + t, "closed form: n (n + 1) / 2", type, {{integers(-3, 100), fraction(5044, 1), -3, 100}});
    c.add("cancelling-" + t, "closed form: every pair cancels", type,
          {{{1, -1, 5, -5, 0.125, -0.125}, "0", -5, 5}, {{4096, 1, -4096, 1, 0, 0}, fraction(2, 1), -4096, 4096}});
    for (const int64_t n : {31, 32, 33, 255, 256, 257, 1000})
      c.add(fmt::format("ones-{}-{}", n, t), "closed form: the sum of n ones is n", type,
            {{repeated(1, n), fraction(n, 1), 1, 1},
             {with(repeated(0, n), static_cast<size_t>(n - 1), -1), fraction(-1, 1), -1, 0}});
  }
  c.add_sum("zeros", "contract: a sum starts from +0", dtype::f32, {-0.0, -0.0, -0.0}, "0");
  c.add_sum("beyond-2-to-24", "closed form: 2^24 + 1 - 2^24 + ... is the number of ones", dtype::f32,
            {16777216, 1, -16777216, 1, 16777216, 1, -16777216, 1}, fraction(4, 1));
  std::vector<double> stagnation = with(repeated(0x1.fp-25, 1024), 0, 1);
  c.add_sum("stagnation", "closed form: 1 + 1023 * 31/2^29; one by one every term is lost", dtype::f32, stagnation,
            fraction((int64_t{1} << 29) + 1023 * 31, int64_t{1} << 29));
  c.add_sum("may-overflow", "closed form: the largest f32 twice is cancelled; a running sum may overflow", dtype::f32,
            {k_f32_max, -k_f32_max, 1, 2}, fraction(3, 1));
  // The published defects, as small as they get.
  c.add_sum("field-lost-sums", "field bug neon#171 (0.1-0.2 % of the sums wrong); closed form: n", dtype::f32,
            repeated(-1, 200), fraction(-200, 1));
  c.add_sum("field-odd-row-47", "field bug Paddle#52952 (odd row lengths above 32); closed form", dtype::f32,
            integers(1, 47), fraction(1128, 1));
  c.add_sum("field-row-of-517", "field bug pytorch#143644 (n = 517); closed form", dtype::f64, integers(1, 517),
            fraction(133903, 1));
  return c.take();
}

std::vector<row_model> models(const engine::trial_case& c, const std::vector<double>& x) {
  const auto op = static_cast<reference::reduction>(c.knobs.count("op") ? std::stoi(c.knobs.at("op")) : 0);
  return {scalar_model("y", reference::reduce_row(op, x, c.at("x").type))};
}

const operator_golden data = row_golden("reduce", {dtype::f32, dtype::f64}, known_answers, models);

}  // namespace

operator_golden reduce_golden() { return data; }

}  // namespace warpcheck::golden
