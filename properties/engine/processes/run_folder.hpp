// The folder of a run: its lock and its journals.
#pragma once

#include <map>
#include <string>

#include "properties/engine/files/memory_file.hpp"

namespace warpcheck::engine {

// Returns the parent of temporary folders: TMPDIR, or /tmp. Throws environment_error if it is no folder.
std::string temporary_folder();

// The lock of a folder, held until its end. Processes forked meanwhile inherit it: a resumed run waits until the last
// worker of a killed one is dead.
class folder_lock {
 public:
  folder_lock() = default;
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;
  ~folder_lock();

  // Throws usage_error if another run has locked the folder, environment_error if it cannot be written.
  void take(const std::string& folder);

 private:
  int fd_ = -1;
};

// A folder of journals that only this run uses.
class run_folder {
 public:
  // Creates `path` if it is missing. Empty: a temporary folder, removed at the end, or, if candidates are isolated,
  // files in memory, which have no name by which another process could open them. Throws usage_error for a folder with
  // journals unless `resume`, and environment_error if the folder cannot be created or written.
  run_folder(const std::string& path, bool resume);
  run_folder(const run_folder&) = delete;
  run_folder& operator=(const run_folder&) = delete;
  ~run_folder();

  std::string journal(int worker);
  std::map<int, std::string> journals() const;  // those that exist: worker -> path

 private:
  bool temporary_;
  std::map<int, memory_file> unnamed_;  // worker -> its journal in memory
  std::string path_;                    // empty: the journals are there
  folder_lock lock_;
};

}  // namespace warpcheck::engine
