// matmul: known answers with closed forms, and the published field bugs that fit a small case.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "golden/answers.hpp"
#include "golden/check.hpp"
#include "golden/decimal.hpp"
#include "golden/format.hpp"
#include "properties/matmul/matmul_problem.hpp"

namespace warpcheck::golden {
namespace {

using engine::tensor_spec;

using values = std::vector<double>;

// op(A) is m x k, op(B) k x n.
struct extents {
  int64_t m, n, k;
};

struct product_options {
  int64_t unit = 1;               // values of C are in units of 1/unit
  values before = {}, bias = {};  // none: beta is 0, no bias
  dtype type = dtype::f32, output = dtype::f32;
  std::map<std::string, std::string> knobs = {};
};

// A listed tensor, or one value everywhere as a recipe.
void add_input(golden_file& f, const std::string& name, dtype type, std::vector<int64_t> shape, const values& x) {
  tensor_spec t = engine::input_vector(name, type, 1, engine::make_recipe("constant", {x.size() == 1 ? x[0] : 0}));
  t.shape = std::move(shape);
  t.ld = t.cols();
  if (x.size() > 1) list_values(f, name, type, x);
  f.the_case.tensors.push_back(t);
}

class collection {
 public:
  // Values row by row, A and B as stored; one: everywhere.
  void add(std::string name, std::string source, const extents& of, const values& a, const values& b, const values& c,
           const product_options& o = {}) {
    golden_file& f = files_.emplace_back(answer_of("matmul", std::move(name), std::move(source), o.knobs));
    const bool ta = o.knobs.count("ta") > 0, tb = o.knobs.count("tb") > 0, has_before = !o.before.empty();
    add_input(f, "a", o.type, ta ? std::vector{of.k, of.m} : std::vector{of.m, of.k}, a);
    add_input(f, "b", o.type, tb ? std::vector{of.n, of.k} : std::vector{of.k, of.n}, b);
    add_input(f, "c_in", o.output, has_before ? std::vector{of.m, of.n} : std::vector<int64_t>{0, 0}, o.before);
    add_input(f, "bias", dtype::f32, {o.bias.empty() ? 0 : of.n}, o.bias);
    tensor_spec out = engine::output_matrix("c", o.output, of.m, of.n);
    if (has_before) out.in_place = "c_in";
    f.the_case.tensors.push_back(out);
    expected_output& expected = f.outputs.emplace_back(expected_output{"c", {}});
    for (int64_t i = 0; i < of.m * of.n; ++i)
      expected.values.push_back(quotient(c.size() == 1 ? c[0] : c[static_cast<size_t>(i)], o.unit));
  }
  std::vector<golden_file> take() { return std::move(files_); }

 private:
  std::vector<golden_file> files_;
};

// first, first + 1, ...
values counted(int64_t first, int64_t count) {
  values v;
  for (int64_t i = 0; i < count; ++i) v.push_back(static_cast<double>(first + i));
  return v;
}

void add_by_hand(collection& c) {
  const std::string by_hand = "multiplied by hand";
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
    const std::string t(warpcheck::name_of(type));
    // (1 2 3; 4 5 6) (7 8; 9 10; 11 12), stored in four ways.
    const values a = {1, 2, 3, 4, 5, 6}, at = {1, 4, 2, 5, 3, 6}, b = {7, 8, 9, 10, 11, 12}, bt = {7, 9, 11, 8, 10, 12};
    const values product = {58, 64, 139, 154};
    const auto add = [&](const std::string& stored, const values& x, const values& y,
                         std::map<std::string, std::string> knobs) {
      c.add("two-by-two-" + stored + "-" + t, by_hand, {2, 2, 3}, x, y, product,
            {.type = type, .knobs = std::move(knobs)});
    };
    add("nn", a, b, {});
    add("tn", at, b, {{"ta", "yes"}});
    add("nt", a, bt, {{"tb", "yes"}});
    add("tt", at, bt, {{"ta", "yes"}, {"tb", "yes"}});
    // -1/2 A B + 3/4 C + bias
    c.add("all-of-it-" + t, by_hand + ": -1/2 A B + 3/4 C + bias", {2, 2, 3}, a, b,
          {-116 + 3 + 8, -128 + 6 + 2, -278 - 3 + 8, -308 + 12 + 2},
          {.unit = 4,
           .before = {1, 2, -1, 4},
           .bias = {2, 0.5},
           .type = type,
           .knobs = {{"alpha", "-0.5"}, {"beta", "0.75"}}});
    c.add("sixteen-bit-result-" + t, by_hand, {2, 2, 3}, a, b, product, {.type = type, .output = type});
  }
}

void add_closed_forms(collection& c) {
  c.add("squares", "closed form n (n + 1) (2 n + 1) / 6", {1, 1, 100}, counted(1, 100), counted(1, 100), {338350});
  for (const int64_t side : {31, 32, 33, 63, 64, 65}) {
    // Row i of A is i + 1 everywhere, column j of B is j + 1.
    const extents of{side, 3, std::min(side + 1, 4096 / side)};
    values a, b, product;
    for (int64_t i = 0; i < of.m; ++i)
      for (int64_t l = 0; l < of.k; ++l) a.push_back(static_cast<double>(i + 1));
    for (int64_t l = 0; l < of.k; ++l)
      for (int64_t j = 0; j < of.n; ++j) b.push_back(static_cast<double>(j + 1));
    for (int64_t i = 0; i < of.m; ++i)
      for (int64_t j = 0; j < of.n; ++j) product.push_back(static_cast<double>(of.k * (i + 1) * (j + 1)));
    c.add(fmt::format("outer-{}", side), "closed form k (i + 1) (j + 1)", of, a, b, product);
  }
  for (const int64_t k : {0, 1, 64, 65, 129, 1300})
    c.add(fmt::format("ones-{}", k), "closed form k", {3, 5, k}, {1}, {1}, {static_cast<double>(k)});
}

void add_contract(collection& c) {
  c.add("nothing-but-bias", "contract: alpha = 0 reads neither A nor B", {2, 3, 2}, {k_nan}, {k_inf},
        {1, 2, -3, 1, 2, -3}, {.unit = 2, .bias = {0.5, 1, -1.5}, .knobs = {{"alpha", "0"}}});
  c.add("half", "contract: the logistic function of mu is 1/2", {2, 2, 3}, {1}, {2}, {1},
        {.unit = 2, .bias = {1}, .knobs = {{"sigmoid", "1"}, {"mu", "7"}, {"sigma", "-3"}}});
  c.add("infinite-layer", "contract: of +-Inf it is 1 and 0", {2, 1, 1}, {k_inf, -k_inf}, {1}, {1, 0},
        {.knobs = {{"sigmoid", "1"}}});
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16})
    c.add(fmt::format("specials-{}", warpcheck::name_of(type)),
          "contract: Inf times 0 and Inf - Inf are NaN, one sign stays", {4, 3, 2},
          {k_inf, 1, -k_inf, 2, k_nan, 0, 1, 2}, {1, 0, -2, 3, 4, k_inf},
          {k_inf, k_nan, k_nan, -k_inf, k_nan, k_inf, k_nan, k_nan, k_nan, 7, 8, k_inf}, {.type = type});
}

