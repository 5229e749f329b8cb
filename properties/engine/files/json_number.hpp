// Numbers in JSON, which has no NaN and no infinity: those travel as the text that case lines use.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace warpcheck::engine {

// Returns a number if it is finite, otherwise "+inf", "-inf" or "nan".
nlohmann::json json_number(double value);
// Reads the output of json_number. Throws nlohmann::json::type_error for anything else.
double number_from_json(const nlohmann::json& j);

}  // namespace warpcheck::engine
