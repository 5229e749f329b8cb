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

struct product_answer {
  std::string name, source;
  int64_t m = 1, n = 1, k = 1;
  values a, b;  // as stored, row by row; one: everywhere
  values c;     // in units of 1/unit; one: everywhere
  int64_t unit = 1;
  values before = {}, bias = {};  // none: beta is 0, no bias
  dtype type = dtype::f32, output = dtype::f32;
  std::map<std::string, std::string> knobs = {};
};

// A listed tensor, or one value everywhere as a recipe.
tensor_spec add_input(golden_file& f, const std::string& name, dtype type, std::vector<int64_t> shape,
                      const values& x) {
  tensor_spec t = engine::input_vector(name, type, 1, engine::make_recipe("constant", {x.size() == 1 ? x[0] : 0}));
  t.shape = std::move(shape);
  t.ld = t.cols();
  if (x.size() > 1) list_values(f, name, type, x);
  f.the_case.tensors.push_back(t);
  return t;
}

golden_file file_of(const product_answer& a) {
  golden_file f = answer_of("matmul", a.name, a.source, a.knobs);
  const bool ta = a.knobs.count("ta") > 0, tb = a.knobs.count("tb") > 0;
  add_input(f, "a", a.type, ta ? std::vector{a.k, a.m} : std::vector{a.m, a.k}, a.a);
  add_input(f, "b", a.type, tb ? std::vector{a.n, a.k} : std::vector{a.k, a.n}, a.b);
  add_input(f, "c_in", a.output, a.before.empty() ? std::vector<int64_t>{0, 0} : std::vector{a.m, a.n}, a.before);
  add_input(f, "bias", dtype::f32, {a.bias.empty() ? 0 : a.n}, a.bias);
  tensor_spec c = engine::output_matrix("c", a.output, a.m, a.n);
  if (!a.before.empty()) c.in_place = "c_in";
  f.the_case.tensors.push_back(c);
  expected_output out{"c", {}};
  for (int64_t i = 0; i < a.m * a.n; ++i)
    out.values.push_back(quotient(a.c.size() == 1 ? a.c[0] : a.c[static_cast<size_t>(i)], a.unit));
  f.outputs.push_back(std::move(out));
  return f;
}

// first, first + 1, ...
values counted(int64_t first, int64_t count) {
  values v;
  for (int64_t i = 0; i < count; ++i) v.push_back(static_cast<double>(first + i));
  return v;
}

void add_by_hand(std::vector<golden_file>& files) {
  const std::string by_hand = "multiplied by hand";
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
    const std::string t(warpcheck::name_of(type));
    // (1 2 3; 4 5 6) (7 8; 9 10; 11 12), stored in four ways.
    const values a = {1, 2, 3, 4, 5, 6}, at = {1, 4, 2, 5, 3, 6}, b = {7, 8, 9, 10, 11, 12}, bt = {7, 9, 11, 8, 10, 12};
    const values product = {58, 64, 139, 154};
    const auto add = [&](const std::string& stored, const values& x, const values& y,
                         std::map<std::string, std::string> knobs) {
      files.push_back(file_of({.name = "two-by-two-" + stored + "-" + t,
                               .source = by_hand,
                               .m = 2,
                               .n = 2,
                               .k = 3,
                               .a = x,
                               .b = y,
                               .c = product,
                               .type = type,
                               .knobs = std::move(knobs)}));
    };
    add("nn", a, b, {});
    add("tn", at, b, {{"ta", "yes"}});
    add("nt", a, bt, {{"tb", "yes"}});
    add("tt", at, bt, {{"ta", "yes"}, {"tb", "yes"}});
    // -1/2 A B + 3/4 C + bias
    files.push_back(file_of({.name = "all-of-it-" + t,
                             .source = by_hand + ": -1/2 A B + 3/4 C + bias",
                             .m = 2,
                             .n = 2,
                             .k = 3,
                             .a = a,
                             .b = b,
                             .c = {-116 + 3 + 8, -128 + 6 + 2, -278 - 3 + 8, -308 + 12 + 2},
                             .unit = 4,
                             .before = {1, 2, -1, 4},
                             .bias = {2, 0.5},
                             .type = type,
                             .knobs = {{"alpha", "-0.5"}, {"beta", "0.75"}}}));
    files.push_back(file_of({.name = "sixteen-bit-result-" + t,
                             .source = by_hand,
                             .m = 2,
                             .n = 2,
                             .k = 3,
                             .a = a,
                             .b = b,
                             .c = product,
                             .type = type,
                             .output = type}));
  }
}

