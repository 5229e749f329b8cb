#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "command/commands.hpp"
#include "command/formula_arguments.hpp"
#include "command/formula_interpreter.hpp"
#include "command/mutants/mutants.hpp"
#include "command/plan.hpp"
#include "command/support.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/trials/run_case.hpp"
#include "properties/formula/formula_properties.hpp"
#include "reference/formula/evaluate.hpp"
#include "reference/formula/mutation.hpp"

namespace warpcheck::cli {
namespace {

using namespace engine;
using formula_trial::shared_formula;

constexpr const char* k_changed = "mutant";
constexpr size_t k_compared_cases = 64;  // of a survivor, whose exact values are compared with the original's

struct formula_tried {
  std::string id, change;
  std::string outcome;   // killed, survived, equal (in exact values), or without a value
  std::string property;  // that killed it
  std::string line;      // the case
  int64_t cases = 0;     // until then
};

struct formula_score {
  int64_t killed = 0, survived = 0, equal = 0, without_value = 0;

  void add(const formula_tried& t) {
    killed += t.outcome == "killed";
    survived += t.outcome == "survived";
    equal += t.outcome == "equal";
    without_value += t.outcome == "without a value";
  }
};

// The cases of `verify`, the small ones first.
std::vector<trial_case> cases_of_trial(const mutants_options& o, const std::string& op) {
  verify_options v;
  v.operators = {op};
  v.cases = o.cases;
  v.device = "cpu";
  v.seed = o.seed;
  left_out_properties left_out;
  std::vector<trial_case> all;
  for (const planned_job& p : plan_jobs(request_of(v), left_out))
    for (int64_t i = 0; i < p.j.count; ++i) all.push_back(p.j.make(i));
  std::ranges::stable_sort(all, [](const trial_case& a, const trial_case& b) { return a.elements() < b.elements(); });
  return all;
}

// True if both formulas give the same exact value for every output of the cases; nothing if one gives none.
std::optional<bool> has_equal_values(const shared_formula& f, const formula::formula_operator& changed,
                                     const std::vector<trial_case>& cases) {
  size_t compared = 0;
  for (const trial_case& c : cases) {
    if (c.property != "within-error-bound" || compared == k_compared_cases) continue;
    tensor_map inputs;
    for (const tensor_spec& t : c.tensors)
      if (t.is_input) inputs.emplace(t.name, materialize(t));
    const formula::call_data call = formula_trial::call_of(*f, c, inputs);
    try {
      formula::evaluation mine(f->op, call), other(changed, call);
      for (const formula::tensor& y : f->op.outputs)
        for (int64_t i = 0; i < c.at(y.name).elements(); ++i) {
          const formula::bounded a = mine.element(y.name, i), b = other.element(y.name, i);
          const bool is_same = a.v == b.v || (std::isnan(a.v) && std::isnan(b.v)) || std::fabs(a.v - b.v) <= a.r + b.r;
          if (!is_same) return false;
        }
      ++compared;
    } catch (const formula::formula_error&) {
      // The changed formula has no value for these sizes.
    }
  }
  return compared == 0 ? std::nullopt : std::optional(true);
}

// Runs the cases until one fails.
formula_tried try_change(const shared_formula& f, const std::string& id, const formula::formula_mutant& m,
                         const std::vector<trial_case>& cases) {
  formula_tried t{id, m.change, "survived", "", "", 0};
  name_changed_interpreter(f, m.op, k_changed);
  int64_t ran = 0;
  for (const trial_case& given : cases) {
    trial_case c = given;
    c.knobs["candidate"] = k_changed;
    const case_report r = run_judged(run_case, c, format(c));
    ++t.cases;
    if (r.result == verdict::error_return && c.property != "rejects-invalid-calls") continue;  // it has no value
    ++ran;
    if (r.result <= verdict::suite_error) continue;
    t.outcome = "killed";
    t.property = c.property;
    t.line = format(given);
    return t;
  }
  const std::optional<bool> is_equal = has_equal_values(f, m.op, cases);
  if (ran == 0 || !is_equal) t.outcome = "without a value";
  if (is_equal && *is_equal) t.outcome = "equal";
  return t;
}

nlohmann::json to_json(const formula_tried& t) {
  return {{"id", t.id},     {"change", t.change}, {"outcome", t.outcome}, {"property", t.property},
          {"case", t.line}, {"cases", t.cases}};
}
formula_tried tried_of(const nlohmann::json& j) {
  return {j.at("id"), j.at("change"), j.at("outcome"), j.at("property"), j.at("case"), j.at("cases")};
}

// A mutant is tried in a separate process, because it may take forever.
formula_tried try_in_child(const shared_formula& f, const std::string& id, const formula::formula_mutant& m,
                           const std::vector<trial_case>& cases) {
  constexpr double k_seconds = 120;
  const child_outcome ran = run_in_child([&] { return to_json(try_change(f, id, m, cases)).dump(); }, k_seconds);
  if (ran.finished) return tried_of(nlohmann::json::parse(ran.text));
  return {id, m.change, "killed", ran.timed_out ? "timeout" : "crash", "", 0};
}

void print_formula_table(const std::string& op, const std::vector<formula_tried>& tried, const formula_score& s) {
  fmt::print("{:<34} {:>7} {:>7} {:>9} {:>6}\n", op + ": change", "mutants", "killed", "survived", "equal");
  std::map<std::string, formula_score> by_kind;
  for (const formula_tried& t : tried) by_kind[t.change.substr(0, t.change.find(':'))].add(t);
  for (const auto& [kind, k] : by_kind)
    fmt::print("{:<34} {:>7} {:>7} {:>9} {:>6}\n", kind, k.killed + k.survived + k.equal + k.without_value, k.killed,
               k.survived, k.equal);
  std::map<std::string, int64_t> killers;
  for (const formula_tried& t : tried)
    if (t.outcome == "killed") ++killers[t.property];
  for (const auto& [property, count] : killers) fmt::print("killed by {:<24} {:>7}\n", property, count);
  for (const formula_tried& t : tried) {
    if (t.outcome == "survived")
      fmt::print("{} survived {} cases: {}\n  its exact values differ, but by less than the bound\n", t.id, t.cases,
                 t.change);
    if (t.outcome == "equal")
      fmt::print(
          "{} equal: {}\n  in every case it has the formula's exact values: it is equivalent, or no case reaches "
          "it\n",
          t.id, t.change);
  }
  if (s.without_value > 0) fmt::print("{} mutants have no value for any case and are left out\n", s.without_value);
  const int64_t judged = s.killed + s.survived;
  if (judged == 0) return fmt::print("{}: no mutant was judged, so nothing is proven\n", op);
  fmt::print("{}: mutation score {:.1f} % ({} of {})\n", op, 100 * static_cast<double>(s.killed) / judged, s.killed,
             judged);
}

std::vector<std::pair<std::string, formula::formula_mutant>> chosen_changes(const mutants_options& o,
                                                                            const shared_formula& f) {
  std::vector<std::pair<std::string, formula::formula_mutant>> chosen;
  std::vector<formula::formula_mutant> all = formula::mutants_of(f->op);
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string id = fmt::format("{}-{}", f->op.name, i + 1);
    const bool is_named = o.only.empty() || std::ranges::find(o.only, id) != o.only.end();
    if (is_named && i % static_cast<size_t>(std::max(1, o.one_in)) == 0) chosen.emplace_back(id, std::move(all[i]));
  }
  return chosen;
}

void check_formula_options(const mutants_options& o) {
  if (!o.folder.empty() || o.generated || o.jobs != 0)
    throw usage_error("mutants: --folder, --generated and --jobs are for our kernels, not for formulas");
  if (o.cases < 1) throw usage_error(fmt::format("--cases: {} is too small, must be at least 1", o.cases));
  for (const std::string& op : o.operators)
    if (!is_formula_argument(op))
      throw usage_error(
          fmt::format("mutants: '{}' is not a formula; name formulas and other subjects in commands of "
                      "their own",
                      op));
}

}  // namespace

