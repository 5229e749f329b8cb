// histogram explained step by step: which rows a slot gets, what they add up to, and which sum or slot departs. Bounds:
// reference/histogram/histogram.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "properties/histogram/histogram_problem.hpp"
#include "properties/rows/explanation_support.hpp"
#include "reference/histogram/histogram_parts.hpp"

namespace warpcheck {
namespace {

using namespace engine;

constexpr const char* k_parts[] = {"gradients", "hessians"};
constexpr int64_t k_most_slots = 512;

histogram_accum accum_of(const trial_case& c) { return static_cast<histogram_accum>(c.number("accum")); }

// The numbers that rows add, and how they are added.
struct added_numbers {
  doubles of_row;
  bool is_quantised = false;
  histogram_accum accum = histogram_accum::fixed64;
  int exponent = 0;  // of fixed64

  added_numbers(const observed_call& call, int part) : accum(accum_of(call.c)) {
    if (const auto gh = call.inputs.find("gh"); gh != call.inputs.end()) {
      is_quantised = true;
      for (int64_t r = 0; r < gh->second.spec.rows(); ++r)
        of_row.push_back(static_cast<int16_t>(gh->second.bits(r, part)));
      return;
    }
    of_row = call.inputs.at(part == 0 ? "g" : "h").row(0);
    exponent = reference::fixed_exponent(of_row, max_rows_of(call.c));
  }

  // The numbers of a slot's rows.
  doubles of(const std::vector<int64_t>& rows) const {
    doubles terms;
    for (const int64_t r : rows) terms.push_back(of_row[static_cast<size_t>(r)]);
    return terms;
  }
  bool is_float() const { return !is_quantised && accum != histogram_accum::fixed64; }

  struct value {
    double exact = 0, bound = 0;
    std::vector<reference::bound_term> terms;
  };
  value sum(const doubles& terms) const {
    if (is_float()) return bounded(terms);
    double sum = 0;
    for (const double v : terms) {
      if (!std::isfinite(v)) return {std::nan(""), 0, {}};
      sum += is_quantised ? v : static_cast<double>(reference::on_grid(v, exponent));
    }
    return {is_quantised ? sum : std::ldexp(sum, -exponent), 0, {}};
  }

 private:
  value bounded(const doubles& terms) const {
    reference::judged_sum sum;
    bool is_finite = true;
    for (const double v : terms) {
      sum.add(v);
      is_finite = is_finite && std::isfinite(v);
    }
    if (!is_finite) return {std::nan(""), 0, {}};
    const bool single = accum == histogram_accum::float32;
    const double bound = (single ? sum.judge_float32(sum.expected()) : sum.judge_float64(sum.expected())).bound;
    const double sizes = reference::sum_of_sizes(terms);
    return {sum.expected(), bound,
            single ? reference::float32_terms(sum.count(), sizes) : reference::float64_terms(sum.count(), sizes)};
  }
};

std::string mode_sentence(const added_numbers& x) {
  if (x.is_quantised) return "Sums of integers are exact: only this value passes.";
  if (!x.is_float())
    return fmt::format(
        "Each number is rounded to the grid 2^{} and sums on it are exact, in any order: only this value passes.",
        -x.exponent);
  return x.accum == histogram_accum::float32
             ? "(gamma_min(m,16384)(2^-24) + gamma_m(2^-53)) times the sum of sizes of m rows (docs/numerics.md)."
             : "gamma_m(2^-53) times the sum of sizes of m rows (docs/numerics.md).";
}

// ---- which rows come to which slot ----

std::vector<int64_t> leaf_of(const observed_call& call, int64_t rows) {
  std::vector<int64_t> list;
  const auto listed = call.inputs.find("rows");
  if (listed == call.inputs.end()) {
    for (int64_t r = 0; r < rows; ++r) list.push_back(r);
    return list;
  }
  for (int64_t i = 0; i < listed->second.spec.cols(); ++i)
    list.push_back(static_cast<int64_t>(listed->second.bits(0, i)));
  return list;
}

// The slots that are explained, which are a column's where bins are dense, with the rows of each.
struct slot_range {
  int64_t first = 0;
  std::string name;
  std::vector<std::vector<int64_t>> rows;

