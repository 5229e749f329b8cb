#include "properties/engine/processes/contain.hpp"

#include <cxxabi.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <typeinfo>
#include <utility>

#include "properties/engine/error.hpp"
#include "properties/engine/trials/call.hpp"

namespace warpcheck::engine {
namespace {

using steady = std::chrono::steady_clock;

constexpr size_t k_tail_bytes = 2048;
constexpr std::string_view k_mark = "\x1ewarpcheck\x1e";

// Children that are not orphans: those before the outermost collector, and our live child processes.
std::set<pid_t> g_known_children;
int g_collectors = 0;

std::vector<pid_t> children_of_this_process() {
  std::ifstream list("/proc/thread-self/children");
  std::vector<pid_t> pids;
  for (pid_t pid = 0; list >> pid;) pids.push_back(pid);
  return pids;
}

// Orphans of a dead child become ours only after it is reaped; killing one may bring its own children, hence the loop.
void end_orphans() {
  if (g_collectors == 0) return;
  for (bool found = true; found;) {
    found = false;
    for (pid_t pid : children_of_this_process()) {
      if (g_known_children.count(pid)) continue;
      kill(pid, SIGKILL);
      found |= waitpid(pid, nullptr, 0) == pid;
    }
  }
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // the reader is gone or the candidate closed it: the reader notices that no report came
    text.remove_prefix(static_cast<size_t>(n));
  }
}

void become_contained(pid_t parent, int output) {
  setpgid(0, 0);
  // The parent may die by SIGKILL: its children go with it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  g_known_children.clear();
  g_collectors = 0;
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  if (null > STDERR_FILENO) close(null);
  if (output > STDERR_FILENO) close(output);
  setvbuf(stdout, nullptr, _IOLBF, 0);  // a dying process loses no output
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  // When memory runs out the kernel shall choose the candidate's process, not the parent.
  if (const int fd = open("/proc/self/oom_score_adj", O_WRONLY); fd >= 0) {
    write_all(fd, "1000");
    close(fd);
  }
  for (int s : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) signal(s, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

std::string printable_line(std::string_view bytes) {
  std::string text;
  for (unsigned char c : bytes) {
    const bool blank = c <= ' ' || c == 0x7f;
    if (!blank)
      text += static_cast<char>(c);
    else if (!text.empty() && text.back() != ' ')
      text += ' ';
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::string type_name(const std::exception& e) {
  int status = 0;
  char* name = abi::__cxa_demangle(typeid(e).name(), nullptr, nullptr, &status);
  const std::string text = status == 0 ? name : typeid(e).name();
  std::free(name);
  return text;
}

case_report dead_case(const std::string& line, verdict v, std::string message) {
  case_report r;
  r.line = line;
  r.result = v;
  r.message = std::move(message);
  return r;
}

// A child's message: one letter, the length in 16 hexadecimal digits, and the text. Anything else is no message.
constexpr size_t k_head = 17;

std::string frame(char kind, const std::string& text) { return fmt::format("{}{:016x}{}", kind, text.size(), text); }

bool is_whole(const std::string& message) {
  if (message.size() < k_head) return false;
  char* end = nullptr;
  const std::string digits = message.substr(1, k_head - 1);
  const unsigned long long length = std::strtoull(digits.c_str(), &end, 16);
  return *end == '\0' && message.size() - k_head == length;
}

}  // namespace

std::string thrown_text(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const thrown_elsewhere& e) {
    return e.what();
  } catch (const std::exception& e) {
    return fmt::format("{}: {}", type_name(e), shortened(printable_line(e.what())));
  } catch (...) {
    return "an object that is not a std::exception";
  }
}

bool may_be_the_device(const case_report& r) {
  return r.result == verdict::crash || r.result == verdict::timeout || r.device_failed;
}

bool corrupts_process(const case_report& r) { return may_be_the_device(r) || r.result == verdict::out_of_bounds; }

child_process::child_process(const std::function<void()>& body) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw environment_error(fmt::format("cannot make a pipe for a worker process: {}", std::strerror(errno)));
  fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);  // a candidate that prints much waits less for the reader
  std::fflush(nullptr);                   // or the child would print it again
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) {
    const int error = errno;
    close(ends[0]);
    close(ends[1]);
    throw environment_error(fmt::format("cannot start a worker process: {}", std::strerror(error)));
  }
  if (pid_ == 0) {
    close(ends[0]);
    become_contained(parent, ends[1]);
    body();
    std::fflush(nullptr);
    _exit(0);
  }
  setpgid(pid_, pid_);
  g_known_children.insert(pid_);
  close(ends[1]);
  output_ = ends[0];
  fcntl(output_, F_SETFL, O_NONBLOCK);
}

