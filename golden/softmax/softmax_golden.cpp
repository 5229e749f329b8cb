// softmax: known answers with closed forms, the published field bugs that fit a small case, and what the reference says
// of any golden file. Exact values come from a formula that is not the reference's: the sum of unshifted exponentials,
// or a closed form.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "golden/check.hpp"
#include "golden/decimal.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/trials/property.hpp"
#include "reference/softmax/softmax.hpp"

namespace warpcheck::golden {
namespace {

using engine::host_tensor;
using engine::recipe;
using engine::tensor_spec;

constexpr int k_digits = 40;
constexpr double k_inf = std::numeric_limits<double>::infinity();
const double k_nan = std::numeric_limits<double>::quiet_NaN();
constexpr double k_f32_max = std::numeric_limits<float>::max();

std::string part(int64_t p, int64_t q) { return fraction(p, q, k_digits); }

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
  r.index = std::max_element(r.x.begin(), r.x.end()) - r.x.begin();
  const double top = r.x[static_cast<size_t>(r.index)];
  const auto k = std::count(r.x.begin(), r.x.end(), top);
  for (const double v : r.x) r.y.push_back(v == top ? part(1, k) : "0");
  return r;
}

// Any row of finite values of moderate size and -Inf: y_i = e^(x_i) / sum_k e^(x_k), by the definition, without a
// shift. 100 digits hold every term, because none is lost in a range of exponents of 10^(+-67108864).
row direct_row(std::vector<double> x) {
  row r{std::move(x), {}, 0};
  r.index = std::max_element(r.x.begin(), r.x.end()) - r.x.begin();
  std::vector<real> terms;
  real sum = 0;
  for (const double v : r.x) {
    terms.push_back(std::isinf(v) ? real(0) : real(exp(real(v))));
    sum += terms.back();
  }
  for (const real& term : terms) r.y.push_back(term == 0 ? "0" : rounded(term / sum, k_digits));
  return r;
}

// x_i = -step * i (shifted by `top`): a geometric series, y_i = q^i (1 - q) / (1 - q^n), q = e^(-step).
row geometric_row(int64_t n, double step, double top) {
  row r;
  const real q = exp(real(-step)), scale = (1 - q) / (1 - pow(q, static_cast<int>(n)));
  real term = 1;
  for (int64_t i = 0; i < n; ++i, term *= q) {
    r.x.push_back(top - step * static_cast<double>(i));
    r.y.push_back(rounded(term * scale, k_digits));
  }
  return r;
}

// The series the other way round: the maximum is the last element.
row reversed(row r) {
  std::reverse(r.x.begin(), r.x.end());
  std::reverse(r.y.begin(), r.y.end());
  r.index = static_cast<int64_t>(r.x.size()) - 1 - r.index;
  return r;
}

// One `top`, n - 1 times `top - gap`: y = 1 / (1 + (n-1) e^(-gap)) at `at`, e^(-gap) times that elsewhere.
row peak_row(int64_t n, int64_t at, double top, double gap) {
  row r;
  r.index = at;
  const real tail = exp(real(-gap)), peak = 1 / (1 + (n - 1) * tail);
  const std::string high = rounded(peak, k_digits), low = rounded(peak * tail, k_digits);
  for (int64_t i = 0; i < n; ++i) {
    r.x.push_back(i == at ? top : top - gap);
    r.y.push_back(i == at ? high : low);
  }
  return r;
}

// ---- cases ----

struct layout {
  int64_t ldx = 0, ldy = 0;  // 0: the row length
  int64_t offset_x = 0, offset_y = 0;
  bool in_place = false;
  bool with_index = true;
};

recipe fill(std::string distribution, std::vector<double> arguments) {
  recipe r;
  r.distribution = std::move(distribution);
  r.arguments = std::move(arguments);
  return r;
}

class collection {
 public:
  // Values are listed in the file.
  void add(std::string name, std::string source, dtype type, std::vector<row> rows, layout l = {}) {
    golden_file& f = add_case(std::move(name), std::move(source), type, rows, fill("constant", {0}), l);
    listed_input listed{"x", {}};
    for (const row& r : rows)
      for (const double v : r.x) listed.bits.push_back(engine::encode(type, v));
    f.inputs.push_back(std::move(listed));
    require_input(f, rows);
  }

