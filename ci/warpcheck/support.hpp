// What the commands share: questions asked of candidates in a child process, file output, options.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "properties/engine/property.hpp"

namespace warpcheck::cli {

// Runs `question` in a forked child and returns its answer: a candidate library that crashes while it loads, and the
// CUDA context that loading may create, never reach this process. Errors of the child are thrown again here.
std::string ask_child(const std::function<std::string()>& question, std::string_view what);

// `auto` becomes cuda where a GPU is usable, else emulated; `cuda:N` selects GPU N for this process and its children.
// `note` gets one sentence that says what was chosen. environment_error where a device asked for by name is missing.
std::string resolve_device(const std::string& asked, std::string& note);

// What the candidate offers, asked in a child.
std::vector<engine::target> ask_targets(const std::string& candidate, const std::string& op, const std::string& device);

// Writes the whole text through a temporary file and rename, so that a reader or a full disk never sees half of it.
void write_file(const std::string& path, const std::string& text);

// The sentence for an operator that does not exist.
std::string unknown_operator(const std::string& op);

// Parses a 64-bit seed or "random".
uint64_t parse_seed(const std::string& text);
// Parses i/n with 0 <= i < n.
std::pair<int, int> parse_shard(const std::string& text);

}  // namespace warpcheck::cli
