// The interpreter that runs the user's function for this process, one call at a time: forked by the nursery of the run,
// which has loaded what the function needs, or a child of this process.
#pragma once

#include <string>

#include "command/candidates/contract.hpp"

namespace warpcheck::python {

// What `warpcheck verify --python` gives the library, as JSON in this variable of the environment.
inline constexpr const char* k_settings_variable = "WARPCHECK_PYTHON";

struct settings {
  std::string op, device, interpreter, file, function;
  unsigned dtypes = 0;  // of warpcheck_dtype_bit
  std::string states;   // abi/candidate_states.h
  std::string nursery;  // the name of its socket; "": there is none
  cli::contract rules;
  bool is_isolated = false;  // the interpreter has no capability and no descriptor but its own (isolation/confine.hpp)
};
// Of the variable; throws std::runtime_error where it does not hold them.
settings read_settings();
std::string to_text(const settings& s);

// The text of the interpreter's half, adapter.py.
const char* adapter_text();

// What an interpreter says of the function in `s` when it loads it: its output up to there, and its exit status or 0.
// Where it says that it forks, it stays as the run's nursery behind `socket`, until this process ends.
struct introduction {
  std::string output, socket;
  int status = 0;
};
introduction start_nursery(const settings& s);

// Sends a line and returns the line that comes back, starting the interpreter first where this process has none. Where
// the interpreter dies meanwhile, this process dies as it did: that is the verdict of the case.
std::string ask_interpreter(const settings& s, int memory, const std::string& line);

}  // namespace warpcheck::python
