#include "simt/emulated/repeats.hpp"

#include <stdio_ext.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "simt/emulated/executor.hpp"
#include "simt/emulated/region.hpp"
#include "simt/emulated/stream_clocks.hpp"

namespace simt {
inline namespace emu {

struct known_launch {
  uint64_t accesses = 0;  // when it ran last
  unsigned in_vain = 0;   // how often it was compared, and had changed something
  bool changes_nothing = false;
};

namespace {

constexpr unsigned k_most_comparisons = 3;
constexpr size_t k_most_launches = 4096;
constexpr uint64_t k_bytes_per_access = 8;  // of memory that are compared in little of the time that an access takes

struct {
  std::map<std::string, known_launch> launches;  // by configuration, kernel and arguments
  std::vector<char> memory;                      // that some launches do not change
} repeats;

size_t memory_bytes() {
  size_t all = 0;
  each_allocation([&](char*, size_t bytes) { all += bytes; });
  return all;
}

void keep_memory() {
  repeats.memory.clear();
  each_allocation([&](char* p, size_t bytes) { repeats.memory.insert(repeats.memory.end(), p, p + bytes); });
  for (auto& [name, launch] : repeats.launches) launch.changes_nothing = false;
}

bool is_memory_known() {
  if (repeats.memory.size() != memory_bytes()) return false;
  bool is_same = true;
  const char* at = repeats.memory.data();
  each_allocation([&](const char* p, size_t bytes) {
    is_same = is_same && std::memcmp(at, p, bytes) == 0;
    at += bytes;
  });
  return is_same;
}

std::pair<uint64_t, int64_t> printed() { return {__fpending(stdout), lseek(STDOUT_FILENO, 0, SEEK_CUR)}; }

}  // namespace

repeated_launch::repeated_launch(emulation& stream, const launch_config& config, void (*run_thread)(void*),
                                 const launch_values& v)
    : stream_(&stream), certified_(stream.certified), accesses_(stream.accesses), printed_(printed()) {
  const bool may_be = stream.skips_repeats && v.bytes > 0 && stream.ok() && stream.detect && !stream.record &&
                      stream.schedule.strategy < strategy::replay && !config.programmatic_launch && !follows_memory &&
                      !counts_launches(stream) && printed_.second >= 0;
  if (!may_be) return;
  if (repeats.launches.size() == k_most_launches) repeats.launches.clear();
  std::string name(static_cast<const char*>(v.p), v.bytes);
  const auto add = [&](const auto& value) { name.append(reinterpret_cast<const char*>(&value), sizeof value); };
  add(run_thread);
  add(memory_layouts);
  for (const dim3& d : {config.grid, config.block, config.cluster})
    for (const unsigned extent : {d.x, d.y, d.z}) add(extent);
  add(config.smem_bytes);
  add(config.cooperative);
  launch_ = &repeats.launches[name];
  if (launch_->in_vain == k_most_comparisons || memory_bytes() > k_bytes_per_access * launch_->accesses) return;
  compares_ = true;
  if (!is_memory_known()) keep_memory();
  changes_nothing_ = launch_->changes_nothing;
  if (!changes_nothing_) return;
  ++stream.launches;
  ++stream.certified;
  ++stream.launches_left_out;
}

void repeated_launch::has_ended() {
  if (launch_ == nullptr) return;
  launch_->accesses = stream_->accesses - accesses_;
  if (!compares_) return;
  const bool had_effect = device.had_effect || stream_->certified != certified_ + 1 || printed() != printed_;
  launch_->changes_nothing = !had_effect && is_memory_known();
  if (!launch_->changes_nothing) ++launch_->in_vain;
}

}  // namespace emu
}  // namespace simt
