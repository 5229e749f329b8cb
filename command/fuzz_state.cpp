#include "command/fuzz_state.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "command/support.hpp"
#include "golden/writer.hpp"
#include "properties/engine/cases/classes.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/files/json_number.hpp"
#include "properties/engine/files/sha256.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::cli {

using namespace engine;

namespace {

constexpr const char* k_schema = "warpcheck-fuzz-state-1";

// The case without everything that belongs to one machine, such as the candidate's path.
trial_case portable_case(const std::string& line) {
  trial_case c = parse_case_line(line);
  c.knobs.erase("candidate");
  return c;
}

// A golden header can hold printable ASCII in one line.
std::string header_text(const std::string& text) {
  std::string line;
  for (const char c : text) line += c >= ' ' && c <= '~' ? c : ' ';
  constexpr size_t k_most = 400;
  line = line.substr(0, k_most);
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace

fuzz_finding* fuzz_state::find(const fuzz_finding& like) {
  for (fuzz_finding& f : findings)
    if (f.op == like.op && f.property == like.property && f.verdict == like.verdict && f.shape == like.shape) return &f;
  return nullptr;
}

std::string to_json(const fuzz_state& s) {
  nlohmann::json totals = nlohmann::json::object(), coverage = nlohmann::json::object(),
                 findings = nlohmann::json::array();
  for (const auto& [name, t] : s.totals)
    totals[name] = {t.cases,     t.skipped, t.launches, t.compared, t.failures, json_number(t.max_error_ratio),
                    t.is_lacking};
  for (const auto& [name, c] : s.coverage) coverage[name] = {c.classes, c.combinations, c.variants};
  for (const fuzz_finding& f : s.findings)
    findings.push_back({{"name", f.name},
                        {"operator", f.op},
                        {"property", f.property},
                        {"verdict", f.verdict},
                        {"shape_class", f.shape},
                        {"case", f.line},
                        {"message", f.message},
                        {"failures", f.failures},
                        {"report", f.report}});
  return nlohmann::json{{"schema", k_schema},   {"options", s.options}, {"seed", s.seed},
                        {"rounds", s.rounds},   {"seconds", s.seconds}, {"totals", totals},
                        {"coverage", coverage}, {"judged", s.judged},   {"minimised", s.minimised},
                        {"findings", findings}}
             .dump(1, ' ', true, nlohmann::json::error_handler_t::replace) +
         "\n";
}

fuzz_state fuzz_state_from_json(const std::string& text, const std::string& name) {
  try {
    const nlohmann::json j = nlohmann::json::parse(text);
    if (j.at("schema") != k_schema)
      throw usage_error(fmt::format("{}: its schema is {}; {} is allowed", name, j.at("schema").dump(), k_schema));
    fuzz_state s;
    s.options = j.at("options");
    s.seed = j.at("seed");
    s.rounds = j.at("rounds");
    s.seconds = j.at("seconds");
    for (const auto& [key, t] : j.at("totals").items())
      s.totals[key] = {{t.at(0), t.at(1), t.at(2), t.at(3), t.at(4), t.at(6)}, number_from_json(t.at(5))};
    for (const auto& [key, c] : j.at("coverage").items()) s.coverage[key] = {c.at(0), c.at(1), c.at(2)};
    s.judged = j.at("judged").get<std::map<std::string, std::string>>();
    s.minimised = j.at("minimised").get<std::map<std::string, int64_t>>();
    for (const auto& f : j.at("findings"))
      s.findings.push_back({f.at("name"), f.at("operator"), f.at("property"), f.at("verdict"), f.at("shape_class"),
                            f.at("case"), f.at("message"), f.at("failures"), f.value("report", "")});
    return s;
  } catch (const nlohmann::json::exception& e) {
    throw usage_error(fmt::format("{}: it is not the state of a fuzzing run: {}", name, e.what()));
  }
}

fuzz_finding make_finding(const case_report& r) {
  const trial_case c = parse_case_line(r.line);
  fuzz_finding f;
  f.op = c.op;
  f.property = c.property;
  f.verdict = name_of(r.result);
  f.shape = shape_class(c);
  f.line = r.line;
  f.message = r.message;
  f.report = to_json(r);
  const std::string key = fmt::format("{} {} {} {}", f.op, f.property, f.verdict, f.shape);
  f.name = fmt::format("{}-{}-{}", f.op.substr(0, f.op.find('.')), f.property, sha256_hex(key).substr(0, 8));
  return f;
}

void write_finding(const std::string& folder, const fuzz_finding& f, const case_report& r, uint64_t seed,
                   const std::string& circumstances) {
  golden::golden_file file;
  file.what = golden::kind::regression;
  file.op = f.op;
  file.name = f.name;
  file.generator = "warpcheck fuzz";
  file.source = header_text(fmt::format("{}: {}", f.verdict, f.message));
  constexpr uint64_t k_most_seed = uint64_t{1} << 53;  // of a golden header; a larger one is only in the Markdown file
  file.seed = seed <= k_most_seed ? seed : 0;
  file.the_case = portable_case(r.line);
  golden::write_golden(folder, file, parse_case_line);

  write_file((std::filesystem::path(folder) / (f.name + ".md")).string(),
             fmt::format("# {}/{}: {} at {}\n\n{}\n\nReproduce with\n\n```\n{}\n```\n\n"
                         "```\n{}```\n\nTo replay it first in every run, put `{}.golden` into `golden/regressions` and "
                         "run `warpcheck golden regenerate {}`.\n",
                         f.op, f.property, f.verdict, f.shape, circumstances, replay_command(r.line), describe(r),
                         f.name, f.op));
}

}  // namespace warpcheck::cli
