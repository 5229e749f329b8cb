// Shrinks a failing schedule to one whose every deviation matters.
#pragma once

#include <functional>

#include "simt/emulation.hpp"

namespace simt {

struct shrunk_schedule {
  simt::schedule schedule;
  int runs = 0;  // how often still_fails was asked
};

// `failing` is a replay (run the failure with emulation::record and take recorded_schedule()). Returns a fixed order
// that fails alone, if one does; else a replay with a 1-minimal set of deviations (Zeller and Hildebrandt, "Simplifying
// and isolating failure-inducing input", IEEE TSE 2002), or the best found within max_runs. still_fails must be a
// function of the schedule alone; it is first asked about `failing` itself, and std::invalid_argument is thrown if that
// passes.
shrunk_schedule shrink_schedule(const schedule& failing, const std::function<bool(const schedule&)>& still_fails,
                                int max_runs = 10000);

}  // namespace simt
