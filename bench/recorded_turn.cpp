#include "bench/recorded_turn.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <stdexcept>

namespace warpcheck::bench {

std::unique_ptr<recorded_turn> recorded_turn::of(const std::string& library, const engine::listed_operator& op,
                                                 const warpcheck_device_api& api) {
  void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD);
  void* const make = loaded ? dlsym(loaded, "warpcheck_candidate_turn") : nullptr;
  if (!make) return nullptr;
  return std::make_unique<recorded_turn>(reinterpret_cast<warpcheck_candidate_turn_fn>(make), op, api);
}

recorded_turn::recorded_turn(warpcheck_candidate_turn_fn make, const engine::listed_operator& op,
                             const warpcheck_device_api& api)
    : make_(make),
      op_(op),
      api_(api),
      recording_(op.name, op.device, op.dtypes, op.extents, [this](warpcheck_call& call) { return run(call); }) {}

warpcheck_status recorded_turn::run(warpcheck_call& call) {
  if (!is_recording_) return op_.run(call);
  call.used_variant = nullptr;
  steps_.push_back({&call, nullptr, nullptr, 0, 0});
  return WARPCHECK_OK;
}

void recorded_turn::write(const warpcheck_step& step, const device_timing& at_once) {
  if (is_recording_)
    steps_.push_back(step);
  else if (step.from)
    at_once.copy(static_cast<char*>(step.to), static_cast<const char*>(step.from), step.bytes);
  else
    at_once.fill(static_cast<char*>(step.to), static_cast<char>(step.byte), step.bytes);
}

device_timing recorded_turn::timing(const device_timing& gpu) {
  const device_timing host = host_timing(api_);
  device_timing timing = gpu;
  timing.clock = this;
  timing.allocate = [this, flush = gpu.flush_bytes](size_t in, size_t out) {
    constexpr size_t k_least = 2048;  // bytes of a slot in any memory of the GPU's own (limits.cu)
    const size_t count = std::max<size_t>(2, flush / std::max(k_least, in + out) + 1);
    return host_timing(api_, static_cast<int>(count)).allocate(in, out);
  };
  timing.reserve = host.reserve;
  timing.read_lines = host.read_lines;
  timing.copy = [this, host](char* to, const char* from, size_t bytes) { write({nullptr, to, from, bytes, 0}, host); };
  timing.fill = [this, host](char* to, char byte, size_t bytes) {
    write({nullptr, to, nullptr, bytes, static_cast<unsigned char>(byte)}, host);
  };
  timing.reset = host.reset;  // the other process does that
  timing.limit = [limit = gpu.limit](const slots&, const traffic& moved) { return limit({}, moved); };
  timing.own = host.own;
  return timing;
}

void recorded_turn::begin() {
  steps_.clear();
  is_recording_ = true;
}

std::vector<double> recorded_turn::finish(double* host_us) {
  is_recording_ = false;
  const auto is_mark = [](const warpcheck_step& s) { return s.call == nullptr && s.to == nullptr; };
  std::vector<double> us(static_cast<size_t>(std::ranges::count_if(steps_, is_mark)));
  warpcheck_turn turn = {sizeof turn, steps_.data(), static_cast<int32_t>(steps_.size()), head_start(), us.data(), 0, 0,
                         ""};
  if (make_(&turn) != WARPCHECK_OK) throw std::runtime_error(turn.message);
  us.pop_back();
  *host_us = turn.host_us;
  note_host(turn.was_late);
  return us;
}

}  // namespace warpcheck::bench
