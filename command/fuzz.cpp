#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "command/asked.hpp"
#include "command/coverage.hpp"
#include "command/ending.hpp"
#include "command/fuzz_state.hpp"
#include "command/mps.hpp"
#include "command/plan.hpp"
#include "command/progress.hpp"
#include "command/report/causes.hpp"
#include "command/report/failure_json.hpp"
#include "command/report/junit.hpp"
#include "command/request.hpp"
#include "command/support.hpp"
#include "golden/reader.hpp"
#include "properties/engine/cases/classes.hpp"
#include "properties/engine/cases/generate.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/files/json_number.hpp"
#include "properties/engine/processes/run_folder.hpp"
#include "properties/engine/trials/run_case.hpp"

namespace warpcheck::cli {
namespace {

using namespace engine;
namespace fs = std::filesystem;
using steady = std::chrono::steady_clock;

// Failures of one property and verdict that are shrunk; further ones are only counted. A kernel that is wrong
// everywhere must not spend the night on one bug.
constexpr int64_t k_most_minimised = 8;
// For a property, element type and device in a round.
constexpr int k_most_failures = 3;
// Cases per (property, dtype) of a round: few, so that a short run reaches every property.
constexpr int64_t k_round = 20;
constexpr size_t k_most_state_bytes = size_t{256} << 20;

// Returns the first "NAME VALUE" of options "NAME VALUE NAME VALUE ..." that differs from others with the same names.
std::string first_difference(const std::string& options, const std::string& others) {
  const auto at = std::mismatch(options.begin(), options.end(), others.begin(), others.end()).first;
  size_t begin = 0;
  bool is_value = false;
  for (auto i = options.begin(); i != at; ++i) {
    if (*i != ' ') continue;
    if (is_value) begin = static_cast<size_t>(i - options.begin()) + 1;
    is_value = !is_value;
  }
  const size_t value = options.find(' ', begin) + 1;
  return options.substr(begin, options.find(' ', value) - begin);
}

double parse_time(const std::string& text) {
  if (text.empty()) return 0;
  double unit = 1;
  std::string digits = text;
  switch (text.back()) {
    case 's': unit = 1; break;
    case 'm': unit = 60; break;
    case 'h': unit = 3600; break;
    case 'd': unit = 86400; break;
    default: digits += 's';
  }
  digits.pop_back();
  const double value = parse_number(digits).value_or(0);
  if (!(value > 0 && value < 1e6))
    throw usage_error(fmt::format("time: '{}' is not a duration like 90s, 10m, 8h or 1d", text));
  return value * unit;
}

// Adds a round's results to the totals and the coverage of a state.
void add_results(fuzz_state& s, const std::vector<planned_job>& jobs, const run_result_set& results) {
  s.seconds += results.seconds;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const job_result& r = results.jobs[i];
    fuzz_totals& t = s.totals[jobs[i].p->op + "/" + jobs[i].p->name];
    add(t, r);
    t.max_error_ratio = std::max(t.max_error_ratio, r.max_error_ratio);
    fuzz_coverage& c = s.coverage[fmt::format("{} {}", jobs[i].p->op, warpcheck::name_of(jobs[i].t.type))];
    for (const auto& [name, cases] : r.classes) c.classes[name] += cases;
    for (const auto& [name, cases] : r.combinations) c.combinations[name] += cases;
    for (const auto& [name, cases] : r.variants) c.variants[name] += cases;
  }
}

class fuzzer {
 public:
  explicit fuzzer(const fuzz_options& options)
      : o_(options), budget_(parse_time(options.time)), request_(request_of(options.what)) {
    if (o_.out.empty()) throw usage_error("out: the path of the folder is empty");
    if (o_.cases < 0) throw usage_error(fmt::format("cases: {} is negative; 0 means no limit", o_.cases));
    if (request_.shards > 1 && o_.what.seed == "random")
      throw usage_error(fmt::format(
          "shard: the parts of '{}' are disjoint only under one seed; give --seed the same number in every shard",
          o_.what.shard));
    mps_ = mps_if(o_.what.mps, request_.device);
    open_folder();
    request_.seed = state_.seed;
    jobs_ = plan_jobs(request_, left_out_);
  }

