#include "properties/matmul/matmul_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/matmul/contract.hpp"
#include "kernels/matmul/matmul.hpp"
#include "properties/engine/cases/case_inputs.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/trials/compute_capability.hpp"
#include "properties/engine/trials/in_hand.hpp"
#include "properties/engine/trials/offer_asking.hpp"
#include "properties/rows/equal_launches.hpp"
#include "reference/numerics/stated_sums.hpp"

namespace warpcheck {

using namespace engine;
using reference::dot_arithmetic;

namespace {

// ---- the contract of a call, by its own functions ----

struct contract_call {
  dtype type = dtype::f32;  // that of C changes neither
  product_mode mode = product_mode::ieee;
  bool rows_alone = false;
  int64_t m = 0, n = 0, k = 0;
};

template <class Ask>
auto ask_contract(const contract_call& c, Ask&& ask) {
  const matmul_options options{static_cast<warpcheck::matmul_mode>(c.mode), c.rows_alone};
  if (c.type == dtype::f16) return ask.template operator()<simt::f16, float>(options);
  if (c.type == dtype::bf16) return ask.template operator()<simt::bf16, float>(options);
  return ask.template operator()<float, float>(options);
}

// A call that the contract refuses has no plan: one slice, no workspace.
reference::dot_slices plan_of(const contract_call& c) {
  try {
    const matmul_slices s =
        ask_contract(c, [&]<class T, class TC>(matmul_options o) { return matmul_plan<T, TC>(o, c.m, c.n, c.k); });
    return {s.count, s.length};
  } catch (const std::invalid_argument&) {
    return {1, c.k};
  }
}

int64_t work_bytes_of(const contract_call& c) {
  try {
    return ask_contract(
        c, [&]<class T, class TC>(matmul_options o) { return matmul_work_bytes<T, TC>(o, c.m, c.n, c.k); });
  } catch (const std::invalid_argument&) {
    return 0;
  }
}

product_mode mode_of(const trial_case& c) {
  const std::string text = c.knob("mode");
  for (const product_mode mode : {product_mode::tf32x3, product_mode::bf16x6})
    if (text == name_of(mode)) return mode;
  return product_mode::ieee;
}

float scalar_of(const trial_case& c, const char* name) { return static_cast<float>(c.number(name)); }

contract_call contract_call_of(const sizes& of, const trial_case& c) {
  contract_call call;
  if (const tensor_spec* a = c.find("a")) call.type = a->type;
  call.mode = mode_of(c);
  call.rows_alone = c.knob("rows_alone") == "1";
  call.m = size_in(of, "m"), call.n = size_in(of, "n"), call.k = size_in(of, "k");
  return call;
}

// ---- the description ----

std::string what_is_illegal(const sizes& of, const trial_case& c) {
  const tensor_spec &a = c.at("a"), &out = c.at("c"), &before = c.at("c_in");
  if (out.type != dtype::f32 && out.type != a.type) return "tensor c: the dtype must be f32 or that of tensor a";
  if (mode_of(c) != product_mode::ieee && a.type != dtype::f32)
    return fmt::format("mode: '{}' takes inputs of f32", c.knob("mode"));
  const bool has_before = before.elements() > 0;
  if (scalar_of(c, "beta") != 0 && size_in(of, "m") > 0 && size_in(of, "n") > 0 && !has_before)
    return "tensor c_in: it has no elements, must have those of c where beta is not 0";
  if (has_before && (before.type != out.type || out.in_place != "c_in"))
    return "tensor c: it must lie in place of c_in where beta is not 0, with its dtype";
  return "";
}

void drop(tensor_spec& t) {
  t.shape.assign(t.shape.size(), 0);
  t.ld = t.offset = 0;
  t.fill.edits.clear();
}

// c_in is there where beta is not 0 alone, and is c then; types and modes go together.
void mend(trial_case& c) {
  tensor_spec &before = *c.find("c_in"), &out = *c.find("c");
  if (before.elements() == 0 && out.elements() > 0) set_knob(c, "beta", "0");
  if (scalar_of(c, "beta") == 0) {
    drop(before);
    out.in_place = "";
  } else if (before.elements() > 0 && out.beside.empty()) {
    out.in_place = "c_in";
  }
  c.find("b")->type = c.at("a").type;
  before.type = out.type;
  if (c.at("a").type != dtype::f32) set_knob(c, "mode", "ieee");
}

const description_registration described([] {
  description d = description_of(matmul_contract());
  d.statements.logistic = [](const trial_case& c) { return c.knob("sigmoid") == "1"; };
  d.null_kernels = {{"dispatch", 40, "where k is 0 zeros are right"},
                    {"low-part", 30, "a shape and a mode have one answer, which the call before may have given"},
                    {"", 25, "where k or alpha is 0 zeros are right"}};
  d.extents.back().derived = [](const sizes& of, const trial_case& c) {
    return work_bytes_of(contract_call_of(of, c));
  };
  d.illegal = what_is_illegal;
  d.mend = mend;
  d.bench = matmul_bench_list();
  d.lists_all_tensors = true;
  return d;
}());

// BLAS' text promises that C is not read where beta is 0, but nothing of A and B where alpha is 0.
const unread_registration unread({"matmul", "alpha", 0, {"a", "b"}});

}  // namespace

// ---- matrices ----

product_matrix::product_matrix(dtype of_type, int64_t of_rows, int64_t of_cols, double value)
    : type(of_type),
      rows(of_rows),
      cols(of_cols),
      bits(static_cast<size_t>(of_rows * of_cols), encode(of_type, value)) {}

void product_matrix::fill(const std::function<double(int64_t, int64_t)>& value) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c) set(r, c, value(r, c));
}

