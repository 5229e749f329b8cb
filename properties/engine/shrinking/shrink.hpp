// Shrinks a failing case to the smallest one with the same verdict, and confirms failures.
//
// Shrinking works on the case, not on data: fewer rows, fewer columns, simpler values, fewer edits, the default layout,
// the default launch. `simpler_than` is a total order, so every chain of steps ends.
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

// Returns cases that are one step simpler, the most promising first; some may be no case of the property. If an extent
// of the description changes, every tensor with this extent changes. Edits beyond it move to the last row or column, if
// there is room.
std::vector<trial_case> simpler(const trial_case& c);

// `cases` whose values shrink by simpler(); those that do not hold are left out. For RapidCheck's own driver.
rc::Gen<trial_case> with_shrinking(rc::Gen<trial_case> cases, std::function<bool(const trial_case&)> holds);

// Returns enough knobs for parse_case to know every knob of a case made from `c`.
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
  std::function<void(const shrunk&)> smaller = {};  // called with every smaller case, as soon as it is found
};

// Looks for a smaller case with the same verdict as `failing`, which is the report of `c`. `holds` returns true if a
// changed case still belongs to the property (property.holds; empty: every case that the description allows). Only
// cases that the operator's description allows, that the candidate offers, that hold, and whose lines read back are
// run.
shrunk shrink(const case_report& failing, const trial_case& c, const std::function<case_report(const trial_case&)>& run,
              const std::function<bool(const trial_case&)>& holds, const search_limits& limits = {});

struct confirm_options {
  std::function<case_report(const trial_case&)> run;
  std::function<bool(const trial_case&)> holds;
  double timeout_seconds = 60;  // of one case
  int max_runs = 200;           // runs for shrinking
  double shrink_seconds = 300;  // for everything together: a run that is not over by then is killed
  std::function<bool()> stop;   // true: the user has interrupted, and what is known by then is the result
  std::function<std::string(const trial_case&)> advise = {};  // the end of the message of the smallest case
};

// Confirms and shrinks a failure in separate processes. Three fresh processes (one for a timeout) show if it is flaky.
// If it is not, the case is shrunk, and the smallest case runs once more with the detector of the emulated device
// (detect=only), whose findings join the report. The message states the outcome; `line` is the case to replay. An
// exception of a case is that case's verdict.
case_report confirm_and_shrink(const case_report& failing, const trial_case& c, const confirm_options& options);

}  // namespace warpcheck::engine