  int run() {
    fmt::print("warpcheck {}: {}, candidate {}, seed {}, {} in {}\n", WARPCHECK_VERSION, request_.device_note,
               o_.what.candidate, state_.seed,
               state_.rounds > 0 ? fmt::format("going on after {} rounds", state_.rounds) : "fuzzing", o_.out);
    std::fflush(stdout);
    // supervise() ends a round on its own; a failure that is being shrunk is shrunk again by the next run.
    const interrupt_watch watch;
    replay_first();
    while (!over_) shown_ = run_round();
    return finish();
  }

 private:
  std::string shard_folder() const {
    return (fs::path(o_.out) / fmt::format("shard-{}-of-{}", request_.shard, request_.shards)).string();
  }
  std::string state_path() const { return (fs::path(shard_folder()) / "state.json").string(); }
  std::string findings_folder() const { return (fs::path(o_.out) / "findings").string(); }
  std::string round_folder(int64_t round) const {
    return (fs::path(shard_folder()) / fmt::format("round-{}", round)).string();
  }
  double left() const { return budget_ - std::chrono::duration<double>(steady::now() - begin_).count(); }
  bool out_of_time() const { return budget_ > 0 && left() <= 0; }
  void save() const { write_file(state_path(), to_json(state_)); }

  void open_folder() {
    std::error_code error;
    for (const std::string& folder : {shard_folder(), findings_folder()}) {
      fs::create_directories(folder, error);
      if (error) throw environment_error(fmt::format("out: cannot make the folder '{}': {}", folder, error.message()));
    }
    lock_.take(shard_folder());
    const std::string asked = fmt::format(
        "operators {} properties {} dtypes {} device {} candidate {} size {} max-rows {} max-cols {} without {}",
        fmt::join(request_.operators, ","), fmt::join(o_.what.properties, ","), fmt::join(o_.what.dtypes, ","),
        request_.device, o_.what.candidate, o_.what.size, o_.what.max_rows, o_.what.max_cols,
        fmt::join(o_.what.without, ","));
    if (fs::exists(state_path())) {
      state_ = fuzz_state_from_json(golden::read_text(state_path(), k_most_state_bytes), state_path());
      if (state_.options != asked)
        throw usage_error(fmt::format("out: '{}' holds a run with '{}', this one has '{}'; choose another folder",
                                      o_.out, first_difference(state_.options, asked),
                                      first_difference(asked, state_.options)));
      if (o_.what.seed != "random" && request_.seed != state_.seed)
        throw usage_error(fmt::format("seed: '{}' holds a run of seed {}, {} was given; leave --seed out to go on",
                                      o_.out, state_.seed, o_.what.seed));
    } else {
      state_.options = asked;
      // A golden header can hold 53 bits.
      state_.seed = o_.what.seed == "random" ? request_.seed >> 11 : request_.seed;
    }
    for (const fuzz_finding& f : state_.findings)
      if (!f.report.empty()) causes_.add(f.name, report_from_json(f.report));
    save();
    // Removes a round that was added to the state before the run was killed.
    for (const fs::directory_entry& entry : fs::directory_iterator(shard_folder()))
      if (entry.is_directory() && entry.path() != round_folder(state_.rounds)) fs::remove_all(entry.path(), error);
    shown_ = state_;
  }

  supervise_options how() const {
    supervise_options s;
    s.workers = request_.workers;
    s.timeout_seconds = request_.timeout;
    s.shared_device = request_.device == "cuda";
    s.at_start = choose_gpu;
    s.run = run_case;
    s.on_progress = print_progress;
    return s;
  }

