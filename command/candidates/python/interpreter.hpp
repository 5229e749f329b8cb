// The interpreter that runs the user's function for this process, one call at a time. It is forked by the run's
// nursery, which has loaded everything that the function needs, or it is a child of this process.
#pragma once

#include <string>

#include "command/candidates/contract.hpp"

namespace warpcheck::python {

// The variable of the environment in which `warpcheck verify --python` passes the settings to the library, as JSON.
inline constexpr const char* k_settings_variable = "WARPCHECK_PYTHON";

struct settings {
  std::string op, device, interpreter, file, function;
  unsigned dtypes = 0;  // of warpcheck_dtype_bit
  std::string states;   // abi/candidate_states.h
  std::string nursery;  // the name of its socket; "": there is none
  contract rules;
  bool has_reserve = false;  // the function has a parameter `reserve`
  bool is_isolated = false;  // the interpreter has no capability, and only its own descriptors (isolation/confine.hpp)
};
// Reads the variable; throws std::runtime_error if it contains no settings.
settings read_settings();
std::string to_text(const settings& s);

// The text of the interpreter's half, adapter.py.
const char* adapter_text();

// The result of loading the function of `s` in an interpreter: the output so far, and the exit status or 0. If the
// interpreter reports that it forks, it stays as the run's nursery behind `socket` until this process ends.
struct introduction {
  std::string output, socket;
  int status = 0;
};
introduction start_nursery(const settings& s);

// Sends a line and returns the answer; starts the interpreter first if this process has none. If the interpreter dies
// meanwhile, this process ends in the same way, which is the verdict of the case.
std::string ask_interpreter(const settings& s, int memory, const std::string& line);

// The same for a line that is answered by three lines: the timed calls begin, they have ended, and the answer.
struct timed_answer {
  std::string line;
  double us;  // between the first and the second line, by the clock of this process
};
timed_answer ask_for_turn(const settings& s, int memory, const std::string& line);

}  // namespace warpcheck::python
