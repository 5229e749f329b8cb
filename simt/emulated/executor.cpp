// Launches: checks the limits, keeps the resident slots filled with blocks, runs their threads to the end.
#include "simt/emulated/executor.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "simt/emulated/explore.hpp"
#include "simt/emulated/happens_before.hpp"
#include "simt/emulated/parts.hpp"
#include "simt/emulated/region.hpp"
#include "simt/emulated/repeats.hpp"

namespace simt {
inline namespace emu {

executor device;
thread* current = nullptr;

namespace {

std::mutex launch_lock;

constexpr size_t k_start_window = 64;  // blocks among which a seeded strategy chooses the next to start

std::string first_of(const emulation& stream) {
  return stream.findings.front().kind + ": " + stream.findings.front().text;
}

// Turns the cause of a stop into a finding, on the main stack.
void report_failure() {
  device.failed = true;
  current = device.cause.by;  // for describe
  device.stream->findings.push_back({device.cause.kind, device.cause.describe(device.cause.frame)});
  current = nullptr;
}

void start_thread(block_state& b, uint32_t linear, uint3 index) {
  thread& t = b.threads[linear];
  t.home = &b;
  t.index = index;
  t.linear = linear;
  t.resident = b.slot * device.padded + linear;
  device.by_resident[t.resident] = &t;
  t.lane = static_cast<uint8_t>(linear % k_lanes);
  t.warp = static_cast<uint8_t>(linear / k_lanes);
  t.is_not_idle();
  t.cluster_phase = t.grid_phase = 0;
  t.open_group = t.open_store_group = 1;
  t.copies.clear();
  t.stores.clear();
  drop_products(t);
  t.watched.clear();
  t.stored = {};
  t.site = {};
  t.asks_at = nullptr;
  t.inside = nullptr;
  t.evaluated.clear();
  t.state = thread_state::runnable;
  hb_thread_starts(t);
}

void start_block(block_state& b, uint64_t linear) {
  const uint64_t x = device.grid.x, y = device.grid.y;
  b.index = {static_cast<unsigned>(linear % x), static_cast<unsigned>(linear / x % y),
             static_cast<unsigned>(linear / x / y)};
  b.active = true;
  b.serial = ++device.blocks_started;
  ++device.blocks_started_here;
  b.alive = device.threads;
  b.arrived = b.barriers = 0;
  b.may_skip = false;
  b.any = b.count = 0;
  b.all = 1;
  if (b.threads.size() < device.padded) b.threads.resize(device.padded);
  b.warps.resize(device.warps);
  drop_products(b);
  b.named_barriers.clear();
  open_shared(b);
  wide_block_starts(b);
  hb_block_starts(b);
  uint32_t linear_thread = 0;
  for (unsigned k = 0; k < device.block.z; ++k)
    for (unsigned j = 0; j < device.block.y; ++j)
      for (unsigned i = 0; i < device.block.x; ++i) start_thread(b, linear_thread++, {i, j, k});
  for (uint32_t w = 0; w < device.warps; ++w) {
    const uint32_t lanes = std::min(k_lanes, device.threads - w * k_lanes);
    b.warps[w].live = lanes == k_lanes ? ~0u : (1u << lanes) - 1;
    b.warps[w].waiting = b.warps[w].at_barrier = 0;
    make_runnable(&b.threads[w * k_lanes], b.warps[w].live);
  }
}

// The next cluster to start (a block, where clusters are of one), in the schedule's order; total_clusters when all
// have.
uint64_t next_cluster() {
  if (is_part) return next_cluster_of_part();
  while (device.window.size() < k_start_window && device.next_cluster < device.total_clusters) {
    const bool backwards = base_order() == strategy::reverse;
    device.window.push_back(backwards ? device.total_clusters - 1 - device.next_cluster : device.next_cluster);
    ++device.next_cluster;
  }
  if (device.window.empty()) return device.total_clusters;
  const uint32_t choice = decide(static_cast<uint32_t>(device.window.size()), 0);
  const uint64_t chosen = device.window[choice];
  device.window.erase(device.window.begin() + choice);
  return chosen;
}

// The block of a cluster, as numbered in the grid. Clusters are numbered as blocks are: along x first.
uint64_t block_of(uint64_t cluster, unsigned rank) {
  const dim3 shape = device.cluster_shape;
  const uint64_t across = device.grid.x / shape.x, down = device.grid.y / shape.y;
  const uint64_t x = cluster % across * shape.x + rank % shape.x;
  const uint64_t y = cluster / across % down * shape.y + rank / shape.x % shape.y;
  const uint64_t z = cluster / across / down * shape.z + rank / shape.x / shape.y;
  return (z * device.grid.y + y) * device.grid.x + x;
}

// Starts clusters in slots whose cluster has ended.
void fill_slots() {
  const uint32_t groups = device.slots / device.cluster;
  for (uint32_t i = 0; i < groups; ++i) {
    const uint32_t first = (base_order() == strategy::reverse ? groups - 1 - i : i) * device.cluster;
    uint32_t busy = 0;
    for (uint32_t slot = first; slot < first + device.cluster; ++slot)
      busy += device.blocks[slot]->active && device.blocks[slot]->alive > 0;
    if (busy > 0) continue;
    for (uint32_t slot = first; slot < first + device.cluster; ++slot) {
      block_state& b = *device.blocks[slot];
      if (b.active && k_plain_flavour) check_shared_canaries(b);
      b.active = false;
    }
    const uint64_t cluster = next_cluster();
    if (cluster == device.total_clusters) continue;
    for (uint32_t rank = 0; rank < device.cluster; ++rank)
      start_block(*device.blocks[first + rank], block_of(cluster, rank));
  }
}

const char* place_of(thread_state s) {
  switch (s) {
    case thread_state::at_block_barrier: return "the block barrier";
    case thread_state::at_warp_collective: return "a warp operation";
    case thread_state::at_cluster_barrier: return "the cluster barrier";
    case thread_state::at_grid_barrier: return "the grid barrier";
    case thread_state::at_named_barrier: return "a named barrier";
    case thread_state::at_warpgroup: return "a wait for wgmma, which not all of its warpgroup have called,";
    default: return "an mbarrier";
  }
}

void report_deadlock() {
  for (uint32_t slot = 0; slot < device.slots; ++slot) {
    const block_state& b = *device.blocks[slot];
    if (!b.active || b.alive == 0) continue;
    std::vector<std::pair<std::string, unsigned>> places;
    for (uint32_t i = 0; i < device.threads; ++i) {
      const thread& t = b.threads[i];
      if (t.state == thread_state::finished) continue;
      const std::string place = std::string(place_of(t.state)) + " at " + describe(t.site);
      const auto same = std::find_if(places.begin(), places.end(), [&](const auto& p) { return p.first == place; });
      if (same == places.end())
        places.emplace_back(place, 1);
      else
        ++same->second;
    }
    std::string text = "block (" + std::to_string(b.index.x) + "," + std::to_string(b.index.y) + "," +
                       std::to_string(b.index.z) + ") waits for ever: ";
    for (const auto& [place, count] : places)
      text += (&place == &places.front().first ? "" : "; ") + std::to_string(count) + " threads in " + place;
    device.failed = true;
    device.stream->findings.push_back({"deadlock", text});
    return;
  }
}

}  // namespace

void run_blocks() {
  uint32_t last = k_nobody;
  for (;;) {
    if (ran_in_parts()) return;
    fill_slots();
    const uint32_t next = pick(last, turn::blocks);
    if (next == k_nobody && !explore_gave_up()) {
      if (land_one_flight()) continue;
      return report_deadlock();
    }
    if (explore_gave_up()) {
      device.failed = true;
      return;
    }
    last = next;
    ++device.stream->switches;
    current = &thread_of(next);
    begin_flow(*current);
    switch_fiber(device.main, current->flow, false);
    current = nullptr;
    if (device.cause.kind != nullptr) return report_failure();
    if (device.wanted_cluster || explore_gave_up()) {
      device.failed = true;  // its stacks are left where they are
      return;
    }
  }
}

void end_blocks() {
  for (uint32_t slot = 0; slot < device.slots; ++slot) {
    block_state& b = *device.blocks[slot];
    for (uint32_t i = 0; b.active && i < device.threads; ++i)
      if (b.threads[i].flow.stack != nullptr) free_stack(b.threads[i].flow, true);
    b.active = false;
    if (b.arena != nullptr) close_shared(b);
    b.arena = nullptr;
    b.alive = 0;
  }
  hb_launch_ends();
}

void begin_blocks(bool programmatic_launch) {
  device.by_resident.assign(device.slots * device.padded, nullptr);
  begin_wide_barriers();
  begin_async();
  begin_products();
  hb_launch_begins(programmatic_launch);
  asan_launch_begins();
  begin_schedule();
}

namespace {

void end_launch() {
  current = nullptr;
  end_blocks();
  device.declarations.clear();
  device.stream->accesses += device.accesses;
  device.accesses = 0;
}

uint64_t blocks_of(const launch_config& config) { return uint64_t{config.grid.x} * config.grid.y * config.grid.z; }

// The limit of a cooperative launch: all of its blocks must be resident at once. An SM holds 2048 threads, 32 blocks
// and 228 KiB of shared memory, of which each block takes 1 KiB for itself (compute capability 9.0).
std::string broken_cooperative_limit(const launch_config& config, unsigned sm_count) {
  const unsigned threads = (config.block.x * config.block.y * config.block.z + k_lanes - 1) / k_lanes * k_lanes;
  const auto by_memory = static_cast<unsigned>(228 * 1024 / (config.smem_bytes + 1024));
  const unsigned per_sm = std::min({32u, 2048 / threads, by_memory});
  const uint64_t allowed = std::min<uint64_t>(uint64_t{per_sm} * sm_count, k_max_slots);
  if (blocks_of(config) <= allowed) return {};
  return "a cooperative launch has " + std::to_string(blocks_of(config)) + " blocks, allowed are at most " +
         std::to_string(allowed) + " (" + std::to_string(per_sm) + " on each of " + std::to_string(sm_count) + " SMs)";
}

void begin_launch(const launch_config& config, emulation& stream, void (*run_thread)(void*), void* arguments) {
  if (device.stream != &stream || stream.launches == 0) hb_stream_settles();
  device.stream = &stream;
  device.counting = device.counted == &stream ? &device.counts : nullptr;
  device.grid = config.grid;
  device.block = config.block;
  device.dynamic_bytes = config.smem_bytes;
  device.cluster_shape = config.cluster;
  device.cluster = config.cluster.x * config.cluster.y * config.cluster.z;
  device.cooperative = config.cooperative;
  device.run_thread = run_thread;
  device.arguments = arguments;
  device.threads = config.block.x * config.block.y * config.block.z;
  device.warps = (device.threads + k_lanes - 1) / k_lanes;
  device.padded = device.warps * k_lanes;
  const uint64_t blocks = blocks_of(config);
  device.total_clusters = blocks / device.cluster;
  device.next_cluster = device.blocks_started_here = 0;
  device.window.clear();
  uint64_t wanted = config.cooperative ? blocks : std::max(stream.resident_blocks, device.cluster);
  if (explores()) wanted = std::max(wanted, blocks);
  wanted = std::min<uint64_t>(wanted / device.cluster * device.cluster, k_max_slots / device.cluster * device.cluster);
  device.slots = static_cast<uint32_t>(std::min(wanted, blocks));
  device.static_bytes = device.static_end = 0;
  device.declarations.clear();
  if (config.smem_bytes > 0) device.declarations.push_back({nullptr, k_arena_dynamic, config.smem_bytes});
  device.failed = false;
  device.cause = {};
  device.main = {};
  reserve_stacks();
  while (device.blocks.size() < device.slots) {
    device.blocks.push_back(std::make_unique<block_state>());
    device.blocks.back()->slot = static_cast<uint32_t>(device.blocks.size() - 1);
  }
  ++stream.launches;
#ifndef SIMT_FLAVOUR_ASAN
  catch_faults();
#endif
  device.parts_are_over = device.had_effect = false;
  begin_blocks(config.programmatic_launch);
  if (stream.processes > 1) device.begun = std::chrono::steady_clock::now();
  device.only_checks = stream.detect && !device.step_at_access && device.counting == nullptr;
}

[[noreturn]] void throw_first_of(const emulation& stream, const char* before = "") {
  asan_before_throw();
  throw device_error(before + first_of(stream));
}

[[noreturn]] void refuse(emulation& stream, const std::string& text) {
  stream.findings.push_back({"launch_limit", text});
  throw_first_of(stream);
}

}  // namespace

void stop_overflow(const thread& self) {
  fail("out_of_bounds",
       [&] { return describe(self) + " overflowed its stack of " + std::to_string(k_stack_bytes) + " bytes"; });
}

void stop_launch(const char* kind, std::string (*describe)(const void*), const void* frame) {
  note_effect_of_order();
  device.cause = {kind, describe, frame, current};
  if (current == nullptr) {  // on the main flow: run_grid cleans up
    report_failure();
    throw_first_of(*device.stream);
  }
  thread& self = *current;
  current = nullptr;
  switch_fiber(self.flow, device.main, false);
  __builtin_unreachable();
}

void cluster_dims(unsigned x, unsigned y, unsigned z, call_site site) {
  const dim3 shape = device.cluster_shape;
  if (shape.x == x && shape.y == y && shape.z == z) return;
  current->site = site;
  if (device.cluster != 1) {
    const auto text = [](const dim3& d) {
      return std::to_string(d.x) + " x " + std::to_string(d.y) + " x " + std::to_string(d.z);
    };
    fail("launch_limit", [&] {
      return "the kernel at " + describe(site) + " is of clusters of " + text({x, y, z}) + " blocks, the launch of " +
             text(shape) + "; allowed are the kernel's, or none";
    });
  }
  device.wanted_cluster = dim3(x, y, z);
  thread& self = *std::exchange(current, nullptr);
  switch_fiber(self.flow, device.main, false);
  __builtin_unreachable();
}

namespace {

void run_once(const launch_config& config, emulation& stream, void (*run_thread)(void*), void* arguments) {
  begin_launch(config, stream, run_thread, arguments);
  struct cleanup {
    ~cleanup() { end_launch(); }
  } at_end;
  run_blocks();
  if (!device.wanted_cluster) report_unwritten(stream);
  asan_launch_ends(stream);
  if (!stream.ok()) throw_first_of(stream);
}

// A kernel that is of clusters is the first to say so: its first thread has not begun, and the launch starts again.
void run_locked(launch_config config, void (*run_thread)(void*), void* arguments) {
  emulation& stream = config.stream == nullptr ? default_emulation() : *config.stream;
  if (!stream.ok()) throw_first_of(stream, "an earlier launch on this stream failed: ");
  const std::string broken = broken_launch_limit(
      {config.grid.x, config.grid.y, config.grid.z}, {config.block.x, config.block.y, config.block.z},
      config.smem_bytes, {config.cluster.x, config.cluster.y, config.cluster.z}, machine_limits{});
  if (!broken.empty()) refuse(stream, broken);
  if (config.cooperative) {
    const std::string too_many = broken_cooperative_limit(config, stream.sm_count);
    if (!too_many.empty()) refuse(stream, too_many);
  }
  try {
    device.rules = tensor_rules_of(stream.sm_arch);
  } catch (const device_error& e) {
    refuse(stream, e.what());
  }
  const auto once = [&] { run_once(config, stream, run_thread, arguments); };
  explore_launch(
      stream, config, [](const void* f) { (*static_cast<decltype(&once)>(f))(); }, &once);
  if (!device.wanted_cluster) return;
  --stream.launches;
  config.cluster = *std::exchange(device.wanted_cluster, std::nullopt);
  run_locked(config, run_thread, arguments);
}

}  // namespace

void run_grid(const launch_config& config, void (*run_thread)(void*), void* arguments, const launch_values& values) {
  const std::lock_guard<std::mutex> guard(launch_lock);
  repeated_launch repeated(config.stream == nullptr ? default_emulation() : *config.stream, config, run_thread, values);
  if (repeated.changes_nothing()) return;
  run_locked(config, run_thread, arguments);
  repeated.has_ended();
}

void count_launches(const emulation* stream) { device.counted = stream; }
bool counts_launches(const emulation& stream) { return device.counted == &stream; }
launch_counts take_launch_counts() { return std::exchange(device.counts, {}); }

emulation& default_emulation() {
  static thread_local emulation instance;
  return instance;
}

void synchronize() { hb_stream_settles(); }

device_properties_t device_properties(stream_t stream) {
  const emulation& e = stream == nullptr ? default_emulation() : *stream;
  return {static_cast<int>(e.sm_count), machine_limits{}.shared_bytes, size_t{1} << 20, e.sm_arch == 90 ? 16 : 1};
}

void memset_async(void* destination, int byte, size_t bytes, stream_t) {
  hb_stream_settles();
  std::memset(destination, byte, bytes);
  mark_initialized(destination, bytes);
}

void memcpy_async(void* destination, const void* source, size_t bytes, stream_t) {
  hb_stream_settles();
  std::memmove(destination, source, bytes);
  mark_initialized(destination, bytes);
}

uint3 thread_index() noexcept { return current->index; }
uint3 block_index() noexcept { return current->home->index; }
dim3 block_dimensions() noexcept { return device.block; }
dim3 grid_dimensions() noexcept { return device.grid; }

std::string describe(const thread& t) {
  const uint3 b = t.home->index;
  return "block (" + std::to_string(b.x) + "," + std::to_string(b.y) + "," + std::to_string(b.z) + ") thread " +
         std::to_string(t.linear);
}

std::string describe(const call_site& site) {
  if (site.line == 0) return "its start";
  return std::string(site.file) + ":" + std::to_string(site.line);
}

}  // namespace emu
}  // namespace simt