  // Counterexamples of earlier runs: those of the repository, which must pass, and the findings of this folder.
  void replay_first() {
    std::vector<trial_case> known = regressions_for(o_.what.regressions, jobs_, request_.device, o_.what.candidate);
    const size_t regressions = known.size();
    for (const fuzz_finding& f : state_.findings) known.push_back(parse_case_line(f.line));
    if (known.empty()) return;
    supervise_options s = how();
    s.max_failures_per_job = 0;
    const run_result_set results = supervise(
        {{"known", [&](int64_t i) { return known[static_cast<size_t>(i)]; }, static_cast<int64_t>(known.size())}}, s);
    interrupted_ = over_ = results.interrupted;
    known_failures_ = results.jobs[0].failures;
    for (const case_report& r : known_failures_) fmt::print("known counterexample: {}", describe(r));
    fmt::print("{} regressions and {} findings of this folder replayed first: {} still fail\n", regressions,
               state_.findings.size(), known_failures_.size());
    std::fflush(stdout);
  }

  // Runs the next round; returns the state that includes it.
  fuzz_state run_round() {
    const int64_t begin = state_.rounds * k_round;
    const int64_t end = o_.cases > 0 ? std::min(begin + k_round, o_.cases) : begin + k_round;
    if (begin >= end) {
      over_ = true;
      return state_;
    }
    std::vector<job> list;
    for (const planned_job& j : jobs_) {
      // A property with a share has its first case in the first round, and its share of all rounds together.
      const auto index_of = [&](int64_t n) { return (n * j.p->share_percent + 99) / 100; };
      const int64_t first = index_of(begin);
      list.push_back({j.j.id, [this, &j, first](int64_t i) { return generate_case(*j.p, j.t, state_.seed, first + i); },
                      index_of(end) - first,
                      [this, &j, first](int64_t i, int64_t attempt) {
                        return generate_case(*j.p, j.t, state_.seed, first + i, attempt);
                      },
                      j.j.cost});
    }
    supervise_options s = how();
    s.journal_folder = round_folder(state_.rounds);
    s.resume = true;
    s.fingerprint = fmt::format("{} {} {}", WARPCHECK_VERSION, state_.options, state_.seed);
    s.shard_index = request_.shard;
    s.shard_count = request_.shards;
    s.max_failures_per_job = k_most_failures;
    if (budget_ > 0) s.time_budget_seconds = std::max(0.001, left());
    const run_result_set results = supervise(list, s);
    interrupted_ = results.interrupted;
    over_ = interrupted_ || results.out_of_time;
    for (size_t i = 0; i < jobs_.size(); ++i)
      for (const case_report& f : results.jobs[i].failures)
        if (!interrupted_) judge(*jobs_[i].p, f);
    over_ = over_ || interrupted_;
    // Not what judge() kept: it keeps no failure twice, and a killed run reported none that it judged.
    for (const job_result& r : results.jobs) failed_ += static_cast<int64_t>(r.failures.size());
    for (const job_result& r : results.jobs)
      if (r.stopped) fmt::print("{}: left in this round after {} failures\n", r.id, r.failures.size());
    fuzz_state shown = state_;
    add_results(shown, jobs_, results);
    if (over_) return shown;
    ++shown.rounds;
    state_ = shown;
    save();
    std::error_code ignored;
    fs::remove_all(round_folder(state_.rounds - 1), ignored);
    interrupted_ = interrupt_watch::seen();
    over_ = interrupted_ || out_of_time();
    return shown;
  }

  // Shrinks a failure and stores it, unless it is known.
  void judge(const property& p, const case_report& failure) {
    // A case that died while it was made has no line.
    if (failure.line.empty() || state_.judged.count(failure.line)) return;
    int64_t& minimised = state_.minimised[fmt::format("{}/{} {}", p.op, p.name, name_of(failure.result))];
    if (minimised >= k_most_minimised) return;
    const case_report smallest = confirm_failure(failure, p, request_);
    interrupted_ = interrupt_watch::seen();
    if (interrupted_) return;
    ++minimised;
    try {
      state_.judged[failure.line] = keep(smallest);
    } catch (const usage_error& error) {
      fmt::print("\na failure that cannot be kept ({}): {}", error.what(), describe(smallest));
      state_.judged[failure.line] = "";
    }
    save();
  }