void add_closed_forms(std::vector<golden_file>& files) {
  files.push_back(file_of({.name = "squares",
                           .source = "closed form n (n + 1) (2 n + 1) / 6",
                           .k = 100,
                           .a = counted(1, 100),
                           .b = counted(1, 100),
                           .c = {338350}}));
  for (const int64_t side : {31, 32, 33, 63, 64, 65}) {
    // Row i of A is i + 1 everywhere, column j of B is j + 1.
    product_answer p{.name = fmt::format("outer-{}", side),
                     .source = "closed form k (i + 1) (j + 1)",
                     .m = side,
                     .n = 3,
                     .k = std::min(side + 1, 4096 / side),
                     .a = {},
                     .b = {},
                     .c = {}};
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t l = 0; l < p.k; ++l) p.a.push_back(static_cast<double>(i + 1));
    for (int64_t l = 0; l < p.k; ++l)
      for (int64_t j = 0; j < p.n; ++j) p.b.push_back(static_cast<double>(j + 1));
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) p.c.push_back(static_cast<double>(p.k * (i + 1) * (j + 1)));
    files.push_back(file_of(p));
  }
  for (const int64_t k : {0, 1, 64, 65, 129, 1300})
    files.push_back(file_of({.name = fmt::format("ones-{}", k),
                             .source = "closed form k",
                             .m = 3,
                             .n = 5,
                             .k = k,
                             .a = {1},
                             .b = {1},
                             .c = {static_cast<double>(k)}}));
}

void add_contract(std::vector<golden_file>& files) {
  files.push_back(file_of({.name = "nothing-but-bias",
                           .source = "contract: alpha = 0 reads neither A nor B",
                           .m = 2,
                           .n = 3,
                           .k = 2,
                           .a = {k_nan},
                           .b = {k_inf},
                           .c = {1, 2, -3, 1, 2, -3},
                           .unit = 2,
                           .bias = {0.5, 1, -1.5},
                           .knobs = {{"alpha", "0"}}}));
  files.push_back(file_of({.name = "half",
                           .source = "contract: the logistic function of mu is 1/2",
                           .m = 2,
                           .n = 2,
                           .k = 3,
                           .a = {1},
                           .b = {2},
                           .c = {1},
                           .unit = 2,
                           .bias = {1},
                           .knobs = {{"sigmoid", "1"}, {"mu", "7"}, {"sigma", "-3"}}}));
  files.push_back(file_of({.name = "infinite-layer",
                           .source = "contract: of +-Inf it is 1 and 0",
                           .m = 2,
                           .n = 1,
                           .k = 1,
                           .a = {k_inf, -k_inf},
                           .b = {1},
                           .c = {1, 0},
                           .knobs = {{"sigmoid", "1"}}}));
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16})
    files.push_back(file_of({.name = fmt::format("specials-{}", warpcheck::name_of(type)),
                             .source = "contract: Inf times 0 and Inf - Inf are NaN, one sign stays",
                             .m = 4,
                             .n = 3,
                             .k = 2,
                             .a = {k_inf, 1, -k_inf, 2, k_nan, 0, 1, 2},
                             .b = {1, 0, -2, 3, 4, k_inf},
                             .c = {k_inf, k_nan, k_nan, -k_inf, k_nan, k_inf, k_nan, k_nan, k_nan, 7, 8, k_inf},
                             .type = type}));
}

// Published defects of f32 that is less than f32, as small as they get, in each mode.
void add_field_bugs_of_modes(std::vector<golden_file>& files) {
  for (const std::string mode : {"ieee", "tf32x3", "bf16x6"}) {
    std::map<std::string, std::string> knobs;
    if (mode != "ieee") knobs["mode"] = mode;
    files.push_back(file_of({.name = "field-infinity-stays-" + mode,
                             .source = "field bugs rocm-libraries#10131, #10233 (Inf becomes NaN)",
                             .m = 2,
                             .n = 2,
                             .k = 3,
                             .a = {k_inf, 1, 1, 1, 2, 3},
                             .b = {1, 2, 2, 1, 3, 1},
                             .c = {k_inf, k_inf, 14, 7},
                             .knobs = knobs}));
    files.push_back(file_of({.name = "field-low-bits-" + mode,
                             .source = "field bugs triton#4603, #10176 (an f32 product loses the low bits); by hand",
                             .m = 1,
                             .n = 2,
                             .k = 2,
                             .a = {1, 0x1p-12},
                             .b = {1, 1 + 0x1p-12, 1, 0},
                             .c = {4097, 4097},
                             .unit = 4096,
                             .knobs = knobs}));
  }
}

// The others.
void add_field_bugs(std::vector<golden_file>& files) {
  files.push_back(file_of({.name = "field-partial-sums",
                           .source = "field bugs cutlass#3538, rocm-libraries#9055 (slices add to what nobody set); k",
                           .m = 2,
                           .n = 3,
                           .k = 1300,
                           .a = {1},
                           .b = {1},
                           .c = {1300}}));
  files.push_back(file_of({.name = "field-workspace-of-a-transpose",
                           .source = "field bug cutlass#3624 (workspace of the shape before it is transposed); k",
                           .m = 3,
                           .n = 40,
                           .k = 1200,
                           .a = {1},
                           .b = {1},
                           .c = {1200},
                           .knobs = {{"ta", "yes"}, {"tb", "yes"}}}));
  add_field_bugs_of_modes(files);
  files.push_back(file_of({.name = "field-many-columns",
                           .source = "field bugs rocm-libraries#9184, #8645 (columns beyond a grid's limit); k",
                           .m = 1,
                           .n = 4200,
                           .k = 1,
                           .a = {1},
                           .b = {3},
                           .c = {3}}));
}

std::vector<golden_file> known_answers() {
  std::vector<golden_file> files;
  add_by_hand(files);
  add_closed_forms(files);
  add_contract(files);
  add_field_bugs(files);
  return files;
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
