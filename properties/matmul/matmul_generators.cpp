// Generators of matmul: sizes, operands, scalars, layouts.
#include <algorithm>
#include <cmath>
#include <utility>

#include "properties/matmul/matmul_problem.hpp"

namespace warpcheck {

using namespace engine;

std::string_view name_of(product_mode mode) {
  return mode == product_mode::ieee ? "ieee" : mode == product_mode::tf32x3 ? "tf32x3" : "bf16x6";
}

namespace {

// The mode of split operands that a variant serves; ieee for all others.
product_mode mode_of(const target::variant& v) {
  for (const product_mode mode : {product_mode::tf32x3, product_mode::bf16x6})
    if (v.name.find(name_of(mode)) != std::string::npos) return mode;
  return product_mode::ieee;
}

}  // namespace

std::vector<product_mode> modes_of(const target& t) {
  std::vector<product_mode> modes = {product_mode::ieee};
  if (t.type != dtype::f32) return modes;
  for (const product_mode mode : {product_mode::tf32x3, product_mode::bf16x6})
    if (t.variants.empty() ||
        std::ranges::any_of(t.variants, [&](const target::variant& v) { return mode_of(v) == mode; }))
      modes.push_back(mode);
  return modes;
}

product_mode mode_by_turns(const target& t, const draw& d) {
  const std::vector<product_mode> modes = modes_of(t);
  return modes[static_cast<size_t>(d.index()) % modes.size()];
}

int64_t max_multiplications(const target& t) {
  if (t.device != "emulated") return int64_t{1} << (t.size == 2 ? 23 : 21);
  return int64_t{1} << (t.size == 0 ? 15 : t.size == 1 ? 17 : 21);
}

namespace {

// Shrinks the largest extent until the product fits.
product_sizes shrunk_to(product_sizes s, int64_t most) {
  const auto product = [&] {
    return std::max<int64_t>(1, s.m) * std::max<int64_t>(1, s.n) * std::max<int64_t>(1, s.k);
  };
  while (product() > most) {
    int64_t& largest = s.k >= s.m && s.k >= s.n ? s.k : s.m >= s.n ? s.m : s.n;
    largest = std::max<int64_t>(1, std::min(largest - 1, largest * most / product()));
  }
  return s;
}

// On the emulated device our kernels compute a tensor core's tile whole.
int64_t affordable_sum(const target& t, const draw& d, int64_t k) {
  const bool whole_tiles = !t.variants.empty() && (t.type != dtype::f32 || mode_by_turns(t, d) != product_mode::ieee);
  return t.device == "emulated" && whole_tiles ? std::min<int64_t>(k, t.size == 0 ? 1100 : 4097) : k;
}

// Far beyond a promotion and any slice, by turns, so that every mode has its own.
int64_t long_sum(const target& t, const draw& d) {
  constexpr int64_t k_lengths[] = {4097, 1100, 1540, 20000, 2050, 1100};
  return affordable_sum(t, d, k_lengths[d.index() / 16 % 6]);
}

// True if both operands are half_ulp. A sum in any order may err by gamma_(k-1) of its magnitudes, and tf32 operands
// whose errors average out stay below that for large k. These lose at least 2^-11 (1 - 2^-7) of the magnitudes: more
// than gamma_(k-1) up to k = 8000. All terms are positive, so a sum kept in 16 bits loses most of them.
bool is_half_ulp(const draw& d) { return d.index() % 32 == 14; }
int64_t half_ulp_sum(const target& t, const draw& d) {
  constexpr int64_t k_lengths[] = {4096, 512, 1024, 69, 2048, 257};
  return affordable_sum(t, d, k_lengths[d.index() / 32 % 6]);
}

}  // namespace

product_sizes draw_product_sizes(draw& d, const target& t) {
  const int64_t multiplications = max_multiplications(t);
  const int64_t around = t.device == "emulated" ? 66 : 130, most = t.device == "emulated" ? 131 : 300;
  product_sizes s{};
  if (t.type != dtype::f32 && d.index() % 18 / 2 == 3) {  // all parts of a tile of warpgroups, by columns or by rows
    const bool by_columns = d.index() % 36 < 18;
    s.m = by_columns ? d.between(1, 3) : d.between(65, 130);
    s.n = by_columns ? d.between(193, 258) : d.between(1, 3);
    s.k = d.between(1, 130);
    return shrunk_to(s, multiplications);
  }
  switch (d.index() % 8) {
    case 4: {  // k is cut, its last slice of one element
      const int64_t widest = multiplications < (1 << 17) ? 6 : 14;
      s.m = d.between(1, widest);
      s.n = d.between(1, widest);
      s.k = one_past_a_slice(t, mode_by_turns(t, d), s.m, s.n, d.one_of({int64_t{300}, int64_t{420}, int64_t{600}}));
      break;
    }
    case 5: {  // thin; every other one a matrix times a vector, whose k one block's slices cut, or several blocks'
      const bool vector = d.index() % 16 == 5;
      constexpr int64_t k_lengths[] = {321, 704, 1100, 31, 33};
      const int64_t k = vector ? k_lengths[d.index() / 16 % 5] : d.between(1, 300);
      int64_t thin = vector ? 1 : d.between(1, 4);
      int64_t other = d.between(1, !vector ? 257 : k > 704 ? 20 : 70);
      if (t.device != "emulated" && d.chance(20)) {
        thin = 1;
        other = d.one_of({int64_t{4093}, int64_t{4096}, int64_t{4097}});
      }
      s = d.chance(50) ? product_sizes{thin, other, k} : product_sizes{other, thin, k};
      break;
    }
    case 6: {  // long sums; every other one is for an accumulator (drawn_product)
      const bool accumulates = d.index() % 16 == 6;
      s.k = accumulates      ? long_sum(t, d)
            : is_half_ulp(d) ? half_ulp_sum(t, d)
                             : d.one_of({int64_t{255}, int64_t{256}, int64_t{257}, int64_t{384}, int64_t{511},
                                         int64_t{512}, int64_t{704}, int64_t{1025}});
      const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(multiplications / s.k)));
      const int64_t widest = std::clamp<int64_t>(side, 1, 12);
      s.m = d.between(1, widest);
      s.n = d.between(1, widest);
      break;
    }
    case 7: {  // next to nothing; every other one is a product or three that a split loses most of (drawn_product)
      const int64_t least = d.index() % 16 == 7 ? 1 : 0;
      s.m = d.between(least, 3);
      s.n = d.between(least, 3);
      s.k = least == 1 ? 8 : d.between(0, 3);
      break;
    }
    default: {
      s.m = draw_extent(d, t, around, most, 0);
      s.n = draw_extent(d, t, around, most, 1);
      s.k = draw_extent(d, t, around, most, 2);
    }
  }
  return shrunk_to(s, multiplications);
}

