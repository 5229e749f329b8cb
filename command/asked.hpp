// Counts of the properties that a run tested and of all properties, and those that it left out at the user's request.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "command/request.hpp"

namespace warpcheck::cli {

// Start of the reason for leaving out an unwanted property.
inline constexpr std::string_view k_unwanted = "at the user's request: ";

struct asked_properties {
  size_t asked = 0, of = 0;  // of: all properties of the chosen operators
  std::vector<unwanted_property> without;
};
// `judged`: properties with at least one judged case, as OP/NAME.
asked_properties count_asked(const run_request& r, const std::set<std::string>& judged);
// "asked 12 of 14 properties, without misalignment (REASON)"
std::string text_of(const asked_properties& a);
nlohmann::json to_json(const asked_properties& a);

}  // namespace warpcheck::cli
