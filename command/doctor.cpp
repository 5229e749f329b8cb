// `warpcheck doctor`: prints what each part of the command needs, and what is missing on this machine.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "command/candidates/toolchain.hpp"
#include "command/commands.hpp"
#include "command/report/reporting.hpp"
#include "command/support.hpp"
#include "command/terminal.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/trials/library.hpp"

namespace warpcheck::cli {
namespace {

// A way to use the command.
struct door {
  std::string name;
  std::string lacks;  // one sentence with the package to install; empty: it works
};

bool is_on_path(const std::string& program) {
  const char* folders = std::getenv("PATH");
  std::istringstream list(folders ? folders : "");
  for (std::string folder; std::getline(list, folder, ':');)
    if (access((std::filesystem::path(folder) / program).c_str(), X_OK) == 0) return true;
  return false;
}

// Modules that an interpreter lacks.
struct interpreter_state {
  std::string error;  // it cannot be started
  std::string lacked = " ";
};

interpreter_state state_of(const std::string& python) {
  interpreter_state s;
  try {
    s.lacked += run_command({python, "-c",
                             "import importlib.util as u; print(*[n for n in ('numpy', 'jinja2', 'matplotlib', 'mcp') "
                             "if u.find_spec(n) is None], '')"})
                    .output;
  } catch (const engine::environment_error&) {
    s.error = fmt::format("'{}' cannot be started; install the package python3", python);
  }
  return s;
}

// Returns why an interpreter lacks the module; empty if it has it.
std::string lacks_module(const std::string& python, const std::string& module, const std::string& package) {
  static std::map<std::string, interpreter_state> states;
  auto at = states.find(python);
  if (at == states.end()) at = states.emplace(python, state_of(python)).first;
  if (!at->second.error.empty()) return at->second.error;
  if (at->second.lacked.find(" " + module + " ") == std::string::npos) return "";
  return fmt::format("{} has no {}; install {}", python, module, package);
}

std::string lacks_compiler() {
  try {
    toolchain::load();
    return "";
  } catch (const engine::environment_error& e) {
    return e.what();
  }
}

std::string lacks_nvcc() {
  try {
    return toolchain::load().lacks_nvcc();
  } catch (const engine::environment_error& e) {
    return e.what();
  }
}

std::string lacks_build_folder() {
  try {
    return toolchain::load().installed() ? "it needs a build folder of the source tree; build one with ci/verify" : "";
  } catch (const engine::environment_error& e) {
    return e.what();
  }
}

std::string lacks_bench(const std::string& lacks_gpu) {
  const std::string path = engine::builtin_library("bench");
  if (path.empty()) return "libwarpcheck_bench.so is not part of this build; configure WARPCHECK_BENCH";
  const std::string error = ask_child(
      [&] {
        const char* said = dlopen(path.c_str(), RTLD_NOW) ? nullptr : dlerror();
        return std::string(said ? said : "");
      },
      "bench");
  if (!error.empty()) return error + "; install the package libbenchmark1debian";
  return lacks_gpu;
}

std::vector<door> doors_of(const std::string& lacks_emulated) {
  const std::string python = reporting_python(""), gpu = ask_child([] { return engine::cuda_problem(); }, "cuda");
  const std::string jinja = lacks_module(python, "jinja2", "the package python3-jinja2"),
                    pictures = lacks_module(python, "matplotlib", "the package python3-matplotlib");
  const auto either = [](const std::string& one, const std::string& other) { return one.empty() ? other : one; };
  const std::string compiler = lacks_compiler();
  return {{"verify --device emulated", lacks_emulated},
          {"verify --device cuda", gpu},
          {"verify --source --device emulated", either(compiler, lacks_emulated)},
          {"verify --source --device cuda", either(lacks_nvcc(), gpu)},
          {"verify --python", lacks_module("python3", "numpy", "the package python3-numpy")},
          {"verify --mps", is_on_path("nvidia-cuda-mps-control")
                               ? gpu
                               : "nvidia-cuda-mps-control is missing; install the driver of NVIDIA"},
          {"run-emulated", either(compiler, lacks_emulated)},
          {"bench --device cuda", lacks_bench(gpu)},
          {"mutants", lacks_build_folder()},
          {"report", jinja},
          {"report, with plots", either(jinja, pictures)},
          {"explain --plot", pictures},
          {"mcp", lacks_module("python3", "mcp", "it with pip install 'mcp>=2.3,<3'")},
          {"ci/test with compute-sanitizer",
           is_on_path("compute-sanitizer") ? gpu : "compute-sanitizer is missing; install the CUDA Toolkit"}};
}

std::string lacks_emulated_device(const std::string& described) {
  return described.starts_with("unusable") || described.starts_with("not ") ? described : "";
}

}  // namespace

int doctor(const doctor_options& o) {
  const progress_line waiting("doctor");
  nlohmann::json devices, libraries, list = nlohmann::json::array();
  std::string text = fmt::format("warpcheck {}\n", WARPCHECK_VERSION), lacks_emulated;
  for (const char* device : {"emulated", "cuda", "cpu"}) {
    const std::string described = ask_child([&] { return engine::describe_device(device); }, device);
    text += fmt::format("device {:<9} {}\n", device, described);
    devices[device] = described;
    if (device == std::string_view("emulated")) lacks_emulated = lacks_emulated_device(described);
  }
  for (const char* stem : {"emulated", "race", "cuda"}) {
    const std::string path = engine::builtin_library(stem);
    text += fmt::format("library {:<8} {}\n", stem, path.empty() ? "not part of this build" : path);
    libraries[stem] = path;
  }
  for (const door& d : doors_of(lacks_emulated)) {
    text += fmt::format("{:<34} {}\n", d.name, d.lacks.empty() ? in_green("works") : d.lacks);
    list.push_back({{"door", d.name}, {"works", d.lacks.empty()}, {"lacks", d.lacks}});
  }
  const int code = lacks_emulated.empty() ? k_pass : k_environment;
  fmt::print("{}", text);
  if (!o.json.empty()) {
    const nlohmann::json j = {{"schema", "warpcheck-doctor-1"},
                              {"version", WARPCHECK_VERSION},
                              {"devices", devices},
                              {"libraries", libraries},
                              {"doors", list},
                              {"exit_code", code}};
    write_file(o.json, j.dump(1) + "\n");
  }
  return code;
}

}  // namespace warpcheck::cli
