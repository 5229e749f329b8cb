#include "properties/rows/row_properties.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "properties/engine/cases/refusals.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/trials/checks.hpp"
#include "properties/engine/trials/library.hpp"
#include "properties/engine/trials/reused_storage.hpp"
#include "properties/rows/equal_launches.hpp"
#include "reference/numerics/float_value.hpp"

namespace warpcheck {

using namespace engine;

namespace {

constexpr double k_inf = std::numeric_limits<double>::infinity();

}  // namespace

bool all_finite(const std::vector<double>& row) {
  return std::ranges::all_of(row, [](double v) { return std::isfinite(v); });
}

bool has_subnormal_terms(const std::vector<double>& row) {
  double maximum = -k_inf;
  for (const double v : row) maximum = std::max(maximum, v);
  return std::ranges::any_of(row, [&](double v) { return std::isfinite(v) && maximum - v > 87; });
}

void judge_index(trial& t, const run_result& r, int64_t row, int64_t expected) {
  if (!t.the_case().find("index")) return;
  const auto index = static_cast<int64_t>(r.at("index").bits(0, row));
  t.require(index == expected, "index[{}] is {}, expected {}", row, index, expected);
}

void judge_rows(const row_operator& op, trial& t, const run_result& r) {
  const int64_t rows = t.input("x").spec.rows();
  for (int64_t row = 0; row < rows; ++row) op.judge_row(t, r, row);
}

void check_values(const row_operator& op, trial& t) { judge_rows(op, t, t.run()); }

// A relation between outputs holds for kernels that compute nothing, too: the checks below judge the outputs first.

void check_row_isolation(const row_operator& op, trial& t) {
  need_equal_launches(t);
  const run_result before = t.run();
  judge_rows(op, t, before);
  const host_tensor& x = t.input("x");
  const int64_t rows = x.spec.rows();
  if (x.spec.elements() == 0) return;
  const double intruders[] = {std::numeric_limits<double>::quiet_NaN(), k_inf, 3e38, -k_inf};
  int which = 0;
  for (int64_t victim : {int64_t{0}, rows / 2, rows - 1}) {
    host_tensor changed = x;
    const double intruder = intruders[which++];
    for (int64_t i = 0; i < x.spec.cols(); ++i) changed.set_bits(victim, i, encode(x.spec.type, intruder));
    const run_result after = t.run(t.the_case(), {{"x", changed}});
    for (const auto& [name, y] : before.tensors) {
      const host_tensor& z = after.at(name);
      for (int64_t row = 0; row < rows; ++row) {
        if (row == victim) continue;
        // A vector has one element per row.
        const int64_t line = is_matrix(y.spec) ? row : 0;
        const int64_t begin = is_matrix(y.spec) ? 0 : row, end = is_matrix(y.spec) ? y.spec.cols() : row + 1;
        for (int64_t i = begin; i < end; ++i)
          t.require(y.bits(line, i) == z.bits(line, i), "{}[{},{}] changes from {:a} to {:a} when row {} becomes {}",
                    name, line, i, y.value(line, i), z.value(line, i), victim, intruder);
      }
    }
  }
}

void check_in_place(const row_operator& op, trial& t) {
  need_equal_launches(t);
  trial_case in_place = t.the_case();
  tensor_spec& y = *in_place.find("y");
  const tensor_spec& x = in_place.at("x");
  y.in_place = "x";
  y.ld = x.ld;
  y.offset = x.offset;
  const run_result apart = t.run(), same = t.run(in_place);
  judge_rows(op, t, apart);
  judge_rows(op, t, same);
  if (!t.stated().has_our_plan) return;  // how rows lie may change the order of sums
  const host_tensor &a = apart.at("y"), &b = same.at("y");
  for (int64_t row = 0; row < a.spec.rows(); ++row)
    for (int64_t i = 0; i < a.spec.cols(); ++i)
      t.require(a.bits(row, i) == b.bits(row, i), "y[{},{}] is {:a} out of place and {:a} in place", row, i,
                a.value(row, i), b.value(row, i));
}

void check_dispatch_boundary(const row_operator& op, trial& t) {
  const tensor_spec& x = t.the_case().at("x");
  const int64_t cols = x.cols();
  const listed_operator& table = t.op();
  const auto published = [](const listed_variant& v) {
    const warpcheck_range& r = v.ranges.front();
    return fmt::format("{} is published as picked from {} columns to {}, and accepts {} to {} (-1: no limit)", v.name,
                       r.dispatch_min, r.dispatch_max, r.min, r.max);
  };
  bool is_published = false, may_be_picked = false;
  const uint32_t type = dtype_bit(x.type);
  for (const listed_variant& v : table.variants) {
    const warpcheck_range& r = v.ranges.front();
    const bool is_bounded = r.dispatch_max >= 0;
    if (!(v.dtypes & type) || (is_bounded && r.dispatch_min > r.dispatch_max)) continue;
    is_published = true;
    t.require(r.dispatch_min >= r.min && (r.max < 0 || (is_bounded && r.dispatch_max <= r.max)), "{}", published(v));
    may_be_picked |= v.may_be_picked(cols);
  }
  t.require(!is_published || may_be_picked, "no variant is published as the one that is picked for rows of {} columns",
            cols);
  const run_result own = t.run();
  judge_rows(op, t, own);
  if (table.publishes_picks() && x.elements() > 0 && t.the_case().knob("variant") == "auto") {
    const std::string& picked = own.picked_variant;
    t.require(own.used_variant == picked, "'{}' is published as picked for this call, but '{}' ran", picked,
              own.used_variant);
    trial_case forced = t.the_case();
    forced.knobs["variant"] = picked;
    t.require(t.is_accepted(forced), "'{}' is published as picked for this call, which it does not accept", picked);
    for (const listed_variant& v : table.variants)
      if (v.name == picked)
        t.require(v.may_be_picked(cols), "{} columns were picked for it, but {}", cols, published(v));
  }
  for (const listed_variant& v : table.variants) {
    if (!(v.dtypes & type) || !v.takes(cols)) continue;
    trial_case forced = t.the_case();
    forced.knobs["variant"] = v.name;
    if (t.is_accepted(forced)) judge_rows(op, t, t.run(forced));
  }
}

host_tensor shifted_input(trial& t) {
  const double shift = knob_or(t.the_case(), "shift", 0);
  host_tensor shifted = t.input("x");
  for (int64_t row = 0; row < shifted.spec.rows(); ++row)
    for (int64_t i = 0; i < shifted.spec.cols(); ++i) {
      const double sum = shifted.value(row, i) + shift;
      const uint64_t bits = encode(shifted.spec.type, sum);
      if (decode(shifted.spec.type, bits) - shift != shifted.value(row, i))
        t.skip(fmt::format("x[{},{}] + {} is not exact in {}", row, i, shift, name_of(shifted.spec.type)));
      shifted.set_bits(row, i, bits);
    }
  return shifted;
}

void check_exact_shift(const row_operator& op, trial& t) {
  need_equal_launches(t);
  const host_tensor shifted = shifted_input(t);
  const run_result before = t.run();
  judge_rows(op, t, before);
  const run_result after = t.run(t.the_case(), {{"x", shifted}});
  for (const auto& [name, y] : before.tensors) {
    const host_tensor& z = after.at(name);
    for (int64_t row = 0; row < y.spec.rows(); ++row)
      for (int64_t i = 0; i < y.spec.cols(); ++i)
        t.require(y.bits(row, i) == z.bits(row, i), "{}[{},{}] = {:a} becomes {:a} when {} is added to every logit",
                  name, row, i, y.value(row, i), z.value(row, i), knob_or(t.the_case(), "shift", 0));
  }
}

permutation::permutation(int64_t cols) : n(cols), step(std::max<int64_t>(1, cols / 3)) {
  while (std::gcd(step, std::max<int64_t>(n, 1)) != 1) ++step;
}

host_tensor permutation::operator()(const host_tensor& x) const {
  host_tensor permuted = x;
  for (int64_t row = 0; row < x.spec.rows(); ++row)
    for (int64_t i = 0; i < n; ++i) permuted.set_bits(row, image(i), x.bits(row, i));
  return permuted;
}

void require_spikes(const row_operator& op, trial& t) {
  const host_tensor& x = t.input("x");
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    int64_t spikes = 0, rest = 0;
    for (int64_t i = 0; i < x.spec.cols(); ++i) {
      spikes += x.value(row, i) == op.spike_peak;
      rest += x.value(row, i) == op.spike_rest;
    }
    if (spikes != 1 || rest != x.spec.cols() - 1)
      t.skip(fmt::format("row {} is not one {} among {}", row, op.spike_peak, op.spike_rest));
  }
}

