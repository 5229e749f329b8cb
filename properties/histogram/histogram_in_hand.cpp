// histogram on trial: the outputs of a stage that somebody has in hand.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/trials/in_hand.hpp"
#include "properties/histogram/histogram_problem.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::histogram_update;

int64_t integer_at(const host_tensor& x, int64_t row, int64_t col) { return static_cast<int64_t>(x.bits(row, col)); }

int64_t rows_in_hand(const tensor_map& inputs) {
  if (!inputs.contains("bins") && !inputs.contains("row_ptr")) return inputs.at("g").spec.cols();
  const auto bins = inputs.find("bins");
  return bins != inputs.end() ? bins->second.spec.rows() : std::max<int64_t>(1, inputs.at("row_ptr").spec.cols()) - 1;
}

void check_range(const char* tensor, int64_t row, int64_t col, int64_t value, int64_t least, int64_t end) {
  if (value < least || value >= end)
    throw usage_error(fmt::format("{}[{},{}] is {}, must be from {} to {}", tensor, row, col, value, least, end - 1));
}

void check_columns(const tensor_map& inputs, int64_t total_bins) {
  const host_tensor& bins = inputs.at("bins");
  const histogram_columns columns = columns_of(inputs.at("cols"), total_bins);
  for (int64_t i = 0; i < std::min<int64_t>(std::ssize(columns.list), bins.spec.cols()); ++i) {
    const histogram_column& column = columns.list[static_cast<size_t>(i)];
    check_range("cols", i, 0, column.offset, 0, std::max<int64_t>(1, total_bins - column.bins + column.skipped + 1));
    for (int64_t row = 0; row < bins.spec.rows(); ++row)
      check_range("bins", row, i, integer_at(bins, row, i), 0, column.bins);
  }
}

void check_slots(const tensor_map& inputs, int64_t total_bins) {
  const host_tensor &slots = inputs.at("slots"), &ends = inputs.at("row_ptr");
  for (int64_t i = 0; i < ends.spec.cols(); ++i)
    check_range("row_ptr", 0, i, integer_at(ends, 0, i), i == 0 ? 0 : integer_at(ends, 0, i - 1),
                slots.spec.cols() + 1);
  for (int64_t i = 0; i < slots.spec.cols(); ++i) check_range("slots", 0, i, integer_at(slots, 0, i), 0, total_bins);
}

}  // namespace

void check_indices(const tensor_map& inputs, int64_t total_bins) {
  if (const auto list = inputs.find("rows"); list != inputs.end())
    for (int64_t i = 0; i < list->second.spec.cols(); ++i)
      check_range("rows", 0, i, integer_at(list->second, 0, i), 0, rows_in_hand(inputs));
  if (inputs.contains("slots")) check_slots(inputs, total_bins);
  if (inputs.contains("bins")) check_columns(inputs, total_bins);
}

namespace {

// The rows of the leaf.
std::vector<int64_t> leaf_in_hand(const tensor_map& inputs) {
  const auto list = inputs.find("rows");
  std::vector<int64_t> leaf(
      static_cast<size_t>(list == inputs.end() ? rows_in_hand(inputs) : list->second.spec.cols()));
  std::iota(leaf.begin(), leaf.end(), 0);
  if (list != inputs.end())
    for (int64_t& row : leaf) row = integer_at(list->second, 0, row);
  return leaf;
}

// Every row of the leaf adds to its slots.
std::vector<histogram_update> updates_in_hand(const trial_case& c, const tensor_map& inputs) {
  const auto csr = inputs.find("slots");
  if (csr == inputs.end()) return histogram_problem(c, inputs).updates();
  const host_tensor& ends = inputs.at("row_ptr");
  std::vector<histogram_update> updates;
  for (const int64_t row : leaf_in_hand(inputs))
    for (int64_t k = integer_at(ends, 0, row); k < integer_at(ends, 0, row + 1); ++k)
      updates.push_back({integer_at(csr->second, 0, k), row});
  return updates;
}

void check_entries(const tensor_map& inputs) {
  const std::vector<fix_slots> entries = entries_of(inputs.at("entries"));
  const int64_t slots = inputs.at("before").spec.rows();
  for (size_t i = 0; i < entries.size(); ++i) {
    const fix_slots& e = entries[i];
    const auto row = static_cast<int64_t>(i);
    check_range("entries", row, 0, e.first, 0, std::max<int64_t>(1, slots - e.count + 1));
    check_range("entries", row, 1, e.count, 1, slots + 1);
    check_range("entries", row, 1, e.mfb, 0, e.count);
  }
}

void judge_integers(trial& t, const std::vector<histogram_update>& updates, const host_tensor& gh,
                    const host_tensor& hist) {
  for (int part = 0; part < 2; ++part) {
    std::vector<int64_t> x;
    for (int64_t r = 0; r < gh.spec.rows(); ++r) x.push_back(static_cast<int16_t>(gh.bits(r, part)));
    const std::vector<int64_t> sums = reference::integer_histogram(updates, x, hist.spec.rows());
    for (int64_t slot = 0; slot < hist.spec.rows(); ++slot) {
      const double actual = hist.value(slot, part), expected = static_cast<double>(sums[static_cast<size_t>(slot)]);
      t.judge("hist", slot, part, 0, actual, reference::judge_fixed(dtype::f64, actual, expected));
    }
  }
}

void judge_histogram_in_hand(trial& t) {
  const tensor_map inputs = inputs_of(t);
  const auto accum = static_cast<histogram_accum>(static_cast<int>(t.the_case().number("accum")));
  t.keep_nan_bits();
  const run_result outputs = t.run();
  const auto values = [&](const char* name) { return inputs.at(name).row(0); };
  switch (static_cast<histogram_stage>(static_cast<int>(t.the_case().number("stage")))) {
    case histogram_stage::scale: return judge_scale(t, scale_of(outputs.at("scale")), values("g"), values("h"));
    case histogram_stage::totals:
      return judge_totals(t, totals_of(outputs.at("totals")), leaf_in_hand(inputs), values("g"), values("h"), accum);
    case histogram_stage::fix:
      return judge_fix(t, inputs.at("before"), entries_of(inputs.at("entries")), inputs.at("leaf"), outputs.at("hist"));
    case histogram_stage::subtract:
      return judge_difference(t, inputs.at("parent"), inputs.at("smaller"), outputs.at("larger"));
    case histogram_stage::build:
    case histogram_stage::quantised: break;
  }
  const host_tensor& hist = outputs.at("hist");
  const std::vector<histogram_update> updates = updates_in_hand(t.the_case(), inputs);
  if (const auto gh = inputs.find("gh"); gh != inputs.end()) return judge_integers(t, updates, gh->second, hist);
  judge_sums(t, updates, values("g"), values("h"), hist, accum);
}

// The slots that the table of columns has, or those up to the largest one that a row names.
int64_t slots_of(const tensor_map& inputs) {
  int64_t total = 0;
  if (const auto slots = inputs.find("slots"); slots != inputs.end()) {
    for (int64_t i = 0; i < slots->second.spec.cols(); ++i)
      total = std::max(total, integer_at(slots->second, 0, i) + 1);
    return total;
  }
  for (const histogram_column& column : columns_of(inputs.at("cols"), 0).list)
    total = std::max(total, column.offset + column.bins - column.skipped);
  return total;
}

// The arrays determine the number of slots if no histogram is given.
void complete_histogram(trial_case& c, const tensor_map& inputs, bool has_outputs) {
  const auto stage = static_cast<histogram_stage>(static_cast<int>(c.number("stage")));
  if (stage == histogram_stage::fix) return check_entries(inputs);
  if (stage == histogram_stage::subtract) return;
  tensor_spec* const hist = c.find("hist");
  if (hist && !has_outputs) {
    hist->shape = {slots_of(inputs), 2};
    hist->ld = 2;
  }
  check_indices(inputs, hist ? hist->rows() : 0);
}

const in_hand_registration of_histogram({"histogram", "within-bound", judge_histogram_in_hand, complete_histogram});

}  // namespace

