// `--source FILE.cu --entry NAME`: a function of a foreign source as a candidate. Its name in case lines is
// "source:FILE.cu:NAME" followed by its compiler options, each encoded as a word by line_words.hpp, so that a line can
// be replayed wherever the file is.
#pragma once

#include <string>
#include <vector>

#include "command/commands.hpp"

namespace warpcheck::cli {

struct source_request {
  std::string file, entry;
  std::vector<std::string> includes, defines;  // -I, -D
  std::string standard;                        // "c++20"; empty: c++17
  // The meanings of parameters with other names: "in=x,out=y", or of all parameters in order: "x,y,rows".
  std::string arguments;
  bool has_detector = true;  // compiled for the race detector, too
};

// Compiles the entry for the device (emulated: plain, and race if asked) and makes its name known to the engine in this
// process and the processes forked from it. Returns the name. Throws usage_error: no such file or entry, parameters
// that entry_parameters refuses, or a source outside the subset. Throws environment_error: no toolchain.
std::string prepare_source(const source_request& request, const std::string& op, const std::string& device);

// The same for the operator and device of `verify` and `fuzz`; an auto device is resolved as they do it.
std::string prepare_source(const verify_options& options, const source_request& request);

// Returns the file in such a name; empty if `candidate` names no source.
std::string source_of(const std::string& candidate);

// The same for a name from a case line; does nothing if `candidate` names no source.
void prepare_named_source(const std::string& candidate, const std::string& op, const std::string& device);

}  // namespace warpcheck::cli
