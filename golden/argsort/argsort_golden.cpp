// argsort: known answers and the published field bugs that fit a small case.
#include <algorithm>
#include <memory>

#include "golden/row_golden.hpp"
#include "reference/argsort/argsort.hpp"

namespace warpcheck::golden {
namespace {

// A row with its columns in ascending and in descending order, written down by hand.
struct row {
  std::vector<double> x;
  std::vector<int64_t> up, down;
};

class collection : public row_answers {
 public:
  collection() : row_answers("argsort") {}
  // A file per direction: ascending with indices of 32 bits, descending of 64.
  void add(const std::string& name, const std::string& source, const std::vector<row>& rows, const row_layout& l = {}) {
    const auto columns_of = [](const std::vector<int64_t>& columns) {
      std::vector<std::string> texts;
      for (const int64_t c : columns) texts.push_back(std::to_string(c));
      return texts;
    };
    const auto x = inputs_of(rows);
    const auto up = texts_of(rows, [&](const row& r) { return columns_of(r.up); });
    const auto down = texts_of(rows, [&](const row& r) { return columns_of(r.down); });
    row_answers::add("ascending-" + name, source, dtype::f32, x, {{"index", dtype::i32, true, up}}, l);
    row_answers::add("descending-" + name, source, dtype::f32, x, {{"index", dtype::i64, true, down}}, l,
                     {{"order", "1"}});
  }
};

// first, first + step, ... (count numbers).
std::vector<int64_t> columns(int64_t first, int64_t count, int64_t step = 1) {
  std::vector<int64_t> c;
  for (int64_t i = 0; i < count; ++i) c.push_back(first + i * step);
  return c;
}

std::vector<int64_t> joined(std::vector<int64_t> a, const std::vector<int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<double> numbers(const std::vector<int64_t>& c) { return {c.begin(), c.end()}; }

std::vector<golden_file> known_answers() {
  collection c;
  const std::string stable = "contract: equal keys by ascending column in both directions";
  c.add("single", "contract: one column is column 0", {{{3.25}, {0}, {0}}, {{k_nan}, {0}, {0}}, {{-k_inf}, {0}, {0}}},
        {.offset_x = 1});
  c.add("ties", stable,
        {{{2, 1, 2, 1, 2}, {1, 3, 0, 2, 4}, {0, 2, 4, 1, 3}}, {repeated(5, 5), columns(0, 5), columns(0, 5)}});
  c.add("zeros", "contract: -0 equals +0",
        {{{0.0, -0.0, 0.0, -0.0}, columns(0, 4), columns(0, 4)}, {{-0.0, 1, 0.0, -1}, {3, 0, 2, 1}, {1, 0, 2, 3}}},
        {.offset_y = 3});
  c.add("nan-last", "contract: numbers before NaN in both directions",
        {{{k_nan, 1, k_inf, k_nan, -k_inf}, {4, 1, 2, 0, 3}, {2, 1, 4, 0, 3}},
         {repeated(k_nan, 5), columns(0, 5), columns(0, 5)},
         {{-k_inf, k_nan, -k_inf, k_inf, k_inf}, {0, 2, 3, 4, 1}, {3, 4, 0, 2, 1}}});
  c.add("ends-of-the-range", "contract: order of the keys",
        {{{0x1.fffffep+127, -0x1.fffffep+127, 0x1p-149, -0x1p-149, 0, k_inf, -k_inf},
          {6, 1, 3, 4, 2, 0, 5},
          {5, 0, 2, 4, 3, 1, 6}}});
  for (const int64_t n : {31, 32, 33, 64, 127, 128, 129, 255, 256, 257, 513, 1000, 1025}) {
    // Sorted, reversed, two values in turn.
    const std::vector<int64_t> forward = columns(0, n), backward = columns(n - 1, n, -1);
    const int64_t even = (n + 1) / 2;
    std::vector<double> turns;
    for (int64_t i = 0; i < n; ++i) turns.push_back(static_cast<double>(i % 2));
    const std::vector<int64_t> evens = columns(0, even, 2), odds = columns(1, n - even, 2);
    c.add("patterns-" + std::to_string(n), "closed form: sorted, reversed, two values in turn",
          {{numbers(forward), forward, backward},
           {numbers(backward), backward, forward},
           {turns, joined(evens, odds), joined(odds, evens)}});
  }
  // The published defects, as small as they get.
  c.add("field-column-258", "field bug LightGBM#7417 (257 items in a network of 256); closed form",
        {{with(numbers(columns(0, 258)), 257, -1), joined({257}, columns(0, 257)),
          joined(columns(256, 257, -1), {257})}});
  return c.take();
}

std::vector<row_model> models(const engine::trial_case& c, const std::vector<double>& x) {
  const bool descending = c.knobs.count("order") && c.knobs.at("order") == "1";
  const auto order = std::make_shared<const std::vector<int64_t>>(reference::argsort(x, descending));
  return {{"index", static_cast<int64_t>(x.size()),
           [order](int64_t i) { return std::to_string((*order)[static_cast<size_t>(i)]); },
           [order](int64_t i, double actual) {
             return reference::judge_fixed(dtype::f64, actual, static_cast<double>((*order)[static_cast<size_t>(i)]));
           }}};
}

const operator_golden data = row_golden("argsort", {dtype::f32}, known_answers, models);

}  // namespace

operator_golden argsort_golden() { return data; }

}  // namespace warpcheck::golden
