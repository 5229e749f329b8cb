// matmul on trial: special values, shapes and layouts, determinism and hazards. The rest: matmul_properties.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/engine/cases/refusals.hpp"
#include "properties/engine/trials/checks.hpp"
#include "properties/matmul/matmul_problem.hpp"
#include "reference/numerics/float_value.hpp"

namespace warpcheck {
namespace {

using namespace engine;

constexpr double k_inf = std::numeric_limits<double>::infinity();
constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();

// ---- special values ----

trial_case special_case(const target& t, draw& d) {
  product_sizes of{d.between(1, 40), d.between(1, 40), d.between(1, 50)};
  if (d.index() % 4 == 3) of = {d.between(65, 70), d.between(1, 6), d.between(1, 20)};
  const double seed = static_cast<double>(d.between(2, 999998));
  trial_case c =
      product_case(t, d, of, make_recipe("uniform", {seed, -2, 2}), make_recipe("uniform", {seed + 1, -2, 2}));
  if (t.type != dtype::f32) set_output(c, d.chance(50) ? dtype::f32 : t.type);
  draw_storage(d, c);
  draw_scalars(d, c, layers::linear);
  if (c.knob("alpha") == "0") set_knob(c, "alpha", "1");
  // Where, and what: A or B and the four kinds in turn.
  set_knob(c, "place", format_number(static_cast<double>(8 * d.between(0, 99999) + d.index() % 8)));
  if (d.index() % 3 == 1) force_a_variant(d, t, c);
  run_once(c);
  return c;
}

uint64_t special_bits(dtype type, uint64_t which) {
  switch (which % 4) {
    case 0: return encode(type, k_inf);
    case 1: return encode(type, -k_inf);
    case 2: return encode(type, k_nan);
    // A NaN that is an infinity once its low bits are dropped.
    default: return encode(type, k_inf) + 1;
  }
}

// One entry of A reaches its row, one of B its column, whatever it meets: zeros, what a split holds in one part, the
// least numbers. All other elements keep their bits. The entry is often the last one along k, which a kernel may repeat
// in place of the zeros behind it.
void check_special(trial& t) {
  matmul_problem p(t.the_case());
  if (p.m() == 0 || p.n() == 0 || p.k() == 0) return t.skip("there is no product");
  const auto place = static_cast<uint64_t>(t.the_case().number("place"));
  const bool in_a = place % 2 == 0;
  const bool is_last = hash64(place, 3) % 3 == 0;
  const int64_t l = is_last ? p.k() - 1 : static_cast<int64_t>(hash64(place, 1) % static_cast<uint64_t>(p.k()));
  const int64_t at = static_cast<int64_t>(hash64(place, 2) % static_cast<uint64_t>(in_a ? p.m() : p.n()));
  const double partners[] = {0.0, -0.0, 1, 0x1p-149, 0x1p-137, 0x1p-126, -3, 0x1p-24};
  const int64_t others = in_a ? p.n() : p.m();
  for (int64_t i = 0; i < others && i < static_cast<int64_t>(std::size(partners)); ++i)
    (in_a ? p.b : p.a).set(in_a ? l : i, in_a ? i : l, partners[i]);
  const host_tensor before = ask(t, p);
  judge_bound(t, p, before);
  (in_a ? p.a : p.b).at(in_a ? at : l, in_a ? l : at) = special_bits(p.type(), place / 2);
  const host_tensor after = ask(t, p);
  judge_bound(t, p, after);
  for (int64_t i = 0; i < p.m(); ++i)
    for (int64_t j = 0; j < p.n(); ++j) {
      if ((in_a ? i : j) == at)
        t.require(!std::isfinite(after.value(i, j)), "c[{},{}] is {}, and its {} has an entry that is not finite", i, j,
                  after.value(i, j), in_a ? "row" : "column");
      else
        require_same_element(t, before, i, j, after, i, j, "an entry elsewhere that is not finite");
    }
}

trial_case range_case(const target& t, draw& d) {
  const product_sizes of{d.between(1, 24), d.between(1, 24), d.between(1, 40)};
  const double seed = static_cast<double>(d.between(2, 999998));
  const int64_t least = t.type == dtype::f16 ? -24 : -149, most = t.type == dtype::f16 ? 15 : 127;
  trial_case c;
  if (d.index() % 4 == 3) {
    // Zeros and the least numbers against the largest, beside products near 2^-60 (f16: the square of its least).
    const double large = t.type == dtype::f16 ? 0x1p15 : 0x1p100, middle = t.type == dtype::f16 ? 0x1p-9 : 0x1p-30;
    const double small =
        d.one_of({0.0, t.type == dtype::f16 ? 0x1p-24 : 0x1p-149, t.type == dtype::f16 ? 0x1.8p-15 : 0x1p-127});
    c = product_case(t, d, of, make_recipe("alternating", {small, 1.5 * middle}),
                     make_recipe("alternating", {large, 1.5 * middle}));
    transpose(c, false, true);
  } else if (d.index() % 8 == 5) {
    // The largest numbers, which a split must not round to infinity.
    const double largest = t.type == dtype::f16 ? 65504 : t.type == dtype::bf16 ? 0x1.fep127 : 0x1.fffffep127;
    c = product_case(t, d, of, make_recipe("constant", {largest}), make_recipe("log_uniform", {seed, -14, -8}));
    draw_storage(d, c);
  } else {
    const int64_t e = d.between(least, most), f = d.between(0, 2) == 0 ? -e : d.between(least, most);
    const auto around = [&](double of_seed, int64_t power) {
      const double lo = static_cast<double>(std::clamp(power, least, most - 1));
      return make_recipe("log_uniform", {of_seed, lo, lo + 1});
    };
    c = product_case(t, d, of, around(seed, e), around(seed + 1, std::clamp(f, least, most)));
    draw_storage(d, c);
  }
  if (d.index() % 3 == 1) force_a_variant(d, t, c);
  run_once(c);
  return c;
}

trial_case contract_case(const target& t, draw& d) {
  product_sizes of = draw_product_sizes(d, t);
  of.m = std::min<int64_t>(of.m, 40), of.n = std::min<int64_t>(of.n, 70), of.k = std::min<int64_t>(of.k, 60);
  trial_case c = drawn_product(t, d, of, operands::moderate);
  draw_scalars(d, c, layers::linear);
  draw_product_layout(d, c);
  if (d.index() % 3 == 0) force_a_variant(d, t, c);
  run_once(c);
  return c;
}

void check_not_read(trial& t) {
  const matmul_problem p(t.the_case());
  judge_bound(t, p, t.run().at("c"));
  // C holds NaN before each call, and is not read.
  matmul_problem q = p;
  for (const float beta : {0.0f, -0.0f}) {
    q.beta = beta;
    q.c = {};
    if (is_offered(t, q)) judge_bound(t, q, ask(t, q));
  }
  // A and B are not read, either; the operations after the sum are done.
  q = p;
  q.alpha = 0;
  q.a.fill([](int64_t, int64_t) { return k_nan; });
  q.b.fill([](int64_t, int64_t) { return k_nan; });
  if (is_offered(t, q)) judge_bound(t, q, ask(t, q));
  q.sigmoid = true;
  if (is_offered(t, q)) judge_bound(t, q, ask(t, q));
  q = p;
  q.a = product_matrix(p.type(), p.m(), 0);
  q.b = product_matrix(p.type(), 0, p.n());
  q.variant = "auto";
  if (is_offered(t, q)) judge_bound(t, q, ask(t, q));
}

void check_powers(trial& t) {
  matmul_problem p(t.the_case());
  p.beta = 0, p.alpha = 1, p.sigmoid = false;
  p.c = p.bias = {};
  p.output = dtype::f32;
  if (!is_offered(t, p)) p.output = p.type();
  const host_tensor one = ask(t, p);
  judge_bound(t, p, one);
  for (const int e : {-7, 5}) {
    p.alpha = std::ldexp(1.0f, e);
    if (!is_offered(t, p)) continue;
    const host_tensor scaled = ask(t, p);
    for (int64_t i = 0; i < p.m(); ++i)
      for (int64_t j = 0; j < p.n(); ++j) {
        const double x = one.value(i, j), y = scaled.value(i, j);
        if (std::fabs(x) < 0x1p100 && (x == 0 || std::fabs(x) > 0x1p-100))
          t.require(y == std::ldexp(x, e), "c[{},{}] is {:a}, and {:a} with alpha = 2^{}", i, j, x, y, e);
      }
  }
}

void check_contract(trial& t) {
  check_not_read(t);
  check_powers(t);
}

// ---- shapes and layouts ----

trial_case sweep_case(const target& t, draw& d) {
  const std::initializer_list<int64_t> edges = {0,  1,  2,  3,  7,  8,   15,  16,  17,  31, 32,
                                                33, 63, 64, 65, 66, 100, 127, 128, 129, 130};
  const int64_t most = max_multiplications(t);
  product_sizes of{d.one_of(edges), d.one_of(edges), d.one_of(edges)};
  if (d.chance(60)) of.n = std::min<int64_t>(of.n, 66);
  if (d.index() % 8 == 3) (d.chance(50) ? of.m : of.n) = 1;
  of.k = std::min(of.k, std::max<int64_t>(1, most / std::max<int64_t>(1, of.m * of.n)));
  const double seed = static_cast<double>(d.between(2, 999998));
  trial_case c =
      product_case(t, d, of, make_recipe("uniform", {seed, 1, 2}), make_recipe("uniform", {seed + 1, -2, 2}));
  if (t.type != dtype::f32) set_output(c, d.chance(50) ? dtype::f32 : t.type);
  draw_storage(d, c);
  draw_scalars(d, c, layers::linear);
  draw_product_layout(d, c);
  if (d.index() % 3 != 0) force_a_variant(d, t, c);
  set_knob(c, "schedule", "fair");
  return c;
}

// Each tile of 32 x 32 has a power of two of its own: a misplaced one shows its number.
void check_sweep(trial& t) {
  matmul_problem p(t.the_case());
  const product_matrix a = p.a, b = p.b;
  p.a.fill([&](int64_t i, int64_t l) { return std::ldexp(a.value(i, l), static_cast<int>(i / 32)); });
  p.b.fill([&](int64_t l, int64_t j) { return std::ldexp(b.value(l, j), -static_cast<int>(j / 32 % 8)); });
  judge_bound(t, p, ask(t, p, asked::in_full));
}

void check_padding(trial& t) {
  matmul_problem p(t.the_case());
  const host_tensor plain = t.run().at("c");
  judge_bound(t, p, plain);
  const matmul_problem q = p;
  for (const int64_t more : {1, 16, 33}) {
    p.a = product_matrix(q.type(), q.m(), q.k() + more);
    p.b = product_matrix(q.type(), q.k() + more, q.n());
    for (int64_t l = 0; l < q.k(); ++l) {
      for (int64_t i = 0; i < q.m(); ++i) p.a.at(i, l) = q.a.at(i, l);
      for (int64_t j = 0; j < q.n(); ++j) p.b.at(l, j) = q.b.at(l, j);
    }
    const host_tensor c = ask(t, p);
    judge_bound(t, p, c);
    const reference::dot_slices before = q.plan(), after = p.plan();
    if (!t.stated().has_our_plan) continue;
    if ((before.count <= 1 && after.count <= 1) || before.length == after.length)
      require_same(t, plain, c, fmt::format("{} zeros more along k", more), zeros::are_equal);
  }
}

// Each operand of matrices and of vectors, at each distance and in each mode, in turn.
trial_case far_case(const target& t, draw& d) {
  const double seed = static_cast<double>(d.between(2, 999998));
  const int64_t turn = d.index(), shape = turn % 3, operand = turn / 3 % 3;
  const product_sizes of{shape == 1 ? 1 : 3, shape == 2 ? 1 : 3, 3};
  trial_case c =
      product_case(t, d, of, make_recipe("uniform", {seed, -2, 2}), make_recipe("uniform", {seed + 1, -2, 2}));
  const std::vector<product_mode> modes = modes_of(t);
  set_knob(c, "mode", std::string(name_of(modes[static_cast<size_t>(shape + operand + turn / 9) % modes.size()])));
  // For an operand that is a vector, stored with a row for each element.
  const bool ta = d.chance(50), tb = d.chance(50);
  transpose(c, operand == 0 && shape == 1 ? true : ta, operand == 1 && shape == 2 ? false : tb);
  constexpr int64_t k_distances[] = {(int64_t{1} << 31) + 3, (int64_t{1} << 32) + 1, (int64_t{1} << 31) - 5};
  constexpr const char* k_operands[] = {"a", "b", "c"};
  c.find(k_operands[operand])->ld = k_distances[turn / 9 % 3];
  follow(c);
  if (turn % 4 == 1) force_a_variant(d, t, c);
  run_once(c);
  return c;
}

trial_case dispatch_case(const target& t, draw& d) {
  // An extent at or beside an end of a box, the others as small as lets the call be one of the box's neighbourhood.
  const int64_t most = t.device != "emulated" ? int64_t{1} << 22
                       : t.size == 0          ? 1 << 14
                       : t.size == 1          ? 1 << 17
                                              : 1 << 22;
  const auto beside = [&](size_t extent, int64_t limit) {
    const std::vector<int64_t> critical = critical_extents(t, std::max<int64_t>(1, limit), extent);
    return d.one_of(std::span<const int64_t>(critical));
  };
  product_sizes of{1, 1, 1};
  of.m = d.chance(70) ? beside(0, most) : d.between(1, 4);
  of.n = beside(1, most / of.m);
  // Sums of up to 2^20 products of 3 and 5 are exact in f32.
  const int64_t depth = std::clamp<int64_t>(most / (of.m * of.n), 1, 1 << 20);
  of.k = d.chance(50) ? d.between(0, 3) : beside(2, depth);
  of.k = std::min(of.k, depth);
  trial_case c = product_case(t, d, of, make_recipe("constant", {3}), make_recipe("constant", {5}));
  draw_storage(d, c);
  set_knob(c, "rows_alone", d.chance(30) ? "1" : "0");
  follow(c);
  run_once(c);
  return c;
}

// Inside a box and one outside: what ran is the box's variant, and every product of at least an element has a box.
void check_dispatch(trial& t) {
  const matmul_problem p(t.the_case());
  const run_result r = t.run();
  const bool multiplies = p.alpha == 1 && p.k() > 0 && p.m() > 0 && p.n() > 0;
  const double sum = multiplies ? p.a.value(0, 0) * p.b.value(0, 0) * static_cast<double>(p.k()) : 0;
  const double expected = reference::round_to(p.output, sum);
  for (int64_t i = 0; i < p.m(); ++i)
    for (int64_t j = 0; j < p.n(); ++j) judge_value(t, r.at("c"), i, j, expected);
  if (!t.op().publishes_picks() || p.m() == 0 || p.n() == 0 || p.variant != "auto") return;
  t.require(!r.picked_variant.empty(), "{} x {} x {} lies in no box of the dispatch", p.m(), p.n(), p.k());
  t.require(r.used_variant == r.picked_variant, "{} x {} x {} ran as '{}', and lies in a box of '{}'", p.m(), p.n(),
            p.k(), r.used_variant, r.picked_variant);
}

// ---- determinism and hazards ----

// A tile or a few of them, of any variant.
trial_case small_tiles_case(const target& t, draw& d) {
  const product_sizes of{d.between(1, 70), d.between(1, 20), d.between(1, 80)};
  trial_case c = drawn_product(t, d, of, operands::moderate);
  draw_scalars(d, c, layers::linear);
  draw_product_layout(d, c);
  if (d.chance(60)) force_a_variant(d, t, c);
  return c;
}

// A row or a column of C, in ieee where there are modes: the slices of k are those of one block's warps, or of several.
trial_case vector_case(const target& t, draw& d) {
  const int64_t k = d.one_of({int64_t{33}, int64_t{65}, int64_t{321}, int64_t{700}, int64_t{1100}});
  const int64_t outer = d.between(1, k > 700 ? 20 : 70);
  const bool is_row = d.chance(50);
  trial_case c = drawn_product(t, d, {is_row ? 1 : outer, is_row ? outer : 1, k}, operands::moderate);
  set_knob(c, "mode", "ieee");
  draw_scalars(d, c, layers::linear);
  draw_product_layout(d, c);
  return c;
}

// k is cut, so that there are partial sums.
trial_case cut_case(const target& t, draw& d) {
  const bool quick = t.device == "emulated" && t.size == 0;
  const int64_t m = d.between(1, quick ? 6 : 24), n = d.between(1, quick ? 6 : 24);
  const int64_t k =
      one_past_a_slice(t, mode_by_turns(t, d), m, n, d.one_of({int64_t{300}, int64_t{420}, int64_t{700}}));
  trial_case c = drawn_product(t, d, {m, n, k}, operands::moderate);
  draw_scalars(d, c, layers::linear);
  draw_product_layout(d, c);
  if (c.at("work").elements() == 0) c.find("work")->shape = {1}, follow(c);
  return c;
}

trial_case work_case(const target& t, draw& d) {
  trial_case c = d.index() % 4 == 1 ? vector_case(t, d) : cut_case(t, d);
  if (c.at("work").elements() == 0) c.find("work")->shape = {1}, follow(c);
  // With the detectors: what lies in the workspace is read and written where it is aligned for that, or not at all.
  set_knob(c, "schedule", "fair");
  return c;
}

// Every launch of the case found something else in the workspace.
void check_work(trial& t) {
  matmul_problem p(t.the_case());
  const host_tensor given = t.run().at("c");
  judge_bound(t, p, given);
  for (const auto& [space, what] : {std::pair{matmul_problem::space::own, "a workspace of its own"},
                                    {matmul_problem::space::longer, "a longer workspace"}}) {
    p.work = space;
    const host_tensor c = ask(t, p);
    if (t.stated().has_our_plan)
      require_same(t, given, c, what);
    else
      judge_bound(t, p, c);  // how much there is may change the order of sums
  }
}

trial_case repeated_case(const target& t, draw& d) {
  trial_case c = d.index() % 3 == 0 ? small_tiles_case(t, d) : d.index() % 6 == 1 ? vector_case(t, d) : cut_case(t, d);
  c.knobs["repeat"] = t.device == "emulated" ? (t.size == 2 ? "64" : "6") : "20";
  set_knob(c, "sm", format_number(static_cast<double>(d.one_of({1, 2, 7, 132}))));
  set_knob(c, "detect", "off");
  return c;
}

// More stages along k than a ring has, for 16-bit operands that tensor maps read: each slot is filled several times.
trial_case ring_case(const target& t, draw& d) {
  trial_case c = drawn_product(t, d, {d.between(1, 70), d.between(1, 20), 64 * d.between(5, 9)}, operands::moderate);
  set_knob(c, "variant", "matmul_warpgroups");
  align_rows(c);
  return c;
}

trial_case hazard_case(const target& t, draw& d) {
  const bool has_ring = t.type != dtype::f32 &&
                        std::ranges::any_of(t.variants, [](const auto& v) { return v.name == "matmul_warpgroups"; });
  trial_case c = d.index() % 2 == 0               ? small_tiles_case(t, d)
                 : d.index() % 4 == 1             ? vector_case(t, d)
                 : has_ring && d.index() % 8 == 3 ? ring_case(t, d)
                                                  : cut_case(t, d);
  set_knob(c, "detect", "only");
  const int64_t seed = d.between(0, 999999);
  set_knob(c, "schedule", fmt::format("{}:{}", d.one_of({"random", "pct_warp", "preempt", "pct"}), seed));
  if (d.chance(30)) set_knob(c, "sm", "1");
  return c;
}

trial_case rows_case(const target& t, draw& d) {
  // So many elements of a column that a plan that knew of them would cut k otherwise.
  const bool is_column = d.index() % 4 == 1;
  const int64_t n = is_column ? 1 : d.between(1, 20);
  const int64_t k = is_column ? 700 : d.one_of({int64_t{60}, int64_t{300}, int64_t{700}});
  const int64_t m = is_column ? d.between(4230, 4260)
                    : k == 60 ? d.between(2, 70)
                              : d.one_of({int64_t{2}, int64_t{9}, int64_t{66}});
  trial_case c = drawn_product(t, d, {m, n, k}, operands::moderate);
  if (is_column) set_knob(c, "mode", "ieee");
  set_knob(c, "rows_alone", "1");
  follow(c);
  run_once(c);
  return c;
}

trial_case few_rows_case(const target& t, draw& d) {
  const int64_t m = d.between(2, 40), n = d.between(1, 20), k = d.one_of({int64_t{60}, int64_t{300}});
  trial_case c = drawn_product(t, d, {m, n, k}, operands::moderate);
  set_knob(c, "rows_alone", "1");
  follow(c);
  return c;
}

// The last rows first, fewer and fewer of them.
void check_rows(trial& t) {
  matmul_problem p(t.the_case());
  p.rows_alone = true;
  const host_tensor whole = ask(t, p);
  judge_bound(t, p, whole);
  const matmul_problem q = p;
  for (int64_t m = q.m(); m >= 1; m = m > 8 ? m / 7 : m / 2) {
    p.a = product_matrix(q.type(), m, q.k());
    if (!q.c.bits.empty()) p.c = product_matrix(q.output, m, q.n());
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t l = 0; l < q.k(); ++l) p.a.at(i, l) = q.a.at(q.m() - 1 - i, l);
      for (int64_t j = 0; j < q.n() && !q.c.bits.empty(); ++j) p.c.at(i, j) = q.c.at(q.m() - 1 - i, j);
    }
    const host_tensor c = ask(t, p);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < q.n(); ++j)
        require_same_element(t, whole, q.m() - 1 - i, j, c, i, j, fmt::format("the row among {} others", m - 1));
  }
}

