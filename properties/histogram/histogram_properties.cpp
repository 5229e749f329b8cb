// histogram on trial: the properties of its contract (kernels/histogram/histogram.hpp), with models from
// reference/histogram/histogram.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "properties/engine/cases/classes.hpp"
#include "properties/engine/trials/polynomial_identity.hpp"
#include "properties/engine/trials/property_list.hpp"
#include "properties/engine/trials/reused_storage.hpp"
#include "properties/histogram/histogram_problem.hpp"
#include "properties/rows/own_dispatch.hpp"
#include "properties/rows/row_inputs.hpp"

namespace warpcheck {
namespace {

using namespace engine;

constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
constexpr histogram_accum k_accums[] = {histogram_accum::fixed64, histogram_accum::float32, histogram_accum::float64};

// ---- cases ----

trial_case any_histogram(const target& t, draw& d) { return histogram_case(t, d, gradients::any); }
trial_case finite_histogram(const target& t, draw& d) { return histogram_case(t, d, gradients::finite); }
trial_case dyadic_histogram(const target& t, draw& d) { return histogram_case(t, d, gradients::dyadic); }

// Gradients are integers whose sums are exact in f32.
trial_case integer_histogram(const target& t, draw& d) {
  trial_case c = dyadic_histogram(t, d);
  const tensor_spec* const list = c.find("rows");
  const auto rows = static_cast<double>(std::max<int64_t>(1, list ? list->elements() : c.at("bins").rows()));
  const double most = std::min(1000.0, std::floor(0x1p24 / rows));
  for (const char* name : {"g", "h"}) c.find(name)->fill = make_recipe("integers", {d.seed(), -most, most});
  return c;
}

// A few rows and columns: for properties that ask often.
trial_case small_histogram(const target& t, draw& d) {
  const int64_t cols = d.between(1, 9), rows = d.between(2, 60);
  return histogram_of(t, d, rows, cols, gradients::finite);
}

// A list of some rows, never none.
trial_case listed_histogram(const target& t, draw& d) {
  trial_case c = small_histogram(t, d);
  const int64_t rows = c.at("bins").rows(), length = d.between(1, rows);
  std::erase_if(c.tensors, [](const tensor_spec& s) { return s.name == "rows"; });
  const recipe order = make_recipe("permutation", {d.seed(), static_cast<double>(rows)});
  c.tensors.insert(c.tensors.end() - 1, input_vector("rows", d.chance(50) ? dtype::i32 : dtype::i64, length, order));
  set_knob(c, "max_rows", d.chance(50) ? "1048576" : format_number(static_cast<double>(2 * length)));
  follow(c);
  return c;
}

// Values that may be taken 32 times.
trial_case moderate_histogram(const target& t, draw& d) {
  const int64_t cols = d.between(1, 9), rows = d.between(2, 60);
  trial_case c = histogram_of(t, d, rows, cols, gradients::dyadic);
  if (d.chance(60)) c.find("g")->fill = make_recipe("randn", {d.seed()});
  if (d.chance(60)) c.find("h")->fill = make_recipe("uniform", {d.seed(), 1e-6, 1e6});
  return c;
}

// Columns whose slots do not fit one tile together, or not at all, beside narrow ones; more columns than a group takes.
trial_case grouped_histogram(const target& t, draw& d) {
  const bool narrow = t.type == dtype::u8;
  const int64_t which = narrow ? 3 : d.index() % 4;
  const int64_t cols = which == 0 ? 4 : which == 1 ? 3 : which == 2 ? 7 : d.one_of({63, 64, 65, 129, 504, 505});
  // Enough rows for every slot around the end of the first tile, or few.
  const int64_t rows = which == 0 && d.chance(60) ? 400 : d.between(1, 6);
  trial_case c = histogram_of(t, d, rows, cols, gradients::finite);
  if (rows == 400) c.find("bins")->fill = make_recipe("integers", {d.seed(), 0, 65535});
  set_knob(c, "widths", which == 0 ? "100,50,7000,60" : which == 1 ? "60,16000,5" : which == 2 ? "2500" : "5,1,9");
  c.knobs.erase("variant");
  if (d.chance(60)) c.knobs["variant"] = "histogram_shared";
  c.knobs["schedule"] = "fair";
  // Fewer blocks than groups: a block takes several.
  if (d.chance(50)) c.knobs["sm"] = "1";
  follow(c);
  return c;
}

// More rows than one tile takes: row blocks of every block, and one row more or less.
trial_case long_histogram(const target& t, draw& d) {
  const int64_t block = 512;  // rows that a block takes at once
  const int64_t blocks = (t.device == "cuda" ? 64 : 1) * d.between(1, 4), rows = blocks * block + d.between(-1, 1);
  trial_case c = histogram_of(t, d, rows, d.between(1, 3), gradients::finite);
  set_knob(c, "widths", d.one_of({"2", "16", "255"}));
  c.knobs["sm"] = format_number(static_cast<double>(d.one_of({1, 2, 4})));
  if (d.chance(40)) {
    // The largest value everywhere, in one bin, and no more rows than a leaf may have: sums as large as can be.
    c.find("bins")->fill = make_recipe("constant", {1});
    for (const char* name : {"g", "h"})
      c.find(name)->fill = make_recipe("constant", {d.one_of({0x1.fffffep0, -0x1.fffffep0})});
    std::erase_if(c.tensors, [](const tensor_spec& s) { return s.name == "rows"; });
    set_knob(c, "max_rows", format_number(static_cast<double>(rows)));
    c.knobs["sm"] = "1";
  }
  follow(c);
  return c;
}

trial_case far_rows_of_bins(const target& t, draw& d) {
  trial_case c = histogram_of(t, d, 3, d.between(1, 9), gradients::finite);
  c.find("bins")->ld = d.one_of({(int64_t{1} << 31) - 5, (int64_t{1} << 31) + 3, (int64_t{1} << 32) + 1});
  set_knob(c, "widths", "16");
  c.knobs["schedule"] = "fair";
  follow(c);
  return c;
}

trial_case hazard_histogram(const target& t, draw& d) {
  trial_case c = d.index() % 3 == 0 ? quantised_case(t, d) : small_histogram(t, d);
  c.knobs["detect"] = "only";
  const int64_t seed = d.between(0, 999999);
  c.knobs["schedule"] = fmt::format("{}:{}", d.one_of({"random", "pct_warp", "preempt", "pct"}), seed);
  if (d.chance(30)) c.knobs["sm"] = "1";
  return c;
}

trial_case repeated_histogram(const target& t, draw& d) {
  trial_case c = d.index() % 2 ? quantised_case(t, d) : small_histogram(t, d);
  c.knobs["repeat"] = t.device == "emulated" ? "4" : "20";
  c.knobs["sm"] = format_number(static_cast<double>(d.one_of({1, 2, 7, 132})));
  return c;
}

trial_case without_rows(trial_case c) {
  std::erase_if(c.tensors, [](const tensor_spec& s) { return s.name == "rows"; });
  c.find("bins")->shape[0] = 0;
  follow(c);
  return c;
}

trial_case with_empty_list(trial_case c) {
  if (!c.find("rows"))
    c.tensors.insert(c.tensors.end() - 1, input_vector("rows", dtype::i64, 0, make_recipe("constant", {0})));
  c.find("rows")->shape = {0};
  c.find("rows")->ld = 0;
  follow(c);
  return c;
}

trial_case empty_leaf(const target& t, draw& d) {
  const trial_case whole = d.index() % 3 == 1 ? quantised_case(t, d) : small_histogram(t, d);
  trial_case listed = with_empty_list(whole);
  return d.index() % 2 || t.offered.missing(listed) ? without_rows(whole) : listed;
}

trial_case refused_histogram(const target& t, draw& d) {
  const int64_t cols = d.between(2, 5), rows = d.between(3, 9);
  trial_case c = histogram_of(t, d, rows, cols, gradients::finite);
  set_knob(c, "widths", "16");
  c.knobs.erase("variant");
  if (!c.find("rows"))
    c.tensors.insert(c.tensors.end() - 1, input_vector("rows", dtype::i32, 3, make_recipe("constant", {0})));
  c.find("rows")->shape = {3};
  c.find("rows")->ld = 3;
  for (tensor_spec& s : c.tensors) s.offset = 0;
  c.find("bins")->ld = c.at("bins").cols();
  set_knob(c, "max_rows", "1048576");
  if (d.index() % 4 == 1) set_knob(c, "max_rows", d.one_of({"2", "0", "-1", "nan"}));
  if (d.index() % 4 == 2) set_knob(c, "accum", d.one_of({"3", "-1", "nan", "1e300"}));
  if (d.index() % 4 == 3) set_knob(c, "stage", d.one_of({"6", "-1", "nan"}));
  follow(c);
  return c;
}

// ---- checks ----

// The histogram with these sums, judged; those of floating-point accumulators have bounds.
host_tensor judged_sums(trial& t, const histogram_problem& p, const histogram_call& call) {
  if (p.gh || call.accum == histogram_accum::fixed64) return ask_judged(t, p, call);
  const host_tensor hist = ask(t, p, call);
  judge_bound(t, p, hist, call.accum);
  return hist;
}

void check_exact_model(trial& t) {
  judged_sums(t, histogram_problem(t),
              {.accum = static_cast<histogram_accum>(static_cast<int>(t.the_case().number("accum")))});
}

// Every mode, or the one that the case names.
void check_bounds(trial& t) {
  const histogram_problem p(t);
  const trial_case& c = t.the_case();
  for (const histogram_accum accum : k_accums)
    if (is_offered(t, {.accum = accum}) &&
        (!c.knobs.count("accum") || static_cast<int>(c.number("accum")) == static_cast<int>(accum)))
      judge_bound(t, p, ask(t, p, {.accum = accum}), accum);
}

void check_dyadic(trial& t) {
  const histogram_problem p(t);
  for (const histogram_accum accum : k_accums)
    for (const bool sparse : {false, true})
      if (const histogram_call call{.accum = accum, .sparse = sparse, .exact = true}; is_offered(t, call))
        ask_judged(t, p, call);
}

// The first kind of sums that the candidate offers for this call, fixed64 before the others; none: it offers no such
// call.
std::optional<histogram_accum> offered_accum(const trial& t, histogram_call call = {}) {
  for (const histogram_accum accum : k_accums) {
    call.accum = accum;
    if (is_offered(t, call)) return accum;
  }
  return std::nullopt;
}

void judge_offered(trial& t, const histogram_problem& p, histogram_call call) {
  const std::optional<histogram_accum> accum = offered_accum(t, call);
  if (!accum) return;
  call.accum = *accum;
  judged_sums(t, p, call);
}

// The histograms of a case's problem before and after it changes, in fixed64 or, of a candidate without it, in the sums
// that it offers. Only those of fixed64 have the same bits.
class two_histograms {
 public:
  two_histograms(trial& t, const histogram_problem& before)
      : trial_(t),
        call_{.accum = offered_accum(t).value_or(histogram_accum::fixed64)},
        first_(judged_sums(t, before, call_)) {}

