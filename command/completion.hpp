// Shell completion of the command line, generated from the command's options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace warpcheck::cli {

// Returns the script by which `shell` (bash, zsh or fish) completes the command `app`: subcommands, options, values of
// options with few values, and operators where one is expected.
std::string completion_script(const CLI::App& app, const std::string& shell, const std::vector<std::string>& operators);

}  // namespace warpcheck::cli
