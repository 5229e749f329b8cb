#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "properties/engine/contain.hpp"
#include "properties/engine/shrink.hpp"
#include "properties/engine/shrink_steps.hpp"

namespace warpcheck::engine {
namespace {

// Enough for parse_case to know every knob of a case made from `c`.
std::vector<knob_info> knobs_of(const trial_case& c) {
  std::vector<knob_info> names;
  for (const auto& [name, value] : c.knobs) names.push_back({name, "", ""});
  return names;
}

bool is_hazard(verdict v) {
  return v >= verdict::uninitialized && v <= verdict::out_of_bounds && v != verdict::input_modified;
}

// Shrinks what failed: in one process for the whole search, which is many times faster than one for each case, unless
// the failure spoils a process or the search does not finish.
shrunk shrink_contained(const case_report& failing, const trial_case& c, const confirm_options& options) {
  const auto begin = std::chrono::steady_clock::now();
  const auto enough = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > options.shrink_seconds;
  };
  if (!spoils_process(failing)) {
    const child_outcome outcome = run_in_child(
        [&] {
          const auto guarded = [&](const trial_case& x) { return run_guarded(options.run, x, format(x)); };
          const shrunk s = shrink(failing, c, guarded, options.holds, options.budget, enough);
          return nlohmann::json({to_json(s.report), format(s.smallest), s.runs}).dump();
        },
        options.shrink_seconds + time_limit(options.timeout_seconds, format(c)));
    if (outcome.finished) {
      const nlohmann::json j = nlohmann::json::parse(outcome.text);
      shrunk smallest;
      smallest.report = report_from_json(j[0].get<std::string>());
      smallest.smallest = parse_case(j[1].get<std::string>(), knobs_of(c));
      smallest.runs = j[2];
      return smallest;
    }
  }
  const auto contained = [&](const trial_case& x) { return run_contained(options.run, x, options.timeout_seconds); };
  return shrink(failing, c, contained, options.holds, options.budget, enough);
}

}  // namespace

case_report confirm_and_shrink(const case_report& failing, const trial_case& c, const confirm_options& options) {
  const auto contained = [&](const trial_case& x) { return run_contained(options.run, x, options.timeout_seconds); };
  // A hang costs its whole time each time.
  const int processes = failing.result == verdict::timeout ? 1 : 3;
  int failures = 0;
  case_report fresh;
  for (int i = 0; i < processes; ++i) {
    case_report r = contained(c);
    if (r.result == verdict::pass || r.result == verdict::skipped) continue;
    ++failures;
    if (failures == 1 || r.result == failing.result) fresh = std::move(r);
  }
  if (failures < processes) {
    case_report r = failing;
    r.message += failures ? fmt::format("; flaky: it failed in {} of {} fresh processes", failures, processes)
                          : fmt::format(
                                "; it did not fail in {} fresh process{}: it is flaky, or depends on the cases "
                                "before it in its process",
                                processes, processes == 1 ? "" : "es");
    return r;
  }

  const shrunk smallest = shrink_contained(fresh, c, options);
  case_report r = smallest.report;
  r.message += fmt::format("; it failed in {} of {} fresh process{}, and was shrunk in {} runs", failures, processes,
                           processes == 1 ? "" : "es", smallest.runs);
  if (is_emulated(smallest.smallest) && !is_hazard(r.result) && smallest.smallest.knob("detect") != "only") {
    trial_case watched = smallest.smallest;
    watched.knobs["detect"] = "only";
    const case_report found = contained(watched);
    if (is_hazard(found.result)) {
      r.message += fmt::format("; the detector says {}: {}", name_of(found.result), found.message);
      r.findings.insert(r.findings.end(), found.findings.begin(), found.findings.end());
    }
  }
  return r;
}

}  // namespace warpcheck::engine
