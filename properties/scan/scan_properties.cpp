// scan on trial: the properties of its contract (kernels/scan/scan.hpp), with bounds from reference/scan/scan.hpp.
#include "reference/scan/scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/scan/contract.hpp"
#include "properties/engine/trials/polynomial_identity.hpp"
#include "properties/rows/row_properties.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::prefix;

// The knob `kind` (contract).
constexpr int k_inclusive = 0, k_exclusive = 1;

prefix kind_of(const trial_case& c) {
  return knob_or(c, "kind", k_inclusive) == k_inclusive ? prefix::inclusive : prefix::exclusive;
}

trial_case with_kind(trial_case c, prefix kind) {
  c.knobs.erase("kind");
  if (kind == prefix::exclusive) c.knobs["kind"] = format_number(k_exclusive);
  return c;
}

std::vector<uint64_t> bits_of_row(const host_tensor& t, int64_t row) {
  std::vector<uint64_t> bits;
  for (int64_t i = 0; i < t.spec.cols(); ++i) bits.push_back(t.bits(row, i));
  return bits;
}

// Doubles do not hold every integer: bits decide, and the report counts the element.
void judge_integer(trial& t, const host_tensor& x, const host_tensor& y, int64_t row, int64_t i, uint64_t expected) {
  t.require(y.bits(row, i) == expected, "y[{},{}] is {}, expected {} modulo 2^64", row, i,
            static_cast<int64_t>(y.bits(row, i)), static_cast<int64_t>(expected));
  t.judge("y", row, i, x.value(row, i), y.value(row, i),
          reference::judge_fixed(dtype::f64, y.value(row, i), y.value(row, i)));
}

constexpr int64_t k_most_exact_texts = 4096;

// The outputs y of x by `kind`.
void judge_scan(trial& t, const host_tensor& x, const host_tensor& y, int64_t row, prefix kind) {
  if (!is_float(x.spec.type)) {
    const std::vector<uint64_t> expected = reference::scan_integers(kind, bits_of_row(x, row));
    for (int64_t i = 0; i < x.spec.cols(); ++i) judge_integer(t, x, y, row, i, expected[static_cast<size_t>(i)]);
    return;
  }
  const std::vector<double> values = x.row(row);
  const reference::scan_row model(kind, values, x.spec.type);
  for (int64_t i = 0; i < x.spec.cols(); ++i) {
    const double actual = y.value(row, i);
    // All digits cost as much as the prefix is long, and in a long row each element may be worse than the one before.
    const auto text = [&] { return i < k_most_exact_texts ? model.expected_text(i) : std::string(); };
    t.judge("y", row, i, values[static_cast<size_t>(i)], actual, model.judge(i, actual), text);
  }
}

void judge_scan_row(trial& t, const run_result& r, int64_t row) {
  judge_scan(t, t.input("x"), r.at("y"), row, kind_of(t.the_case()));
}

recipe draw_scan_fill(draw& d, const target& t, int64_t cols) {
  if (t.type != dtype::i64 || d.chance(50)) return draw_sum_fill(d, t, cols);
  switch (d.between(0, 3)) {
    case 0: return make_recipe("bits", {d.seed()});  // every sum wraps
    case 1: return make_recipe("constant", {d.one_of({1.0, -1.0, 0x1p62})});
    case 2: return make_recipe("alternating", {0x1p63, -0x1p63});
    default: return make_recipe("integers", {d.seed(), -1000, 1000});
  }
}

std::vector<bench_row> timed_rows() {
  bench_rows rows(0.95);
  rows.add_listed();
  rows.add(4, 16777216).target = 0.9;
  rows.add(1, 67108864).target = 0.9;
  for (const int bits : {16, 18, 20, 22, 24}) {
    rows.add(1, int64_t{1} << bits).target = 0.9;
    rows.add((int64_t{1} << bits) / 1024, 1024);
  }
  rows.add_misaligned();
  // More than 2^31 elements, the last rows verified like the first.
  rows.add(2097160, 1024);
  rows.add(33, 67108864).target = 0.9;
  return rows.take();
}

