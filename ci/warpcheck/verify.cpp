#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "ci/warpcheck/commands.hpp"
#include "ci/warpcheck/source_candidate.hpp"
#include "ci/warpcheck/support.hpp"
#include "properties/engine/contain.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/generate.hpp"
#include "properties/engine/npy.hpp"
#include "properties/engine/run_case.hpp"
#include "properties/engine/shrink.hpp"
#include "properties/engine/supervisor.hpp"

namespace warpcheck::cli {
namespace {

using namespace engine;

// One line of the final table.
struct planned_job {
  const property* p;
  target t;
  job j;
};

int size_class(const std::string& text) {
  constexpr std::string_view names[] = {"quick", "ci", "full"};
  for (int i = 0; i < 3; ++i)
    if (names[i] == text) return i;
  throw usage_error(fmt::format("size: '{}' is not one of quick, ci, full", text));
}

void check_names(const verify_options& o, const std::vector<std::string>& ops) {
  for (const std::string& name : o.properties) {
    const auto has = [&](const property& p) {
      return p.name == name && std::find(ops.begin(), ops.end(), p.op) != ops.end();
    };
    if (std::none_of(all_properties().begin(), all_properties().end(), has))
      find_property(ops.front(), name);  // throws, naming what exists
  }
  for (const std::string& name : o.dtypes)
    if (!dtype_from_name(name))
      throw usage_error(
          fmt::format("dtype: '{}' is unknown; known are f16, bf16, f32, f64, i32, i64, u8, u16, u32", name));
}

std::vector<std::string> chosen_operators(const verify_options& o) {
  const std::vector<std::string> known = operators_with_properties();
  for (const std::string& op : o.operators)
    if (std::find(known.begin(), known.end(), op) == known.end()) throw usage_error(unknown_operator(op));
  return o.operators.empty() ? known : o.operators;
}

std::optional<tensor_spec> input_tensor(const verify_options& o) {
  if (o.input.empty()) return std::nullopt;
  const npy_array array = read_npy(o.input);
  tensor_spec x = input_matrix("x", array.type, array.rows, array.cols, {});
  x.fill.distribution = "npy";
  x.fill.path = o.input;
  x.fill.sha256 = array.sha256;
  if (o.input.find_first_of(" ,()|") != std::string::npos)
    throw usage_error(
        fmt::format("input: '{}' holds a blank, comma, parenthesis or bar, which a case line cannot carry", o.input));
  return x;
}

std::vector<planned_job> plan(const verify_options& o, const std::string& device, uint64_t seed) {
  const std::vector<std::string> ops = chosen_operators(o);
  check_names(o, ops);
  const int size = size_class(o.size);
  const std::optional<tensor_spec> input = input_tensor(o);
  std::vector<planned_job> jobs;
  for (const std::string& op : ops) {
    const std::vector<target> targets = ask_targets(o.candidate, op, device);
    for (const property& p : all_properties()) {
      if (p.op != op) continue;
      if (!o.properties.empty() && std::find(o.properties.begin(), o.properties.end(), p.name) == o.properties.end())
        continue;
      for (target t : targets) {
        if (std::find(p.types.begin(), p.types.end(), t.type) == p.types.end()) continue;
        if (!o.dtypes.empty() && std::find(o.dtypes.begin(), o.dtypes.end(), name_of(t.type)) == o.dtypes.end())
          continue;
        t.size = size;
        planned_job planned{&p, t, {}};
        planned.j.id = fmt::format("{}/{} {} {}", op, p.name, name_of(t.type), device);
        if (input) {
          if (!p.for_input || t.type != input->type) continue;
          trial_case c = p.for_input(t, *input);
          c.property = p.name;
          planned.j.count = 1;
          planned.j.make = [c](int64_t) { return c; };
        } else {
          planned.j.count = std::max<int64_t>(1, o.cases * p.share_percent / 100);
          planned.j.make = [&p, t, seed](int64_t index) { return generate_case(p, t, seed, index); };
        }
        jobs.push_back(std::move(planned));
      }
    }
  }
  if (jobs.empty())
    throw usage_error(
        input
            ? fmt::format("input: no property of {} judges an array of {}", fmt::join(ops, ", "), name_of(input->type))
            : "verify: no property fits these operators, dtypes and properties, so there is nothing to run");
  return jobs;
}

// Variants that the candidate's own dispatch can pick and that no case reached: the generators have a hole.
std::vector<std::string> unreached_variants(const std::vector<planned_job>& jobs, const run_result_set& results,
                                            const verify_options& o) {
  std::vector<std::string> unreached;
  // A quota is a promise of a whole run; a run that was narrowed or cut short makes none.
  if (!o.input.empty() || !o.properties.empty() || o.shard != "0/1" || o.cases < 20 || results.interrupted)
    return unreached;
  std::map<std::string, std::set<std::string>> ran, offered;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const target& t = jobs[i].t;
    const std::string key = fmt::format("{} {}", t.op, name_of(t.type));
    for (const auto& [variant, cases] : results.jobs[i].variants) ran[key].insert(variant);
    for (const target::variant& v : t.variants)
      if (v.dispatch_max < 0 || v.dispatch_min <= v.dispatch_max) offered[key].insert(v.name);
  }
  for (const auto& [key, names] : offered)
    for (const std::string& name : names)
      if (!ran[key].empty() && !ran[key].count(name)) unreached.push_back(key + " " + name);
  return unreached;
}

// A terminal sees one line that changes; a file gets the last one only.
void print_progress(const progress& p, bool terminal) {
  static int64_t last = -1;
  if (p.done == p.total && last == p.total) return;
  last = p.done;
  const std::string text =
      fmt::format("{}/{} cases, {:.0f} cases/s, worst error/bound {:.3f}, {} failures, {:.0f} s left", p.done, p.total,
                  p.cases_per_second, p.worst_budget, p.failures, p.eta_seconds);
  if (terminal) {
    fmt::print(stderr, "\r\033[K{}", text);
    if (p.done == p.total) fmt::print(stderr, "\r\033[K");
  } else if (p.done == p.total) {
    fmt::print(stderr, "{}\n", text);
  }
  std::fflush(stderr);
}

std::string budget_text(const job_result& r) { return r.compared > 0 ? fmt::format("{:.3f}", r.max_budget) : "-"; }

void print_table(const std::vector<planned_job>& jobs, const run_result_set& results) {
  // One row per property: dtypes are folded, the worst decides.
  fmt::print("{:<12} {:<30} {:>8} {:>17} {:>9}  {}\n", "operator", "property", "cases", "worst error/bound", "cases/s",
             "verdict");
  for (size_t i = 0; i < jobs.size();) {
    job_result sum = results.jobs[i];
    const property* p = jobs[i].p;
    for (++i; i < jobs.size() && jobs[i].p == p; ++i) {
      const job_result& r = results.jobs[i];
      sum.cases += r.cases;
      sum.compared += r.compared;
      sum.skipped += r.skipped;
      sum.seconds += r.seconds;
      sum.max_budget = std::max(sum.max_budget, r.max_budget);
      sum.worst = std::max(sum.worst, r.worst);
    }
    fmt::print("{:<12} {:<30} {:>8} {:>17} {:>9.0f}  {}{}\n", p->op, p->name, sum.cases, budget_text(sum),
               sum.seconds > 0 ? static_cast<double>(sum.cases) / sum.seconds : 0.0, name_of(sum.worst),
               sum.skipped ? fmt::format(" ({} skipped)", sum.skipped) : "");
  }
}

nlohmann::json result_json(const verify_options& o, const std::string& device, uint64_t seed,
                           const std::vector<planned_job>& jobs, const run_result_set& results,
                           const std::vector<case_report>& failures, const std::vector<std::string>& unreached,
                           int code) {
  nlohmann::json list = nlohmann::json::array(), found = nlohmann::json::array(), seconds = nlohmann::json::object();
  for (size_t i = 0; i < jobs.size(); ++i) {
    const job_result& r = results.jobs[i];
    nlohmann::json j = {{"operator", jobs[i].p->op},
                        {"property", jobs[i].p->name},
                        {"dtype", name_of(jobs[i].t.type)},
                        {"device", device},
                        {"cases", r.cases},
                        {"skipped", r.skipped},
                        {"launches", r.launches},
                        {"compared", r.compared},
                        {"escalated", r.escalated},
                        {"max_budget", r.max_budget},
                        {"max_ulp", r.max_ulp},
                        {"verdict", name_of(r.worst)},
                        {"variants", r.variants}};
    if (r.worst_budget_case) j["worst"] = nlohmann::json::parse(to_json(*r.worst_budget_case));
    list.push_back(std::move(j));
    seconds[r.id] = r.seconds;
  }
  for (const case_report& r : failures) found.push_back(nlohmann::json::parse(to_json(r)));
  return {{"schema", "warpcheck-verify-1"},
          {"version", WARPCHECK_VERSION},
          {"candidate", o.candidate},
          {"device", device},
          {"seed", seed},
          {"cases", o.cases},
          {"exit_code", code},
          {"interrupted", results.interrupted},
          {"jobs", list},
          {"failures", found},
          {"unreached_variants", unreached},
          // Everything above is the same on every run of the same options; times are not.
          {"timing", {{"seconds", results.seconds}, {"job_seconds", seconds}}}};
}

}  // namespace

