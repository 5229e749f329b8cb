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

struct histogram_answer {
  std::string name, source;
  dtype bins = dtype::u8;
  int64_t cols = 1;
  std::vector<int64_t> bin;        // row by row
  std::vector<double> g, h;        // one per row; for quantised integers
  std::vector<int64_t> rows = {};  // empty: all
  std::map<std::string, std::string> knobs;
  int64_t unit = 64;            // the sums in units of 1 / unit
  std::vector<double> sums[2];  // by slot; NaN for NaN
  bool quantised = false;
};

template <class T>
void list(golden_file& f, const tensor_spec& t, const std::vector<T>& values) {
  f.the_case.tensors.push_back(t);
  list_values(f, t.name, t.type, values);
}

golden_file file_of(const histogram_answer& a) {
  golden_file f = answer_of("histogram", a.name, a.source, a.knobs);
  if (a.quantised) f.the_case.knobs["stage"] = "3";
  const auto count = static_cast<int64_t>(a.g.size()), listed = static_cast<int64_t>(a.rows.size());
  const recipe none = engine::make_recipe("constant", {0});
  list(f, engine::input_matrix("bins", a.bins, count, a.cols, none), a.bin);
  f.the_case.tensors.push_back(engine::input_matrix("cols", dtype::i64, a.cols, 2, engine::make_recipe("derived", {})));
  if (a.quantised) {
    std::vector<double> gh;
    for (size_t i = 0; i < a.g.size(); ++i) {
      gh.push_back(a.g[i] < 0 ? a.g[i] + 65536 : a.g[i]);
      gh.push_back(a.h[i]);
    }
    list(f, engine::input_matrix("gh", dtype::u16, count, 2, none), gh);
  } else {
    list(f, engine::input_vector("g", dtype::f32, count, none), a.g);
    list(f, engine::input_vector("h", dtype::f32, count, none), a.h);
  }
  if (listed > 0) list(f, engine::input_vector("rows", dtype::i32, listed, none), a.rows);
  const auto slots = static_cast<int64_t>(a.sums[0].size());
  f.the_case.tensors.push_back(engine::output_matrix("hist", a.quantised ? dtype::i64 : dtype::f64, slots, 2));
  expected_output hist{"hist", {}};
  for (size_t s = 0; s < a.sums[0].size(); ++s)
    for (const auto& sums : a.sums)
      hist.values.push_back(a.quantised ? fmt::format("{}", static_cast<int64_t>(sums[s])) : quotient(sums[s], a.unit));
  f.outputs.push_back(std::move(hist));
  return f;
}

std::vector<double> zeros(size_t slots) { return std::vector<double>(slots); }

std::vector<double> with(std::vector<double> values, size_t at, double value) {
  values[at] = value;
  return values;
}

void add_counted(std::vector<golden_file>& files) {
  for (const dtype type : {dtype::u8, dtype::u16, dtype::u32}) {
    const std::string t(warpcheck::name_of(type));
    files.push_back(file_of({.name = "three-rows-" + t,
                             .source = "counted by hand",
                             .bins = type,
                             .cols = 2,
                             .bin = {0, 1, 1, 1, 2, 0},
                             .g = {1, -0.5, 0.25},
                             .h = {1, 1, 1},
                             .knobs = {{"widths", "3,2"}},
                             .sums = {{64, -32, 16, 16, 32}, {64, 64, 64, 64, 128}}}));
    files.push_back(file_of({.name = "first-bin-not-stored-" + t,
                             .source = "counted by hand; contract: bin 0 of a column with mfb_offset 1 has no slot",
                             .bins = type,
                             .cols = 2,
                             .bin = {0, 1, 1, 0, 2, 1},
                             .g = {2, 4, 8},
                             .h = {0.5, 0.25, 0.125},
                             .rows = {2, 0, 2},
                             .knobs = {{"widths", "3,2"}, {"mfb", "1"}, {"gap", "1"}},
                             .sums = {{0, 1024, 0, 1152, 0}, {0, 16, 0, 48, 0}}}));
  }
  files.push_back(file_of({.name = "ties-of-the-grid",
                           .source = "contract: max_rows 2^40 and M = 1 give e = 12; halves go to the even integer",
                           .bin = {0, 1, 2, 3, 4},
                           .g = {1, 0x1p-13, 0x3p-13, -0x1p-13, -0x3p-13},
                           .h = {1, 0x5p-13, 0x5p-14, 0x3p-14, 0},
                           .knobs = {{"widths", "5"}, {"max_rows", "1099511627776"}},
                           .unit = 4096,
                           .sums = {{4096, 0, 2, 0, -2}, {4096, 2, 1, 1, 0}}}));
  files.push_back(file_of({.name = "what-is-not-finite",
                           .source = "contract: the slots of a row that is not finite, and only those, are NaN",
                           .cols = 2,
                           .bin = {0, 0, 1, 0, 0, 1},
                           .g = {1, k_nan, 2},
                           .h = {1, 1, std::numeric_limits<double>::infinity()},
                           .knobs = {{"widths", "2"}},
                           .sums = {{192, k_nan, k_nan, 128}, {k_nan, 64, 128, k_nan}}}));
  files.push_back(file_of({.name = "negative-integers",
                           .source = "closed form: 3 x -32767 and 3 x 32767 cross a half of a packed word",
                           .bin = {0, 0, 0, 1},
                           .g = {-32767, -32767, -32767, -1},
                           .h = {32767, 32767, 32767, 0},
                           .knobs = {{"widths", "3"}},
                           .sums = {{-98301, -1, 0}, {98301, 0, 0}},
                           .quantised = true}));
}

