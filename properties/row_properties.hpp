// What the properties of the row operators have in common: an operator describes itself once (row_operator), and the
// generators and checks below serve it. Its own file holds its table of properties and what only it can check.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "properties/engine/property.hpp"
#include "properties/engine/trial.hpp"
#include "properties/row_generators.hpp"

namespace warpcheck {

// x is the one input; outputs follow it.
struct row_operator {
  std::string name;
  std::vector<dtype> types;

  // What a case asks for besides its rows (an optional output, an operation), drawn before them: `percent` of the cases
  // ask for what is optional. 0 where there is nothing to choose.
  std::function<int(engine::draw&, int percent)> draw_extra = [](engine::draw&, int) { return 0; };
  std::function<engine::trial_case(const engine::target&, int64_t rows, int64_t cols, engine::recipe fill, int extra)>
      make_case;
  // Judges every output of a row.
  std::function<void(engine::trial&, const engine::run_result&, int64_t row)> judge_row;

  std::function<engine::recipe(engine::draw&, const engine::target&, int64_t cols)> draw_fill = draw_row_fill;
  // Rows lie one after another without gaps.
  bool dense = false;
  // Rows of one element have an answer that can be guessed: they are drawn but seldom.
  bool seldom_one_column = false;
  // Rows far apart go through every variant by force, in turn; else through what the dispatch picks.
  bool every_variant_far = true;
  // A row of which one element decides the result, and whose other elements show when they are taken for it.
  double spike_peak = 0, spike_rest = -200;
  // More rows than the grid of one multiprocessor carries, for rows of a few columns, when this variant is forced.
  std::function<int64_t(const engine::target::variant&)> rows_beyond_grid = [](const engine::target::variant& v) {
    return v.max_extent >= 0 && v.max_extent <= 4096 ? 16500 : 2100;  // those for short rows take several a block
  };
};

// Of the operators on kernels/primitives/row_fold.hpp: those by lanes take up to 512 rows a block.
inline int64_t rows_beyond_fold_grid(const engine::target::variant& v) {
  return v.max_extent >= 0 ? 2048 * 512 + 300 : 2100;
}

// ---- cases ----

// Outputs follow x after its shape changed: matrices take its shape, and its type unless they hold indices; vectors
// have an element per row.
inline bool repair_row_outputs(engine::trial_case& c) {
  const engine::tensor_spec* x = c.find("x");
  if (!x) return false;
  bool has_output = false;
  for (engine::tensor_spec& t : c.tensors) {
    if (t.is_input) continue;
    has_output = true;
    if (t.shape.size() == x->shape.size()) {
      t.shape = x->shape;
      if (is_float(t.type) || !is_float(x->type)) t.type = x->type;
      if (!t.in_place.empty()) {
        t.ld = x->ld;
        t.offset = x->offset;
      }
      t.ld = t.shape.size() == 2 ? std::max(t.ld, x->cols()) : x->cols();
    } else {
      t.shape = {x->rows()};
      t.ld = x->rows();
    }
  }
  return has_output;
}
bool repair_needs_two_rows(engine::trial_case& c);
// Takes the gaps between rows away.
void close_gaps(engine::trial_case& c);
bool repair_dense_rows(engine::trial_case& c);
bool repair_needs_two_dense_rows(engine::trial_case& c);

using row_generator = engine::trial_case (*)(const row_operator&, const engine::target&, engine::draw&);

// Every variant, by dispatch or by force, any layout.
engine::trial_case any_rows(const row_operator&, const engine::target&, engine::draw&);
// A few thousand columns at most: for properties that launch often.
engine::trial_case small_rows(const row_operator&, const engine::target&, engine::draw&);
// Equal elements, alone or beside -Inf.
engine::trial_case tied_rows(const row_operator&, const engine::target&, engine::draw&);
// Multiples of 1/8 and a knob `shift` that every one of them takes exactly.
engine::trial_case dyadic_rows(const row_operator&, const engine::target&, engine::draw&);
// The spike at every position of short rows; beyond, at steps that visit lanes, warps and tiles evenly, and at the
// ends.
engine::trial_case spike_rows(const row_operator&, const engine::target&, engine::draw&);
// Slices of -Inf, or all but slices.
engine::trial_case masked_rows(const row_operator&, const engine::target&, engine::draw&);
engine::trial_case special_rows(const row_operator&, const engine::target&, engine::draw&);
// Equal largest elements, or NaN, at (i, j) with i < j where j may belong to a lower thread, e.g. (1, 256) for 256.
engine::trial_case tied_maxima(const row_operator&, const engine::target&, engine::draw&);
engine::trial_case two_or_more_rows(const row_operator&, const engine::target&, engine::draw&);
// Sixteen combinations of input and output offset, with leading dimensions.
engine::trial_case phase_rows(const row_operator&, const engine::target&, engine::draw&);
// Row lengths where the dispatch changes, and their neighbours.
engine::trial_case seam_rows(const row_operator&, const engine::target&, engine::draw&);
// More rows than a grid carries.
engine::trial_case many_rows(const row_operator&, const engine::target&, engine::draw&);
// The same, with every variant in a few cases.
engine::trial_case many_rows_of_each(const row_operator&, const engine::target&, engine::draw&);
// Rows that lie more than 2^31 elements apart, in sparse memory whose gaps nobody touches.
engine::trial_case far_rows(const row_operator&, const engine::target&, engine::draw&);
// A spike at an odd index beyond 2^24.
engine::trial_case wide_row(const row_operator&, const engine::target&, engine::draw&);
engine::trial_case repeated_rows(const row_operator&, const engine::target&, engine::draw&);
// 0 beside e^-16.64, just below 2^-24: added one by one to 1 in f32, every term is lost.
engine::trial_case stagnation_rows(const row_operator&, const engine::target&, engine::draw&);
// Under the detector and random schedules.
engine::trial_case hazard_rows(const row_operator&, const engine::target&, engine::draw&);
engine::trial_case empty_rows(const row_operator&, const engine::target&, engine::draw&);
// At least two rows and columns, everything optional asked for.
engine::trial_case refused_rows(const row_operator&, const engine::target&, engine::draw&);

// ---- checks ----

using row_check = std::function<void(const row_operator&, engine::trial&)>;

void judge_rows(const row_operator&, engine::trial&, const engine::run_result&);
void check_values(const row_operator&, engine::trial&);
// Changes the first, the middle and the last row to what must not reach the others.
void check_row_isolation(const row_operator&, engine::trial&);
void check_in_place(const row_operator&, engine::trial&);
// Every variant that accepts the row length.
void check_seam(const row_operator&, engine::trial&);
// Adding the knob `shift` changes no bit of any output.
void check_exact_shift(const row_operator&, engine::trial&);
// The index alone, where values have their bound in other properties.
void check_wide_index(const row_operator&, engine::trial&);

// Runs another operator of the same candidate on the same x; skips the case where the candidate does not offer it. The
// outputs are as given; `property` is any of the other operator's with the knobs that the case needs.
engine::run_result run_other(engine::trial&, const std::string& op, const std::string& property,
                             std::vector<engine::tensor_spec> outputs,
                             const std::map<std::string, std::string>& knobs = {});
// The ways to break the contract that every row operator has, with x as tensor 0 and its outputs behind it; the last
// `optional` of them may be null. Skips the case unless it has two rows and columns.
void refuse_common(engine::trial&, size_t optional = 0);

// Input x plus the knob `shift`; skips the case where a sum is not exact.
engine::host_tensor shifted_input(engine::trial&);
// Column i goes to image(i).
struct permutation {
  int64_t n, step;
  explicit permutation(int64_t cols);
  int64_t image(int64_t i) const { return (i * step + n / 2) % n; }
  engine::host_tensor operator()(const engine::host_tensor& x) const;
};
// Requires that equal elements of a row (-0 and +0 are equal) gave equal bits of y; what it saw of ties on the way.
struct row_ties {
  double largest;
  int64_t maxima, masked;  // elements equal to the largest; -Inf
};
row_ties require_equal_bits(engine::trial&, const engine::host_tensor& y, int64_t row);
// Skips the case unless every row is one peak among `rest`.
void require_spikes(const row_operator&, engine::trial&);
// Skips the case unless x has no elements.
void require_empty(engine::trial&);
bool all_finite(const std::vector<double>& row);
// Whether e^(x - max) of a finite element lies below the normal range of f32, so that it has few digits itself.
bool has_subnormal_terms(const std::vector<double>& row);

// A knob of the property's own, with its default.
inline double knob_or(const engine::trial_case& c, const std::string& name, double fallback) {
  return c.knobs.count(name) ? c.number(name) : fallback;
}

// Judges the elements of an output of x's shape by a model of the row.
template <class Model>
void judge_elements(engine::trial& t, const engine::host_tensor& y, const Model& model, int64_t row) {
  const engine::host_tensor& x = t.input("x");
  for (int64_t i = 0; i < x.spec.cols(); ++i) {
    const double actual = y.value(row, i);
    t.judge("y", row, i, x.value(row, i), actual, model.judge(i, actual), [&] { return model.expected_text(i); });
  }
}

// An index output, if the case asks for it.
void judge_index(engine::trial& t, const engine::run_result& r, int64_t row, int64_t expected);

// Permuting a row permutes outputs of its shape within the two bounds.
template <class Model>
void check_element_permutation(const row_operator& op, engine::trial& t) {
  const engine::host_tensor& x = t.input("x");
  const permutation p(x.spec.cols());
  const engine::run_result before = t.run();
  judge_rows(op, t, before);
  const engine::run_result after = t.run(t.the_case(), {{"x", p(x)}});
  const engine::host_tensor &y = before.at("y"), &z = after.at("y");
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    const std::vector<double> values = x.row(row);
    if (!all_finite(values)) continue;
    const Model model(values, y.spec.type);
    for (int64_t i = 0; i < x.spec.cols(); ++i) {
      const double a = y.value(row, i), b = z.value(row, p.image(i)), allowed = 2 * model.bound(i);
      t.require(
          a == b || std::fabs(a - b) <= allowed,
          fmt::format("y[{},{}] = {:.9g} becomes {:.9g} when the row is permuted; a difference of {:.3g} is allowed",
                      row, i, a, b, allowed));
    }
  }
}

// ---- registration ----

// A table of properties in the making.
class row_properties {
 public:
  explicit row_properties(row_operator op) : op_(std::move(op)) {}
  engine::property& add(std::string name, std::string sentence, row_generator generate, row_check check);
  // Besides, a user's rows (`--input`) as they are, with everything optional.
  engine::property& add_for_input(std::string name, std::string sentence, row_generator generate, row_check check);
  // A property that row operators have in common, by its name, which must be one of the table in row_properties.cpp;
  // with other cases or another check, where they are given.
  engine::property& add_common(std::string_view name, row_generator generate = nullptr, row_check check = nullptr);
  std::vector<engine::property> take() { return std::move(list_); }

 private:
  row_operator op_;
  std::vector<engine::property> list_;
};

}  // namespace warpcheck
