// histogram: known answers that can be counted by hand, and the published field bugs that fit a small case.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "golden/answers.hpp"
#include "golden/check.hpp"
#include "golden/decimal.hpp"
#include "golden/format.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/histogram/histogram_problem.hpp"

namespace warpcheck::golden {
namespace {

using engine::recipe;
using engine::tensor_spec;

struct histogram_options {
  dtype bins = dtype::u8;
  int64_t cols = 1;
  std::vector<int64_t> rows = {};  // empty: all
  std::map<std::string, std::string> knobs = {};
  int64_t unit = 64;  // the sums are in units of 1 / unit
  bool quantised = false;
};

template <class T>
void list(golden_file& f, const tensor_spec& t, const std::vector<T>& values) {
  f.the_case.tensors.push_back(t);
  list_values(f, t.name, t.type, values);
}

class collection {
 public:
  // Bins row by row; g and h one per row, integers if they are quantised; their sums by slot.
  void add(std::string name, std::string source, std::string widths, const std::vector<int64_t>& bin,
           const std::vector<double>& g, const std::vector<double>& h, const std::vector<double>& sums_g,
           const std::vector<double>& sums_h, const histogram_options& o = {}) {
    golden_file& f = files_.emplace_back(answer_of("histogram", std::move(name), std::move(source), o.knobs));
    f.the_case.knobs["widths"] = std::move(widths);
    if (o.quantised) f.the_case.knobs["stage"] = "3";
    const auto count = static_cast<int64_t>(g.size()), listed = static_cast<int64_t>(o.rows.size());
    const recipe none = engine::make_recipe("constant", {0});
    list(f, engine::input_matrix("bins", o.bins, count, o.cols, none), bin);
    f.the_case.tensors.push_back(
        engine::input_matrix("cols", dtype::i64, o.cols, 2, engine::make_recipe("derived", {})));
    if (o.quantised) {
      std::vector<double> gh;
      for (size_t i = 0; i < g.size(); ++i) gh.insert(gh.end(), {g[i] < 0 ? g[i] + 65536 : g[i], h[i]});
      list(f, engine::input_matrix("gh", dtype::u16, count, 2, none), gh);
    } else {
      list(f, engine::input_vector("g", dtype::f32, count, none), g);
      list(f, engine::input_vector("h", dtype::f32, count, none), h);
    }
    if (listed > 0) list(f, engine::input_vector("rows", dtype::i32, listed, none), o.rows);
    f.the_case.tensors.push_back(
        engine::output_matrix("hist", o.quantised ? dtype::i64 : dtype::f64, static_cast<int64_t>(sums_g.size()), 2));
    expected_output& hist = f.outputs.emplace_back(expected_output{"hist", {}});
    for (size_t s = 0; s < sums_g.size(); ++s)
      for (const double sum : {sums_g[s], sums_h[s]})
        hist.values.push_back(o.quantised ? fmt::format("{}", static_cast<int64_t>(sum)) : quotient(sum, o.unit));
  }
  std::vector<golden_file> take() { return std::move(files_); }