  // Values are made by a recipe, which must make the rows' values.
  void add(std::string name, std::string source, dtype type, std::vector<row> rows, recipe x, layout l = {}) {
    const golden_file& f = add_case(std::move(name), std::move(source), type, rows, std::move(x), l);
    require_input(f, rows);
  }

  std::vector<golden_file> take() { return std::move(files_); }

 private:
  golden_file& add_case(std::string name, std::string source, dtype type, const std::vector<row>& rows, recipe x,
                        const layout& l) {
    const auto count = static_cast<int64_t>(rows.size()), cols = static_cast<int64_t>(rows.front().x.size());
    golden_file f;
    f.what = kind::known_answer;
    f.op = "softmax";
    f.name = std::move(name);
    f.generator = "golden/softmax/softmax_golden.cpp";
    f.source = std::move(source);
    f.digits = k_digits;
    f.the_case.op = f.op;
    f.the_case.property = "golden";
    tensor_spec input = engine::input_matrix("x", type, count, cols, std::move(x));
    tensor_spec output = engine::output_matrix("y", type, count, cols);
    input.ld = l.ldx ? l.ldx : cols;
    input.offset = l.offset_x;
    output.ld = l.in_place ? input.ld : l.ldy ? l.ldy : cols;
    output.offset = l.in_place ? input.offset : l.offset_y;
    if (l.in_place) output.in_place = "x";
    f.the_case.tensors = {std::move(input), std::move(output)};
    expected_output y{"y", {}}, index{"index", {}};
    for (const row& r : rows) {
      y.values.insert(y.values.end(), r.y.begin(), r.y.end());
      index.values.push_back(fmt::format("{}", r.index));
    }
    f.outputs.push_back(std::move(y));
    if (l.with_index) {
      f.the_case.tensors.push_back(engine::output_vector("index", dtype::i64, count));
      f.outputs.push_back(std::move(index));
    }
    return files_.emplace_back(std::move(f));
  }

  // The answers belong to the rows' values: they must be exact in the type, and what the file makes of them.
  static void require_input(const golden_file& f, const std::vector<row>& rows) {
    const host_tensor x = engine::materialize(replay_case(f).at("x"));
    for (size_t r = 0; r < rows.size(); ++r)
      for (size_t i = 0; i < rows[r].x.size(); ++i) {
        const double made = x.value(static_cast<int64_t>(r), static_cast<int64_t>(i)), meant = rows[r].x[i];
        if (made != meant && !(std::isnan(made) && std::isnan(meant)))
          throw engine::usage_error(
              fmt::format("{}: x[{},{}] is {:a}, the answer belongs to {:a}", f.name, r, i, made, meant));
      }
  }

