#include "command/mutants/mutant_trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "command/candidates/plugin.hpp"
#include "command/support.hpp"
#include "properties/engine/cases/generate.hpp"
#include "properties/engine/cases/offer.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/files/sha256.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/processes/supervisor.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/run_case.hpp"
#include "properties/engine/trials/trial.hpp"

namespace warpcheck::cli {
namespace {

namespace fs = std::filesystem;
using namespace engine;

constexpr int k_usual_trials = 5;
// Cases of each property before a mutant that any property may kill gets all cases and the detectors.
constexpr int64_t k_first_cases = 6;

std::string library_key(const mutant& m, const toolchain& t, const mutant_trial_options& o) {
  return sha256_hex(t.fingerprint() + o.sources_key + m.op + '\t' + m.file + '\t' + m.old_text + '\t' + m.new_text)
      .substr(0, 12);
}

// Operators may use the same id.
std::string file_prefix(const mutant& m) { return fmt::format("{}.{}-", m.op, m.id); }

// The value of WARPCHECK_ONLY_TYPE for one element type (kernels/candidate_support.hpp). Empty for types without a
// kernel template: their operators are built completely.
std::string only_type(dtype t) {
  switch (t) {
    case dtype::f16: return "simt::f16";
    case dtype::bf16: return "simt::bf16";
    case dtype::f32: return "float";
    case dtype::f64: return "double";
    case dtype::i64: return "int64_t";
    default: return "";
  }
}

std::string library_path(const mutant& m, dtype type, const toolchain& t, const mutant_trial_options& o) {
  return fmt::format("{}/{}{}{}.so", o.folder, file_prefix(m), library_key(m, t, o),
                     only_type(type).empty() ? "" : fmt::format(".{}", name_of(type)));
}

// Removes files of earlier states of the sources.
void remove_older(const std::string& folder, const std::string& prefix, const std::string& keep) {
  std::vector<fs::path> old;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && name.size() > prefix.size() + 12 && name[prefix.size() + 12] == '.' &&
        !name.starts_with(keep))
      old.push_back(entry.path());
  }
  std::error_code ignored;
  for (const fs::path& path : old) fs::remove_all(path, ignored);
}

// Returns the compiler's output if it does not compile.
std::string build(const mutant& m, dtype type, const toolchain& t, const std::string& library,
                  const std::string& flavour) {
  const std::string output =
      flavour == "plain" ? library : fs::path(library).replace_extension("." + flavour + ".so").string();
  if (fs::exists(output)) return "";
  const fs::path overlay = output + ".overlay";
  fs::remove_all(overlay);
  fs::create_directories((overlay / m.file).parent_path());
  const kernel_sources from = kernel_sources_of(m.op, t);
  write_file((overlay / m.file).string(), mutated_text(m, from.root));
  const std::string module = (overlay / "module.cpp").string();
  write_file(module, t.module_source({m.op}, flavour));
  compilation c;
  c.sources = {m.file == from.kernel ? (overlay / from.kernel).string() : from.root + "/" + from.kernel, module};
  c.overlays = {overlay.string()};
  if (from.root != t.root()) c.overlays.push_back(from.root);
  // Less optimisation takes a third of the time to build; warnings about the mutant are irrelevant.
  c.options = {"-Og", "-g1", "-w"};
  if (const std::string only = only_type(type); !only.empty()) c.options.push_back("-DWARPCHECK_ONLY_TYPE=" + only);
  // A kernel may call that of another operator, as gru calls matmul.
  const std::string others = t.build_folder() + "/kernels/libwarpcheck_kernels_" + flavour + ".a";
  if (from.root == t.root() && fs::exists(others)) c.archives = {others};
  c.flavour = flavour;
  c.output = output;
  // Ten times the time of the original, because a mutant may make the compiler instantiate without end.
  c.cpu_seconds = 120;
  std::string error = t.compile(c);
  fs::remove_all(overlay);
  return error;
}

// Runs cases [0, cases) of one property and element type, until `failures` of them fail.
std::vector<case_report> failures_of(const property& p, const target& t, int64_t cases, int failures,
                                     const mutant_trial_options& o, mutant_result& result) {
  const int64_t count = std::max<int64_t>(1, cases * p.share_percent / 100);
  const uint64_t seed = o.seed;
  supervise_options s;
  s.workers = 1;  // mutants run in parallel
  s.timeout_seconds = o.timeout_seconds;
  s.max_failures_per_job = failures;
  s.run = run_case;
  const run_result_set results =
      supervise({{p.name, [&p, &t, seed](int64_t i) { return generate_case(p, t, seed, i); }, count}}, s);
  result.cases += results.jobs[0].cases;
  return results.jobs[0].failures;
}

