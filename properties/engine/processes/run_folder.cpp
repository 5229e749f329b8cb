#include "properties/engine/processes/run_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "properties/engine/error.hpp"
#include "properties/engine/isolation/isolated_library.hpp"

namespace warpcheck::engine {
namespace {

namespace fs = std::filesystem;
using steady = std::chrono::steady_clock;

constexpr std::string_view k_journal_prefix = "worker-", k_journal_suffix = ".journal";

}  // namespace

std::string temporary_folder() {
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  if (!error) return folder.string();
  const char* asked = getenv("TMPDIR");
  throw environment_error(
      fmt::format("TMPDIR: '{}' is not a folder for temporary files: {}", asked ? asked : "/tmp", error.message()));
}

folder_lock::~folder_lock() {
  if (fd_ >= 0) close(fd_);
}

void folder_lock::take(const std::string& folder) {
  fd_ = open((fs::path(folder) / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0) throw environment_error(fmt::format("journal: cannot write to {}: {}", folder, std::strerror(errno)));
  // The workers of a killed run die soon, but not before it.
  constexpr std::chrono::seconds k_patience(5);
  const auto begin = steady::now();
  while (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    if (steady::now() - begin > k_patience)
      throw usage_error(fmt::format("journal folder: {} is in use by another run", folder));
    poll(nullptr, 0, 5);
  }
}

run_folder::run_folder(const std::string& path, bool resume) : temporary_(path.empty()) {
  if (temporary_ && is_isolating()) return;
  if (temporary_) {
    std::string name = temporary_folder() + "/warpcheck-XXXXXX";
    if (!mkdtemp(name.data()))
      throw environment_error(fmt::format("journal: cannot make a folder {}: {}", name, std::strerror(errno)));
    path_ = name;
  } else {
    std::error_code error;
    path_ = fs::absolute(path, error).string();
    if (!error) fs::create_directories(path_, error);
    if (error) throw environment_error(fmt::format("journal: cannot make the folder {}: {}", path, error.message()));
  }
  lock_.take(path_);
  if (!resume && !journals().empty())
    throw usage_error(
        fmt::format("journal folder: {} already holds a run; resume it, or choose an empty folder", path));
}

run_folder::~run_folder() {
  std::error_code ignored;
  if (temporary_ && !path_.empty()) fs::remove_all(path_, ignored);
}

std::string run_folder::journal(int worker) {
  if (path_.empty()) return unnamed_.try_emplace(worker, "journal").first->second.path();
  return (fs::path(path_) / fmt::format("{}{}{}", k_journal_prefix, worker, k_journal_suffix)).string();
}

std::map<int, std::string> run_folder::journals() const {
  std::map<int, std::string> found;
  for (const auto& [worker, file] : unnamed_) found[worker] = file.path();
  if (path_.empty()) return found;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(k_journal_prefix) || !name.ends_with(k_journal_suffix)) continue;
    const char* begin = name.data() + k_journal_prefix.size();
    const char* end = name.data() + name.size() - k_journal_suffix.size();
    int worker = 0;
    const auto [stop, code] = std::from_chars(begin, end, worker);
    if (code == std::errc() && stop == end) found[worker] = entry.path().string();
  }
  return found;
}

}  // namespace warpcheck::engine
