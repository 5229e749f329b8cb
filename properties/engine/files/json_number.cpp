#include "properties/engine/files/json_number.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "properties/engine/cases/recipe.hpp"

namespace warpcheck::engine {

nlohmann::json json_number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(format_number(value));
}

double number_from_json(const nlohmann::json& j) {
  if (j.is_string())
    if (const auto value = parse_number(j.get<std::string>())) return *value;
  return j.get<double>();
}

}  // namespace warpcheck::engine
