// `warpcheck run-emulated`: a whole foreign CUDA program on the emulated device, under many schedules, with the race
// detector.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace warpcheck::cli {

struct run_emulated_options {
  std::string file;
  std::vector<std::string> others;             // further sources of the program
  std::vector<std::string> schedules;          // empty: fair, greedy, reverse and `seeds` seeds of each seeded strategy
  std::optional<int> seeds;                    // empty: 3, and only fair if that run proves the others
  bool explore = false;                        // every class of schedules in place of schedules
  std::vector<std::string> defines, includes;  // for the compiler
  std::string standard = "c++17";              // of C++
  std::vector<std::string> arguments;          // of the program
  std::vector<std::string> launches, arrays, writes, expects;  // of a PTX module (ptx_launches.hpp)
  std::string json;
  double timeout = 60;                  // seconds per run
  uint64_t step_limit = 200'000'000;    // scheduler steps in which threads wait and none ends: then it is a livelock
  std::string volatile_as = "relaxed";  // or "plain": volatile accesses race like any others
  bool quiet = false;                   // hides the output of the program
  bool keep_going = false;              // continues after findings: a race ends no launch, and a launch ends no program
  bool no_trace = false;                // names the approximated constructs without tracing their values
  std::string suppress;                 // a file of known findings; empty: none. It implies keep_going
};
int run_emulated(const run_emulated_options& options);

}  // namespace warpcheck::cli
