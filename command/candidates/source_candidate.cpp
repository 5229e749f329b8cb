#include "command/candidates/source_candidate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string_view>
#include <utility>

#include "command/candidates/entry_parameters.hpp"
#include "command/candidates/inline_source.hpp"
#include "command/support.hpp"
#include "command/translator/cuda_structure.hpp"
#include "command/translator/importer.hpp"
#include "command/translator/line_words.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/offer.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/files/sha256.hpp"
#include "properties/engine/trials/library.hpp"

namespace warpcheck::cli {
namespace {

namespace fs = std::filesystem;
using engine::usage_error;

constexpr std::string_view k_prefix = "source:";

struct entry_request : source_request {
  std::string op;
  const engine::description* described;
  std::string made_of = {},
              made_by = {};  // the Python file with the source, and its entry; empty: the source is the user's file

  // True if a statement with this name is about the entry, whose namespace it may leave out.
  bool is_stated_by(const std::string& name) const {
    const std::string own = made_by.empty() ? entry.substr(0, entry.find('<')) : made_by;
    return name == own || own.ends_with("::" + name);
  }

  // Options of nvcc.
  std::vector<std::string> options() const {
    std::vector<std::string> list;
    for (const std::string& include : includes) list.push_back("-I" + include);
    for (const std::string& define : defines) list.push_back("-D" + define);
    if (!standard.empty()) list.push_back("-std=" + standard);
    return list;
  }
};

std::string meaning_of(const entry_name& n) {
  switch (n.meaning) {
    case entry_meaning::input: return "input";
    case entry_meaning::output: return "output";
    case entry_meaning::number: return "number";
    case entry_meaning::stream: return "stream";
    case entry_meaning::reserve: return "reserve";
    case entry_meaning::reserve_bytes: return "reserve_bytes";
    default: return "integer";
  }
}

// The required type, for messages.
std::string type_of(const entry_name& n) {
  const std::string elements = fmt::format("a pointer to {}", fmt::join(element_types_of(n), " or "));
  switch (n.meaning) {
    case entry_meaning::input: return elements;
    case entry_meaning::output: return elements + ", not const";
    case entry_meaning::number: return "a float or a double";
    case entry_meaning::stream: return "a cudaStream_t";
    case entry_meaning::reserve: return "a pointer, not const";
    case entry_meaning::reserve_bytes: return "an int64_t*";
    default: return "an integer";
  }
}

// The source's statements about the entry, in comments: "// warpcheck ENTRY: sums chain".
std::string statements_of(const entry_request& r) {
  static const std::regex comment(R"(//\s*warpcheck\s+([^\s:]+(?:::[^\s:]+)*)\s*:([^\n"\\]*))");
  const std::string text = read_text(r.file);
  std::string all;
  for (std::sregex_iterator i(text.begin(), text.end(), comment), end; i != end; ++i)
    if (r.is_stated_by((*i)[1])) all += (*i)[2].str() + ";";
  engine::parse_statements(r.op, all);
  return all;
}

// The text after the source that makes the library of an entry.
std::string epilogue(const entry_request& r, const imported_function& entry, std::string_view build,
                     std::string_view device, std::string_view api) {
  const size_t template_arguments = std::min(r.entry.find('<'), r.entry.size());
  const std::string function = entry.name + r.entry.substr(template_arguments);
  std::string parameters, checks;
  size_t number = 0;
  const std::vector<entry_name> named = entry_parameters(*r.described, entry, r.arguments);
  for (const entry_name& n : named) {
    parameters += fmt::format("    {{\"{}\", ::simt::import::meaning::{}, {}u}},\n", n.name, meaning_of(n), n.types);
    checks += fmt::format(
        "static_assert(::simt::import::fits<decltype(::simt::import::parameter_type<{0}>(&::{1}))::type>(\n"
        "    warpcheck_source::parameters[{0}]), \"parameter {2} of '{1}', {3}, must be {4}\");\n",
        number, function, number + 1, n.name, type_of(n));
    ++number;
  }
  checks += fmt::format(
      "static_assert(::simt::import::returns_status(warpcheck_source::function), \"the result of '{}' must be a "
      "cudaError_t, an int or nothing\");\n",
      function);
  return fmt::format(
      "extern \"C\" const warpcheck_device_api* warpcheck_device_emulated(void);\n"
      "namespace {{\n"
      "struct warpcheck_source {{\n"
      "  static constexpr auto* function = &::{0};\n"
      "  static constexpr const char *op = \"{1}\", *name = \"{0}\", *build = \"{2}\";\n"
      "  static constexpr warpcheck_device device = {3};\n"
      "  static constexpr ::simt::import::named_parameter parameters[] = {{\n{4}  }};\n"
      "}};\n"
      "{6}"
      "}}\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) const warpcheck_candidate* warpcheck_candidate_get(\n"
      "    uint32_t version) {{\n"
      "  return ::simt::import::source_library<warpcheck_source>::table(version, {5});\n"
      "}}\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) const char* warpcheck_candidate_states(const char*) {{\n"
      "  return \"{7}\";\n"
      "}}\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) const warpcheck_reserve* warpcheck_candidate_reserve(\n"
      "    const char*) {{\n"
      "  return ::simt::import::source_library<warpcheck_source>::reserve();\n"
      "}}\n",
      function, r.op, build, device, parameters, api, checks,
      statements_of(r) + "lacks " + lacked_text(*r.described, named));
}