trial_case product_case(const target& t, draw& d, const product_sizes& of, recipe a, recipe b) {
  const description& described = *find_description("matmul");
  trial_case c = make_case(described, t, {{"m", of.m}, {"n", of.n}, {"k", of.k}},
                           {{"a", std::move(a)}, {"b", std::move(b)}, {"c_in", {}}, {"bias", {}}, {"work", {}}});
  set_knob(c, "mode", std::string(name_of(mode_by_turns(t, d))));
  set_scalars(c, 1, 0, {});
  tensor_spec& bias = *c.find("bias");
  bias.shape = {0};
  bias.ld = 0;
  bias.fill = make_recipe("constant", {0});
  follow(c);  // the workspace, by the mode
  return c;
}

void transpose(trial_case& c, bool ta, bool tb) {
  const auto store = [&](const char* tensor, const char* knob, bool transposed) {
    if ((c.knob(knob) == "yes") == transposed) return;
    set_knob(c, knob, transposed ? "yes" : "none");
    tensor_spec& t = *c.find(tensor);
    const int64_t gap = t.ld - t.cols();
    std::swap(t.shape[0], t.shape[1]);
    t.ld = t.cols() + gap;
  };
  store("a", "ta", ta);
  store("b", "tb", tb);
}

void draw_storage(draw& d, trial_case& c) {
  const bool ta = d.chance(50);
  const bool tb = d.chance(50);
  transpose(c, ta, tb);
}

void set_scalars(trial_case& c, float alpha, float beta, recipe before) {
  set_knob(c, "alpha", format_number(static_cast<double>(alpha)));
  set_knob(c, "beta", format_number(static_cast<double>(beta)));
  tensor_spec &in = *c.find("c_in"), &out = *c.find("c");
  in.type = out.type;
  const bool is_read = beta != 0 && out.elements() > 0;
  in.shape = is_read ? out.shape : std::vector<int64_t>{0, 0};
  in.ld = is_read ? out.ld : 0;
  in.offset = is_read ? out.offset : 0;
  in.fill = is_read ? std::move(before) : make_recipe("constant", {0});
  out.in_place = is_read ? "c_in" : "";
}

void set_bias(trial_case& c, recipe fill) {
  tensor_spec& bias = *c.find("bias");
  bias.shape = {c.at("c").cols()};
  bias.ld = bias.cols();
  bias.fill = std::move(fill);
}

void set_output(trial_case& c, dtype type) {
  c.find("c")->type = c.find("c_in")->type = type;
  follow(c);
}

