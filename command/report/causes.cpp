#include "command/report/causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>

#include "properties/engine/cases/case.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::cli {
namespace {

// "race softmax.cu:58 reduce.hpp:31"; a hazard without a source line keeps its text.
std::string cause_of_finding(const std::string& text) {
  static const std::regex place(R"([A-Za-z0-9_./+-]+\.[a-z]+:[0-9]+)"), number(R"(0x[0-9a-f]+|[0-9]+)");
  std::set<std::string> places;
  for (std::sregex_iterator m(text.begin(), text.end(), place), end; m != end; ++m) places.insert(m->str());
  if (places.empty()) return std::regex_replace(text, number, "#");
  return fmt::format("{} {}", text.substr(0, text.find(':')), fmt::join(places, " "));
}

// The first finding that names the hazard, in alphabetical order.
std::string hazard_of(const engine::case_report& r) {
  std::string first;
  for (const std::string& text : r.findings) {
    const std::string cause = cause_of_finding(text);
    if (first.empty() || cause < first) first = cause;
  }
  return first;
}

// A message without numbers, and without the sentences that shrinking and related calls append.
std::string stem_of(const std::string& message) {
  static const std::regex number(R"(0x[0-9a-f]+|[0-9]+)"), schedule("under schedule [^ ;]+");
  const std::string text = message.substr(0, std::min(message.find("; "), message.find(" (in the related call")));
  return std::regex_replace(std::regex_replace(text, schedule, ""), number, "#");
}

std::string operator_of(const engine::case_report& r) {
  return r.line.empty() ? "" : engine::parse_case_name(r.line).first;
}

}  // namespace

std::string cause_of(const engine::case_report& r) {
  if (!r.findings.empty()) return fmt::format("{} {}", operator_of(r), hazard_of(r));
  const std::string text = fmt::format("{} {}", operator_of(r), name_of(r.result));
  if (!r.worst || r.worst->error <= r.worst->bound) return fmt::format("{} {}", text, stem_of(r.message));
  const engine::worst_element& w = *r.worst;
  return fmt::format("{} {}[{},{}] {:a} {:a} {:a}", text, w.tensor, w.row, w.col, w.input, w.expected, w.actual);
}

bool cause_groups::add(const std::string& name, const engine::case_report& r) {
  const auto [at, fresh] = groups_.try_emplace(cause_of(r));
  group& g = at->second;
  if (fresh) {
    const std::string hazard = hazard_of(r);
    g.first = name;
    g.kind = hazard.empty() ? std::string(name_of(r.result)) : hazard.substr(0, hazard.find_first_of(": "));
    order_.push_back(at->first);
  } else if (g.first != name && std::ranges::find(g.others, name) == g.others.end()) {
    g.others.push_back(name);
  }
  return fresh;
}

std::string cause_groups::reference(const engine::case_report& r) const {
  const group& g = groups_.at(cause_of(r));
  return fmt::format("the same {} as of {}", g.kind, g.first);
}

bool cause_groups::knows_hazard(const engine::case_report& r) const {
  return !r.findings.empty() && groups_.contains(cause_of(r));
}

std::string cause_groups::further() const {
  std::string text;
  for (const std::string& key : order_) {
    const group& g = groups_.at(key);
    if (g.others.empty()) continue;
    const bool one = g.others.size() == 1;
    text += fmt::format("{}: {} further {} with the same {}: {}\n", g.first, g.others.size(),
                        one ? "property fails" : "properties fail", g.kind, fmt::join(g.others, ", "));
  }
  return text;
}

}  // namespace warpcheck::cli
