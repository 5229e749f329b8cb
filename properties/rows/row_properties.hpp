// Checks shared by the row operators, for the cases of row_generators.hpp. The operator's own file has its table of
// properties and its own checks.
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

#include "properties/engine/cases/refusals.hpp"
#include "properties/engine/trials/property_list.hpp"
#include "properties/engine/trials/trial.hpp"
#include "properties/rows/bench_rows.hpp"
#include "properties/rows/row_generators.hpp"

namespace warpcheck {

using row_check = std::function<void(const row_operator&, engine::trial&)>;

void judge_rows(const row_operator&, engine::trial&, const engine::run_result&);
void check_values(const row_operator&, engine::trial&);
// Changes the first, the middle and the last row to values that must not reach the others.
void check_row_isolation(const row_operator&, engine::trial&);
void check_in_place(const row_operator&, engine::trial&);
// Every variant that accepts the row length, of which one is published as the pick.
void check_dispatch_boundary(const row_operator&, engine::trial&);
// Adding the knob `shift` changes no bit of any output.
void check_exact_shift(const row_operator&, engine::trial&);
// Checks that results have the same bits on the emulated device as on this one, or, if this is the emulated device,
// with another number of multiprocessors.
void check_device_agreement(const row_operator&, engine::trial&);

// Runs another operator of the same candidate on the same x; skips the case where the candidate does not offer it. The
// outputs are as given; `property` is any of the other operator's with the knobs that the case needs.
engine::run_result run_other(engine::trial&, const std::string& op, const std::string& property,
                             std::vector<engine::tensor_spec> outputs,
                             const std::map<std::string, std::string>& knobs = {});
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
// Judges the rows of a case without elements.
void check_empty_rows(const row_operator&, engine::trial&);
// Checks calls that break the contract of any operator; or, if the knob `code` is none of 0, 1, ..., codes - 1, the
// call itself.
void check_code_refusals(engine::trial&, const std::string& code, int codes);
bool all_finite(const std::vector<double>& row);
// True if e^(x - max) of a finite element lies below the normal range of f32, so that it has few digits itself.
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
  const engine::host_tensor permuted = p(x);
  const engine::run_result after = t.run(t.the_case(), {{"x", permuted}});
  const engine::host_tensor &y = before.at("y"), &z = after.at("y");
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    const std::vector<double> values = x.row(row);
    if (!all_finite(values)) continue;
    const Model model(values, y.spec.type);
    for (int64_t i = 0; i < x.spec.cols(); ++i) {
      const double a = y.value(row, i), b = z.value(row, p.image(i)), allowed = 2 * model.bound(i);
      t.require(a == b || std::fabs(a - b) <= allowed,
                "y[{},{}] = {:.9g} becomes {:.9g} when the row is permuted; a difference of {:.3g} is allowed", row, i,
                a, b, allowed);
    }
    if (!t.the_case().find("index")) continue;
    const auto i = static_cast<int64_t>(before.at("index").bits(0, row));
    const auto j = static_cast<int64_t>(after.at("index").bits(0, row));
    t.require(j >= 0 && j < x.spec.cols() && permuted.value(row, j) == x.value(row, i),
              "index[{}] is {}, and {} when the row is permuted, which is no largest element there", row, i, j);
  }
}

class row_properties : public engine::property_list {
 public:
  explicit row_properties(row_operator op)
      : property_list(op.described.op, engine::types_of(op.described.forms.front().tensors.front())),
        op_(std::move(op)) {
    for (engine::extent_info& e : op_.described.extents) e.is_single = e.name == "rows";
    engine::describe_operator(op_.described);
  }
  engine::property& add(std::string name, std::string sentence, row_generator generate, row_check check);
  // Besides, a user's rows (`--input`) as they are, with everything optional.
  engine::property& add_for_input(std::string name, std::string sentence, row_generator generate, row_check check);
  // A property that row operators have in common, by its name, which must be one of the table in row_properties.cpp;
  // with other cases or another check, where they are given.
  engine::property& add_common(std::string_view name, row_generator generate = nullptr, row_check check = nullptr);
  // Property reused-storage (properties/engine/trials/reused_storage.hpp).
  void add_reused_storage(row_generator generate = small_rows);
  // Property batch-invariance (properties/engine/trials/checks.hpp), of rows or, of a vector, of elements.
  void add_batch_invariance();

 private:
  generator without_gaps(row_generator generate) const;

  row_operator op_;
};

}  // namespace warpcheck
