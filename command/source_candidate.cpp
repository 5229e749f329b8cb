#include "command/source_candidate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "command/importer.hpp"
#include "command/support.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/library.hpp"
#include "properties/engine/sha256.hpp"

namespace warpcheck::cli {
namespace {

namespace fs = std::filesystem;
using engine::environment_error;
using engine::usage_error;

constexpr std::string_view k_prefix = "source:";
// Operators whose entry signature simt/import/entry.hpp knows.
constexpr std::string_view k_operators[] = {"softmax", "log_softmax"};

std::string epilogue(const std::string& op, const std::string& entry, std::string_view build, std::string_view device,
                     std::string_view api) {
  return fmt::format(
      "extern \"C\" const warpcheck_device_api* warpcheck_device_emulated(void);\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) const warpcheck_candidate* warpcheck_candidate_get(\n"
      "    uint32_t version) {{\n"
      "  return ::simt::import::source_candidate<decltype(&::{0}), &::{0}>(version, \"{1}\", \"{0}\", \"{2}\", {3}, "
      "{4});\n"
      "}}\n",
      entry, op, build, device, api);
}

void check_names(const std::string& file, const std::string& entry, const std::string& op) {
  if (std::find(std::begin(k_operators), std::end(k_operators), op) == std::end(k_operators))
    throw usage_error(fmt::format("source: operator {} has no entry signature; those that have: {}", op,
                                  fmt::join(k_operators, ", ")));
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  if (entry.empty() || !std::all_of(entry.begin(), entry.end(), plain) ||
      std::isdigit(static_cast<unsigned char>(entry[0])))
    throw usage_error(fmt::format("entry: '{}' is not the name of an extern \"C\" function", entry));
  if (file.find_first_of(" \t,()|\"'\\:") != std::string::npos)
    throw usage_error(fmt::format(
        "source: '{}' holds a blank, comma, colon, quote, parenthesis or bar, which a case line cannot carry", file));
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) throw usage_error(fmt::format("source: there is no file '{}'", file));
}

std::string compile_emulated(const toolchain& tools, const std::string& file, const std::string& entry,
                             const std::string& op, const std::string& flavour) {
  import_request r;
  r.file = file;
  r.flavour = flavour;
  r.entry = entry;
  r.options = {"-include", tools.root() + "/simt/import/entry.hpp"};
  r.epilogue = epilogue(op, entry, flavour, "WARPCHECK_DEVICE_EMULATED", "warpcheck_device_emulated()");
  return import_library(tools, r);
}

// nvcc makes code for the GPU that is present; the suite's own device interface runs it.
std::string compile_cuda(const toolchain& tools, const std::string& file, const std::string& entry,
                         const std::string& op) {
  const fs::path folder = fs::path(tools.build_folder()) / "imported";
  fs::create_directories(folder);
  const std::string text =
      fmt::format("#include \"simt/import/entry.hpp\"\n#include \"{}\"\n{}", fs::absolute(file).string(),
                  epilogue(op, entry, "nvcc", "WARPCHECK_DEVICE_CUDA", "nullptr"));
  const std::string stem = engine::sha256_hex(tools.fingerprint() + text + read_text(file)).substr(0, 32);
  const fs::path library = folder / (stem + ".cuda.so");
  if (fs::exists(library)) return library.string();
  const std::string wrapper = (folder / fmt::format("{}.{}.cu", stem, getpid())).string();
  const std::string made = wrapper + ".so";
  write_file(wrapper, text);
  const std::string said = tools.compile_cuda(wrapper, made);
  fs::remove(wrapper);
  if (!said.empty()) throw usage_error(fmt::format("{} does not compile with nvcc:\n{}", file, said));
  fs::rename(made, library);
  return library.string();
}

}  // namespace

std::string prepare_source(const std::string& file, const std::string& entry, const std::string& op,
                           const std::string& device) {
  check_names(file, entry, op);
  const toolchain tools = toolchain::load();
  const std::string name = fmt::format("{}{}:{}", k_prefix, file, entry);
  if (device == "cuda") {
    engine::name_candidate(name, compile_cuda(tools, file, entry, op), "");
  } else if (device == "emulated") {
    const std::string race = tools.has_flavour("race") ? compile_emulated(tools, file, entry, op, "race") : "";
    engine::name_candidate(name, compile_emulated(tools, file, entry, op, "plain"), race);
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
