// Times of peers that another program measured, and the options of a benchmark that Google Benchmark does not know.
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

// Removes `--name VALUE` and `--name=VALUE`, which Google Benchmark does not know, from the arguments.
inline std::vector<std::string> take_option(int* argc, char** argv, const std::string& name) {
  std::vector<std::string> values;
  int kept = 1;
  for (int i = 1; i < *argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind(name + "=", 0) == 0) {
      values.push_back(argument.substr(name.size() + 1));
    } else if (argument == name) {
      if (i + 1 == *argc) throw std::invalid_argument(name + " needs a value");
      values.push_back(argv[++i]);
    } else {
      argv[kept++] = argv[i];
    }
  }
  *argc = kept;
  return values;
}

}  // namespace warpcheck::bench