mutant_kill kill_of(const property& p, const case_report& r) {
  return {p.name, std::string(name_of(r.result)), r.line,
          r.message.empty() && !r.findings.empty() ? r.findings.front() : r.message};
}

// Tries the expected property. A timeout kills a mutant only if it is expected, because a busy machine causes timeouts,
// too.
void try_expected(const mutant& m, const target& t, const mutant_trial_options& o, mutant_result& result) {
  const property& p = find_property(m.op, m.property);
  for (const case_report& r : failures_of(p, t, o.cases, m.verdict.empty() ? 1 : 5, o, result)) {
    if (m.verdict.empty() ? r.result == verdict::timeout : name_of(r.result) != m.verdict) continue;
    result.kill = kill_of(p, r);
    result.as_expected = true;
    return;
  }
}

// The original gets a quarter of the time, which distinguishes a mutant that loops forever from a busy machine.
bool original_is_quick(const case_report& r, const mutant_trial_options& o) {
  trial_case c = parse_case_line(r.line);
  c.knobs.erase("candidate");
  return run_contained(run_case, c, o.timeout_seconds / 4).result == verdict::pass;
}

// Tries every property until one kills. Without a detector, properties that need it are skipped.
void try_all(const mutant& m, const target& t, int64_t cases, bool detector, const mutant_trial_options& o,
             mutant_result& result) {
  for (const property* const p : killers_of(t)) {
    try {
      for (const case_report& r : failures_of(*p, t, cases, 1, o, result)) {
        if (r.result == verdict::timeout && !original_is_quick(r, o)) continue;
        result.kill = kill_of(*p, r);
        // Under a smaller offer the expected property may have no case that shows the bug.
        result.as_expected = m.property.empty() || !o.lacks.empty();
        return;
      }
    } catch (const environment_error&) {
      if (detector) throw;
    }
  }
}

// The types of the operator's properties, the most usual first.
std::vector<dtype> types_of(const std::string& op) {
  std::vector<dtype> types;
  for (const property& p : all_properties())
    for (const dtype t : p.types)
      if (p.op == op && std::ranges::find(types, t) == types.end()) types.push_back(t);
  return types;
}

// True if |actual - expected| <= tolerance + tolerance |expected| fails anywhere, like numpy.allclose.
bool differs(const host_tensor& actual, const host_tensor& expected, double tolerance) {
  for (int64_t row = 0; row < expected.spec.rows(); ++row)
    for (int64_t col = 0; col < expected.spec.cols(); ++col) {
      const double a = actual.value(row, col), e = expected.value(row, col);
      if (!(std::fabs(a - e) <= tolerance + tolerance * std::fabs(e))) return true;
    }
  return false;
}

// The usual practice: five arrays of normal numbers, one shape, one tolerance. The original kernel replaces the
// reference; it lies within 1e-6 of it. Any other failure of a plain launch counts as found, too.
void judge_by_usual_practice(const std::string& usual, const std::string& library, mutant_result& result) {
  std::string seen;
  try {
    seen = ask_child(
        [&]() -> std::string {
          trial_case c = parse_case_line(usual);
          c.knobs["schedule"] = "fair";
          c.knobs["detect"] = "off";
          bool coarse = false, fine = false;
          for (int i = 1; i <= k_usual_trials; ++i) {
            for (tensor_spec& t : c.tensors)
              if (t.is_input) t.fill = make_recipe("randn", {static_cast<double>(i)});
            const run_result expected = trial(c).run();
            trial_case of_mutant = c;
            of_mutant.knobs["candidate"] = library;
            try {
              const run_result actual = trial(of_mutant).run();
              for (const auto& [name, t] : expected.tensors) {
                coarse |= differs(actual.at(name), t, 1e-2);
                fine |= differs(actual.at(name), t, 1e-4);
              }
            } catch (const trial_over&) {
              return "coarse fine";
            }
          }
          return fmt::format("{}{}", coarse ? "coarse " : "", fine ? "fine" : "");
        },
        "the customary test");
  } catch (const environment_error&) {
    seen = "coarse fine";  // its process died, which every test notices
  }
  result.coarse_rejects = seen.find("coarse") != std::string::npos;
  result.fine_rejects = seen.find("fine") != std::string::npos;
}

}  // namespace

std::vector<const property*> killers_of(const target& t) {
  std::vector<const property*> list;
  for (const property& p : all_properties())
    if (p.op == t.op && std::ranges::find(p.types, t.type) != p.types.end() && missing_statement(p, t).empty())
      list.push_back(&p);
  return list;
}

