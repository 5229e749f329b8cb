// argsort on trial: the properties of its contract (kernels/argsort/argsort.hpp); only one answer is right
// (reference/argsort/argsort.hpp).
#include "reference/argsort/argsort.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/argsort/contract.hpp"
#include "properties/rows/row_properties.hpp"
#include "reference/numerics/float_value.hpp"

namespace warpcheck {
namespace {

using namespace engine;

constexpr double k_inf = std::numeric_limits<double>::infinity();
const double k_nan = std::numeric_limits<double>::quiet_NaN();

// Settings of a case besides its rows: the knob `order` (contract), and an index of 64 bits.
constexpr int k_descending = 1, k_wide = 2;

bool is_descending(const trial_case& c) { return knob_or(c, "order", 0) == 1; }

trial_case with_order(trial_case c, bool descending) {
  c.knobs.erase("order");
  if (descending) c.knobs["order"] = "1";
  return c;
}

int64_t index_at(const host_tensor& index, int64_t row, int64_t j) {
  const uint64_t bits = index.bits(row, j);
  return index.spec.type == dtype::i32 ? static_cast<int32_t>(bits) : static_cast<int64_t>(bits);
}

bool are_equal_keys(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// The columns of a row of indices so far, of which none may come again.
class columns_once {
 public:
  explicit columns_once(int64_t cols) : seen_(static_cast<size_t>(cols)) {}
  void take(trial& t, int64_t row, int64_t j, int64_t c) {
    t.require(!seen_[static_cast<size_t>(c)], "index[{},{}] is {}, which came before", row, j, c);
    seen_[static_cast<size_t>(c)] = true;
  }

 private:
  std::vector<bool> seen_;
};

// As elements, so that the report counts what was compared.
void judge_order(trial& t, const host_tensor& x, const host_tensor& index, int64_t row, bool descending) {
  const std::vector<double> keys = x.row(row);
  const std::vector<int64_t> expected = reference::argsort(keys, descending);
  columns_once taken(x.spec.cols());
  for (int64_t j = 0; j < x.spec.cols(); ++j) {
    const int64_t actual = index_at(index, row, j);
    int64_t right = expected[static_cast<size_t>(j)];
    const double key = keys[static_cast<size_t>(right)];
    if (t.stated().is_unstable && actual >= 0 && actual < x.spec.cols()) {
      taken.take(t, row, j, actual);
      if (are_equal_keys(keys[static_cast<size_t>(actual)], key)) right = actual;
    }
    t.judge("index", row, j, key, static_cast<double>(actual),
            reference::judge_fixed(dtype::f64, static_cast<double>(actual), static_cast<double>(right)));
  }
}

void judge_argsort(trial& t, const run_result& r, int64_t row) {
  judge_order(t, t.input("x"), r.at("index"), row, is_descending(t.the_case()));
}

// Keys with a reason to be sorted wrongly.
recipe draw_keys(draw& d, const target&, int64_t cols) {
  const double n = static_cast<double>(cols);
  switch (d.between(0, 18)) {
    case 0: return make_recipe("randn", {d.seed()});
    case 1: return make_recipe("bits", {d.seed()});           // NaN payloads, both zeros, every exponent
    case 2: return make_recipe("ascending", {-20, 20});       // sorted
    case 3: return make_recipe("descending", {-20, 20});      // reversed
    case 4: return make_recipe("duplicates", {d.seed(), 2});  // two values
    case 5: return make_recipe("constant", {d.one_of({0.0, -0.0, 7.0, k_inf, -k_inf})});
    case 6: return make_recipe("alternating", {0.0, -0.0});            // one value in two signs
    case 7: return make_recipe("alternating", {k_inf, k_nan});         // the largest number beside NaN
    case 8: return make_recipe("ascending", {1, 1 + n * 0x1p-23});     // neighbours one ulp apart
    case 9: return make_recipe("descending", {-1 - n * 0x1p-23, -1});  // the same, negative
    case 10: return make_recipe("uniform", {d.seed(), -2, -1});        // only negative
    case 11: return make_recipe("sawtooth", {static_cast<double>(d.one_of({2, 32, 256, 4096})), 0, 5});
    case 12: return make_recipe("near_underflow", {d.seed()});
    case 13: return make_recipe("near_overflow", {d.seed()});
    case 14: return make_recipe("special", {d.seed()});
    case 15: return make_recipe("log_uniform", {d.seed(), -120, 120});  // every exponent, in both signs
    case 16: return make_recipe("cancellation", {d.seed(), 1e6});       // neighbours differ in the sign above all
    case 17: return make_recipe("one_hot", {d.seed(), 1, d.one_of({0.0, 2.0})});
    default: return make_recipe("duplicates", {d.seed(), 300});  // ties beyond a digit
  }
}

// All rows that are timed have as many keys, and aim at the fraction of a copy that three times the rate of the best
// peer of the specification amounts to.
constexpr int64_t k_timed_keys = 16777216;

std::vector<bench_row> timed_rows() {
  bench_rows rows(0.2);
  const auto add = [&](int64_t cols) -> bench_row& {
    bench_row& row = rows.add(k_timed_keys / cols, cols);
    row.tensors = {{"index", dtype::i32}};
    return row;
  };
  for (const int64_t cols : {32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 65536, 1048576, 16777216}) add(cols);
  for (const int64_t cols : {256, 512}) add(cols).variant = "argsort_block";
  return rows.take();
}

// Time over the stages of the network up to 512 columns, over the merges of runs of 512 beyond.
std::vector<bench_line> timed_lines() {
  const auto line = [](int64_t least, int64_t most) {
    return [=](const bench_row& row) -> std::optional<double> {
      const int64_t cols = row.of.at("cols");
      if (!row.variant.empty() || cols < least || cols > most) return std::nullopt;
      const double levels = std::ceil(std::log2(static_cast<double>(cols)));
      return cols <= 512 ? levels * (levels + 1) / 2 : levels - 9;
    };
  };
  return {{"2^24 keys in rows up to 512", "stage of the network", line(1, 512)},
          {"2^24 keys in rows of 1024 to 16384", "merge", line(513, 16384)}};
}

row_operator argsort_operator() {
  row_operator op;
  op.described = description_of(argsort_contract());
  op.described.statements = {.sums = false, .ties = true, .batch_invariant = false};
  op.described.null_kernels = {
      {"", 20, "a row of one column has one order, and keys may be ordered as those of the call before"}};
  op.draw_extra = [](draw& d, int) { return static_cast<int>(d.between(0, k_descending | k_wide)); };
  op.set_extra = [](trial_case& c, int extra) {
    c.find("index")->type = extra & k_wide ? dtype::i64 : dtype::i32;
    set_knob(c, "order", extra & k_descending ? "1" : "0");
  };
  op.extras = {0, k_descending, k_wide, k_descending | k_wide};
  op.described.bench = {"rows", timed_rows(), timed_lines()};
  op.judge_row = judge_argsort;
  op.draw_fill = draw_keys;
  op.dense = true;
  op.seldom_one_column = true;
  op.every_variant_far = false;
  op.rows_beyond_grid = [](const target::variant& v) {
    return cols_of(v).max >= 0 && cols_of(v).max <= 512 ? 2048 * 32 + 100 : 40;  // up to 32 rows a block, or one
  };
  return op;
}

// ---- cases ----

// Equal keys, or nothing but NaN.
trial_case equal_keys(const row_operator& op, const target& t, draw& d) {
  return filled_rows(op, t, d, [&](int64_t) {
    return make_recipe("constant", {d.one_of({0.0, -0.0, 1.0, -3.5, k_nan, k_inf, -k_inf})});
  });
}

// Ties across every run that is merged: keys of a few values, in rows of any length.
trial_case few_keys(const row_operator& op, const target& t, draw& d) {
  return filled_rows(op, t, d, [&](int64_t) {
    return d.chance(50) ? make_recipe("alternating", {1.0, d.one_of({-1.0, 2.0, k_nan})})
                        : make_recipe("duplicates", {d.seed(), d.one_of({2.0, 3.0, 5.0})});
  });
}

// Keys that differ in their last bits only, in an order or in none.
trial_case near_keys(const row_operator& op, const target& t, draw& d) {
  return filled_rows(op, t, d, [&](int64_t cols) {
    const double width = static_cast<double>(cols) * 0x1p-23;
    return d.chance(30)   ? make_recipe("uniform", {d.seed(), 1, 1 + width})
           : d.chance(50) ? make_recipe("descending", {-1 - width, -1})
                          : make_recipe("ascending", {1, 1 + width});
  });
}

trial_case zeros_among_keys(const row_operator& op, const target& t, draw& d) {
  trial_case c = small_rows(op, t, d);
  // -1, 0, 1 and 2, a third of them 0.
  c.find("x")->fill =
      d.chance(30) ? make_recipe("alternating", {0.0, -0.0}) : make_recipe("integers", {d.seed(), -1, 2});
  return c;
}

trial_case integer_keys(const row_operator& op, const target& t, draw& d) {
  trial_case c = small_rows(op, t, d);
  c.find("x")->fill = make_recipe("integers", {d.seed(), -1000, 1000});
  return c;
}

trial_case distinct_keys(const row_operator& op, const target& t, draw& d) {
  trial_case c = small_rows(op, t, d);
  tensor_spec& x = *c.find("x");
  x.fill = d.chance(50) ? make_recipe("ascending", {-1000, 1000}) : make_recipe("descending", {-3, -1});
  return c;
}

// All rows of zeros and ones of a length, in the order of the numbers that they write.
trial_case zero_one_rows(const row_operator& op, const target& t, draw& d) {
  const int64_t cols = std::min<int64_t>(1 + d.index() % 16, t.size == 0 ? 12 : 16);
  trial_case c =
      op.make_case(t, int64_t{1} << cols, cols, make_recipe("constant", {0}), d.index() / 16 % 2 ? k_descending : 0);
  run_once(c);
  return c;
}

// So many rows, and one whose last index no f32 holds, where that takes seconds.
trial_case many_or_long_rows(const row_operator& op, const target& t, draw& d) {
  constexpr int64_t k_cols = (int64_t{1} << 24) + 2;
  if (d.index() % 10 != 9 || t.device == "emulated" || t.max_cols < k_cols) return many_rows(op, t, d);
  trial_case c = op.make_case(t, 1, k_cols, make_recipe("descending", {-1, 1}), op.draw_extra(d, 50));
  c.knobs["schedule"] = "fair";
  return c;
}

// Also more rows of several warps than the grid of one multiprocessor has blocks: what a block leaves behind meets its
// next row.
trial_case hazardous_rows(const row_operator& op, const target& t, draw& d) {
  const auto block =
      std::ranges::find_if(t.variants, [](const target::variant& v) { return v.name == "argsort_block"; });
  if (d.index() % 48 != 29 || block == t.variants.end()) return hazard_rows(op, t, d);
  trial_case c = op.make_case(t, op.rows_beyond_grid(*block), 1100, make_recipe("uniform", {d.seed(), -8, 8}),
                              op.draw_extra(d, 50));
  c.knobs["variant"] = block->name;
  c.knobs["sm"] = "1";
  c.knobs["schedule"] = "fair";
  c.knobs["detect"] = "only";
  return c;
}

trial_case refused_sorts(const row_operator& op, const target& t, draw& d) {
  trial_case c = refused_rows(op, t, d);
  constexpr const char* k_wrong[] = {"2", "-1", "1e9", "nan", "0.5"};
  if (d.index() % 2) c.knobs["order"] = k_wrong[d.index() / 2 % 5];
  return c;
}

// ---- checks ----

void require_same(trial& t, const host_tensor& a, const host_tensor& b, const std::string& what) {
  for (int64_t row = 0; row < a.spec.rows(); ++row)
    for (int64_t j = 0; j < a.spec.cols(); ++j)
      t.require(a.bits(row, j) == b.bits(row, j), "index[{},{}] is {}, and {} {}", row, j, index_at(a, row, j),
                index_at(b, row, j), what);
}

// Judges the order of changed keys, which must be that of the case's own keys, `before`.
void require_same_order(trial& t, const trial_case& c, const host_tensor& keys, const host_tensor& before,
                        const std::string& what) {
  const host_tensor index = t.run(c, {{"x", keys}}).at("index");
  if (!t.stated().is_unstable) return require_same(t, before, index, what);
  for (int64_t row = 0; row < keys.spec.rows(); ++row) judge_order(t, keys, index, row, is_descending(c));
}

// Replaces every key.
template <class Change>
host_tensor changed_keys(trial& t, Change change) {
  host_tensor changed = t.input("x");
  for (int64_t row = 0; row < changed.spec.rows(); ++row)
    for (int64_t i = 0; i < changed.spec.cols(); ++i)
      changed.set_bits(row, i, encode(changed.spec.type, change(changed.value(row, i))));
  return changed;
}

// Beside keys far off the leading bits of the others are alike.
void check_outliers(const row_operator&, trial& t) {
  int64_t which = 0;
  const host_tensor x = changed_keys(t, [&](double v) {
    const int64_t i = which++;
    return i % 37 != 0 ? v : i % 2 ? 0x1p100 : -0x1p100;
  });
  const run_result r = t.run(t.the_case(), {{"x", x}});
  for (int64_t row = 0; row < x.spec.rows(); ++row) judge_order(t, x, r.at("index"), row, is_descending(t.the_case()));
}

void check_permutation_of_columns(const row_operator& op, trial& t) {
  const run_result r = t.run();
  const host_tensor& index = r.at("index");
  const int64_t cols = index.spec.cols();
  for (int64_t row = 0; row < index.spec.rows(); ++row) {
    columns_once taken(cols);
    for (int64_t j = 0; j < cols; ++j) {
      const int64_t c = index_at(index, row, j);
      t.require(c >= 0 && c < cols, "index[{},{}] is {}, which is not a column of {}", row, j, c, cols);
      taken.take(t, row, j, c);
    }
  }
  judge_rows(op, t, r);
}

void check_stable_ties(const row_operator& op, trial& t) {
  const host_tensor& x = t.input("x");
  for (int64_t row = 0; row < x.spec.rows(); ++row)
    for (int64_t i = 1; i < x.spec.cols(); ++i)
      if (!are_equal_keys(x.value(row, i), x.value(row, 0))) return t.skip(fmt::format("row {} is not one key", row));
  const run_result r = t.run();
  for (int64_t row = 0; row < x.spec.rows(); ++row)
    for (int64_t j = 0; j < x.spec.cols(); ++j)
      t.require(t.stated().is_unstable || index_at(r.at("index"), row, j) == j,
                "index[{},{}] is {} in a row of equal keys", row, j, index_at(r.at("index"), row, j));
  judge_rows(op, t, r);
}

void check_signed_zero(const row_operator& op, trial& t) {
  const run_result before = t.run();
  judge_rows(op, t, before);
  int64_t which = 0;
  const host_tensor flipped = changed_keys(t, [&](double v) { return v == 0 && which++ % 2 == 0 ? -v : v; });
  require_same_order(t, t.the_case(), flipped, before.at("index"), "where some zeros have the other sign");
}

void check_negation_duality(const row_operator& op, trial& t) {
  const bool descending = is_descending(t.the_case());
  const run_result r = t.run();
  judge_rows(op, t, r);
  require_same_order(t, with_order(t.the_case(), !descending), changed_keys(t, [](double v) { return -v; }),
                     r.at("index"), "in the other direction with the keys negated");
}

void check_reversal(const row_operator& op, trial& t) {
  const host_tensor& x = t.input("x");
  const permutation p(x.spec.cols());
  const host_tensor keys = p(x);
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    std::vector<double> sorted = x.row(row);
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end() || !all_finite(sorted))
      return t.skip(fmt::format("the keys of row {} are not distinct numbers", row));
  }
  const run_result up = t.run(with_order(t.the_case(), false), {{"x", keys}}),
                   down = t.run(with_order(t.the_case(), true), {{"x", keys}});
  const int64_t cols = x.spec.cols();
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    judge_order(t, keys, up.at("index"), row, false);
    for (int64_t j = 0; j < cols; ++j)
      t.require(up.at("index").bits(row, j) == down.at("index").bits(row, cols - 1 - j),
                "index[{},{}] is {} ascending, index[{},{}] is {} descending", row, j, index_at(up.at("index"), row, j),
                row, cols - 1 - j, index_at(down.at("index"), row, cols - 1 - j));
  }
  static_cast<void>(op);
}

