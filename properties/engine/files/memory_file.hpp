// A file in memory: no folder has its name, and nothing of it remains, even if its processes are killed.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "properties/engine/error.hpp"

namespace warpcheck::engine {

// Forked processes inherit the descriptor, programs that they execute do not.
class memory_file {
 public:
  explicit memory_file(const std::string& name) : memory_file(memfd_create(name.c_str(), MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw environment_error("cannot make a file in memory: " + std::string(std::strerror(errno)));
  }
  // Takes over a descriptor.
  explicit memory_file(int descriptor) : descriptor_(descriptor) {}
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  ~memory_file() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  int descriptor() const { return descriptor_; }
  // Returns a path that is valid in this process and those forked from it.
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  void resize(size_t bytes) const {
    if (ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0)
      throw environment_error("cannot resize a file in memory: " + std::string(std::strerror(errno)));
  }
  std::string text() const {
    std::string text;
    char buffer[1 << 16];
    for (ssize_t n; (n = pread(descriptor_, buffer, sizeof buffer, static_cast<off_t>(text.size()))) > 0;)
      text.append(buffer, static_cast<size_t>(n));
    return text;
  }

 private:
  int descriptor_;
};

}  // namespace warpcheck::engine
