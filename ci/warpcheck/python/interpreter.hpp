// The interpreter that runs the user's function: a child of this process, which answers one call at a time.
#pragma once

#include <string>

namespace warpcheck::python {

// What `warpcheck verify --python` tells the library, as JSON in this variable of the environment.
inline constexpr const char* k_settings_variable = "WARPCHECK_PYTHON";

struct settings {
  std::string op, device, interpreter, file, function;
  unsigned dtypes = 0;  // of warpcheck_dtype_bit
};
// Of the variable; throws std::runtime_error where it does not hold them.
settings read_settings();
std::string to_text(const settings& s);

// The text of the interpreter's half, door.py.
const char* door_text();

// Sends a line and returns the line that comes back, starting the interpreter first where this process has none. Where
// the interpreter dies meanwhile, this process dies as it did: that is the verdict of the case.
std::string ask_interpreter(const settings& s, int memory, const std::string& line);

}  // namespace warpcheck::python