// Published defects of f32 that is less than f32, as small as they get, in each mode.
void add_field_bugs_of_modes(collection& c) {
  for (const std::string mode : {"ieee", "tf32x3", "bf16x6"}) {
    std::map<std::string, std::string> knobs;
    if (mode != "ieee") knobs["mode"] = mode;
    c.add("field-infinity-stays-" + mode, "field bugs rocm-libraries#10131, #10233 (Inf becomes NaN)", {2, 2, 3},
          {k_inf, 1, 1, 1, 2, 3}, {1, 2, 2, 1, 3, 1}, {k_inf, k_inf, 14, 7}, {.knobs = knobs});
    c.add("field-low-bits-" + mode, "field bugs triton#4603, #10176 (an f32 product loses the low bits); by hand",
          {1, 2, 2}, {1, 0x1p-12}, {1, 1 + 0x1p-12, 1, 0}, {4097, 4097}, {.unit = 4096, .knobs = knobs});
  }
}

// The others.
void add_field_bugs(collection& c) {
  c.add("field-partial-sums", "field bugs cutlass#3538, rocm-libraries#9055 (slices add to what nobody set); k",
        {2, 3, 1300}, {1}, {1}, {1300});
  c.add("field-workspace-of-a-transpose", "field bug cutlass#3624 (workspace of the shape before it is transposed); k",
        {3, 40, 1200}, {1}, {1}, {1200}, {.knobs = {{"ta", "yes"}, {"tb", "yes"}}});
  add_field_bugs_of_modes(c);
  c.add("field-many-columns", "field bugs rocm-libraries#9184, #8645 (columns beyond a grid's limit); k", {1, 4200, 1},
        {1}, {3}, {3});
}

std::vector<golden_file> known_answers() {
  collection c;
  add_by_hand(c);
  add_closed_forms(c);
  add_contract(c);
  add_field_bugs(c);
  return c.take();
}

std::vector<std::string> disagreements(const golden_file& f) {
  const matmul_problem p(replay_case(f));
  const reference::matmul_setting setting = p.setting();
  const expected_output* golden = f.output("c");
  std::vector<std::string> found;
  if (!golden) return found;
  for_each_element(p, [&](int64_t i, int64_t j, const reference::matmul_operands& o) {
    const reference::matmul_element element(setting, o);
    const std::string& text = golden->values[static_cast<size_t>(i * p.n() + j)];
    const auto fixed = element.contract_value();
    const bool same = fixed ? reference::judge_fixed(dtype::f64, nearest_double(text), *fixed).accepted
                            : agrees(text, f.digits, element.expected_text(), 20);
    if (!same)
      found.push_back(fmt::format("c[{},{}]: the file has {}, the reference {}", i, j, text, element.expected_text()));
  });
  return found;
}

const engine::property_registration registration([] {
  engine::property p =
      golden_property("matmul", {dtype::f32, dtype::f16, dtype::bf16}, known_answers, [](engine::trial& t) {
        const matmul_problem problem(t.the_case());
        judge_bound(t, problem, t.run().at("c"));
      });
  p.sentence = "known answers and published field bugs come out within the bound";
  p.share_percent = 25;
  return std::vector{std::move(p)};
}());

}  // namespace

operator_golden matmul_golden() { return {"matmul", known_answers, disagreements}; }

}  // namespace warpcheck::golden