  std::vector<golden_file> files_;
};

std::vector<double> repeated(double value, int64_t n) { return std::vector<double>(static_cast<size_t>(n), value); }

std::vector<double> with(std::vector<double> x, size_t at, double value) {
  x[at] = value;
  return x;
}

double f32(double value) { return static_cast<float>(value); }

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
          fill("constant", {-most}));
    c.add("largest-finite-" + t, tie, type, {shared_row(repeated(most, 33))}, fill("constant", {most}));
    c.add("extremes-" + t, "closed form: e^(-2 max) is below 1e-9999", type, {peak_row(3, 1, most, 2 * most)});
    c.add("thirds-" + t, tie, type, {shared_row({1, -k_inf, 1, -k_inf, 1}), shared_row({-k_inf, -2, -2, -2, -k_inf})},
          {.ldx = 8, .ldy = 6});
    c.add("zeros-of-both-signs-" + t, "closed form: +0 and -0 are equal: 1/n", type,
          {shared_row({0.0, -0.0, 0.0}), shared_row({-0.0, 0.0, -0.0})});
    c.add("integers-" + t, series, type, {geometric_row(9, 1, 0), reversed(geometric_row(9, 1, 4))});
    c.add("in-place-" + t, series, type, {geometric_row(5, 0.5, 1), geometric_row(5, 2, 0)},
          {.ldx = 7, .offset_x = 3, .in_place = true});
    c.add("all-minus-infinity-" + t, "contract: all -Inf gives NaN, index 0", type,
          {undefined_row(repeated(-k_inf, 5), 0)}, fill("constant", {-k_inf}));
    c.add(
        "nan-places-" + t, "contract: a NaN makes the row NaN, index of the first", type,
        {undefined_row({k_nan, 1, 2, 3}, 0), undefined_row({1, k_nan, 2, k_nan}, 1), undefined_row({1, 2, 3, k_nan}, 3),
         undefined_row({k_inf, -k_inf, k_nan, k_inf}, 2), undefined_row(repeated(k_nan, 4), 0)});
    c.add("infinity-places-" + t, "contract: +Inf makes the row NaN, index of the first", type,
          {undefined_row({k_inf, 1, 2}, 0), undefined_row({1, 2, k_inf}, 2), undefined_row({-k_inf, k_inf, k_inf}, 1)});
  }
  c.add("tail-of-30", two, dtype::f32, {peak_row(2, 0, 0, 30)});
  c.add("tail-without-index", two, dtype::f32, {peak_row(2, 1, 7, 30)}, {.with_index = false});
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
        {peak_row(1024, 0, 0, -f32(-16.64))}, fill("stagnation", {0, f32(-16.64)}));
  c.add("stagnation-last", two + "; the maximum comes last", dtype::f32, {peak_row(257, 256, 0, -f32(-16.64))},
        fill("stagnation", {256, f32(-16.64)}));
  c.add("ascending-1025", series + "; the running maximum rises at every step", dtype::f32,
        {reversed(geometric_row(1025, 0.125, 128))}, fill("ascending", {0, 128}));
  c.add("descending-129", series, dtype::f32, {geometric_row(129, 0.25, 0)}, fill("descending", {-32, 0}));
  for (const int64_t n : {2, 31, 32, 33, 63, 64, 65, 128, 255, 256, 257, 1000})
    c.add(fmt::format("ones-{}", n), "closed form: n equal elements give 1/n", dtype::f32, {shared_row(repeated(1, n))},
          fill("constant", {1}));
  for (const int64_t n : {33, 100, 257})
    c.add(fmt::format("spike-last-{}", n), two + ": 1 and +0 in f32", dtype::f32, {peak_row(n, n - 1, 0, 200)},
          fill("spike", {static_cast<double>(n - 1), 0, -200}));
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
        std::vector<row>(67, reversed(geometric_row(5, 1, 0))), fill("ascending", {-4, 0}));
  c.add("field-rows-of-9", "field bug tensorflow#61639 (rows of 9)" + series, dtype::f32,
        std::vector<row>(33, reversed(geometric_row(9, 1, 0))), fill("ascending", {-8, 0}));
  for (const int64_t n : {33, 35, 47})
    c.add(fmt::format("field-odd-row-{}", n), "field bug Paddle#52952 (odd row lengths above 32)" + two, dtype::f32,
          {peak_row(n, n - 1, 0, 3), peak_row(n, 32, 0, 3)});
  c.add("field-row-of-517", "field bug pytorch#143644 (n = 517)" + two, dtype::f32, {peak_row(517, 516, 4, 9)},
        fill("spike", {516, 4, -5}));
  c.add("field-lost-sums", "field bug neon#171 (0.1-0.2 % of the sums wrong): n equal elements" + tie, dtype::f32,
        std::vector<row>(8, shared_row(repeated(-1, 200))), fill("constant", {-1}));
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

