#include "command/bench.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "properties/engine/error.hpp"
#include "properties/engine/library.hpp"

namespace warpcheck::cli {

int bench(const bench::operator_bench_options& options) {
  const std::string path = engine::builtin_library("bench");
  if (path.empty())
    throw engine::environment_error(
        "bench: libwarpcheck_bench.so is not part of this build (configure WARPCHECK_BENCH)");
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw engine::environment_error(fmt::format("bench: '{}' does not load: {}", path, dlerror()));
  const auto run = reinterpret_cast<bench::operator_bench_fn>(dlsym(library, "warpcheck_operator_bench"));
  if (!run) throw engine::environment_error(fmt::format("bench: '{}' does not export warpcheck_operator_bench", path));
  return run(options);
}

}  // namespace warpcheck::cli
