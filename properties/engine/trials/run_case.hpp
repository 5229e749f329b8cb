// Runs one case in this process, start to verdict.
#pragma once

#include "properties/engine/cases/case.hpp"
#include "properties/engine/cases/offer.hpp"
#include "properties/engine/trials/verdict.hpp"

namespace warpcheck::engine {

// Throws usage_error or environment_error if the case cannot run at all; every behaviour of the candidate is a verdict.
case_report run_case(const trial_case& c);
// The same, and the report keeps the histogram of error ratios.
case_report run_case_with_ratios(const trial_case& c);
// The same, as if the candidate had made these statements.
case_report run_case_stating(const trial_case& c, const offer& stated);

}  // namespace warpcheck::engine
