// Kernels of the asynchronous world that are right, for both devices: each with what it must compute.
#pragma once

#include <cstddef>
#include <vector>

namespace warpcheck::self {

inline constexpr size_t k_async_inputs = 3456, k_async_outputs = 1024;

struct async_twin {
  const char* name;
  std::vector<float> (*run)(const std::vector<float>& in);  // the outputs on the device
  std::vector<float> (*expected)(const std::vector<float>& in);
};

namespace cuda {
std::vector<async_twin> async_twins();
}
std::vector<float> async_inputs();  // small integers, so that sums are exact

}  // namespace warpcheck::self
