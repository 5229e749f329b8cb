// Launches that would change nothing. A program that measures time repeats a launch many times. If a launch with a
// certificate (certificate.hpp) has left all device memory as it was, the same launch will do so again as long as
// memory is the same, and is left out. Race flavour only.
#pragma once

#include <cstdint>
#include <utility>

#include "simt/emulated/launch.hpp"

namespace simt {
inline namespace emu {

struct known_launch;

class repeated_launch {
 public:
#ifdef SIMT_FLAVOUR_RACE
  // Before the launch.
  repeated_launch(emulation& stream, const launch_config& config, void (*run_thread)(void*), const launch_values& v);
  bool changes_nothing() const { return changes_nothing_; }
  // After the launch, which had no finding.
  void has_ended();
#else
  repeated_launch(emulation&, const launch_config&, void (*)(void*), const launch_values&) {}
  bool changes_nothing() const { return false; }
  void has_ended() {}
#endif

 private:
#ifdef SIMT_FLAVOUR_RACE
  emulation* stream_ = nullptr;
  known_launch* launch_ = nullptr;  // nullptr: it may change what is not in device memory
  bool compares_ = false, changes_nothing_ = false;
  uint64_t certified_ = 0, accesses_ = 0;
  std::pair<uint64_t, int64_t> printed_;
#endif
};

}  // namespace emu
}  // namespace simt