child_process& child_process::operator=(child_process&& other) noexcept {
  if (this == &other) return *this;
  kill_and_reap();
  pid_ = std::exchange(other.pid_, -1);
  output_ = std::exchange(other.output_, -1);
  status_ = other.status_;
  tail_ = std::move(other.tail_);
  return *this;
}

void child_process::drain() {
  if (output_ < 0) return;
  char buffer[1 << 16];
  // A child that never stops printing must not keep the parent here.
  for (int turn = 0; turn < 32; ++turn) {
    const ssize_t n = read(output_, buffer, sizeof buffer);
    if (n <= 0) return;
    tail_.append(buffer, static_cast<size_t>(n));
    if (const size_t mark = tail_.rfind(k_mark); mark != std::string::npos) tail_.erase(0, mark + k_mark.size());
    if (tail_.size() > k_tail_bytes) tail_.erase(0, tail_.size() - k_tail_bytes);
  }
}

void child_process::mark_output() { write_all(STDERR_FILENO, k_mark); }

void child_process::finish() {
  // The process is dead but not yet reaped, so its id still names its own group and no other. end_orphans() finds the
  // processes that left the group, where the kernel lists children.
  kill(-pid_, SIGKILL);
  while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) continue;
  g_known_children.erase(pid_);
  pid_ = -1;
  end_orphans();
  drain();
  close(output_);
  output_ = -1;
}

bool child_process::reap() {
  siginfo_t info = {};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return false;
  finish();
  return true;
}

void child_process::kill_and_reap() {
  if (!running()) return;
  kill(pid_, SIGKILL);
  siginfo_t info = {};
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) continue;
  finish();
}

double child_process::seconds_in_line() const {
  // The second field of schedstat, in nanoseconds; 0 if the kernel counts none.
  std::ifstream file(fmt::format("/proc/{}/schedstat", pid_));
  int64_t running = 0;
  int64_t in_line = 0;
  return file >> running >> in_line ? static_cast<double>(in_line) * 1e-9 : 0;
}

std::string child_process::death() const {
  std::string text;
  if (WIFSIGNALED(status_)) {
    const int s = WTERMSIG(status_);
    text = fmt::format("it was killed by signal {} ({}{})", s, strsignal(s),
                       s == SIGKILL ? ", out of memory or from outside" : "");
  } else {
    text = fmt::format("it exited with status {} before the case was over", WEXITSTATUS(status_));
  }
  if (const std::string output = printable_line(tail_); !output.empty()) text += "; its last output: " + output;
  return text;
}

void end_children() {
  g_known_children.clear();
  end_orphans();
}

