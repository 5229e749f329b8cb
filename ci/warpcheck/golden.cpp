#include <fmt/format.h>

#include "ci/warpcheck/commands.hpp"
#include "ci/warpcheck/support.hpp"
#include "golden/check.hpp"
#include "properties/engine/contain.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/run_case.hpp"

namespace warpcheck::cli {

int golden_check(const golden_options& o) {
  std::string note;
  const std::string device = resolve_device(o.device, note);
  golden::check_options options;
  options.folder = o.folder;
  options.ops = o.operators;
  options.device = device;
  options.candidate = o.candidate;
  options.run = [&](const engine::trial_case& c) { return engine::run_contained(engine::run_case, c, o.timeout); };
  fmt::print("golden data in {}: {}, candidate {}\n", o.folder, note, o.candidate);
  int passed = 0, failed = 0, skipped = 0;
  for (const golden::file_result& r : golden::check(options)) {
    skipped += r.skipped;
    (r.passed() ? passed : failed) += !r.skipped;
    for (const std::string& sentence : r.disagreements)
      fmt::print("{}: the reference disagrees: {}\n", r.path, sentence);
    if (r.report && r.report->result != engine::verdict::pass)
      fmt::print("{}: {}", r.path, engine::describe(*r.report));
  }
  fmt::print("{} files agree, {} do not, {} skipped\n", passed, failed, skipped);
  return failed || !passed ? k_violation : k_pass;
}

int golden_regenerate(const golden_options& o) {
  if (o.operators.size() != 1) throw engine::usage_error("golden regenerate: name one operator");
  const golden::regenerated r = golden::regenerate(o.folder, o.operators[0]);
  fmt::print("{}: {} files written, {} unchanged, {} removed, {} kept that other programs made\n", o.operators[0],
             r.written, r.unchanged, r.removed, r.kept);
  return k_pass;
}

}  // namespace warpcheck::cli