kernel_sources kernel_sources_of(const std::string& op, const toolchain& t) {
  if (const plugin* p = plugin_of(op)) return {p->source, p->kernel};
  return {t.root(), "kernels/" + op + "/" + op + ".cu"};
}

std::string to_json(const mutant_result& r) {
  nlohmann::json j = {{"compile_error", r.compile_error},
                      {"as_expected", r.as_expected},
                      {"compared_code", r.compared_code},
                      {"same_code", r.same_code},
                      {"tests", r.tests},
                      {"cases", r.cases},
                      {"coarse", r.coarse_rejects},
                      {"fine", r.fine_rejects}};
  if (r.kill)
    j["kill"] = {{"property", r.kill->property},
                 {"verdict", r.kill->verdict},
                 {"line", r.kill->line},
                 {"message", r.kill->message}};
  return j.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
}

mutant_result mutant_result_from_json(const std::string& text) {
  const nlohmann::json j = nlohmann::json::parse(text);
  mutant_result r;
  r.compile_error = j.at("compile_error");
  r.as_expected = j.at("as_expected");
  r.compared_code = j.at("compared_code");
  r.same_code = j.at("same_code");
  r.tests = j.value("tests", "");
  r.cases = j.at("cases");
  r.coarse_rejects = j.at("coarse");
  r.fine_rejects = j.at("fine");
  if (j.contains("kill")) {
    const nlohmann::json& k = j.at("kill");
    r.kill = {k.at("property"), k.at("verdict"), k.at("line"), k.at("message")};
  }
  return r;
}

std::string result_path(const mutant& m, const toolchain& t, const mutant_trial_options& o) {
  const std::string options =
      fmt::format("{} {} {} {} {} {}", o.suite_key, o.cases, o.seed, m.property, m.verdict, o.lacks);
  return fmt::format("{}/{}{}.{}.json", o.folder, file_prefix(m), library_key(m, t, o),
                     sha256_hex(options).substr(0, 12));
}

mutant_result try_mutant(const mutant& m, const std::string& usual, const toolchain& t, const mutant_trial_options& o) {
  remove_older(o.folder, file_prefix(m), file_prefix(m) + library_key(m, t, o));
  mutant_result result;
  // The detectors cost as much to build as all the rest, so they are built only if they are expected to find the
  // mutant, or if nothing else did.
  const auto verdict_kind = engine::verdict_from_name(m.verdict);
  const bool detector = verdict_kind && *verdict_kind >= verdict::uninitialized && *verdict_kind <= verdict::livelock;

  // Tries one type after another, each from its own library, until one kills, because building is most of a mutant's
  // cost.
  const auto try_types = [&](const std::vector<dtype>& types, bool with_detector, const auto& try_one) {
    for (const dtype type : types) {
      const std::string library = library_path(m, type, t, o);
      for (const char* flavour : {"plain", "race"})
        if (result.compile_error.empty() && (flavour == std::string("plain") || with_detector))
          result.compile_error = build(m, type, t, library, flavour);
      if (!result.compile_error.empty()) return;
      for (target& one : ask_targets(library, m.op, "emulated")) {
        if (one.type != type) continue;
        one.size = 1;
        one.offered.lacks = parse_offer(m.op, o.lacks).lacks;
        remember_offer(library, m.op, one.device, type, one.offered);
        try_one(one);
      }
      if (result.kill) return;
    }
  };
  const auto expected = [&](const target& one) { try_expected(m, one, o, result); };
  const auto all = [&](int64_t cases, bool with_detector) {
    return [&, cases, with_detector](const target& one) { try_all(m, one, cases, with_detector, o, result); };
  };

  const std::vector<dtype> every_type = types_of(m.op);
  const std::vector<dtype> types = m.property.empty() ? every_type : find_property(m.op, m.property).types;
  try {
    if (m.property.empty())
      try_types(types, detector, all(std::min(o.cases, k_first_cases), detector));
    else
      try_types(types, detector, expected);
  } catch (const environment_error&) {
    // Cases that need the detectors, which are not built yet.
    if (detector) throw;
  }
  const auto survives = [&] { return result.compile_error.empty() && !result.kill; };
  if (survives() && !detector && !m.property.empty()) try_types(types, true, expected);
  if (survives()) try_types(every_type, true, all(o.cases, true));
  if (!usual.empty() && result.compile_error.empty()) {
    const dtype type = parse_case_line(usual).tensors.at(0).type;
    const std::string library = library_path(m, type, t, o);
    result.compile_error = build(m, type, t, library, "plain");
    if (result.compile_error.empty()) judge_by_usual_practice(usual, library, result);
  }
  write_file(result_path(m, t, o), to_json(result));
  return result;
}

}  // namespace warpcheck::cli
