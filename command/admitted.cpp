#include "command/admitted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "properties/engine/cases/generate.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/trials/run_case.hpp"
#include "reference/numerics/stated_sums.hpp"

namespace warpcheck::cli {
namespace {

using namespace engine;

constexpr double k_depth_seconds = 60;       // for all cases of an operator
constexpr int64_t k_most_depth_cases = 100;  // of a job
constexpr int64_t k_most_depth_elements = int64_t{1} << 16;

// Judges one launch of the case by the bounds of sums of this depth.
bool is_admitted(trial_case c, int64_t depth) {
  c.knobs["detect"] = "off";
  c.knobs.insert({"schedule", "fair"});
  return run_case_of_depth(c, depth).result <= verdict::skipped;
}

// Returns the smallest depth, at least `known`, that admits the case; nothing if no depth does.
std::optional<int64_t> depth_of(const trial_case& c, int64_t known) {
  if (is_admitted(c, known)) return known;
  if (!is_admitted(c, reference::k_longest_stated_chain)) return std::nullopt;
  int64_t refused = known, more = 1;
  while (!is_admitted(c, refused + more)) more *= 2;
  int64_t admitted = refused + more;
  while (admitted - refused > 1) {
    const int64_t middle = refused + (admitted - refused) / 2;
    (is_admitted(c, middle) ? admitted : refused) = middle;
  }
  return admitted;
}

// Runs in a separate process; returns the text "DEPTH FAILING": the depth that admits all cases except the failing
// ones.
std::string depth_and_failures(const planned_job& j, int64_t known) {
  int64_t depth = known, failing = 0;
  for (int64_t i = 0; i < std::min(j.j.count, k_most_depth_cases); ++i) {
    try {
      const trial_case c = j.j.make(i);
      if (c.elements() > k_most_depth_elements) continue;
      const std::optional<int64_t> own = depth_of(c, depth);
      depth = own.value_or(depth);
      failing += !own;
    } catch (const no_case_fits&) {
      continue;
    }
  }
  return fmt::format("{} {}", depth, failing);
}

}  // namespace

std::vector<admitted_depth> admitted_depths(const std::vector<planned_job>& jobs, std::span<const job_result> results) {
  std::vector<admitted_depth> all;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const planned_job& j = jobs[i];
    if (results[i].worst > verdict::skipped && results[i].worst != verdict::violation) continue;
    if (j.t.offered.has_our_plan || j.t.candidate == "builtin" || j.p->name != "within-error-bound") continue;
    if (all.empty() || all.back().op != j.t.op) all.push_back({j.t.op, 0, 0});
    admitted_depth& a = all.back();
    const child_outcome outcome = run_in_child([&] { return depth_and_failures(j, a.depth); }, k_depth_seconds);
    int64_t failing = 0;
    if (outcome.finished && std::sscanf(outcome.text.c_str(), "%" SCNd64 " %" SCNd64, &a.depth, &failing) == 2)
      a.failing += failing;
  }
  std::erase_if(all, [](const admitted_depth& a) { return a.depth == 0; });
  return all;
}

std::string text_of(const admitted_depth& a) {
  return fmt::format("{}: admitted by sums of depth <= {}{}", a.op, a.depth,
                     a.failing > 0 ? fmt::format(", except {} cases that no depth admits", a.failing) : "");
}

nlohmann::json to_json(const std::vector<admitted_depth>& all) {
  nlohmann::json list = nlohmann::json::array();
  for (const admitted_depth& a : all) {
    list.push_back({{"operator", a.op}, {"sum_depth", a.depth}, {"failing", a.failing}});
  }
  return list;
}

}  // namespace warpcheck::cli