void check_monotone_remap(const row_operator& op, trial& t) {
  const host_tensor& x = t.input("x");
  for (int64_t row = 0; row < x.spec.rows(); ++row)
    for (const double v : x.row(row))
      if (v != std::floor(v) || std::fabs(v) > 1000) return t.skip(fmt::format("row {} holds {}", row, v));
  const run_result before = t.run();
  judge_rows(op, t, before);
  // Strictly increasing, and exact: the negative keys come nearer to one another than the others.
  const host_tensor mapped = changed_keys(t, [](double v) { return v < 0 ? v * 0x1p-80 : v * 8 + 5; });
  require_same_order(t, t.the_case(), mapped, before.at("index"), "after a strictly increasing map of the keys");
}

void check_idempotent(const row_operator& op, trial& t) {
  const host_tensor& x = t.input("x");
  const run_result r = t.run();
  host_tensor sorted = x;
  for (int64_t row = 0; row < x.spec.rows(); ++row)
    for (int64_t j = 0; j < x.spec.cols(); ++j) {
      const int64_t c = index_at(r.at("index"), row, j);
      t.require(c >= 0 && c < x.spec.cols(), "index[{},{}] is {}, which is not a column", row, j, c);
      sorted.set_bits(row, j, x.bits(row, c));
    }
  const run_result again = t.run(t.the_case(), {{"x", sorted}});
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    if (t.stated().is_unstable) judge_order(t, sorted, again.at("index"), row, is_descending(t.the_case()));
    for (int64_t j = 0; j < x.spec.cols() && !t.stated().is_unstable; ++j)
      t.require(index_at(again.at("index"), row, j) == j, "index[{},{}] is {} for keys in order", row, j,
                index_at(again.at("index"), row, j));
  }
  judge_rows(op, t, r);
}

