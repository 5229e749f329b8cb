// Of two processes that want a device one waits, and says for whom.
#include "bench/device_lock.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace {

using warpcheck::bench::device_lock;

TEST(DeviceLock, NamesTheProcessThatHoldsIt) {
  const std::string device = "test-" + std::to_string(getpid());
  int taken[2], done[2];
  ASSERT_EQ(pipe(taken), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t other = fork();
  char byte = 0;
  if (other == 0) {
    device_lock lock(device, [](const std::string&) {});
    lock.take();
    const bool is_said = write(taken[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 1;
    _exit(is_said ? 0 : 1);  // with the lock
  }
  ASSERT_EQ(read(taken[0], &byte, 1), 1);
  std::string said;
  const auto say = [&](const std::string& text) {
    said += text;
    EXPECT_EQ(write(done[1], &byte, 1), 1);
  };
  device_lock lock(device, say, std::chrono::milliseconds(0));
  lock.take();
  int status = -1;
  waitpid(other, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(said, "bench: waits for " + device + ", which process " + std::to_string(other) + " uses");
  lock.release();
  lock.take();  // nobody has it
  std::filesystem::remove(std::filesystem::temp_directory_path() / ("warpcheck-bench-" + device));
}

}  // namespace
