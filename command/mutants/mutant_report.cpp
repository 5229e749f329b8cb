#include "command/mutants/mutant_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "command/candidates/toolchain.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::cli {
namespace {

std::string first_line_with(const std::string& text, const char* word) {
  const size_t at = text.find(word);
  const size_t begin = at == std::string::npos ? 0 : text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', std::max(at, begin)) - begin);
}

double percent(int64_t part, int64_t all) {
  return all == 0 ? 100 : 100 * static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace

void mutant_score::add(const tried_mutant& t) {
  ++all;
  stillborn += t.stillborn();
  equivalent += !t.stillborn() && t.equivalent();
  outside += t.outside();
  if (!t.counts()) return;
  killed += t.killed();
  as_expected += t.as_expected();
  kernels += t.kernel();
  coarse += t.result->coarse_rejects;
  fine += t.result->fine_rejects;
}

std::string outcome(const tried_mutant& t) {
  if (t.m.equivalent) return "equivalent (listed)";
  if (t.outside()) return "outside the smaller offer (listed)";
  const mutant_result& r = *t.result;
  if (!r.compile_error.empty()) return "does not compile";
  if (r.kill) return fmt::format("{} ({})", r.kill->property, r.kill->verdict);
  return r.same_code ? "equivalent (same code)" : "survived";
}

std::string expectation(const mutant& m) {
  if (m.equivalent) return "=";
  return m.property.empty() ? "*" : m.property + (m.verdict.empty() ? "" : ":" + m.verdict);
}

void print_mutants(const std::vector<tried_mutant>& tried) {
  fmt::print("{:<14} {:<44} {:>6}  {:<5} {:<5} {}\n", "mutant", "killed by", "cases", "1e-2", "1e-4", "expected");
  for (const tried_mutant& t : tried) {
    if (!t.result) {
      fmt::print("{:<14} {}\n", t.m.id, outcome(t));
      continue;
    }
    const mutant_result& r = *t.result;
    const auto seen = [&](bool sees) { return !t.kernel() ? "" : sees ? "sees" : "-"; };
    fmt::print("{:<14} {:<44} {:>6}  {:<5} {:<5} {}\n", t.m.id, outcome(t), r.cases, seen(r.coarse_rejects),
               seen(r.fine_rejects),
               t.as_expected()                  ? "as expected"
               : t.m.needs_lacked && t.killed() ? "its list says that it needs what is lacked"
               : t.counts()                     ? expectation(t.m) + " MISSED IT"
                                                : "left out");
    if (!r.compile_error.empty()) fmt::print("  {}\n", first_line_with(r.compile_error, "error"));
    if (r.kill && !r.kill->line.empty()) fmt::print("  {}\n", engine::replay_command(r.kill->line));
    if (r.kill && r.kill->line.empty()) fmt::print("  {}\n", r.kill->message);
  }
}

void print_survivors(const std::vector<tried_mutant>& tried) {
  for (const tried_mutant& t : tried) {
    if (!t.counts() || t.killed()) continue;
    fmt::print("{}: {} {}\n", t.m.place, t.m.id, outcome(t));
    if (t.m.property.empty()) fmt::print("  {}\n  - {}\n  + {}\n", t.m.file, t.m.old_text, t.m.new_text);
  }
}

std::map<std::string, mutant_score> print_scores(const std::vector<tried_mutant>& tried) {
  std::map<std::string, mutant_score> scores;
  mutant_score all;
  for (const tried_mutant& t : tried) {
    scores[t.m.op].add(t);
    all.add(t);
  }
  if (scores.size() > 1) {
    fmt::print("{:<14} {:>7} {:>12} {:>10} {:>6} {:>11} {:>8} {:>7}\n", "subject", "mutants", "not compiled",
               "equivalent", "killed", "as expected", "survived", "score");
    for (const auto& [subject, s] : scores)
      fmt::print("{:<14} {:>7} {:>12} {:>10} {:>6} {:>11} {:>8} {:>6.1f}%\n", subject, s.all, s.stillborn, s.equivalent,
                 s.killed, s.as_expected, s.judged() - s.killed, percent(s.killed, s.judged()));
  }
  if (all.stillborn > 0) fmt::print("{} generated mutants do not compile and are left out\n", all.stillborn);
  if (all.outside > 0) fmt::print("{} need what the offer lacks and are left out\n", all.outside);
  if (all.equivalent > 0) fmt::print("{} are equivalent to the original and are left out\n", all.equivalent);
  if (all.judged() > 0)
    fmt::print("mutation score {:.1f} % ({} of {}, {} by the expected killer)", percent(all.killed, all.judged()),
               all.killed, all.judged(), all.as_expected);
  else
    fmt::print("no mutant was judged, so nothing is proven");
  if (all.kernels > 0)
    fmt::print("; allclose(randn) sees {:.1f} % at 1e-2 and {:.1f} % at 1e-4{}", percent(all.coarse, all.kernels),
               percent(all.fine, all.kernels), all.kernels < all.judged() ? " of the kernels' mutants" : "");
  fmt::print("\n");
  return scores;
}

bool holds_scores(const std::map<std::string, mutant_score>& scores, const std::string& path) {
  struct score {
    int64_t killed = 0, judged = 0;
    bool operator==(const score&) const = default;
  };
  const std::string name = std::filesystem::path(path).filename().string();
  std::map<std::string, score> committed;
  std::istringstream lines(read_text(path));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string subject, rest;
    score s;
    if (!(words >> subject >> s.killed >> s.judged) || words >> rest || s.killed < 0 || s.judged < s.killed)
      throw engine::usage_error(
          fmt::format("{}:{}: subject, killed and judged are required, with killed <= judged", name, number));
    committed[subject] = s;
  }
  bool holds = true, differs = false;
  for (const auto& [subject, s] : scores) {
    const auto found = committed.find(subject);
    differs |= found == committed.end() || !(found->second == score{s.killed, s.judged()});
    if (found == committed.end()) continue;
    const score& before = found->second;
    if (s.killed * std::max<int64_t>(1, before.judged) >= before.killed * s.judged()) continue;
    holds = false;
    fmt::print("{}: the score of {} went down: {} of {} killed, {} has {} of {}\n", name, subject, s.killed, s.judged(),
               name, before.killed, before.judged);
  }
  if (holds && differs) {
    fmt::print("{} can be brought up to date:\n", name);
    for (const auto& [subject, s] : scores) fmt::print("{}\t{}\t{}\n", subject, s.killed, s.judged());
  }
  return holds;
}

}  // namespace warpcheck::cli