void check_zero_one(const row_operator&, trial& t) {
  host_tensor x = t.input("x");
  const int64_t cols = x.spec.cols();
  if (cols > 16 || x.spec.rows() != int64_t{1} << cols) return t.skip("the rows are not all rows of zeros and ones");
  for (int64_t row = 0; row < x.spec.rows(); ++row)
    for (int64_t i = 0; i < cols; ++i) x.set_bits(row, i, encode(x.spec.type, static_cast<double>(row >> i & 1)));
  const run_result r = t.run(t.the_case(), {{"x", x}});
  for (int64_t row = 0; row < x.spec.rows(); ++row) judge_order(t, x, r.at("index"), row, is_descending(t.the_case()));
}

void check_refusals(const row_operator&, trial& t) { check_code_refusals(t, "order", 2); }

const property_registration registration([] {
  row_properties p(argsort_operator());
  p.add_for_input("within-error-bound", "every index is that of the one right order", any_rows, check_values);
  p.add("is-permutation", "every column comes once, NaN or not", any_rows, check_permutation_of_columns).share_percent =
      30;
  p.add("stable-ties", "a row of equal keys, or of NaN, keeps its order in both directions", equal_keys,
        check_stable_ties)
      .share_percent = 40;
  p.add("few-values", "ties keep the order of their columns wherever runs are merged", few_keys, check_values)
      .share_percent = 40;
  p.add("outliers", "keys that differ in their last bits are in order beside keys far off", near_keys, check_outliers)
      .share_percent = 30;
  p.add("signed-zero", "the sign of a zero changes no index", zeros_among_keys, check_signed_zero);
  p.add("negation-duality", "negating the keys and turning the direction changes no index", small_rows,
        check_negation_duality);
  p.add("reversal", "without ties and NaN descending is ascending reversed", distinct_keys, check_reversal)
      .share_percent = 50;
  p.add("monotone-remap", "a strictly increasing map of the keys changes no index", integer_keys, check_monotone_remap);
  p.add("idempotent", "keys in order keep their places", small_rows, check_idempotent);
  p.add("zero-one", "all rows of up to 16 zeros and ones are sorted (Knuth's 0-1 principle)", zero_one_rows,
        check_zero_one)
      .share_percent = 54;
  p.add_common("special-values").share_percent = 50;
  p.add_for_input("row-isolation", "the contents of another row change no index of this row", two_or_more_rows,
                  check_row_isolation)
      .holds = has_two_rows;
  p.add("misalignment", "every combination of input and output misalignment is right", misaligned_rows, check_values);
  p.add_common("dispatch-boundaries").share_percent = 30;
  p.add("rows-beyond-grid", "more rows than any grid dimension give every row its own order, and long ones theirs",
        many_or_long_rows, check_values)
      .share_percent = 10;
  p.add_common("bit-repeatability").share_percent = 20;
  p.add_reused_storage();
  p.add_batch_invariance();
  p.add_common("no-hazard", hazardous_rows);
  p.add("empty", "without elements nothing is written", empty_rows, check_empty_rows).share_percent = 20;
  p.add_common("rejects-invalid-calls", refused_sorts, check_refusals);
  return p.take();
}());

}  // namespace
}  // namespace warpcheck
