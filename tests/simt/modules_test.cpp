// simt_modules_test MODULE...: shared modules of different flavours live in one process, each with its own executor.
#include <dlfcn.h>

#include <cstdio>
#include <string>
#include <vector>

#include "simt/emulation.hpp"

namespace {

struct module {
  std::string path;
  int (*run)(bool barrier, simt::emulation* stream);
  void (*throw_error)();
};

int complain(const module& m, const std::string& what) {
  std::printf("%s: %s\n", m.path.c_str(), what.c_str());
  return 1;
}

int judge(const module& m) {
  const bool race_flavour = m.path.find("_race") != std::string::npos;
  simt::emulation stream;
  if (m.run(true, &stream) != 64 * 63 / 2 || !stream.ok()) return complain(m, "the correct kernel is not clean");
  const int sum = m.run(false, &stream);
  if (stream.ok() == race_flavour) return complain(m, "the race is seen by the wrong flavour");
  if (race_flavour) {
    const std::string text = stream.findings.front().text;
    for (const char* place : {"module_kernels.cu:12", "module_kernels.cu:14"})
      if (text.find(place) == std::string::npos)
        return complain(m, "the report does not name " + std::string(place) + ": " + text);
  } else if (sum < 0) {
    return complain(m, "a launch without findings failed");
  }
  try {
    m.throw_error();
    return complain(m, "no exception");
  } catch (const simt::device_error&) {
  }
  return 0;
}

// The build that a recorded schedule belongs to: never that of another module.
uint32_t build_of(const module& m) {
  simt::emulation stream;
  stream.schedule = simt::schedule::parse("preempt:1");
  stream.record = true;
  m.run(true, &stream);
  return stream.recorded_schedule().build;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<module> modules;
  for (int i = 1; i < argc; ++i) {
    void* handle = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      std::printf("%s\n", dlerror());
      return 1;
    }
    modules.push_back({argv[i], reinterpret_cast<int (*)(bool, simt::emulation*)>(dlsym(handle, "run_in_module")),
                       reinterpret_cast<void (*)()>(dlsym(handle, "throw_in_module"))});
  }
  int wrong = 0;
  for (int round = 0; round < 3; ++round)
    for (const module& m : modules) wrong += judge(m);
  // FNV-1a of nothing: no segment with code was found.
  constexpr uint32_t k_of_nothing = 0x84222325 ^ 0xcbf29ce4;
  for (const module& m : modules)
    if (build_of(m) == k_of_nothing) wrong += complain(m, "its build says nothing of its code");
  for (size_t i = 0; i < modules.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (build_of(modules[i]) == build_of(modules[k])) wrong += complain(modules[i], "its build is another module's");
  return wrong == 0 && !modules.empty() ? 0 : 1;
}
