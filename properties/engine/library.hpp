// Candidate libraries: loading, checking, and their devices.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/candidate.h"
#include "reference/numerics/dtype.hpp"

namespace warpcheck::engine {

// A loaded candidate library; stays loaded until the process ends (kernels and CUDA contexts do not unload safely).
class candidate_library {
 public:
  // Throws environment_error: no such file, undefined symbol, missing entry point, wrong ABI version.
  static const candidate_library& load(const std::string& path);

  const warpcheck_candidate& table() const { return *table_; }
  const std::string& path() const { return path_; }
  const warpcheck_operator* find(std::string_view op, warpcheck_device device) const;

 private:
  candidate_library(std::string path, const warpcheck_candidate* table) : path_(std::move(path)), table_(table) {}
  std::string path_;
  const warpcheck_candidate* table_;
};

// A candidate on a device, ready to run one operator: the plain build, and on the emulated device the instrumented one
// beside it.
struct candidate {
  const warpcheck_operator* op = nullptr;
  const warpcheck_device_api* api = nullptr;
  const warpcheck_operator* instrumented_op = nullptr;  // race flavour; null where there is none
  const warpcheck_device_api* instrumented_api = nullptr;
};

// `name`: "builtin" or the path of a library; an emulated library `libx.so` may have an instrumented twin
// `libx.race.so`. Throws environment_error when the device is absent or the candidate offers nothing for (op, device).
candidate open_candidate(std::string_view name, std::string_view op, std::string_view device);

// Lets `name` stand for a library, and its instrumented twin (or ""), in this process and those forked from it.
void name_candidate(const std::string& name, const std::string& path, const std::string& twin);

// False once this process can no longer use the device: an error of it, a kernel's fault, say, has come to stay.
bool is_usable(const warpcheck_device_api& api);
// Whether a stream of the device can be made like new for another call.
bool can_renew_streams(const warpcheck_device_api& api);

// The path of a built-in candidate library: beside the executable, or in ../lib/warpcheck of an
// installation.
std::string builtin_library(std::string_view stem);  // stem: "emulated", "race", "cuda"; empty if that build has none
// Why device `cuda` cannot be used in this process, or empty if it can.
std::string cuda_problem();
std::string describe_device(std::string_view device);

warpcheck_device device_from_name(std::string_view name);  // usage_error unless cpu, cuda or emulated
std::string_view name_of(warpcheck_device device);
uint32_t dtype_bit(dtype type);
std::vector<std::string> variant_names(const warpcheck_operator& op);

}  // namespace warpcheck::engine
