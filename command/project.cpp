#include "command/project.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "command/candidates/toolchain.hpp"
#include "command/commands.hpp"
#include "command/process.hpp"
#include "command/support.hpp"
#include "command/terminal.hpp"
#include "properties/engine/error.hpp"

namespace warpcheck::cli {
namespace {

using engine::usage_error;

constexpr const char* k_project = "warpcheck.toml";
constexpr const char* k_operator = "operator";
using trial_words = std::vector<std::string>;

// The place of a value, for a message about it.
std::string line_of(const std::string& file, const toml::node& node, std::string_view key) {
  return fmt::format("{}:{}: {}", file, node.source().begin.line, key);
}

std::string value_text(const toml::node& node, const std::string& place) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto number = node.value_exact<int64_t>()) return fmt::format("{}", *number);
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  throw usage_error(place + ": its value must be text, a number, or an array of these");
}

std::vector<std::string> value_texts(const toml::node& node, const std::string& place) {
  if (!node.is_array()) return {value_text(node, place)};
  std::vector<std::string> texts;
  for (const toml::node& each : *node.as_array()) texts.push_back(value_text(each, place));
  if (texts.empty()) throw usage_error(place + ": its array is empty, must have a value");
  return texts;
}

// Repeats every trial for each of the values, with the words that `words_of` makes of it.
template <class WordsOf>
void multiply(std::vector<trial_words>& trials, const std::vector<std::string>& values, WordsOf&& words_of) {
  std::vector<trial_words> all;
  for (const trial_words& t : trials)
    for (const std::string& v : values) {
      all.push_back(t);
      for (const std::string& word : words_of(v)) all.back().push_back(word);
    }
  trials = std::move(all);
}

void add_key(std::vector<trial_words>& trials, const std::string& key, const toml::node& node, const std::string& place,
             const CLI::App& verify) {
  const CLI::Option* const option = verify.get_option_no_throw("--" + key);
  if (!option || key == "help")
    throw usage_error(place + ": no option of 'warpcheck verify' has this name; its --help lists them");
  if (option->get_items_expected_max() == 0) {
    const auto is_set = node.value_exact<bool>();
    if (!is_set) throw usage_error(place + ": its value must be true or false");
    if (*is_set) multiply(trials, {""}, [&](const std::string&) { return trial_words{"--" + key}; });
    return;
  }
  const std::vector<std::string> values = value_texts(node, place);
  // Always `--key=value`, because a value may begin with a dash.
  if (option->get_items_expected_max() == 1) {
    multiply(trials, values, [&](const std::string& v) { return trial_words{"--" + key + "=" + v}; });
  } else {
    trial_words all;
    for (const std::string& v : values) all.push_back("--" + key + "=" + v);
    multiply(trials, {""}, [&](const std::string&) { return all; });
  }
}

std::vector<trial_words> trials_of(const toml::table& kernel, const toml::table& defaults, const std::string& file,
                                   const CLI::App& verify) {
  const toml::node* const op = kernel.get(k_operator);
  if (!op)
    throw usage_error(fmt::format("{}:{}: kernel: it has no operator; see 'warpcheck list', or name a formula", file,
                                  kernel.source().begin.line));
  std::vector<trial_words> trials = {value_texts(*op, line_of(file, *op, k_operator))};
  const auto add = [&](std::string_view key, const toml::node& node) {
    add_key(trials, std::string(key), node, line_of(file, node, key), verify);
  };
  for (const auto& [key, node] : defaults)
    if (key != "kernel" && !kernel.contains(key)) add(key.str(), node);
  for (const auto& [key, node] : kernel)
    if (key != k_operator) add(key.str(), node);
  return trials;
}

// Two trials that write the same file would leave only one result.
void require_own_files(const std::vector<trial_words>& trials, const std::string& file) {
  std::set<std::string> seen;
  for (const trial_words& t : trials)
    for (const std::string& word : t)
      for (const char* option : {"--json=", "--junit=", "--journal="})
        if (word.starts_with(option) && !seen.insert(word).second)
          throw usage_error(fmt::format("{}: two trials have '{}'; give each kernel a path of its own", file, word));
}

