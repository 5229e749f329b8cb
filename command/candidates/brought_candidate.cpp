#include "command/candidates/brought_candidate.hpp"

#include <fmt/format.h>

#include <utility>

#include "command/candidates/inline_source.hpp"
#include "command/candidates/plugin.hpp"
#include "command/candidates/python_candidate.hpp"
#include "command/formula_arguments.hpp"
#include "command/support.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/isolation/isolated_library.hpp"
#include "properties/formula/formula_pair.hpp"

namespace warpcheck::cli {
namespace {

void add_source_options(CLI::App* command, source_request& s, CLI::Option* of_source) {
  command->add_option("-I,--include", s.includes, "A folder for the headers of --source (may be repeated)")
      ->allow_extra_args(false)
      ->needs(of_source);
  command->add_option("-D,--define", s.defines, "A macro for --source: NAME or NAME=VALUE (may be repeated)")
      ->allow_extra_args(false)
      ->needs(of_source);
  command->add_option("--std", s.standard, "The C++ standard of --source (default: c++17)")->needs(of_source);
  command
      ->add_option("--args", s.arguments,
                   "Meanings of the entry's parameters: 'in=x,out=y,N=rows', or all by position 'x,y,rows,cols'")
      ->needs(of_source);
}

// Options for files that contain a CUDA source: short for `--source FILE.py --entry NAME` with their fixed name.
void add_inline_sources(CLI::App* command, source_request& s, CLI::Option* of_source) {
  const auto add = [&](const std::string& option, const std::string& entry, const std::string& what) {
    const auto take = [&s, entry](const std::string& file) {
      s.file = file;
      s.entry = entry;
    };
    return command->add_option_function<std::string>(option, take, what)->excludes(of_source);
  };
  CLI::Option* of_kernelbench = add("--kernelbench", "ModelNew",
                                    "A KernelBench file: the CUDA source that its ModelNew calls is the candidate, on "
                                    "the emulated device");
  add("--gpumode", "custom_kernel", "A submission to GPU MODE: the CUDA source that its custom_kernel calls")
      ->excludes(of_kernelbench);
}

// The forward kernel is compiled in the same way as the gradient's.
void prepare_forward(const verify_options& o, source_request source, const std::string& forward) {
  const size_t colon = forward.rfind(':');
  if (colon == std::string::npos)
    throw engine::usage_error(fmt::format("forward: '{}' is not of the form FILE.cu:FUNCTION", forward));
  source.file = forward.substr(0, colon);
  source.entry = forward.substr(colon + 1);
  source.arguments.clear();
  const std::string& op = o.operators[0];
  std::string note;
  formula_trial::name_forward(op, prepare_source(source, formula_trial::primal_of(op), resolve_device(o.device, note)));
}

// The plug-ins, which define their operators, before the arguments that describe the operators to a runner.
std::vector<std::string> with_plugins(const std::vector<std::string>& described) {
  std::vector<std::string> words;
  for (const std::string& op : plugin_operators()) words.push_back(plugin_of(op)->path);
  words.insert(words.end(), described.begin(), described.end());
  return words;
}

}  // namespace

void brought_candidate::prepare(verify_options& o, bool has_peers) const {
  std::vector<std::string> described = with_plugins(o.operators);
  use_formulas(o, !source.file.empty() || !python.empty());
  if (has_inline_source(source.file) && o.device == "auto") o.device = "emulated";
  if (!source.file.empty()) o.candidate = prepare_source(o, source);
  if (!forward.empty()) prepare_forward(o, source, forward);
  const bool is_foreign = o.candidate != "builtin" || !python.empty() || has_peers;
  if (is_foreign && is_isolated) engine::isolate_candidates(std::move(described));
  if (!python.empty()) prepare_python(o, python, interpreter);
}

void add_candidate(CLI::App* command, verify_options& o, brought_candidate& b) {
  command->add_option("--candidate", o.candidate, "builtin, or a candidate library (abi/candidate.h)")
      ->capture_default_str();
  CLI::Option* of_source =
      command->add_option("--source", b.source.file, "A CUDA source (.cu) whose function is the candidate");
  CLI::Option* of_entry = command->add_option(
      "--entry", b.source.entry,
      "The function of --source: f, ns::f or 'f<float, 128>'; list OP prints what its parameters can be");
  of_source->needs(of_entry);
  of_entry->needs(of_source);
  add_source_options(command, b.source, of_source);
  command->add_option("--forward", b.forward, "FILE.cu:FUNCTION: the kernel whose gradient --entry computes")
      ->needs(of_source);
  add_inline_sources(command, b.source, of_source);
  CLI::Option* of_python = command->add_option(
      "--python", b.python, "FILE.py:FUNCTION: a Python function is the candidate, on the CPU or with --device cuda");
  for (const char* other : {"--source", "--kernelbench", "--gpumode"}) of_python->excludes(command->get_option(other));
  command->add_option("--interpreter", b.interpreter, "The interpreter of --python (default: python3)")
      ->needs(of_python);
  add_isolation(command, b.is_isolated);
}

void add_isolation(CLI::App* command, bool& is_isolated) {
  command->add_flag(
      "--isolate,!--no-isolate", is_isolated,
      "Run a candidate of yours in a process that holds neither expected values nor the verdict (default); "
      "--no-isolate runs it in the process that judges it, for a debugger");
}

void prepare_named(const engine::trial_case& c, bool is_isolated) {
  const std::string candidate = c.knob("candidate"), device = c.knob("device");
  prepare_named_source(candidate, c.op, device);
  if (candidate != "builtin" && is_isolated) engine::isolate_candidates(with_plugins({engine::format(c)}));
  prepare_named_python(candidate, c.op, device);
  if (const auto [op, forward] = formula_trial::forward_of(c); !forward.empty())
    prepare_named_source(forward, op, device);
}

}  // namespace warpcheck::cli