  // Returns the name of the finding that the failure is, or belongs to.
  std::string keep(const case_report& smallest) {
    fuzz_finding f = make_finding(smallest);
    if (fuzz_finding* known = state_.find(f)) {
      ++known->failures;
      return known->name;
    }
    write_finding(findings_folder(), f, smallest, state_.seed,
                  fmt::format("Found by warpcheck {} fuzz, {}, candidate {}, seed {}.", WARPCHECK_VERSION,
                              request_.device_note, o_.what.candidate, state_.seed));
    fmt::print("\nfinding {}: {}", f.name,
               causes_.add(f.name, smallest) ? describe(smallest) : causes_.reference(smallest) + "\n");
    std::fflush(stdout);
    state_.findings.push_back(f);
    return f.name;
  }

  int finish() {
    int64_t cases = 0, skipped = 0, launches = 0;
    fmt::print("\n{:<12} {:<30} {:>9} {:>9} {:>17}  {}\n", "operator", "property", "cases", "failures",
               "worst error/bound", "probability of failure (95 %)");
    for (const auto& [name, t] : shown_.totals) {
      const size_t slash = name.find('/');
      const int64_t judged = t.cases - t.skipped;
      // The rule of three: without a failure in n independent cases, p < 1 - 0.05^(1/n) < 3/n with 95 % confidence.
      fmt::print("{:<12} {:<30} {:>9} {:>9} {:>17.3f}  {}\n", name.substr(0, slash), name.substr(slash + 1), t.cases,
                 t.failures, t.max_error_ratio,
                 t.failures   ? ""
                 : judged > 0 ? fmt::format("p < {:.2g}", 3.0 / static_cast<double>(judged))
                              : "-");
      cases += t.cases;
      skipped += t.skipped;
      launches += t.launches;
    }
    for (const coverage_result::group& g : groups())
      fmt::print("coverage {}: {} of {} combinations of shape, values and variant\n", g.name, g.reached, g.possible);
    const double rate = shown_.seconds > 0 ? static_cast<double>(cases) / shown_.seconds : 0;
    fmt::print("{} cases, {} launches in {:.1f} s ({:.0f} cases/s){}; {} findings in {}\n", cases, launches,
               shown_.seconds, rate, skipped ? fmt::format(", {} skipped", skipped) : "", state_.findings.size(),
               findings_folder());
    if (failed_ > 0) fmt::print("{} cases failed in the rounds of this run\n", failed_);
    const int code = conclude(request_,
                              {cases, skipped, failed_ > 0 || !known_failures_.empty(), unjudged(),
                               interrupted_ ? "the finished cases are kept; the same command resumes" : ""},
                              left_out_);
    fmt::print("{}\n", text_of(asked()));
    if (!o_.what.json.empty()) write_file(o_.what.json, json(code, cases, rate));
    if (!o_.what.junit.empty()) write_file(o_.what.junit, junit());
    return code;
  }

  // Operators and properties without judgement in any round.
  std::vector<std::string> unjudged() const {
    return without_judgement({shown_.totals.begin(), shown_.totals.end()}, left_out_);
  }

  asked_properties asked() const {
    std::set<std::string> judged;
    for (const auto& [name, t] : shown_.totals)
      if (t.cases > t.skipped) judged.insert(name);
    return count_asked(request_, judged);
  }

  std::vector<coverage_result::group> groups() const {
    std::vector<coverage_result::group> list;
    for (const auto& [name, c] : shown_.coverage) {
      std::vector<extent_range> ranges;
      for (const planned_job& j : jobs_)
        if (ranges.empty() && fmt::format("{} {}", j.p->op, warpcheck::name_of(j.t.type)) == name)
          for (const target::variant& v : j.t.variants) ranges.push_back({v.ranges.back().min, v.ranges.back().max});
      list.push_back({name, c.classes, static_cast<int64_t>(c.combinations.size()), combinations(ranges)});
    }
    return list;
  }