std::string shell_line(const trial_words& words) {
  std::string line = "warpcheck verify";
  for (const std::string& word : words) {
    const bool is_plain = word.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_-+=./:,@%") == std::string::npos;
    line += " " + (is_plain && !word.empty() ? word : "'" + replaced(word, "'", "'\\''") + "'");
  }
  return line;
}

// The file of the current folder, or of the nearest folder above.
std::filesystem::path find_project() {
  std::error_code ignored;
  for (std::filesystem::path folder = std::filesystem::current_path(); true; folder = folder.parent_path()) {
    if (std::filesystem::is_regular_file(folder / k_project, ignored)) return folder / k_project;
    if (folder == folder.parent_path())
      throw usage_error(
          "a subcommand is missing, and no warpcheck.toml is here or in a folder above; --help lists the commands");
  }
}

int exit_code_of(const trial_words& words, trial_words arguments) {
  arguments.push_back("verify");
  arguments.insert(arguments.end(), words.begin(), words.end());
  pid_t child = 0;
  if (const int error = start({arguments}, child))
    throw engine::environment_error(fmt::format("'{}' cannot be started: {}", arguments[0], std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    if (interrupt_watch::seen()) kill(child, SIGTERM);
  return WIFEXITED(status) ? WEXITSTATUS(status) : k_environment;
}

std::string_view outcome_of(int code) {
  switch (code) {
    case k_pass: return "pass";
    case k_violation: return "a verdict other than pass";
    case k_usage: return "usage";
    case k_interrupted: return "interrupted";
    default: return "something is missing";
  }
}

}  // namespace

std::vector<trial_words> project_trials(const std::string& text, const std::string& name, const CLI::App& verify) {
  toml::table project;
  try {
    project = toml::parse(text);
  } catch (const toml::parse_error& e) {
    throw usage_error(fmt::format("{}:{}: {}", name, e.source().begin.line, e.description()));
  }
  const toml::array* const kernels = project["kernel"].as_array();
  if (!kernels || kernels->empty() || !kernels->is_homogeneous(toml::node_type::table))
    throw usage_error(name + ": it names no kernel; each is a table [[kernel]] with an operator");
  std::vector<trial_words> trials;
  for (const toml::node& kernel : *kernels) {
    const std::vector<trial_words> own = trials_of(*kernel.as_table(), project, name, verify);
    trials.insert(trials.end(), own.begin(), own.end());
  }
  require_own_files(trials, name);
  return trials;
}

int run_project(const CLI::App& verify, const std::vector<std::string>& plugins, const std::string& color) {
  const std::filesystem::path path = find_project();
  const std::vector<trial_words> trials = project_trials(read_text(path.string()), k_project, verify);
  trial_words command = {std::filesystem::read_symlink("/proc/self/exe").string(), "--color=" + color};
  for (const std::string& plugin : plugins) command.push_back("--plugin=" + std::filesystem::absolute(plugin).string());
  std::filesystem::current_path(path.parent_path());
  const interrupt_watch watch;
  std::vector<int> codes;
  for (const trial_words& t : trials) {
    fmt::print("{}{}\n", codes.empty() ? "" : "\n", shell_line(t));
    std::fflush(stdout);
    codes.push_back(exit_code_of(t, command));
    if (interrupt_watch::seen() || codes.back() == k_interrupted) break;
  }
  fmt::print("\n{} of {} trials of {}\n", codes.size(), trials.size(), path.string());
  for (size_t i = 0; i < codes.size(); ++i) {
    const std::string outcome(outcome_of(codes[i]));
    fmt::print("{}: {}\n", shell_line(trials[i]), codes[i] == k_pass ? in_green(outcome) : in_red(outcome));
  }
  return *std::ranges::max_element(codes);
}

}  // namespace warpcheck::cli