// ---- tensor cores ----

// A mode on tensor cores where the candidate has one.
trial_case tensor_case(const target& t, draw& d) {
  const product_sizes of{d.between(2, 70), d.between(2, 40), d.between(1, 140)};
  trial_case c = drawn_product(t, d, of, operands::moderate);
  const std::vector<product_mode> modes = modes_of(t);
  if (modes.size() > 1)
    set_knob(c, "mode", std::string(name_of(modes[1 + static_cast<size_t>(d.index()) % (modes.size() - 1)])));
  follow(c);
  run_once(c);
  return c;
}

// True if a technique's name is of tensor cores and of the mode.
bool serves_mode(const std::string& name, const std::string& mode) {
  const bool splits = name.find("tf32x3") != std::string::npos || name.find("bf16x6") != std::string::npos;
  return name.find("warp") != std::string::npos && (mode == "ieee" ? !splits : name.find(mode) != std::string::npos);
}

// Every technique of the mode on tensor cores gives the bits of the case's; so does the emulated device where the
// case's is a GPU of the compute capability that it has.
void check_model_bits(trial& t) {
  matmul_problem p(t.the_case());
  const run_result r = t.run();
  judge_bound(t, p, r.at("c"));
  const std::string mode = t.the_case().knob("mode");
  if (!r.used_variant.empty() && !serves_mode(r.used_variant, mode)) return t.skip("it ran without tensor cores");
  for (const listed_variant& v : t.op().variants) {
    if (!serves_mode(v.name, mode) || (v.dtypes & dtype_bit(p.type())) == 0) continue;
    p.variant = v.name;
    require_same(t, r.at("c"), ask(t, p), v.name);
  }
  const std::string gpu = t.op().device == WARPCHECK_DEVICE_CUDA ? describe_device("cuda") : "";
  const bool is_sm_90 = gpu.find("H100") != std::string::npos || gpu.find("H200") != std::string::npos;
  if (!is_sm_90 || t.the_case().knob("candidate") != "builtin") return;
  trial_case emulated = t.the_case();
  set_knob(emulated, "device", "emulated");
  trial twin(emulated);
  require_same(t, r.at("c"), twin.run().at("c"), "the emulated device");
}

