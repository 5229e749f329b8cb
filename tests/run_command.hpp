// Runs a command of the shell and takes what it says.
#pragma once

#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/wait.h>

#include <array>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>

namespace warpcheck::self {

struct command_result {
  int status = -1;     // of its exit; 128 + the signal that killed it
  std::string output;  // stdout and stderr
  bool has(std::string_view part) const { return output.find(part) != std::string::npos; }
};

using parts_of_output = std::initializer_list<std::string_view>;

// Succeeds if the output has all of these parts and none of the others.
inline testing::AssertionResult says(const command_result& r, parts_of_output parts, parts_of_output others = {}) {
  for (const auto& part : parts)
    if (!r.has(part)) return testing::AssertionFailure() << "no '" << part << "' in\n" << r.output;
  for (const auto& part : others)
    if (r.has(part)) return testing::AssertionFailure() << "'" << part << "' in\n" << r.output;
  return testing::AssertionSuccess();
}
// The same of a command that ended with the status.
inline testing::AssertionResult ended(const command_result& r, int status, parts_of_output parts = {},
                                      parts_of_output others = {}) {
  if (r.status != status)
    return testing::AssertionFailure() << "status " << r.status << ", not " << status << ":\n" << r.output;
  return says(r, parts, others);
}

inline command_result run_command(const std::string& line) {
  command_result r;
  FILE* pipe = popen((line + " 2>&1").c_str(), "r");
  if (!pipe) return r;
  std::array<char, 4096> chunk;
  for (size_t n = 0; (n = fread(chunk.data(), 1, chunk.size(), pipe)) > 0;) r.output.append(chunk.data(), n);
  const int status = pclose(pipe);
  r.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return r;
}

// A variable that CTest sets, or "".
inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace warpcheck::self
