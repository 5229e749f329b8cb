#include "command/asked.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "properties/engine/trials/property.hpp"

namespace warpcheck::cli {
asked_properties count_asked(const run_request& r, const std::set<std::string>& judged) {
  const auto& all = engine::all_properties();
  asked_properties a;
  a.asked = judged.size();
  a.of = static_cast<size_t>(std::ranges::count_if(
      all, [&](const engine::property& p) { return std::ranges::find(r.operators, p.op) != r.operators.end(); }));
  a.without = r.unwanted;
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