product_matrix product_matrix::transposed() const {
  product_matrix t(type, cols, rows);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c) t.at(c, r) = at(r, c);
  return t;
}

namespace {

product_matrix matrix_of(const host_tensor& t) {
  product_matrix m(t.spec.type, t.spec.rows(), t.spec.cols());
  for (int64_t r = 0; r < m.rows; ++r)
    for (int64_t c = 0; c < m.cols; ++c) m.at(r, c) = t.bits(r, c);
  return m;
}

host_tensor tensor_of(const tensor_spec& spec, const product_matrix& m) {
  host_tensor t(spec);
  for (int64_t r = 0; r < m.rows; ++r)
    for (int64_t c = 0; c < m.cols; ++c) t.set_bits(r, c, m.at(r, c));
  return t;
}

void set_shape(tensor_spec& t, std::vector<int64_t> shape) {
  const int64_t gap = t.rows() > 1 ? t.ld - t.cols() : 0;  // of one row it has no meaning
  t.shape = std::move(shape);
  t.ld = t.cols() + (t.shape.size() > 1 ? gap : 0);
}

}  // namespace

// ---- problems ----

matmul_problem::matmul_problem(const trial_case& of) : matmul_problem(of, inputs_of(of)) {}

matmul_problem::matmul_problem(const trial_case& of, const tensor_map& inputs) : case_(of) {
  ta = of.knob("ta") == "yes";
  tb = of.knob("tb") == "yes";
  a = matrix_of(inputs.at("a"));
  b = matrix_of(inputs.at("b"));
  if (ta) a = a.transposed();
  if (tb) b = b.transposed();
  if (of.at("c_in").elements() > 0) c = matrix_of(inputs.at("c_in"));
  if (of.at("bias").elements() > 0) bias = matrix_of(inputs.at("bias"));
  output = of.at("c").type;
  alpha = scalar_of(of, "alpha");
  beta = scalar_of(of, "beta");
  sigmoid = of.knob("sigmoid") == "1";
  mu = scalar_of(of, "mu");
  sigma = scalar_of(of, "sigma");
  mode = mode_of(of);
  rows_alone = of.knob("rows_alone") == "1";
  variant = of.knob("variant");
}

dot_arithmetic matmul_problem::arithmetic() const {
  if (type() == dtype::f16) return dot_arithmetic::f16;
  if (type() == dtype::bf16) return dot_arithmetic::bf16;
  return mode == product_mode::tf32x3   ? dot_arithmetic::tf32x3
         : mode == product_mode::bf16x6 ? dot_arithmetic::bf16x6
                                        : dot_arithmetic::ieee;
}

reference::dot_slices matmul_problem::plan() const { return plan_of({type(), mode, rows_alone, m(), n(), k()}); }