row_ties require_equal_bits(trial& t, const host_tensor& y, int64_t row) {
  const host_tensor& x = t.input("x");
  std::map<double, int64_t> seen;  // value -> first column; -0 and +0 are one value
  row_ties ties{-k_inf, 0, 0};
  for (int64_t i = 0; i < x.spec.cols(); ++i) {
    const double v = x.value(row, i);
    const auto [first, fresh] = seen.emplace(v + 0.0, i);
    t.require(fresh || y.bits(row, i) == y.bits(row, first->second),
              "x[{},{}] == x[{},{}] = {:.9g}, but y is {:a} and {:a}", row, i, row, first->second, v, y.value(row, i),
              y.value(row, first->second));
    ties.masked += v == -k_inf;
    ties.maxima = v > ties.largest ? 1 : ties.maxima + (v == ties.largest);
    ties.largest = std::max(ties.largest, v);
  }
  return ties;
}

void require_empty(trial& t) {
  if (t.the_case().at("x").elements() > 0) t.skip("the input is not empty");
}

void check_empty_rows(const row_operator& op, trial& t) {
  require_empty(t);
  judge_rows(op, t, t.run());
}

void check_code_refusals(trial& t, const std::string& code, int codes) {
  const tensor_spec& x = t.the_case().at("x");
  if (x.rows() < 2 || x.cols() < 2) return t.skip("it takes two rows and columns to break the contract in every way");
  const double value = knob_or(t.the_case(), code, 0);
  if (value >= 0 && value < codes && value == std::floor(value)) return refuse_common(t);
  t.expect_refusal(code + " = " + t.the_case().knob(code), [](auto&) {});
}

