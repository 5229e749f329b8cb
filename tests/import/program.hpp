// Programs that `warpcheck run-emulated` runs.
#pragma once

#include <fstream>
#include <initializer_list>
#include <string>

#include "tests/run_command.hpp"
#include "tests/scratch_folder.hpp"

namespace warpcheck::self {

inline std::string programs() { return environment("WARPCHECK_TEST_PROGRAMS"); }

inline command_result run_program(const std::string& arguments, const std::string& folder = programs(),
                                  const std::string& command = environment("WARPCHECK_TEST_COMMAND")) {
  return run_command("cd '" + folder + "' && '" + command + "' run-emulated " + arguments);
}

// Succeeds if the program ends with status 0.
inline testing::AssertionResult is_right(const std::string& arguments) { return ended(run_program(arguments), 0); }

// What the report of a program says, and `where`, if a mode of it breaks a rule or a macro changes one of its lines.
struct slip {
  const char* mode;
  const char* macro;
  const char* says;
};
inline void expect_slips(const std::string& program, std::initializer_list<slip> slips, const char* where = "") {
  for (const slip& s : slips) {
    const std::string macro = *s.macro ? std::string(" -D ") + s.macro : "";
    const command_result r = run_program(program + " --no-trace --schedule fair" + macro + " -- " + s.mode);
    EXPECT_TRUE(ended(r, 1, {where, s.says})) << s.mode << " " << s.macro;
  }
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
