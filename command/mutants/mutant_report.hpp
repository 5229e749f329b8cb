// Report of a run of mutants: a table, the score of each subject beside the usual practice, and the check that no score
// decreases.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "command/mutants/mutant_list.hpp"
#include "command/mutants/mutant_trial.hpp"

namespace warpcheck::cli {

struct tried_mutant {
  mutant m;
  std::string usual;
  std::string lacks;  // traits that no case has
  std::string path;   // of the result
  std::optional<mutant_result> result;

  bool kernel() const { return m.kernel; }
  // A generated mutant that does not compile does not count; for a listed one it is an error of the list.
  bool stillborn() const { return m.property.empty() && result && !result->compile_error.empty(); }
  bool equivalent() const { return m.equivalent || (result && result->same_code); }
  // It lives, as its list says, in what this smaller offer lacks.
  bool outside() const { return m.needs_lacked && !(result && (result->kill || !result->compile_error.empty())); }
  bool counts() const { return !stillborn() && !equivalent() && !outside(); }
  bool killed() const { return result && result->kill; }
  bool as_expected() const { return result && result->as_expected && !m.needs_lacked; }
};

// The score of one subject, or of all.
struct mutant_score {
  int64_t all = 0, stillborn = 0, equivalent = 0, outside = 0, killed = 0, as_expected = 0;
  int64_t kernels = 0, coarse = 0, fine = 0;  // mutants of kernels that count, and those that allclose finds

  void add(const tried_mutant& t);
  int64_t judged() const { return all - stillborn - equivalent - outside; }
};

std::string outcome(const tried_mutant& t);
std::string expectation(const mutant& m);

void print_mutants(const std::vector<tried_mutant>& tried);  // one or two lines each
void print_survivors(const std::vector<tried_mutant>& tried);
std::map<std::string, mutant_score> print_scores(const std::vector<tried_mutant>& tried);

// Reads the committed scores, lines of `subject <tab> killed <tab> judged`. Prints the `scores` that are below them,
// and the values that would be allowed; returns false if there are any. Throws usage_error for a malformed file.
bool holds_scores(const std::map<std::string, mutant_score>& scores, const std::string& path);

}  // namespace warpcheck::cli
