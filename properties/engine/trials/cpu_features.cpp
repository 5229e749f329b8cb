#include "properties/engine/trials/cpu_features.hpp"

#include <fmt/format.h>
#if __has_include(<sys/platform/x86.h>)
#define _Bool bool  // the header is C; clang++ has no such type
#include <sys/platform/x86.h>
#undef _Bool
#endif

#include <algorithm>
#include <fstream>

namespace warpcheck::engine {

#ifdef WARPCHECK_EMULATED_FMA

namespace {

bool cpu_has_fma() {
#ifdef CPU_FEATURE_ACTIVE
  return CPU_FEATURE_ACTIVE(FMA);  // the C library's value, which GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA can clear
#else
  return __builtin_cpu_supports("fma");
#endif
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(": ") + 2));
  return "of this machine";
}

}  // namespace

std::string emulated_problem() {
  static const std::string problem =
      cpu_has_fma() ? ""
                    : fmt::format(
                          "the CPU '{}' has no FMA3, which the emulated kernels of this build are compiled for; "
                          "a build with -DSIMT_FMA=OFF does without",
                          cpu_name());
  return problem;
}

#else

std::string emulated_problem() { return ""; }

#endif

}  // namespace warpcheck::engine
