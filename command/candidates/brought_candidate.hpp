// The options of verify, fuzz and bench that select a user's candidate.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "command/candidates/source_candidate.hpp"
#include "command/commands.hpp"
#include "properties/engine/cases/case.hpp"

namespace warpcheck::cli {

// The candidate that these options name.
struct brought_candidate {
  source_request source;
  std::string python, interpreter;
  std::string forward;  // FILE.cu:ENTRY, the kernel whose gradient `source` computes
  bool is_isolated = true;

  // Compiles or loads it for the one operator of the options. Peers are isolated, too.
  void prepare(verify_options& o, bool has_peers = false) const;
};

void add_candidate(CLI::App* command, verify_options& o, brought_candidate& b);

// `--isolate`, on by default.
void add_isolation(CLI::App* command, bool& is_isolated);

// The candidate of a case line, in replay and explain: the same for a line with a fixed candidate and device.
void prepare_named(const engine::trial_case& c, bool is_isolated);

}  // namespace warpcheck::cli
