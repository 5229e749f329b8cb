// matmul on trial: the properties of its contract (kernels/matmul/matmul.hpp) that are about values and algebra. Bounds
// are those of reference/matmul/matmul.hpp. Shapes, special values and hazards:
// matmul_shape_properties.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/offer.hpp"
#include "properties/engine/shrinking/shrink_steps.hpp"
#include "properties/engine/trials/polynomial_identity.hpp"
#include "properties/engine/trials/reused_storage.hpp"
#include "properties/matmul/matmul_problem.hpp"
#include "reference/sigmoid/sigmoid.hpp"

namespace warpcheck {
namespace {

using namespace engine;

constexpr double k_u = 0x1p-24;

// ---- matches the reference ----

trial_case any_case(const target& t, draw& d) { return matmul_case(t, d, operands::any, layers::any); }

trial_case ieee_case(const target& t, draw& d) {
  trial_case c = matmul_case(t, d, operands::any, layers::linear);
  const bool forced = c.knob("variant") != "auto";
  set_knob(c, "mode", "ieee");
  set_knob(c, "variant", "auto");
  if (forced) force_a_variant(d, t, c);
  // Scalars that no bound speaks of have their bits, too.
  if (d.chance(8)) set_knob(c, "alpha", d.one_of({"+inf", "nan", "-0", "1.401298464324817e-45"}));
  follow(c);
  return c;
}

// A row or a column of C, or forced tiles. On the emulated device a block adds all slices of so many elements alone,
// and a slice is several chains.
trial_case thin_case(const target& t, draw& d) {
  const std::vector<product_mode> modes = modes_of(t);
  const std::string mode(
      name_of(modes[modes.size() == 1 ? 0 : 1 + static_cast<size_t>(d.index() / 2) % (modes.size() - 1)]));
  const std::string tiles = "matmul_small_" + mode;
  const bool has_tiles = std::ranges::any_of(t.variants, [&](const auto& v) { return v.name == tiles; });
  product_sizes of{d.between(2, 70), d.between(2, 30),
                   d.one_of({int64_t{33}, int64_t{64}, int64_t{65}, int64_t{129}, int64_t{192}})};
  const bool is_tiled = has_tiles && d.index() % 2 == 0;
  if (!is_tiled) {
    const bool is_long = d.index() % 8 == 1;
    (d.chance(50) ? of.m : of.n) = 1;
    (of.m == 1 ? of.n : of.m) = is_long ? 2081 : d.between(1, 70);
    if (is_long) of.k = 520;
  }
  trial_case c = drawn_product(t, d, of, operands::any);
  set_knob(c, "mode", mode);
  if (is_tiled) set_knob(c, "variant", tiles);
  set_output(c, dtype::f32);
  draw_scalars(d, c, layers::linear);
  draw_product_layout(d, c);
  run_once(c);
  return c;
}

void check_bits(trial& t) {
  const matmul_problem p(t.the_case());
  judge_bits(t, p, t.run().at("c"));
}

// ---- exact products ----

// The largest integers whose products are exact in a type or mode.
double largest_exact(const matmul_problem& p) {
  if (p.type() == dtype::f16 || p.mode == product_mode::tf32x3) return 2048;
  if (p.type() == dtype::bf16 || p.mode == product_mode::bf16x6) return 256;
  return 0x1p24;
}

bool is_power_of_two(double x) {
  int exponent = 0;
  return std::fabs(std::frexp(x, &exponent)) == 0.5;
}

// True if the contract makes the sum of row i and column j exact.
bool is_exact(const matmul_problem& p, int64_t i, int64_t j) {
  const double small = largest_exact(p);
  double absolute = 0;
  bool all_small = true, all_shifts = p.type() == dtype::f32;
  for (int64_t l = 0; l < p.k(); ++l) {
    const double a = std::fabs(p.a.value(i, l)), b = std::fabs(p.b.value(l, j));
    if (!(a < 0x1p24 && b < 0x1p24) || a != std::trunc(a) || b != std::trunc(b)) return false;
    absolute += a * b;
    all_small = all_small && a <= small && b <= small;
    all_shifts = all_shifts && a < 0x1p23 && is_power_of_two(b);
  }
  return (all_small && absolute < 0x1p24) || (all_shifts && absolute < 0x1p23);
}

// The same, but so small in f32 that the products of two have exact sums.
double largest_operand(dtype type, const std::string& mode) {
  if (type == dtype::f16 || mode == "tf32x3") return 2048;
  if (type == dtype::bf16 || mode == "bf16x6") return 256;
  return 0x1p12;
}

// The sum of integers below 2^24.
double exact_sum(const matmul_problem& p, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t l = 0; l < p.k(); ++l) sum += p.a.value(i, l) * p.b.value(l, j);
  return sum;
}

trial_case integer_case(const target& t, draw& d) {
  product_sizes of = draw_product_sizes(d, t);
  const bool shifts = t.type == dtype::f32 && d.chance(30);
  if (shifts) of.k = std::min<int64_t>(of.k, 4);
  trial_case c = product_case(t, d, of, {}, {});
  const double k = static_cast<double>(std::max<int64_t>(1, of.k)), seed = static_cast<double>(d.between(2, 999998));
  if (shifts) {
    const double power = d.one_of({1.0, 2.0, 64.0});
    const double most = std::floor((0x1p23 - 1) / (k * power));
    c.find("a")->fill = make_recipe("integers", {seed, -most, most});
    c.find("b")->fill = make_recipe("constant", {power});
  } else {
    const double most = std::min(largest_operand(t.type, c.knob("mode")), std::floor(std::sqrt((0x1p24 - 1) / k)));
    c.find("a")->fill = make_recipe("integers", {seed, -most, most});
    c.find("b")->fill = make_recipe("integers", {seed + 1, -most, most});
  }
  transpose(c, d.chance(50), false);
  draw_product_layout(d, c);
  if (d.index() % 3 == 1) force_a_variant(d, t, c);
  run_once(c);
  return c;
}

void check_integers(trial& t) {
  const matmul_problem p(t.the_case());
  const host_tensor c = t.run().at("c");
  judge_bound(t, p, c);
  for (int64_t i = 0; i < p.m(); ++i)
    for (int64_t j = 0; j < p.n(); ++j) {
      if (p.output == dtype::f32 && is_exact(p, i, j)) judge_value(t, c, i, j, exact_sum(p, i, j));
    }
}

// Integers of whose products the type of C holds every sum.
trial_case exact_product(const target& t, draw& d) {
  product_sizes of = draw_product_sizes(d, t);
  if (t.type != dtype::f32 && d.chance(70)) of.k = std::min<int64_t>(of.k, t.type == dtype::f16 ? 227 : 28);
  trial_case c = product_case(t, d, of, {}, {});
  // The largest operand follows from the length of the sums, and what is offered may make them longer.
  std::vector<std::string> taken;
  bring_within(t.offered, c, taken);
  const dtype output = c.at("c").type;
  const double k = static_cast<double>(std::max<int64_t>(1, sizes_of(*find_description(c.op), c).at("k"))),
               sum = output == dtype::f16    ? 0x1p11
                     : output == dtype::bf16 ? 0x1p8
                                             : 0x1p24 - 1,
               most = std::min(largest_operand(t.type, c.knob("mode")), std::floor(std::sqrt(sum / k)));
  c.find("a")->fill = make_recipe("integers", {d.seed(), -most, most});
  c.find("b")->fill = make_recipe("integers", {d.seed(), -most, most});
  draw_storage(d, c);
  draw_product_layout(d, c);
  if (d.index() % 3 == 1) force_a_variant(d, t, c);
  return c;
}

void check_exact_product(trial& t) {
  const matmul_problem p(t.the_case());
  const host_tensor c = t.run().at("c");
  for (int64_t i = 0; i < p.m(); ++i)
    for (int64_t j = 0; j < p.n(); ++j) judge_value(t, c, i, j, exact_sum(p, i, j));
}

// ---- how large errors are ----

trial_case random_case(const target& t, draw& d) {
  const bool large = t.device != "emulated" || t.size > 0;
  const int64_t side = large ? 32 : 16;
  const int64_t k = large ? d.one_of({int64_t{64}, int64_t{129}, int64_t{300}, int64_t{700}}) : d.between(40, 120);
  const double seed = static_cast<double>(d.between(2, 999998));
  trial_case c = product_case(t, d, {side, side, k}, make_recipe("uniform", {seed, -1, 1}),
                              make_recipe("uniform", {seed + 1, -1, 1}));
  run_once(c);
  return c;
}

// The errors of random data grow like the root of k: a bound for the worst case alone would let a slow drift pass.
void check_sharpness(trial& t) {
  const matmul_problem p(t.the_case());
  const host_tensor c = t.run().at("c");
  judge_bound(t, p, c);
  const double k = static_cast<double>(p.k());
  const double split = p.mode == product_mode::tf32x3 ? 8 : p.mode == product_mode::bf16x6 ? 1 : 0;
  const double limit = (split + 8 * std::sqrt(k)) * k_u;
  int64_t beyond = 0;
  double signed_sum = 0;
  for (int64_t i = 0; i < p.m(); ++i)
    for (int64_t j = 0; j < p.n(); ++j) {
      double exact = 0, absolute = 0;
      for (int64_t l = 0; l < p.k(); ++l) {
        const double product = p.a.value(i, l) * p.b.value(l, j);
        exact += product;
        absolute += std::fabs(product);
      }
      const double error = static_cast<double>(p.alpha) == 1 ? c.value(i, j) - exact : 0;
      signed_sum += absolute > 0 ? error / absolute : 0;
      if (!(std::fabs(error) <= limit * absolute)) ++beyond;
    }
  const int64_t count = p.m() * p.n();
  t.require(beyond * 1000 <= count, "{} of {} errors exceed {:.3g} u of the sum of sizes; their mean is {:+.3g} u",
            beyond, count, limit / k_u, signed_sum / static_cast<double>(std::max<int64_t>(1, count)) / k_u);
}

trial_case bit_pair_case(const target& t, draw& d) {
  const int64_t m = d.between(25, 30), n = d.between(25, 30),
                k = d.one_of({int64_t{1}, int64_t{2}, int64_t{9}, int64_t{40}});
  trial_case c = product_case(t, d, {m, n, k}, make_recipe("constant", {1}), make_recipe("constant", {1}));
  draw_storage(d, c);
  if (d.index() % 3 == 1) force_a_variant(d, t, c);
  run_once(c);
  return c;
}

// 1 + 2^-p for every p of a mantissa, and 1: against each other, at one place along k.
void check_low_parts(trial& t) {
  matmul_problem p(t.the_case());
  if (p.k() == 0) return t.skip("there is no product");
  const int64_t place = p.k() / 2;
  const auto pair_at = [](int64_t i) { return i % 25 == 24 ? 1.0 : 1 + std::ldexp(1.0, -static_cast<int>(i % 25)); };
  p.a.fill([&](int64_t i, int64_t l) { return l == place ? pair_at(i) : 0; });
  p.b.fill([&](int64_t l, int64_t j) { return l == place ? pair_at(j) : 0; });
  const host_tensor c = ask(t, p);
  judge_bound(t, p, c);
  for (int64_t i = 0; i < p.m(); ++i)
    for (int64_t j = 0; j < p.n(); ++j)
      if (pair_at(i) == 1 || pair_at(j) == 1) judge_value(t, c, i, j, pair_at(i) * pair_at(j));
}

// ---- algebra ----

trial_case small_case(const target& t, draw& d) {
  product_sizes of = draw_product_sizes(d, t);
  of.m = std::min<int64_t>(of.m, 40), of.n = std::min<int64_t>(of.n, 40), of.k = std::min<int64_t>(of.k, 70);
  trial_case c = drawn_product(t, d, of, operands::moderate);
  draw_product_layout(d, c);
  if (d.index() % 3 == 0) force_a_variant(d, t, c);
  run_once(c);
  return c;
}

// The identity has k rows or columns, so k is also a size of m and n that the candidate offers.
trial_case identity_case(const target& t, draw& d) {
  trial_case c = small_case(t, d);
  std::vector<std::string> taken;
  if (t.offered.is_everything() || !bring_within(t.offered, c, taken)) return c;
  return resized(c, {"k"}, sizes_of(*find_description(c.op), c).at("m"));
}

// True if one times x is x in the mode: not where a third part is lost.
bool is_kept(const matmul_problem& p, double x) {
  if (p.mode == product_mode::tf32x3) return false;
  return p.mode == product_mode::ieee || x == 0 || (std::fabs(x) >= 0x1p-100 && std::fabs(x) < 0x1p127);
}

void check_identity(trial& t) {
  matmul_problem p(t.the_case());
  const product_matrix a = p.a, b = p.b;
  const auto identity = [&](int64_t size) {
    product_matrix one(p.type(), size, size);
    for (int64_t i = 0; i < size; ++i) one.set(i, i, 1);
    return one;
  };
  for (const bool left : {true, false}) {
    p.set_operands(left ? identity(b.rows) : a, left ? b : identity(a.cols));
    const product_matrix& kept = left ? b : a;
    const host_tensor c = ask(t, p);
    judge_bound(t, p, c);
    for (int64_t i = 0; i < kept.rows; ++i)
      for (int64_t j = 0; j < kept.cols; ++j)
        if (is_kept(p, kept.value(i, j))) judge_value(t, c, i, j, kept.value(i, j));
  }
}

// Neither the identity nor, of more than two, a reversal.
int64_t moved(int64_t i, int64_t count) { return (count - 1 - i + count / 3) % count; }

void check_permutation(trial& t) {
  matmul_problem p(t.the_case());
  const host_tensor straight = t.run().at("c");
  judge_bound(t, p, straight);
  const matmul_problem q = p;
  for (int64_t i = 0; i < p.m(); ++i)
    for (int64_t l = 0; l < p.k(); ++l) p.a.at(moved(i, p.m()), l) = q.a.at(i, l);
  for (int64_t l = 0; l < p.k(); ++l)
    for (int64_t j = 0; j < p.n(); ++j) p.b.at(l, moved(j, p.n())) = q.b.at(l, j);
  const host_tensor c = ask(t, p);
  if (!t.stated().has_our_plan) return judge_bound(t, p, c);  // where an element lies may change the order of its sum
  for (int64_t i = 0; i < p.m(); ++i)
    for (int64_t j = 0; j < p.n(); ++j)
      require_same_element(t, straight, i, j, c, moved(i, p.m()), moved(j, p.n()), "rows and columns in another order");
}

// An aligned tile of warpgroups, which they store by a loop of its own.
trial_case whole_tile_case(const target& t, draw& d) {
  const double seed = d.seed();
  trial_case c = product_case(t, d, {128, 256, 16}, make_recipe("randn", {seed}), make_recipe("randn", {seed + 1}));
  for (const target::variant& v : t.variants)
    if (v.name == "matmul_warpgroups") set_knob(c, "variant", v.name);
  run_once(c);
  return c;
}

trial_case transposed_case(const target& t, draw& d) {
  trial_case c = t.type != dtype::f32 && d.index() % 4 == 1 ? whole_tile_case(t, d) : small_case(t, d);
  const std::string alpha = d.one_of({"1", "-0.5", "1.25"});
  set_knob(c, "alpha", alpha);
  return c;
}

void check_transposes(trial& t) {
  matmul_problem p(t.the_case());
  p.set_operands(p.a, p.b);
  p.ta = p.tb = false;
  const host_tensor plain = ask(t, p);
  judge_bound(t, p, plain);
  for (const int stored : {1, 2, 3}) {
    p.ta = stored % 2 == 1;
    p.tb = stored >= 2;
    if (!is_offered(t, p)) continue;
    const host_tensor c = ask(t, p);
    if (p.is_ieee() && t.stated().has_our_plan)
      require_same(t, plain, c, fmt::format("stored {}{}", "NT"[p.ta], "NT"[p.tb]));
    else
      judge_bound(t, p, c);
  }
  matmul_problem q = p;
  if (!is_offered(t, q)) q.ta = q.tb = false;
  q.set_operands(p.b.transposed(), p.a.transposed());
  const host_tensor c = ask(t, q);
  judge_bound(t, q, c);
  const reference::dot_slices one = p.plan(), other = q.plan();
  if (!t.stated().has_our_plan || !p.is_ieee() || one.count != other.count || one.length != other.length) return;
  for (int64_t i = 0; i < p.m(); ++i)
    for (int64_t j = 0; j < p.n(); ++j) require_same_element(t, plain, i, j, c, j, i, "B^T A^T");
}

// ---- the layer ----

trial_case layer_case(const target& t, draw& d) {
  trial_case c = matmul_case(t, d, operands::moderate, layers::linear);
  const double seed = d.seed();
  set_bias(c, make_recipe("uniform", {seed, -2, 2}));
  set_knob(c, "sigmoid", "1");
  set_knob(c, "mu", format_number(d.one_of({0.0, 0.5, -3.0})));
  set_knob(c, "sigma", format_number(d.one_of({1.0, 0.25, -1.5})));
  if (d.chance(20)) set_knob(c, "alpha", "0");
  run_once(c);
  return c;
}

// Judged three ways: against the exact layer; as the sigmoid of what the same call without a sigmoid gives; and with
// the bias of one column changed, which may change that column alone.
void check_layer(trial& t) {
  matmul_problem p(t.the_case());
  const host_tensor y = t.run().at("c");
  judge_bound(t, p, y);
  for (int64_t i = 0; i < p.m(); ++i)
    for (int64_t j = 0; j < p.n(); ++j)
      t.require(y.value(i, j) >= 0 && y.value(i, j) <= 1, "c[{},{}] is {}, and a sigmoid is in [0, 1]", i, j,
                y.value(i, j));
  matmul_problem linear = p;
  linear.sigmoid = false;
  linear.output = dtype::f32;
  if ((linear.c.bits.empty() || p.output == dtype::f32) && is_offered(t, linear)) {
    const host_tensor v = ask(t, linear);
    judge_bound(t, linear, v);
    const reference::sigmoid_model model(static_cast<double>(p.mu), static_cast<double>(p.sigma), p.output);
    for (int64_t i = 0; i < p.m(); ++i)
      for (int64_t j = 0; j < p.n(); ++j)
        t.judge("c", i, j, v.value(i, j), y.value(i, j), model.judge(v.value(i, j), y.value(i, j)),
                [&] { return model.expected_text(v.value(i, j)); });
  }
  if (p.n() == 0 || p.m() == 0 || !p.has_bias()) return;
  const int64_t changed = p.n() / 2;
  p.bias.set(0, changed, p.bias.value(0, changed) + 1);
  const host_tensor other = ask(t, p);
  judge_bound(t, p, other);
  for (int64_t i = 0; i < p.m(); ++i)
    for (int64_t j = 0; j < p.n(); ++j)
      if (j != changed)
        require_same_element(t, y, i, j, other, i, j, fmt::format("bias of column {} changed", changed));
}

const property_registration registration([] {
  const auto is_layer = [](const trial_case& c) { return c.knob("sigmoid") == "1"; };
  property_list list = matmul_list();
  list.add("within-error-bound", "every element lies within its own bound, in every mode and type", any_case,
           check_product);
  property& bits =
      list.add("ieee-bits", "without a sigmoid, ieee is the plan's chains of FMAs to the bit", ieee_case, check_bits);
  bits.types = {dtype::f32};
  bits.needs_our_plan = true;
  list.add("thin-bits", "thin products on no tensor core are short chains of FMAs to the bit", thin_case, check_bits,
           25)
      .needs_our_plan = true;
  list.add("integer-exact", "products of integers that the mode holds are exact", integer_case, check_integers, 50)
      .holds = is_without_sigmoid;
  property& exact = list.add("usual", "", exact_product, check_exact_product, 30);
  exact.holds = is_without_sigmoid;
  make_polynomial_identity(exact, 2);
  property& sharp = list.add("statistical-sharpness", "errors of random data grow no faster than the root of k",
                             random_case, check_sharpness, 12);
  sharp.types = {dtype::f32};
  sharp.holds = is_without_sigmoid;
  property& low =
      list.add("low-part", "no bit of a mantissa is lost beside a factor of one", bit_pair_case, check_low_parts, 25);
  low.types = {dtype::f32};
  low.holds = is_without_sigmoid;
  list.add("identity", "a factor of the identity gives the other one", identity_case, check_identity, 40).holds =
      is_without_sigmoid;
  list.add("permutation", "permuted rows and columns give permuted results, to the bit", small_case, check_permutation,
           40);
  make_reused_storage(list.add("usual", "", small_case, check_product));
  list.add("transpose-agreement", "how operands are stored changes nothing, and C^T is B^T A^T", transposed_case,
           check_transposes, 40);
  list.add("layer", "a layer is the sigmoid of product and bias; a bias belongs to a column", layer_case, check_layer,
           50)
      .holds = is_layer;
  return list.take();
}());

}  // namespace
}  // namespace warpcheck