 private:
  std::vector<golden_file> files_;
};

std::vector<double> zeros(size_t slots) { return std::vector<double>(slots); }

std::vector<double> with(std::vector<double> values, size_t at, double value) {
  values[at] = value;
  return values;
}

void add_counted(collection& c) {
  for (const dtype type : {dtype::u8, dtype::u16, dtype::u32}) {
    const std::string t(warpcheck::name_of(type));
    c.add("three-rows-" + t, "counted by hand", "3,2", {0, 1, 1, 1, 2, 0}, {1, -0.5, 0.25}, {1, 1, 1},
          {64, -32, 16, 16, 32}, {64, 64, 64, 64, 128}, {.bins = type, .cols = 2});
    c.add("first-bin-not-stored-" + t, "counted by hand; contract: bin 0 of a column with mfb_offset 1 has no slot",
          "3,2", {0, 1, 1, 0, 2, 1}, {2, 4, 8}, {0.5, 0.25, 0.125}, {0, 1024, 0, 1152, 0}, {0, 16, 0, 48, 0},
          {.bins = type, .cols = 2, .rows = {2, 0, 2}, .knobs = {{"mfb", "1"}, {"gap", "1"}}});
  }
  c.add("ties-of-the-grid", "contract: max_rows 2^40 and M = 1 give e = 12; halves go to the even integer", "5",
        {0, 1, 2, 3, 4}, {1, 0x1p-13, 0x3p-13, -0x1p-13, -0x3p-13}, {1, 0x5p-13, 0x5p-14, 0x3p-14, 0},
        {4096, 0, 2, 0, -2}, {4096, 2, 1, 1, 0}, {.knobs = {{"max_rows", "1099511627776"}}, .unit = 4096});
  c.add("what-is-not-finite", "contract: the slots of a row that is not finite, and only those, are NaN", "2",
        {0, 0, 1, 0, 0, 1}, {1, k_nan, 2}, {1, 1, k_inf}, {192, k_nan, k_nan, 128}, {k_nan, 64, 128, k_nan},
        {.cols = 2});
  c.add("negative-integers", "closed form: 3 x -32767 and 3 x 32767 cross a half of a packed word", "3", {0, 0, 0, 1},
        {-32767, -32767, -32767, -1}, {32767, 32767, 32767, 0}, {-98301, -1, 0}, {98301, 0, 0}, {.quantised = true});
}

void add_field_bugs(collection& c) {
  c.add("field-300-bins", "field bug LightGBM#7439 (more than 256 bins); counted by hand", "300", {299, 256, 255, 299},
        {1, 2, 3, 4}, {1, 1, 1, 1}, with(with(with(zeros(300), 299, 320), 256, 128), 255, 192),
        with(with(with(zeros(300), 299, 128), 256, 64), 255, 64), {.bins = dtype::u16});
  c.add("field-257-bins", "field bug LightGBM#7417 (256 bins work, 257 crash); counted by hand", "257",
        {256, 0, 255, 256}, {1, 2, 3, -4}, {1, 1, 1, 0.5}, with(with(with(zeros(257), 256, -192), 0, 128), 255, 192),
        with(with(with(zeros(257), 256, 96), 0, 64), 255, 64), {.bins = dtype::u16});
  c.add("field-256-bins", "field bug LightGBM#7417 (every value of a byte is a bin); counted by hand", "256",
        {255, 0, 255, 128}, {1, 2, 3, -4}, {1, 1, 1, 0.5}, with(with(with(zeros(256), 255, 256), 0, 128), 128, -256),
        with(with(with(zeros(256), 255, 128), 0, 64), 128, 32));
  c.add("field-quantised-no-rows", "field bugs LightGBM#5982, #5994, #6092 (an empty leaf of integer gradients)", "3,2",
        {}, {}, {}, zeros(5), zeros(5), {.cols = 2, .quantised = true});
}

void add_many_columns(collection& c) {
  // Rows in bins 0 and 1 of columns in turn, more columns than a tile takes; with 3 bins tiles do not pay for two rows.
  const std::vector<double> g = {-5, 3}, h = {2, 7};
  for (const size_t bins : {size_t{2}, size_t{3}}) {
    std::vector<int64_t> in_turn;
    std::vector<double> sums_g = zeros(70 * bins), sums_h = sums_g;
    for (size_t row = 0; row < 2; ++row)
      for (size_t col = 0; col < 70; ++col) {
        const size_t bin = (row + col) % 2;
        in_turn.push_back(static_cast<int64_t>(bin));
        sums_g[bins * col + bin] = g[row];
        sums_h[bins * col + bin] = h[row];
      }
    c.add(fmt::format("field-quantised-70-columns-{}-bins", bins),
          "field bug LightGBM#7261 (integer sums, wrong offset of a tile); counted by hand", fmt::format("{}", bins),
          in_turn, g, h, sums_g, sums_h, {.cols = 70, .quantised = true});
  }
  // A row in bin 1 of every column.
  std::vector<double> sums_g = zeros(1040), sums_h = sums_g;
  for (size_t slot = 1; slot < 1040; slot += 2) sums_g[slot] = -192, sums_h[slot] = 32;
  c.add("field-520-columns", "field bugs LightGBM#7122, #7256 (many columns of few bins); counted by hand", "2",
        std::vector<int64_t>(520, 1), {-3}, {0.5}, sums_g, sums_h, {.cols = 520});
}

std::vector<golden_file> known_answers() {
  collection c;
  add_counted(c);
  add_field_bugs(c);
  add_many_columns(c);
  return c.take();
}

std::vector<std::string> disagreements(const golden_file& f) {
  const engine::trial_case c = replay_case(f);
  const histogram_problem p(c);
  const histogram_values expected = expected_values(c, p);
  const expected_output* golden = f.output("hist");
  std::vector<std::string> found;
  for (size_t i = 0; golden && i < golden->values.size(); ++i) {
    const double model = expected.part[i % 2][i / 2];
    const std::string& text = golden->values[i];
    const double value = p.gh ? static_cast<double>(std::stoll(text)) : nearest_double(text);
    if (!reference::judge_fixed(dtype::f64, value, model).accepted)
      found.push_back(fmt::format("hist[{},{}]: the file has {}, the reference {:.17g}", i / 2, i % 2, text, model));
  }
  return found;
}

const engine::property_registration registration([] {
  engine::property p = golden_property("histogram", {dtype::u8, dtype::u16, dtype::u32}, known_answers,
                                       [](engine::trial& t) { ask_judged(t, histogram_problem(t)); });
  p.sentence = "sums counted by hand and published field bugs come out to the bit";
  p.share_percent = 25;
  return std::vector{std::move(p)};
}());

}  // namespace

operator_golden histogram_golden() { return {"histogram", known_answers, disagreements}; }

}  // namespace warpcheck::golden
