#include "ci/warpcheck/python/interpreter.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace warpcheck::python {
namespace {

struct interpreter_process {
  pid_t owner = 0, pid = -1;
  int channel = -1;
  std::string unread;
};
interpreter_process g_process;

// In the child, between fork and exec.
[[noreturn]] void become_interpreter(const settings& s, int channel, int memory, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  // Above the numbers that they get, so that neither is closed by the other's move.
  const int high_channel = fcntl(channel, F_DUPFD, 10), high_memory = fcntl(memory, F_DUPFD, 10);
  dup2(high_channel, 3);
  dup2(high_memory, 4);
  close(high_channel);
  close(high_memory);
  signal(SIGPIPE, SIG_DFL);
  execlp(s.interpreter.c_str(), s.interpreter.c_str(), "-c", door_text(), "serve", s.file.c_str(), s.function.c_str(),
         s.device.c_str(), static_cast<char*>(nullptr));
  std::fprintf(stderr, "'%s' cannot be started: %s\n", s.interpreter.c_str(), std::strerror(errno));
  _exit(127);
}

void start(const settings& s, int memory) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::runtime_error(std::string("no channel to the interpreter: ") + std::strerror(errno));
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error(std::string("no process for the interpreter: ") + std::strerror(errno));
  if (pid == 0) become_interpreter(s, ends[1], memory, parent);
  close(ends[1]);
  g_process = {parent, pid, ends[0], ""};
}

[[noreturn]] void die_likewise() {
  int status = 0;
  while (waitpid(g_process.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    std::fprintf(stderr, "the Python process was killed by signal %d (%s)\n", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  std::fprintf(stderr, "the Python process exited with status %d\n", WEXITSTATUS(status));
  _exit(WEXITSTATUS(status) == 0 ? 1 : WEXITSTATUS(status));
}

void send_all(const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = send(g_process.channel, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (n > 0)
      done += static_cast<size_t>(n);
    else if (errno != EINTR)
      die_likewise();
  }
}

std::string receive_line() {
  std::string& text = g_process.unread;
  for (;;) {
    if (const size_t end = text.find('\n'); end != std::string::npos) {
      std::string line = text.substr(0, end);
      text.erase(0, end + 1);
      return line;
    }
    char chunk[4096];
    const ssize_t n = recv(g_process.channel, chunk, sizeof chunk, 0);
    if (n > 0)
      text.append(chunk, static_cast<size_t>(n));
    else if (n == 0 || errno != EINTR)
      die_likewise();
  }
}

}  // namespace

settings read_settings() {
  const char* const text = std::getenv(k_settings_variable);
  const nlohmann::json j = nlohmann::json::parse(text ? text : "", nullptr, false);
  if (!j.is_object()) throw std::runtime_error(std::string(k_settings_variable) + " is not set; use --python");
  return {j.at("op"), j.at("device"), j.at("interpreter"), j.at("file"), j.at("function"), j.at("dtypes")};
}

std::string to_text(const settings& s) {
  return nlohmann::json{{"op", s.op},     {"device", s.device},     {"interpreter", s.interpreter},
                        {"file", s.file}, {"function", s.function}, {"dtypes", s.dtypes}}
      .dump();
}

std::string ask_interpreter(const settings& s, int memory, const std::string& line) {
  if (g_process.owner != getpid()) start(s, memory);
  send_all(line + "\n");
  return receive_line();
}

}  // namespace warpcheck::python
