#include "command/process.hpp"

#include <spawn.h>
#include <unistd.h>

extern char** environ;

namespace warpcheck::cli {

int start(const program& p, pid_t& child) {
  std::vector<char*> words, variables;
  for (const std::string& a : p.arguments) words.push_back(const_cast<char*>(a.c_str()));
  words.push_back(nullptr);
  const std::string left_out = std::string(p.without) + "=";
  for (char** v = environ; *v; ++v)
    if (p.without.empty() || !std::string_view(*v).starts_with(left_out)) variables.push_back(*v);
  variables.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (p.input >= 0) posix_spawn_file_actions_adddup2(&actions, p.input, STDIN_FILENO);
  if (p.output >= 0) {
    posix_spawn_file_actions_adddup2(&actions, p.output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, p.output, STDERR_FILENO);
  }
  const int error = posix_spawnp(&child, words[0], &actions, nullptr, words.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace warpcheck::cli
