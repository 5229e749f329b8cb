#include "properties/engine/run_case.hpp"

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
  return t.finish();
}

}  // namespace

case_report run_case(const trial_case& c) { return judge_case(c, false); }

case_report run_case_with_budgets(const trial_case& c) { return judge_case(c, true); }

}  // namespace warpcheck::engine