// Time over bytes, of rows of 1024 elements and of a single row.
std::vector<bench_line> timed_lines() {
  const auto megabytes = [](const bench_row& row, const char* extent, int64_t size) -> std::optional<double> {
    if (row.offset != 0 || row.of.at(extent) != size) return std::nullopt;
    return static_cast<double>(row.of.at("rows") * row.of.at("cols")) * 8e-6;
  };
  return {{"rows of 1024", "MB read or written", [=](const bench_row& row) { return megabytes(row, "cols", 1024); }},
          {"one row", "MB read or written", [=](const bench_row& row) { return megabytes(row, "rows", 1); }}};
}

row_operator scan_operator() {
  row_operator op;
  op.described = description_of(scan_contract());
  op.described.null_kernels = {
      {"special-values", 40, "rows of one infinity, or that start with NaN, are their own prefixes"},
      {"masked-slices", 40, "a row that starts with -Inf has no other prefix"}};
  op.draw_extra = [](draw& d, int) { return static_cast<int>(d.between(k_inclusive, k_exclusive)); };
  op.set_extra = [](trial_case& c, int kind) { set_knob(c, "kind", format_number(kind)); };
  op.extras = {k_inclusive, k_exclusive};
  op.described.bench = {"rows", timed_rows(), timed_lines()};
  op.judge_row = judge_scan_row;
  op.draw_fill = draw_scan_fill;
  op.spike_peak = 1;
  op.spike_rest = 0;
  op.dense = true;
  op.seldom_one_column = true;
  op.every_variant_far = false;
  op.rows_beyond_grid = [](const target::variant& v) {
    if (cols_of(v).max < 0 || cols_of(v).max > 1152) return 40;  // a block takes a row
    return cols_of(v).max <= 32 ? 2048 * 256 + 300 : 2048 * 8 + 100;
  };
  return op;
}

// ---- cases ----

// Multiples of 1/64 of which every sum is exact; integers that wrap.
recipe draw_exact_fill(draw& d, const target& t, int64_t cols) {
  if (t.type == dtype::i64) return make_recipe("bits", {d.seed()});
  const double most = std::floor((t.type == dtype::f32 ? 0x1p24 : 0x1p40) / static_cast<double>(cols + 1));
  return make_recipe("dyadic", {d.seed(), std::min(most, 1024.0), 6});
}

trial_case exact_rows(const row_operator& op, const target& t, draw& d) {
  return filled_rows(op, t, d, [&](int64_t cols) { return draw_exact_fill(d, t, cols); });
}

trial_case integer_rows(const row_operator& op, const target& t, draw& d) {
  trial_case c = exact_rows(op, t, d);
  tensor_spec& x = *c.find("x");
  const double most = std::min(1000.0, std::floor(0x1p18 / static_cast<double>(x.cols())));  // as require_exact asks
  x.fill = make_recipe("integers", {d.seed(), -most, most});
  return c;
}

// exact_rows without a forced variant, inclusive, and short enough to be run again and again.
trial_case exact_inclusive_rows(const row_operator& op, const target& t, draw& d) {
  const int64_t cols = std::max<int64_t>(2, draw_extent(d, t, 300, std::min<int64_t>(most_cols(t), 4200)));
  recipe fill = draw_exact_fill(d, t, cols);
  const int64_t rows = draw_rows(d, t, cols);
  return op.make_case(t, rows, cols, std::move(fill), k_inclusive);
}

trial_case exact_boundary_rows(const row_operator& op, const target& t, draw& d) {
  trial_case c = boundary_rows(op, t, d);
  tensor_spec& x = *c.find("x");
  x.fill = draw_exact_fill(d, t, x.cols());
  return c;
}