void align_rows(trial_case& c) {
  for (const char* name : {"a", "b"}) {
    tensor_spec& x = *c.find(name);
    if (x.elements() == 0) continue;
    x.ld = (std::max(x.ld, x.cols()) + 15) / 8 * 8;
    x.offset = x.offset / 8 * 8;
  }
}

void force_a_variant(draw& d, const target& t, trial_case& c) {
  std::vector<std::string> names;
  const bool is_vector = c.at("c").rows() == 1 || c.at("c").cols() == 1;
  for (const target::variant& v : t.variants) {
    if (!is_vector && v.name.find("vector") != std::string::npos) continue;
    // One that takes no element along k multiplies nothing.
    if (name_of(mode_of(v)) == c.knob("mode") && (v.ranges.size() < 3 || v.ranges[2].min > 0)) names.push_back(v.name);
  }
  if (names.empty()) return;
  const size_t turn = static_cast<size_t>(d.index() / 3);
  set_knob(c, "variant", names[turn % names.size()]);
  const bool is_shared =
      std::ranges::any_of(c.tensors, [](const tensor_spec& x) { return x.is_in_memory_of_another(); });
  if (t.type != dtype::f32 && !is_shared && turn / names.size() % 2 == 0) align_rows(c);
}

void draw_scalars(draw& d, trial_case& c, layers which) {
  const float alpha = d.chance(60) ? 1.0f : d.one_of({-0.3f, 2.0f, 1.1f, 0.0f, -1.0f});
  const float beta = d.chance(60) ? 0.0f : d.one_of({1.0f, -1.0f, 0.7f, 1.7f});
  const double seed = d.seed();
  set_scalars(c, alpha, beta, make_recipe("uniform", {seed, -3, 3}));
  if (d.chance(35)) {
    const double bias_seed = d.seed();
    set_bias(c, make_recipe("uniform", {bias_seed, -2, 2}));
  }
  if (which == layers::linear || !d.chance(25)) return;
  set_knob(c, "sigmoid", "1");
  set_knob(c, "mu", format_number(d.one_of({0.0, 0.5, -3.0})));
  set_knob(c, "sigma", format_number(d.one_of({1.0, 0.25, -1.5, 0.0})));
}

void draw_product_layout(draw& d, trial_case& c) {
  for (tensor_spec& s : c.tensors) {
    if (s.elements() == 0) continue;
    if (s.is_workspace()) {
      s.offset = 16 * d.between(0, 3);
      continue;
    }
    if (s.shape.size() > 1 && d.chance(50))
      s.ld = s.cols() + d.one_of({int64_t{0}, int64_t{1}, int64_t{3}, int64_t{32}});
    if (d.chance(50)) s.offset = d.between(0, 3);
  }
  follow(c);
  if (d.chance(15)) {  // a workspace of its own
    tensor_spec& work = *c.find("work");
    if (work.elements() > 0) work.shape = {0}, work.ld = 0, work.offset = 0;
  }
}

