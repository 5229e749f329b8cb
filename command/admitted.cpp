#include "command/admitted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "command/support.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/generate.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/trials/run_case.hpp"
#include "properties/engine/trials/trial.hpp"
#include "reference/numerics/stated_sums.hpp"

namespace warpcheck::cli {
namespace {

using namespace engine;

constexpr double k_seconds = 20;       // for all cases of an operator: none is tried later
constexpr double k_most_seconds = 60;  // of the process that tries them
constexpr int64_t k_most_cases = 100;  // of a job
constexpr int64_t k_most_elements = int64_t{1} << 16;

// A gate function with a larger error, 2^-10, has fewer digits than a half-precision number.
constexpr int64_t k_largest_stated_gates = int64_t{1} << 14;

// Judges one launch of the case by the bounds that follow from the statement.
bool is_admitted(trial_case c, int64_t number) {
  c.knobs["detect"] = "off";
  c.knobs.insert({"schedule", "fair"});
  offer stated = stated_by(c);
  (statements_of(c.op).gates ? stated.gates : stated.sum_depth) = number;
  return run_case_stating(c, stated).result <= verdict::skipped;
}

// Returns the smallest number, at least `known`, that admits the case; nothing if none does.
std::optional<int64_t> number_of(const trial_case& c, int64_t known) {
  if (is_admitted(c, known)) return known;
  const int64_t most = statements_of(c.op).gates ? k_largest_stated_gates : reference::k_longest_stated_chain;
  if (!is_admitted(c, most)) return std::nullopt;
  int64_t refused = known, more = 1;
  while (!is_admitted(c, refused + more)) more *= 2;
  int64_t admitted = refused + more;
  while (admitted - refused > 1) {
    const int64_t middle = refused + (admitted - refused) / 2;
    (is_admitted(c, middle) ? admitted : refused) = middle;
  }
  return admitted;
}

bool compares_values(const property& p) { return p.name == statements_of(p.op).judged_by; }

// Returns the cases that decide the number: all of a property that compares values, and the failing ones of another.
std::vector<trial_case> deciding_cases(const planned_job& j, const job_result& r) {
  std::vector<trial_case> cases;
  const auto add = [&](trial_case c) {
    if (c.elements() <= k_most_elements) cases.push_back(std::move(c));
  };
  if (!compares_values(*j.p))
    for (const case_report& failure : r.failures) add(parse_case_line(failure.line));
  for (int64_t i = 0; compares_values(*j.p) && i < std::min(j.j.count, k_most_cases); ++i) {
    try {
      add(j.j.make(i));
    } catch (const no_case_fits&) {
      continue;
    }
  }
  return cases;
}

// Runs in a separate process; returns the text "NUMBER FAILING TRIED": the number that admits all tried cases except
// the failing ones.
std::string number_and_failures(const std::vector<trial_case>& cases) {
  const auto begin = std::chrono::steady_clock::now();
  int64_t number = 0, failing = 0, tried = 0;
  for (const trial_case& c : cases) {
    if (tried > 0 && seconds_since(begin) > k_seconds) break;
    const std::optional<int64_t> own = number_of(c, number);
    number = own.value_or(number);
    failing += !own;
    ++tried;
  }
  return fmt::format("{} {} {}", number, failing, tried);
}

// True if the results of the job need a statement, as far as they are known.
bool is_decided_by_number(const planned_job& j, const job_result& r) {
  const statement_rules rules = statements_of(j.t.op);
  return (r.worst <= verdict::skipped || r.worst == verdict::violation) && !j.t.offered.has_our_plan &&
         j.t.candidate != "builtin" && (rules.sums || rules.gates) && (compares_values(*j.p) || !r.failures.empty());
}

}  // namespace

std::vector<admitted_statement> admitted_statements(const std::vector<planned_job>& jobs,
                                                    std::span<const job_result> results) {
  std::map<std::string, std::vector<trial_case>> cases;  // by the operator
  for (size_t i = 0; i < jobs.size(); ++i)
    if (is_decided_by_number(jobs[i], results[i]))
      for (trial_case& c : deciding_cases(jobs[i], results[i])) cases[jobs[i].t.op].push_back(std::move(c));
  std::vector<admitted_statement> all;
  for (const auto& entry : cases) {
    const std::string& op = entry.first;
    const std::vector<trial_case>& of_op = entry.second;
    // One process for all of them: a candidate in Python may take seconds to load.
    admitted_statement a = {op, 0, 0, statements_of(op).gates, 0, std::ssize(of_op)};
    const child_outcome outcome = run_in_child([&] { return number_and_failures(of_op); }, k_most_seconds,
                                               [] { return interrupt_watch::seen(); });
    if (outcome.finished &&
        std::sscanf(outcome.text.c_str(), "%" SCNd64 " %" SCNd64 " %" SCNd64, &a.number, &a.failing, &a.tried) == 3 &&
        a.number > 0)
      all.push_back(std::move(a));
  }
  return all;
}

std::string text_of(const admitted_statement& a) {
  std::string text = fmt::format("{}: passes with {} >= {}", a.op, a.is_of_gates ? "gates" : "sums of depth", a.number);
  if (a.failing > 0)
    text += fmt::format(", except {} cases that no {} admits", a.failing, a.is_of_gates ? "such statement" : "depth");
  if (a.tried < a.cases) text += fmt::format("; {} of {} cases were tried in {:g} s", a.tried, a.cases, k_seconds);
  return text;
}

nlohmann::json to_json(const std::vector<admitted_statement>& all) {
  nlohmann::json list = nlohmann::json::array();
  for (const admitted_statement& a : all)
    list.push_back({{"operator", a.op},
                    {a.is_of_gates ? "gates" : "sum_depth", a.number},
                    {"failing", a.failing},
                    {"tried", a.tried},
                    {"cases", a.cases}});
  return list;
}

}  // namespace warpcheck::cli
