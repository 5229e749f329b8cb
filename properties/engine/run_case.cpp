#include "properties/engine/run_case.hpp"

#include <algorithm>

#include "properties/engine/property.hpp"
#include "properties/engine/trial.hpp"

namespace warpcheck::engine {
namespace {

case_report judge_case(const trial_case& c, bool budgets) {
  const property& p = find_property(c.op, c.property);
  trial t(c, budgets);
  try {
    p.check(t);
  } catch (const trial_over&) {
    // The verdict is in the report.
  }
  case_report report = t.finish();
  if (!t.is_unsupported() || report.result > verdict::skipped) return report;
  // What a candidate does not offer is no reason to leave the rest of the case unjudged.
  trial_case rest = c;
  std::erase_if(rest.tensors, [&](const tensor_spec& s) {
    return std::find(p.optional_outputs.begin(), p.optional_outputs.end(), s.name) != p.optional_outputs.end();
  });
  return rest.tensors.size() < c.tensors.size() ? judge_case(rest, budgets) : report;
}

}  // namespace

case_report run_case(const trial_case& c) { return judge_case(c, false); }

case_report run_case_with_budgets(const trial_case& c) { return judge_case(c, true); }

}  // namespace warpcheck::engine
