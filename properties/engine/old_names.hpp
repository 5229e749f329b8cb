// Names that properties and variants had before. Case lines of version v1 and the option --property may still have
// them; what is written has the names of today.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace warpcheck::engine {

struct old_name {
  std::string was, is;  // `is`: the name of today
};

// Registered beside the properties, before main.
struct old_names {
  old_names(std::vector<old_name> properties, std::vector<old_name> variants);
};

// The name of today of a property, or of a variant of a built-in kernel; an unknown name is returned as it is.
std::string property_of_today(std::string_view name);
std::string variant_of_today(std::string_view name);

// The first name that a property had. Cases are drawn from it, so that a new name draws the same cases.
std::string first_name_of_property(std::string_view name);

}  // namespace warpcheck::engine
