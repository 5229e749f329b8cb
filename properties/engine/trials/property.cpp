#include "properties/engine/trials/property.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/error.hpp"

namespace warpcheck::engine {
namespace {

std::vector<property>& registered_properties() {
  static std::vector<property> properties;  // constructed on first use: registrations run before main in any order
  return properties;
}

std::map<std::string, std::string, std::less<>>& plugins() {
  static std::map<std::string, std::string, std::less<>> paths;  // by operator
  return paths;
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view k_plain = "/._-+=:,@%";
  const auto is_plain = [&](unsigned char c) {
    return std::isalnum(c) || k_plain.find(static_cast<char>(c)) != k_plain.npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace

property_registration::property_registration(std::vector<property> properties) {
  for (property& p : properties) registered_properties().push_back(std::move(p));
  // Link order must not change the order of a report.
  std::ranges::stable_sort(registered_properties(), [](const property& a, const property& b) { return a.op < b.op; });
}

std::span<const property> all_properties() { return registered_properties(); }

std::vector<std::string> operators_with_properties() {
  std::vector<std::string> names;
  for (const property& p : registered_properties())
    if (names.empty() || names.back() != p.op) names.push_back(p.op);
  return names;
}

const property& find_property(std::string_view op, std::string_view name) {
  std::string known;
  for (const property& p : registered_properties()) {
    if (p.op != op) continue;
    if (p.name == name) return p;
    known += (known.empty() ? "" : ", ") + p.name;
  }
  if (!known.empty()) throw usage_error(fmt::format("property: {} has no '{}'; it has {}", op, name, known));
  std::string ops;
  for (const std::string& o : operators_with_properties()) ops += (ops.empty() ? "" : ", ") + o;
  throw usage_error(fmt::format("operator: '{}' is unknown; known are {}", op, ops));
}

const property* registered_property(std::string_view op, std::string_view name) {
  for (const property& p : registered_properties())
    if (p.op == op && p.name == name) return &p;
  return nullptr;
}

void set_plugin(const std::string& op, const std::string& path) { plugins()[op] = path; }

std::string replay_command(std::string_view line) {
  const size_t begin = line.find(' ') + 1, end = line.find('/', begin);
  const auto plugin = plugins().find(line.substr(begin, end == std::string_view::npos ? end : end - begin));
  return fmt::format("warpcheck {}replay '{}'",
                     plugin == plugins().end() ? "" : fmt::format("--plugin {} ", shell_word(plugin->second)), line);
}

trial_case parse_case_line(std::string_view line) {
  const auto [op, name] = parse_case_name(line);
  const property& p = find_property(op, name);
  const description* d = find_description(op);
  std::vector<knob_info> knobs = p.knobs;
  if (d)
    for (const call_form& form : d->forms)
      for (const auto* list : {&form.scalars, &form.knobs})
        for (const scalar_rule& s : *list) knobs.push_back({s.name, usual_text(s), s.meaning});
  trial_case c = parse_case(line, knobs);
  if (const std::string wrong = d ? what_is_wrong(*d, c, p.may_break_contract) : ""; !wrong.empty())
    throw usage_error(wrong);
  return c;
}

}  // namespace warpcheck::engine