int verify(const verify_options& o) {
  if (o.cases < 1)
    throw usage_error(fmt::format("cases: {} is not at least 1: a run of zero cases proves nothing", o.cases));
  if (o.resume && o.journal.empty())
    throw usage_error("resume: it needs the folder of the interrupted run's journal in --journal");
  if (!(o.timeout > 0)) throw usage_error(fmt::format("timeout: {} is not a positive number of seconds", o.timeout));
  if (o.workers < 0) throw usage_error(fmt::format("workers: {} is negative; 0 means one per core", o.workers));
  const uint64_t seed = parse_seed(o.seed);
  const auto [shard, shards] = parse_shard(o.shard);
  chosen_operators(o);  // a misspelt operator is answered before a device is looked for
  std::string note;
  const std::string device = resolve_device(o.device, note);
  fmt::print("warpcheck {}: {}, candidate {}, seed {}\n", WARPCHECK_VERSION, note, o.candidate, seed);
  std::fflush(stdout);

  const std::vector<planned_job> jobs = plan(o, device, seed);
  supervise_options options;
  // On a GPU most of a case's time is the reference's on the host, so several workers pay; each holds a CUDA context of
  // about half a gigabyte, so not one per core.
  constexpr int k_cuda_workers = 8;
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  options.workers = o.workers == 0 && device == "cuda" ? std::clamp(cores, 1, k_cuda_workers) : o.workers;
  options.timeout_seconds = o.timeout;
  options.journal_folder = o.journal;
  options.resume = o.resume;
  options.fingerprint =
      fmt::format("{} {} {} {} {} {} {}", WARPCHECK_VERSION, device, o.candidate, seed, o.cases, o.size, o.input);
  options.shard_index = shard;
  options.shard_count = shards;
  options.run = run_case;
  const bool terminal = isatty(STDERR_FILENO);
  options.on_progress = [terminal](const progress& p) { print_progress(p, terminal); };
  std::vector<job> list;
  for (const planned_job& j : jobs) list.push_back(j.j);
  const run_result_set results = supervise(list, options);

  // The first failure of every property, shrunk; one report per property is what a person can act on.
  std::vector<case_report> failures;
  const property* reported = nullptr;
  for (size_t i = 0; i < jobs.size(); ++i) {
    for (const case_report& f : results.jobs[i].failures) {
      // A case that died while it was made has no line to try again.
      if (jobs[i].p == reported || results.interrupted || f.line.empty()) {
        failures.push_back(f);
        continue;
      }
      reported = jobs[i].p;
      escalate_options how;
      how.run = run_case;
      how.repair = jobs[i].p->repair;
      how.timeout_seconds = o.timeout;
      failures.push_back(escalate(f, parse_case_line(f.line), how));
      fmt::print("\n{}", describe(failures.back()));
    }
  }
  fmt::print("\n");
  print_table(jobs, results);

  int64_t cases = 0, skipped = 0, launches = 0, compared = 0;
  verdict worst = verdict::pass;
  for (const job_result& r : results.jobs) {
    cases += r.cases;
    skipped += r.skipped;
    launches += r.launches;
    compared += r.compared;
    worst = std::max(worst, r.worst);
  }
  const std::vector<std::string> unreached = unreached_variants(jobs, results, o);
  for (const std::string& v : unreached) fmt::print("quota: no case reached the variant {}\n", v);
  fmt::print("{} cases, {} launches, {} elements compared in {:.1f} s ({:.0f} cases/s){}\n", cases, launches, compared,
             results.seconds, results.seconds > 0 ? static_cast<double>(cases) / results.seconds : 0.0,
             skipped ? fmt::format(", {} skipped", skipped) : "");
  int code = k_pass;
  if (worst > verdict::skipped || !unreached.empty()) code = k_violation;
  // Whoever names a device is owed every case on it, by us; another candidate may offer less, and the table says so.
  if (skipped > 0 && o.device != "auto" && o.candidate == "builtin") code = k_violation;
  for (const job_result& r : results.jobs)
    if (r.first_skipped) fmt::print("skipped: {} ({} cases): {}\n", r.id, r.skipped, r.first_skipped->message);
  if (cases == 0 || (cases == skipped && o.device != "auto")) {
    fmt::print("no case was judged, so nothing is proven\n");
    code = k_violation;
  }
  if (results.interrupted) {
    fmt::print("interrupted: the finished cases are in this table{}\n",
               o.journal.empty() ? "" : "; --resume continues");
    code = k_interrupted;
  }
  if (!o.json.empty())
    write_file(o.json, result_json(o, device, seed, jobs, results, failures, unreached, code).dump(1) + "\n");
  return code;
}

int replay(const replay_options& o) {
  trial_case c = parse_case_line(o.line);
  if (!o.candidate.empty()) c.knobs["candidate"] = o.candidate;
  std::string device = o.device.empty() ? c.knob("device") : o.device, note;
  device = resolve_device(device, note);
  c.knobs["device"] = device;
  prepare_named_source(c.knob("candidate"), c.op, device);
  fmt::print("{}\n", note);
  std::fflush(stdout);
  const case_report r = run_contained(run_case, c, o.timeout);
  if (r.result == verdict::pass)
    fmt::print("{}/{}: pass ({} elements compared, {} launches, worst error/bound {:.3f})\n", c.op, c.property,
               r.compared, r.launches, r.max_budget);
  else
    fmt::print("{}", describe(r));
  if (!o.json.empty()) write_file(o.json, to_json(r) + "\n");
  return r.result == verdict::pass ? k_pass : k_violation;
}

}  // namespace warpcheck::cli
