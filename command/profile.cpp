#include "command/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "command/support.hpp"
#include "golden/reader.hpp"
#include "properties/engine/cases/generate.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/files/sha256.hpp"
#include "properties/engine/processes/supervisor.hpp"
#include "properties/engine/trials/run_case.hpp"

namespace warpcheck::cli {

using namespace engine;

namespace {

constexpr const char* k_profile_schema = "warpcheck-profile-1";
constexpr uint64_t k_seed = 1;
constexpr int64_t k_cases = 160;  // per dtype
constexpr size_t k_most_bytes = 1 << 20;

const property& first_property(const std::string& op) {
  for (const property& p : all_properties())
    if (p.op == op) return p;
  throw usage_error(unknown_operator(op));
}

trial_case fixed_case(const property& p, const target& t, int64_t index) {
  trial_case c = generate_case(p, t, k_seed, index);
  // Every schedule gives the same bits (other properties check that), so one is enough.
  c.knobs.erase("launch");
  if (t.device == "emulated") {
    c.knobs["schedule"] = "fair";
    c.knobs["detect"] = "off";
  } else {
    c.knobs.erase("schedule");
  }
  return c;
}

}  // namespace

std::string profile_path(const std::string& folder, const std::string& op, const std::string& device) {
  return (std::filesystem::path(folder) / op / fmt::format("profile_{}.json", device)).string();
}

std::string to_json(const error_profile& p) {
  nlohmann::json entries = nlohmann::json::object();
  for (const auto& [name, e] : p.entries) entries[name] = {{"max", e.max}, {"p99.9", e.p999}, {"elements", e.elements}};
  return nlohmann::json{{"schema", k_profile_schema},
                        {"operator", p.op},
                        {"device", p.device},
                        {"cases", p.cases},
                        {"error_over_bound", entries}}
             .dump(1) +
         "\n";
}

error_profile read_profile(const std::string& path) {
  try {
    const nlohmann::json j = nlohmann::json::parse(golden::read_text(path, k_most_bytes));
    if (j.at("schema") != k_profile_schema)
      throw usage_error(
          fmt::format("{}: its schema is {}; {} is allowed", path, j.at("schema").dump(), k_profile_schema));
    error_profile p;
    p.op = j.at("operator");
    p.device = j.at("device");
    p.cases = j.at("cases");
    for (const auto& [name, e] : j.at("error_over_bound").items())
      p.entries[name] = {e.at("max"), e.at("p99.9"), e.at("elements")};
    return p;
  } catch (const nlohmann::json::exception& e) {
    throw usage_error(fmt::format("{}: it is not an error profile: {}", path, e.what()));
  }
}

error_profile measure_profile(const std::string& op, const std::string& device, const std::string& candidate,
                              double timeout) {
  const property& p = first_property(op);
  std::vector<target> targets = ask_targets("builtin", op, device == "cpu" ? "emulated" : device);
  std::vector<dtype> offered;
  for (const target& t : ask_targets(candidate, op, device)) offered.push_back(t.type);
  std::erase_if(targets, [&](const target& t) { return std::ranges::find(p.types, t.type) == p.types.end(); });
  std::vector<job> jobs;
  std::vector<std::string> types;  // one per job
  std::string lines;
  for (target& t : targets) {
    t.size = 1;
    for (int64_t i = 0; i < k_cases; ++i) lines += format(fixed_case(p, t, i)) + "\n";
    if (std::ranges::find(offered, t.type) == offered.end()) continue;
    jobs.push_back({fmt::format("{} {}", op, warpcheck::name_of(t.type)),
                    [&p, &t, &candidate, &device](int64_t i) {
                      trial_case c = fixed_case(p, t, i);
                      if (candidate == "builtin") return c;
                      c.knobs["candidate"] = candidate;
                      c.knobs["device"] = device;
                      c.knobs.erase("variant");
                      return c;
                    },
                    k_cases});
    types.emplace_back(warpcheck::name_of(t.type));
  }
  supervise_options s;
  s.timeout_seconds = timeout;
  s.max_failures_per_job = 1;
  s.run = run_case_with_ratios;
  const run_result_set results = supervise(jobs, s);
  if (results.interrupted) throw interrupted("profile: interrupted");
  error_profile profile;
  profile.op = op;
  profile.device = device;
  profile.cases = sha256_hex(lines);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const job_result& r = results.jobs[i];
    if (!r.failures.empty())
      throw usage_error(fmt::format("profile: a kernel that fails has none: {}", describe(r.failures[0])));
    ratio_histogram all;
    const auto add = [&](const std::string& variant, const ratio_histogram& h) {
      profile.entries[types[i] + " " + variant] = {h.max, h.quantile(0.999), h.elements()};
    };
    for (const auto& [variant, h] : r.error_ratios) {
      add(variant, h);
      all.add(h);
    }
    if (all.elements() > 0) add("*", all);
  }
  return profile;
}

std::vector<std::string> worsened(const error_profile& golden, const error_profile& measured, bool variants) {
  if (golden.cases != measured.cases)
    return {
        fmt::format("the profile of {} on {} is of other cases: the generators changed; see that no kernel became "
                    "worse, then 'warpcheck golden regenerate {}'",
                    golden.op, golden.device, golden.op)};
  std::vector<std::string> sentences;
  for (const auto& [name, was] : golden.entries) {
    if (!variants && !name.ends_with(" *")) continue;
    const auto found = measured.entries.find(name);
    if (found == measured.entries.end()) {
      // A dtype that another candidate does not offer is not an error.
      if (variants) sentences.push_back(fmt::format("{} {}: no case reached it", golden.op, name));
      continue;
    }
    const error_profile::entry& is = found->second;
    // Accepted by <=, so that a NaN fails.
    if (!(is.max <= was.max))
      sentences.push_back(
          fmt::format("{} {}: the largest error / bound was {:.6f} and is {:.6f}", golden.op, name, was.max, is.max));
    if (!(is.p999 <= was.p999))
      sentences.push_back(
          fmt::format("{} {}: 99.9 % of the elements were within {:.3f} of the bound and are within {:.3f}", golden.op,
                      name, was.p999, is.p999));
  }
  return sentences;
}

}  // namespace warpcheck::cli