run_result run_other(trial& t, const std::string& op, const std::string& property, std::vector<tensor_spec> outputs,
                     const std::map<std::string, std::string>& knobs) {
  trial_case c;
  c.op = op;
  c.property = property;
  c.tensors = {t.the_case().at("x")};
  for (tensor_spec& y : outputs) c.tensors.push_back(std::move(y));
  for (const char* knob : {"device", "candidate", "schedule", "detect"})
    if (t.the_case().knobs.count(knob)) c.knobs[knob] = t.the_case().knobs.at(knob);
  for (const auto& [name, value] : knobs) c.knobs[name] = value;
  try {
    trial other(c);
    try {
      return other.run();
    } catch (const trial_over&) {
      const case_report r = other.finish();
      if (r.result != verdict::skipped)
        t.require(false, "{} on the same input: {} {}", op, name_of(r.result), r.message);
    }
  } catch (const environment_error&) {
    // The candidate has no such operator, or none for the device.
  }
  if (op == t.the_case().op) t.need(fmt::format("the candidate on device {}", c.knob("device")));
  t.need(fmt::format("{} of the same candidate", op));
}

void check_device_agreement(const row_operator& op, trial& t) {
  need_equal_launches(t);
  const run_result here = t.run();
  judge_rows(op, t, here);
  const trial_case& c = t.the_case();
  std::map<std::string, std::string> knobs = c.knobs;
  knobs["device"] = "emulated";
  knobs["sm"] = c.knob("device") != "emulated" ? "4" : c.number("sm") == 132 ? "7" : "132";
  knobs["schedule"] = "fair";
  knobs["detect"] = "off";
  const run_result there = run_other(t, c.op, c.property, {c.tensors.begin() + 1, c.tensors.end()}, knobs);
  judge_rows(op, t, there);
  if (!t.stated().has_our_plan) return;  // the number of multiprocessors may change the order of sums
  for (const auto& [name, a] : here.tensors) {
    const host_tensor& b = there.at(name);
    for (int64_t row = 0; row < a.spec.rows(); ++row)
      for (int64_t i = 0; i < a.spec.cols(); ++i)
        t.require(a.bits(row, i) == b.bits(row, i),
                  "{}[{},{}] is {:a} here and {:a} on the emulated device with {} multiprocessors", name, row, i,
                  a.value(row, i), b.value(row, i), knobs["sm"]);
  }
}

property_list::generator row_properties::without_gaps(row_generator generate) const {
  return [op = op_, generate](const target& t, draw& d) {
    trial_case c = generate(op, t, d);
    if (op.dense) close_gaps(c);
    return c;
  };
}

property& row_properties::add(std::string name, std::string sentence, row_generator generate, row_check check) {
  property& p = property_list::add(std::move(name), std::move(sentence), without_gaps(generate),
                                   [op = op_, check = std::move(check)](trial& t) { check(op, t); });
  // Only the property about rows without elements has such cases; others have nothing to test in them.
  p.holds = has_elements;
  if (generate == empty_rows) p.holds = [](const trial_case& c) { return !has_elements(c); };
  if (p.name == "misalignment") p.holds = engine::is_misaligned;
  p.optional_outputs = op_.optional_outputs;
  return p;
}

property& row_properties::add_for_input(std::string name, std::string sentence, row_generator generate,
                                        row_check check) {
  property& p = add(std::move(name), std::move(sentence), generate, std::move(check));
  p.for_input = [op = op_](const target& t, const tensor_spec& x) {
    std::vector<trial_case> cases;
    for (const int extra : op.extras) {
      trial_case c = op.make_case(t, x.rows(), x.cols(), x.fill, extra);
      *c.find("x") = x;
      // For some element types two extras are the same call.
      if (std::ranges::find(cases, c) == cases.end()) cases.push_back(std::move(c));
    }
    return cases;
  };
  return p;
}

