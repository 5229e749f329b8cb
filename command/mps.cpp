#include "command/mps.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "command/process.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/processes/run_folder.hpp"

namespace warpcheck::cli {
namespace {

namespace fs = std::filesystem;
using engine::environment_error;

constexpr const char* k_control = "nvidia-cuda-mps-control";
constexpr const char* k_pipes = "CUDA_MPS_PIPE_DIRECTORY";
constexpr const char* k_logs = "CUDA_MPS_LOG_DIRECTORY";
constexpr int k_not_found = 127;  // reported as the status if the program does not exist

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Runs the control program with `command` as its input, or as a daemon if `command` is empty; its output goes to `log`.
// Returns its exit status, k_not_found if there is no such program, -1 if it could not be run or did not end in time.
int control(const std::string& command, const std::string& log) {
  int input[2];
  if (pipe2(input, O_CLOEXEC) != 0) return -1;
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  // The daemon must number GPUs like its clients, who choose among them.
  program p{{k_control}, input[0], output, command.empty() ? "CUDA_VISIBLE_DEVICES" : ""};
  if (command.empty()) p.arguments.push_back("-d");
  pid_t child = -1;
  const int error = start(p, child);
  if (output >= 0) close(output);
  close(input[0]);
  if (error == 0 && !command.empty()) {
    struct sigaction ignored = {}, before = {};
    ignored.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignored, &before);
    const ssize_t written = write(input[1], command.data(), command.size());
    static_cast<void>(written);  // a program that reads nothing reports by its status
    sigaction(SIGPIPE, &before, nullptr);
  }
  close(input[1]);
  if (error != 0) return error == ENOENT || error == EACCES || error == ENOTDIR ? k_not_found : -1;
  constexpr int k_patience_ms = 30000;
  for (int waited = 0; waited < k_patience_ms; waited += 5) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (ended < 0 && errno != EINTR) return -1;
    poll(nullptr, 0, 5);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -1;
}

// False for a process that has ended and only waits for its parent to notice.
bool is_alive(pid_t pid) {
  const std::string status = text_of(fmt::format("/proc/{}/stat", pid));
  const size_t name_end = status.rfind(')');
  return name_end != std::string::npos && name_end + 2 < status.size() && status[name_end + 2] != 'Z';
}

// Ends the daemon of the folder, first by request and then by force, and removes the folder.
void end_daemon(const std::string& folder) {
  pid_t daemon = 0;
  std::ifstream(folder + "/" + k_control + ".pid") >> daemon;
  // A server with clients gets ten seconds.
  control("quit -t 10\n", folder + "/quit.log");
  for (int waited = 0; waited < 15000 && is_alive(daemon); waited += 5) poll(nullptr, 0, 5);
  if (is_alive(daemon)) kill(daemon, SIGKILL);
  for (int waited = 0; waited < 5000 && is_alive(daemon); waited += 5) poll(nullptr, 0, 5);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

void set_variable(const char* name, const std::optional<std::string>& value) {
  if (value)
    setenv(name, value->c_str(), 1);
  else
    unsetenv(name);
}

}  // namespace

mps_daemon::mps_daemon() : pipes_before_(variable(k_pipes)), logs_before_(variable(k_logs)) {
  std::string name = engine::temporary_folder() + "/warpcheck-mps-XXXXXX";
  if (!mkdtemp(name.data()))
    throw environment_error(fmt::format("mps: cannot make a folder {}: {}", name, std::strerror(errno)));
  folder_ = name;
  setenv(k_pipes, folder_.c_str(), 1);
  setenv(k_logs, folder_.c_str(), 1);

  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0 || (guard_ = fork()) < 0) {
    const int error = errno;
    stop();
    throw environment_error(fmt::format("mps: cannot start a process: {}", std::strerror(error)));
  }
  if (guard_ == 0) {
    // Signals of a terminal are for the run; this process must outlive it.
    setsid();
    for (int s : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(s, SIG_IGN);
    const int null = open("/dev/null", O_RDWR);
    for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
    close(ends[1]);
    char byte = 0;
    while (read(ends[0], &byte, 1) < 0 && errno == EINTR) continue;
    end_daemon(folder_);
    _exit(0);
  }
  close(ends[0]);
  alive_ = ends[1];

  const std::string log = folder_ + "/start.log";
  const int status = control("", log);
  std::string problem;
  if (status == k_not_found)
    problem = fmt::format("{} is not on the PATH; it comes with NVIDIA's driver", k_control);
  else if (status != 0)
    problem = fmt::format("'{} -d' started no daemon (status {}): {}", k_control, status, text_of(log));
  else if (control("get_server_list\n", log) != 0)
    problem = fmt::format("the daemon of '{} -d' does not answer: {}", k_control, text_of(log));
  if (problem.empty()) return;
  stop();
  throw environment_error("mps: " + problem);
}

mps_daemon::~mps_daemon() { stop(); }

void mps_daemon::stop() {
  if (alive_ >= 0) close(alive_);
  if (guard_ > 0)
    while (waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) continue;
  if (guard_ < 0) {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  set_variable(k_pipes, pipes_before_);
  set_variable(k_logs, logs_before_);
}

std::unique_ptr<mps_daemon> mps_if(bool asked, const std::string& device) {
  if (!asked) return nullptr;
  if (device != "cuda")
    throw engine::usage_error(fmt::format("mps: it shares a GPU, but this run is on device {}", device));
  return std::make_unique<mps_daemon>();
}

}  // namespace warpcheck::cli
