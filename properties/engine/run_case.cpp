#include "properties/engine/run_case.hpp"

#include "properties/engine/property.hpp"
#include "properties/engine/trial.hpp"

namespace warpcheck::engine {

case_report run_case(const trial_case& c) {
  const property& p = find_property(c.op, c.property);
  trial t(c);
  try {
    p.check(t);
  } catch (const trial_over&) {
    // The verdict is in the report.
  }
  return t.finish();
}

}  // namespace warpcheck::engine
