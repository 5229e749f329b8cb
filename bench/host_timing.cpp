#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bench/device_timing.hpp"
#include "properties/engine/isolation/isolated_library.hpp"

namespace warpcheck::bench {
namespace {

using clock = std::chrono::steady_clock;

constexpr size_t k_chunk = size_t{1} << 20;  // bytes that are copied at a time

void read(const warpcheck_device_api& api, void* to, const char* from, size_t bytes) {
  if (api.copy_out(to, from, bytes)) throw std::runtime_error(api.last_error());
}

// Across short gaps a single copy costs less than one for each line.
void read_lines(const warpcheck_device_api& api, std::byte* to, const char* from, size_t own, size_t apart,
                size_t lines) {
  constexpr size_t k_far = 1 << 16;
  if (own == apart) return read(api, to, from, own * lines);
  const size_t at_once = apart > k_far ? 1 : k_chunk / apart;
  std::vector<char> chunk;
  for (size_t begin = 0; begin < lines; begin += at_once) {
    const size_t some = std::min(at_once, lines - begin);
    chunk.resize((some - 1) * apart + own);
    read(api, chunk.data(), from + begin * apart, chunk.size());
    for (size_t k = 0; k < some; ++k) std::memcpy(to + (begin + k) * own, chunk.data() + k * apart, own);
  }
}

class host_clock : public turn_clock {
 public:
  explicit host_clock(const timed_run& of) : of_(of) {}
  void begin() override { marks_.clear(); }
  void mark() override {
    if (!marks_.empty()) of_.wait();
    marks_.push_back(clock::now());
  }
  std::vector<double> finish(double* host_us) override {
    std::vector<double> us;
    for (size_t i = 1; i < marks_.size(); ++i)
      us.push_back(std::chrono::duration<double, std::micro>(marks_[i] - marks_[i - 1]).count());
    *host_us = std::accumulate(us.begin(), us.end(), 0.0);
    return us;
  }

 private:
  const timed_run& of_;
  std::vector<clock::time_point> marks_;
};

// Every execution is judged, so three are enough to use each slot.
std::vector<std::vector<double>> host_in_turn(const std::vector<timed_run>& runs) {
  std::vector<std::vector<double>> us(runs.size());
  for (int i = 0; i < k_host_repeats; ++i)
    for (size_t k = 0; k < runs.size(); ++k) {
      const timed_run& each = runs[k];
      host_clock of_host(each);
      turn_clock& clock = each.clock ? *each.clock : of_host;
      if (each.begin) each.begin(i, 0);  // its inputs come from prepare()
      clock.begin();
      if (each.prepare) each.prepare(i);
      clock.mark();
      each.run(i);
      clock.mark();
      if (each.keep) each.keep(i);
      double host_us = 0;
      us[k].push_back(clock.finish(&host_us).front());
      if (each.end) each.end({1, us[k].back(), 0, us[k].back()});
    }
  return us;
}

}  // namespace

device_timing host_timing(const warpcheck_device_api& api, int count) {
  device_timing timing;
  const auto reserve = [&api](size_t bytes) {
    const std::shared_ptr<void> area(api.alloc(std::max<size_t>(1, bytes), 0, 1), api.release);
    if (!area) throw std::runtime_error(api.last_error());
    return std::static_pointer_cast<char>(area);
  };
  timing.reserve = reserve;
  timing.allocate = [reserve, count](size_t input_bytes, size_t output_bytes) {
    constexpr size_t k_alignment = 256;
    const auto stride = [](size_t bytes) { return (bytes / k_alignment + 1) * k_alignment; };
    slots memory{count, nullptr, nullptr, stride(input_bytes), stride(output_bytes), nullptr};
    const auto both = std::make_shared<std::pair<std::shared_ptr<char>, std::shared_ptr<char>>>(
        reserve(static_cast<size_t>(count) * memory.input_stride),
        reserve(static_cast<size_t>(count) * memory.output_stride));
    memory.inputs = both->first.get();
    memory.outputs = both->second.get();
    memory.owner = both;
    return memory;
  };
  timing.copy = [&api](char* to, const char* from, size_t bytes) {
    std::vector<char> host(std::min(bytes, k_chunk));
    for (size_t done = 0; done < bytes; done += k_chunk) {
      const size_t some = std::min(k_chunk, bytes - done);
      read(api, host.data(), from + done, some);
      if (api.copy_in(to + done, host.data(), some)) throw std::runtime_error(api.last_error());
    }
  };
  timing.fill = [&api](char* to, char byte, size_t bytes) {
    const std::vector<char> host(std::min(bytes, k_chunk), byte);
    for (size_t done = 0; done < bytes; done += k_chunk)
      if (api.copy_in(to + done, host.data(), std::min(k_chunk, bytes - done)))
        throw std::runtime_error(api.last_error());
  };
  if (engine::has_runner(api)) {
    // The copy of a judged execution lies where no runner can change it.
    timing.reserve = [](size_t bytes) { return std::shared_ptr<char>(new char[bytes], std::default_delete<char[]>()); };
    timing.copy = [&api](char* to, const char* from, size_t bytes) { api.copy_in(to, from, bytes); };
  }
  timing.read_lines = [&api](std::byte* to, const char* from, size_t own, size_t apart, size_t lines) {
    bench::read_lines(api, to, from, own, apart, lines);
  };
  timing.in_turn = host_in_turn;
  timing.floor_us = [](const traffic&) { return 0.0; };
  timing.yield = [] { return std::shared_ptr<void>(); };
  timing.reset = [] {};
  timing.limit = [](const slots&, const traffic&) { return std::optional<device_limit>(); };
  timing.product_limit = [](const engine::product_work&) { return std::optional<device_limit>(); };
  timing.own = [](const auto&, const auto&) { return std::vector<own_run>(); };
  timing.launch_us = [] { return std::optional<double>(); };
  return timing;
}

}  // namespace warpcheck::bench
