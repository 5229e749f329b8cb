#include "command/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>

#include "command/asked.hpp"
#include "command/candidates/offers.hpp"
#include "command/own_input.hpp"
#include "command/support.hpp"
#include "golden/check.hpp"
#include "properties/engine/cases/generate.hpp"
#include "properties/engine/error.hpp"

namespace warpcheck::cli {

using namespace engine;

bool is_path_of_a_line(const std::string& path) { return path.find_first_of(" ,()|") == std::string::npos; }

bool has_case(const property& p, const target& t, uint64_t seed) {
  constexpr int64_t k_first = 4;  // a property with fewer has a case only by chance
  try {
    for (int64_t i = 0; i < k_first; ++i) generate_case(p, t, seed, i);
    return true;
  } catch (const no_case_fits&) {
    return false;
  }
}

namespace {

// True if the case has millions of elements and the run should be quick.
bool is_giant(const trial_case& c, const target& t) {
  constexpr int64_t k_giant = int64_t{1} << 22;
  return t.size == 0 && t.device != "cuda" && c.elements() >= k_giant;
}

// Makes the cases of the property; if launches may differ, only the first of a case is compared.
std::function<trial_case(int64_t index, int64_t attempt)> maker_of(const run_request& r, const property& p,
                                                                   const target& t) {
  return [&p, t, seed = r.seed, is_free = r.given.accepts_nondeterminism](int64_t index, int64_t attempt) {
    constexpr int64_t k_most_draws = 64;  // generators that stratify have small cases, too
    trial_case c = generate_case(p, t, seed, index, attempt);
    for (int64_t more = 1; is_giant(c, t) && more < k_most_draws; ++more)
      c = generate_case(p, t, seed, index + more, attempt);
    if (is_free) c.knobs["agree"] = "free";
    return c;
  };
}

// Returns why a property with cases is left out nevertheless, or "". On the host every element costs a kernel's thread,
// its reference and a few copies.
std::string too_large(const property& p, const target& t, uint64_t seed) {
  if (!is_giant(generate_case(p, t, seed, 0), t)) return "";
  return fmt::format("its cases have millions of elements, which --size quick leaves out on device {}", t.device);
}

struct asked_target {
  target t;
  bool hangs;  // a call of the questions about its offer took too long
};

std::string why_left_out(const property& p, const target& t, uint64_t seed) {
  if (std::string missing = missing_statement(p, t); !missing.empty()) return missing;
  if (has_case(p, t, seed)) return too_large(p, t, seed);
  if (std::string missing = missing_trait(p, t, seed); !missing.empty()) return missing;
  constexpr int64_t k_any = std::numeric_limits<int64_t>::max();
  std::vector<std::string> limits;
  if (t.max_rows != k_any) limits.push_back(fmt::format("{} rows", t.max_rows));
  if (t.max_cols != k_any) limits.push_back(fmt::format("{} columns", t.max_cols));
  if (limits.empty()) return std::string(k_no_case);
  target of_any_size = t;
  of_any_size.max_rows = of_any_size.max_cols = k_any;
  if (!has_case(p, of_any_size, seed)) {
    const std::string missing = missing_trait(p, of_any_size, seed);
    return missing.empty() ? std::string(k_no_case) : missing;
  }
  return fmt::format("no case of at most {}", fmt::join(limits, " and "));
}

// Removes the jobs from `jobs` whose candidate lacks what their checks need.
void take_unmet(const run_request& r, std::vector<planned_job>& jobs, left_out_properties& left_out) {
  std::vector<planned_property> asked;
  for (const planned_job& j : jobs)
    if (j.may_lack) asked.push_back({j.p, j.t, j.j.make});
  if (asked.empty()) return;
  const std::vector<std::string> needs = unmet_needs(asked, r.seed, r.timeout);
  size_t next = 0;
  std::erase_if(jobs, [&](const planned_job& j) {
    const std::string need = j.may_lack ? needs[next++] : "";
    if (!need.empty()) left_out[j.p->op + "/" + j.p->name] = need;
    return !need.empty();
  });
}

// True if the user leaves the property out.
bool leave_out_unwanted(const std::vector<unwanted_property>& unwanted, const property& p,
                        left_out_properties& left_out) {
  for (const unwanted_property& u : unwanted)
    if (u.name == p.name) left_out[p.op + "/" + p.name] = fmt::format("{}{}", k_unwanted, u.reason);
  return left_out.count(p.op + "/" + p.name) > 0;
}

// The operator's properties that the user selected, in their order.
std::vector<const property*> chosen_properties(const run_request& r, const std::string& op,
                                               left_out_properties& left_out) {
  std::vector<const property*> chosen;
  for (const property& p : all_properties()) {
    const bool is_named =
        r.given.properties.empty() || std::ranges::find(r.given.properties, p.name) != r.given.properties.end();
    if (p.op == op && is_named && !leave_out_unwanted(r.unwanted, p, left_out)) chosen.push_back(&p);
  }
  return chosen;
}

// True if the property has this element type and the user selected the type.
bool is_asked_in(const run_request& r, const property& p, dtype type) {
  return std::ranges::find(p.types, type) != p.types.end() &&
         (r.dtypes.empty() || std::ranges::find(r.dtypes, type) != r.dtypes.end());
}

// The candidate's element types that a selected property judges, each with the candidate's offer for it. A type without
// any offer is left out if there is another one.
std::vector<asked_target> asked_targets(const run_request& r, const std::string& op,
                                        const std::vector<const property*>& chosen, const own_input& input) {
  std::vector<asked_target> targets, refused;
  for (target& t : ask_targets(r.given.candidate, op, r.device)) {
    std::vector<const property*> asked;
    for (const property* const p : chosen)
      if (is_asked_in(r, *p, t.type) && (!input || input.is_judged_by(*p, t.type))) asked.push_back(p);
    if (asked.empty()) continue;
    const asking how = ask_offer_of(t, asked, r.timeout);
    (how == asking::refused ? refused : targets).push_back({std::move(t), how == asking::hung});
  }
  return targets.empty() ? refused : targets;
}

std::string listed_reasons(const left_out_properties& left_out) {
  std::string text;
  for (const auto& [name, why] : left_out) text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", name, why);
  return text;
}

}  // namespace

std::string_view left_out_word(std::string_view why) { return why.starts_with(k_needs) ? "not asked" : "left out"; }

std::vector<planned_job> plan_jobs(const run_request& r, left_out_properties& left_out) {
  const own_input input(r.given, r.operators);
  std::vector<planned_job> jobs;
  for (const std::string& op : r.operators) {
    const std::vector<const property*> chosen = chosen_properties(r, op, left_out);
    const std::vector<asked_target> targets = asked_targets(r, op, chosen, input);
    for (const property* const chosen_property : chosen) {
      const property& p = *chosen_property;
      for (auto [t, hangs] : targets) {
        if (!is_asked_in(r, p, t.type)) continue;
        t.size = r.size;
        t.max_rows = std::min(t.max_rows, r.given.max_rows);
        t.max_cols = r.given.max_cols;
        planned_job planned{&p, t, {}};
        planned.j.id = fmt::format("{}/{} {} {}", op, p.name, name_of(t.type), r.device);
        if (input) {
          if (!input.is_judged_by(p, t.type)) continue;
          const std::vector<trial_case> cases = input.cases(p, t);
          if (cases.empty()) continue;
          planned.j.count = static_cast<int64_t>(cases.size());
          planned.j.make = [cases](int64_t index) { return cases[static_cast<size_t>(index)]; };
        } else {
          if (const std::string why = why_left_out(p, t, r.seed); !why.empty()) {
            left_out[op + "/" + p.name] = why;
            continue;
          }
          planned.j.count = std::max<int64_t>(1, r.given.cases * p.share_percent / 100);
          planned.j.make = [make = maker_of(r, p, t)](int64_t index) { return make(index, 0); };
          planned.j.draw_again = maker_of(r, p, t);
          planned.j.cost = 100 - p.share_percent;
          planned.may_lack = (t.candidate != "builtin" || r.given.accepts_nondeterminism) && !hangs;
        }
        jobs.push_back(std::move(planned));
      }
    }
  }
  take_unmet(r, jobs, left_out);
  if (jobs.empty())
    throw usage_error(
        input ? fmt::format("input: no property of {} judges an array of {}", fmt::join(r.operators, ", "),
                            input.type_name())
        : r.limits_shapes() && !left_out.empty()
            ? fmt::format("max-rows, max-cols: no case of {} has at most {} rows and {} columns",
                          left_out.begin()->first, r.given.max_rows, r.given.max_cols)
        : !left_out.empty()
            ? fmt::format("verify: no property has a case: {}", listed_reasons(left_out))
            : "verify: no property fits these operators, dtypes and properties, so there is nothing to run");
  return jobs;
}

std::vector<left_property> not_run(const run_request& r, const std::vector<planned_job>& jobs,
                                   const left_out_properties& left_out) {
  const auto among = [](const auto& list, const auto& name) {
    return list.empty() || std::ranges::find(list, name) != list.end();
  };
  std::vector<left_property> list;
  for (const property& p : all_properties()) {
    left_property left{&p, {}, ""};
    for (const dtype type : p.types)
      if (std::ranges::none_of(jobs, [&](const planned_job& j) { return j.p == &p && j.t.type == type; }))
        left.dtypes.emplace_back(name_of(type));
    if (left.dtypes.empty()) continue;
    const bool asked = among(r.operators, p.op) && among(r.given.properties, p.name) &&
                       std::ranges::any_of(left.dtypes, [&](const std::string& name) {
                         return among(r.dtypes, *dtype_from_name(name));
                       });
    left.why = !asked                                ? "not asked for"
               : left_out.count(p.op + "/" + p.name) ? left_out.at(p.op + "/" + p.name)
               : !r.given.inputs.empty()             ? "it does not judge this array"
                                                     : "the candidate does not offer it";
    list.push_back(std::move(left));
  }
  return list;
}

std::vector<trial_case> regressions_for(const std::string& folder, const std::vector<planned_job>& jobs,
                                        const std::string& device, const std::string& candidate) {
  constexpr const char* k_usual = "golden/regressions";
  if (folder.empty() && !std::filesystem::is_directory(k_usual)) return {};
  std::vector<trial_case> cases;
  for (const golden::golden_file& f : golden::load_regressions(folder.empty() ? k_usual : folder)) {
    const auto concerns = [&](const planned_job& j) {
      return j.p->op == f.op && j.p->name == f.the_case.property && j.t.type == f.the_case.tensors.front().type;
    };
    if (std::ranges::any_of(jobs, concerns)) cases.push_back(golden::candidate_case(f, device, candidate));
  }
  return cases;
}

}  // namespace warpcheck::cli
