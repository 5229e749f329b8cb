// One mutant on trial: built as a candidate library, judged by the properties, and, for comparison, by the usual
// practice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command/candidates/toolchain.hpp"
#include "command/mutants/mutant_list.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::cli {

struct mutant_kill {
  std::string property;  // or the test
  std::string verdict;   // of a test: it fails, crashes or times out
  std::string line;      // replays the failure as long as the mutant's library exists; empty for a test
  std::string message;
};

struct mutant_result {
  std::string compile_error;  // of the compiler; if not empty, nothing was tried
  std::optional<mutant_kill> kill;
  bool as_expected = false;     // it was the expected property and verdict
  bool compared_code = false;   // true if the next line is known
  bool same_code = false;       // nothing killed it, and the compiler generates the same code for it and the original
  std::string tests;            // of a kernel that no property killed: tests_key of the tests that judged it then
  int64_t cases = 0;            // tried; of a mutant of the suite: tests
  bool coarse_rejects = false;  // allclose(randn, 1e-2) finds it
  bool fine_rejects = false;    // allclose(randn, 1e-4) finds it
};

std::string to_json(const mutant_result& r);
mutant_result mutant_result_from_json(const std::string& text);

// Folder of the files of an operator's mutants, and the file below it that makes its library.
struct kernel_sources {
  std::string root;
  std::string kernel;
};
kernel_sources kernel_sources_of(const std::string& op, const toolchain& t);

// Returns the properties that may kill a mutant of the target's kernel: those of its operator and type that need no
// statement which the kernel does not make.
std::vector<const engine::property*> killers_of(const engine::target& t);

struct mutant_trial_options {
  std::string folder;       // for the libraries, and for results
  std::string sources_key;  // changes with the kernels' sources
  std::string suite_key;    // changes with this executable and its plug-ins
  int64_t cases = 100;
  uint64_t seed = 1;
  double timeout_seconds = 60;
  std::string lacks;  // as if the mutant had stated it
};

// Path of the result of an earlier trial of the same mutant, sources, suite and options, if there was one.
std::string result_path(const mutant& m, const toolchain& t, const mutant_trial_options& o);

// Builds the mutant unless its library exists, tries it, and writes its result to result_path. The expected property
// comes first; if it does not kill the mutant, all others follow until one does.
mutant_result try_mutant(const mutant& m, const std::string& usual, const toolchain& t, const mutant_trial_options& o);

}  // namespace warpcheck::cli
