// Numbers in JSON, which has no NaN and no infinity: those travel as the text that case lines use.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace warpcheck::engine {

// A number where it is finite, else "+inf", "-inf" or "nan".
nlohmann::json json_number(double value);
// What json_number wrote. Throws nlohmann::json::type_error on anything else.
double number_from_json(const nlohmann::json& j);

}  // namespace warpcheck::engine
