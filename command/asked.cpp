#include "command/asked.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "command/plan.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/trials/property.hpp"
#include "reference/formula/edit_distance.hpp"

namespace warpcheck::cli {
namespace {

bool is_chosen(const engine::property& p, const std::vector<std::string>& ops) {
  return std::find(ops.begin(), ops.end(), p.op) != ops.end();
}

// Names of properties that the user may have meant, the nearest first.
std::vector<std::string> near_names(const std::string& name, const std::vector<std::string>& ops) {
  constexpr size_t k_most = 3;
  std::vector<std::pair<size_t, std::string>> near;
  for (const engine::property& p : engine::all_properties()) {
    if (!is_chosen(p, ops)) continue;
    const bool has_part = name.size() > 2 && p.name.find(name) != std::string::npos;
    const size_t changes = has_part ? 1 : formula::edit_distance(name, p.name);
    if (changes <= std::max<size_t>(2, p.name.size() / 3)) near.emplace_back(changes, p.name);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> names;
  for (const auto& [changes, known] : near)
    if (names.size() < k_most && std::find(names.begin(), names.end(), known) == names.end()) names.push_back(known);
  return names;
}

}  // namespace

std::vector<unwanted_property> unwanted_properties(const verify_options& o, const std::vector<std::string>& ops) {
  std::vector<unwanted_property> unwanted;
  for (const std::string& text : o.without) {
    const size_t colon = text.find(':');
    const std::string name = text.substr(0, colon);
    const size_t begin = colon == std::string::npos ? colon : text.find_first_not_of(' ', colon + 1);
    if (begin == std::string::npos)
      throw engine::usage_error(fmt::format(
          "without-property: '{}' has no reason, must be NAME:REASON, as in '{}:the vendor asks for aligned rows'",
          text, name));
    const auto& all = engine::all_properties();
    if (std::none_of(all.begin(), all.end(), [&](const auto& p) { return p.name == name && is_chosen(p, ops); })) {
      const std::vector<std::string> near = near_names(name, ops);
      throw engine::usage_error(
          fmt::format("without-property: no property of {} is named '{}'{}; 'warpcheck list {}' "
                      "lists all",
                      fmt::join(ops, ", "), name,
                      near.empty() ? "" : fmt::format(", near ones are {}", fmt::join(near, ", ")), ops.front()));
    }
    unwanted.push_back({name, text.substr(begin)});
  }
  return unwanted;
}

asked_properties count_asked(const verify_options& o, const std::set<std::string>& judged) {
  const std::vector<std::string> ops = chosen_operators(o);
  const auto& all = engine::all_properties();
  asked_properties a;
  a.asked = judged.size();
  a.of = static_cast<size_t>(std::count_if(all.begin(), all.end(), [&](const auto& p) { return is_chosen(p, ops); }));
  a.without = unwanted_properties(o, ops);
  return a;
}

std::string text_of(const asked_properties& a) {
  std::string text = fmt::format("asked {} of {} properties", a.asked, a.of);
  for (const unwanted_property& u : a.without)
    text += fmt::format("{}{} ({})", &u == a.without.data() ? ", without " : ", ", u.name, u.reason);
  return text;
}

nlohmann::json to_json(const asked_properties& a) {
  nlohmann::json without = nlohmann::json::array();
  for (const unwanted_property& u : a.without) without.push_back({{"property", u.name}, {"reason", u.reason}});
  return {{"properties", a.asked}, {"of", a.of}, {"without", without}};
}

}  // namespace warpcheck::cli
