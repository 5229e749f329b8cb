#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <set>

#include "command/candidates/plugin.hpp"
#include "command/commands.hpp"
#include "command/formula_arguments.hpp"
#include "command/formula_golden.hpp"
#include "command/profile.hpp"
#include "command/support.hpp"
#include "command/terminal.hpp"
#include "golden/check.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/processes/supervisor.hpp"
#include "properties/engine/trials/run_case.hpp"

namespace warpcheck::cli {

namespace {

// With plug-ins, the defaults are their operators and their folder.
golden_options with_defaults(golden_options o) {
  verify_options formulas;
  formulas.operators = o.operators;
  formulas.device = o.device;
  formulas.candidate = o.candidate;
  use_formulas(formulas, false);
  o.operators = formulas.operators;
  o.device = formulas.device;
  for (const std::string& op : o.operators)
    if (is_formula_argument(op)) add_formula_golden(op, o.folder.empty() ? "golden" : o.folder);
  if (o.operators.empty()) o.operators = plugin_operators();
  if (!o.folder.empty()) return o;
  std::set<std::string> folders;
  for (const std::string& op : o.operators)
    folders.insert(plugin_of(op) ? (std::filesystem::path(plugin_of(op)->source) / "golden").string() : "golden");
  if (folders.size() > 1)
    throw engine::usage_error(
        fmt::format("golden: the operators' files lie in {}; name those of one folder", fmt::join(folders, " and ")));
  o.folder = folders.empty() ? "golden" : *folders.begin();
  return o;
}

// The device's name in profiles. Code for GPUs of another architecture may round differently, hence "cuda_sm_90", from
// the note of resolve_device.
std::string profiled_device(const std::string& device, const std::string& note) {
  if (device == "cpu") return "emulated";
  const size_t at = note.find("sm_");
  return device == "cuda" && at != std::string::npos ? "cuda_" + note.substr(at, note.find(',', at) - at) : device;
}

// If any operator of the folder has a profile for the device, a missing one is an error. No operator has one if the
// folder comes without profiles, as in a bundle, or for a GPU of another architecture.
bool owes_profile(const std::string& folder, const std::string& profiled) {
  const std::vector<std::string> ops = engine::operators_with_properties();
  return std::ranges::any_of(
      ops, [&](const std::string& op) { return std::filesystem::exists(profile_path(folder, op, profiled)); });
}

// The accuracy ratchet: entries of the committed profiles that the candidate worsened.
int worsened_entries(const golden_options& o, const std::string& device, const std::string& note,
                     const std::vector<std::string>& ops) {
  const std::string profiled = profiled_device(device, note);
  int worse = 0;
  for (const std::string& op : ops) {
    if (is_formula_argument(op)) continue;  // for these the bounds alone count
    const std::string path = profile_path(o.folder, op, profiled);
    if (!std::filesystem::exists(path)) {
      if (owes_profile(o.folder, profiled))
        throw engine::usage_error(
            fmt::format("{}: there is no error profile; 'warpcheck golden regenerate {}' writes it", path, op));
      fmt::print("{}: no error profile for device {}, nothing to compare with\n", op, profiled);
      continue;
    }
    const error_profile golden = read_profile(path);
    const std::vector<std::string> sentences =
        worsened(golden, measure_profile(op, device, o.candidate, o.timeout), o.candidate == "builtin");
    for (const std::string& sentence : sentences) fmt::print("less accurate: {}\n", sentence);
    if (sentences.empty()) fmt::print("{}: no less accurate than {}\n", op, path);
    worse += static_cast<int>(sentences.size());
  }
  return worse;
}

// The reports of cases that worker processes share, because one process for each file would cost half a second of the
// driver's start on a GPU.
std::vector<engine::case_report> run_all(const std::vector<engine::trial_case>& cases, const std::string& device,
                                         double timeout) {
  std::vector<engine::job> jobs;
  for (size_t i = 0; i < cases.size(); ++i)
    jobs.push_back({fmt::format("file {}", i), [&cases, i](int64_t) { return cases[i]; }, 1});
  engine::supervise_options s;
  s.timeout_seconds = timeout;
  s.shared_device = device == "cuda";
  s.run = engine::run_case;
  const engine::run_result_set results = engine::supervise(jobs, s);
  if (results.interrupted) throw interrupted("golden check: interrupted");
  std::vector<engine::case_report> reports;
  for (const engine::job_result& r : results.jobs)
    reports.push_back(!r.failures.empty() ? r.failures[0] : r.first_skipped.value_or(engine::case_report()));
  return reports;
}

}  // namespace

int golden_check(const golden_options& asked) {
  const golden_options o = with_defaults(asked);
  const auto begin = std::chrono::steady_clock::now();
  std::string note;
  const std::string device = resolve_device(o.device, note);
  golden::check_options options;
  options.folder = o.folder;
  options.ops = o.operators;
  options.device = device;
  options.candidate = o.candidate;
  if (o.candidate != "builtin")
    for (const std::string& op : o.operators.empty() ? engine::operators_with_properties() : o.operators)
      for (const engine::target& t : ask_targets(o.candidate, op, device)) options.types.push_back(t.type);
  options.run = [&](const std::vector<engine::trial_case>& cases) { return run_all(cases, device, o.timeout); };
  fmt::print("golden data in {}: {}, candidate {}\n", o.folder, note, o.candidate);
  int passed = 0, failed = 0, skipped = 0;
  std::vector<std::string> ops;
  std::optional<progress_line> waiting("golden check");
  const std::vector<golden::file_result> files = golden::check(options);
  waiting.reset();
  for (const golden::file_result& r : files) {
    const std::string op = r.path.substr(0, r.path.find('/'));
    if (op != "regressions" && std::ranges::find(ops, op) == ops.end()) ops.push_back(op);
    skipped += r.skipped;
    (r.passed() ? passed : failed) += !r.skipped;
    for (const std::string& sentence : r.disagreements)
      fmt::print("{}: the reference disagrees: {}\n", r.path, sentence);
    if (r.report && r.report->result != engine::verdict::pass)
      fmt::print("{}: {}", r.path, engine::describe(*r.report));
  }
  fmt::print("{} files agree, {} do not, {} skipped in {:.1f} s\n", passed, failed, skipped,
             engine::seconds_since(begin));
  // Another candidate must stay within its bounds, but match our accuracy only if requested.
  int worse = 0;
  if (o.candidate == "builtin" || o.ratchet) worse = failed ? 0 : worsened_entries(o, device, note, ops);
  return failed || worse || !passed ? k_violation : k_pass;
}

int golden_regenerate(const golden_options& asked) {
  const golden_options o = with_defaults(asked);
  const bool are_formulas = std::ranges::all_of(o.operators, is_formula_argument);
  if (o.operators.size() != 1 && !are_formulas) throw engine::usage_error("golden regenerate: name one operator");
  for (const std::string& op : o.operators) {
    const progress_line waiting("golden regenerate " + op);
    const golden::regenerated r = golden::regenerate(o.folder, op);
    erase_progress_line();
    fmt::print("{}: {} files written, {} unchanged, {} removed, {} kept that other programs made\n", op, r.written,
               r.unchanged, r.removed, r.kept);
  }
  if (are_formulas) return k_pass;
  std::string note;
  const std::string device = resolve_device(o.device, note);
  const std::string path = profile_path(o.folder, o.operators[0], profiled_device(device, note));
  write_file(path, to_json(measure_profile(o.operators[0], device, "builtin", o.timeout)));
  erase_progress_line();
  fmt::print("{}: written ({})\n", path, note);
  return k_pass;
}

}  // namespace warpcheck::cli
