// How many properties a run asked, of how many, and which it left out at the user's request.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "command/commands.hpp"

namespace warpcheck::cli {

// A property that the user leaves out, and why.
struct unwanted_property {
  std::string name, reason;
};
// Parses the options --without-property NAME:REASON. usage_error for one without a reason, or whose name no operator of
// `ops` has; the message lists near names.
std::vector<unwanted_property> unwanted_properties(const verify_options& o, const std::vector<std::string>& ops);

// How the reason begins for which a run leaves out an unwanted property.
inline constexpr std::string_view k_unwanted = "at the user's request: ";

struct asked_properties {
  size_t asked = 0, of = 0;  // of: all properties of the chosen operators
  std::vector<unwanted_property> without;
};
// `judged`: properties of which a case was judged, as OP/NAME.
asked_properties count_asked(const verify_options& o, const std::set<std::string>& judged);
// "asked 12 of 14 properties, without misalignment (REASON)"
std::string text_of(const asked_properties& a);
nlohmann::json to_json(const asked_properties& a);

}  // namespace warpcheck::cli