entry_request checked_request(const source_request& given, const std::string& op) {
  const engine::description* const described = engine::find_description(op);
  if (!described) throw usage_error(fmt::format("source: operator {} has no description", op));
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("_:<>, *+-").find(c) != std::string::npos;
  };
  const std::string& entry = given.entry;
  if (entry.empty() || !std::ranges::all_of(entry, fits) || std::isdigit(static_cast<unsigned char>(entry[0])))
    throw usage_error(fmt::format("entry: '{}' is not the name of a function; write f, ns::f or f<float, 128>", entry));
  std::error_code ignored;
  if (!fs::is_regular_file(given.file, ignored))
    throw usage_error(fmt::format("source: file '{}' not found", given.file));
  return {given, op, described};
}

// A compiler's output about an entry that does not fit, in one sentence, or the whole output.
std::string fitted(const entry_request& e, const std::string& said) {
  static const std::regex of_signature(R"((parameter \d+ of '[^']*', [^,]*,|the result of '[^']*') must be [^"\n]*)");
  if (std::smatch found; std::regex_search(said, found, of_signature)) return "entry: " + found.str();
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with(e.file) &&
        (line.find("unable to deduce") != std::string::npos || line.find("overloaded function") != std::string::npos))
      return fmt::format("entry: '{}' names no single function; write its template arguments, as in '{}<float>'",
                         e.entry, e.entry.substr(0, e.entry.find('<')));
  return said;
}

std::string compile_emulated(const toolchain& tools, const entry_request& e, const std::string& flavour) {
  import_request r;
  r.file = e.file;
  r.flavour = flavour;
  r.entry = e.entry;
  r.options = {"-include", tools.root() + "/simt/import/entry.hpp"};
  r.defines = e.defines;
  r.includes = e.includes;
  r.standard = e.standard;
  r.epilogue_of = [&](const imported_function& f) {
    return epilogue(e, f, flavour, "WARPCHECK_DEVICE_EMULATED", "warpcheck_device_emulated()");
  };
  try {
    return import_library(tools, r);
  } catch (const usage_error& refused) {
    const std::string said = fitted(e, refused.what());
    throw usage_error(e.made_of.empty() ? said : replaced(said, e.file, e.made_of));
  }
}

// Extracts the source from a Python file into a separate file.
void take_out(entry_request& e, const toolchain& tools, const std::string& device) {
  if (device != "emulated")
    throw usage_error(fmt::format("source: device {} does not run the CUDA source inside '{}'; --device emulated does",
                                  device, e.file));
  const std::string name = engine::sha256_hex(read_text(e.file) + e.file + e.entry + e.op).substr(0, 32) + ".cu";
  const std::string path = (fs::path(import_folder(tools)) / name).string();
  write_file(path, inline_source(e.file, e.entry, *e.described, path));
  e.made_of = std::exchange(e.file, path);
  e.made_by = std::exchange(e.entry, k_inline_entry);
}

