#include "command/ending.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "properties/engine/cases/offer.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::cli {

namespace {

bool is_without_judgement(const run_counts& c) {
  return c.cases > 0 && c.failures == 0 && !c.is_lacking && (c.skipped == c.cases || c.launches == 0);
}

}  // namespace

void add(run_counts& counts, const engine::job_result& r) {
  counts.cases += r.cases;
  counts.skipped += r.skipped;
  counts.launches += r.launches;
  counts.compared += r.compared;
  counts.failures += static_cast<int64_t>(r.failures.size());
  counts.is_lacking |= r.first_skipped && r.first_skipped->message.starts_with(engine::k_needs);
}

std::vector<std::string> without_judgement(const std::map<std::string, run_counts>& counts,
                                           const left_out_properties& left_out) {
  std::vector<std::string> list;
  for (const std::string& op : engine::operators_with_properties()) {
    run_counts all;
    bool values_unjudged = false;
    for (const auto& [name, c] : counts) {
      if (!name.starts_with(op + "/")) continue;
      all.skipped += c.skipped;
      all.compared += c.compared;
      all.failures += c.failures;
      values_unjudged |= name == op + "/within-error-bound" && c.cases > 0 && c.compared == 0;
    }
    if (all.failures == 0 && (values_unjudged || (all.skipped > 0 && all.compared == 0))) {
      list.push_back(op);
      continue;
    }
    for (const auto& [name, c] : counts)
      if (name.starts_with(op + "/") && is_without_judgement(c)) list.push_back(name);
    for (const auto& [name, why] : left_out)
      if (name.starts_with(op + "/") && why == k_no_case && counts.count(name) == 0) list.push_back(name);
  }
  return list;
}

std::string nothing_judged_text(const std::string& subject) {
  const bool is_property = subject.find('/') != std::string::npos;
  return fmt::format("{}: nothing was judged: {}", subject,
                     is_property ? "there was no case, or every case was skipped or made no launch"
                                 : "no element of its results was compared");
}

int conclude(const run_request& r, const run_ending& e, const left_out_properties& left_out) {
  int code = e.failed ? k_violation : k_pass;
  // A device that was requested by name must run every case of ours; another candidate may offer less, which the table
  // shows.
  if (e.skipped > 0 && r.given.device != "auto" && r.given.candidate == "builtin") code = k_violation;
  for (const std::string& subject : e.unjudged) fmt::print("{}\n", nothing_judged_text(subject));
  if (e.cases == e.skipped) fmt::print("no case was judged, so nothing is proven\n");
  if (e.cases == e.skipped || !e.unjudged.empty()) code = k_violation;
  if (r.given.accepts_nondeterminism)
    fmt::print(
        "accepted: nondeterministic: the launches of a case may differ in their bits, and the first is judged\n");
  for (const auto& [name, why] : left_out)
    if (std::ranges::find(e.unjudged, name) == e.unjudged.end())
      fmt::print("{}: {}: {}\n", left_out_word(why), name, why);
  if (!e.interrupted.empty()) {
    fmt::print("interrupted: {}\n", e.interrupted);
    code = k_interrupted;
  }
  if (!r.given.allow_skips && e.skipped * 10 > e.cases) {
    fmt::print("{} of {} cases were skipped, more than a tenth; --allow-skips accepts that\n", e.skipped, e.cases);
    if (code == k_pass) code = k_violation;
  }
  return code;
}

}  // namespace warpcheck::cli
