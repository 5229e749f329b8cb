#include "tests/containment/hostile.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdint>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <new>
#include <set>
#include <stdexcept>
#include <system_error>

#include "properties/engine/processes/contain.hpp"

// Under AddressSanitizer the candidate's signals and refused allocations shall look as they do without it.
extern "C" const char* __asan_default_options() {
  return "handle_segv=0:handle_abort=0:handle_sigfpe=0:handle_sigbus=0:handle_sigill=0:allocator_may_return_null=0:"
         "detect_stack_use_after_return=0:use_sigaltstack=0";
}

namespace warpcheck::engine {
namespace {

constexpr int k_descriptors = 256;

// Descriptors that this program was started with: they belong to whoever started it, and are spared.
const std::set<int> k_inherited = [] {
  std::set<int> found;
  for (int fd = 0; fd < k_descriptors; ++fd)
    if (fcntl(fd, F_GETFD) >= 0) found.insert(fd);
  return found;
}();

shared_numbers& left_behind_ids() {
  static shared_numbers ids(1 << 12);
  return ids;
}

void note_left_behind() {
  auto& ids = left_behind_ids();
  for (int64_t i = 0; i < ids.size(); ++i)
    if (int none = 0; ids[i].compare_exchange_strong(none, getpid())) return;
  std::abort();
}

[[noreturn]] void linger() {
  for (;;) pause();
}

// Recursion deeper than any stack, which no optimiser turns into a loop.
int overflow(volatile int* above, int64_t depth) {
  volatile int frame[1024];
  frame[0] = above[0] + 1;
  return depth == 0 ? 0 : overflow(frame, depth - 1) + frame[0];
}

struct throws_while_unwinding {
  ~throws_while_unwinding() noexcept(false) { throw std::runtime_error("second"); }
};

using v = verdict;

const std::vector<hostile_behaviour> k_behaviours = {
    {"segfault",
     [] {
       volatile uintptr_t nowhere = 8;
       *reinterpret_cast<volatile int*>(nowhere) = 1;
     },
     v::crash, "signal 11", ""},
    {"abort",
     [] {
       std::fputs("assertion `n > 0' failed\n", stderr);
       std::abort();
     },
     v::crash, "signal 6 (Aborted); its last output: assertion `n > 0' failed", ""},
    {"exit 0", [] { std::exit(0); }, v::crash, "exited with status 0 before the case was over", ""},
    {"exit 3", [] { std::exit(3); }, v::crash, "exited with status 3", ""},
    {"_exit 0", [] { _exit(0); }, v::crash, "exited with status 0", ""},
    {"the status of a worker that cannot write", [] { _exit(113); }, v::crash, "exited with status 113", ""},
    {"endless loop",
     [] {
       for (std::atomic<int> i = 0;; ++i) continue;
     },
     v::timeout, "no result after", ""},
    {"endless loop, signals ignored",
     [] {
       for (int s = 1; s < 32; ++s) signal(s, SIG_IGN);
       for (std::atomic<int> i = 0;; ++i) continue;
     },
     v::timeout, "no result after", ""},
    {"throws an exception", [] { throw std::runtime_error("no such\nluck"); }, v::crash,
     "it threw std::runtime_error: no such luck", ""},
    {"throws an int", [] { throw 7; }, v::crash, "not a std::exception", ""},
    {"throws while unwinding",
     [] {
       throws_while_unwinding t;
       throw std::runtime_error("first");
     },
     v::crash, "signal 6", ""},
    {"terminate", [] { std::terminate(); }, v::crash, "signal 6", ""},
    {"stack overflow",
     [] {
       volatile int top = 0;
       std::exit(overflow(&top, int64_t{1} << 40));
     },
     v::crash, "signal 11", ""},
    {"arithmetic trap", [] { raise(SIGFPE); }, v::crash, "signal 8", ""},
    // Before one that dies without a word: what it dies with must not be this.
    {"writes to stdout", [] { std::puts("S 0 0 not a record"); }, v::pass, "", ""},
    {"kills itself", [] { kill(getpid(), SIGKILL); }, v::crash, "signal 9", ""},
    {"kills its process group", [] { kill(0, SIGKILL); }, v::crash, "signal 9", ""},
    {"interrupts itself", [] { raise(SIGINT); }, v::crash, "signal 2", ""},
    {"stops itself", [] { raise(SIGSTOP); }, v::timeout, "no result after", ""},
    {"prints 4 MB and aborts",
     [] {
       for (int i = 0; i < 40000; ++i) std::fprintf(stderr, "%-99d\n", i);
       std::abort();
     },
     v::crash, "39999", ""},
    {"closes all descriptors",
     [] {
       for (int fd = 0; fd < k_descriptors; ++fd) close(fd);
     },
     v::crash, "exited with status 0", "closed or replaced file descriptors"},
    {"replaces all descriptors",
     [] {
       const int null = open("/dev/null", O_RDWR);
       for (int fd = 0; fd < k_descriptors; ++fd) dup2(null, fd);
     },
     v::crash, "exited with status 0", "closed or replaced file descriptors"},
    {"writes into all descriptors",
     [] {
       for (int fd = 0; fd < k_descriptors; ++fd)
         if (!k_inherited.count(fd) && write(fd, "garbage\n", 8) < 0 && errno != EBADF) std::abort();
     },
     v::crash, "exited with status 0", "wrote into a file descriptor"},
    {"changes the folder", [] { std::filesystem::current_path("/"); }, v::pass, "", ""},
    {"a huge allocation",
     [] {
       // More than any address space, since a kernel may promise memory freely. Not operator new: AddressSanitizer's
       // does not throw. Volatile, or clang leaves an allocation out that nobody uses.
       void* volatile p = std::malloc(size_t{1} << 62);
       if (p == nullptr) throw std::bad_alloc();
       std::free(p);
     },
     v::crash, "std::bad_alloc", ""},
    {"leaves a child behind",
     [] {
       if (fork() == 0) {
         note_left_behind();
         linger();
       }
     },
     v::pass, "", ""},
    {"leaves a detached grandchild behind and aborts",
     [] {
       int ready[2];
       if (pipe(ready) != 0) return;
       if (fork() == 0) {
         setsid();
         if (fork() == 0) {
           note_left_behind();
           if (write(ready[1], "", 1) != 1) _exit(1);
           linger();
         }
         _exit(0);
       }
       char c = 0;
       if (read(ready[0], &c, 1) == 1) std::abort();
     },
     v::crash, "signal 6", ""},
    {"forks, and both go on",
     [] {
       // The first goes on after the second has got as far as it can.
       if (const pid_t child = fork()) waitpid(child, nullptr, 0);
     },
     v::pass, "", ""},
};

}  // namespace

const std::vector<hostile_behaviour>& hostile_behaviours() { return k_behaviours; }

void forget_left_behind() {
  auto& ids = left_behind_ids();
  for (int64_t i = 0; i < ids.size(); ++i) ids[i] = 0;
}

std::vector<int> left_behind() {
  const auto& ids = left_behind_ids();
  std::vector<int> found;
  for (int64_t i = 0; i < ids.size() && ids[i]; ++i) found.push_back(ids[i]);
  return found;
}

trial_case numbered_case(int64_t i) {
  trial_case c;
  c.op = "self";
  c.property = "containment";
  recipe fill;
  fill.arguments = {0.0};
  c.tensors = {input_matrix("x", dtype::f32, i, 1, fill), output_matrix("y", dtype::f32, i, 1)};
  return c;
}

int64_t number_of(const trial_case& c) { return c.at("x").rows(); }

case_report passing(const trial_case& c) {
  const int64_t i = number_of(c);
  case_report r;
  r.compared = i;
  r.launches = 2;
  r.needed_multiprecision = i % 3;
  r.max_error_ratio = static_cast<double>(hash64(5, static_cast<uint64_t>(i)) % 97) / 100;
  r.max_ulp = static_cast<double>(i % 11) / 4;
  r.variants = {i % 2 ? "odd" : "even"};
  return r;
}

std::string summary(const run_result_set& results) {
  std::string text;
  for (const job_result& j : results.jobs) {
    text += fmt::format(
        "{}: {} cases {} skipped {} launches {} compared {} needed_multiprecision {} error_ratio {} ulp {} stopped "
        "{}\n",
        j.id, j.cases, j.skipped, j.launches, j.compared, j.needed_multiprecision, j.max_error_ratio, j.max_ulp,
        name_of(j.worst), j.stopped);
    for (const auto& [variant, cases] : j.variants) text += fmt::format("  variant {} {}\n", variant, cases);
    if (j.worst_error_ratio_case) text += "  worst " + to_json(*j.worst_error_ratio_case) + "\n";
    if (j.first_skipped) text += "  skipped " + to_json(*j.first_skipped) + "\n";
    for (const case_report& r : j.failures) text += "  failure " + to_json(r) + "\n";
  }
  return text;
}

shared_numbers::shared_numbers(int64_t count) : count_(count) {
  void* memory = mmap(nullptr, static_cast<size_t>(count) * sizeof *numbers_, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  numbers_ = static_cast<std::atomic<int>*>(memory);
  for (int64_t i = 0; i < count; ++i) new (&numbers_[i]) std::atomic<int>(0);
}

shared_numbers::~shared_numbers() { munmap(numbers_, static_cast<size_t>(count_) * sizeof *numbers_); }

int64_t journal_bytes(const std::string& folder) {
  int64_t bytes = 0;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(folder, gone)) {
    const auto size = entry.file_size(gone);
    if (!gone) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

std::vector<int> finished_times(const std::string& folder, int64_t cases) {
  std::vector<int> times(static_cast<size_t>(cases));
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line) && !file.eof();)
      if (line.starts_with("F 0 ")) ++times.at(std::strtoul(line.c_str() + 4, nullptr, 10));
  }
  return times;
}

}  // namespace warpcheck::engine
