// Candidate libraries: loading, checking, and their devices.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "abi/candidate.h"
#include "abi/candidate_reserve.h"
#include "abi/candidate_states.h"
#include "reference/numerics/dtype.hpp"

namespace warpcheck::engine {

// A technique that an operator lists (abi/candidate.h).
struct listed_variant {
  std::string name;
  uint32_t dtypes = 0;
  std::vector<warpcheck_range> ranges;  // by extent
  std::function<int32_t(const warpcheck_call*)> accepts = nullptr;

  // True if a size of the extent lies in the range that the technique accepts, or in the range of the dispatch for it.
  bool takes(int64_t size, size_t extent = 0) const;
  bool may_be_picked(int64_t size, size_t extent = 0) const;
};

// The functions of an operator with a reserve between its passes (abi/candidate_reserve.h).
struct listed_reserve {
  std::function<int64_t(const warpcheck_call& call)> bytes;
  std::function<warpcheck_status(warpcheck_call& call, void* reserve, int64_t bytes)> run;
};

// An operator as a library lists it.
class listed_operator {
 public:
  explicit listed_operator(const warpcheck_operator& op);
  // An operator without variants, run by a function of this process.
  listed_operator(std::string op, warpcheck_device on, uint32_t types, std::vector<std::string> of_extents,
                  std::function<warpcheck_status(warpcheck_call&)> run);

  std::string name;
  warpcheck_device device = WARPCHECK_DEVICE_CPU;
  uint32_t dtypes = 0;
  std::vector<std::string> extents;
  std::vector<listed_variant> variants;
  std::vector<std::vector<int64_t>> boundaries;  // by extent
  std::string states;                            // abi/candidate_states.h
  std::optional<listed_reserve> reserve;

  warpcheck_status run(warpcheck_call& call) const;
  bool publishes_picks() const { return picks_ != nullptr; }
  void publish_picks(std::function<const char*(const warpcheck_call*)> picks) { picks_ = std::move(picks); }
  // The variant that the operator's dispatch picks, "" for none.
  std::string picks(const warpcheck_call& call) const;
  bool lists(std::string_view variant) const;

 private:
  std::function<warpcheck_status(warpcheck_call&)> run_;
  std::function<const char*(const warpcheck_call*)> picks_;
};

// A loaded candidate library; stays loaded until the process ends (kernels and CUDA contexts do not unload safely).
class candidate_library {
 public:
  // Loads it into this process. Throws environment_error: no such file, undefined symbol, missing entry point, wrong
  // ABI version.
  static const candidate_library& load(const std::string& path) { return load(path, std::nullopt); }
  // The same for a candidate's calls on the device: into a process of its own where candidates are isolated
  // (isolation/isolated_library.hpp).
  static const candidate_library& load_for(const std::string& path, warpcheck_device device);

  const std::string& name() const { return name_; }
  // Its own device interface; null: it has none.
  const warpcheck_device_api* api() const { return api_; }
  // The interface of its calls on the device: its own, or the suite's for cpu and cuda; null: there is none.
  const warpcheck_device_api* api_for(warpcheck_device device) const;
  const std::vector<listed_operator>& operators() const { return operators_; }
  const listed_operator* find(std::string_view op, warpcheck_device device) const;

 private:
  candidate_library() = default;
  static const candidate_library& load(const std::string& path, std::optional<warpcheck_device> isolated_on);
  void read(const std::string& path, const warpcheck_candidate& table, warpcheck_candidate_states_fn states,
            warpcheck_candidate_reserve_fn reserves);
  std::string name_;
  const warpcheck_device_api* api_ = nullptr;
  std::vector<listed_operator> operators_;
};

// A candidate on a device, ready to run one operator: the plain build, and on the emulated device the instrumented one
// beside it.
struct candidate {
  const listed_operator* op = nullptr;
  const warpcheck_device_api* api = nullptr;
  const listed_operator* instrumented_op = nullptr;  // race flavour; null if there is none
  const warpcheck_device_api* instrumented_api = nullptr;
};

// `name`: "builtin" or the path of a library; an emulated library `libx.so` may have an instrumented twin
// `libx.race.so`. Throws environment_error when the device is absent or the candidate offers nothing for (op, device).
candidate open_candidate(std::string_view name, std::string_view op, std::string_view device);

// Makes `name` an alias of a library and its instrumented twin (or ""), in this process and those forked from it.
void name_candidate(const std::string& name, const std::string& path, const std::string& twin);
// The same for an operator of this process on device cpu, which must outlive its use; one name may have several
// operators.
void name_candidate(const std::string& name, const listed_operator& op);

// Sets the candidate "builtin" of an operator of a plug-in: its own library for the device, and the instrumented twin
// (or ""). Throws environment_error in a sanitized process, because these libraries are not sanitized.
void set_builtin(const std::string& op, warpcheck_device device, const std::string& path, const std::string& twin);

// False once this process can no longer use the device, because an error such as a kernel's fault persists.
bool is_usable(const warpcheck_device_api& api);
// True if a stream of the device can be renewed for another call.
bool can_renew_streams(const warpcheck_device_api& api);

// The path of a built-in candidate library: beside the executable, or in ../lib/warpcheck of an
// installation.
std::string builtin_library(std::string_view stem);  // stem: "emulated", "race", "cuda"; empty if that build has none
// Returns the reason why device `cuda` cannot be used in this process, or an empty text.
std::string cuda_problem();
std::string describe_device(std::string_view device);

warpcheck_device device_from_name(std::string_view name);  // usage_error unless cpu, cuda or emulated
std::string_view name_of(warpcheck_device device);

}  // namespace warpcheck::engine
