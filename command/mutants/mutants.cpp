#include "command/mutants/mutants.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "command/candidates/plugin.hpp"
#include "command/commands.hpp"
#include "command/mutants/mutant_build.hpp"
#include "command/mutants/mutant_list.hpp"
#include "command/mutants/mutant_report.hpp"
#include "command/mutants/mutant_tests.hpp"
#include "command/mutants/mutant_trial.hpp"
#include "command/support.hpp"
#include "command/terminal.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/files/sha256.hpp"
#include "properties/engine/processes/contain.hpp"

namespace warpcheck::cli {
namespace {

namespace fs = std::filesystem;
using engine::environment_error;
using engine::usage_error;

std::vector<tried_mutant> chosen_mutants(const mutants_options& o, const std::string& folder, uint64_t seed) {
  std::vector<std::string> lists;
  if (o.operators.empty()) {
    for (const fs::directory_entry& e : fs::directory_iterator(folder))
      if (e.path().extension() == ".mutants") lists.push_back(e.path().string());
    std::ranges::sort(lists);
    if (lists.empty()) throw usage_error(fmt::format("mutants: '{}' has no list of mutants", folder));
  }
  for (const std::string& op : o.operators) {
    const plugin* const own = o.folder.empty() ? plugin_of(op) : nullptr;
    const std::string path = fmt::format("{}/{}.mutants", own ? own->source : folder, op);
    if (!fs::exists(path))
      throw usage_error(fmt::format(
          "mutants: '{}' has no list {}; --generated makes mutants, those of parts of the suite, too", op, path));
    lists.push_back(path);
  }
  std::vector<tried_mutant> entries;
  for (const std::string& path : lists) {
    mutant_list list = read_mutants(path);
    const bool is_listed_offer = o.lacks == "listed";
    if (is_listed_offer && list.lacks.empty())
      throw usage_error(fmt::format("lacks: {} has no line 'lacks'; give the traits themselves", path));
    for (mutant& m : sample_of(std::move(list.mutants), o.one_in, seed)) {
      m.needs_lacked &= is_listed_offer;
      if (o.only.empty() || std::ranges::find(o.only, m.id) != o.only.end())
        entries.push_back({std::move(m), list.usual, is_listed_offer ? list.lacks : o.lacks, "", std::nullopt});
    }
  }
  for (const std::string& id : o.only)
    if (std::ranges::none_of(entries, [&](const tried_mutant& e) { return e.m.id == id; }))
      throw usage_error(fmt::format("only: no mutant is called '{}'; --list shows them", id));
  return entries;
}

// Hash of everything below kernels/ and simt/ that a mutant's library is made from, and of the plug-ins' kernels and
// headers.
std::string sources_key(const std::string& root) {
  std::vector<std::string> paths;
  for (const char* folder : {"/kernels", "/simt"})
    for (const fs::directory_entry& e : fs::recursive_directory_iterator(root + folder))
      if (e.is_regular_file()) paths.push_back(e.path().string());
  for (const std::string& op : plugin_operators())
    for (auto at = fs::recursive_directory_iterator(plugin_of(op)->source); at != fs::end(at); ++at) {
      if (fs::exists(at->path() / "CMakeCache.txt")) at.disable_recursion_pending();
      const std::string kind = at->path().extension().string();
      if (at->is_regular_file() && (kind == ".cu" || kind == ".cuh" || kind == ".h" || kind == ".hpp"))
        paths.push_back(at->path().string());
    }
  std::ranges::sort(paths);
  std::string text;
  for (const std::string& path : paths)
    text += (path.starts_with(root) ? path.substr(root.size()) : path) + file_sha256(path);
  return engine::sha256_hex(text);
}

// Hash of the code that judges: this executable and its plug-ins.
std::string suite_key() {
  std::string key = file_sha256("/proc/self/exe");
  for (const std::string& op : plugin_operators()) key += file_sha256(plugin_of(op)->path);
  return key;
}

// Mutants of plug-ins can also be made from an installation; only properties judge them, no tests.
void check_plugins(const mutants_options& o, const toolchain& tools) {
  const auto is_ours = [](const std::string& op) { return plugin_of(op) == nullptr; };
  const bool ours = o.operators.empty() || std::ranges::any_of(o.operators, is_ours);
  if (tools.installed() && ours)
    throw environment_error("mutants: they are made of the source tree; use the warpcheck of a build folder");
  if (o.generated && !std::ranges::all_of(o.operators, is_ours))
    throw usage_error("generated: mutants are generated of this repository's operators, not of a plug-in's");
}

int usable_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// Removes the unfinished files that a killed trial leaves beside its result.
void remove_unfinished(const tried_mutant& e) {
  const fs::path path = e.path;
  const std::string name = path.filename().string();
  const std::string prefix = name.substr(0, name.find('.', name.rfind('-')) + 1);
  std::vector<fs::path> unfinished;
  for (const fs::directory_entry& entry : fs::directory_iterator(path.parent_path()))
    for (const char* suffix : {".overlay", ".parts", ".build", ".partial"})
      if (const std::string one = entry.path().filename().string(); one.starts_with(prefix) && one.ends_with(suffix))
        unfinished.push_back(entry.path());
  std::error_code ignored;
  for (const fs::path& one : unfinished) fs::remove_all(one, ignored);
}

using task = std::function<void(const tried_mutant&)>;  // writes the result to its path

// Runs `one` for each of `chosen`, `jobs` at a time, and stores the results. At the end throws environment_error if
// some could not be tried, or `interrupted` if the others were ended.
void run_all(const std::vector<tried_mutant*>& chosen, const task& one, int jobs) {
  struct running {
    tried_mutant* e;
    engine::child_process process;
  };
  const auto begin = std::chrono::steady_clock::now();
  std::vector<running> pool;
  std::string failures;
  size_t next = 0, done = 0;
  progress_line waiting("mutants");
  while (next < chosen.size() || !pool.empty()) {
    if (interrupt_watch::seen()) {
      for (running& r : pool) {
        r.process.kill_and_reap();
        remove_unfinished(*r.e);
      }
      throw interrupted("mutants: interrupted");
    }
    while (next < chosen.size() && pool.size() < static_cast<size_t>(jobs)) {
      tried_mutant* e = chosen[next++];
      e->result.reset();
      pool.push_back({e, engine::child_process([e, &one] {
                        std::error_code ignored;
                        fs::remove(e->path + ".failure", ignored);
                        try {
                          one(*e);
                        } catch (const std::exception& error) {
                          write_file(e->path + ".failure", error.what());
                        }
                      })});
    }
    for (size_t i = 0; i < pool.size();) {
      pool[i].process.drain();
      if (!pool[i].process.reap()) {
        ++i;
        continue;
      }
      tried_mutant& e = *pool[i].e;
      ++done;
      const std::string failure = e.path + ".failure";
      if (fs::exists(e.path) && !fs::exists(failure)) {
        e.result = mutant_result_from_json(read_text(e.path));
        erase_progress_line();
        fmt::print(stderr, "{:>6.1f} s {}/{} {} {}: {}\n", engine::seconds_since(begin), done, chosen.size(), e.m.op,
                   e.m.id, outcome(e));
      } else {
        failures += fmt::format("mutant {}: it could not be tried: {}\n", e.m.id,
                                fs::exists(failure) ? read_text(failure) : pool[i].process.death());
      }
      waiting.say(fmt::format("{} of {} mutants tried", done, chosen.size()));
      pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(i));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (!failures.empty()) throw environment_error(failures);
}

// Generates the lists of mutants again, because the sources may have changed.
void generate(const mutants_options& o, const toolchain& t, const std::string& folder) {
  std::vector<std::string> command = {t.root() + "/ci/mutate/generate", "--out", folder};
  const std::string installed = t.root() + "/build/python/bin/mutate";
  if (fs::exists(installed)) command.insert(command.end(), {"--mutate", installed});
  command.insert(command.end(), o.operators.begin(), o.operators.end());
  const command_result r = run_command(command);
  if (r.status != 0) {
    if (r.status == 2) throw usage_error(r.output);
    throw environment_error(r.output);
  }
  fmt::print(stderr, "{}", r.output);
}

std::string judges_file(const toolchain& t) { return t.root() + "/ci/mutate/judges"; }

// Generated mutants that nothing has killed.
std::vector<tried_mutant*> survivors_of(std::vector<tried_mutant>& entries) {
  std::vector<tried_mutant*> survivors;
  for (tried_mutant& e : entries)
    if (e.m.property.empty() && e.counts() && !e.killed() && !plugin_of(e.m.op)) survivors.push_back(&e);
  return survivors;
}

// Compares the compiled code of the survivors with that of the original.
void compare_code(std::vector<tried_mutant>& entries, const toolchain& tools, int jobs) {
  std::vector<tried_mutant*> unknown = survivors_of(entries);
  std::erase_if(unknown, [](const tried_mutant* e) { return e->result->compared_code; });
  const auto compare = [&](const tried_mutant& e) {
    mutant_result result = mutant_result_from_json(read_text(e.path));
    result.same_code = mutant_build(tools, e.m, e.path + ".build").same_code();
    result.compared_code = true;
    write_file(e.path, to_json(result));
  };
  run_all(unknown, compare, jobs);
}

// Survivors among the mutants of kernels get the tests that take too long to judge every mutant.
void judge_survivors_by_tests(std::vector<tried_mutant>& entries, const toolchain& tools,
                              std::optional<test_judges>& judges, const std::string& folder, int jobs) {
  std::vector<tried_mutant*> survivors = survivors_of(entries);
  std::erase_if(survivors, [](const tried_mutant* e) { return !e->m.kernel; });
  if (survivors.empty()) return;
  if (!judges) judges.emplace(judges_file(tools), tools);
  std::erase_if(survivors, [&](const tried_mutant* e) {
    return !judges->judge(e->m) || e->result->tests == tests_key(e->m, judges->of(e->m), tools);
  });
  std::vector<const mutant*> mutants;
  for (const tried_mutant* e : survivors) mutants.push_back(&e->m);
  judges->measure(mutants, folder);
  const auto judge = [&](const tried_mutant& e) {
    mutant_result result = mutant_result_from_json(read_text(e.path));
    const std::vector<test_program*> tests = judges->of(e.m);
    const mutant_result by_tests = try_by_tests(e.m, tests, tools, e.path + ".build");
    result.kill = by_tests.kill;
    result.as_expected = by_tests.as_expected;
    result.tests = tests_key(e.m, tests, tools);
    result.cases += by_tests.cases;
    write_file(e.path, to_json(result));
  };
  run_all(survivors, judge, jobs);
}

// A prepared run of mutants.
struct mutants_run {
  std::vector<tried_mutant> entries;
  mutant_trial_options trial;
  std::optional<test_judges> judges;  // of the suite's own mutants
  bool cut_short = false;
};

void check_options(const mutants_options& o) {
  check_cases(o.cases);
  if (o.one_in < 1) throw usage_error(fmt::format("--one-in: {} is too small, must be at least 1", o.one_in));
  if (o.jobs < 0) throw usage_error(fmt::format("jobs: {} is negative; 0 means one per core", o.jobs));
}

mutant_trial_options trial_options(const mutants_options& o, const toolchain& tools) {
  mutant_trial_options trial;
  trial.folder = tools.build_folder() + "/mutants";
  fs::create_directories(trial.folder);
  trial.sources_key = sources_key(tools.root());
  trial.suite_key = suite_key();
  trial.cases = o.cases;
  if (o.generated) trial.timeout_seconds = 20;  // many loop forever
  trial.seed = parse_seed(o.seed);
  return trial;
}

mutant_trial_options with_offer_of(const tried_mutant& e, mutant_trial_options trial) {
  trial.lacks = e.lacks;
  return trial;
}

// Determines the path of each result, by everything that it depends on, and for this measures the tests that judge
// mutants of the suite.
void place_results(mutants_run& run, const toolchain& tools) {
  std::vector<const mutant*> of_suite;
  for (const tried_mutant& e : run.entries)
    if (!e.m.kernel && !e.m.equivalent) of_suite.push_back(&e.m);
  if (!of_suite.empty()) {
    run.judges.emplace(judges_file(tools), tools);
    run.judges->measure(of_suite, run.trial.folder);
  }
  for (tried_mutant& e : run.entries)
    if (e.m.kernel)
      e.path = result_path(e.m, tools, with_offer_of(e, run.trial));
    else if (!e.m.equivalent)
      e.path = fmt::format("{}/{}-{}.json", run.trial.folder, e.m.id, tests_key(e.m, run.judges->of(e.m), tools));
}

// Reads the existing results, and returns the mutants without one. Of those that need what the offer lacks only the
// ones that the user names are tried, because all properties run on each.
std::vector<tried_mutant*> take_known_results(std::vector<tried_mutant>& entries, bool is_named) {
  std::vector<tried_mutant*> untried;
  for (tried_mutant& e : entries) {
    if (e.m.equivalent || (e.m.needs_lacked && !is_named)) continue;
    if (fs::exists(e.path))
      e.result = mutant_result_from_json(read_text(e.path));
    else
      untried.push_back(&e);
  }
  return untried;
}

void try_untried(mutants_run& run, const mutants_options& o, const toolchain& tools) {
  const auto try_one = [&](const tried_mutant& e) {
    if (e.m.kernel)
      try_mutant(e.m, e.usual, tools, with_offer_of(e, run.trial));
    else
      write_file(e.path, to_json(try_by_tests(e.m, run.judges->of(e.m), tools, e.path + ".build")));
  };
  const int jobs = o.jobs > 0 ? o.jobs : usable_cores();
  std::vector<tried_mutant*> untried = take_known_results(run.entries, !o.only.empty());
  fmt::print(stderr, "{} mutants, {} of them to try, the others as before\n", run.entries.size(), untried.size());
  // The ids of generated mutants are hashes, so an interrupted run has a sample of every subject.
  if (o.generated)
    std::ranges::sort(untried, [](const tried_mutant* a, const tried_mutant* b) { return a->m.id < b->m.id; });
  try {
    run_all(untried, try_one, jobs);
    if (!tools.ninja().empty()) compare_code(run.entries, tools, jobs);
    judge_survivors_by_tests(run.entries, tools, run.judges, run.trial.folder, jobs);
  } catch (const interrupted&) {
    run.cut_short = true;
    std::erase_if(run.entries, [](const tried_mutant& e) { return !e.result && !e.m.equivalent; });
  }
}

void write_json(const mutants_run& run, const mutants_options& o, const mutant_score& all, int code) {
  nlohmann::json list = nlohmann::json::array();
  for (const tried_mutant& e : run.entries) {
    nlohmann::json j = e.result ? nlohmann::json::parse(to_json(*e.result)) : nlohmann::json::object();
    j["id"] = e.m.id;
    j["operator"] = e.m.op;
    j["file"] = e.m.file;
    j["kernel"] = e.kernel();
    j["expected"] = expectation(e.m);
    j["outcome"] = e.equivalent()                     ? "equivalent"
                   : e.outside()                      ? "outside"
                   : !e.result->compile_error.empty() ? "not compiled"
                   : e.killed()                       ? "killed"
                                                      : "survived";
    list.push_back(std::move(j));
  }
  write_file(o.json, nlohmann::json{{"schema", "warpcheck-mutants-1"},
                                    {"version", WARPCHECK_VERSION},
                                    {"seed", run.trial.seed},
                                    {"cases", o.cases},
                                    {"killed", all.killed},
                                    {"killed_as_expected", all.as_expected},
                                    {"not_compiled", all.stillborn},
                                    {"equivalent", all.equivalent},
                                    {"usual_practice", {{"rtol=atol=1e-2", all.coarse}, {"rtol=atol=1e-4", all.fine}}},
                                    {"exit_code", code},
                                    {"interrupted", run.cut_short},
                                    {"mutants", list}}
                             .dump(1) +
                         "\n");
}

}  // namespace

int mutants(const mutants_options& asked) {
  mutants_options o = asked;
  if (o.operators.empty()) o.operators = plugin_operators();
  const auto begin = std::chrono::steady_clock::now();
  const interrupt_watch signals;
  const engine::orphan_collector orphans;
  check_options(o);
  const uint64_t seed = parse_seed(o.seed);
  const toolchain tools = toolchain::load();
  check_plugins(o, tools);
  std::string folder = o.folder;
  if (folder.empty() && o.generated) generate(o, tools, folder = tools.build_folder() + "/generated");
  if (folder.empty()) folder = tools.root() + "/ci/mutate";
  mutants_run run;
  run.entries = chosen_mutants(o, folder, seed);
  for (const tried_mutant& e : run.entries)  // every line must still fit the sources
    mutated_text(e.m, e.m.kernel ? kernel_sources_of(e.m.op, tools).root : tools.root());
  if (o.list) {
    for (const tried_mutant& e : run.entries) fmt::print("{:<16} {:<36} {}\n", e.m.id, e.m.file, expectation(e.m));
    return k_pass;
  }
  run.trial = trial_options(o, tools);
  place_results(run, tools);
  const size_t chosen = run.entries.size();
  try_untried(run, o, tools);

  print_mutants(run.entries);
  print_survivors(run.entries);
  const std::map<std::string, mutant_score> scores = print_scores(run.entries);
  fmt::print("{} mutants in {:.1f} s\n", run.entries.size(), engine::seconds_since(begin));
  mutant_score all;
  for (const tried_mutant& e : run.entries) all.add(e);
  bool pass = all.judged() + all.outside > 0 && all.as_expected == all.judged();
  if (o.generated && !run.cut_short)
    pass = all.judged() > 0 && (!o.only.empty() || holds_scores(scores, tools.root() + "/ci/mutate/generated.score"));
  const int code = run.cut_short ? k_interrupted : pass ? k_pass : k_violation;
  if (run.cut_short)
    fmt::print("interrupted: {} of {} mutants are in this table; the same command resumes\n", run.entries.size(),
               chosen);
  if (!o.json.empty()) write_json(run, o, all, code);
  return code;
}

}  // namespace warpcheck::cli
