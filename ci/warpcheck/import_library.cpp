#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "ci/warpcheck/importer.hpp"
#include "ci/warpcheck/support.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/run_folder.hpp"
#include "properties/engine/sha256.hpp"

namespace warpcheck::cli {
namespace {

namespace fs = std::filesystem;
using engine::environment_error;
using engine::usage_error;

// Where compiled sources are kept: in the build folder, or for this user only where that cannot be written.
fs::path cache_folder(const toolchain& tools) {
  std::error_code error;
  const fs::path beside = fs::path(tools.build_folder()) / "imported";
  fs::create_directories(beside, error);
  if (!error && access(beside.c_str(), W_OK) == 0) return beside;
  const fs::path own = fs::path(engine::temporary_folder()) / fmt::format("warpcheck-imported-{}", getuid());
  fs::create_directories(own, error);
  fs::permissions(own, fs::perms::owner_all, error);
  if (access(own.c_str(), W_OK) != 0)
    throw environment_error(fmt::format("import: neither '{}' nor '{}' can be written", beside.string(), own.string()));
  return own;
}

// A file name beside the cached one that no other process uses.
std::string private_path(const fs::path& folder, const std::string& name) {
  return (folder / fmt::format("{}.{}", name, getpid())).string();
}

struct removed_file {
  std::string path;
  ~removed_file() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
};

[[noreturn]] void refuse(const import_request& r, const std::string& said) {
  throw usage_error(fmt::format(
      "{} does not compile for the emulated device (docs/run_emulated.md lists what does):\n{}", r.file, said));
}

}  // namespace

std::string import_library(const toolchain& tools, const import_request& r) {
  std::error_code error;
  if (!fs::is_regular_file(r.file, error)) throw usage_error(fmt::format("source: there is no file '{}'", r.file));
  const fs::path folder = cache_folder(tools);

  compilation c;
  c.flavour = r.flavour;
  c.sources = {r.file};
  c.options = {"-I" + tools.root() + "/kernels/simt/import", "-include", "cuda_runtime.h"};
  c.options.insert(c.options.end(), r.options.begin(), r.options.end());
  const removed_file preprocessed{private_path(folder, "preprocessed")};
  c.output = preprocessed.path;
  if (const std::string said = tools.preprocess(c); !said.empty()) refuse(r, said);

  const imported_source source = rewrite_cuda(read_text(preprocessed.path), r.file);
  if (!source.errors.empty()) throw usage_error(describe(source.errors.front()));
  if (r.needs_main && !source.has_main) throw usage_error(fmt::format("{} has no function main() to run", r.file));
  const auto& defined = source.functions;
  if (!r.entry.empty() && std::find(defined.begin(), defined.end(), r.entry) == defined.end())
    throw usage_error(fmt::format("entry: {} defines no function '{}'; it defines {}", r.file, r.entry,
                                  defined.empty() ? "none" : fmt::format("{}", fmt::join(defined, ", "))));
  const std::string text = source.text + "\n# 1 \"warpcheck\"\n" + r.epilogue;

  const std::string stem = engine::sha256_hex(tools.fingerprint() + r.flavour + text).substr(0, 32);
  const fs::path library = folder / fmt::format("{}{}.so", stem, r.flavour == "race" ? ".race" : "");
  if (fs::exists(library, error)) return library.string();

  const removed_file rewritten{private_path(folder, stem) + ".cpp"};
  write_file(rewritten.path, text);
  c.sources = {rewritten.path};
  // Reports name the user's file as the user did, from whichever folder.
  c.options = {fmt::format("-ffile-prefix-map={}=.", fs::current_path().string()), "-w"};
  if (r.flavour == "race") c.options.push_back("-fsanitize=alignment,object-size");  // the flavour has their handler
  c.output = private_path(folder, stem);
  if (const std::string said = tools.compile(c); !said.empty()) refuse(r, said);
  fs::rename(c.output, library);
  return library.string();
}

}  // namespace warpcheck::cli
