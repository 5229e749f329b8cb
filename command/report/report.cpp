// `warpcheck report`: a Python program makes the page.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "command/commands.hpp"
#include "command/report/reporting.hpp"
#include "command/terminal.hpp"
#include "properties/engine/error.hpp"

namespace warpcheck::cli {

namespace fs = std::filesystem;
using engine::environment_error;
using engine::usage_error;

std::string reporting_python(const std::string& asked) {
  if (!asked.empty()) return asked;
  if (const char* named = std::getenv("WARPCHECK_PYTHON"); named && *named) return named;
  const std::string made = source_root() + "/build/python/bin/python";
  return access(made.c_str(), X_OK) == 0 ? made : "python3";
}

command_result run_reporting(const std::string& python, const std::vector<std::string>& arguments) {
  const std::string program = reporting_folder();
  if (!fs::exists(fs::path(program) / "__main__.py"))
    throw environment_error(fmt::format("report: its program '{}' is missing", program));
  std::vector<std::string> words = {reporting_python(python), "-B", program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const progress_line waiting("report");
  try {
    return run_command(words);
  } catch (const environment_error& e) {
    throw environment_error(
        fmt::format("report: {}; it was the first of --python, the variable WARPCHECK_PYTHON, build/python/bin/python "
                    "of the source tree, and python3",
                    e.what()));
  }
}

int report(const report_options& o) {
  const std::array<std::pair<const char*, const std::vector<std::string>*>, 4> inputs = {
      {{"--verify", &o.verify}, {"--fuzz", &o.fuzz}, {"--bench", &o.bench}, {"--mutants", &o.mutants}}};
  std::vector<std::string> words;
  for (const auto& [option, files] : inputs)
    for (const std::string& file : *files) words.insert(words.end(), {option, file});
  if (!o.history.empty()) words.insert(words.end(), {"--history", o.history});
  if (words.empty())
    throw usage_error("report: there is nothing to report; give --verify, --fuzz, --bench, --mutants or --history");
  words.insert(words.end(), {"--out", o.out});
  if (!o.title.empty()) words.insert(words.end(), {"--title", o.title});
  const command_result made = run_reporting(o.python, words);
  fmt::print(made.status == 0 ? stdout : stderr, "{}", made.output);
  return made.status;
}

}  // namespace warpcheck::cli