// Values in the middle of the type's range, which scaling keeps there.
trial_case moderate_rows(const row_operator& op, const target& t, draw& d) {
  trial_case c = small_rows(op, t, d);
  tensor_spec& x = *c.find("x");
  x.fill = t.type == dtype::i64 ? make_recipe("bits", {d.seed()})
           : d.chance(50)       ? make_recipe("uniform", {d.seed(), -1, 1})
                                : make_recipe("log_uniform", {d.seed(), -20, 20});
  return c;
}

trial_case scaled_rows(const row_operator& op, const target& t, draw& d) {
  trial_case c = moderate_rows(op, t, d);
  c.knobs["shift"] = format_number(d.one_of({1, -1, 7, -30, 40}));
  return c;
}

// Rows whose tiles of the multi-block technique are the first or last of a wave, up to rows whose tiles add the totals
// of whole waves.
trial_case wave_rows(const row_operator& op, const target& t, draw& d) {
  constexpr int64_t k_wave = 256;
  const int64_t tile = t.type == dtype::f32 ? 8192 : 4096;
  const int64_t tiles =
      d.one_of({int64_t{1}, int64_t{131}, int64_t{132}, k_wave - 1, k_wave, k_wave + 1, 2 * k_wave + 1});
  const int64_t cols = std::max<int64_t>(65537, tiles * tile + d.between(-1, 1));
  const int kind = op.draw_extra(d, 50);
  trial_case c = op.make_case(t, 1, cols, draw_exact_fill(d, t, cols), kind);
  c.knobs["variant"] = "scan_multi_block";
  c.knobs["schedule"] = d.one_of({"fair", "greedy", "reverse"});
  c.knobs["detect"] = "off";
  return c;
}

// More elements than 32 bits count, from a candidate that publishes nothing; once a run, for it takes minutes, and 48
// GiB beside a GPU, 80 on the host. Ours are tried by tests of their own (tests/long_rows).
trial_case many_scans(const row_operator& op, const target& t, draw& d) {
  if (!t.variants.empty() || t.size < 2 || t.device == "emulated" || size_of(t.type) > 4 || d.index() != 0)
    return many_rows(op, t, d);
  constexpr int64_t k_cols = 1000, k_rows = (int64_t{1} << 32) / k_cols + 700;
  recipe fill = make_recipe("uniform", {d.seed(), -8, 8});
  trial_case c = op.make_case(t, k_rows, k_cols, std::move(fill), k_inclusive);
  c.knobs["schedule"] = "fair";
  return c;
}

// The longest rows that are tried. Either a running sum in the type stops growing, or each tile's sum is lost beside
// the first element unless the carry is wider than the type.
trial_case long_rows(const row_operator& op, const target& t, draw& d) {
  const int64_t cols = t.device == "cuda" ? (int64_t{1} << 24) + 1 + d.between(0, 9) : (int64_t{1} << 21) + 3;
  const double rest = t.type == dtype::f32 ? 0x1.fp-39 : 0x1.fp-67;  // of 8192 or 4096 elements less than half an ulp
  const auto exponent = static_cast<int>(d.between(-9, 9));
  const double scale = std::ldexp(d.chance(50) ? 1 : -1, exponent);
  const recipe fill = t.type == dtype::i64 ? make_recipe("bits", {d.seed()})
                      : d.index() / 2 % 2  ? make_recipe("constant", {scale})
                                           : make_recipe("spike", {0, scale, scale * rest});
  trial_case c = op.make_case(t, 1, cols, fill, k_inclusive);
  c.knobs["variant"] = d.index() % 2 ? "scan_loop" : "scan_multi_block";
  run_once(c);
  return c;
}

trial_case refused_scans(const row_operator& op, const target& t, draw& d) {
  trial_case c = refused_rows(op, t, d);
  if (d.index() % 2) c.knobs["kind"] = d.one_of({"2", "-1", "1e9", "nan", "0.5"});
  return c;
}