  bool has_same_bits() const { return call_.accum == histogram_accum::fixed64; }
  const host_tensor& first() const { return first_; }
  host_tensor judged(const histogram_problem& p) const { return judged_sums(trial_, p, call_); }
  // Judged only if it need not have the same bits.
  host_tensor second(const histogram_problem& p) const { return has_same_bits() ? ask(trial_, p) : judged(p); }
  void require_same_of(const histogram_problem& p, const std::string& change) const {
    const host_tensor hist = second(p);
    if (has_same_bits()) require_same(trial_, first_, hist, change);
  }

 private:
  trial& trial_;
  histogram_call call_;
  host_tensor first_;
};

void check_sparse(trial& t) { ask_judged(t, histogram_problem(t), {.sparse = true}); }

void check_places(trial& t) {
  const histogram_problem p(t);
  for (const std::string& place : ways_of(t, {"histogram_shared", "histogram_global"}))
    for (const bool sparse : {false, true}) judge_offered(t, p, {.variant = place, .sparse = sparse});
}

void judge_float_sums(trial& t, const histogram_problem& p) {
  for (const histogram_accum accum : {histogram_accum::float32, histogram_accum::float64})
    if (is_offered(t, {.accum = accum})) judge_bound(t, p, ask(t, p, {.accum = accum}), accum);
}

void check_bin_types(trial& t) {
  histogram_problem p(t);
  const host_tensor narrow = p.bins;
  const host_tensor first = ask_judged(t, p);
  const auto has_other = [&](dtype type) { return (t.op().dtypes & dtype_bit(type)) != 0; };
  if (!has_other(dtype::u16) && !has_other(dtype::u32)) t.need("bins of another type");
  for (const dtype type : {dtype::u16, dtype::u32}) {
    if (!has_other(type)) continue;
    tensor_spec spec = narrow.spec;
    spec.type = type;
    p.bins = host_tensor(spec);
    for (int64_t r = 0; r < spec.rows(); ++r)
      for (int64_t c = 0; c < spec.cols(); ++c) p.bins.set_bits(r, c, narrow.bits(r, c));
    require_same(t, first, ask(t, p), fmt::format("bins of {}", name_of(type)));
  }
}

// The columns with a slot for every bin, or for every bin but the first `skipped`.
histogram_columns stored_without(const histogram_problem& p, int64_t skipped) {
  histogram_columns columns;
  for (const histogram_column& column : p.columns.list) {
    columns.list.push_back({columns.total_bins, column.bins, skipped});
    columns.total_bins += column.bins - skipped;
  }
  return columns;
}

// The histogram without its first bins, which have slots, and with these restored.
host_tensor ask_restored(trial& t, const histogram_problem& p, const asked_totals& totals) {
  std::vector<fix_slots> entries;
  for (const histogram_column& column : p.columns.list) entries.push_back({column.offset, column.bins, 0});
  return ask_fix(t, ask(t, p, {.sparse = true, .without_first_bin = true}), entries,
                 leaf_tensor(dtype::f64, totals.sum[0], totals.sum[1]));
}

// The columns' slots of a histogram that stores bin 0 and of one that does not.
void check_encoding(trial& t) {
  histogram_problem p(t);
  const histogram_columns stored = stored_without(p, 0), left_out = stored_without(p, 1);
  p.set_columns(stored);
  const host_tensor whole = ask_judged(t, p);
  const asked_totals totals = ask_totals(t, p);
  const host_tensor fixed = ask_restored(t, p, totals);
  if (std::isfinite(totals.sum[0]) && std::isfinite(totals.sum[1]))
    require_same(t, whole, fixed, "bin 0 left out and restored");
  p.set_columns(left_out);
  const host_tensor rest = ask(t, p);
  for (size_t c = 0; c < stored.list.size(); ++c)
    for (int64_t bin = 1; bin < stored.list[c].bins; ++bin)
      for (int part = 0; part < 2; ++part) {
        const int64_t a = stored.list[c].offset + bin, b = left_out.list[c].offset + bin - 1;
        t.require(whole.bits(a, part) == rest.bits(b, part), "column {} bin {}: {:a} with bin 0 stored, {:a} without",
                  c, bin, whole.value(a, part), rest.value(b, part));
      }
}

void check_row_order(trial& t) {
  histogram_problem p(t);
  const two_histograms both(t, p);
  std::vector<int64_t> rows = p.leaf();
  std::ranges::reverse(rows);
  std::rotate(rows.begin(), rows.begin() + static_cast<int64_t>(rows.size() / 3), rows.end());
  p.set_leaf(rows);
  both.require_same_of(p, "the rows in another order");
}

void check_column_order(trial& t) {
  histogram_problem p(t);
  const two_histograms both(t, p);
  host_tensor turned = p.bins;
  for (int64_t r = 0; r < p.num_rows(); ++r)
    for (int64_t c = 0; c < p.num_cols(); ++c) turned.set_bits(r, p.num_cols() - 1 - c, p.bins.bits(r, c));
  p.bins = turned;
  std::ranges::reverse(p.columns.list);
  both.require_same_of(p, "the columns in another order");
}

void check_outside_rows(trial& t) {
  histogram_problem p(t);
  if (!p.list) t.need("rows");
  const std::vector<int64_t> leaf = p.leaf();
  const two_histograms both(t, p);
  for (int64_t r = 0; r < p.num_rows(); ++r) {
    if (std::ranges::find(leaf, r) != leaf.end()) continue;
    for (int64_t c = 0; c < p.num_cols(); ++c)
      p.bins.set_bits(r, c, static_cast<uint64_t>(p.columns.list[static_cast<size_t>(c)].bins - 1));
    // The row that sets the scale keeps its value.
    for (host_tensor* x : {&*p.g, &*p.h}) {
      const uint64_t before = x->bits(0, r);
      const int e = reference::fixed_exponent(x->row(0), 1);
      x->set_bits(0, r, encode(dtype::f32, k_nan));
      if (reference::fixed_exponent(x->row(0), 1) != e) x->set_bits(0, r, before);
    }
  }
  both.require_same_of(p, "rows outside the leaf changed");
  if (both.has_same_bits()) judge_float_sums(t, p);
}

void check_duplicates(trial& t) {
  histogram_problem p(t);
  const two_histograms both(t, p);
  const host_tensor& once = both.first();
  std::vector<int64_t> rows = p.leaf();
  const size_t count = rows.size();
  for (size_t i = 0; i < count; ++i) rows.push_back(rows[i]);
  p.set_leaf(rows);
  const host_tensor twice = both.second(p);
  if (!both.has_same_bits()) return;
  for (int64_t slot = 0; slot < once.spec.rows(); ++slot)
    for (int part = 0; part < 2; ++part)
      t.require(2 * once.value(slot, part) == twice.value(slot, part) || std::isnan(once.value(slot, part)),
                "hist[{},{}] is {:a} with every row once and {:a} with every row twice", slot, part,
                once.value(slot, part), twice.value(slot, part));
}

void check_parent(trial& t) {
  histogram_problem p(t);
  p.set_columns(stored_without(p, 0));
  const std::vector<int64_t> all = p.leaf();
  std::vector<int64_t> part[2];
  for (size_t i = 0; i < all.size(); ++i) part[hash64(7, i) % 4 == 0 ? 0 : 1].push_back(all[i]);
  const host_tensor parent = ask_judged(t, p);
  p.set_leaf(part[1]);
  const host_tensor direct = ask_judged(t, p);
  p.set_leaf(part[0]);
  const host_tensor smaller = ask_restored(t, p, ask_totals(t, p));
  const host_tensor larger = ask_subtract(t, parent, smaller);
  require_same(t, larger, direct, "the larger leaf by subtraction and built from its rows");
  for (int64_t slot = 0; slot < parent.spec.rows(); ++slot)
    for (int side = 0; side < 2; ++side)
      t.require(smaller.value(slot, side) + larger.value(slot, side) == parent.value(slot, side),
                "slot {}: smaller {:a} + larger {:a} is not the parent's {:a}", slot, smaller.value(slot, side),
                larger.value(slot, side), parent.value(slot, side));
}

void check_column_sums(trial& t) {
  const histogram_problem p(t);
  const host_tensor hist = ask_judged(t, p);
  const asked_totals totals = ask_totals(t, p);
  const std::vector<int64_t> leaf = p.leaf();
  judge_totals(t, totals, leaf, p.g->row(0), p.h->row(0), histogram_accum::fixed64);
  for (int part = 0; part < 2; ++part) {
    const std::vector<double> x = (part == 0 ? *p.g : *p.h).row(0);
    const int e = reference::fixed_exponent(x, max_rows_of(t.the_case()));
    for (size_t c = 0; c < p.columns.list.size(); ++c) {
      const histogram_column& column = p.columns.list[c];
      double sum = 0;
      for (int64_t slot = 0; slot < column.bins - column.skipped; ++slot) sum += hist.value(column.offset + slot, part);
      int64_t unstored = 0;
      for (const int64_t row : leaf)
        if (p.bin(row, static_cast<int64_t>(c)) < column.skipped)
          unstored += reference::on_grid(x[static_cast<size_t>(row)], e);
      sum += std::ldexp(static_cast<double>(unstored), -e);
      t.require(sum == totals.sum[part], "column {}: stored and unstored bins sum to {:a}, the leaf's total is {:a}", c,
                sum, totals.sum[part]);
    }
  }
  judge_totals(t, ask_totals(t, p, histogram_accum::float64), leaf, p.g->row(0), p.h->row(0), histogram_accum::float64);
}

void check_scale(trial& t) {
  const histogram_problem p(t);
  ask_judged(t, p);
  judge_scale(t, ask_scale(t, p), p.g->row(0), p.h->row(0));
}

void check_counts(trial& t) {
  histogram_problem p(t);
  for (int64_t r = 0; r < p.num_rows(); ++r) p.h->set_bits(0, r, encode(dtype::f32, 1));
  const host_tensor hist = two_histograms(t, p).first();
  std::vector<double> counts(static_cast<size_t>(p.columns.total_bins));
  for (const reference::histogram_update& u : p.updates()) ++counts[static_cast<size_t>(u.slot)];
  for (int64_t slot = 0; slot < hist.spec.rows(); ++slot)
    t.require(hist.value(slot, 1) == counts[static_cast<size_t>(slot)], "slot {} has {} rows of h = 1, the sum is {}",
              slot, counts[static_cast<size_t>(slot)], hist.value(slot, 1));
}

void check_empty_leaf(trial& t) {
  const histogram_problem p(t);
  if (!p.leaf().empty() && !p.list) t.need("rows");
  if (!p.leaf().empty()) return t.skip("the leaf has rows");
  for (const histogram_accum accum : k_accums)
    for (const bool sparse : {false, true})
      if (const histogram_call call{.accum = accum, .sparse = sparse}; is_offered(t, call)) ask_judged(t, p, call);
  if (!p.gh && is_total_offered(t)) {
    const asked_totals totals = ask_totals(t, p);
    t.require(totals.sum[0] == 0 && totals.sum[1] == 0 && totals.count == 0, "the totals of no rows are not 0");
  }
}

void check_poison(trial& t) {
  histogram_problem p(t);
  const std::vector<int64_t> leaf = p.leaf();
  if (leaf.empty()) return t.skip("the leaf has no rows");
  const int64_t bad_g = leaf[leaf.size() / 2], bad_h = leaf.back();
  p.g->set_bits(0, bad_g, encode(dtype::f32, k_nan));
  p.h->set_bits(0, bad_h, encode(dtype::f32, HUGE_VAL));
  for (const bool sparse : {false, true})
    if (is_offered(t, {.sparse = sparse})) ask_judged(t, p, {.sparse = sparse});
  judge_float_sums(t, p);
  if (!is_total_offered(t)) return;
  const asked_totals totals = ask_totals(t, p);
  t.require(std::isnan(totals.sum[0]) && std::isnan(totals.sum[1]), "a total of what is not finite is a number");
  t.require(totals.count == static_cast<int64_t>(leaf.size()), "the totals count {} rows of {}", totals.count,
            leaf.size());
}

// Every value times `factor`; false unless that is exact.
bool scale_values(host_tensor& x, double factor) {
  for (int64_t i = 0; i < x.spec.cols(); ++i) {
    const double v = x.value(0, i) * factor;
    x.set_bits(0, i, encode(dtype::f32, v));
    if (x.value(0, i) != v && !std::isnan(v)) return false;
  }
  return true;
}

void check_factor(trial& t, double factor) {
  histogram_problem p(t);
  const two_histograms both(t, p);
  const host_tensor& before = both.first();
  if (!scale_values(*p.g, factor) || !scale_values(*p.h, factor)) return t.skip("a value leaves the range of f32");
  const host_tensor after = both.judged(p);
  if (!both.has_same_bits()) return;
  for (int64_t slot = 0; slot < before.spec.rows(); ++slot)
    for (int part = 0; part < 2; ++part)
      t.require(before.value(slot, part) * factor == after.value(slot, part) || std::isnan(before.value(slot, part)),
                "hist[{},{}] is {:a}, and {:a} when every value is taken {} times", slot, part,
                before.value(slot, part), after.value(slot, part), factor);
}

void check_sign(trial& t) { check_factor(t, -1); }
void check_power_of_two(trial& t) { check_factor(t, 0x1p5); }

void check_overwrite(trial& t) {
  const histogram_problem p(t);
  for (const bool sparse : {false, true}) judge_offered(t, p, {.sparse = sparse});
}

void check_refusals(trial& t) {
  const trial_case& c = t.the_case();
  if (const std::string wrong = what_is_wrong(*find_description(c.op), c, false); !wrong.empty())
    return t.expect_refusal(wrong, [](auto&) {});
  // bins, cols, g, h, rows, hist
  const bool has_all = std::ranges::all_of(c.tensors, [](const auto& s) { return s.elements() > 0; });
  if (c.tensors.size() != 6 || !has_all || c.at("bins").rows() < 2)
    return t.skip("it takes a list, a column and two rows to break the contract in every way");
  for (size_t i = 0; i < 6; ++i) {
    const std::string& name = c.tensors[i].name;
    t.expect_refusal(name + " = null", [i](auto& v) { v[i].data = nullptr; });
    t.expect_refusal(name + " of -1 rows", [i](auto& v) { v[i].shape[0] = -1; });
    if (i > 0) t.expect_refusal(name + " misaligned", [i](auto& v) { v[i].data = static_cast<char*>(v[i].data) + 1; });
    if (i < 5) t.expect_refusal("hist lies in " + name, [i](auto& v) { v[5].data = v[i].data; });
  }
  t.expect_refusal("row_stride = cols - 1", [](auto& v) { v[0].strides[0] = v[0].shape[1] - 1; });
  t.expect_refusal("g of another length", [](auto& v) { --v[2].shape[0]; });
  t.expect_refusal("hist of three columns", [](auto& v) { v[5].shape[1] = 3; });
  t.expect_refusal("cols of another number", [](auto& v) { --v[1].shape[0]; });
  t.expect_refusal("rows of floats", [](auto& v) { v[4].dtype.code = kDLFloat; });
}

// A leaf without rows has zeros however often it is summed.
trial_case summed_twice(const target& t, draw& d) {
  trial_case c = listed_histogram(t, d);
  c.knobs["launch"] = "again:2";
  c.knobs["schedule"] = "fair";
  return c;
}

const property_registration registration([] {
  const std::vector<dtype> every = {dtype::u8, dtype::u16, dtype::u32};
  property_list list("histogram", {dtype::u8});
  list.add("exact-model", "fixed64 sums are the integers of the model, to the bit", any_histogram, check_exact_model)
      .types = every;
  list.add("quantised-exact-model", "sums of integer gradients are exact", quantised_case, check_exact_model).types =
      every;
  list.add("within-bound", "every mode lies within its bound of the exact sums", any_histogram, check_bounds, 50);
  list.add("dyadic-exact", "all modes, dense and CSR, are exact where sums are", dyadic_histogram, check_dyadic, 30);
  make_polynomial_identity(list.add("usual", "", integer_histogram, check_dyadic, 10), 1);
  list.add("dense-equals-sparse", "CSR gives the sums of the same bins", any_histogram, check_sparse, 50).types = every;
  list.add("shared-equals-global", "both places give the sums of the model, dense and CSR", finite_histogram,
           check_places, 30)
      .types = every;
  list.add("column-groups", "columns that do not share a tile, or fit none, have their own slots", grouped_histogram,
           check_places, 10)
      .types = every;
  list.add("long-leaf", "leaves of several row blocks, one row more and one less", long_histogram, check_exact_model,
           20)
      .types = {dtype::u16};
  list.add("bin-type-agnostic", "bins of u8, u16 and u32 give the same bits", small_histogram, check_bin_types, 30);
  list.add("encoding-swap", "a first bin left out and restored is as one that is stored", small_histogram,
           check_encoding, 50);
  list.add("row-order", "the order of rows changes no bit", small_histogram, check_row_order, 30);
  list.add("column-order", "the order of columns changes no bit", small_histogram, check_column_order, 30);
  list.add("outside-rows", "rows outside the leaf change nothing", listed_histogram, check_outside_rows, 50);
  list.add("duplicate-rows", "rows that are listed twice count twice", listed_histogram, check_duplicates, 30);
  list.add("parent-is-smaller-plus-larger",
           "built, restored and subtracted histograms of two leaves make up their parent's", small_histogram,
           check_parent, 50);
  list.add("column-sums", "every column's bins add up to the leaf's totals", small_histogram, check_column_sums, 50);
  list.add("scale", "the scale is that of the largest finite values", any_histogram, check_scale, 50);
  list.add("constant-hessian-counts", "h = 1 counts rows", small_histogram, check_counts, 20);
  list.add("empty-leaf", "a leaf without rows has sums of 0", empty_leaf, check_empty_leaf, 20);
  list.add("poison-locality", "a NaN or an infinity reaches its own slots and component only", listed_histogram,
           check_poison, 50);
  list.add("sign-flip", "negated values give negated sums", small_histogram, check_sign, 20);
  list.add("power-of-two-scale", "values times 32 give sums times 32", moderate_histogram, check_power_of_two, 20);
  list.add("overwrite-not-accumulate", "a second call into the same output gives the same sums", summed_twice,
           check_overwrite, 60);
  list.add("large-offset", "rows of bins that lie more than 2^31 apart are read", far_rows_of_bins, check_exact_model,
           5)
      .types = every;
  list.add("bit-repeatability", "every launch, schedule and processor count gives the same bits", repeated_histogram,
           check_exact_model, 30);
  make_reused_storage(list.add("usual", "", small_histogram, check_exact_model));
  list.add("no-hazard", "no race, uninitialised read, out-of-bounds access or divergent barrier under random schedules",
           hazard_histogram, check_exact_model, 50)
      .types = {dtype::u8, dtype::u16};
  list.add("rejects-invalid-calls", "calls that break the contract are refused with a sentence and write nothing",
           refused_histogram, check_refusals, 10);
  return list.take();
}());

}  // namespace
}  // namespace warpcheck
