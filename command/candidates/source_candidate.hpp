// `--source FILE.cu --entry NAME`: a function of a foreign source as a candidate. Its name in case lines is
// "source:FILE.cu:NAME" and what it is compiled with, each a word as line_words.hpp makes it, so that a line replays
// wherever the file is.
#pragma once

#include <string>
#include <vector>

#include "command/commands.hpp"

namespace warpcheck::cli {

struct source_request {
  std::string file, entry;
  std::vector<std::string> includes, defines;  // -I, -D
  std::string standard;                        // "c++20"; empty: c++17
  // The meanings of parameters with other names: "in=x,out=y", or of all in order: "x,y,rows".
  std::string arguments;
};

// Compiles the entry for the device (emulated: plain and race) and makes its name known to the engine in this process
// and the processes forked from it. Returns the name. usage_error: no such file or entry, parameters that
// entry_parameters refuses, a source outside the subset. environment_error: no toolchain.
std::string prepare_source(const source_request& request, const std::string& op, const std::string& device);

// The same for the operator and device that `verify` and `fuzz` were given; an auto device is resolved as they do.
std::string prepare_source(const verify_options& options, const source_request& request);

// The file of such a name; empty where `candidate` names no source.
std::string source_of(const std::string& candidate);

// The same for a name from a case line; does nothing where `candidate` names no source.
void prepare_named_source(const std::string& candidate, const std::string& op, const std::string& device);

}  // namespace warpcheck::cli
