#include <chrono>
#include <stdexcept>

#include "bench/device_timing.hpp"

namespace warpcheck::bench {

device_timing host_timing(const warpcheck_device_api& api, std::function<void()> wait) {
  constexpr int k_slots = 2;
  device_timing timing;
  timing.allocate = [&api](size_t input_bytes, size_t output_bytes) {
    constexpr size_t k_alignment = 256;
    const auto stride = [](size_t bytes) { return (bytes / k_alignment + 1) * k_alignment; };
    slots memory{k_slots, nullptr, nullptr, stride(input_bytes), stride(output_bytes), nullptr};
    const auto allocated = [&](size_t bytes) {
      const std::shared_ptr<void> area(api.alloc(k_slots * bytes, 0, 1), api.release);
      if (!area) throw std::runtime_error(api.last_error());
      return area;
    };
    const auto both = std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>(
        allocated(memory.input_stride), allocated(memory.output_stride));
    memory.inputs = static_cast<char*>(both->first.get());
    memory.outputs = static_cast<char*>(both->second.get());
    memory.owner = both;
    return memory;
  };
  timing.in_turn = [wait](const std::vector<std::function<void(int)>>& runs) {
    std::vector<std::vector<double>> us(runs.size());
    for (int i = 0; i < k_host_repeats; ++i)
      for (size_t k = 0; k < runs.size(); ++k) {
        const auto begin = std::chrono::steady_clock::now();
        runs[k](i);
        wait();
        us[k].push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
      }
    return us;
  };
  timing.limit = [](const slots&, const traffic&) { return std::optional<device_limit>(); };
  timing.own = [](const auto&, const auto&) { return std::vector<own_run>(); };
  timing.launch_us = [] { return std::optional<double>(); };
  return timing;
}

}  // namespace warpcheck::bench
