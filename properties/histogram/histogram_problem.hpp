// Histogram problems: the meaning of a case's tensors and knobs, calls of a candidate, and generation of cases.
//
// Every change of a case is a case again, because the description completes its inputs: bins are taken modulo the width
// of their column, listed rows modulo the number of rows, and the tables `cols` and `entries` follow from the knobs
//   widths   bins of the columns, "255" or "100,50,7000,60", taken in turn
//   mfb      0 or 1 for each column in turn: 1 does not store bin 0
//   gap      slots behind each column that belong to none
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "properties/engine/cases/case_inputs.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/trials/in_hand.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/trial.hpp"
#include "reference/histogram/histogram.hpp"

namespace warpcheck {

enum class histogram_stage { build, scale, totals, quantised, fix, subtract };
enum class histogram_accum { fixed64, float32, float64 };

struct histogram_column {
  int64_t offset;  // first slot
  int64_t bins;
  int64_t skipped;  // bins that are not stored
};
struct histogram_columns {
  std::vector<histogram_column> list;
  int64_t total_bins = 0;
};
// A row for each column, or entry: first slot, and size beside what is skipped, or restored.
engine::host_tensor table_of(std::string name, const std::vector<histogram_column>& list);
// By the table `cols`.
histogram_columns columns_of(const engine::host_tensor& cols, int64_t total_bins);

// The data behind a case; a check may change any of it and ask again.
struct histogram_problem {
  explicit histogram_problem(const engine::trial_case& c) : histogram_problem(c, engine::inputs_of(c)) {}
  explicit histogram_problem(engine::trial& t) : histogram_problem(t.the_case(), engine::inputs_of(t)) {}
  // The problem of a case whose inputs have these values.
  histogram_problem(const engine::trial_case& c, const engine::tensor_map& inputs);

  histogram_columns columns;
  engine::host_tensor bins;                 // as the candidate gets them
  std::optional<engine::host_tensor> list;  // of rows; none: all
  std::optional<engine::host_tensor> g, h;  // or
  std::optional<engine::host_tensor> gh;    // the bits of int16, for quantised
  engine::tensor_spec hist;

  int64_t num_rows() const { return bins.spec.rows(); }
  int64_t num_cols() const { return bins.spec.cols(); }
  int64_t bin(int64_t row, int64_t col) const { return static_cast<int64_t>(bins.bits(row, col)); }
  std::vector<int64_t> leaf() const;  // the rows that count, in order
  void set_leaf(const std::vector<int64_t>& rows);
  // Widths, offsets and types changed: the output follows.
  void set_columns(histogram_columns changed);

  std::vector<reference::histogram_update> updates() const;
  std::vector<int64_t> quantised(int part) const;  // of each row: 0 g, 1 h
};

struct histogram_call {
  histogram_accum accum = histogram_accum::fixed64;
  std::string variant = {};        // empty: that of the case
  bool sparse = false;             // as CSR
  bool without_first_bin = false;  // CSR leaves bin 0 of every column out
  bool exact = false;              // float modes: sums are exact, so all launches must agree
};
// True if the candidate offers such a call and the leaf's totals.
bool is_offered(const engine::trial& t, const histogram_call& call);
bool is_total_offered(const engine::trial& t);
// The histogram of the problem, [total_bins, 2]; of stage quantised where it has gh.
engine::host_tensor ask(engine::trial& t, const histogram_problem& p, const histogram_call& call = {});

struct asked_totals {
  double sum[2];
  int64_t count;
};
asked_totals ask_totals(engine::trial& t, const histogram_problem& p, histogram_accum accum = histogram_accum::fixed64);
struct asked_scale {
  int64_t exponent[2];
  int64_t max_rows;
  uint64_t nonfinite;
};
asked_scale ask_scale(engine::trial& t, const histogram_problem& p);
// The outputs of both stages, decoded.
asked_totals totals_of(const engine::host_tensor& output);
asked_scale scale_of(const engine::host_tensor& output);
// Requires the totals of these rows of g and h.
void judge_totals(engine::trial& t, const asked_totals& totals, const std::vector<int64_t>& rows,
                  const std::vector<double>& g, const std::vector<double>& h, histogram_accum accum);
// Requires the scale of the values g and h.
void judge_scale(engine::trial& t, const asked_scale& scale, const std::vector<double>& g,
                 const std::vector<double>& h);
engine::host_tensor ask_subtract(engine::trial& t, const engine::host_tensor& parent,
                                 const engine::host_tensor& smaller, bool in_place = false);
struct fix_slots {
  int64_t first, count, mfb;  // mfb relative to first
};
engine::host_tensor ask_fix(engine::trial& t, const engine::host_tensor& before, const std::vector<fix_slots>& entries,
                            const engine::host_tensor& leaf, bool in_place = true);
// Requires the restored slots to have the exact difference within its bound, and all others to be as before.
void judge_fix(engine::trial& t, const engine::host_tensor& before, const std::vector<fix_slots>& entries,
               const engine::host_tensor& leaf, const engine::host_tensor& hist);
void judge_difference(engine::trial& t, const engine::host_tensor& parent, const engine::host_tensor& smaller,
                      const engine::host_tensor& larger);
// {g, h} as an input of ask_fix.
engine::host_tensor leaf_tensor(dtype type, double g, double h);

int64_t max_rows_of(const engine::trial_case& c);
// The reference's fixed64 or quantised histogram: values[part][slot].
struct histogram_values {
  std::vector<double> part[2];
};
histogram_values expected_values(const engine::trial_case& c, const histogram_problem& p);
void judge_values(engine::trial& t, const engine::host_tensor& hist, const histogram_values& expected);
// Asks and judges in one.
engine::host_tensor ask_judged(engine::trial& t, const histogram_problem& p, const histogram_call& call = {});
// Float modes against their bounds, fixed64 against the exact sums.
void judge_bound(engine::trial& t, const histogram_problem& p, const engine::host_tensor& hist, histogram_accum accum);
// The same of any updates by the rows' values g and h.
void judge_sums(engine::trial& t, const std::vector<reference::histogram_update>& updates, const std::vector<double>& g,
                const std::vector<double>& h, const engine::host_tensor& hist, histogram_accum accum);
void require_same(engine::trial& t, const engine::host_tensor& a, const engine::host_tensor& b,
                  const std::string& what);

// ---- cases ----

engine::bench_list histogram_bench_list();
// Throws usage_error if indices break the contract: a kernel would write beside its histogram.
void check_indices(const engine::tensor_map& inputs, int64_t total_bins);
// By the table `entries`.
std::vector<fix_slots> entries_of(const engine::host_tensor& entries);
// True if a case of stage fix has entries.
bool has_entries(const engine::trial_case& c);

enum class gradients { any, finite, dyadic };
engine::trial_case histogram_case(const engine::target& t, engine::draw& d, gradients kind);
engine::trial_case quantised_case(const engine::target& t, engine::draw& d);
// The same with bins [rows, cols] given; fills are drawn.
engine::trial_case histogram_of(const engine::target& t, engine::draw& d, int64_t rows, int64_t cols, gradients kind);

}  // namespace warpcheck
