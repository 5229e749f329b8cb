// Programs that `warpcheck run-emulated` runs.
#pragma once

#include <fstream>
#include <string>

#include "tests/run_command.hpp"
#include "tests/scratch_folder.hpp"

namespace warpcheck::self {

inline std::string programs() { return environment("WARPCHECK_TEST_PROGRAMS"); }

inline command_result run_program(const std::string& arguments, const std::string& folder = programs(),
                                  const std::string& command = environment("WARPCHECK_TEST_COMMAND")) {
  return run_command("cd '" + folder + "' && '" + command + "' run-emulated " + arguments);
}

// A source in a temporary folder.
class source_file {
 public:
  explicit source_file(const std::string& text) { folder_.write("mine.cu", text); }
  std::string path() const { return folder_.path("mine.cu"); }

 private:
  scratch_folder folder_;
};

// Returns the position of the comment `// marker` in one of the programs, as reports write it.
inline std::string place_of(const std::string& file, const std::string& marker) {
  std::ifstream source(programs() + "/" + file);
  int number = 0;
  for (std::string line; std::getline(source, line);) {
    ++number;
    if (line.ends_with("// " + marker)) return file + ":" + std::to_string(number);
  }
  return "no such marker";
}

}  // namespace warpcheck::self
