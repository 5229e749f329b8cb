// A function of a Python file as a candidate: `--python FILE.py:FUNCTION`. Case lines name it
// `python:FILE.py:FUNCTION`, with `:INTERPRETER` where that is not python3.
#pragma once

#include <string>

#include "command/commands.hpp"

namespace warpcheck::cli {

inline constexpr const char* k_python_prefix = "python:";

// Loads the function once to read its parameters, and makes its name in case lines an alias of it; returns that name.
// `device` auto is the CPU. usage_error: no such file or function, it does not load, the operator takes no function.
// environment_error: no such interpreter.
std::string prepare_python(const std::string& file_and_function, const std::string& interpreter, const std::string& op,
                           const std::string& device);
// For verify and fuzz: names the one operator, and sets the device.
void prepare_python(verify_options& o, const std::string& file_and_function, const std::string& interpreter);
// The same for the candidate of a case line; nothing for any other.
void prepare_named_python(const std::string& candidate, const std::string& op, const std::string& device);

}  // namespace warpcheck::cli
