// histogram on trial: a histogram that somebody has in hand, of bins dense or as CSR.
#include <fmt/format.h>

#include <algorithm>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/trials/in_hand.hpp"
#include "properties/histogram/histogram_problem.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::histogram_update;

int64_t integer_at(const host_tensor& x, int64_t row, int64_t col) { return static_cast<int64_t>(x.bits(row, col)); }

// A row of the table `cols`.
histogram_column column_in_hand(const host_tensor& cols, int64_t i) {
  const int64_t packed = integer_at(cols, i, 1);
  return {integer_at(cols, i, 0), packed & 0xffffffff, packed >> 32};
}

// The slots that one row of the data adds to.
std::vector<int64_t> slots_in_hand(const tensor_map& inputs, int64_t row) {
  std::vector<int64_t> slots;
  if (const auto csr = inputs.find("slots"); csr != inputs.end()) {
    const host_tensor& ends = inputs.at("row_ptr");
    for (int64_t i = integer_at(ends, 0, row); i < integer_at(ends, 0, row + 1); ++i)
      slots.push_back(integer_at(csr->second, 0, i));
    return slots;
  }
  const host_tensor &bins = inputs.at("bins"), &cols = inputs.at("cols");
  for (int64_t i = 0; i < bins.spec.cols(); ++i) {
    const histogram_column column = column_in_hand(cols, i);
    if (const int64_t bin = integer_at(bins, row, i); bin >= column.skipped)
      slots.push_back(column.offset + bin - column.skipped);
  }
  return slots;
}

int64_t rows_in_hand(const tensor_map& inputs) {
  const auto bins = inputs.find("bins");
  return bins != inputs.end() ? bins->second.spec.rows() : std::max<int64_t>(1, inputs.at("row_ptr").spec.cols()) - 1;
}

// Refuses values that break the contract: a kernel would write beside its histogram.
void check_range(const char* tensor, int64_t row, int64_t col, int64_t value, int64_t least, int64_t end) {
  if (value < least || value >= end)
    throw usage_error(fmt::format("{}[{},{}] is {}, must be from {} to {}", tensor, row, col, value, least, end - 1));
}

void check_columns(const tensor_map& inputs, int64_t total_bins) {
  const host_tensor &bins = inputs.at("bins"), &cols = inputs.at("cols");
  for (int64_t i = 0; i < std::min(cols.spec.rows(), bins.spec.cols()); ++i) {
    const histogram_column column = column_in_hand(cols, i);
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

void check_indices(const tensor_map& inputs, int64_t total_bins) {
  if (const auto list = inputs.find("rows"); list != inputs.end())
    for (int64_t i = 0; i < list->second.spec.cols(); ++i)
      check_range("rows", 0, i, integer_at(list->second, 0, i), 0, rows_in_hand(inputs));
  inputs.contains("slots") ? check_slots(inputs, total_bins) : check_columns(inputs, total_bins);
}

// Every row of the leaf adds to its slots.
std::vector<histogram_update> updates_in_hand(const tensor_map& inputs) {
  const auto list = inputs.find("rows");
  const int64_t count = list == inputs.end() ? rows_in_hand(inputs) : list->second.spec.cols();
  std::vector<histogram_update> updates;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = list == inputs.end() ? i : integer_at(list->second, 0, i);
    for (const int64_t slot : slots_in_hand(inputs, row)) updates.push_back({slot, row});
  }
  return updates;
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
  const host_tensor hist = t.run().at("hist");
  const std::vector<histogram_update> updates = updates_in_hand(inputs);
  if (const auto gh = inputs.find("gh"); gh != inputs.end()) return judge_integers(t, updates, gh->second, hist);
  judge_sums(t, updates, inputs.at("g").row(0), inputs.at("h").row(0), hist,
             static_cast<histogram_accum>(static_cast<int>(t.the_case().number("accum"))));
}

// The slots that the table of columns has, or those up to the largest one that a row names.
int64_t slots_of(const tensor_map& inputs) {
  int64_t total = 0;
  if (const auto slots = inputs.find("slots"); slots != inputs.end()) {
    for (int64_t i = 0; i < slots->second.spec.cols(); ++i)
      total = std::max(total, integer_at(slots->second, 0, i) + 1);
    return total;
  }
  const host_tensor& cols = inputs.at("cols");
  for (int64_t i = 0; i < cols.spec.rows(); ++i) {
    const histogram_column column = column_in_hand(cols, i);
    total = std::max(total, column.offset + column.bins - column.skipped);
  }
  return total;
}

// The arrays determine the number of slots if no histogram is given.
void complete_histogram(trial_case& c, const tensor_map& inputs, bool has_outputs) {
  tensor_spec* const hist = c.find("hist");
  if (!hist || (!c.find("bins") && !c.find("slots")))
    throw usage_error("histogram: of its stages only the histogram is judged in hand, of bins or of slots");
  set_knob(c, "stage", c.find("gh") ? "3" : "0");
  if (!has_outputs) {
    hist->shape = {slots_of(inputs), 2};
    hist->ld = 2;
  }
  check_indices(inputs, hist->rows());
}

const in_hand_registration of_histogram({"histogram", "within-bound", judge_histogram_in_hand, complete_histogram});

}  // namespace

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
