#include "command/candidates/python_candidate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "command/candidates/described_contract.hpp"
#include "command/candidates/entry_parameters.hpp"
#include "command/candidates/python/interpreter.hpp"
#include "command/candidates/toolchain.hpp"
#include "command/support.hpp"
#include "command/translator/line_words.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/offer.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/isolation/isolated_library.hpp"
#include "properties/engine/trials/library.hpp"

namespace warpcheck::cli {
namespace {

using engine::environment_error;
using engine::usage_error;

constexpr const char* k_usual_interpreter = "python3";

// Lets the interpreter load the function, which names its element types, and stay as the nursery if possible.
void introduce(python::settings& s) {
  const python::introduction said = python::start_nursery(s);
  if (interrupt_watch::seen()) throw interrupted("python: interrupted");
  // Output of the module while it loads comes first.
  const size_t end = said.output.find_last_not_of('\n');
  const size_t begin = end == std::string::npos ? 0 : said.output.rfind('\n', end) + 1;
  const auto answer = nlohmann::json::parse(said.output.substr(begin), nullptr, false);
  if (said.status == 127 && said.output.find("cannot be started") != std::string::npos)
    throw environment_error(said.output.substr(0, said.output.find('\n')) + "; --interpreter names another Python");
  if (said.status != 0 || !answer.is_object())
    throw environment_error(
        fmt::format("interpreter: '{}' ended with status {}: {}", s.interpreter, said.status, said.output));
  if (answer.contains("error")) throw usage_error(answer["error"]);
  // A function that lists no types accepts f32, or all types of an operator without f32.
  const uint32_t all = s.rules.dtypes(), f32 = all & WARPCHECK_F32;
  if (answer["dtypes"].empty()) s.dtypes = f32 ? f32 : all;
  std::map<std::string, uint32_t> allowed;
  for (const form_rule& form : s.rules.forms)
    for (uint32_t bit = 1; dtype_name(bit); bit <<= 1)
      if (form.tensors.at(0).types & bit) allowed.emplace(dtype_name(bit), bit);
  for (const std::string name : answer["dtypes"]) {
    if (!allowed.contains(name)) {
      std::vector<std::string> names;
      for (const auto& type : allowed) names.push_back(type.first);
      throw usage_error(fmt::format("python: the function's dtypes name {}, which {} does not have; allowed are {}",
                                    name, s.op, fmt::join(names, ", ")));
    }
    s.dtypes |= allowed.at(name);
  }
  s.has_reserve = answer.value("reserve", false) && engine::find_description(s.op)->split;
  s.states = answer.value("states", "");
  if (const std::string lacked = lacked_text(s.op, answer.value("left_out", std::vector<std::string>()));
      !lacked.empty())
    s.states += ";lacks " + lacked;
  engine::parse_statements(s.op, s.states);
  s.nursery = said.socket;
}

}  // namespace

std::string prepare_python(const std::string& file_and_function, const std::string& interpreter, const std::string& op,
                           const std::string& device) {
  const size_t colon = file_and_function.rfind(':');
  if (colon == std::string::npos)
    throw usage_error(fmt::format("python: '{}' is not of the form FILE.py:FUNCTION", file_and_function));
  python::settings s;
  s.op = op;
  s.device = device == "auto" ? "cpu" : device.substr(0, device.find(':'));
  s.interpreter = interpreter.empty() ? k_usual_interpreter : interpreter;
  s.file = file_and_function.substr(0, colon);
  s.function = file_and_function.substr(colon + 1);
  if (s.device != "cpu" && s.device != "cuda")
    throw usage_error(fmt::format("python: device {} runs no Python function; cpu and cuda do", s.device));
  const engine::description* const described = engine::find_description(op);
  if (!described) throw usage_error(fmt::format("python: operator {} has no description", op));
  s.rules = contract_of(*described);
  s.is_isolated = engine::is_isolating(engine::device_from_name(s.device));
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(s.file, ignored))
    throw usage_error(fmt::format("python: file '{}' not found", s.file));
  const std::string library = engine::builtin_library("python");
  if (library.empty()) throw environment_error("python: libwarpcheck_python.so is not beside this command");
  setenv(python::k_settings_variable, python::to_text(s).c_str(), 1);
  introduce(s);
  setenv(python::k_settings_variable, python::to_text(s).c_str(), 1);
  std::string name = fmt::format("{}{}:{}", k_python_prefix, to_word(s.file), to_word(s.function));
  if (s.interpreter != k_usual_interpreter) name += ":" + to_word(s.interpreter);
  engine::name_candidate(name, library, "");
  return name;
}

void prepare_python(verify_options& o, const std::string& file_and_function, const std::string& interpreter) {
  if (o.operators.size() != 1) throw usage_error("python: name the one operator that the function implements");
  if (o.candidate != "builtin") throw usage_error("python: it cannot be given together with --candidate or --source");
  if (o.device == "auto") o.device = "cpu";
  std::string note;
  o.candidate = prepare_python(file_and_function, interpreter, o.operators[0], resolve_device(o.device, note));
}

void prepare_named_python(const std::string& candidate, const std::string& op, const std::string& device) {
  const std::string prefix = k_python_prefix;
  if (!candidate.starts_with(prefix)) return;
  const std::string rest = candidate.substr(prefix.size());
  const size_t first = rest.find(':'), second = first == std::string::npos ? first : rest.find(':', first + 1);
  prepare_python(from_word(rest.substr(0, first)) +
                     from_word(first == std::string::npos ? "" : rest.substr(first, second - first)),
                 second == std::string::npos ? "" : from_word(rest.substr(second + 1)), op, device);
}

}  // namespace warpcheck::cli
