// Times of peers that another program measured.
#pragma once

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace warpcheck::bench {

// Times of peers measured by another program: file -> row -> name -> microseconds.
using foreign_times = std::map<std::string, std::map<std::string, std::vector<double>>>;

inline void read_foreign(const std::string& file, foreign_times* times) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("peer-times: file '" + file + "' not found");
  const auto document = nlohmann::json::parse(in, nullptr, false);
  if (!document.is_object() || !document.contains("rows") || !document["rows"].is_array())
    throw std::runtime_error("peer-times: '" + file + "' is not what bench/peers writes (an object with \"rows\")");
  for (const auto& row : document["rows"])
    (*times)[row.at("row").get<std::string>()][row.at("peer").get<std::string>()] =
        row.at("us").get<std::vector<double>>();
}

}  // namespace warpcheck::bench
