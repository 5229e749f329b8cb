// `--source FILE.cu --entry NAME`: a function of a foreign source as a candidate. Its name in case lines is
// "source:FILE.cu:NAME", so that a line replays wherever the file is.
#pragma once

#include <string>

#include "command/commands.hpp"

namespace warpcheck::cli {

// Compiles the entry for the device (emulated: plain and race) and makes its name known to the engine in this process
// and the processes forked from it. Returns the name. usage_error: no such file or entry, a name that a case line
// cannot carry, parameters that entry_parameters refuses, a source outside the subset. environment_error: no toolchain.
std::string prepare_source(const std::string& file, const std::string& entry, const std::string& op,
                           const std::string& device);

// The same for the operator and device that `verify` and `fuzz` were given; an auto device is resolved as they do.
std::string prepare_source(const verify_options& options, const std::string& file, const std::string& entry);

// The file of such a name; empty where `candidate` names no source.
std::string source_of(const std::string& candidate);

// The same for a name from a case line; does nothing where `candidate` names no source.
void prepare_named_source(const std::string& candidate, const std::string& op, const std::string& device);

}  // namespace warpcheck::cli
