// Golden error profiles: the error ratios of every variant of an operator on fixed cases, so that a less accurate
// kernel is noticed although it stays inside its bound (the accuracy ratchet). There is no noise, because the cases are
// fixed and every kernel gives the same bits on every run (property bit-repeatability). A new toolkit or C library that
// rounds differently is a change like any other.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace warpcheck::cli {

// `golden/<op>/profile_<device>.json`; for a GPU by its architecture, profile_cuda_sm_90.json.
struct error_profile {
  struct entry {
    double max = 0;   // error / bound, the largest of all elements
    double p999 = 0;  // not exceeded by 99.9 % of them, rounded up to 1/1000
    int64_t elements = 0;
  };
  std::string op, device;
  std::string cases;  // SHA-256 of the lines of the cases; profiles of different cases are not comparable
  std::map<std::string, entry> entries;  // "f32 softmax_warp" and, over all variants, "f32 *"
};

std::string profile_path(const std::string& folder, const std::string& op, const std::string& device);
std::string to_json(const error_profile& p);
// Throws usage_error for anything that to_json does not write.
error_profile read_profile(const std::string& path);

// Runs the fixed cases on a candidate: those of the operator's first property, which compares with the reference, as
// the built-in kernels of the device would get them. On cpu, which has none, those of the emulated device.
error_profile measure_profile(const std::string& op, const std::string& device, const std::string& candidate,
                              double timeout);

// Returns one sentence for every entry of `golden` in which `measured` is worse, or which it lacks. `variants`: false
// compares only the totals over all variants, for candidates with variants of their own.
std::vector<std::string> worsened(const error_profile& golden, const error_profile& measured, bool variants);

}  // namespace warpcheck::cli