// ---- checks ----

// Skips the case unless every sum of a row's elements is exact in the type.
void require_exact(trial& t) {
  const host_tensor& x = t.input("x");
  if (!is_float(x.spec.type)) return;
  const double most = x.spec.type == dtype::f32 ? 0x1p24 : 0x1p53;
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    double sizes = 0;
    for (const double v : x.row(row)) {
      if (v * 64 != std::floor(v * 64)) return t.skip(fmt::format("row {} holds {}, no multiple of 1/64", row, v));
      sizes += std::fabs(v * 64);
    }
    if (!(sizes <= most)) return t.skip(fmt::format("not every sum of row {} is exact", row));
  }
}

// Requires the exact prefixes of a row, of which no sum is rounded; zeros of either sign are one value.
void require_prefixes(trial& t, const host_tensor& x, const host_tensor& y, int64_t row, prefix kind) {
  if (!is_float(x.spec.type)) return judge_scan(t, x, y, row, kind);
  double sum = 0;
  for (int64_t i = 0; i < x.spec.cols(); ++i) {
    const double v = x.value(row, i), expected = kind == prefix::inclusive ? sum + v : sum, actual = y.value(row, i);
    t.judge("y", row, i, v, actual,
            reference::judge_fixed(x.spec.type, i > 0 || kind == prefix::inclusive ? actual + 0.0 : actual,
                                   expected + 0.0));
    sum += v;
  }
}

void check_exact(const row_operator&, trial& t) {
  require_exact(t);
  const run_result r = t.run();
  for (int64_t row = 0; row < t.input("x").spec.rows(); ++row)
    require_prefixes(t, t.input("x"), r.at("y"), row, kind_of(t.the_case()));
}

bool same(const host_tensor& a, int64_t row, int64_t i, const host_tensor& b, int64_t other_row, int64_t j) {
  return a.bits(row, i) == b.bits(other_row, j) ||
         (is_float(a.spec.type) && a.value(row, i) == 0 && b.value(other_row, j) == 0);
}

void check_last_equals_reduce(const row_operator&, trial& t) {
  require_exact(t);
  const host_tensor& x = t.input("x");
  const run_result r = t.run();
  for (int64_t row = 0; row < x.spec.rows(); ++row) require_prefixes(t, x, r.at("y"), row, kind_of(t.the_case()));
  const run_result sums = run_other(t, "reduce", "integer-sum", {output_vector("y", x.spec.type, x.spec.rows())});
  const host_tensor& y = r.at("y");
  for (int64_t row = 0; row < x.spec.rows(); ++row)
    t.require(same(y, row, x.spec.cols() - 1, sums.at("y"), 0, row), "y[{},{}] = {}, but reduce gives {}", row,
              x.spec.cols() - 1, y.value(row, x.spec.cols() - 1), sums.at("y").value(0, row));
}

// Sum modulo 2^64, or in the type.
uint64_t add_bits(dtype type, uint64_t a, uint64_t b) {
  if (!is_float(type)) return a + b;
  return encode(type, decode(type, a) + decode(type, b));
}

void check_exclusive_plus_item(const row_operator&, trial& t) {
  require_exact(t);
  const host_tensor& x = t.input("x");
  const run_result inclusive = t.run(with_kind(t.the_case(), prefix::inclusive)),
                   exclusive = t.run(with_kind(t.the_case(), prefix::exclusive));
  const host_tensor &a = inclusive.at("y"), &b = exclusive.at("y");
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    require_prefixes(t, x, a, row, prefix::inclusive);
    t.require(b.bits(row, 0) == 0, "the exclusive y[{},0] is {:a}, expected +0", row, b.value(row, 0));
    for (int64_t i = 0; i < x.spec.cols(); ++i) {
      const uint64_t sum = add_bits(x.spec.type, b.bits(row, i), x.bits(row, i));
      t.require(sum == a.bits(row, i) || (is_float(x.spec.type) && decode(x.spec.type, sum) == a.value(row, i)),
                "exclusive y[{0},{1}] + x[{0},{1}] = {2}, inclusive y[{0},{1}] = {3}", row, i, decode(x.spec.type, sum),
                a.value(row, i));
    }
  }
}

