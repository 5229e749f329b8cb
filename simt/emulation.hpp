// A stream of the emulated device: the configuration of launches (schedule, residency, detectors) and their report.
// Plain data without kernel macros, so that hosts, engines and shared modules of any flavour exchange it freely.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simt/error.hpp"

namespace simt {

// Order in which the threads of the resident blocks run. fair, greedy and reverse are fixed; the rest draw from a seed.
enum class strategy : uint8_t {
  fair,      // a thread runs until it blocks, then the next runnable one, cyclically
  greedy,    // one warp runs ahead until all of its lanes block
  reverse,   // as fair, from the last thread and block to the first
  random,    // a random runnable thread whenever one blocks or completes a barrier; blocks start in random order
  preempt,   // as random, and a switch may also happen at any atomic and (race flavour) at any memory access
  pct,       // random thread priorities with few random priority drops (Burckhardt et al., ASPLOS 2010)
  pct_warp,  // the same with one priority per warp
  replay,    // a base order with recorded deviations
  explore,   // every class of schedules, one after the other (race flavour; fair in the others)
};

// At scheduler step `step` (counted over all launches since clear()), `choice` ran instead of the base order's choice:
// a resident thread's index or, where a block starts, an index into the window of blocks that may start.
struct deviation {
  uint64_t step;
  uint32_t choice;
  friend bool operator==(const deviation& a, const deviation& b) { return a.step == b.step && a.choice == b.choice; }
};

struct schedule {
  simt::strategy strategy = simt::strategy::fair;
  uint64_t seed = 0;  // explore: how many classes of a launch to run at most
  // replay only: fair, greedy or reverse; the deviations ascending by step; whether steps count memory accesses, and
  // then the build whose accesses were counted (0: any).
  simt::strategy base = simt::strategy::fair;
  std::vector<deviation> deviations;
  bool counts_accesses = false;
  uint32_t build = 0;

  // "fair", "greedy", "reverse", "random:42", "preempt:42", "pct:42", "pct_warp:42", "explore:1000", or
  // "replay:BASE[@BUILD][.STEP-CHOICE]...": BASE is fair, greedy or reverse; BUILD (8 hex digits, 0 = any build) is
  // present where steps count memory accesses. No blanks, commas or bars, so that a token is one word of a case line.
  std::string to_string() const;
  // Throws std::invalid_argument with a sentence that names what is wrong.
  static schedule parse(std::string_view token);

  friend bool operator==(const schedule& a, const schedule& b) {
    return a.strategy == b.strategy && a.seed == b.seed && a.base == b.base && a.deviations == b.deviations &&
           a.counts_accesses == b.counts_accesses && a.build == b.build;
  }
};

// kind is one of: race, out_of_bounds, uninitialized, divergence, deadlock, livelock, launch_limit, misaligned.
struct finding {
  std::string kind;
  std::string text;
};

// Something in a launch that depends on the order in which its threads run.
struct schedule_choice {
  std::string what;
  uint32_t place = 0;  // of the first, in the code; 0: unknown
  uint64_t count = 0;
};

// Results of explored launches.
struct exploration {
  uint64_t launches = 0;               // of which every class of schedules ran
  uint64_t classes = 0;                // that ran
  uint64_t left = 0;                   // at least so many more there are
  uint64_t waits = 0;                  // launches in which a thread is taken to wait in a loop
  uint64_t outcomes = 0;               // the most that one launch has: different contents of device memory
  std::vector<std::string> obstacles;  // what is not explored
};

struct emulation {
  simt::schedule schedule;
  unsigned resident_blocks = 8;       // blocks in flight; a cooperative launch or a cluster raises it to what it needs
  unsigned sm_count = 4;              // what device_properties reports; results must not depend on the host's cores
  unsigned sm_arch = 90;              // whose tensor cores the device has: 80, 86, 89, 90 or 100
  uint64_t step_limit = 200'000'000;  // scheduler steps in which threads wait and none ends: then it is a livelock
  uint32_t shared_pattern = 0xffffffff;  // what shared memory holds when a block starts (dirty shared memory)
  bool detect = true;                    // race flavour: look for races (bounds and initialisation are always checked)
  // That a long launch may use at once, under `fair`: the results are the same (simt/emulated/parts.hpp). Only the race
  // flavour checks that kernels write nothing but device memory.
  unsigned processes = 1;
  // Race flavour: leave out launches that would change nothing (simt/emulated/repeats.hpp).
  bool skips_repeats = false;
  bool record =
      false;  // keep a seeded schedule's deviations from `fair` in recorded, and a replay's in applied_deviations

  // The report, filled by launches.
  std::vector<finding> findings;
  std::vector<deviation> recorded;
  bool recorded_accesses = false;  // the recorded steps count memory accesses
  uint32_t recorded_build = 0;
  std::vector<std::string> applied_deviations;  // one sentence per deviation that a replay applied
  // Race flavour: launches that have the same outcome under every schedule, and what denied that to the others.
  uint64_t certified = 0;
  std::vector<schedule_choice> choices;
  exploration explored;  // race flavour, schedule explore
  uint64_t launches = 0;
  uint64_t launches_in_parts = 0;  // that have taken over the results of parts
  uint64_t launches_left_out = 0;  // because they would change nothing
  uint64_t parts_in_vain = 0;      // launches that went on in one process although they had parts
  uint64_t steps = 0;              // scheduler decisions
  uint64_t switches = 0;           // changes of the running thread
  uint64_t accesses = 0;           // checked memory accesses (race flavour)

  bool ok() const { return findings.empty(); }
  // True if every schedule gives the launches the same outcome: each has a certificate, or all its classes ran and
  // agree.
  bool has_one_outcome() const {
    const bool agree = explored.launches == launches && explored.outcomes <= 1 && explored.waits == 0;
    return ok() && launches > 0 && (certified == launches || agree);
  }
  // Forgets the report and starts the schedule from its first step; the configuration stays.
  void clear();
  // The recorded run as a schedule that replays it (a fixed order or a replay is its own).
  simt::schedule recorded_schedule() const;
};

}  // namespace simt
