// The MPS daemon of a run is there while the run is, and gone however the run ends. nvidia-cuda-mps-control is a
// script.
#include "command/mps.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "properties/engine/error.hpp"
#include "tests/scratch_folder.hpp"

namespace warpcheck::cli {
namespace {

using self::scratch_folder;

class mps : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder_.path("tmp"));
    setenv("PATH", (folder_.path() + ":" + path_before_).c_str(), 1);
    setenv("TMPDIR", folder_.path("tmp").c_str(), 1);
    setenv("FAKE_MPS_LOG", folder_.path("log").c_str(), 1);
    unsetenv("CUDA_MPS_LOG_DIRECTORY");
    setenv("CUDA_MPS_PIPE_DIRECTORY", "/before", 1);
  }
  void TearDown() override {
    setenv("PATH", path_before_.c_str(), 1);
    unsetenv("TMPDIR");
    unsetenv("CUDA_MPS_PIPE_DIRECTORY");
  }
  void install(const std::string& start, const std::string& quit) {
    const std::string file = folder_.write("nvidia-cuda-mps-control",
                                           "#!/bin/sh\n"
                                           "pid=$CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid\n"
                                           "if [ \"$1\" = -d ]; then\n" +
                                               start +
                                               "else\n"
                                               "  read -r command\n"
                                               "  echo \"$command\" >> \"$FAKE_MPS_LOG\"\n"
                                               "  case $command in quit*) " +
                                               quit +
                                               " ;; esac\n"
                                               "fi\n");
    chmod(file.c_str(), 0755);
  }
  void install() { install(k_start, "kill $(cat $pid)"); }

  std::string log() const {
    std::ostringstream text;
    text << std::ifstream(folder_.path("log")).rdbuf();
    return text.str();
  }
  int64_t folders() const {
    return std::distance(std::filesystem::directory_iterator(folder_.path("tmp")),
                         std::filesystem::directory_iterator());
  }
  pid_t daemon() const {
    pid_t pid = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path("tmp")))
      std::ifstream(entry.path() / "nvidia-cuda-mps-control.pid") >> pid;
    return pid;
  }

  static constexpr const char* k_start =
      "  sleep 1000 > /dev/null 2>&1 &\n"
      "  echo $! > \"$pid\"\n"
      "  echo start >> \"$FAKE_MPS_LOG\"\n";
  const scratch_folder folder_;
  const std::string path_before_ = getenv("PATH");
};

// Or waits for a parent that does not look.
bool is_gone(pid_t pid) {
  std::ostringstream status;
  status << std::ifstream("/proc/" + std::to_string(pid) + "/stat").rdbuf();
  const size_t name_end = status.str().rfind(')');
  return name_end == std::string::npos || status.str().at(name_end + 2) == 'Z';
}

TEST_F(mps, is_there_while_it_lives_and_leaves_nothing) {
  install();
  pid_t pid = 0;
  {
    const mps_daemon one;
    EXPECT_EQ(getenv("CUDA_MPS_PIPE_DIRECTORY"), one.folder());
    EXPECT_EQ(getenv("CUDA_MPS_LOG_DIRECTORY"), one.folder());
    pid = daemon();
    ASSERT_GT(pid, 0);
    EXPECT_FALSE(is_gone(pid));
    EXPECT_EQ(folders(), 1);
  }
  EXPECT_TRUE(is_gone(pid));
  EXPECT_EQ(log(), "start\nget_server_list\nquit -t 10\n");
  EXPECT_EQ(folders(), 0);
  EXPECT_STREQ(getenv("CUDA_MPS_PIPE_DIRECTORY"), "/before");
  EXPECT_EQ(getenv("CUDA_MPS_LOG_DIRECTORY"), nullptr);
}

TEST_F(mps, ends_with_a_process_that_is_interrupted_or_killed) {
  install();
  for (int how : {SIGINT, SIGTERM, SIGHUP, SIGKILL}) {
    const pid_t user = fork();
    if (user == 0) {
      setpgid(0, 0);
      signal(how, SIG_DFL);
      const mps_daemon one;
      std::ofstream(folder_.path("ready")) << "";
      for (;;) pause();
    }
    while (!std::filesystem::exists(folder_.path("ready"))) poll(nullptr, 0, 1);
    const pid_t pid = daemon();
    ASSERT_GT(pid, 0);
    kill(-user, how);  // the whole group, as a terminal does
    waitpid(user, nullptr, 0);
    // What ends the daemon is no child of this process; the test's time limit is the patience.
    while (folders() > 0) poll(nullptr, 0, 1);
    EXPECT_TRUE(is_gone(pid)) << "after signal " << how;
    std::filesystem::remove(folder_.path("ready"));
  }
}

TEST_F(mps, a_daemon_that_does_not_quit_is_killed) {
  install(k_start, "exit 1");
  pid_t pid = 0;
  {
    const mps_daemon one;
    pid = daemon();
    // As an unwilling daemon would be, it is deaf; 15 seconds are its time.
    kill(pid, SIGSTOP);
  }
  EXPECT_TRUE(is_gone(pid));
  EXPECT_EQ(folders(), 0);
}

TEST_F(mps, a_missing_program_is_one_clear_error) {
  setenv("PATH", folder_.path("tmp").c_str(), 1);
  EXPECT_EQ(self::message_of<engine::environment_error>([] { const mps_daemon one; }),
            "mps: nvidia-cuda-mps-control is not on the PATH; it comes with NVIDIA's driver");
  EXPECT_EQ(folders(), 0);
  EXPECT_STREQ(getenv("CUDA_MPS_PIPE_DIRECTORY"), "/before");
}

TEST_F(mps, a_program_that_starts_no_daemon_is_one_clear_error) {
  install("  echo An instance of this daemon is already running; exit 1\n", "true");
  EXPECT_EQ(self::message_of<engine::environment_error>([] { const mps_daemon one; }),
            "mps: 'nvidia-cuda-mps-control -d' started no daemon (status 1): An instance of this daemon is already "
            "running\n");
  EXPECT_EQ(folders(), 0);
}

}  // namespace
}  // namespace warpcheck::cli