void judge_scale(trial& t, const asked_scale& scale, const std::vector<double>& g, const std::vector<double>& h) {
  const int64_t max_rows = max_rows_of(t.the_case());
  t.require(scale.max_rows == max_rows, "max_rows is {}, expected {}", scale.max_rows, max_rows);
  for (int part = 0; part < 2; ++part) {
    const std::vector<double>& x = part == 0 ? g : h;
    const int expected = reference::fixed_exponent(x, max_rows);
    const auto actual = static_cast<double>(scale.exponent[part]);
    t.judge("scale", 0, part, 0, actual, reference::judge_fixed(dtype::f64, actual, expected));
    const bool nonfinite = std::ranges::any_of(x, [](double v) { return !std::isfinite(v); });
    t.require((scale.nonfinite >> part & 1) == (nonfinite ? 1u : 0u), "nonfinite is {}, bit {} is wrong",
              scale.nonfinite, part);
  }
  t.require(scale.nonfinite < 4, "nonfinite is {}, above 3", scale.nonfinite);
}

void judge_totals(trial& t, const asked_totals& totals, const std::vector<int64_t>& rows, const std::vector<double>& g,
                  const std::vector<double>& h, histogram_accum accum) {
  t.require(totals.count == static_cast<int64_t>(rows.size()), "the totals count {} rows of {}", totals.count,
            rows.size());
  for (int part = 0; part < 2; ++part) {
    const std::vector<double>& x = part == 0 ? g : h;
    const int e = reference::fixed_exponent(x, max_rows_of(t.the_case()));
    reference::judged_sum sum;
    int64_t on_grid = 0;
    bool is_finite = true;
    for (const int64_t row : rows) {
      const double v = x[static_cast<size_t>(row)];
      sum.add(v);
      is_finite = is_finite && std::isfinite(v);
      if (is_finite) on_grid += reference::on_grid(v, e);
    }
    const double actual = totals.sum[part];
    const double of_grid = is_finite ? std::ldexp(static_cast<double>(on_grid), -e) : std::nan("");
    t.judge("totals", 0, part, 0, actual,
            accum == histogram_accum::fixed64 ? reference::judge_fixed(dtype::f64, actual, of_grid)
                                              : sum.judge_float64(actual));
  }
}

void judge_sums(trial& t, const std::vector<reference::histogram_update>& updates, const std::vector<double>& g,
                const std::vector<double>& h, const host_tensor& hist, histogram_accum accum) {
  for (int part = 0; part < 2; ++part) {
    const std::vector<double>& x = part == 0 ? g : h;
    const int e = reference::fixed_exponent(x, max_rows_of(t.the_case()));
    std::vector<reference::judged_sum> sums(static_cast<size_t>(hist.spec.rows()));
    for (const reference::histogram_update& u : updates)
      sums[static_cast<size_t>(u.slot)].add(x[static_cast<size_t>(u.row)]);
    for (int64_t slot = 0; slot < hist.spec.rows(); ++slot) {
      const reference::judged_sum& sum = sums[static_cast<size_t>(slot)];
      const double actual = hist.value(slot, part);
      t.judge("hist", slot, part, 0, actual,
              accum == histogram_accum::fixed64   ? sum.judge_fixed64(actual, e)
              : accum == histogram_accum::float32 ? sum.judge_float32(actual)
                                                  : sum.judge_float64(actual),
              [&] { return sum.expected_text(); });
    }
  }
}

}  // namespace warpcheck
