// best_split on trial: records that somebody has in hand.
#include <fmt/format.h>

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

// On exact sums one record is right, to the bit; of others every number of the record has to follow from its bins.
void judge_records_in_hand(trial& t) {
  const split_instance s = given_instance(t.the_case(), inputs_of(t));
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

// The tables list what a case would draw.
void complete_records(trial_case& c, const tensor_map& inputs, bool) {
  if (!c.find("hist")) throw usage_error("best_split: only splits are judged in hand, not the reduction of records");
  set_knob(c, "exact", inputs.contains("count") && c.at("count").elements() > 0 ? "1" : "0");
  set_knob(c, "masked", inputs.contains("used") && c.at("used").elements() > 0 ? "1" : "0");
}

const in_hand_registration of_records({"best_split", "split-is-maximal", judge_records_in_hand, complete_records});

}  // namespace
}  // namespace warpcheck
