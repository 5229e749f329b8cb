// Runs a command of the shell and takes what it says.
#pragma once

#include <stdio.h>
#include <sys/wait.h>

#include <array>
#include <cstdlib>
#include <string>

namespace warpcheck::self {

struct command_result {
  int status = -1;     // of its exit; 128 + the signal that killed it
  std::string output;  // stdout and stderr
  bool has(const std::string& part) const { return output.find(part) != std::string::npos; }
};

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
