#include "bench/device_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

namespace warpcheck::bench {

device_lock::device_lock(std::string device, std::function<void(const std::string&)> say,
                         std::chrono::milliseconds patience)
    : device_(std::move(device)), say_(std::move(say)), patience_(patience) {
  const std::string path = std::filesystem::temp_directory_path() / ("warpcheck-bench-" + device_);
  file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);  // that of another user cannot be opened with O_CREAT
  if (file_ < 0) file_ = open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), path);
}

device_lock::~device_lock() { close(file_); }

// False if another process has the lock, which with LOCK_NB is not waited for.
bool device_lock::is_taken(int how) const {
  while (flock(file_, LOCK_EX | how) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "flock");
  }
  return true;
}

void device_lock::take() {
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds k_pause(10);
  for (const auto end = clock::now() + patience_; say_ && !is_taken(LOCK_NB); std::this_thread::sleep_for(k_pause))
    if (clock::now() >= end) {
      std::exchange(say_, nullptr)(fmt::format("bench: waits for {}, which {} uses", device_, holder()));
      break;
    }
  is_taken(0);
}

void device_lock::release() const { flock(file_, LOCK_UN); }

// A line of /proc/locks is "1: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE 0 EOF".
std::string device_lock::holder() const {
  struct stat status = {};
  fstat(file_, &status);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, mode, access, pid, file;
    words >> number >> kind >> mode >> access >> pid >> file;
    if (kind == "FLOCK" && file.ends_with(fmt::format(":{}", status.st_ino))) return "process " + pid;
  }
  return "another process";
}

}  // namespace warpcheck::bench
