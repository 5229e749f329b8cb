#include "command/candidates/python/interpreter.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "properties/engine/isolation/confine.hpp"

namespace warpcheck::python {
namespace {

struct interpreter_process {
  pid_t owner = 0, pid = -1;  // pid -1: it is the nursery's child
  int channel = -1;
  std::string unread;
};
interpreter_process g_process;

[[noreturn]] void fail(const char* what) { throw std::runtime_error(std::string(what) + std::strerror(errno)); }

// Runs in the child between fork and exec: moves the two descriptors to 3 and, if there is a second one, 4.
[[noreturn]] void become_interpreter(const settings& s, const char* role, int first, int second, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  // Above the final numbers, so that moving one does not close the other.
  const int high_first = fcntl(first, F_DUPFD, 10), high_second = second < 0 ? -1 : fcntl(second, F_DUPFD, 10);
  dup2(high_first, 3);
  close(high_first);
  if (high_second >= 0) {
    dup2(high_second, 4);
    close(high_second);
  }
  signal(SIGPIPE, SIG_DFL);
  try {
    if (s.is_isolated) engine::confine(second < 0 ? 4 : 5);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "isolate: %s\n", e.what());
    _exit(1);
  }
  execlp(s.interpreter.c_str(), s.interpreter.c_str(), "-c", adapter_text(), role, s.file.c_str(), s.function.c_str(),
         s.device.c_str(), static_cast<char*>(nullptr));
  std::fprintf(stderr, "'%s' cannot be started: %s\n", s.interpreter.c_str(), std::strerror(errno));
  _exit(127);
}

void start_child(const settings& s, int memory) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("no channel to the interpreter: ");
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) fail("no process for the interpreter: ");
  if (pid == 0) {
    dup2(STDERR_FILENO, STDOUT_FILENO);  // as a runner's (isolated_library.cpp)
    become_interpreter(s, "serve", ends[1], memory, parent);
  }
  close(ends[1]);
  g_process = {parent, pid, ends[0], ""};
}

// Names of abstract sockets begin with a zero and have the given length.
socklen_t abstract_address(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

// Asks the nursery for an interpreter, which gets the memory and this process's output.
void start_in_nursery(const settings& s, int memory) {
  const int channel = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address;
  const socklen_t length = abstract_address(s.nursery, address);
  if (channel < 0 || connect(channel, reinterpret_cast<sockaddr*>(&address), length) != 0)
    fail("no interpreter from the nursery: ");
  const int passed[] = {memory, STDERR_FILENO, STDERR_FILENO};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof passed)] = {};
  char byte = 0;
  iovec data = {&byte, 1};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof passed);
  std::memcpy(CMSG_DATA(header), passed, sizeof passed);
  if (sendmsg(channel, &message, MSG_NOSIGNAL) != 1) fail("no interpreter from the nursery: ");
  g_process = {getpid(), -1, channel, ""};
}

[[noreturn]] void die_as(int status) {
  if (WIFSIGNALED(status)) {
    std::fprintf(stderr, "the Python process was killed by signal %d (%s)\n", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  std::fprintf(stderr, "the Python process exited with status %d\n", WEXITSTATUS(status));
  _exit(WEXITSTATUS(status) == 0 ? 1 : WEXITSTATUS(status));
}

// Ends this process in the same way as the interpreter ended.
[[noreturn]] void die_likewise() {
  int status = 0;
  if (g_process.pid < 0) {
    std::fprintf(stderr, "the nursery of the Python processes has ended\n");
    _exit(1);
  }
  while (waitpid(g_process.pid, &status, 0) < 0 && errno == EINTR) {
  }
  die_as(status);
}

// If the other end is closed, the answer is among the data received before.
void send_all(const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = send(g_process.channel, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (n > 0)
      done += static_cast<size_t>(n);
    else if (errno != EINTR)
      return;
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

constexpr const char* k_begun = "\"begun\"";  // the first line of a turn's answer

std::string receive_answer() {
  std::string answer = receive_line();
  if (g_process.pid < 0)
    if (const auto j = nlohmann::json::parse(answer); j.is_object() && j.contains("died")) die_as(j["died"]);
  return answer;
}

}  // namespace

settings read_settings() {
  const char* const text = std::getenv(k_settings_variable);
  const nlohmann::json j = nlohmann::json::parse(text ? text : "", nullptr, false);
  if (!j.is_object()) throw std::runtime_error(std::string(k_settings_variable) + " is not set; use --python");
  return {j.at("op"),      j.at("device"),   j.at("interpreter"),
          j.at("file"),    j.at("function"), j.at("dtypes"),
          j.at("states"),  j.at("nursery"),  cli::contract_of(j.at("rules")),
          j.at("reserve"), j.at("isolated")};
}

std::string to_text(const settings& s) {
  return nlohmann::json{{"op", s.op},
                        {"device", s.device},
                        {"interpreter", s.interpreter},
                        {"file", s.file},
                        {"function", s.function},
                        {"dtypes", s.dtypes},
                        {"states", s.states},
                        {"nursery", s.nursery},
                        {"rules", cli::to_text(s.rules)},
                        {"reserve", s.has_reserve},
                        {"isolated", s.is_isolated}}
      .dump();
}

introduction start_nursery(const settings& s) {
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  socklen_t length = sizeof address.sun_family;  // the system finds a free name
  int ends[2];
  if (listener < 0 || bind(listener, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(listener, 64) != 0 ||
      pipe2(ends, O_CLOEXEC) != 0)
    fail("no nursery for the interpreters: ");
  length = sizeof address;
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) fail("no process for the interpreter: ");
  if (pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    become_interpreter(s, "nursery", listener, -1, parent);
  }
  close(listener);
  close(ends[1]);
  introduction said;
  char chunk[4096];
  for (ssize_t n = 0; (n = read(ends[0], chunk, sizeof chunk)) != 0;)
    if (n > 0)
      said.output.append(chunk, static_cast<size_t>(n));
    else if (errno != EINTR)
      break;
  close(ends[0]);
  said.socket.assign(address.sun_path + 1, length - offsetof(sockaddr_un, sun_path) - 1);
  if (said.output.find("\"forks\": true") == std::string::npos) {
    said.socket.clear();
    while (waitpid(pid, &said.status, 0) < 0 && errno == EINTR) {
    }
    said.status = WIFEXITED(said.status) ? WEXITSTATUS(said.status) : 128 + WTERMSIG(said.status);
  }
  return said;
}

std::string ask_interpreter(const settings& s, int memory, const std::string& line) {
  if (g_process.owner != getpid()) s.nursery.empty() ? start_child(s, memory) : start_in_nursery(s, memory);
  send_all(line + "\n");
  return receive_answer();
}

timed_answer ask_for_turn(const settings& s, int memory, const std::string& line) {
  using clock = std::chrono::steady_clock;
  std::string first = ask_interpreter(s, memory, line);
  const auto begin = clock::now();
  if (first != k_begun) return {std::move(first), 0};  // it failed before
  receive_answer();
  const double us = std::chrono::duration<double, std::micro>(clock::now() - begin).count();
  return {receive_answer(), us};
}

}  // namespace warpcheck::python