void add_field_bugs(std::vector<golden_file>& files) {
  files.push_back(file_of({.name = "field-300-bins",
                           .source = "field bug LightGBM#7439 (more than 256 bins); counted by hand",
                           .bins = dtype::u16,
                           .bin = {299, 256, 255, 299},
                           .g = {1, 2, 3, 4},
                           .h = {1, 1, 1, 1},
                           .knobs = {{"widths", "300"}},
                           .sums = {with(with(with(zeros(300), 299, 320), 256, 128), 255, 192),
                                    with(with(with(zeros(300), 299, 128), 256, 64), 255, 64)}}));
  files.push_back(file_of({.name = "field-257-bins",
                           .source = "field bug LightGBM#7417 (256 bins work, 257 crash); counted by hand",
                           .bins = dtype::u16,
                           .bin = {256, 0, 255, 256},
                           .g = {1, 2, 3, -4},
                           .h = {1, 1, 1, 0.5},
                           .knobs = {{"widths", "257"}},
                           .sums = {with(with(with(zeros(257), 256, -192), 0, 128), 255, 192),
                                    with(with(with(zeros(257), 256, 96), 0, 64), 255, 64)}}));
  files.push_back(file_of({.name = "field-256-bins",
                           .source = "field bug LightGBM#7417 (every value of a byte is a bin); counted by hand",
                           .bin = {255, 0, 255, 128},
                           .g = {1, 2, 3, -4},
                           .h = {1, 1, 1, 0.5},
                           .knobs = {{"widths", "256"}},
                           .sums = {with(with(with(zeros(256), 255, 256), 0, 128), 128, -256),
                                    with(with(with(zeros(256), 255, 128), 0, 64), 128, 32)}}));
  files.push_back(file_of({.name = "field-quantised-no-rows",
                           .source = "field bugs LightGBM#5982, #5994, #6092 (an empty leaf of integer gradients)",
                           .cols = 2,
                           .bin = {},
                           .g = {},
                           .h = {},
                           .knobs = {{"widths", "3,2"}},
                           .sums = {zeros(5), zeros(5)},
                           .quantised = true}));
}

void add_many_columns(std::vector<golden_file>& files) {
  // Rows in bins 0 and 1 of columns in turn, more columns than a tile takes; with 3 bins tiles do not pay for two rows.
  for (const size_t bins : {size_t{2}, size_t{3}}) {
    histogram_answer wide{.name = fmt::format("field-quantised-70-columns-{}-bins", bins),
                          .source = "field bug LightGBM#7261 (integer sums, wrong offset of a tile); counted by hand",
                          .cols = 70,
                          .bin = {},
                          .g = {-5, 3},
                          .h = {2, 7},
                          .knobs = {{"widths", fmt::format("{}", bins)}},
                          .sums = {zeros(70 * bins), zeros(70 * bins)},
                          .quantised = true};
    for (size_t row = 0; row < 2; ++row)
      for (size_t c = 0; c < 70; ++c) {
        const size_t bin = (row + c) % 2;
        wide.bin.push_back(static_cast<int64_t>(bin));
        wide.sums[0][bins * c + bin] = wide.g[row];
        wide.sums[1][bins * c + bin] = wide.h[row];
      }
    files.push_back(file_of(wide));
  }
  // A row in bin 1 of every column.
  histogram_answer narrow{.name = "field-520-columns",
                          .source = "field bugs LightGBM#7122, #7256 (many columns of few bins); counted by hand",
                          .cols = 520,
                          .bin = std::vector<int64_t>(520, 1),
                          .g = {-3},
                          .h = {0.5},
                          .knobs = {{"widths", "2"}},
                          .sums = {zeros(1040), zeros(1040)}};
  for (size_t slot = 1; slot < 1040; slot += 2) {
    narrow.sums[0][slot] = -192;
    narrow.sums[1][slot] = 32;
  }
  files.push_back(file_of(narrow));
}

std::vector<golden_file> known_answers() {
  std::vector<golden_file> files;
  add_counted(files);
  add_field_bugs(files);
  add_many_columns(files);
  return files;
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
