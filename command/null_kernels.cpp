#include "command/null_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "command/plan.hpp"
#include "command/progress.hpp"
#include "command/support.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/generate.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/processes/supervisor.hpp"
#include "properties/engine/trials/null_kernels.hpp"
#include "properties/engine/trials/run_case.hpp"

namespace warpcheck::cli {
namespace {

using namespace engine;

// Quotas of properties that many operators have.
constexpr null_kernel_quota k_quotas[] = {
    {"empty", 100, "without elements there is nothing to compute, and nothing_written is right"},
    {"equal-logits-equal-bits", 45, "rows of equal logits are what it is about, and their answer is constant"},
    {"no-hazard", 40, "it looks at the way to the values, not at the values"},
    {"reused-storage", 40, "a run has few cases of it, and of a short row the answer is one that one can guess"},
    {"batch-invariance", 60, "a run has few cases of it, and a constant keeps its bits in any batch"},
    {"golden", 100, "fixed files, not generated cases: rows of one element and of NaN belong to them"},
    {"dispatch-boundaries", 40, "rows of one and two elements are among the boundaries"},
    {"large-offset", 0, "not tried: the host's memory for such rows would be touched whole"},
};
constexpr null_kernel_quota k_usual_quota = {"", 15,
                                             "rows of one element, of equal logits or with a NaN can be guessed"};
// Null kernels are the same for rows of any length, and six wrong answers a case each make the reference use 50 digits.
constexpr int64_t k_null_cols = int64_t{1} << 16;

// `pass` if any null kernel passes the case; the variant that ran then has its name.
case_report try_null_kernels(const trial_case& c) {
  case_report report;
  for (const std::string_view kind : k_null_kernels) {
    trial_case tried = c;
    tried.knobs["candidate"] = fmt::format("{}{}", k_null_prefix, kind);
    tried.knobs["device"] = "cpu";
    report = run_case(tried);
    report.variants.clear();
    if (report.result != verdict::pass) continue;
    report.variants = {std::string(kind)};
    return report;
  }
  return report;
}

// The jobs of a run, with the property of each, and the properties without a case.
struct null_kernel_plan {
  std::vector<job> jobs;
  std::vector<const property*> owners;
  std::set<std::string> left_out;
};

std::vector<target> targets_of(const std::vector<std::string>& ops) {
  std::vector<target> targets;
  for (const std::string& op : ops)
    for (target& t : ask_targets("builtin", op, "emulated")) {
      t.size = 1;
      t.max_cols = k_null_cols;
      targets.push_back(std::move(t));
    }
  return targets;
}

// `targets` must outlive the plan.
null_kernel_plan plan_of(const verify_options& o, const std::vector<target>& targets, uint64_t seed) {
  null_kernel_plan plan;
  for (const property& p : all_properties()) {
    if (p.name == "large-offset") continue;
    if (!o.properties.empty() && std::ranges::find(o.properties, p.name) == o.properties.end()) continue;
    for (const target& t : targets) {
      if (t.op != p.op || std::ranges::find(p.types, t.type) == p.types.end()) continue;
      if (!has_case(p, t, seed)) {
        plan.left_out.insert(p.op + "/" + p.name);
        continue;
      }
      plan.jobs.push_back({fmt::format("{}/{} {}", p.op, p.name, warpcheck::name_of(t.type)),
                           [&p, &t, seed](int64_t i) { return generate_case(p, t, seed, i); },
                           std::max<int64_t>(1, o.cases * p.share_percent / 100)});
      plan.owners.push_back(&p);
    }
  }
  return plan;
}

// Prints a line for each property and adds it to `list`; returns true if every quota is met.
bool print_guesses(const null_kernel_plan& plan, const run_result_set& results, nlohmann::json& list) {
  fmt::print("{:<12} {:<30} {:>6} {:>8} {:>6}  {}\n", "operator", "property", "cases", "guessed", "quota", "by");
  bool met = true;
  for (size_t i = 0; i < plan.jobs.size();) {
    const property& p = *plan.owners[i];
    int64_t cases = 0, guessed = 0;
    std::map<std::string, int64_t> by;
    for (; i < plan.jobs.size() && plan.owners[i] == &p; ++i) {
      cases += results.jobs[i].cases;
      for (const auto& [name, count] : results.jobs[i].variants) {
        by[name] += count;
        guessed += count;
      }
    }
    const engine::null_kernel_quota q = null_kernel_quota_of(p.op, p.name);
    const bool ok = guessed * 100 <= cases * q.percent;
    met &= ok;
    std::string names;
    for (const auto& [name, count] : by) names += fmt::format("{}{} {}", names.empty() ? "" : ", ", name, count);
    fmt::print("{:<12} {:<30} {:>6} {:>8} {:>5}%  {}{}\n", p.op, p.name, cases, guessed, q.percent, names,
               ok ? "" : "  TOO MANY");
    list.push_back({{"operator", p.op},
                    {"property", p.name},
                    {"cases", cases},
                    {"guessed", by},
                    {"quota_percent", q.percent},
                    {"reason", q.reason}});
  }
  return met;
}

}  // namespace

engine::null_kernel_quota null_kernel_quota_of(std::string_view op, std::string_view property) {
  const description* d = find_description(op);
  const std::span<const null_kernel_quota> own = d ? d->null_kernels : std::span<const null_kernel_quota>();
  const std::tuple<std::span<const null_kernel_quota>, std::string_view> places[] = {
      {own, property}, {k_quotas, property}, {own, ""}};
  for (const auto& [quotas, name] : places)
    for (const null_kernel_quota& q : quotas)
      if (q.property == name) return q;
  return k_usual_quota;
}

int null_kernels(const verify_options& o) {
  check_cases(o.cases);
  const uint64_t seed = parse_seed(o.seed);
  const std::vector<target> targets = targets_of(chosen_operators(o.operators));
  const null_kernel_plan plan = plan_of(o, targets, seed);
  if (plan.jobs.empty())
    throw usage_error(fmt::format("null kernels: no chosen property has a case of at most {} columns", k_null_cols));
  supervise_options s;
  s.workers = o.workers;
  s.timeout_seconds = timeout_of(o.timeout, "cpu");
  s.max_failures_per_job = 0;
  s.run = try_null_kernels;
  s.on_progress = print_progress;
  const run_result_set results = supervise(plan.jobs, s);

  nlohmann::json list = nlohmann::json::array();
  const bool met = print_guesses(plan, results, list);
  for (const std::string& name : plan.left_out)
    fmt::print("left out: {}: no case of at most {} columns\n", name, k_null_cols);
  int64_t cases = 0;
  for (const job_result& r : results.jobs) cases += r.cases;
  fmt::print("{} cases through null kernels in {:.1f} s\n", cases, results.seconds);
  if (results.interrupted) return k_interrupted;
  const int code = met ? k_pass : k_violation;
  if (!o.json.empty())
    write_file(o.json, nlohmann::json{{"schema", "warpcheck-null-kernels-1"},
                                      {"version", WARPCHECK_VERSION},
                                      {"seed", seed},
                                      {"cases", o.cases},
                                      {"exit_code", code},
                                      {"properties", list}}
                               .dump(1) +
                           "\n");
  return code;
}

}  // namespace warpcheck::cli
