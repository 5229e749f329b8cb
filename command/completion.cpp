#include "command/completion.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warpcheck::cli {
namespace {

struct shell_option {
  std::vector<std::string> names;  // -c, --cases
  std::string text;
  bool takes_value = false, may_repeat = false;
  std::vector<std::string> values;  // all allowed values; empty: any, possibly a file
};

// A command or subcommand.
struct shell_command {
  std::string path;  // "", "verify", "golden check"
  std::string text;
  std::vector<shell_option> options;
  std::vector<std::string> arguments;    // values of its first positional; empty: files
  std::vector<std::string> subcommands;  // their last words
  std::vector<std::string> texts;        // descriptions of the subcommands

  std::string function() const {
    std::string name = "_warpcheck" + (path.empty() ? "" : "_" + path);
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
    return name;
  }
};

// Returns the values of a validator that lists them, from its description "TEXT:{none,yes}".
std::vector<std::string> listed_values(const std::string& type) {
  const size_t begin = type.find('{'), end = type.find('}');
  std::vector<std::string> values;
  if (begin == std::string::npos || end == std::string::npos) return values;
  for (size_t at = begin + 1; at < end;) {
    const size_t next = std::min(type.find(',', at), end);
    values.push_back(type.substr(at, next - at));
    at = next + 1;
  }
  return values;
}

std::vector<std::string> values_of(const CLI::Option& o) {
  if (o.check_lname("device")) return {"auto", "emulated", "cuda", "cuda:all", "cpu"};
  if (o.check_lname("size")) return {"quick", "ci", "full"};
  if (o.check_lname("dtype")) return {"f32", "f16", "bf16", "f64"};
  return listed_values(o.get_type_name());
}

shell_option option_of(const CLI::Option& o) {
  shell_option found;
  for (const std::string& name : o.get_snames()) found.names.push_back("-" + name);
  for (const std::string& name : o.get_lnames()) found.names.push_back("--" + name);
  found.text = o.get_description();
  found.takes_value = o.get_items_expected_max() > 0;
  found.may_repeat = o.get_items_expected_max() > 1;
  found.values = values_of(o);
  return found;
}

void add_commands(const CLI::App& app, const std::string& path, const std::vector<std::string>& operators,
                  std::vector<shell_command>& all) {
  shell_command c;
  c.path = path;
  c.text = app.get_description();
  for (const CLI::Option* o : app.get_options()) {
    if (o->nonpositional()) c.options.push_back(option_of(*o));
    const std::string name = o->get_name(true);
    if (name == "operator" || name == "operators" || name == "subjects") c.arguments = operators;
    if (name == "shell") c.arguments = listed_values(o->get_type_name());
  }
  const std::vector<const CLI::App*> subcommands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* s : subcommands) {
    c.subcommands.push_back(s->get_name());
    c.texts.push_back(s->get_description());
  }
  all.push_back(std::move(c));
  for (const CLI::App* s : subcommands)
    add_commands(*s, path.empty() ? s->get_name() : path + " " + s->get_name(), operators, all);
}

// ---- bash ----

std::string bash_script(const std::vector<shell_command>& all) {
  std::string paths, values, words;
  for (const shell_command& c : all) {
    if (!c.path.empty()) paths += fmt::format("{}\"{}\"", paths.empty() ? "" : " | ", c.path);
    std::vector<std::string> offered = c.subcommands.empty() ? c.arguments : c.subcommands;
    for (const shell_option& o : c.options) {
      for (const std::string& name : o.names)
        if (o.takes_value)
          values += fmt::format("    \"{} {}\") words=\"{}\" ;;\n", c.path, name, fmt::join(o.values, " "));
      offered.push_back(o.names.back());
    }
    words += fmt::format("      \"{}\") words=\"{}\" ;;\n", c.path, fmt::join(offered, " "));
  }
  return fmt::format(R"(# bash completion of warpcheck; made by 'warpcheck completion bash'
_warpcheck() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command= next i words=
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="${{command:+$command }}${{COMP_WORDS[i]}}"
    case $next in
      {}) command=$next ;;
    esac
  done
  case "$command $before" in
{}    *)
      case $command in
{}      esac ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}}
complete -o default -F _warpcheck warpcheck
)",
                     paths, values, words);
}

// ---- zsh ----