// ---- refusals ----

trial_case refused_case(const target& t, draw& d) {
  const product_sizes of{d.between(2, 5), d.between(2, 5), d.between(2, 5)};
  trial_case c = product_case(t, d, of, make_recipe("constant", {1}), make_recipe("constant", {2}));
  draw_storage(d, c);
  set_bias(c, make_recipe("constant", {4}));
  return c;
}

size_t place_of(const trial_case& c, std::string_view name) {
  const auto found = std::ranges::find_if(c.tensors, [&](const auto& s) { return s.name == name; });
  return static_cast<size_t>(found - c.tensors.begin());
}

void check_refusals(trial& t) {
  refuse_common(t);
  const trial_case& c = t.the_case();
  const size_t a = place_of(c, "a"), b = place_of(c, "b"), before = place_of(c, "c_in"), bias = place_of(c, "bias"),
               out = place_of(c, "c");
  t.expect_refusal("b of one row less", [=](auto& v) { --v[b].shape[0]; });
  t.expect_refusal("c of one column less", [=](auto& v) { --v[out].shape[1]; });
  const bool has_bias = c.at("bias").elements() > 0;
  if (has_bias) t.expect_refusal("bias of one element less", [=](auto& v) { --v[bias].shape[0]; });
  t.expect_refusal("b of integers", [=](auto& v) { v[b].dtype.code = kDLInt; });
  if (has_bias) t.expect_refusal("bias of integers", [=](auto& v) { v[bias].dtype.code = kDLInt; });
  const auto is_c = [=](auto& v) {
    v[before].data = v[out].data;
    for (int i = 0; i < 2; ++i) v[before].shape[i] = v[out].shape[i], v[before].strides[i] = v[out].strides[i];
  };
  const bool has_before = c.at("c_in").elements() > 0;
  t.expect_refusal("c lies one row further in a", [=](auto& v) {
    v[out].data = static_cast<char*>(v[a].data) + v[a].strides[0] * (v[a].dtype.bits / 8);
    if (has_before) is_c(v);
  });
  // c_in is c itself, and has elements only if beta is not 0.
  trial_case plain = c, added = c;
  set_scalars(added, 1, 1, {});
  if (!t.offers(added)) return;
  set_knob(plain, "beta", "0");
  t.expect_refusal("c_in where beta is 0", is_c, &plain);
  added = c;
  set_knob(added, "beta", "1");
  const auto absent = [=](auto& v) { v[before].data = nullptr, v[before].shape[0] = v[before].shape[1] = 0; };
  const auto beside = [=](auto& v) { is_c(v), v[before].data = v[a].data; };
  const auto of_other_strides = [=](auto& v) { is_c(v), ++v[before].strides[0]; };
  t.expect_refusal("no c_in where beta is 1", absent, &added);
  t.expect_refusal("c_in beside c", beside, &added);
  t.expect_refusal("c_in of other strides", of_other_strides, &added);
}

