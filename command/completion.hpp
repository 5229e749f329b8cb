// Completion of the command line by a shell, made from the options that the command has.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace warpcheck::cli {

// The script that has `shell` (bash, zsh or fish) complete the command `app`: subcommands, options, values of options
// that have few, and the operators where one is asked for.
std::string completion_script(const CLI::App& app, const std::string& shell, const std::vector<std::string>& operators);

}  // namespace warpcheck::cli