  std::string json(int code, int64_t cases, double rate) const {
    nlohmann::json properties = nlohmann::json::array(), coverage = nlohmann::json::array(),
                   findings = nlohmann::json::array();
    for (const auto& [name, t] : shown_.totals) {
      nlohmann::json j = {{"property", name},       {"cases", t.cases},
                          {"skipped", t.skipped},   {"failures", t.failures},
                          {"compared", t.compared}, {"max_error_ratio", json_number(t.max_error_ratio)}};
      if (t.failures == 0 && t.cases > t.skipped)
        j["failure_probability_below"] = 3.0 / static_cast<double>(t.cases - t.skipped);
      properties.push_back(std::move(j));
    }
    for (const coverage_result::group& g : groups())
      coverage.push_back({{"name", g.name}, {"classes", g.classes}, {"reached", g.reached}, {"possible", g.possible}});
    for (const fuzz_finding& f : state_.findings) {
      findings.push_back({{"name", f.name},
                          {"verdict", f.verdict},
                          {"shape_class", f.shape},
                          {"case", f.line},
                          {"message", f.message},
                          {"failures", f.failures}});
      // A state of an earlier version has no reports.
      if (f.report.empty()) continue;
      const case_report r = report_from_json(f.report);
      findings.back()["report"] = failure_json(r);
      if (!interrupted_ && !interrupt_watch::seen())
        add_explanation(findings.back()["report"], explain_failure(r, request_));
    }
    return nlohmann::json{{"schema", "warpcheck-fuzz-1"},
                          {"version", WARPCHECK_VERSION},
                          {"candidate", o_.what.candidate},
                          {"device", request_.device},
                          {"device_name", request_.device_note},
                          {"options", state_.options},
                          {"seed", state_.seed},
                          {"shard", o_.what.shard},
                          {"rounds", shown_.rounds},
                          {"cases", cases},
                          {"exit_code", code},
                          {"interrupted", interrupted_},
                          {"properties", properties},
                          {"coverage", coverage},
                          {"nothing_judged", unjudged()},
                          {"asked", to_json(asked())},
                          {"findings", findings},
                          {"timing", {{"begun", begun_}, {"seconds", shown_.seconds}, {"cases_per_second", rate}}}}
               .dump(1, ' ', true, nlohmann::json::error_handler_t::replace) +
           "\n";
  }

  std::string junit() const {
    std::vector<junit_case> list;
    for (const auto& [name, t] : shown_.totals) {
      const size_t slash = name.find('/');
      junit_case c{name.substr(0, slash), name.substr(slash + 1), 0, "", "", "", t.cases == t.skipped};
      for (const fuzz_finding& f : state_.findings) {
        if (f.op + "/" + f.property != name) continue;
        c.failure = f.verdict;
        c.message = f.message;
        c.details += fmt::format("finding {}: {}\n  {}\n", f.name, f.message, replay_command(f.line));
      }
      list.push_back(std::move(c));
    }
    for (const std::string& subject : unjudged())
      list.push_back({subject, "judged", 0, "nothing judged", nothing_judged_text(subject), "", false});
    for (const case_report& r : known_failures_)
      list.push_back({"regressions", r.line, 0, std::string(name_of(r.result)), r.message, describe(r), false});
    return junit_xml(list);
  }

  const fuzz_options& o_;
  const steady::time_point begin_ = steady::now();
  const std::string begun_ = now_text();  // of this process
  const double budget_;                   // seconds; 0: none
  run_request request_;                   // of `o_.what`, with the seed of the state
  std::unique_ptr<mps_daemon> mps_;
  folder_lock lock_;
  fuzz_state state_;  // as on the disk
  fuzz_state shown_;  // including the results of a round that did not end
  std::vector<planned_job> jobs_;
  left_out_properties left_out_;
  std::vector<case_report> known_failures_;
  cause_groups causes_;  // of the findings
  int64_t failed_ = 0;   // cases of the rounds that this process ran or resumed
  bool interrupted_ = false, over_ = false;
};

}  // namespace

int fuzz(const fuzz_options& o) { return fuzzer(o).run(); }

}  // namespace warpcheck::cli
