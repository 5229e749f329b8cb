// warpcheck.toml: the kernels of a project, each with its options of `warpcheck verify`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace warpcheck::cli {

// Returns the arguments of `warpcheck verify` for each trial of the project, in the file's order. A key names an option
// of `verify`. Throws usage_error for a key or a value that is not allowed.
std::vector<std::vector<std::string>> project_trials(const std::string& text, const std::string& name,
                                                     const CLI::App& verify);

// Runs the trials of the file warpcheck.toml in the current folder or the nearest one above, each as a process of this
// command with these plug-ins and colours, in the file's folder. Returns the largest of their exit codes. Throws
// usage_error if there is no such file.
int run_project(const CLI::App& verify, const std::vector<std::string>& plugins, const std::string& color);

}  // namespace warpcheck::cli
