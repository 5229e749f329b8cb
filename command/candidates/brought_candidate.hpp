// The options of verify, fuzz and bench that select a user's candidate.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "command/candidates/source_candidate.hpp"
#include "command/commands.hpp"

namespace warpcheck::cli {

// The candidate that these options name.
struct brought_candidate {
  source_request source;
  std::string python, interpreter;
  std::string forward;  // FILE.cu:ENTRY, the kernel whose gradient `source` computes
  bool is_isolated = false;

  // Compiles or loads it, for the one operator of the options.
  void prepare(verify_options& o) const;
};

void add_candidate(CLI::App* command, verify_options& o, brought_candidate& b);

}  // namespace warpcheck::cli