// ---- the reference against a file ----

std::vector<std::string> disagreements(const golden_file& f) {
  const engine::trial_case c = replay_case(f);
  const host_tensor x = engine::materialize(c.at("x"));
  const tensor_spec& y = c.at("y");
  const expected_output& golden = *f.output("y");
  const expected_output* index = f.output("index");
  std::vector<std::string> found;
  constexpr int reference_digits = 20;  // of softmax_row::expected_text
  for (int64_t r = 0; r < x.spec.rows(); ++r) {
    const std::vector<double> values = x.row(r);
    const reference::softmax_row model(values, y.type);
    for (int64_t i = 0; i < x.spec.cols(); ++i) {
      const std::string& exact = golden.values[static_cast<size_t>(r * x.spec.cols() + i)];
      if (const std::string text = model.expected_text(i); !agrees(exact, f.digits, text, reference_digits)) {
        found.push_back(fmt::format("y[{},{}]: the file has {}, the reference {}", r, i, exact, text));
        continue;
      }
      // The nearest value of the output's type is what a perfect kernel returns: it must pass.
      const double nearest = engine::decode(y.type, engine::encode(y.type, nearest_double(exact)));
      if (const reference::judgement j = model.judge(i, nearest); !j.accepted)
        found.push_back(fmt::format("y[{},{}]: the reference rejects {:a}, the nearest {} of {}", r, i, nearest,
                                    warpcheck::name_of(y.type), exact));
    }
    if (!index) continue;
    const std::string first = fmt::format("{}", model.argmax());
    if (const std::string& exact = index->values[static_cast<size_t>(r)]; exact != first)
      found.push_back(fmt::format("index[{}]: the file has {}, the reference {}", r, exact, first));
  }
  return found;
}

// ---- the property ----

// A known answer as a case of the target.
engine::trial_case draw_answer(const engine::target& t, engine::draw& d) {
  static const std::vector<golden_file> answers = known_answers();
  std::vector<const golden_file*> of_type;
  for (const golden_file& f : answers)
    if (f.the_case.at("x").type == t.type) of_type.push_back(&f);
  const auto pick = static_cast<size_t>(d.index()) % of_type.size();
  return candidate_case(*of_type[pick], t.device, t.candidate);
}

// The reference judges: `disagreements` ties it to the files.
void check_golden(engine::trial& t) {
  const engine::run_result result = t.run();
  const host_tensor& x = t.input("x");
  const host_tensor& y = result.at("y");
  for (int64_t r = 0; r < x.spec.rows(); ++r) {
    const std::vector<double> values = x.row(r);
    const reference::softmax_row model(values, y.spec.type);
    for (int64_t i = 0; i < x.spec.cols(); ++i) {
      const reference::judgement j = model.judge(i, y.value(r, i));
      t.judge("y", r, i, x.value(r, i), y.value(r, i), j, [&] { return model.expected_text(i); });
    }
    if (!t.the_case().find("index")) continue;
    const auto index = static_cast<int64_t>(result.at("index").bits(0, r));
    t.require(index == model.argmax(), "index[{}] is {}, expected {}", r, index, model.argmax());
  }
}

const engine::property_registration registration([] {
  engine::property p;
  p.op = "softmax";
  p.name = "golden";
  p.optional_outputs = {"index"};
  p.sentence = "closed forms and published field bugs come out within the bound";
  p.types = {dtype::f32, dtype::f16, dtype::bf16};
  p.generate = draw_answer;
  p.check = check_golden;
  return std::vector{std::move(p)};
}());

}  // namespace

operator_golden softmax_golden() { return {"softmax", known_answers, disagreements}; }

}  // namespace warpcheck::golden
