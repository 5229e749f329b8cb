#include "properties/engine/trials/compute_capability.hpp"

#include <charconv>
#include <system_error>

#include "properties/engine/trials/library.hpp"

namespace warpcheck::engine {

std::optional<int> capability_in(std::string_view description) {
  constexpr std::string_view k_before = "sm_";
  const size_t at = description.find(k_before);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view number = description.substr(at + k_before.size());
  int capability = 0;
  if (std::from_chars(number.data(), number.data() + number.size(), capability).ec != std::errc()) return std::nullopt;
  return capability;
}

std::optional<int> compute_capability(std::string_view device) {
  if (device != "cuda") return std::nullopt;
  static const std::optional<int> of_gpu = capability_in(describe_device(device));  // each question takes milliseconds
  return of_gpu;
}

}  // namespace warpcheck::engine
