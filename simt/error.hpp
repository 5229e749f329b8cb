// Shared by both devices: the error that a launch throws, and the limits of a launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace simt {

// Thrown by launch, buffer and the memory calls of both devices. Default visibility: it crosses shared modules.
class __attribute__((visibility("default"))) device_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Maps T to itself; lets a macro argument such as `float[32]` declare a variable.
template <class T>
struct identity {
  using type = T;
};
template <class T>
using identity_t = typename identity<T>::type;

// The limits of the machine for a kernel, in bytes, threads and blocks.
struct machine_limits {
  unsigned threads_per_block = 1024;
  unsigned block_dim[3] = {1024, 1024, 64};
  unsigned grid_dim[3] = {2147483647u, 65535, 65535};
  size_t static_shared_bytes = 48 * 1024;
  size_t shared_bytes = 227 * 1024;
  unsigned cluster = 16;
};

struct device_properties_t {
  int sm_count;
  size_t shared_per_block_optin;  // bytes
  size_t l2_bytes;
  int max_cluster;  // blocks; 1 where the machine has no clusters
};

// Returns the sentence that names the first broken limit, or an empty string.
inline std::string broken_launch_limit(const unsigned (&grid)[3], const unsigned (&block)[3], size_t dynamic_bytes,
                                       const unsigned (&cluster)[3], const machine_limits& limits) {
  const char* axis[3] = {"x", "y", "z"};
  auto sentence = [](const std::string& what, unsigned long long value, unsigned long long allowed) {
    return what + " is " + std::to_string(value) + ", allowed are 1 to " + std::to_string(allowed);
  };
  for (int i = 0; i < 3; ++i) {
    if (grid[i] == 0 || grid[i] > limits.grid_dim[i])
      return sentence(std::string("grid.") + axis[i], grid[i], limits.grid_dim[i]);
    if (block[i] == 0 || block[i] > limits.block_dim[i])
      return sentence(std::string("block.") + axis[i], block[i], limits.block_dim[i]);
  }
  const uint64_t threads = uint64_t{block[0]} * block[1] * block[2];
  if (threads > limits.threads_per_block) return sentence("threads per block", threads, limits.threads_per_block);
  if (dynamic_bytes > limits.shared_bytes)
    return "dynamic shared memory is " + std::to_string(dynamic_bytes) + " bytes, allowed are at most " +
           std::to_string(limits.shared_bytes);
  const uint64_t blocks = uint64_t{cluster[0]} * cluster[1] * cluster[2];
  if (blocks == 0 || blocks > limits.cluster) return sentence("cluster size", blocks, limits.cluster);
  for (int i = 0; i < 3; ++i)
    if (grid[i] % cluster[i] != 0)
      return std::string("grid.") + axis[i] + " is " + std::to_string(grid[i]) +
             ", allowed are multiples of the cluster size " + std::to_string(cluster[i]);
  return {};
}

}  // namespace simt
