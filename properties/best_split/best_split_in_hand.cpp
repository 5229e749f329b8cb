// best_split on trial: records that somebody has in hand.
#include <fmt/format.h>

#include <algorithm>

#include "properties/best_split/best_split_call.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/trials/in_hand.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::split_result;

// The numbers of a record in the order of the tensor `value`.
std::vector<double> record_numbers(const split_result& r) {
  return {r.gain, r.left.g, r.left.h, r.left.gain, r.left.value, r.right.g, r.right.h, r.right.gain, r.right.value};
}

// The number of records of each leaf of a reduction.
int64_t records_of_each_leaf(const trial_case& c) { return static_cast<int64_t>(c.number("per_leaf")); }

// On exact sums one record is right, to the bit; of others every number of the record has to follow from its bins.
void judge_records_in_hand(trial& t) {
  const tensor_map inputs = inputs_of(t);
  if (inputs.contains("in_value")) {
    t.keep_nan_bits();
    return judge_best_records(t, inputs, records_of_each_leaf(t.the_case()), t.run());
  }
  const split_instance s = instance_of(t.the_case(), inputs);
  const run_result r = t.run();
  const bool is_exact = has_exact_sums(s);
  for (size_t l = 0; is_exact && l < s.leaves.size(); ++l) {
    const std::vector<double> expected = record_numbers(reference::best_split(s.problem(l)));
    const auto leaf = static_cast<int64_t>(l);
    for (int64_t k = 0; k < static_cast<int64_t>(expected.size()); ++k) {
      const double actual = r.at("value").value(leaf, k);
      t.judge("value", leaf, k, 0, actual,
              reference::judge_fixed(dtype::f64, actual, expected[static_cast<size_t>(k)]));
    }
  }
  for (size_t l = 0; l < s.leaves.size(); ++l) {
    const split_result record = record_of(t, r, static_cast<int64_t>(l));
    judge_record(t, s, l, record);
  }
}

void check_field(const char* tensor, size_t row, int field, int64_t value, int64_t least, int64_t most) {
  if (value < least || value > most)
    throw usage_error(fmt::format("{}[{},{}] is {}, must be from {} to {}", tensor, row, field, value, least, most));
}

}  // namespace

void check_tables(const split_instance& s) {
  const auto slots = static_cast<int64_t>(s.slots.size() / 2);
  int64_t needed = 0;
  for (size_t i = 0; i < s.features.size(); ++i) {
    const reference::split_feature& f = s.features[i];
    check_field("feature", i, 1, f.num_bin, 1, 65536);
    check_field("feature", i, 2, f.default_bin, 0, f.num_bin - 1);
    check_field("feature", i, 4, f.mfb_offset, 0, 1);
    check_field("feature", i, 5, static_cast<int64_t>(f.missing), 0, 2);
    check_field("feature", i, 3, f.hist_offset, 0, slots - f.num_bin + f.mfb_offset);
    needed = std::max(needed, f.hist_offset + f.num_bin - f.mfb_offset);
  }
  for (size_t l = 0; l < s.leaves.size(); ++l) check_field("leaf", l, 0, s.leaves[l].hist_base, 0, slots - needed);
}

namespace {

// The records determine the number of leaves.
void complete_reduction(trial_case& c, const tensor_map& inputs, bool has_outputs) {
  const host_tensor &value = inputs.at("in_value"), &field = inputs.at("in_field"), &cat = inputs.at("in_cat");
  const int64_t records = value.spec.rows(), per_leaf = records_of_each_leaf(c);
  if (per_leaf < 1 || records % per_leaf != 0)
    throw usage_error(fmt::format("per_leaf: it is {}, must be a divisor of the {} records", per_leaf, records));
  for (int64_t i = 0; i < field.spec.rows(); ++i)
    check_field("in_field", static_cast<size_t>(i), 3, static_cast<int64_t>(field.bits(i, 3)), 0, cat.spec.cols());
  set_knob(c, "max_cat", fmt::format("{}", cat.spec.cols()));
  for (const char* output : {"value", "field", "cat"})
    if (tensor_spec* const out = c.find(output); out && !has_outputs) {
      out->shape = {records / per_leaf, inputs.at(fmt::format("in_{}", output)).spec.cols()};
      out->ld = out->cols();
    }
}

// The tables list what a case would draw.
void complete_records(trial_case& c, const tensor_map& inputs, bool has_outputs) {
  if (!c.find("hist")) return complete_reduction(c, inputs, has_outputs);
  set_knob(c, "exact", inputs.contains("count") && c.at("count").elements() > 0 ? "1" : "0");
  set_knob(c, "masked", inputs.contains("used") && c.at("used").elements() > 0 ? "1" : "0");
  tensor_map all = inputs;
  for (const tensor_spec& t : c.tensors)
    if (t.is_input && !all.contains(t.name)) all.emplace(t.name, host_tensor(t));
  check_tables(instance_of(c, all));
}

const in_hand_registration of_records({"best_split", "split-is-maximal", judge_records_in_hand, complete_records});

}  // namespace
}  // namespace warpcheck
