#include "command/report/failure_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "command/candidates/source_candidate.hpp"
#include "command/candidates/toolchain.hpp"
#include "command/report/causes.hpp"
#include "command/support.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/files/json_number.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/shrinking/shrink.hpp"
#include "properties/engine/trials/advice.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/run_case.hpp"
#include "properties/engine/trials/trial.hpp"

namespace warpcheck::cli {
namespace {

namespace fs = std::filesystem;

// Files of the source tree, or of the installed headers, by their names; a name that two files have is left out.
const std::map<std::string, std::string>& files_of_tree() {
  static const std::map<std::string, std::string> files = [] {
    std::map<std::string, std::string> list;
    const std::string root = source_root();
    std::error_code ignored;
    for (const char* folder : {"kernels", "simt", "properties"}) {
      if (root.empty() || !fs::is_directory(fs::path(root) / folder, ignored)) continue;
      for (const fs::directory_entry& e : fs::recursive_directory_iterator(fs::path(root) / folder, ignored)) {
        if (!e.is_regular_file(ignored)) continue;
        const auto [at, fresh] = list.emplace(e.path().filename().string(), e.path().string());
        if (!fresh) at->second.clear();
      }
    }
    return list;
  }();
  return files;
}

std::string path_of(const std::string& name, const std::string& source) {
  std::error_code ignored;
  const fs::path beside = fs::path(source).parent_path() / name;
  if (!source.empty() && fs::is_regular_file(beside, ignored)) return beside.string();
  if (fs::is_regular_file(name, ignored)) return name;
  const auto found = files_of_tree().find(fs::path(name).filename().string());
  return found == files_of_tree().end() ? "" : found->second;
}

std::string line_of(const std::string& path, int64_t number) {
  std::ifstream file(path);
  std::string line;
  for (int64_t i = 0; i < number; ++i)
    if (!std::getline(file, line)) return "";
  return line;
}

// Returns the candidate's source file; "" if it has none, or if the line is not a case.
std::string source_of_line(const std::string& line) {
  try {
    return source_of(engine::parse_case_line(line).knob("candidate"));
  } catch (const engine::usage_error&) {
    return "";
  }
}

nlohmann::json sources_of(const engine::case_report& r) {
  static const std::regex place(R"(([A-Za-z0-9_./+-]+\.(?:cu|cuh|cpp|hpp|h)):([0-9]{1,7}))");
  const std::string source = source_of_line(r.line);
  nlohmann::json list = nlohmann::json::array();
  std::set<std::string> seen;
  for (const std::string& text : r.findings)
    for (std::sregex_iterator m(text.begin(), text.end(), place), end; m != end; ++m) {
      if (!seen.insert(m->str()).second) continue;
      nlohmann::json entry = {{"place", m->str()}, {"line", std::stoll((*m)[2])}};
      if (const std::string path = path_of((*m)[1], source); !path.empty()) {
        entry["text"] = line_of(path, entry["line"]);
        // Named from the root of the source tree, wherever the tree is.
        const std::string root = source_root() + "/";
        entry["file"] = root.size() > 1 && path.starts_with(root) ? path.substr(root.size()) : path;
      }
      list.push_back(std::move(entry));
    }
  return list;
}

}  // namespace

nlohmann::json failure_json(const engine::case_report& r) {
  nlohmann::json j = nlohmann::json::parse(to_json(r));
  j["cause"] = cause_of(r);
  if (!r.findings.empty()) j["sources"] = sources_of(r);
  return j;
}

engine::case_report confirm_failure(const engine::case_report& seen, const engine::property& p, const run_request& r) {
  engine::confirm_options how;
  how.run = engine::run_case;
  // Indices and extents of several arrays depend on each other, so no part of them is a case.
  const bool has_own_call = !r.given.inputs.empty() && !p.for_input;
  how.holds = has_own_call ? [](const engine::trial_case&) { return false; } : p.holds;
  how.timeout_seconds = r.timeout;
  how.shrink_seconds = r.given.shrink_seconds;
  how.stop = interrupt_watch::seen;
  how.advise = [](const engine::trial_case& c) { return engine::advice_on_sizes(c, engine::stated_by(c)); };
  try {
    return confirm_and_shrink(seen, engine::parse_case_line(seen.line), how);
  } catch (const std::exception& e) {
    engine::case_report unshrunk = seen;
    unshrunk.message += fmt::format("; it cannot be repeated or shrunk: {}", e.what());
    return unshrunk;
  }
}

engine::explanation explain_failure(const engine::case_report& r, const run_request& request) {
  const auto begin = std::chrono::steady_clock::now();
  const double seconds = request.given.shrink_seconds;
  const auto end = [&] { return interrupt_watch::seen() || engine::seconds_since(begin) > seconds; };
  try {
    return explain(engine::parse_case_line(r.line), r, seconds, end);
  } catch (const std::exception& e) {
    engine::explanation none;
    none.sections = {{"The case", {fmt::format("It cannot be explained: {}.", e.what())}, {}}};
    return none;
  }
}

nlohmann::json row_json(const engine::explanation& e) {
  constexpr int64_t k_most = 512;
  const auto n = static_cast<int64_t>(e.exact.size());
  const int64_t first = std::clamp<int64_t>(e.element - k_most / 2, 0, std::max<int64_t>(0, n - k_most));
  const int64_t end = std::min(n, first + k_most);
  const auto part = [&](const std::vector<double>& all) {
    nlohmann::json list = nlohmann::json::array();
    if (all.size() == e.exact.size())
      for (int64_t i = first; i < end; ++i) list.push_back(engine::json_number(all[static_cast<size_t>(i)]));
    return list;
  };
  return {{"output", e.output},     {"row", e.row},           {"first", first},         {"element", e.element},
          {"input", part(e.input)}, {"exact", part(e.exact)}, {"bound", part(e.bound)}, {"actual", part(e.actual)}};
}

void add_explanation(nlohmann::json& failure, const engine::explanation& e) {
  failure["explanation"] = sections_json(e);
  if (!e.exact.empty()) failure["row"] = row_json(e);
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace warpcheck::cli