reference::matmul_setting matmul_problem::setting() const {
  reference::matmul_setting s;
  s.arithmetic = arithmetic();
  s.output = output;
  const reference::sum_statement& said = reference::stated_sums::now();
  s.slices = plan();
  if (said.depth || said.any_order) {
    // Products one by one, and a tensor core's accumulator for all of them.
    s.slices = {std::max<int64_t>(1, std::min(k(), said.depth.value_or(k()) + 1)), 1};
    s.promotion = std::max(k(), reference::k_promotion);
  }
  s.halves = reference::adds_in_halves(compute_capability(case_.knob("device")).value_or(0));
  s.alpha = static_cast<double>(alpha);
  s.beta = static_cast<double>(beta);
  s.has_bias = has_bias();
  s.sigmoid = sigmoid;
  s.mu = static_cast<double>(mu);
  s.sigma = static_cast<double>(sigma);
  return s;
}

void matmul_problem::set_operands(product_matrix of_a, product_matrix of_b) {
  a = std::move(of_a);
  b = std::move(of_b);
  if (has_bias()) bias = product_matrix(bias.type, 1, n());
  if (!c.bits.empty()) c = product_matrix(output, m(), n());
}

trial_case matmul_problem::call() const {
  trial_case made = case_;
  const auto number = [&](const char* name, float value) { set_knob(made, name, format_number(value)); };
  set_knob(made, "ta", ta ? "yes" : "none");
  set_knob(made, "tb", tb ? "yes" : "none");
  number("alpha", alpha);
  number("beta", beta);
  set_knob(made, "sigmoid", sigmoid ? "1" : "0");
  number("mu", mu);
  number("sigma", sigma);
  set_knob(made, "mode", std::string(name_of(mode)));
  set_knob(made, "rows_alone", rows_alone ? "1" : "0");
  // The variant `vector` accepts nothing else.
  const bool fits = m() == 1 || n() == 1 || variant.find("vector") == std::string::npos;
  set_knob(made, "variant", fits ? variant : "auto");
  for (const char* name : {"a", "b"}) made.find(name)->type = type();
  set_shape(*made.find("a"), ta ? std::vector{k(), m()} : std::vector{m(), k()});
  set_shape(*made.find("b"), tb ? std::vector{n(), k()} : std::vector{k(), n()});
  tensor_spec &before = *made.find("c_in"), &out = *made.find("c");
  out.type = before.type = output;
  set_shape(before, c.bits.empty() ? std::vector<int64_t>{0, 0} : std::vector<int64_t>{m(), n()});
  out.in_place = c.bits.empty() ? "" : "c_in";
  set_shape(out, {m(), n()});
  set_shape(*made.find("bias"), {has_bias() ? n() : 0});
  reshape(*find_description(made.op), made, {{"m", m()}, {"n", n()}, {"k", k()}});
  for (tensor_spec& s : made.tensors) s.fill.edits.clear();
  tensor_spec* const bytes = made.find("work");
  if (bytes == nullptr || work == space::as_given) return made;
  if (work == space::own) bytes->offset = 0;
  bytes->shape = {work == space::own ? 0 : bytes->cols() + 48};
  bytes->ld = bytes->cols();
  return made;
}

run_result ask_run(trial& t, const matmul_problem& p, asked how) {
  trial_case call = p.call();
  if (how == asked::once) {
    set_knob(call, "repeat", "1");
    set_knob(call, "launch", "stream");
    run_once(call);
  }
  std::map<std::string, host_tensor, std::less<>> given;
  const auto give = [&](const char* name, const product_matrix& m) {
    given.emplace(name, tensor_of(call.at(name), m));
  };
  give("a", p.ta ? p.a.transposed() : p.a);
  give("b", p.tb ? p.b.transposed() : p.b);
  give("c_in", p.c);
  give("bias", p.bias);
  return t.run(call, given);
}

bool is_offered(const trial& t, const matmul_problem& p) { return t.offers(p.call()); }

host_tensor ask(trial& t, const matmul_problem& p, asked how) { return ask_run(t, p, how).at("c"); }

// ---- judging ----