namespace {

bool has_far_rows(const trial_case& c) {
  return has_elements(c) && std::ranges::any_of(c.tensors, [](const tensor_spec& t) { return t.ld >= k_far_rows; });
}

bool has_rows_in_gaps(const trial_case& c) { return has_elements(c) && !c.at("y").beside.empty(); }

struct common_property {
  std::string_view name;
  const char* sentence;
  row_generator generate;
  void (*check)(const row_operator&, trial&);
  int share_percent = 100;
  bool for_input = false;
  bool needs_two_rows = false;
};

void check_repeats(const row_operator& op, trial& t) {
  need_equal_launches(t);
  check_values(op, t);
}

void check_common_refusals(const row_operator&, trial& t) { refuse_common(t); }

constexpr common_property k_common[] = {
    {"special-values", "NaN, infinities, extremes and zeros give the results of the contract, wherever they are",
     special_rows, check_values},
    {"long-accumulation", "rows on which a long addition chain loses every term stay within the bound", stagnation_rows,
     check_values},
    {"row-isolation", "the contents of another row or a gap change no bit of this row's result", two_or_more_rows,
     check_row_isolation, 100, true, true},
    {"in-place-equals-out-of-place", "in place gives the bits of out of place", any_rows, check_in_place},
    {"misalignment", "every combination of input and output misalignment and leading dimension is right",
     misaligned_rows, check_values},
    {"interleaved-rows", "an output whose rows lie in the gaps between those of the input is right", interleaved_rows,
     check_values, 15},
    {"dispatch-boundaries",
     "every variant that accepts a row length is right there, above all where the dispatch changes", boundary_rows,
     check_dispatch_boundary},
    {"rows-beyond-grid", "more rows than any grid dimension give every row its own result", many_rows, check_values, 5},
    {"many-rows-per-block", "results are right if short rows keep every multiprocessor busy", full_grid_rows,
     check_values, 20},
    {"large-offset", "rows that lie more than 2^31 elements apart are right", far_rows, check_values, 50},
    {"bit-repeatability", "every launch and schedule gives the same bits", repeated_rows, check_repeats, 50},
    {"device-agreement",
     "a GPU gives the bits of the emulated device, and this the same whatever its number of multiprocessors", any_rows,
     check_device_agreement, 60},
    {"no-hazard", "no race, uninitialised read, out-of-bounds access or divergent barrier under random schedules",
     hazard_rows, check_values, 50},
    {"rejects-invalid-calls", "calls that break the contract are refused with a sentence and write nothing",
     refused_rows, check_common_refusals, 10},
};

}  // namespace

property& row_properties::add_common(std::string_view name, row_generator generate, row_check check) {
  const auto* const common =
      std::find_if(std::begin(k_common), std::end(k_common), [&](const common_property& c) { return c.name == name; });
  if (common == std::end(k_common)) throw std::logic_error(fmt::format("no common property is called {}", name));
  if (!generate) generate = common->generate;
  if (!check) check = common->check;
  property& p = common->for_input ? add_for_input(std::string(name), common->sentence, generate, std::move(check))
                                  : add(std::string(name), common->sentence, generate, std::move(check));
  if (common->needs_two_rows) p.holds = has_two_rows;
  if (name == "large-offset") p.holds = has_far_rows;
  if (name == "interleaved-rows") p.holds = has_rows_in_gaps;
  p.share_percent = common->share_percent;
  return p;
}

namespace {

// Few rows, or many short ones, of any length.
trial_case batch_rows(const row_operator& op, const target& t, draw& d) {
  trial_case c = d.index() % 3 == 0 ? any_rows(op, t, d) : small_rows(op, t, d);
  tensor_spec& x = *c.find("x");
  if (is_matrix(x)) x.shape[0] = d.between(2, x.cols() > 256 ? 6 : 40);
  follow(c);
  return c;
}

}  // namespace

void row_properties::add_batch_invariance() {
  append(batch_invariance(op_.described.op, types_of(op_.described.forms.front().tensors.front()),
                          op_.described.extents.front().name, without_gaps(batch_rows),
                          [op = op_](trial& t, const run_result& r) {
                            need_equal_launches(t);
                            judge_rows(op, t, r);
                          }))
      .needs_batch_invariance = op_.described.statements.batch_invariant;
}

void row_properties::add_reused_storage(row_generator generate) {
  make_reused_storage(add("usual", "", generate, check_values));
}

}  // namespace warpcheck
