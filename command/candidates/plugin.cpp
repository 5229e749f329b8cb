#include "command/candidates/plugin.hpp"

#include "golden/plugin.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <set>

#include "command/support.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/trials/library.hpp"

namespace warpcheck::cli {
namespace {

namespace fs = std::filesystem;
using engine::environment_error;
using engine::usage_error;

std::deque<plugin>& plugins() {
  static std::deque<plugin> list;
  return list;
}

void* open_library(const std::string& path, int when) {
  void* const handle = dlopen(path.c_str(), when | RTLD_LOCAL);
  if (handle) return handle;
  const char* const reason = dlerror();
  throw environment_error(fmt::format("plugin: '{}' does not load: {}", path, reason ? reason : "unknown reason"));
}

const plugin_table& table_of(const std::string& path) {
  // Lazy, so that functions that this warpcheck lacks do not keep the library from returning its version.
  void* const handle = open_library(path, RTLD_LAZY);
  const auto get = reinterpret_cast<plugin_get_fn>(dlsym(handle, "warpcheck_plugin_get"));
  const plugin_table* const table = get ? get() : nullptr;
  if (!table) throw environment_error(fmt::format("plugin: '{}' does not export warpcheck_plugin_get", path));
  if (table->abi != k_plugin_abi || table->layout != plugin_layout())
    throw environment_error(
        fmt::format("plugin: '{}' has ABI version {}.{}; this warpcheck supports {}.{}; build it again with this "
                    "warpcheck's headers",
                    path, table->abi, table->layout, k_plugin_abi, plugin_layout()));
  open_library(path, RTLD_NOW);  // now a missing function is an error here, not a crash in the middle of a run
  return *table;
}

void check_name(const std::string& op) {
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  if (op.empty() || !std::ranges::all_of(op, is_plain))
    throw usage_error(fmt::format("operator: the name '{}' may hold small letters, digits and '_' only", op));
}

void check_properties(const operator_plugin& p) {
  const std::string& op = p.described.op;
  std::set<std::string> names;
  for (const engine::property& one : p.properties) {
    if (one.op != op)
      throw usage_error(fmt::format("property {}: it is of operator '{}', must be of {}", one.name, one.op, op));
    if (!names.insert(one.name).second) throw usage_error(fmt::format("property: {} has two named '{}'", op, one.name));
    if (!one.generate || !one.check || one.types.empty())
      throw usage_error(fmt::format("property {}/{}: types, generate and check are required", op, one.name));
  }
  if (names.empty()) throw usage_error(fmt::format("operator {}: it has no property", op));
  for (const engine::coverage_exemption& w : p.coverage_exemptions)
    if (w.op != op)
      throw usage_error(fmt::format("coverage exemption {}: it is of operator '{}', must be of {}", w.name, w.op, op));
  if (p.golden.op != op || !p.golden.known_answers || !p.golden.disagreements)
    throw usage_error(fmt::format("operator {}: its golden data needs its name, known_answers and disagreements", op));
}

// Finds the kernels, in libraries beside the plug-in: libNAME.so, libNAME_emulated.so, libNAME_race.so,
// libNAME_cuda.so.
void find_kernels(const std::string& op, const fs::path& path) {
  const auto beside = [&](const char* suffix) {
    const fs::path library = path.parent_path() / fmt::format("{}_{}{}", path.stem().string(), suffix, ".so");
    std::error_code ignored;
    return fs::exists(library, ignored) ? library.string() : "";
  };
  const std::string emulated = beside("emulated"), cuda = beside("cuda");
  if (emulated.empty() && cuda.empty())
    throw environment_error(fmt::format("plugin: beside '{}' there is neither {}_emulated.so nor {}_cuda.so",
                                        path.string(), path.stem().string(), path.stem().string()));
  if (!emulated.empty()) engine::set_builtin(op, WARPCHECK_DEVICE_EMULATED, emulated, beside("race"));
  if (!cuda.empty()) engine::set_builtin(op, WARPCHECK_DEVICE_CUDA, cuda, "");
}

void load_here(const std::string& path) {
  const plugin_table& table = table_of(path);
  operator_plugin p = table.make();
  const std::string op = p.described.op;
  check_name(op);
  check_properties(p);
  engine::describe_operator(std::move(p.described));
  find_kernels(op, path);
  engine::property_registration{std::move(p.properties)};
  engine::coverage_exemption_registration{std::move(p.coverage_exemptions)};
  golden::add_operator(std::move(p.golden));
  engine::set_plugin(op, path);
  plugins().push_back({op, path, table.source, table.kernel});
}

}  // namespace

void load_plugin(const std::string& given) {
  std::error_code error;
  if (!fs::is_regular_file(given, error)) throw environment_error(fmt::format("plugin: file '{}' not found", given));
  const std::string path = fs::canonical(given).string();
  ask_child(
      [&] {
        load_here(path);
        return std::string();
      },
      fmt::format("plugin '{}'", path));
  load_here(path);
}

const plugin* plugin_of(std::string_view op) {
  const auto found = std::ranges::find_if(plugins(), [&](const plugin& p) { return p.op == op; });
  return found == plugins().end() ? nullptr : &*found;
}

std::vector<std::string> plugin_operators() {
  std::vector<std::string> names;
  for (const plugin& p : plugins()) names.push_back(p.op);
  return names;
}

}  // namespace warpcheck::cli