// Escapes a text for '...' and, in a specification of _arguments, for [...].
std::string zsh_text(const std::string& text) {
  std::string made;
  for (const char c : text) {
    if (c == '\'')
      made += "'\\''";
    else if (c == '[' || c == ']' || c == ':' || c == '\\')
      made += fmt::format("\\{}", c);
    else
      made += c == '\n' ? ' ' : c;
  }
  return made;
}

std::string zsh_values(const std::vector<std::string>& values) {
  std::vector<std::string> words;
  for (const std::string& v : values) words.push_back(zsh_text(v));
  return values.empty() ? "_files" : fmt::format("({})", fmt::join(words, " "));
}

std::string zsh_function(const shell_command& c) {
  std::string text = c.function() + "() {\n  local state\n  _arguments -C";
  for (const shell_option& o : c.options)
    for (const std::string& name : o.names)
      text += fmt::format(" \\\n    '{}{}[{}]{}'", o.may_repeat ? "*" : "", name, zsh_text(o.text),
                          o.takes_value ? ":value:" + zsh_values(o.values) : "");
  if (c.subcommands.empty()) return text + fmt::format(" \\\n    '*:argument:{}'\n}}\n", zsh_values(c.arguments));
  text += " \\\n    '1:command:->command' \\\n    '*::argument:->argument'\n  case $state in\n    command)\n";
  text += "      local -a commands=(\n";
  for (size_t i = 0; i < c.subcommands.size(); ++i)
    text += fmt::format("        '{}:{}'\n", c.subcommands[i], zsh_text(c.texts[i]));
  text += "      )\n      _describe command commands ;;\n    argument)\n      case $words[1] in\n";
  for (const std::string& s : c.subcommands) {
    shell_command sub;
    sub.path = c.path.empty() ? s : c.path + " " + s;
    text += fmt::format("        {}) {} ;;\n", s, sub.function());
  }
  return text + "      esac ;;\n  esac\n}\n";
}

std::string zsh_script(const std::vector<shell_command>& all) {
  std::string text = "#compdef warpcheck\n# zsh completion of warpcheck; made by 'warpcheck completion zsh'\n";
  for (const shell_command& c : all) text += zsh_function(c);
  // Loaded by compinit, this file is the body of the function; sourced, it registers the function.
  return text +
         "if [ \"${funcstack[1]}\" = _warpcheck ]; then _warpcheck \"$@\"; else compdef _warpcheck warpcheck; fi\n";
}

// ---- fish ----

std::string fish_text(const std::string& text) {
  std::string made;
  for (const char c : text)
    made += c == '\'' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c == '\n' ? ' ' : c);
  return "'" + made + "'";
}

// The condition that the command line is at this command.
std::string fish_condition(const shell_command& c) {
  if (c.path.empty()) return "__fish_use_subcommand";
  std::string text;
  for (size_t at = 0; at < c.path.size();) {
    const size_t end = std::min(c.path.find(' ', at), c.path.size());
    text += fmt::format("{}__fish_seen_subcommand_from {}", text.empty() ? "" : "; and ", c.path.substr(at, end - at));
    at = end + 1;
  }
  if (!c.subcommands.empty())
    text += fmt::format("; and not __fish_seen_subcommand_from {}", fmt::join(c.subcommands, " "));
  return text;
}

std::string fish_script(const std::vector<shell_command>& all) {
  std::string text = "# fish completion of warpcheck; made by 'warpcheck completion fish'\n";
  for (const shell_command& c : all) {
    const std::string begin = fmt::format("complete -c warpcheck -n '{}'", fish_condition(c));
    for (size_t i = 0; i < c.subcommands.size(); ++i)
      text += fmt::format("{} -f -a {} -d {}\n", begin, c.subcommands[i], fish_text(c.texts[i]));
    if (!c.arguments.empty()) text += fmt::format("{} -a '{}'\n", begin, fmt::join(c.arguments, " "));
    for (const shell_option& o : c.options) {
      text += begin;
      for (const std::string& name : o.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (o.takes_value) text += o.values.empty() ? " -r" : fmt::format(" -x -a '{}'", fmt::join(o.values, " "));
      text += fmt::format(" -d {}\n", fish_text(o.text));
    }
  }
  return text;
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell,
                              const std::vector<std::string>& operators) {
  std::vector<shell_command> all;
  add_commands(app, "", operators, all);
  return shell == "bash" ? bash_script(all) : shell == "zsh" ? zsh_script(all) : fish_script(all);
}

}  // namespace warpcheck::cli