namespace {

struct operand_pair {
  recipe a, b;
  bool along_k = false;  // neighbours in both are neighbours along k: a as it is, b transposed
};

operand_pair same(std::string distribution, std::vector<double> arguments) {
  operand_pair p{make_recipe(distribution, arguments), make_recipe(distribution, arguments)};
  if (!p.b.arguments.empty() && p.b.arguments.front() > 1) p.b.arguments.front() += 1;  // another seed
  return p;
}

// A mantissa whose low bits straddle a tie of a split (0xfff, 0x1000, 0x1001 of 13 bits for tf32; 0x7fff to 0x8001 of
// 16 for bf16), or are all ones: a split that drops bits loses most.
double near_a_tie(draw& d) {
  return 1 +
         static_cast<double>(d.one_of({0xfff, 0x1000, 0x1001, 0x1fff, 0x7fff, 0x8000, 0x8001, 0xffff, 1})) * 0x1p-23;
}

// An accumulator of 1, beside which a tensor core cuts each product of just under 2^-24 to 2^-25, and the sum of
// fifteen or seven of them, which is no multiple of 2^-23, once more.
operand_pair accumulator() {
  return {make_recipe("spike", {0, 0x1p12, 0x1.fep-13}), make_recipe("stagnation", {15, 0x1p-12, 16}), true};
}

// All ones in the 13 bits that a split into tf32 drops or rounds, some of the others in the first elements: eight
// products that lose most, whose sum is cut as well.
recipe ones_below(draw& d, int64_t rows, int64_t k) {
  recipe r = make_recipe("constant", {1 + 0x1fffp-23});
  for (int64_t i = 0; rows > 0 && i < std::min<int64_t>(k, 8); ++i)
    r.edits.push_back({0, i, 1 + 0x1fffp-23 + static_cast<double>(d.between(0, 3)) * 0x1p-10});
  return r;
}

operand_pair draw_moderate(draw& d, const target& t) {
  const double seed = static_cast<double>(d.between(2, 999998));
  const bool is_half = t.type == dtype::f16;
  switch (d.between(0, 9)) {
    case 0: return same("randn", {seed});
    case 1: return same("uniform", {seed, 1, 2});  // truncation and dropped parts add up
    case 2: return same("integers", {seed, -9, 9});
    case 3: return same("dyadic", {seed, 4, 5});
    case 4: return same("log_uniform", {seed, is_half ? -6.0 : -20.0, is_half ? 4.0 : 20.0});
    case 5: {
      // Pairs that cancel but for their last bits: the result is small beside its terms.
      return {make_recipe("cancellation", {seed, 64}), make_recipe("constant", {d.one_of({1.0, 3.0})}), true};
    }
    case 6: return {make_recipe("ascending", {-3, 5}), make_recipe("descending", {4, -1})};
    case 7: return accumulator();
    case 8: {
      const double a = near_a_tie(d);
      return {make_recipe("constant", {a}), make_recipe("duplicates", {seed, 3})};
    }
    default: {
      const double a = near_a_tie(d), b = near_a_tie(d);
      return {make_recipe("constant", {a}), make_recipe("constant", {b})};
    }
  }
}

operand_pair draw_finite(draw& d, const target& t) {
  const double seed = static_cast<double>(d.between(2, 999998));
  switch (d.between(0, 12)) {
    case 0: return {make_recipe("near_overflow", {seed}), make_recipe("log_uniform", {seed + 1, -12, -6})};
    case 1: return same("near_overflow", {seed});  // sums and products overflow
    case 2: return {make_recipe("near_underflow", {seed}), make_recipe("randn", {seed + 1})};
    case 3: return {make_recipe("randn", {seed}), make_recipe("near_underflow", {seed + 1})};
    case 4: return same("finite_bits", {seed});
    case 5: return {make_recipe("one_hot", {seed, 3, 0.125}), make_recipe("randn", {seed + 1})};
    case 6: return same("duplicates", {seed, 5});
    default: return draw_moderate(d, t);
  }
}

operand_pair draw_any(draw& d, const target& t) {
  const double seed = static_cast<double>(d.between(2, 999998));
  switch (d.between(0, 11)) {
    case 0: return same("bits", {seed});
    case 1: return {make_recipe("special", {seed}), make_recipe("randn", {seed + 1})};
    case 2: return {make_recipe("randn", {seed}), make_recipe("special", {seed + 1})};
    case 3: return {make_recipe("masked", {2, 5, seed}), make_recipe("uniform", {seed + 1, -1, 2})};
    default: return draw_finite(d, t);
  }
}

}  // namespace

trial_case drawn_product(const target& t, draw& d, const product_sizes& of, operands which) {
  // The plainest ones in all operands are seldom drawn, so some cases have them by turns.
  operand_pair p;
  const double seed = static_cast<double>(d.between(2, 999998));
  switch (d.index() % 16) {
    case 6: p = accumulator(); break;
    case 7: {
      recipe a = ones_below(d, of.m, of.k);
      p = {std::move(a), ones_below(d, of.n, of.k), true};
      break;
    }
    case 3: p = same("duplicates", {seed, 4}); break;
    case 9: p = same("integers", {seed, -9, 9}); break;
    case 11: p = same("randn", {seed}); break;
    case 14:
      if (is_half_ulp(d)) {
        p = same("half_ulp", {seed, 11});
        break;
      }
      [[fallthrough]];
    default:
      p = which == operands::any ? draw_any(d, t) : which == operands::finite ? draw_finite(d, t) : draw_moderate(d, t);
  }
  trial_case c = product_case(t, d, of, {}, {});
  const int64_t stored = p.along_k ? 2 : d.between(0, 3);
  transpose(c, stored % 2 == 1, stored >= 2);
  c.find("a")->fill = std::move(p.a);  // edits are of the operands as they are stored
  c.find("b")->fill = std::move(p.b);
  if (t.type != dtype::f32) set_output(c, d.chance(50) ? dtype::f32 : t.type);
  return c;
}

trial_case matmul_case(const target& t, draw& d, operands which, layers scalars) {
  const product_sizes of = draw_product_sizes(d, t);
  trial_case c = drawn_product(t, d, of, which);
  // Operands that are made to lose most stay unchanged.
  if (d.index() % 16 != 6 && d.index() % 16 != 7 && !is_half_ulp(d)) draw_scalars(d, c, scalars);
  draw_product_layout(d, c);
  if (d.index() % 3 == 2) force_a_variant(d, t, c);
  // A tile is computed whole: of large products one schedule is enough.
  if (t.device == "emulated" && of.m * of.n * of.k > (int64_t{1} << 15)) run_once(c);
  return c;
}

}  // namespace warpcheck
