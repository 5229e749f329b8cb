// A folder of one test, gone with it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace warpcheck::self {

class scratch_folder {
 public:
  scratch_folder() {
    std::string pattern = testing::TempDir() + "warpcheck_test_XXXXXX";
    if (!mkdtemp(pattern.data()))
      throw std::filesystem::filesystem_error(pattern, std::error_code(errno, std::generic_category()));
    path_ = pattern;
  }
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;

  std::string path(std::string_view name = "") const { return name.empty() ? path_ : path_ + "/" + std::string(name); }
  // Writes the file, with its folders, and returns its path.
  std::string write(std::string_view name, std::string_view bytes) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path(name);
  }

 private:
  std::string path_;
};

// The message of the usage_error that `f` throws; a test failure if it throws none.
template <class Error, class Function>
std::string message_of(Function&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  ADD_FAILURE() << "accepted, but must be refused";
  return "";
}

}  // namespace warpcheck::self