  bool holds(int64_t slot) const { return slot >= first && slot < first + static_cast<int64_t>(rows.size()); }
  void add(int64_t slot, int64_t row) {
    if (holds(slot)) rows[static_cast<size_t>(slot - first)].push_back(row);
  }
};

slot_range dense_slots(const observed_call& call, int64_t slot) {
  const host_tensor &bins = call.inputs.at("bins"), &cols = call.inputs.at("cols");
  slot_range range;
  for (int64_t i = 0; i < cols.spec.rows(); ++i) {
    const auto offset = static_cast<int64_t>(cols.bits(i, 0)), packed = static_cast<int64_t>(cols.bits(i, 1));
    const int64_t skipped = packed >> 32, stored = (packed & 0xffffffff) - skipped;
    if (slot < offset || slot >= offset + stored) continue;
    range = {offset,
             fmt::format("column {} ({} bins{}, slots {} to {})", i, stored + skipped,
                         skipped > 0 ? ", bin 0 is not stored" : "", offset, offset + stored - 1),
             std::vector<std::vector<int64_t>>(static_cast<size_t>(stored))};
    for (const int64_t row : leaf_of(call, bins.spec.rows()))
      if (const auto bin = static_cast<int64_t>(bins.bits(row, i)); bin >= skipped)
        range.add(offset + bin - skipped, row);
  }
  return range;
}

slot_range sparse_slots(const observed_call& call, int64_t slot, int64_t total) {
  const host_tensor &slots = call.inputs.at("slots"), &ends = call.inputs.at("row_ptr");
  const int64_t first = std::max<int64_t>(0, slot - k_most_slots / 2), end = std::min(total, first + k_most_slots);
  slot_range range{first, fmt::format("slots {} to {} of CSR", first, end - 1),
                   std::vector<std::vector<int64_t>>(static_cast<size_t>(end - first))};
  for (const int64_t row : leaf_of(call, ends.spec.cols() - 1))
    for (auto k = static_cast<int64_t>(ends.bits(0, row)); k < static_cast<int64_t>(ends.bits(0, row + 1)); ++k)
      range.add(static_cast<int64_t>(slots.bits(0, k)), row);
  return range;
}

slot_range slots_around(const observed_call& call, int64_t slot, int64_t total) {
  slot_range range = call.inputs.count("bins") ? dense_slots(call, slot) : sparse_slots(call, slot, total);
  // A slot between columns belongs to none, and no row comes to it.
  if (!range.holds(slot)) range = {slot, "a gap between columns", {{}}};
  return range;
}

// The numbers of all slots that are explained.
struct slot_values {
  doubles exact, bound;
};
slot_values values_of(const added_numbers& x, const slot_range& range) {
  slot_values v;
  for (const std::vector<int64_t>& rows : range.rows) {
    const added_numbers::value sum = x.sum(x.of(rows));
    v.exact.push_back(sum.exact);
    v.bound.push_back(sum.bound);
  }
  return v;
}

std::vector<reference::model_step> steps_of(const added_numbers& x, const doubles& terms, double exact, double actual) {
  return reference::sum_steps(x.is_float() || x.is_quantised ? "sum" : "sum on the grid", terms, exact, actual);
}

// ---- the stages ----

// The slot and part that the report names, else the candidate's furthest, slots of the first columns looked at.
std::pair<int64_t, int> place_of(const observed_call& call, const host_tensor& hist) {
  if (call.worst && call.worst->tensor == "hist") return {call.worst->row, static_cast<int>(call.worst->col)};
  std::pair<int64_t, int> found = {0, 0};
  double worst = -1;
  const int64_t total = hist.spec.rows();
  int64_t looked_at = 0;
  for (int64_t slot = 0; slot < total && call.outputs && looked_at < 16;) {
    const slot_range range = slots_around(call, slot, total);
    for (const int part : {0, 1}) {
      const slot_values due = values_of(added_numbers(call, part), range);
      for (size_t i = 0; i < due.exact.size(); ++i) {
        const int64_t at = range.first + static_cast<int64_t>(i);
        if (const double s = share_of_bound(hist.value(at, part), due.exact[i], due.bound[i]); s > worst) {
          worst = s;
          found = {at, part};
        }
      }
    }
    looked_at += range.rows.size() > 1;
    slot = range.first + static_cast<int64_t>(range.rows.size());
  }
  return found;
}

explained_call explain_slots(const observed_call& call) {
  const tensor_spec& spec = call.c.at("hist");
  explained_call s;
  if (spec.elements() == 0) return s;
  const host_tensor none(spec);
  const host_tensor& hist = call.outputs ? call.outputs->at("hist") : none;
  const auto [slot, part] = place_of(call, hist);
  const slot_range range = slots_around(call, slot, spec.rows());
  const added_numbers x(call, part);
  const slot_values due = values_of(x, range);
  s.output = "hist";
  s.item = "place";
  s.element = slot - range.first;
  s.row = part;
  s.element_name = fmt::format("hist[{},{}]", slot, part);
  s.row_name = fmt::format("the sums of {} of {}", k_parts[part], range.name);
  const auto i = static_cast<size_t>(s.element);
  const doubles terms = x.of(range.rows[i]);
  const added_numbers::value sum = x.sum(terms);
  for (size_t k = 0; k < due.exact.size() && call.outputs; ++k)
    s.actual.push_back(hist.value(range.first + static_cast<int64_t>(k), part));
  explained_row& t = s.values;
  t.exact = due.exact;
  t.bound = due.bound;
  // Beside a term that is not finite, the float modes need give neither NaN nor an infinity of a certain sign.
  for (size_t k = 0; k < s.actual.size() && x.is_float(); ++k)
    if (std::isnan(t.exact[k]) && std::isinf(s.actual[k])) t.exact[k] = s.actual[k];
  t.formula = fmt::format("hist[{},{}] = the sum of the {} of the leaf's rows whose bin of {} is number {} there.",
                          slot, part, k_parts[part], range.name, s.element);
  t.numbers = fmt::format("{} rows come to it, whose sizes add up to {}.", terms.size(),
                          digits(reference::sum_of_sizes(terms)));
  t.bound_formula = mode_sentence(x);
  t.terms = sum.terms;
  t.steps = steps_of(x, terms, sum.exact, s.actual.empty() ? std::nan("") : s.actual[i]);
  return s;
}

// Both sums and the number of rows.
explained_call explain_totals(const observed_call& call) {
  explained_call s;
  s.item = "number";
  s.row_name = "the totals (sum of gradients, sum of hessians, rows)";
  const std::vector<int64_t> leaf = leaf_of(call, call.inputs.at("g").spec.cols());
  std::vector<added_numbers> parts;
  for (const int part : {0, 1}) {
    parts.emplace_back(call, part);
    const added_numbers::value sum = parts.back().sum(parts.back().of(leaf));
    s.values.exact.push_back(sum.exact);
    s.values.bound.push_back(sum.bound);
  }
  s.values.exact.push_back(static_cast<double>(leaf.size()));
  s.values.bound.push_back(0);
  if (call.outputs) {
    const host_tensor& out = call.outputs->at("totals");
    s.actual = {std::bit_cast<double>(out.bits(0, 0)), std::bit_cast<double>(out.bits(0, 1)),
                static_cast<double>(static_cast<int64_t>(out.bits(0, 2)))};
  }
  const size_t i = furthest(s.actual, s.values.exact, s.values.bound);
  s.element = static_cast<int64_t>(i);
  s.element_name = fmt::format("totals[{}]", i);
  s.values.formula = i == 2 ? "totals[2] = the number of the leaf's rows."
                            : fmt::format("totals[{}] = the sum of the leaf's {}.", i, k_parts[i]);
  if (i == 2) return s;
  const doubles terms = parts[i].of(leaf);
  s.values.bound_formula = mode_sentence(parts[i]);
  s.values.terms = parts[i].sum(terms).terms;
  s.values.steps = steps_of(parts[i], terms, s.values.exact[i], s.actual.empty() ? std::nan("") : s.actual[i]);
  return s;
}

// Exponents of the grids, the most rows, and what is not finite.
explained_call explain_scale(const observed_call& call) {
  explained_call s;
  s.item = "number";
  s.row_name = "the scale (exponent of gradients, of hessians, most rows, what is not finite)";
  const auto most = static_cast<double>(max_rows_of(call.c));
  double not_finite = 0, largest[2] = {0, 0};
  for (const int part : {0, 1}) {
    const added_numbers x(call, part);
    s.values.exact.push_back(x.exponent);
    bool is_finite = true;
    for (const double v : x.of_row)
      if (std::isfinite(v))
        largest[part] = std::max(largest[part], std::fabs(v));
      else
        is_finite = false;
    if (!is_finite) not_finite += part + 1;
  }
  s.values.exact.insert(s.values.exact.end(), {most, not_finite});
  s.values.bound.assign(4, 0);
  if (call.outputs) {
    const host_tensor& out = call.outputs->at("scale");
    const uint64_t both = out.bits(0, 0);
    s.actual = {static_cast<double>(static_cast<int32_t>(both)), static_cast<double>(static_cast<int32_t>(both >> 32)),
                static_cast<double>(out.bits(0, 1)), static_cast<double>(out.bits(0, 2))};
  }
  const size_t i = furthest(s.actual, s.values.exact, s.values.bound);
  s.element = static_cast<int64_t>(i);
  s.element_name = fmt::format("scale[{}]", i);
  if (i < 2) {
    s.values.formula =
        "e = 53 - ceil(log2(the most rows)) - (ilogb(M) + 1), M the largest finite size; 0 where M is 0.";
    s.values.numbers = fmt::format("Of the {}, M is {}, and a leaf has at most {} rows.", k_parts[i],
                                   digits(largest[i]), digits(most));
  } else {
    s.values.formula = i == 2 ? "The most rows of a leaf are handed on as they are."
                              : "Bit 0 is set if a gradient is not finite, bit 1 if a hessian is not.";
  }
  return s;
}

struct fix_entry {
  int64_t number, first, count, restored;
};

// The entry that the slot belongs to; of none, or of slot -1, the first.
std::optional<fix_entry> entry_of(const host_tensor& table, int64_t slot) {
  std::optional<fix_entry> found;
  for (int64_t e = 0; e < table.spec.rows(); ++e) {
    const auto first = static_cast<int64_t>(table.bits(e, 0)), packed = static_cast<int64_t>(table.bits(e, 1));
    const fix_entry entry{e, first, packed & 0xffffffff, packed >> 32};
    if (!found || (slot >= first && slot < first + entry.count)) found = entry;
  }
  return found;
}

// A restored slot is the leaf's sum less the other slots; the others keep what they hold.
explained_call explain_fix(const observed_call& call) {
  const host_tensor &before = call.inputs.at("before"), &leaf = call.inputs.at("leaf");
  const bool is_named = call.worst && call.worst->tensor == "hist";
  const int part = is_named ? static_cast<int>(call.worst->col) : 0;
  const std::optional<fix_entry> entry = entry_of(call.inputs.at("entries"), is_named ? call.worst->row : -1);
  explained_call s;
  if (!entry) return s;
  explained_row& t = s.values;
  reference::judged_sum sum;
  doubles terms = {leaf.value(0, part)};
  sum.add(terms[0]);
  for (int64_t k = 0; k < entry->count; ++k) {
    const double stored = before.value(entry->first + k, part);
    t.exact.push_back(stored);
    t.bound.push_back(0);
    if (call.outputs) s.actual.push_back(call.outputs->at("hist").value(entry->first + k, part));
    if (k == entry->restored) continue;
    sum.subtract(stored);
    terms.push_back(-stored);
  }
  const auto at = static_cast<size_t>(entry->restored);
  const bool is_double = before.spec.type == dtype::f64;
  const double sizes = reference::sum_of_sizes(terms);
  t.exact[at] = sum.expected();
  if (is_double) t.bound[at] = sum.judge_fix(sum.expected()).bound;
  s.output = "hist";
  s.item = "place";
  s.row = part;
  s.element = entry->restored;
  s.element_name = fmt::format("hist[{},{}]", entry->first + s.element, part);
  s.row_name = fmt::format("the {} of entry {} (slots {} to {})", k_parts[part], entry->number, entry->first,
                           entry->first + entry->count - 1);
  t.formula = fmt::format("{} = the leaf's sum less the other {} slots.", s.element_name, entry->count - 1);
  t.numbers = fmt::format("The leaf's sum, term 0, is {}; the other slots, terms 1 to {}, add up to {}.",
                          digits(terms[0]), terms.size() - 1, digits(terms[0] - t.exact[at]));
  t.bound_formula = is_double ? "gamma_48(2^-53) times the sum of sizes (docs/numerics.md)."
                              : "Integers wrap modulo 2^64; beyond 2^53 they are shown rounded.";
  if (is_double) t.terms = reference::fix_terms(sizes);
  t.steps = reference::sum_steps("value left for the slot", terms, t.exact[at],
                                 s.actual.empty() ? std::nan("") : s.actual[at]);
  return s;
}

explained_call explain_subtract(const observed_call& call) {
  const host_tensor &parent = call.inputs.at("parent"), &smaller = call.inputs.at("smaller");
  explained_call s;
  if (parent.spec.elements() == 0) return s;
  const int64_t slot = call.worst ? call.worst->row : 0;
  const int64_t part = call.worst ? call.worst->col : 0;
  const int64_t first = std::max<int64_t>(0, slot - k_most_slots / 2),
                end = std::min(parent.spec.rows(), first + k_most_slots);
  for (int64_t k = first; k < end; ++k) {
    const bool is_double = parent.spec.type == dtype::f64;
    s.values.exact.push_back(
        is_double ? parent.value(k, part) - smaller.value(k, part)
                  : static_cast<double>(static_cast<int64_t>(parent.bits(k, part) - smaller.bits(k, part))));
    s.values.bound.push_back(0);
    if (call.outputs) s.actual.push_back(call.outputs->at("larger").value(k, part));
  }
  const auto i = static_cast<size_t>(slot - first);
  const double a = parent.value(slot, part), b = smaller.value(slot, part);
  s.output = "larger";
  s.item = "place";
  s.row = part;
  s.element = slot - first;
  s.element_name = fmt::format("larger[{},{}]", slot, part);
  s.row_name = fmt::format("the {} of slots {} to {}", k_parts[part], first, end - 1);
  s.values.formula = fmt::format("larger[{0},{1}] = parent[{0},{1}] - smaller[{0},{1}], one subtraction.", slot, part);
  s.values.numbers = fmt::format("{} - {} = {}.", digits(a), digits(b), digits(s.values.exact[i]));
  if (s.actual.empty()) return s;
  s.values.steps = {{"difference of parent and smaller", s.values.exact[i], s.values.exact[i], s.actual[i]}};
  return s;
}

explained_call explain_histogram(const observed_call& call) {
  switch (static_cast<histogram_stage>(call.c.number("stage"))) {
    case histogram_stage::build:
    case histogram_stage::quantised: return explain_slots(call);
    case histogram_stage::scale: return explain_scale(call);
    case histogram_stage::totals: return explain_totals(call);
    case histogram_stage::fix: return explain_fix(call);
    case histogram_stage::subtract: return explain_subtract(call);
  }
  return {};
}

const explainer_registration histogram("histogram", explain_histogram);

}  // namespace
}  // namespace warpcheck
