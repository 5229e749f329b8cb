#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "command/admitted.hpp"
#include "command/arrays.hpp"
#include "command/asked.hpp"
#include "command/candidates/brought_candidate.hpp"
#include "command/coverage.hpp"
#include "command/ending.hpp"
#include "command/formula_verdict.hpp"
#include "command/mps.hpp"
#include "command/plan.hpp"
#include "command/progress.hpp"
#include "command/report/causes.hpp"
#include "command/report/failure_json.hpp"
#include "command/report/junit.hpp"
#include "command/request.hpp"
#include "command/support.hpp"
#include "command/terminal.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/files/json_number.hpp"
#include "properties/engine/files/npy.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/processes/supervisor.hpp"
#include "properties/engine/trials/polynomial_identity.hpp"
#include "properties/engine/trials/run_case.hpp"
#include "properties/engine/trials/trial.hpp"

namespace warpcheck::cli {
namespace {

using namespace engine;

std::string error_ratio_text(const job_result& r) {
  return r.compared > 0 ? fmt::format("{:.3f}", r.max_error_ratio) : "-";
}

// Writes a shrunk part of the user's array beside the report, as an array that the case then names. If it cannot be
// written, the case keeps naming the part.
case_report with_own_array(case_report r, const verify_options& o) {
  namespace fs = std::filesystem;
  trial_case c;
  try {
    c = parse_case_line(r.line);
  } catch (const usage_error&) {
    return r;  // its message has the reason
  }
  tensor_spec* x = nullptr;
  for (tensor_spec& t : c.tensors)
    if (t.fill.distribution == "npy" && !t.fill.arguments.empty()) x = &t;
  if (!x) return r;
  const std::string part = fmt::format("[{}x{}] at {},{} of '{}'", x->rows(), x->cols(), x->fill.arguments[0],
                                       x->fill.arguments[1], x->fill.path);
  const fs::path path = (o.json.empty() ? fs::path() : fs::path(o.json).parent_path()) /
                        fmt::format("{}.{}-{}.npy", fs::path(x->fill.path).stem().string(), c.op, c.property);
  r.message += "; it is shrunk to " + part;
  if (!is_path_of_a_line(path.string())) return r;
  host_tensor values = materialize(*x);
  try {
    write_npy(path.string(), {x->type, x->shape, x->rows(), x->cols(), std::move(values.bytes), ""});
    x->fill.sha256 = read_npy(path.string(), std::span(&x->type, 1)).sha256;
  } catch (const environment_error&) {
    return r;
  }
  x->fill.path = path.string();
  x->fill.arguments.clear();
  x->fill.edits.clear();
  r.line = format(c);
  r.message += fmt::format(", which is kept in '{}'", path.string());
  return r;
}

// No verdict: an interrupted run, or a shard, reached no case of the job.
constexpr std::string_view k_not_run = "not run";
// No verdict: no case of the job called the candidate, or none was offered.
constexpr std::string_view k_not_tried = "not tried";

std::string_view verdict_text(const job_result& r) {
  if (r.cases == 0) return k_not_run;
  const bool judged = r.cases > r.skipped && r.launches > 0;
  return judged || r.worst > verdict::skipped ? name_of(r.worst) : k_not_tried;
}

std::string stopped_text(const job_result& r) {
  return r.stopped ? fmt::format(" (stopped after {} failures)", r.failures.size()) : "";
}

std::string count_text(size_t failures) { return fmt::format("{} failure{}", failures, failures == 1 ? "" : "s"); }

// For all dtypes of one property.
std::string failures_text(size_t failures, const std::vector<std::string>& stopped, int types) {
  if (failures == 0) return "";
  if (stopped.empty()) return fmt::format(" ({})", count_text(failures));
  if (types == 1) return fmt::format(" (stopped after {})", count_text(failures));
  return fmt::format(" ({}; {} stopped)", count_text(failures), fmt::join(stopped, ", "));
}

void print_table(const std::vector<planned_job>& jobs, const run_result_set& results) {
  // One row per property: dtypes are folded, the worst decides.
  fmt::print("{:<12} {:<30} {:>8} {:>17} {:>9}  {}\n", "operator", "property", "cases", "worst error/bound", "cases/s",
             "verdict");
  for (size_t i = 0; i < jobs.size();) {
    job_result sum = results.jobs[i];
    const property* p = jobs[i].p;
    size_t failures = sum.failures.size();
    std::vector<std::string> stopped;
    if (sum.stopped) stopped.emplace_back(name_of(jobs[i].t.type));
    int types = 1, not_run = sum.cases == 0;
    for (++i; i < jobs.size() && jobs[i].p == p; ++i) {
      const job_result& r = results.jobs[i];
      ++types;
      not_run += r.cases == 0;
      failures += r.failures.size();
      if (r.stopped) stopped.emplace_back(name_of(jobs[i].t.type));
      sum.cases += r.cases;
      sum.compared += r.compared;
      sum.skipped += r.skipped;
      sum.launches += r.launches;
      sum.seconds += r.seconds;
      sum.max_error_ratio = std::max(sum.max_error_ratio, r.max_error_ratio);
      sum.worst = std::max(sum.worst, r.worst);
    }
    fmt::print("{:<12} {:<30} {:>8} {:>17} {:>9.0f}  {}{}{}{}\n", p->op, p->name, sum.cases, error_ratio_text(sum),
               sum.seconds > 0 ? static_cast<double>(sum.cases) / sum.seconds : 0.0, colored_verdict(verdict_text(sum)),
               sum.skipped ? fmt::format(" ({} skipped)", sum.skipped) : "",
               not_run > 0 && not_run < types ? fmt::format(" ({} of {} dtypes {})", not_run, types, k_not_run) : "",
               failures_text(failures, stopped, types));
  }
}

nlohmann::json result_json(const run_request& request, const std::vector<planned_job>& jobs,
                           const run_result_set& results, const nlohmann::json& failures,
                           const coverage_result& coverage, int64_t regressions, int code) {
  nlohmann::json list = nlohmann::json::array(), seconds = nlohmann::json::object();
  for (size_t i = 0; i < jobs.size(); ++i) {
    const job_result& r = results.jobs[i];
    nlohmann::json j = {{"operator", jobs[i].p->op},
                        {"property", jobs[i].p->name},
                        {"dtype", name_of(jobs[i].t.type)},
                        {"device", request.device},
                        {"cases", r.cases},
                        {"skipped", r.skipped},
                        {"launches", r.launches},
                        {"compared", r.compared},
                        {"every_schedule", r.every_schedule},
                        {"needed_multiprecision", r.needed_multiprecision},
                        {"max_error_ratio", json_number(r.max_error_ratio)},
                        {"max_ulp", json_number(r.max_ulp)},
                        {"verdict", verdict_text(r)},
                        {"stopped", r.stopped},
                        {"variants", r.variants},
                        {"proven_variants", r.proven},
                        {"classes", r.classes}};
    for (const auto& [variant, h] : r.errors) j["errors"][variant] = to_json(h);
    if (const auto wrong = r.notes.find(k_wrong_polynomial); wrong != r.notes.end())
      j["wrong_polynomial"] = wrong->second.greatest;
    if (r.worst_error_ratio_case) j["worst"] = nlohmann::json::parse(to_json(*r.worst_error_ratio_case));
    list.push_back(std::move(j));
    seconds[r.id] = r.seconds;
  }
  nlohmann::json groups = nlohmann::json::array();
  for (const coverage_result::group& g : coverage.groups)
    groups.push_back({{"name", g.name}, {"classes", g.classes}, {"reached", g.reached}, {"possible", g.possible}});
  return {{"schema", "warpcheck-verify-1"},
          {"version", WARPCHECK_VERSION},
          {"candidate", request.given.candidate},
          {"device", request.device},
          {"seed", request.seed},
          {"cases", request.given.cases},
          {"exit_code", code},
          {"interrupted", results.interrupted},
          {"accepted", request.given.accepts_nondeterminism ? std::vector<std::string>{"nondeterministic"}
                                                            : std::vector<std::string>()},
          {"jobs", list},
          {"failures", failures},
          {"regressions", regressions},
          {"coverage", groups},
          {"unreached_variants", coverage.unreached_variants},
          {"unmet_classes", coverage.unmet_classes},
          // Everything above is the same on every run of the same options; times are not.
          {"timing", {{"seconds", results.seconds}, {"job_seconds", seconds}}}};
}

// Explanations of shrunk failures, by their lines.
using explanations = std::map<std::string, explanation>;

nlohmann::json failures_json(const std::vector<case_report>& failures, const explanations& explained) {
  nlohmann::json list = nlohmann::json::array();
  for (const case_report& r : failures) {
    list.push_back(failure_json(r));
    if (const auto found = explained.find(r.line); found != explained.end())
      add_explanation(list.back(), found->second);
  }
  return list;
}

nlohmann::json not_run_json(const std::vector<left_property>& left) {
  nlohmann::json list = nlohmann::json::array();
  for (const left_property& l : left)
    list.push_back({{"operator", l.p->op}, {"property", l.p->name}, {"dtypes", l.dtypes}, {"why", l.why}});
  return list;
}

// The failures of each job as shrink_failures returned them, in the order of the jobs. They are the last of `failures`,
// behind those of the regressions.
std::vector<std::vector<case_report>> shown_failures(const std::vector<planned_job>& jobs,
                                                     const run_result_set& results,
                                                     const std::vector<case_report>& failures) {
  std::vector<std::vector<case_report>> shown;
  size_t all = 0;
  for (const job_result& r : results.jobs) all += r.failures.size();
  auto next = failures.end() - static_cast<std::ptrdiff_t>(all);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto end = next + static_cast<std::ptrdiff_t>(results.jobs[i].failures.size());
    shown.emplace_back(next, end);
    next = end;
  }
  return shown;
}

std::vector<junit_case> junit_cases(const std::vector<planned_job>& jobs, const run_result_set& results,
                                    const std::vector<case_report>& failures, const job_result& regressions,
                                    const coverage_result& coverage, const std::vector<std::string>& unjudged) {
  std::vector<junit_case> list;
  cause_groups causes;
  const auto add = [&](const std::string& suite, const std::string& name, const job_result& r,
                       const std::vector<case_report>& shown) {
    const bool untried = verdict_text(r) == k_not_tried;
    junit_case c{suite, name, r.seconds, "", "", "", r.cases == 0 || untried};
    if (c.skipped) c.message = r.first_skipped ? r.first_skipped->message : std::string(verdict_text(r));
    if (r.worst > verdict::skipped) {
      c.failure = name_of(r.worst);
      c.message = fmt::format("{} of {} cases fail; the first: {}", r.failures.size(), r.cases,
                              r.failures.empty() ? "" : r.failures[0].message);
      // A cause is described at its first failure.
      for (const case_report& f : shown)
        c.details += causes.add(fmt::format("{}/{}", suite, name), f)
                         ? describe(f)
                         : fmt::format("{}\n  {}\n", causes.reference(f), replay_command(f.line));
    }
    list.push_back(std::move(c));
  };
  if (regressions.cases > 0) add("regressions", "regressions", regressions, regressions.failures);
  const std::vector<std::vector<case_report>> shown = shown_failures(jobs, results, failures);
  for (size_t i = 0; i < jobs.size(); ++i)
    add(jobs[i].p->op, results.jobs[i].id.substr(jobs[i].p->op.size() + 1), results.jobs[i], shown[i]);
  for (const std::string& subject : unjudged)
    list.push_back({subject, "judged", 0, "nothing judged", nothing_judged_text(subject), "", false});
  for (const auto* unmet : {&coverage.unreached_variants, &coverage.unmet_classes})
    for (const std::string& text : *unmet) list.push_back({"coverage", text, 0, "coverage", text, "", false});
  return list;
}

supervise_options supervision_of(const run_request& r, const std::vector<planned_job>& jobs) {
  const verify_options& o = r.given;
  supervise_options options;
  options.workers = r.workers;
  options.timeout_seconds = r.timeout;
  options.shared_device = r.device == "cuda";
  options.at_start = choose_gpu;
  options.journal_folder = o.journal;
  options.resume = o.resume;
  options.fingerprint = fmt::format("{} {} {} {} {} {} {} {} {} {} {}", WARPCHECK_VERSION, r.device, o.candidate,
                                    r.seed, o.cases, o.size, fmt::join(o.inputs, ","), o.max_rows, o.max_cols,
                                    o.accepts_nondeterminism, fmt::join(o.without, ","));
  options.shard_index = r.shard;
  options.shard_count = r.shards;
  options.fail_fast = o.fail_fast;
  if (o.keep_going) options.max_failures_per_job = 0;
  options.run = run_case;
  options.on_progress = print_progress;
  options.first = regressions_for(o.regressions, jobs, r.device, o.candidate);
  return options;
}

// Removes the counterexamples that were replayed first from the results, and prints their outcome.
job_result take_regressions(run_result_set& results) {
  job_result regressions = std::move(results.jobs.front());
  results.jobs.erase(results.jobs.begin());
  fmt::print("{} regressions replayed first: {}{}\n", regressions.cases, colored_verdict(verdict_text(regressions)),
             stopped_text(regressions));
  for (const case_report& f : regressions.failures) fmt::print("{}", colored_failure(describe(f)));
  return regressions;
}

size_t failing_properties(const std::vector<planned_job>& jobs, const run_result_set& results) {
  std::set<const property*> failing;
  for (size_t i = 0; i < jobs.size(); ++i)
    if (!results.jobs[i].failures.empty()) failing.insert(jobs[i].p);
  return failing.size();
}

case_report not_repeated(case_report r, const property& p, double seconds) {
  r.message += fmt::format(
      "; it was not repeated and not shrunk, because the failures before it took {:.0f} s: --property {} does both",
      seconds, p.name);
  return r;
}

// Returns all failures. The first of every property is shrunk and explained, and added to `explained`, unless it is a
// hazard of source lines that an earlier property has shown, or the failures before it took k_whole_times as long as
// one may. Each cause is described once.
std::vector<case_report> shrink_failures(const std::vector<planned_job>& jobs, const run_result_set& results,
                                         const run_request& request, explanations& explained) {
  constexpr double k_whole_times = 6;
  const verify_options& o = request.given;
  const auto begin = std::chrono::steady_clock::now();
  const size_t failing = failing_properties(jobs, results);
  std::vector<case_report> failures;
  cause_groups causes;
  const property* reported = nullptr;
  size_t number = 0;  // of the failing property
  for (size_t i = 0; i < jobs.size(); ++i) {
    for (const case_report& f : results.jobs[i].failures) {
      // A case that died while it was made has no line to try again.
      if (jobs[i].p == reported || results.interrupted || interrupt_watch::seen() || f.line.empty()) {
        failures.push_back(f);
        continue;
      }
      reported = jobs[i].p;
      ++number;
      const std::string name = jobs[i].p->op + "/" + jobs[i].p->name;
      if (causes.knows_hazard(f)) {
        causes.add(name, f);
        failures.push_back(f);
        continue;
      }
      if (const double seconds = seconds_since(begin); seconds > k_whole_times * o.shrink_seconds) {
        failures.push_back(not_repeated(f, *jobs[i].p, seconds));
        if (causes.add(name, failures.back())) fmt::print("\n{}", colored_failure(describe(failures.back())));
        continue;
      }
      fmt::print(stderr, "{}: shrinking the failing case ({} of {} properties that fail)\n", results.jobs[i].id, number,
                 failing);
      std::fflush(stderr);
      failures.push_back(confirm_failure(f, *jobs[i].p, request));
      if (!o.inputs.empty()) failures.back() = with_own_array(std::move(failures.back()), o);
      const bool is_new = causes.add(name, failures.back());
      if (is_new) fmt::print("\n{}", colored_failure(describe(failures.back())));
      if (interrupt_watch::seen()) continue;
      const explanation e = explain_failure(failures.back(), request);
      if (is_new && !e.departs.empty()) fmt::print("  {}\n", e.departs);
      explained[failures.back().line] = e;
    }
  }
  fmt::print("{}", causes.further());
  return failures;
}

// Regressions and jobs together.
job_result sum_of(const job_result& regressions, const run_result_set& results) {
  job_result all = regressions;
  for (const job_result& r : results.jobs) {
    all.cases += r.cases;
    all.skipped += r.skipped;
    all.launches += r.launches;
    all.compared += r.compared;
    all.every_schedule += r.every_schedule;
    all.worst = std::max(all.worst, r.worst);
    all.failures.insert(all.failures.end(), r.failures.begin(), r.failures.end());
  }
  return all;
}

// Prints a summary of the first cases, minutes before all of them are finished.
void print_first_cases(const std::vector<planned_job>& jobs, const std::vector<job_result>& results, double seconds) {
  int64_t cases = 0, skipped = 0;
  std::set<std::string> failing;
  std::map<std::string, const job_result*> by_id;
  for (const job_result& r : results) by_id[r.id] = &r;
  for (const planned_job& j : jobs) {
    const job_result& r = *by_id.at(j.j.id);
    cases += r.cases;
    skipped += r.skipped;
    if (!r.failures.empty()) failing.insert(fmt::format("{}/{}", j.p->op, j.p->name));
  }
  fmt::print("the first {} cases in {:.1f} s: {}{}; the run goes on\n", cases, seconds,
             failing.empty() ? "no failure" : fmt::format("failures of {}", fmt::join(failing, ", ")),
             skipped ? fmt::format(", {} skipped", skipped) : "");
  std::fflush(stdout);
}

std::vector<std::string> nothing_judged(const std::vector<planned_job>& jobs, const run_result_set& results,
                                        const left_out_properties& left_out) {
  std::map<std::string, run_counts> counts;
  for (size_t i = 0; i < jobs.size(); ++i) add(counts[jobs[i].p->op + "/" + jobs[i].p->name], results.jobs[i]);
  return without_judgement(counts, left_out);
}

asked_properties asked_of(const run_request& r, const std::vector<planned_job>& jobs, const run_result_set& results) {
  std::set<std::string> judged;
  for (size_t i = 0; i < jobs.size(); ++i)
    if (results.jobs[i].cases > results.jobs[i].skipped) judged.insert(jobs[i].p->op + "/" + jobs[i].p->name);
  return count_asked(r, judged);
}

// Prints the strength of the exact runs of each operator (properties/engine/trials/polynomial_identity.hpp).
void print_exact_runs(const std::vector<planned_job>& jobs, const run_result_set& results) {
  std::map<std::string, double> greatest;
  for (size_t i = 0; i < jobs.size(); ++i)
    if (const auto wrong = results.jobs[i].notes.find(k_wrong_polynomial); wrong != results.jobs[i].notes.end())
      greatest[jobs[i].p->op] = std::max(greatest[jobs[i].p->op], wrong->second.greatest);
  for (const auto& [op, probability] : greatest)
    fmt::print("exact runs of {}: a wrong polynomial passes on a tried shape with probability at most {:.1e}\n", op,
               probability);
}

// Prints each reason once, with the first property that it keeps from being judged.
void print_skipped(const std::vector<job_result>& results) {
  for (auto r = results.begin(); r != results.end(); ++r) {
    if (!r->first_skipped) continue;
    const std::string& reason = r->first_skipped->message;
    const auto has_reason = [&](const job_result& other) {
      return other.first_skipped && other.first_skipped->message == reason;
    };
    if (std::any_of(results.begin(), r, has_reason)) continue;
    int64_t others = 0, cases = 0;
    for (auto other = r + 1; other != results.end(); ++other)
      if (has_reason(*other)) ++others, cases += other->skipped;
    fmt::print("skipped: {} ({} cases){}: {}\n", r->id, r->skipped,
               others > 0 ? fmt::format(" and {} other{} ({} cases)", others, others == 1 ? "" : "s", cases) : "",
               reason);
  }
}

// Prints the lines below the table, and returns the exit code.
int conclude(const run_request& request, const job_result& all, const run_result_set& results,
             const coverage_result& coverage, const std::vector<std::string>& unjudged,
             const left_out_properties& left_out, const std::vector<formula_verdict>& formulas) {
  for (const formula_verdict& f : formulas) print(f);
  for (const std::string& v : coverage.unreached_variants) fmt::print("coverage: no case reached the variant {}\n", v);
  for (const std::string& sentence : coverage.unmet_classes) fmt::print("coverage: {}\n", sentence);
  fmt::print("{} cases, {} launches, {} elements compared in {:.1f} s ({:.0f} cases/s){}{}\n", all.cases, all.launches,
             all.compared, results.seconds,
             results.seconds > 0 ? static_cast<double>(all.cases) / results.seconds : 0.0,
             all.skipped ? fmt::format(", {} skipped", all.skipped) : "",
             all.failures.empty() ? "" : ", " + count_text(all.failures.size()));
  if (all.every_schedule > 0)
    fmt::print("every schedule: proven for this input in {} of {} cases\n", all.every_schedule,
               all.cases - all.skipped);
  if (results.failed_fast) fmt::print("stopped at the first failure: the finished cases are in this table\n");
  print_skipped(results.jobs);
  run_ending e{all.cases, all.skipped, all.worst > verdict::skipped || !coverage.met(), unjudged, ""};
  for (const formula_verdict& f : formulas) e.failed |= f.is_free();
  if (results.interrupted)
    e.interrupted = fmt::format("the finished cases are in this table{}",
                                request.given.journal.empty() ? "" : "; --resume continues");
  return conclude(request, e, left_out);
}

// Sends the output of kernels, host code and Python functions to this command's own output instead of a message.
class shown_output {
 public:
  shown_output() : out_(dup(STDOUT_FILENO)), error_(dup(STDERR_FILENO)) {}
  ~shown_output() {
    close(out_);
    close(error_);
  }
  shown_output(const shown_output&) = delete;
  shown_output& operator=(const shown_output&) = delete;

