// From a failing case to the smallest one that fails alike, and everything else that is done about a failure.
//
// Shrinking works on the case, not on data: fewer rows, fewer columns, simpler values, fewer edits, the default layout,
// the default launch. What is simpler is a total order (`simpler_than`), so every chain of steps ends.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "properties/engine/cases/case.hpp"
#include "properties/engine/trials/verdict.hpp"

namespace rc {
template <typename T>
class Gen;
}

namespace warpcheck::engine {

// Compares elements, then extents, distributions, number of edits, arguments of distributions, edits, layout, knobs.
bool simpler_than(const trial_case& a, const trial_case& b);

// Cases that are one step simpler, the most promising first; some may be no case of the property. When an extent of the
// operator's description changes, every tensor that mentions it does; edits beyond move to the last row or column,
// where there is room.
std::vector<trial_case> simpler(const trial_case& c);

// `cases` whose values shrink by simpler(); those that do not hold are left out. For RapidCheck's own driver.
rc::Gen<trial_case> with_shrinking(rc::Gen<trial_case> cases, std::function<bool(const trial_case&)> holds);

// Enough for parse_case to know every knob of a case made from `c`.
std::vector<knob_info> knobs_of(const trial_case& c);

struct shrunk {
  case_report report;  // of the smallest case; `report.neighbour` as below
  trial_case smallest;
  int runs = 0;           // calls of `run`
  std::string neighbour;  // "fails at cols=33, passes at 32"; empty if no nearest case passes
};

struct search_limits {
  int max_runs = 200;                               // calls of `run`
  std::function<bool()> enough = {};                // true: `run` is not called again
  std::function<void(const shrunk&)> smaller = {};  // is given every smaller case, as soon as it is found
};

// Looks for a smaller case with the same verdict as `failing`, which is the report of `c`. `holds` says whether a
// changed case is still one (property.holds; empty: every one that the description allows). Only cases that the
// operator's description allows, that the candidate offers, that hold, and whose lines read back are run.
shrunk shrink(const case_report& failing, const trial_case& c, const std::function<case_report(const trial_case&)>& run,
              const std::function<bool(const trial_case&)>& holds, const search_limits& limits = {});

struct confirm_options {
  std::function<case_report(const trial_case&)> run;
  std::function<bool(const trial_case&)> holds;
  double timeout_seconds = 60;  // of one case
  int max_runs = 200;           // runs for shrinking
  double shrink_seconds = 300;  // for everything together: a run that is not over by then is killed
  std::function<bool()> stop;   // true: the user has interrupted, and what is known by then is the result
};

// What is done about a failure, all of it in processes of its own: three fresh ones (one for a timeout) tell whether it
// is flaky; if it is not, it is shrunk, and the smallest case runs once more with the emulated device's detector
// (detect=only), whose findings join the report. The message says what came of it; `line` is the case to replay. What a
// case throws on the way is that case's verdict.
case_report confirm_and_shrink(const case_report& failing, const trial_case& c, const confirm_options& options);

}  // namespace warpcheck::engine