int formula_mutants(const mutants_options& o) {
  check_formula_options(o);
  const auto begin = std::chrono::steady_clock::now();
  formula_score all;
  nlohmann::json list = nlohmann::json::array();
  size_t chosen = 0;
  for (const std::string& op : use_formulas(o.operators)) {
    const shared_formula f = formula_trial::formula_of(op);
    const auto changes = chosen_changes(o, f);
    chosen += changes.size();
    if (o.list) {
      for (const auto& [id, m] : changes) fmt::print("{:<20} {}\n", id, m.change);
      continue;
    }
    const std::vector<trial_case> cases = cases_of_trial(o, op);
    std::vector<formula_tried> tried;
    formula_score score;
    for (const auto& [id, m] : changes) {
      tried.push_back(try_in_child(f, id, m, cases));
      score.add(tried.back());
      all.add(tried.back());
      nlohmann::json j = to_json(tried.back());
      j["operator"] = op;
      j["file"] = f->file;
      j["kernel"] = false;
      j["expected"] = "any property";
      list.push_back(std::move(j));
    }
    print_formula_table(op, tried, score);
  }
  if (chosen == 0) throw usage_error("--only: no mutant has such an id; --list lists them");
  if (o.list) return k_pass;
  const int code = all.survived == 0 && all.killed > 0 ? k_pass : k_violation;
  fmt::print("{} mutants in {:.1f} s\n", list.size(), engine::seconds_since(begin));
  if (!o.json.empty())
    write_file(o.json, nlohmann::json{{"schema", "warpcheck-mutants-1"},
                                      {"version", WARPCHECK_VERSION},
                                      {"cases", o.cases},
                                      {"killed", all.killed},
                                      {"survived", all.survived},
                                      {"equal", all.equal},
                                      {"without_value", all.without_value},
                                      {"exit_code", code},
                                      {"mutants", list}}
                               .dump(1) +
                           "\n");
  return code;
}

}  // namespace warpcheck::cli