// The part [begin, end) of the columns.
host_tensor columns(const host_tensor& x, int64_t begin, int64_t end) {
  tensor_spec spec = x.spec;
  spec.shape[1] = spec.ld = end - begin;
  host_tensor part(spec);
  for (int64_t row = 0; row < spec.rows(); ++row)
    for (int64_t i = begin; i < end; ++i) part.set_bits(row, i - begin, x.bits(row, i));
  return part;
}

run_result run_part(trial& t, const host_tensor& part) {
  trial_case c = t.the_case();
  for (tensor_spec& s : c.tensors) s.shape[1] = s.ld = part.spec.cols();
  c.knobs.erase("variant");
  return t.run(c, {{"x", part}});
}

void check_concat(const row_operator&, trial& t) {
  require_exact(t);
  const host_tensor& x = t.input("x");
  const int64_t cols = x.spec.cols(), cut = std::max<int64_t>(1, cols / 3);
  if (cols < 2) return t.skip("a row of one element has no parts");
  const run_result whole = t.run(), left = run_part(t, columns(x, 0, cut)), right = run_part(t, columns(x, cut, cols));
  const host_tensor &y = whole.at("y"), &a = left.at("y"), &b = right.at("y");
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    require_prefixes(t, x, y, row, prefix::inclusive);
    for (int64_t i = 0; i < cols; ++i) {
      const uint64_t sum = i < cut ? a.bits(row, i) : add_bits(x.spec.type, a.bits(row, cut - 1), b.bits(row, i - cut));
      t.require(sum == y.bits(row, i) || (is_float(x.spec.type) && decode(x.spec.type, sum) == y.value(row, i)),
                "y[{},{}] = {}, from the parts of {} and {} columns {}", row, i, y.value(row, i), cut, cols - cut,
                decode(x.spec.type, sum));
    }
  }
}

void check_causality(const row_operator& op, trial& t) {
  const host_tensor& x = t.input("x");
  const int64_t cols = x.spec.cols();
  const run_result before = t.run();
  judge_rows(op, t, before);
  const double intruders[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 3e38};
  int which = 0;
  for (const int64_t at : {cols / 2, cols - 1, std::min<int64_t>(cols - 1, 32)}) {
    host_tensor changed = x;
    const double intruder = intruders[which++];
    for (int64_t row = 0; row < x.spec.rows(); ++row) changed.set_bits(row, at, encode(x.spec.type, intruder));
    const run_result after = t.run(t.the_case(), {{"x", changed}});
    const int64_t end = at + (kind_of(t.the_case()) == prefix::exclusive);
    for (int64_t row = 0; row < x.spec.rows(); ++row)
      for (int64_t i = 0; i < std::min(end, cols); ++i)
        t.require(before.at("y").bits(row, i) == after.at("y").bits(row, i),
                  "y[{},{}] changes from {:a} to {:a} when x[{},{}] becomes {}", row, i, before.at("y").value(row, i),
                  after.at("y").value(row, i), row, at, intruder);
  }
}