trial_case space_case(const target& t, draw& d) {
  const int64_t m = d.between(1, 6), n = d.between(1, 6), k = one_past_a_slice(t, mode_by_turns(t, d), m, n, 300);
  trial_case c = product_case(t, d, {m, n, k}, make_recipe("constant", {1}), make_recipe("constant", {2}));
  run_once(c);
  return c;
}

// A workspace that is a byte too short, or not aligned, or in another tensor.
void check_space(trial& t) {
  const trial_case& c = t.the_case();
  const size_t work = place_of(c, "work");
  if (c.at("work").elements() == 0) return t.skip("the call needs no workspace");
  check_product(t);
  t.expect_refusal("work of a byte less", [=](auto& v) { --v[work].shape[0]; });
  t.expect_refusal("work of one byte", [=](auto& v) { v[work].shape[0] = 1; });
  t.expect_refusal("work is off by a byte", [=](auto& v) { v[work].data = static_cast<char*>(v[work].data) + 1; });
  t.expect_refusal("work is off by four bytes", [=](auto& v) { v[work].data = static_cast<char*>(v[work].data) + 4; });
  for (const char* name : {"a", "b", "c"})
    t.expect_refusal(fmt::format("work lies in {}", name),
                     [work, i = place_of(c, name)](auto& v) { v[work].data = v[i].data; });
}

