#include "command/plan.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>

#include "command/asked.hpp"
#include "command/candidates/offers.hpp"
#include "command/support.hpp"
#include "golden/check.hpp"
#include "properties/engine/cases/classes.hpp"
#include "properties/engine/cases/generate.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/files/npy.hpp"

namespace warpcheck::cli {

using namespace engine;

namespace {

int size_class(const std::string& text) {
  constexpr std::string_view names[] = {"quick", "ci", "full"};
  for (int i = 0; i < 3; ++i)
    if (names[i] == text) return i;
  throw usage_error(fmt::format("size: '{}' is not one of quick, ci, full", text));
}

bool limits_shapes(const verify_options& o) {
  const verify_options none;
  return o.max_rows != none.max_rows || o.max_cols != none.max_cols;
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

std::optional<tensor_spec> input_tensor(const verify_options& o) {
  if (o.input.empty()) return std::nullopt;
  const npy_array array = read_npy(o.input);
  if (array.shape.size() > 2)
    throw usage_error(
        fmt::format("input: '{}' has {} dimensions; one or two are allowed", o.input, array.shape.size()));
  if (array.rows == 0 || array.cols == 0)
    throw usage_error(
        fmt::format("input: '{}' is an array of {} x {}, which has no element to judge; at least one is needed",
                    o.input, array.rows, array.cols));
  tensor_spec x = input_matrix("x", array.type, array.rows, array.cols, {});
  x.fill.distribution = "npy";
  x.fill.path = o.input;
  x.fill.sha256 = array.sha256;
  if (!is_path_of_a_line(o.input))
    throw usage_error(
        fmt::format("input: '{}' holds a blank, comma, parenthesis or bar, which a case line cannot carry", o.input));
  return x;
}

}  // namespace

bool is_path_of_a_line(const std::string& path) { return path.find_first_of(" ,()|") == std::string::npos; }

bool has_case(const property& p, const target& t, uint64_t seed) {
  try {
    generate_case(p, t, seed, 0);
    return true;
  } catch (const no_case_fits&) {
    return false;
  }
}

namespace {

// Whether the case is one of millions of elements, and the run is to be quick.
bool is_giant(const trial_case& c, const target& t) {
  constexpr int64_t k_giant = int64_t{1} << 22;
  return t.size == 0 && t.device != "cuda" && c.elements() >= k_giant;
}

// Cases of the property; where launches may differ, only the first of a case is compared.
std::function<trial_case(int64_t index, int64_t attempt)> maker_of(const verify_options& o, const property& p,
                                                                   const target& t, uint64_t seed) {
  return [&p, t, seed, is_free = o.accepts_nondeterminism](int64_t index, int64_t attempt) {
    constexpr int64_t k_most_draws = 64;  // generators that go by the index have small cases beside the giants
    trial_case c = generate_case(p, t, seed, index, attempt);
    for (int64_t more = 1; is_giant(c, t) && more < k_most_draws; ++more)
      c = generate_case(p, t, seed, index + more, attempt);
    if (is_free) c.knobs["agree"] = "free";
    return c;
  };
}

// Why a property with cases is left out all the same, or "". On the host every element costs a kernel's thread, its
// reference and a few copies.
std::string too_large(const property& p, const target& t, uint64_t seed) {
  if (!is_giant(generate_case(p, t, seed, 0), t)) return "";
  return fmt::format("its cases have millions of elements, which --size quick leaves out on device {}", t.device);
}

struct asked_target {
  target t;
  bool hangs;  // a call that asked for its offer took too long
};

std::string why_left_out(const verify_options& o, const property& p, const target& t, bool hangs, uint64_t seed) {
  if (p.needs_our_plan && !t.offered.has_our_plan)
    return fmt::format("{}the order of sums and the workspaces of our own kernels", k_needs);
  if (p.needs_batch_invariance && !t.offered.is_batch_invariant)
    return fmt::format("{}the statement 'batch-invariant'", k_needs);
  if (has_case(p, t, seed)) {
    if (std::string why = too_large(p, t, seed); !why.empty()) return why;
    if ((t.candidate == "builtin" && !o.accepts_nondeterminism) || hangs) return "";
    return unmet_need(
        p, t, [make = maker_of(o, p, t, seed)](int64_t index) { return make(index, 0); }, seed,
        timeout_of(o.timeout, t.device));
  }
  target unlimited_offer = t;
  unlimited_offer.offered = {};
  if (has_case(p, unlimited_offer, seed))
    if (std::string missing = missing_trait(p, t, seed); !missing.empty()) return missing;
  return fmt::format("no case of at most {} rows and {} columns", t.max_rows, t.max_cols);
}

// Each cut to what the candidate offers, once.
std::vector<trial_case> offered_cases(const target& t, std::vector<trial_case> all) {
  std::vector<trial_case> cases;
  for (trial_case& c : all) {
    std::vector<std::string> taken;
    if (bring_within(t.offered, c, taken) && std::find(cases.begin(), cases.end(), c) == cases.end())
      cases.push_back(std::move(c));
  }
  return cases;
}

// True if the user leaves the property out.
bool leave_out_unwanted(const std::vector<unwanted_property>& unwanted, const property& p,
                        left_out_properties& left_out) {
  for (const unwanted_property& u : unwanted)
    if (u.name == p.name) left_out[p.op + "/" + p.name] = fmt::format("{}{}", k_unwanted, u.reason);
  return left_out.count(p.op + "/" + p.name) > 0;
}

// The operator's properties that the user asks for, in their order.
std::vector<const property*> chosen_properties(const verify_options& o, const std::string& op,
                                               const std::vector<unwanted_property>& unwanted,
                                               left_out_properties& left_out) {
  std::vector<const property*> chosen;
  for (const property& p : all_properties()) {
    const bool is_named =
        o.properties.empty() || std::find(o.properties.begin(), o.properties.end(), p.name) != o.properties.end();
    if (p.op == op && is_named && !leave_out_unwanted(unwanted, p, left_out)) chosen.push_back(&p);
  }
  return chosen;
}

// True if the property is one of this element type, and the user asks for the type.
bool is_asked_in(const verify_options& o, const property& p, dtype type) {
  return std::find(p.types.begin(), p.types.end(), type) != p.types.end() &&
         (o.dtypes.empty() || std::find(o.dtypes.begin(), o.dtypes.end(), name_of(type)) != o.dtypes.end());
}

// The candidate's element types that a chosen property will judge, each with what the candidate offers to it. A type of
// which it offers nothing is left out if it offers another.
std::vector<asked_target> asked_targets(const verify_options& o, const std::string& op, const std::string& device,
                                        const std::vector<const property*>& chosen,
                                        const std::optional<tensor_spec>& input) {
  std::vector<asked_target> targets, refused;
  for (target& t : ask_targets(o.candidate, op, device)) {
    std::vector<const property*> asked;
    for (const property* const p : chosen)
      if (is_asked_in(o, *p, t.type) && (!input || (p->for_input && t.type == input->type))) asked.push_back(p);
    if (asked.empty()) continue;
    const asking how = ask_offer_of(t, asked, timeout_of(o.timeout, device));
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

std::vector<std::string> chosen_operators(const verify_options& o) {
  const std::vector<std::string> known = operators_with_properties();
  for (const std::string& op : o.operators)
    if (std::find(known.begin(), known.end(), op) == known.end()) throw usage_error(unknown_operator(op));
  std::vector<std::string> chosen;
  for (const std::string& op : o.operators.empty() ? known : o.operators)
    if (std::find(chosen.begin(), chosen.end(), op) == chosen.end()) chosen.push_back(op);
  return chosen;
}

std::string_view left_out_word(std::string_view why) { return why.starts_with(k_needs) ? "not asked" : "left out"; }

std::vector<std::string> operators_without_judgement(const std::map<std::string, run_counts>& counts) {
  std::vector<std::string> ops;
  for (const std::string& op : operators_with_properties()) {
    run_counts all;
    bool values_unjudged = false;
    for (const auto& [name, c] : counts) {
      if (!name.starts_with(op + "/")) continue;
      all.skipped += c.skipped;
      all.compared += c.compared;
      all.failures += c.failures;
      values_unjudged |= name == op + "/within-error-bound" && c.cases > 0 && c.compared == 0;
    }
    if (all.failures == 0 && (values_unjudged || (all.skipped > 0 && all.compared == 0))) ops.push_back(op);
  }
  return ops;
}

std::string nothing_judged_text(const std::string& op) {
  return fmt::format("{}: nothing was judged: no element of its results was compared", op);
}

std::vector<planned_job> plan_jobs(const verify_options& o, const std::string& device, uint64_t seed,
                                   left_out_properties& left_out) {
  const std::vector<std::string> ops = chosen_operators(o);
  check_names(o, ops);
  const std::vector<unwanted_property> unwanted = unwanted_properties(o, ops);
  const int size = size_class(o.size);
  const std::optional<tensor_spec> input = input_tensor(o);
  std::vector<planned_job> jobs;
  for (const std::string& op : ops) {
    const std::vector<const property*> chosen = chosen_properties(o, op, unwanted, left_out);
    const std::vector<asked_target> targets = asked_targets(o, op, device, chosen, input);
    for (const property* const chosen_property : chosen) {
      const property& p = *chosen_property;
      for (auto [t, hangs] : targets) {
        if (!is_asked_in(o, p, t.type)) continue;
        t.size = size;
        t.max_rows = o.max_rows;
        t.max_cols = o.max_cols;
        planned_job planned{&p, t, {}};
        planned.j.id = fmt::format("{}/{} {} {}", op, p.name, name_of(t.type), device);
        if (input) {
          if (!p.for_input || t.type != input->type) continue;
          std::vector<trial_case> cases = offered_cases(t, p.for_input(t, *input));
          for (trial_case& c : cases) c.property = p.name;
          if (p.holds) std::erase_if(cases, [&](const trial_case& c) { return !p.holds(c); });
          if (cases.empty()) continue;
          planned.j.count = static_cast<int64_t>(cases.size());
          planned.j.make = [cases](int64_t index) { return cases[static_cast<size_t>(index)]; };
        } else {
          if (const std::string why = why_left_out(o, p, t, hangs, seed); !why.empty()) {
            left_out[op + "/" + p.name] = why;
            continue;
          }
          planned.j.count = std::max<int64_t>(1, o.cases * p.share_percent / 100);
          planned.j.make = [make = maker_of(o, p, t, seed)](int64_t index) { return make(index, 0); };
          planned.j.draw_again = maker_of(o, p, t, seed);
          planned.j.cost = 100 - p.share_percent;
        }
        jobs.push_back(std::move(planned));
      }
    }
  }
  if (jobs.empty())
    throw usage_error(
        input
            ? fmt::format("input: no property of {} judges an array of {}", fmt::join(ops, ", "), name_of(input->type))
        : limits_shapes(o) && !left_out.empty()
            ? fmt::format("max-rows, max-cols: no case of {} has at most {} rows and {} columns",
                          left_out.begin()->first, o.max_rows, o.max_cols)
        : !left_out.empty()
            ? fmt::format("verify: no property has a case: {}", listed_reasons(left_out))
            : "verify: no property fits these operators, dtypes and properties, so there is nothing to run");
  return jobs;
}

std::vector<left_property> not_run(const verify_options& o, const std::vector<planned_job>& jobs,
                                   const left_out_properties& left_out) {
  const auto among = [](const std::vector<std::string>& list, std::string_view name) {
    return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
  };
  std::vector<left_property> list;
  for (const property& p : all_properties()) {
    left_property left{&p, {}, ""};
    for (const dtype type : p.types)
      if (std::none_of(jobs.begin(), jobs.end(), [&](const planned_job& j) { return j.p == &p && j.t.type == type; }))
        left.dtypes.emplace_back(name_of(type));
    if (left.dtypes.empty()) continue;
    const bool asked = among(o.operators, p.op) && among(o.properties, p.name) &&
                       std::any_of(left.dtypes.begin(), left.dtypes.end(),
                                   [&](const std::string& name) { return among(o.dtypes, name); });
    left.why = !asked                                ? "not asked for"
               : left_out.count(p.op + "/" + p.name) ? left_out.at(p.op + "/" + p.name)
               : !o.input.empty()                    ? "it does not judge this array"
                                                     : "the candidate does not offer it";
    list.push_back(std::move(left));
  }
  return list;
}

int workers_for(const verify_options& o, const std::string& device) {
  // On a GPU most of a case's time is the reference's on the host, so several workers pay; each holds a CUDA context of
  // about half a gigabyte, so not one per core.
  constexpr int k_cuda_workers = 8;
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  if (o.workers != 0 || device != "cuda") return o.workers;
  const int gpus = gpus_in_use(), per_gpu = std::clamp(cores / gpus, 1, k_cuda_workers);
  return gpus * per_gpu;
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
    if (std::any_of(jobs.begin(), jobs.end(), concerns)) cases.push_back(golden::candidate_case(f, device, candidate));
  }
  return cases;
}

// Whether there is a size of every extent for which the dispatch may pick it.
static bool may_be_picked(const target::variant& v) {
  return std::all_of(v.ranges.begin(), v.ranges.end(),
                     [](const warpcheck_range& r) { return r.dispatch_max < 0 || r.dispatch_min <= r.dispatch_max; });
}

coverage_result coverage_of(const std::vector<planned_job>& jobs, std::span<const job_result> results,
                            const verify_options& o, bool whole) {
  coverage_result found;
  struct summed {
    const std::string* op;
    int64_t cases = 0;
    std::map<std::string, int64_t> variants, classes, combinations;
    std::vector<target::variant> offered;
    bool is_everything_offered = true;  // else a class may have no case that the candidate takes
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
  // A coverage minimum is a promise of a whole run; a run that was narrowed or cut short makes none.
  const bool owes_variants = whole && o.input.empty() && o.properties.empty() && o.without.empty() &&
                             !limits_shapes(o) && o.shard == "0/1" && o.cases >= 20;
  constexpr int64_t k_enough_for_classes = 60;
  const bool owes_classes = owes_variants && o.cases >= k_enough_for_classes && o.size != "quick";
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

bool too_many_skips(const verify_options& o, int64_t skipped, int64_t cases) {
  if (o.allow_skips || skipped * 10 <= cases) return false;
  fmt::print("{} of {} cases were skipped, more than a tenth; --allow-skips accepts that\n", skipped, cases);
  return true;
}

void print_progress(const progress& p) {
  constexpr double k_long = 5;  // seconds after which a case is named
  constexpr size_t k_most = 120;
  static const bool terminal = isatty(STDERR_FILENO);
  static int64_t last = -1;
  static std::string named;
  if (p.done == p.total && last == p.total) return;
  last = p.done;
  const std::string text = fmt::format("{}/{} cases, {:.0f} cases/s, worst error/bound {:.3f}, {} failures{}", p.done,
                                       p.total, p.cases_per_second, p.worst_error_ratio, p.failures,
                                       p.done == p.total ? "" : fmt::format(", {:.0f} s left", p.eta_seconds));
  if (terminal) fmt::print(stderr, "\r\033[K");
  if (p.running_seconds > k_long && p.running != named) {
    named = p.running;
    fmt::print(stderr, "running for {:.0f} s: {}{}\n", p.running_seconds, named.substr(0, k_most),
               named.size() > k_most ? "..." : "");
  }
  if (terminal && p.done < p.total) fmt::print(stderr, "{}", text);
  std::fflush(stderr);
}

}  // namespace warpcheck::cli