void for_each_element(const matmul_problem& p,
                      const std::function<void(int64_t, int64_t, const reference::matmul_operands&)>& judge) {
  const product_matrix columns = p.b.transposed();
  const auto row_of = [&](const product_matrix& x, int64_t row) {
    std::vector<double> values(static_cast<size_t>(x.cols));
    for (int64_t l = 0; l < x.cols; ++l) values[static_cast<size_t>(l)] = x.value(row, l);
    return values;
  };
  std::vector<std::vector<double>> b;
  for (int64_t j = 0; j < p.n(); ++j) b.push_back(row_of(columns, j));
  for (int64_t i = 0; i < p.m(); ++i) {
    const std::vector<double> a = row_of(p.a, i);
    for (int64_t j = 0; j < p.n(); ++j) {
      reference::matmul_operands o{a, b[static_cast<size_t>(j)]};
      if (!p.c.bits.empty()) o.c = p.c.value(i, j);
      if (p.has_bias()) o.bias = p.bias.value(0, j);
      judge(i, j, o);
    }
  }
}

namespace {

void require_size(trial& t, const matmul_problem& p, const host_tensor& c) {
  t.require(c.spec.rows() == p.m() && c.spec.cols() == p.n(), "c is {} x {}, must be {} x {}", c.spec.rows(),
            c.spec.cols(), p.m(), p.n());
}

}  // namespace

void judge_bound(trial& t, const matmul_problem& p, const host_tensor& c) {
  require_size(t, p, c);
  const reference::matmul_setting setting = p.setting();
  for_each_element(p, [&](int64_t i, int64_t j, const reference::matmul_operands& o) {
    const reference::matmul_element element(setting, o);
    const double actual = c.value(i, j);
    t.judge("c", i, j, o.c, actual, element.judge(actual), [&] { return element.expected_text(); });
  });
}

void check_product(trial& t) {
  const matmul_problem p(t.the_case(), inputs_of(t));
  judge_bound(t, p, t.run().at("c"));
}

void judge_bits(trial& t, const matmul_problem& p, const host_tensor& c) {
  require_size(t, p, c);
  const reference::matmul_setting setting = p.setting();
  for_each_element(p, [&](int64_t i, int64_t j, const reference::matmul_operands& o) {
    const auto expected = static_cast<double>(reference::chained_value(setting, o));
    t.judge("c", i, j, o.c, c.value(i, j), reference::judge_fixed(dtype::f32, c.value(i, j), expected));
  });
}

void judge_value(trial& t, const host_tensor& c, int64_t row, int64_t col, double expected) {
  const double actual = c.value(row, col);
  const bool is_zero = expected == 0 && actual == 0;
  t.judge("c", row, col, 0, actual, reference::judge_fixed(c.spec.type, actual, is_zero ? actual : expected));
}

void require_same_element(trial& t, const host_tensor& one, int64_t row, int64_t col, const host_tensor& other,
                          int64_t other_row, int64_t other_col, const std::string& what, zeros signs) {
  need_equal_launches(t);
  const double x = one.value(row, col), y = other.value(other_row, other_col);
  const bool same =
      one.bits(row, col) == other.bits(other_row, other_col) || (signs == zeros::are_equal && x == 0 && y == 0);
  t.require(same, "{}: c[{},{}] is {:.9g} ({:a}), c[{},{}] is {:.9g} ({:a})", what, row, col, x, x, other_row,
            other_col, y, y);
}

void require_same(trial& t, const host_tensor& one, const host_tensor& other, const std::string& what, zeros signs) {
  t.require(one.spec.rows() == other.spec.rows() && one.spec.cols() == other.spec.cols(), "{}: sizes differ", what);
  for (int64_t r = 0; r < one.spec.rows(); ++r)
    for (int64_t c = 0; c < one.spec.cols(); ++c) require_same_element(t, one, r, c, other, r, c, what, signs);
}

// ---- of cases: what the contract's functions return ----

int64_t one_past_a_slice(const target& t, product_mode mode, int64_t m, int64_t n, int64_t from) {
  for (int64_t k = from; k < from + 200; ++k) {
    const reference::dot_slices s = plan_of({t.type, mode, false, m, n, k});
    if (s.count > 1 && k == (s.count - 1) * s.length + 1) return k;
  }
  return from;
}

}  // namespace warpcheck