const property_registration registration([] {
  property_list list = matmul_list();
  property& special =
      list.add("non-finite-class", "an entry that is not finite reaches its row or column, and nothing else changes",
               special_case, check_special, 75);
  special.holds = is_without_sigmoid;
  special.knobs = {{"place", "0", "draws where the entry lies, and which"}};
  list.add("range-sweep", "operands of every exponent keep the bound", range_case, check_product, 75);
  list.add("beta-alpha-contract", "operands with factor 0 are not read, and powers of two scale exactly", contract_case,
           check_contract, 40);
  list.add("shape-sweep", "sizes around every edge of a tile, with gaps and at odd addresses", sweep_case, check_sweep);
  list.add("k-padding", "zeros along k change no bit where the slices stay", contract_case, check_padding, 30);
  list.add("large-offset", "rows that lie more than 2^31 elements apart are read and written", far_case, check_product,
           27)
      .holds = [](const trial_case& c) {
    return std::ranges::any_of(c.tensors, [](const tensor_spec& t) { return t.ld >= (int64_t{1} << 31) - 5; });
  };
  list.add("dispatch", "at the ends of every box the variant of the box runs", dispatch_case, check_dispatch, 30)
      .holds = is_without_sigmoid;
  list.add("work-independence", "the contents and the owner of the workspace change nothing", work_case, check_work,
           20);
  list.add("repeatability", "every launch, schedule and number of processors gives the same bits", repeated_case,
           check_product, 12);
  list.add("no-hazard", "no race, uninitialised read, out-of-bounds access or divergent barrier under random schedules",
           hazard_case, check_product, 25);
  list.append(
      batch_invariance("matmul", {dtype::f32, dtype::f16, dtype::bf16}, "m", few_rows_case,
                       [](trial& t, const run_result& r) { judge_bound(t, matmul_problem(t.the_case()), r.at("c")); }));
  list.add("rows-alone", "with rows_alone a row has the same bits among any others", rows_case, check_rows, 20).holds =
      [](const trial_case& c) { return c.knob("rows_alone") == "1"; };
  list.add("model-bits", "techniques on tensor cores, and GPU and emulated device, agree to the bit", tensor_case,
           check_model_bits, 15);
  list.add("rejects-invalid-calls", "calls that break the contract are refused with a sentence and write nothing",
           refused_case, check_refusals, 10);
  list.add("rejects-invalid-workspaces", "a workspace that is too short or lies wrong is refused", space_case,
           check_space, 8)
      .needs_our_plan = true;
  return list.take();
}());

}  // namespace
}  // namespace warpcheck
