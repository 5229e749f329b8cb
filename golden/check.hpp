// Golden data judge both sides: the reference must agree with every file, and so must a candidate.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "golden/format.hpp"
#include "properties/engine/trials/trial.hpp"
#include "properties/engine/trials/verdict.hpp"

namespace warpcheck::golden {

// The golden data of an operator (golden/<op>/<op>_golden.cpp).
struct operator_golden {
  std::string op;
  // Its known answers, always the same, with unique names.
  std::function<std::vector<golden_file>()> known_answers;
  // One sentence per output element in which the reference and the file differ.
  std::function<std::vector<std::string>(const golden_file&)> disagreements;
};

// One `operator_golden <op>_golden()` per operator of the list in CMake, which generates this function.
std::vector<operator_golden> all_operators();
const operator_golden& find_operator(std::string_view op);  // usage_error naming what exists
void add_operator(operator_golden of_plugin);

struct loaded_file {
  std::string path;  // relative to the golden folder
  golden_file file;
};
// Every file below `folder` that belongs to one of `ops` (empty: to any), sorted by path, after checking the hashes of
// all files against folder/SHA256SUMS and the format of those that are returned. A regression of a formula that this
// process does not know belongs to none. Throws engine::usage_error with file
// and line: a hash that differs, a file that is listed and absent or present and not listed, a malformed file, or no
// file at all of an operator that was asked for.
std::vector<loaded_file> load(const std::string& folder, const std::vector<std::string>& ops = {});

// The regressions of a folder, sorted by name: what `warpcheck fuzz` found and wrote there, without those of formulas
// that this process does not know. Throws engine::usage_error: no such folder, a malformed file, a file of another
// kind.
std::vector<golden_file> load_regressions(const std::string& folder);

// The case of a file as a candidate gets it: listed values in the line, device and candidate set. A regression that was
// found on another device loses the knobs that only that device has.
engine::trial_case candidate_case(const golden_file& file, std::string_view device, std::string_view candidate);

struct check_options {
  std::string folder;  // holds SHA256SUMS
  std::vector<std::string> ops;
  std::string device = "emulated";
  std::string candidate = "builtin";
  std::vector<dtype> types;  // that the candidate offers; files of other types are skipped; empty: all
  // Runs the cases, contained if need be, and gives a report for each, in order; null: the candidate is not asked.
  std::function<std::vector<engine::case_report>(const std::vector<engine::trial_case>&)> run;
};

struct file_result {
  std::string path;
  std::vector<std::string> disagreements;     // of the reference
  std::optional<engine::case_report> report;  // of the candidate, if it was asked
  bool skipped = false;                       // the candidate does not offer the type
  bool passed() const;
};

// Checks files, then the reference, then the candidate, all to the end; throws as `load` does.
std::vector<file_result> check(const check_options& options);

struct regenerated {
  int written = 0;    // known answers whose bytes changed or are new
  int unchanged = 0;  // known answers whose bytes are the same
  int removed = 0;    // known answers that no longer exist
  int kept = 0;       // oracles and regressions, which only their programs can make
};
// Writes the known answers of `op` into folder/<op> and the checksums of the whole folder. Files that it does not make
// itself must be well-formed and agree with the reference: new hashes never bless a changed value.
regenerated regenerate(const std::string& folder, const std::string& op);

}  // namespace warpcheck::golden
