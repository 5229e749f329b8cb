#include "ci/warpcheck/mutants.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "ci/warpcheck/commands.hpp"
#include "ci/warpcheck/mutant_list.hpp"
#include "ci/warpcheck/mutant_trial.hpp"
#include "ci/warpcheck/support.hpp"
#include "properties/engine/contain.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/sha256.hpp"

namespace warpcheck::cli {
namespace {

namespace fs = std::filesystem;
using engine::environment_error;
using engine::usage_error;

struct entry {
  mutant m;
  std::string usual;
  std::string path;  // of the result
  std::optional<mutant_result> result;
  bool recalled = false;
};

std::vector<entry> chosen_mutants(const mutants_options& o, const std::string& folder) {
  std::vector<std::string> lists;
  if (o.operators.empty()) {
    for (const fs::directory_entry& e : fs::directory_iterator(folder))
      if (e.path().extension() == ".mutants") lists.push_back(e.path().string());
    std::sort(lists.begin(), lists.end());
    if (lists.empty()) throw usage_error(fmt::format("mutants: there is no list in '{}'", folder));
  }
  for (const std::string& op : o.operators) {
    const std::string path = fmt::format("{}/{}.mutants", folder, op);
    if (!fs::exists(path)) throw usage_error(fmt::format("mutants: operator '{}' has no list {}", op, path));
    lists.push_back(path);
  }
  std::vector<entry> entries;
  for (const std::string& path : lists) {
    mutant_list list = read_mutants(path);
    for (mutant& m : list.mutants)
      if (o.only.empty() || std::find(o.only.begin(), o.only.end(), m.id) != o.only.end())
        entries.push_back({std::move(m), list.usual, "", std::nullopt, false});
  }
  for (const std::string& id : o.only)
    if (std::none_of(entries.begin(), entries.end(), [&](const entry& e) { return e.m.id == id; }))
      throw usage_error(fmt::format("only: no mutant is called '{}'; --list shows them", id));
  return entries;
}

// Of everything below kernels/ that a mutant's library is made from.
std::string sources_key(const std::string& root) {
  std::vector<std::string> paths;
  for (const fs::directory_entry& e : fs::recursive_directory_iterator(root + "/kernels"))
    if (e.is_regular_file()) paths.push_back(e.path().string());
  std::sort(paths.begin(), paths.end());
  std::string text;
  for (const std::string& path : paths) text += path.substr(root.size()) + file_sha256(path);
  return engine::sha256_hex(text);
}

int usable_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::string outcome(const mutant_result& r) {
  if (!r.compile_error.empty()) return "does not compile";
  return r.kill ? fmt::format("{} ({})", r.kill->property, r.kill->verdict) : "survived";
}

void run_all(std::vector<entry>& entries, const toolchain& t, const mutant_trial_options& trial, int jobs) {
  struct running {
    entry* e;
    engine::child_process process;
  };
  const engine::stray_collector strays;
  std::vector<running> pool;
  size_t next = 0;
  const auto is_done = [](const entry& e) { return e.result.has_value(); };
  const auto announce = [&](const entry& e) {
    fmt::print(stderr, "{}/{} {}: {}{}\n", std::count_if(entries.begin(), entries.end(), is_done), entries.size(),
               e.m.id, outcome(*e.result), e.recalled ? ", as before" : "");
  };
  while (next < entries.size() || !pool.empty()) {
    while (next < entries.size() && pool.size() < static_cast<size_t>(jobs)) {
      entry& e = entries[next++];
      if (fs::exists(e.path)) {
        e.result = mutant_result_from_json(read_text(e.path));
        e.recalled = true;
        announce(e);
        continue;
      }
      pool.push_back({&e, engine::child_process([&e, &t, &trial] {
                        try {
                          try_mutant(e.m, e.usual, t, trial);
                        } catch (const std::exception& error) {
                          fmt::print(stderr, "{}\n", error.what());
                        }
                      })});
    }
    for (size_t i = 0; i < pool.size();) {
      pool[i].process.drain();
      if (!pool[i].process.reap()) {
        ++i;
        continue;
      }
      entry& e = *pool[i].e;
      if (!fs::exists(e.path))
        throw environment_error(fmt::format("mutant {}: it could not be tried: {}", e.m.id, pool[i].process.death()));
      e.result = mutant_result_from_json(read_text(e.path));
      announce(e);
      pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(i));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::string first_line_with(const std::string& text, const char* word) {
  const size_t at = text.find(word);
  const size_t begin = at == std::string::npos ? 0 : text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', std::max(at, begin)) - begin);
}

std::string expectation(const mutant& m) {
  return m.property.empty() ? "*" : m.property + (m.verdict.empty() ? "" : ":" + m.verdict);
}

void print_report(const std::vector<entry>& entries) {
  fmt::print("{:<14} {:<44} {:>6}  {:<5} {:<5} {}\n", "mutant", "killed by", "cases", "1e-2", "1e-4", "expected");
  for (const entry& e : entries) {
    const mutant_result& r = *e.result;
    fmt::print("{:<14} {:<44} {:>6}  {:<5} {:<5} {}\n", e.m.id, outcome(r), r.cases, r.coarse_rejects ? "sees" : "-",
               r.fine_rejects ? "sees" : "-", r.as_expected ? "as expected" : expectation(e.m) + " MISSED IT");
    if (!r.compile_error.empty()) fmt::print("  {}\n", first_line_with(r.compile_error, "error"));
    if (r.kill) fmt::print("  warpcheck replay '{}'\n", r.kill->line);
  }
}

}  // namespace

int mutants(const mutants_options& o) {
  if (o.cases < 1) throw usage_error(fmt::format("cases: {} is not at least 1", o.cases));
  if (o.jobs < 0) throw usage_error(fmt::format("jobs: {} is negative; 0 means one per core", o.jobs));
  const uint64_t seed = parse_seed(o.seed);
  const toolchain tools = toolchain::load();
  const std::string folder = o.folder.empty() ? tools.root() + "/ci/mutate" : o.folder;
  std::vector<entry> entries = chosen_mutants(o, folder);
  for (const entry& e : entries) mutated_text(e.m, tools.root());  // every line of the list must still fit the sources
  if (o.list) {
    for (const entry& e : entries) fmt::print("{:<16} {:<36} {}\n", e.m.id, e.m.file, expectation(e.m));
    return k_pass;
  }

  mutant_trial_options trial;
  trial.folder = tools.build_folder() + "/mutants";
  fs::create_directories(trial.folder);
  trial.sources_key = sources_key(tools.root());
  trial.suite_key = file_sha256("/proc/self/exe");
  trial.cases = o.cases;
  trial.seed = seed;
  for (entry& e : entries) e.path = result_path(e.m, tools, trial);
  run_all(entries, tools, trial, o.jobs > 0 ? o.jobs : usable_cores());
  print_report(entries);

  // A generated mutant that does not compile is none; a listed one is a broken line of the list.
  int64_t killed = 0, as_expected = 0, coarse = 0, fine = 0, stillborn = 0;
  nlohmann::json list = nlohmann::json::array();
  for (const entry& e : entries) {
    const mutant_result& r = *e.result;
    killed += r.kill.has_value();
    as_expected += r.as_expected;
    coarse += r.coarse_rejects;
    fine += r.fine_rejects;
    nlohmann::json j = nlohmann::json::parse(to_json(r));
    j["id"] = e.m.id;
    j["operator"] = e.m.op;
    j["file"] = e.m.file;
    j["expected"] = expectation(e.m);
    j["outcome"] = !r.compile_error.empty() ? "not compiled" : r.kill ? "killed" : "survived";
    list.push_back(std::move(j));
    const bool unborn = e.m.property.empty() && !r.compile_error.empty();
    stillborn += unborn;
    if (!r.kill && !unborn) fmt::print("{}: {} {}\n", e.m.place, e.m.id, outcome(r));
  }
  const auto all = static_cast<int64_t>(entries.size()) - stillborn;
  if (stillborn > 0) fmt::print("{} generated mutants do not compile and are left out\n", stillborn);
  if (all == 0) {
    fmt::print("no mutant was judged, so nothing is proven\n");
    return k_violation;
  }
  const auto percent = [&](int64_t n) { return 100.0 * static_cast<double>(n) / static_cast<double>(all); };
  fmt::print(
      "mutation score {:.1f} % ({} of {}, {} by the expected killer); allclose(randn) sees {:.1f} % at 1e-2 and {:.1f} "
      "% at 1e-4\n",
      percent(killed), killed, all, as_expected, percent(coarse), percent(fine));
  const int code = as_expected == all ? k_pass : k_violation;
  if (!o.json.empty())
    write_file(o.json, nlohmann::json{{"schema", "warpcheck-mutants-1"},
                                      {"version", WARPCHECK_VERSION},
                                      {"seed", seed},
                                      {"cases", o.cases},
                                      {"killed", killed},
                                      {"killed_as_expected", as_expected},
                                      {"not_compiled", stillborn},
                                      {"usual_practice", {{"rtol=atol=1e-2", coarse}, {"rtol=atol=1e-4", fine}}},
                                      {"exit_code", code},
                                      {"mutants", list}}
                               .dump(1) +
                           "\n");
  return code;
}

}  // namespace warpcheck::cli
