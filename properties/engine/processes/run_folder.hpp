// The folder of a run: who may write there, and its journals.
#pragma once

#include <map>
#include <string>

namespace warpcheck::engine {

// Where temporary folders are made: TMPDIR, or /tmp. environment_error where that is no folder.
std::string temporary_folder();

// The lock of a folder, held until its end. Processes forked meanwhile inherit it: a resumed run waits until the last
// worker of a killed one is dead.
class folder_lock {
 public:
  folder_lock() = default;
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;
  ~folder_lock();

  // Throws usage_error when another run keeps the folder, environment_error when it cannot be written.
  void take(const std::string& folder);

 private:
  int fd_ = -1;
};

// A folder of journals that only this run uses.
class run_folder {
 public:
  // `path` is made where it is missing; empty: a temporary one, removed at the end, or where candidates are isolated,
  // files in memory, which have no name by which another process could open them. Unless `resume`, a folder that
  // holds journals is a usage_error. environment_error: it cannot be made or written.
  run_folder(const std::string& path, bool resume);
  run_folder(const run_folder&) = delete;
  run_folder& operator=(const run_folder&) = delete;
  ~run_folder();

  std::string journal(int worker);
  std::map<int, std::string> journals() const;  // those that exist: worker -> path

 private:
  bool temporary_;
  std::map<int, int> unnamed_;  // worker -> the descriptor of its journal in memory
  std::string path_;            // empty: the journals are there
  folder_lock lock_;
};

}  // namespace warpcheck::engine
