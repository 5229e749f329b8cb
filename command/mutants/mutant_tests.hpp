// Mutants of the suite itself (comparator, generators, bounds, emulated device) on trial: a test of this build, linked
// with the mutated file, must fail. A mutant of a kernel that no property kills is tried in the same way if a test
// checks more. ci/mutate/judges lists the tests for each file.
#pragma once

#include <string>
#include <vector>

#include "command/candidates/toolchain.hpp"
#include "command/mutants/mutant_list.hpp"
#include "command/mutants/mutant_trial.hpp"

namespace warpcheck::cli {

// A test as ctest lists it.
struct test_program {
  std::string name;
  std::string program;               // the program that is linked again, below the build folder
  std::vector<std::string> command;  // with its arguments
  std::vector<std::string> environment;
  std::string directory;
  std::string key;         // changes with the program; "" until the test is needed
  double cpu_seconds = 0;  // of the original, with its children
  double wall_seconds = 0;
  bool bounded_memory = true;  // the original runs within the memory that a mutant may use
};

class test_judges {
 public:
  // Reads `path`, a list of lines `path prefix <tab> test ...`; the first prefix that fits a file decides. A test is a
  // name of ctest. The mutant is linked into the program that the test starts, or into the one named behind '@'
  // (unit.cli@warpcheck). Throws usage_error for a malformed line or an unknown test, environment_error for one that is
  // not built.
  test_judges(const std::string& path, const toolchain& t);

  // True if a line of the list fits the file.
  bool judge(const mutant& m) const;
  // Returns the tests in the order in which they run, with their keys. Throws usage_error if no line fits the file,
  // environment_error for a program that cannot be read.
  std::vector<test_program*> of(const mutant& m);

  // Runs the tests of these mutants on the original, unless `folder` has their results, so that no mutant is judged by
  // a test that fails anyway, or stopped too early. Throws environment_error for a test that fails.
  void measure(const std::vector<const mutant*>& mutants, const std::string& folder);

 private:
  struct rule {
    std::string prefix;
    std::vector<std::string> tests;
  };
  std::string path_, build_folder_;
  std::vector<rule> rules_;
  std::vector<test_program> tests_;
};

// Changes with the mutant and everything that judges it.
std::string tests_key(const mutant& m, const std::vector<test_program*>& tests, const toolchain& t);

// Runs the tests in their order until one fails. `folder` is for built files and removed afterwards.
mutant_result try_by_tests(const mutant& m, const std::vector<test_program*>& tests, const toolchain& t,
                           const std::string& folder);

}  // namespace warpcheck::cli