orphan_collector::orphan_collector() {
  if (g_collectors++ > 0) return;
  for (pid_t pid : children_of_this_process()) g_known_children.insert(pid);
  // If SIGCHLD is ignored, as some launchers leave it, the kernel reaps children and their status is lost.
  signal(SIGCHLD, SIG_DFL);
  prctl(PR_GET_CHILD_SUBREAPER, &previous_);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

orphan_collector::~orphan_collector() {
  if (--g_collectors > 0) return;
  prctl(PR_SET_CHILD_SUBREAPER, previous_);
  g_known_children.clear();
}

case_report run_guarded(const std::function<case_report(const trial_case&)>& run, const trial_case& c,
                        const std::string& line) {
  try {
    case_report r = run(c);
    if (r.line.empty()) r.line = line;
    return r;
  } catch (const usage_error&) {
    throw;
  } catch (const environment_error&) {
    throw;
  } catch (const candidate_exception& e) {
    return dead_case(line, verdict::crash, fmt::format("it threw {}", thrown_text(e.what)));
  } catch (...) {
    return dead_case(line, verdict::crash, fmt::format("it threw {}", thrown_text(std::current_exception())));
  }
}

case_report run_judged(const std::function<case_report(const trial_case&)>& run, const trial_case& c,
                       const std::string& line) {
  try {
    return run_guarded(run, c, line);
  } catch (const no_case_fits& e) {
    return dead_case(line, verdict::skipped, shortened(e.what()));
  } catch (const std::exception& e) {
    return dead_case(line, verdict::suite_error, e.what());
  }
}

child_outcome run_in_child(const std::function<std::string()>& body, double timeout_seconds,
                           const std::function<bool()>& stop) {
  const orphan_collector orphans;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw environment_error(fmt::format("cannot make a pipe for a worker process: {}", std::strerror(errno)));
  const auto begin = steady::now();
  child_process child([&] {
    close(ends[0]);
    const pid_t self = getpid();
    std::string message;
    try {
      message = frame('T', body());
    } catch (const usage_error& e) {
      message = frame('U', e.what());
    } catch (const environment_error& e) {
      message = frame('E', e.what());
    } catch (const std::exception& e) {
      std::fputs(e.what(), stderr);
      std::abort();
    }
    // A candidate may have forked; only the original process answers.
    if (getpid() == self) write_all(ends[1], message);
  });
  close(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  std::string message;
  child_outcome outcome;
  bool dead = false;
  const auto receive = [&] {
    char buffer[1 << 16];
    for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) message.append(buffer, static_cast<size_t>(n));
  };
  pollfd sources[] = {{ends[0], POLLIN, 0}, {child.output(), POLLIN, 0}};
  while (!dead && !is_whole(message)) {
    const double left = timeout_seconds - (seconds_since(begin) - child.seconds_in_line());
    outcome.stopped = stop && stop();
    outcome.timed_out = left <= 0 && !outcome.stopped;
    if (outcome.stopped || outcome.timed_out) break;
    // End of file wakes at once; the short wait is for children whose descriptors outlive them in other processes.
    poll(sources, std::size(sources), static_cast<int>(std::min(left * 1000 + 1, 10.0)));
    for (pollfd& s : sources)
      if (s.revents & (POLLHUP | POLLERR) && !(s.revents & POLLIN)) s.fd = -1;
    receive();
    child.drain();
    dead = child.reap();
  }
  child.kill_and_reap();
  receive();
  close(ends[0]);
  if (is_whole(message)) {
    outcome.timed_out = outcome.stopped = false;
    outcome.text = message.substr(k_head);
    if (message[0] == 'U') throw usage_error(outcome.text);
    if (message[0] == 'E') throw environment_error(outcome.text);
    outcome.finished = message[0] == 'T';
  }
  if (!outcome.finished) outcome.death = child.death();
  return outcome;
}

double time_limit(double seconds, std::string_view line) {
  constexpr double k_usual_elements = 0x1p24;
  double elements = 0;
  for (size_t open = line.find('['); open != std::string_view::npos; open = line.find('[', open + 1)) {
    // NAME=TYPE[AxBxC]; anything else between brackets is no shape.
    double product = 1;
    const char *at = line.data() + open + 1, *const end = line.data() + line.size();
    for (;; ++at) {
      uint64_t extent = 0;
      const auto [next, code] = std::from_chars(at, end, extent);
      if (code != std::errc()) break;
      product *= static_cast<double>(extent);
      at = next;
      if (at == end || *at != 'x') break;
    }
    if (at < end && *at == ']') elements += product;
  }
  return seconds * std::max(1.0, elements / k_usual_elements);
}

case_report run_contained(const std::function<case_report(const trial_case&)>& run, const trial_case& c,
                          double timeout_seconds) {
  return *run_contained(run, c, timeout_seconds, {});
}

std::optional<case_report> run_contained(const std::function<case_report(const trial_case&)>& run, const trial_case& c,
                                         double timeout_seconds, const std::function<bool()>& stop) {
  const std::string line = format(c);
  const double limit = time_limit(timeout_seconds, line);
  const child_outcome outcome = run_in_child([&] { return to_json(run_guarded(run, c, line)); }, limit, stop);
  if (outcome.stopped) return std::nullopt;
  if (outcome.timed_out)
    return dead_case(line, verdict::timeout, fmt::format("no result after {:g} s; the process was killed", limit));
  if (!outcome.finished) return dead_case(line, verdict::crash, "the process died: " + outcome.death);
  try {
    return report_from_json(outcome.text);
  } catch (const usage_error&) {
    return dead_case(line, verdict::crash, "the process wrote into a descriptor that it did not open");
  }
}

}  // namespace warpcheck::engine
