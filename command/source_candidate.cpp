#include "command/source_candidate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "command/cuda_structure.hpp"
#include "command/entry_parameters.hpp"
#include "command/importer.hpp"
#include "command/support.hpp"
#include "properties/engine/description.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/library.hpp"
#include "properties/engine/sha256.hpp"

namespace warpcheck::cli {
namespace {

namespace fs = std::filesystem;
using engine::environment_error;
using engine::usage_error;

constexpr std::string_view k_prefix = "source:";

struct entry_request {
  std::string file, entry, op;
  const engine::description* described;
};

std::string meaning_of(const entry_name& n) {
  switch (n.meaning) {
    case entry_meaning::input: return "input";
    case entry_meaning::output: return "output";
    case entry_meaning::number: return "number";
    case entry_meaning::stream: return "stream";
    default: return "integer";
  }
}

// What its type must be, for people.
std::string type_of(const entry_name& n) {
  const std::string elements = fmt::format("a pointer to {}", fmt::join(element_types_of(n), " or "));
  switch (n.meaning) {
    case entry_meaning::input: return elements;
    case entry_meaning::output: return elements + ", not const";
    case entry_meaning::number: return "a float or a double";
    case entry_meaning::stream: return "a cudaStream_t";
    default: return "an integer";
  }
}

// What makes the library of an entry, behind the source.
std::string epilogue(const entry_request& r, const imported_function& entry, std::string_view build,
                     std::string_view device, std::string_view api) {
  std::string parameters, checks;
  size_t number = 0;
  for (const entry_name& n : entry_parameters(*r.described, entry)) {
    parameters += fmt::format("    {{\"{}\", ::simt::import::meaning::{}, {}u}},\n", n.name, meaning_of(n), n.types);
    checks += fmt::format(
        "static_assert(::simt::import::fits<decltype(::simt::import::parameter_type<{0}>(&::{1}))::type>(\n"
        "    warpcheck_source::parameters[{0}]), \"parameter {2} of '{1}', {3}, must be {4}\");\n",
        number, entry.name, number + 1, n.name, type_of(n));
    ++number;
  }
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
      "}}\n",
      r.entry, r.op, build, device, parameters, api, checks);
}

entry_request checked_request(const std::string& file, const std::string& entry, const std::string& op) {
  const engine::description* const described = engine::find_description(op);
  if (!described) throw usage_error(fmt::format("source: operator {} has no description", op));
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  if (entry.empty() || !std::all_of(entry.begin(), entry.end(), plain) ||
      std::isdigit(static_cast<unsigned char>(entry[0])))
    throw usage_error(fmt::format("entry: '{}' is not the name of an extern \"C\" function", entry));
  if (file.find_first_of(" \t,()|\"'\\:") != std::string::npos)
    throw usage_error(fmt::format(
        "source: '{}' holds a blank, comma, colon, quote, parenthesis or bar, which a case line cannot carry", file));
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) throw usage_error(fmt::format("source: there is no file '{}'", file));
  return {file, entry, op, described};
}

std::string compile_emulated(const toolchain& tools, const entry_request& e, const std::string& flavour) {
  import_request r;
  r.file = e.file;
  r.flavour = flavour;
  r.entry = e.entry;
  r.options = {"-include", tools.root() + "/simt/import/entry.hpp"};
  r.epilogue_of = [&](const imported_function& f) {
    return epilogue(e, f, flavour, "WARPCHECK_DEVICE_EMULATED", "warpcheck_device_emulated()");
  };
  return import_library(tools, r);
}

// nvcc makes code for the GPU that is present; the suite's own device interface runs it.
std::string compile_cuda(const toolchain& tools, const entry_request& e) {
  const fs::path folder = fs::path(tools.build_folder()) / "imported";
  fs::create_directories(folder);
  const std::string own = (folder / fmt::format("entry.{}", getpid())).string();
  const removed_file preprocessed(own + ".ii"), wrapper(own + ".cu"), made(own + ".so");
  const auto refuse = [&](const std::string& said) {
    if (!said.empty()) throw usage_error(fmt::format("{} does not compile with nvcc:\n{}", e.file, said));
  };
  refuse(tools.preprocess_cuda(e.file, preprocessed.path));
  const std::string source = read_text(preprocessed.path);
  const cuda_structure structure(source, e.file);
  const imported_function& entry = find_entry(structure.functions(), e.entry, e.file);
  const std::string text =
      fmt::format("#include \"simt/import/entry.hpp\"\n#include \"{}\"\n{}", fs::absolute(e.file).string(),
                  epilogue(e, entry, "nvcc", "WARPCHECK_DEVICE_CUDA", "nullptr"));
  const std::string stem = engine::sha256_hex(tools.fingerprint() + text + source).substr(0, 32);
  const fs::path library = folder / (stem + ".cuda.so");
  if (fs::exists(library)) return library.string();
  write_file(wrapper.path, text);
  refuse(tools.compile_cuda(wrapper.path, made.path));
  fs::rename(made.path, library);
  return library.string();
}

}  // namespace

std::string prepare_source(const std::string& file, const std::string& entry, const std::string& op,
                           const std::string& device) {
  const entry_request e = checked_request(file, entry, op);
  const toolchain tools = toolchain::load();
  const std::string name = fmt::format("{}{}:{}", k_prefix, file, entry);
  if (device == "cuda") {
    engine::name_candidate(name, compile_cuda(tools, e), "");
  } else if (device == "emulated") {
    const std::string race = tools.has_flavour("race") ? compile_emulated(tools, e, "race") : "";
    engine::name_candidate(name, compile_emulated(tools, e, "plain"), race);
  } else {
    throw usage_error(fmt::format("source: device {} runs no CUDA source; emulated and cuda do", device));
  }
  return name;
}

std::string prepare_source(const verify_options& o, const std::string& file, const std::string& entry) {
  if (o.operators.size() != 1) throw usage_error("source: name the one operator that the entry implements");
  if (o.candidate != "builtin") throw usage_error("source: it cannot be given together with --candidate");
  std::string note;
  return prepare_source(file, entry, o.operators[0], resolve_device(o.device, note));
}

std::string source_of(const std::string& candidate) {
  if (!candidate.starts_with(k_prefix)) return "";
  const std::string rest = candidate.substr(k_prefix.size());
  return rest.substr(0, rest.rfind(':'));
}

void prepare_named_source(const std::string& candidate, const std::string& op, const std::string& device) {
  if (!candidate.starts_with(k_prefix)) return;
  const std::string rest = candidate.substr(k_prefix.size());
  const size_t colon = rest.rfind(':');
  if (colon == std::string::npos)
    throw usage_error(fmt::format("candidate: '{}' is not source:FILE.cu:ENTRY", candidate));
  prepare_source(rest.substr(0, colon), rest.substr(colon + 1), op, device);
}

}  // namespace warpcheck::cli
