#include "properties/engine/old_names.hpp"

#include <algorithm>

namespace warpcheck::engine {
namespace {

struct tables {
  std::vector<old_name> properties, variants;
};

tables& registered() {
  static tables all;  // constructed on first use: registrations run before main in any order
  return all;
}

std::string today(const std::vector<old_name>& names, std::string_view name) {
  const auto at = std::find_if(names.begin(), names.end(), [&](const old_name& n) { return n.was == name; });
  return at == names.end() ? std::string(name) : at->is;
}

}  // namespace

old_names::old_names(std::vector<old_name> properties, std::vector<old_name> variants) {
  tables& all = registered();
  all.properties.insert(all.properties.end(), properties.begin(), properties.end());
  all.variants.insert(all.variants.end(), variants.begin(), variants.end());
}

std::string property_of_today(std::string_view name) { return today(registered().properties, name); }
std::string variant_of_today(std::string_view name) { return today(registered().variants, name); }

std::string first_name_of_property(std::string_view name) {
  const std::vector<old_name>& names = registered().properties;
  const auto at = std::find_if(names.begin(), names.end(), [&](const old_name& n) { return n.is == name; });
  return at == names.end() ? std::string(name) : at->was;
}

}  // namespace warpcheck::engine
