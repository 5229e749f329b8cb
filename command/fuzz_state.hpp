// State and findings of a fuzzing run, as a file from which the run resumes after any end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "command/ending.hpp"
#include "properties/engine/cases/case.hpp"
#include "properties/engine/processes/supervisor.hpp"
#include "properties/engine/trials/verdict.hpp"

namespace warpcheck::cli {

// A shrunk counterexample.
struct fuzz_finding {
  std::string name;  // of its files, unique
  std::string op, property;
  std::string verdict;
  std::string shape;  // shape class (engine/classes.hpp) of the shrunk case, which identifies the finding
  std::string line;
  std::string message;
  int64_t failures = 1;  // cases with this finding
  std::string report;    // of the shrunk case (verdict.hpp), as JSON
};

// A property, all dtypes together.
struct fuzz_totals : run_counts {
  double max_error_ratio = 0;
};

// An operator and dtype.
struct fuzz_coverage {
  std::map<std::string, int64_t> classes, combinations, variants;
};

struct fuzz_state {
  std::string options;  // everything that determines the cases and their results, as one text
  uint64_t seed = 0;
  int64_t rounds = 0;                             // complete ones
  double seconds = 0;                             // of complete rounds
  std::map<std::string, fuzz_totals> totals;      // "softmax/long-accumulation" -> of complete rounds
  std::map<std::string, fuzz_coverage> coverage;  // "softmax f32" -> of complete rounds
  std::map<std::string, std::string> judged;      // line of a failing case -> name of its finding
  std::map<std::string, int64_t> minimised;       // property and verdict -> number of its failures that were shrunk
  std::vector<fuzz_finding> findings;

  fuzz_finding* find(const fuzz_finding& like);  // the same operator, property, verdict and shape class
};

std::string to_json(const fuzz_state& s);
// Throws usage_error for anything that to_json does not write; `name` is the file's name, for the message.
fuzz_state fuzz_state_from_json(const std::string& text, const std::string& name);

// The case and report of a shrunk failure as a finding. Two reports of the same finding give the same name.
fuzz_finding make_finding(const engine::case_report& r);
// Writes NAME.golden (a regression, golden/format.hpp) and NAME.md (the text of an issue) into `folder`.
// `circumstances` is one sentence: which version, device and seed.
void write_finding(const std::string& folder, const fuzz_finding& f, const engine::case_report& r, uint64_t seed,
                   const std::string& circumstances);

}  // namespace warpcheck::cli