// Row and address do not show in the bits: all rows are made equal, then moved by one element.
void check_equal_rows(const row_operator&, trial& t) {
  host_tensor x = t.input("x");
  for (int64_t row = 1; row < x.spec.rows(); ++row)
    for (int64_t i = 0; i < x.spec.cols(); ++i) x.set_bits(row, i, x.bits(0, i));
  trial_case moved = t.the_case();
  for (tensor_spec& s : moved.tensors) s.offset += s.is_input ? 1 : 2;
  const run_result here = t.run(t.the_case(), {{"x", x}}), there = t.run(moved, {{"x", x}});
  const host_tensor &y = here.at("y"), &z = there.at("y");
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    judge_scan(t, x, y, row, kind_of(t.the_case()));
    for (int64_t i = 0; i < x.spec.cols(); ++i) {
      t.require(y.bits(row, i) == y.bits(0, i), "y[{},{}] = {:a}, but y[0,{}] of an equal row is {:a}", row, i,
                y.value(row, i), i, y.value(0, i));
      t.require(y.bits(row, i) == z.bits(row, i), "y[{},{}] = {:a} becomes {:a} at another address", row, i,
                y.value(row, i), z.value(row, i));
    }
  }
}

// Every variant that accepts the row length gives the exact prefixes, and so the same.
void check_path_agreement(const row_operator&, trial& t) {
  require_exact(t);
  const int64_t cols = t.the_case().at("x").cols();
  const auto require_exact_of = [&](const trial_case& c) {
    const run_result r = t.run(c);
    for (int64_t row = 0; row < t.input("x").spec.rows(); ++row)
      require_prefixes(t, t.input("x"), r.at("y"), row, kind_of(c));
  };
  if (t.op().variants.empty()) return require_exact_of(t.the_case());
  for (const listed_variant& variant : t.op().variants) {
    if (!variant.takes(cols)) continue;
    trial_case forced = t.the_case();
    forced.knobs["variant"] = variant.name;
    if (t.is_accepted(forced)) require_exact_of(forced);
  }
}

// Replaces each element of x and requires each of y to change in the same way.
template <class Change>
void check_equivariance(const row_operator& op, trial& t, const std::string& what, Change change) {
  const run_result before = t.run();
  judge_rows(op, t, before);
  host_tensor changed = t.input("x");
  const dtype type = changed.spec.type;
  for (int64_t row = 0; row < changed.spec.rows(); ++row)
    for (int64_t i = 0; i < changed.spec.cols(); ++i) changed.set_bits(row, i, change(changed.bits(row, i)));
  const run_result after = t.run(t.the_case(), {{"x", changed}});
  const host_tensor &y = before.at("y"), &z = after.at("y");
  for (int64_t row = 0; row < changed.spec.rows(); ++row)
    for (int64_t i = 0; i < changed.spec.cols(); ++i) {
      const uint64_t expected = change(y.bits(row, i));
      t.require(z.bits(row, i) == expected || (is_float(type) && z.value(row, i) == decode(type, expected)),
                "y[{},{}] = {:a} becomes {:a} when x is {}", row, i, y.value(row, i), z.value(row, i), what);
    }
}

void check_power_of_two_scale(const row_operator& op, trial& t) {
  const dtype type = t.the_case().at("x").type;
  const auto shift = static_cast<int>(knob_or(t.the_case(), "shift", 1));
  if (is_float(type)) {
    const host_tensor& x = t.input("x");
    // Sums stay far from both ends of the range.
    for (int64_t row = 0; row < x.spec.rows(); ++row)
      for (const double v : x.row(row))
        if (v != 0 && !(std::fabs(v) < 0x1p40 && std::fabs(v) > 0x1p-40))
          return t.skip(fmt::format("row {} holds {}, which scaling may round", row, v));
    // The last bit of the least element is that of the least sum.
    if (shift < -60 || shift > 60) return t.skip(fmt::format("shift {} may leave the range", shift));
  }
  check_equivariance(op, t, fmt::format("multiplied by 2^{}", shift), [&](uint64_t bits) {
    if (is_float(type)) return encode(type, std::ldexp(decode(type, bits), shift));
    return bits << (shift & 31);
  });
}

