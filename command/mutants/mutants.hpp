// `warpcheck mutants`: checks that the suite finds the bugs that ci/mutate plants in our own kernels, and those that it
// generates anywhere, including in the suite itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace warpcheck::cli {

struct mutants_options {
  std::vector<std::string> operators;  // empty: all that have a list
  std::vector<std::string> only;       // ids; empty: all
  std::string folder;                  // of the lists; empty: ci/mutate of the source tree
  std::string json;
  std::string seed = "1";
  std::string lacks;  // traits that no case has: "bias, ta=yes"
  int64_t cases = 100;
  int jobs = 0;    // mutants on trial at a time; 0: one per core
  int one_in = 1;  // only one in this many mutants of each list, drawn by the seed
  bool list = false;
  bool generated = false;  // a sample drawn by ci/mutate/generate, unless `folder` is given
};
// Returns 0 if every mutant is killed by its expected killer, or, for a generated sample, if no subject's score is
// below that of ci/mutate/generated.score. Results are kept in the build folder and used again until the kernels, the
// suite, the compiler or the options change.
int mutants(const mutants_options& options);

// `warpcheck mutants FILE.op`: tests the trial of a formula. Each mutated formula, run by the interpreter, must fail
// it. Returns 0 if every mutant is killed, except those with the formula's exact values in every case; otherwise 1.
int formula_mutants(const mutants_options& options);

}  // namespace warpcheck::cli
