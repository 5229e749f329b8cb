#include "bench/bench_device.hpp"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <string_view>

namespace warpcheck::bench {

std::string bench_device::wait() const {
  const std::shared_ptr<void> end(nullptr, [this](void*) { limit->end(); });
  struct {
    std::string hazards, counts;
  } found;
  const auto report = [](void* to, const char* kind, const char* text) {
    auto& all = *static_cast<decltype(found)*>(to);
    if (std::string_view(kind) == "counts")
      all.counts = text;
    else if (std::string_view(kind) != "every schedule")
      all.hazards += fmt::format("{}: {}; ", kind, text);
  };
  if (api.stream_synchronize(stream, report, &found)) throw std::runtime_error(api.last_error());
  if (!found.hazards.empty()) throw std::runtime_error(found.hazards);
  return found.counts;
}

}  // namespace warpcheck::bench