  // Runs in the process of the case.
  case_report run(const trial_case& c) const {
    dup2(out_, STDOUT_FILENO);
    dup2(error_, STDERR_FILENO);
    case_report r = run_case(c);
    std::fflush(nullptr);
    return r;
  }

 private:
  int out_, error_;
};

}  // namespace

int verify(const verify_options& o) {
  if (o.resume && o.journal.empty())
    throw usage_error("resume: it needs the folder of the interrupted run's journal in --journal");
  const auto begin = std::chrono::steady_clock::now();
  const std::string begun = now_text();
  const run_request request = request_of(o);
  const std::unique_ptr<mps_daemon> mps = mps_if(o.mps, request.device);
  fmt::print("warpcheck {}: {}, candidate {}, seed {}\n", WARPCHECK_VERSION, request.device_note, o.candidate,
             request.seed);
  std::fflush(stdout);

  left_out_properties left_out;
  const std::vector<planned_job> jobs = plan_jobs(request, left_out);
  supervise_options options = supervision_of(request, jobs);
  options.on_first_cases = [&](const std::vector<job_result>& first, double seconds) {
    print_first_cases(jobs, first, seconds);
  };
  std::vector<job> list;
  for (const planned_job& j : jobs) list.push_back(j.j);
  const interrupt_watch watch;  // what follows the run is finished, whatever the user presses
  run_result_set results = supervise(list, options);
  const job_result regressions = options.first.empty() ? job_result() : take_regressions(results);

  explanations explained;
  std::vector<case_report> failures = shrink_failures(jobs, results, request, explained);
  results.interrupted |= interrupt_watch::seen();
  fmt::print("\n");
  print_table(jobs, results);
  const coverage_result coverage =
      coverage_of(jobs, results.jobs, request, !results.interrupted && !results.failed_fast);
  const std::vector<std::string> unjudged = nothing_judged(jobs, results, left_out);
  const std::vector<formula_verdict> formulas = formula_verdicts(jobs, results.jobs);
  const int code = conclude(request, sum_of(regressions, results), results, coverage, unjudged, left_out, formulas);
  const asked_properties asked = asked_of(request, jobs, results);
  std::vector<admitted_statement> admitted;
  if (!results.interrupted) admitted = admitted_statements(jobs, results.jobs);
  for (const admitted_statement& a : admitted) fmt::print("{}\n", text_of(a));
  print_exact_runs(jobs, results);
  failures.insert(failures.begin(), regressions.failures.begin(), regressions.failures.end());
  if (!o.json.empty()) {
    nlohmann::json j =
        result_json(request, jobs, results, failures_json(failures, explained), coverage, regressions.cases, code);
    j["device_name"] = request.device_note;
    j["nothing_judged"] = unjudged;
    j["asked"] = to_json(asked);
    j["admitted"] = to_json(admitted);
    for (const formula_verdict& f : formulas) j["formulas"].push_back(to_json(f));
    j["not_run"] = not_run_json(not_run(request, jobs, left_out));
    for (const property& p : all_properties()) j["sentences"][p.op + "/" + p.name] = p.sentence;
    j["timing"]["begun"] = begun;
    write_file(o.json, j.dump(1) + "\n");
  }
  if (!o.junit.empty())
    write_file(o.junit, junit_xml(junit_cases(jobs, results, failures, regressions, coverage, unjudged)));
  fmt::print("{}; {:.1f} s in all, including the work before and after the cases\n", text_of(asked),
             seconds_since(begin));
  return code;
}

