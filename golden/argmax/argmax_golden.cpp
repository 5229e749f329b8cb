// argmax: known answers and the published field bugs that fit a small case.
#include <algorithm>

#include "golden/row_golden.hpp"
#include "reference/argmax/argmax.hpp"

namespace warpcheck::golden {
namespace {

// A row and the index of its largest element, written down by hand.
struct row {
  std::vector<double> x;
  int64_t index;
};

class collection : public row_answers {
 public:
  collection() : row_answers("argmax") {}
  void add(std::string name, std::string source, dtype type, const std::vector<row>& rows, row_layout l = {}) {
    const auto index = texts_of(rows, [](const row& r) { return std::to_string(r.index); });
    row_answers::add(std::move(name), std::move(source), type, inputs_of(rows), {{"index", dtype::i64, false, index}},
                     l);
  }
};

std::vector<golden_file> known_answers() {
  collection c;
  const std::string tie = "contract: the lowest index of the largest element";
  const std::string nan = "contract: NaN is larger than +Inf, the first one wins";
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
    const std::string t(warpcheck::name_of(type));
    const double most = type == dtype::f32 ? 0x1.fffffep+127 : type == dtype::f16 ? 65504.0 : 0x1.fep+127;
    const double least = type == dtype::f32 ? 0x1p-149 : type == dtype::f16 ? 0x1p-24 : 0x1p-133;
    c.add("single-" + t, "contract: a row of one element has index 0", type,
          {{{3.25}, 0}, {{-k_inf}, 0}, {{k_nan}, 0}, {{-0.0}, 0}}, {.offset_x = 1});
    c.add("ties-" + t, tie, type, {{{1, 2, 2, 1, 2}, 1}, {{5, 5, 5, 5, 5}, 0}, {{-3, -2, -1, -1, -1}, 2}}, {.ldx = 7});
    c.add("zeros-" + t, "contract: -0 and +0 are equal", type,
          {{{-0.0, 0.0, -0.0}, 0}, {{0.0, -0.0, 0.0}, 0}, {{-1, -0.0, 0.0}, 1}, {{-0.0, 0.0, least}, 2}});
    c.add("lowest-" + t, "contract: -Inf is taken only where there is nothing else", type,
          {{repeated(-k_inf, 6), 0},
           {repeated(-most, 6), 0},
           {with(repeated(-k_inf, 6), 5, -most), 5},
           {with(repeated(-most, 6), 4, -k_inf), 0}});
    c.add(
        "nan-places-" + t, nan, type,
        {{{k_nan, 1, k_inf, 3}, 0}, {{1, k_nan, 2, k_nan}, 1}, {{k_inf, k_inf, 2, k_nan}, 3}, {repeated(k_nan, 4), 0}});
    c.add("infinity-places-" + t, "contract: the first +Inf", type,
          {{{k_inf, 1, k_inf}, 0}, {{most, most, k_inf}, 2}, {{-k_inf, k_inf, k_inf}, 1}});
  }
  c.add("subnormals", tie, dtype::f32,
        {{{0x1p-149, 0x1p-148, 0x1p-148, -0x1p-126}, 1}, {{-0x1p-149, 0, 0, 0x1p-149}, 3}});
  for (const int64_t n : {31, 32, 33, 127, 128, 129, 255, 256, 257, 1000})
    c.add("last-" + std::to_string(n), tie, dtype::f32,
          {{with(repeated(-1, n), static_cast<size_t>(n - 1), 2), n - 1}, {repeated(-1, n), 0}});
  // The published defects, as small as they get.
  c.add("field-tie-rule", "field bug pytorch#42004 (which of two equal maxima); " + tie, dtype::f32,
        {{with(with(repeated(0, 300), 1, 2), 256, 2), 1},
         {with(with(repeated(0, 300), 31, 2), 32, 2), 31},
         {with(with(repeated(0, 300), 255, 2), 257, 2), 255}});
  c.add("field-argmax-and-nan", "field bug jax#6764, OneFlow#7606 (argmax and NaN); " + nan, dtype::f32,
        {{with(with(repeated(5, 70), 69, k_nan), 33, k_nan), 33}, {with(repeated(k_inf, 70), 64, k_nan), 64}});
  std::vector<row> columns;
  for (int i = 0; i < 40; ++i) columns.push_back({{static_cast<double>(i - 20)}, 0});
  c.add("field-one-column", "field bug pytorch#38922, pytorch#40022 (N x 1); contract: index 0", dtype::f32, columns);
  c.add("field-sentinel", "field bug reported as XPU pull request 5022 (finite sentinel); " + nan, dtype::f32,
        {{{-0x1.fffffep+127, k_nan, -0x1.fffffep+127}, 1},
         {{-k_inf, -k_inf, k_nan}, 2},
         {repeated(-0x1.fffffep+127, 3), 0}});
  return c.take();
}

std::vector<row_model> models(const engine::trial_case&, const std::vector<double>& x) {
  return {index_model(reference::argmax(x))};
}

const operator_golden data = row_golden("argmax", {dtype::f32, dtype::f16, dtype::bf16}, known_answers, models);

}  // namespace

operator_golden argmax_golden() { return data; }

}  // namespace warpcheck::golden