// nvcc compiles for the GPU that is present; the suite's own device interface runs the code.
std::string compile_cuda(const toolchain& tools, const entry_request& e) {
  const fs::path folder = fs::path(tools.build_folder()) / "imported";
  fs::create_directories(folder);
  const std::string own = (folder / fmt::format("entry.{}", getpid())).string();
  const removed_file preprocessed(own + ".ii"), wrapper(own + ".cu"), made(own + ".so");
  const auto refuse = [&](const std::string& said) {
    if (said.empty()) return;
    const std::string sentence = fitted(e, said);
    throw usage_error(sentence != said ? sentence : fmt::format("{} does not compile with nvcc:\n{}", e.file, said));
  };
  refuse(tools.preprocess_cuda(e.file, preprocessed.path, e.options()));
  const std::string source = read_text(preprocessed.path);
  const cuda_structure structure(source, e.file);
  const imported_function& entry = find_entry(structure.functions(), e.entry, e.file);
  const std::string text =
      fmt::format("#include \"simt/import/entry.hpp\"\n#include \"{}\"\n{}", fs::absolute(e.file).string(),
                  epilogue(e, entry, "nvcc", "WARPCHECK_DEVICE_CUDA", "nullptr"));
  const std::string stem =
      engine::sha256_hex(fmt::format("{}{}{}{}", tools.fingerprint(), fmt::join(e.options(), " "), text, source))
          .substr(0, 32);
  const fs::path library = folder / (stem + ".cuda.so");
  if (fs::exists(library)) return library.string();
  write_file(wrapper.path, text);
  refuse(tools.compile_cuda(wrapper.path, made.path, e.options()));
  fs::rename(made.path, library);
  return library.string();
}

// "source:FILE:ENTRY", followed by one word for each option.
std::string name_of(const source_request& r) {
  std::string name = fmt::format("{}{}:{}", k_prefix, to_word(r.file), to_word(r.entry));
  for (const std::string& include : r.includes) name += ":-I" + to_word(include);
  for (const std::string& define : r.defines) name += ":-D" + to_word(define);
  if (!r.standard.empty()) name += ":--std=" + to_word(r.standard);
  if (!r.arguments.empty()) name += ":--args=" + to_word(r.arguments);
  return name;
}

source_request request_of(const std::string& candidate) {
  std::vector<std::string> words;
  for (size_t begin = k_prefix.size(); begin <= candidate.size();) {
    const size_t end = std::min(candidate.find(':', begin), candidate.size());
    words.push_back(from_word(std::string_view(candidate).substr(begin, end - begin)));
    begin = end + 1;
  }
  if (words.size() < 2) throw usage_error(fmt::format("candidate: '{}' is not source:FILE.cu:ENTRY", candidate));
  source_request r;
  r.file = words[0];
  r.entry = words[1];
  for (size_t i = 2; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.starts_with("-I"))
      r.includes.push_back(word.substr(2));
    else if (word.starts_with("-D"))
      r.defines.push_back(word.substr(2));
    else if (word.starts_with("--std="))
      r.standard = word.substr(6);
    else if (word.starts_with("--args="))
      r.arguments = word.substr(7);
    else
      throw usage_error(
          fmt::format("candidate: '{}' is not an option of a source; -I, -D, --std= and --args= are", word));
  }
  return r;
}

}  // namespace

std::string prepare_source(const source_request& request, const std::string& op, const std::string& device) {
  entry_request e = checked_request(request, op);
  const toolchain tools = toolchain::load();
  if (has_inline_source(e.file)) take_out(e, tools, device);
  const std::string name = name_of(request);
  if (device == "cuda") {
    engine::name_candidate(name, compile_cuda(tools, e), "");
  } else if (device == "emulated") {
    const bool has_detector = request.has_detector && tools.has_flavour("race");
    const std::string race = has_detector ? compile_emulated(tools, e, "race") : "";
    engine::name_candidate(name, compile_emulated(tools, e, "plain"), race);
  } else {
    throw usage_error(fmt::format("source: device {} runs no CUDA source; emulated and cuda do", device));
  }
  return name;
}

std::string prepare_source(const verify_options& o, const source_request& request) {
  if (o.operators.size() != 1) throw usage_error("source: name the one operator that the entry implements");
  if (o.candidate != "builtin") throw usage_error("source: it cannot be given together with --candidate");
  std::string note;
  return prepare_source(request, o.operators[0], resolve_device(o.device, note));
}

std::string source_of(const std::string& candidate) {
  return candidate.starts_with(k_prefix) ? request_of(candidate).file : "";
}

void prepare_named_source(const std::string& candidate, const std::string& op, const std::string& device) {
  if (candidate.starts_with(k_prefix)) prepare_source(request_of(candidate), op, device);
}

}  // namespace warpcheck::cli