int replay(const replay_options& o) {
  trial_case c = parse_case_line(o.line);
  if (!o.arrays.empty()) return write_arrays(c, o.arrays);
  if (!o.candidate.empty()) c.knobs["candidate"] = o.candidate;
  std::string device = o.device.empty() ? c.knob("device") : o.device, note;
  device = resolve_device(device, note);
  c.knobs["device"] = device;
  prepare_named(c, o.is_isolated);
  fmt::print("{}\n", note);
  std::fflush(stdout);
  const shown_output shown;
  std::optional<progress_line> waiting("replay");
  const case_report r =
      run_contained([&](const trial_case& one) { return shown.run(one); }, c, timeout_of(o.timeout, device));
  waiting.reset();
  if (r.result == verdict::pass)
    fmt::print("{}/{}: {} ({} elements compared, {} launches, worst error/bound {:.3f}){}\n", c.op, c.property,
               in_green("pass"), r.compared, r.launches, r.max_error_ratio,
               r.is_every_schedule ? "\nevery schedule: proven for this input" : "");
  else
    fmt::print("{}", colored_failure(describe(r)));
  if (!o.json.empty()) write_file(o.json, to_json(r) + "\n");
  return r.result == verdict::pass ? k_pass : k_violation;
}

}  // namespace warpcheck::cli
