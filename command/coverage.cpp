#include "command/coverage.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "properties/engine/cases/classes.hpp"
#include "properties/engine/cases/generate.hpp"

namespace warpcheck::cli {

using namespace engine;

namespace {

// True if the dispatch may pick the variant at some size of every extent.
bool may_be_picked(const target::variant& v) {
  return std::ranges::all_of(
      v.ranges, [](const warpcheck_range& r) { return r.dispatch_max < 0 || r.dispatch_min <= r.dispatch_max; });
}

}  // namespace

coverage_result coverage_of(const std::vector<planned_job>& jobs, std::span<const job_result> results,
                            const run_request& r, bool whole) {
  coverage_result found;
  struct summed {
    const std::string* op;
    int64_t cases = 0;
    std::map<std::string, int64_t> variants, classes, combinations;
    std::vector<target::variant> offered;
    bool is_everything_offered = true;  // otherwise a class may have no case that the candidate accepts
  };
  std::map<std::string, summed> sums;  // by operator and dtype
  for (size_t i = 0; i < jobs.size(); ++i) {
    const target& t = jobs[i].t;
    summed& s = sums[fmt::format("{} {}", t.op, name_of(t.type))];
    s.op = &t.op;
    s.offered = t.variants;
    s.is_everything_offered = t.offered.is_everything();
    s.cases += results[i].cases;
    for (const auto& [name, cases] : results[i].variants) s.variants[name] += cases;
    for (const auto& [name, cases] : results[i].classes) s.classes[name] += cases;
    for (const auto& [name, cases] : results[i].combinations) s.combinations[name] += cases;
  }
  // Only a whole run has coverage minimums, not one that was narrowed or cut short.
  const bool owes_variants = whole && r.given.inputs.empty() && r.given.properties.empty() && r.unwanted.empty() &&
                             !r.limits_shapes() && r.shards == 1 && r.given.cases >= 20;
  constexpr int64_t k_enough_for_classes = 60;
  const bool owes_classes = owes_variants && r.given.cases >= k_enough_for_classes && r.size > 0;
  for (const auto& [key, s] : sums) {
    std::vector<extent_range> ranges;
    for (const target::variant& v : s.offered) ranges.push_back({v.ranges.back().min, v.ranges.back().max});
    found.groups.push_back({key, s.classes, static_cast<int64_t>(s.combinations.size()), combinations(ranges)});
    // A candidate that names no variant has none to reach.
    for (const target::variant& v : s.offered)
      if (owes_variants && !s.variants.empty() && may_be_picked(v) && !s.variants.count(v.name))
        found.unreached_variants.push_back(key + " " + v.name);
    if (owes_classes && s.is_everything_offered)
      for (const std::string& sentence : unmet_coverage_minimums(*s.op, s.classes, s.cases))
        found.unmet_classes.push_back(key + ": " + sentence);
  }
  return found;
}

}  // namespace warpcheck::cli
