// A function of a Python file as a candidate: `--python FILE.py:FUNCTION`. Its name in case lines is
// `python:FILE.py:FUNCTION`, followed by `:INTERPRETER` if that is not python3.
#pragma once

#include <string>

#include "command/commands.hpp"

namespace warpcheck::cli {

inline constexpr const char* k_python_prefix = "python:";

// Loads the function once to read its parameters, makes its name in case lines an alias of it, and returns that name.
// `device` auto is the CPU. Throws usage_error: no such file or function, it does not load, or the operator does not
// support functions. Throws environment_error: no such interpreter.
std::string prepare_python(const std::string& file_and_function, const std::string& interpreter, const std::string& op,
                           const std::string& device);
// The same for verify and fuzz: reads their one operator, and sets the device.
void prepare_python(verify_options& o, const std::string& file_and_function, const std::string& interpreter);
// The same for the candidate of a case line; does nothing for any other candidate.
void prepare_named_python(const std::string& candidate, const std::string& op, const std::string& device);

}  // namespace warpcheck::cli
