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

// Every row of the leaf adds to its slots.
std::vector<histogram_update> updates_in_hand(trial& t, const tensor_map& inputs, int64_t total_bins) {
  const auto list = inputs.find("rows");
  const int64_t rows = rows_in_hand(inputs), count = list == inputs.end() ? rows : list->second.spec.cols();
  std::vector<histogram_update> updates;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = list == inputs.end() ? i : integer_at(list->second, 0, i);
    t.require(row >= 0 && row < rows, "rows[{}] is {}, and there are {} rows", i, row, rows);
    for (const int64_t slot : slots_in_hand(inputs, row)) {
      t.require(slot >= 0 && slot < total_bins, "row {}: its slot is {}, and there are {} slots", row, slot,
                total_bins);
      updates.push_back({slot, row});
    }
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
  const std::vector<histogram_update> updates = updates_in_hand(t, inputs, hist.spec.rows());
  if (const auto gh = inputs.find("gh"); gh != inputs.end()) return judge_integers(t, updates, gh->second, hist);
  judge_sums(t, updates, inputs.at("g").row(0), inputs.at("h").row(0), hist,
             static_cast<histogram_accum>(static_cast<int>(t.the_case().number("accum"))));
}

// The table of columns says how many slots there are, where nobody gave a histogram.
void complete_histogram(trial_case& c, const tensor_map& inputs, bool has_outputs) {
  tensor_spec* const hist = c.find("hist");
  if (!hist || (!c.find("bins") && !c.find("slots")))
    throw usage_error("histogram: of its stages only the histogram is judged in hand, of bins or of slots");
  set_knob(c, "stage", c.find("gh") ? "3" : "0");
  if (has_outputs) return;
  const auto cols = inputs.find("cols");
  if (cols == inputs.end()) throw usage_error("hist: of slots as CSR it must be given, since nothing says its size");
  int64_t total = 0;
  for (int64_t i = 0; i < cols->second.spec.rows(); ++i) {
    const histogram_column column = column_in_hand(cols->second, i);
    total = std::max(total, column.offset + column.bins - column.skipped);
  }
  hist->shape = {total, 2};
  hist->ld = 2;
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