void check_sign_flip(const row_operator& op, trial& t) {
  const dtype type = t.the_case().at("x").type;
  if (is_float(type))
    for (int64_t row = 0; row < t.input("x").spec.rows(); ++row)
      if (!all_finite(t.input("x").row(row))) return t.skip(fmt::format("row {} is not finite", row));
  check_equivariance(op, t, "negated",
                     [&](uint64_t bits) { return is_float(type) ? encode(type, -decode(type, bits)) : 0 - bits; });
}

void check_refusals(const row_operator&, trial& t) { check_code_refusals(t, "kind", 2); }

const property_registration registration([] {
  row_properties p(scan_operator());
  const std::vector<dtype> floats = {dtype::f32, dtype::f64};
  p.add_for_input("within-error-bound", "every prefix lies within its bound; integers are exact modulo 2^64", any_rows,
                  check_values);
  p.add("exact-on-dyadics", "prefixes that no sum rounds, and integers that wrap, are exact", exact_rows, check_exact)
      .share_percent = 50;
  property& identity = p.add("usual", "", integer_rows, check_exact);
  identity.types = floats;
  identity.share_percent = 30;
  make_polynomial_identity(identity, 1);
  p.add("last-equals-reduce", "the last inclusive prefix is the sum that reduce finds", exact_inclusive_rows,
        check_last_equals_reduce)
      .types = floats;
  p.add("exclusive-plus-item", "the exclusive prefix starts with +0, and with the item added is the inclusive one",
        exact_inclusive_rows, check_exclusive_plus_item);
  p.add("concat", "a row scanned in two parts, the first part's sum added to the second, is the row scanned",
        exact_inclusive_rows, check_concat)
      .holds = [](const trial_case& c) { return has_elements(c) && kind_of(c) == prefix::inclusive; };
  p.add("power-of-two-scale", "multiplying the row by a power of two multiplies every prefix, to the bit", scaled_rows,
        check_power_of_two_scale)
      .knobs = {{"shift", "1", "the power"}};
  p.add("sign-flip", "negating the row negates every prefix, to the bit", moderate_rows, check_sign_flip);
  p.add("every-element-used", "one 1 among 0 shows in every prefix that holds it, at every position", spike_rows,
        check_values)
      .share_percent = 50;
  p.add("masked-slices", "slices of -Inf change what follows and nothing else", masked_rows, check_values)
      .share_percent = 50;
  p.add_common("special-values").share_percent = 50;
  p.add("causality", "changing an element changes no bit of a prefix that does not hold it", small_rows,
        check_causality);
  p.add_for_input("row-isolation", "the contents of another row change no bit of this row's prefixes", two_or_more_rows,
                  check_row_isolation)
      .holds = has_two_rows;
  p.add("equal-rows", "equal rows give equal bits, whichever row they are and wherever they lie", small_rows,
        check_equal_rows)
      .needs_batch_invariance = true;
  p.add("in-place", "the in-place form gives the same bits", small_rows, check_in_place);
  p.add("misalignment", "every combination of input and output misalignment is right", misaligned_rows, check_values);
  p.add_common("dispatch-boundaries").share_percent = 30;
  p.add("path-agreement", "all variants agree where no sum is rounded", exact_boundary_rows, check_path_agreement)
      .share_percent = 30;
  p.add("rows-beyond-grid", "more rows than any grid dimension give every row its own prefixes", many_scans,
        check_values)
      .share_percent = 10;
  p.add("wave-carry", "rows whose tiles reach over a wave of the look-back are exact", wave_rows, check_exact)
      .share_percent = 5;
  p.add("long-row", "the error does not grow with the row", long_rows, check_values).share_percent = 2;
  p.add_common("bit-repeatability");
  p.add_reused_storage();
  p.add_batch_invariance();
  p.add_common("no-hazard");
  p.add("empty", "without elements nothing is written", empty_rows, check_empty_rows).share_percent = 20;
  p.add_common("rejects-invalid-calls", refused_scans, check_refusals);
  return p.take();
}());

}  // namespace
}  // namespace warpcheck
