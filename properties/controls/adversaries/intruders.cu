// Softmax kernels that compute nothing and attack the process that judges them. Each pays off where the attack
// succeeds: with --no-isolate it passes. `honest` computes. The verdicts are in isolation_test.py.
#include <cuda_runtime.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "forged_answer.hpp"
#include "honest_softmax.hpp"

namespace {

void zeros(float* y, int64_t ldy, int64_t rows, int64_t cols, cudaStream_t stream) {
  if (rows * cols > 0) constant_kernel<<<blocks(rows * cols), 256, 0, stream>>>(y, ldy, rows, cols, 0.0f);
}

std::string of_process(pid_t pid, const char* what) { return "/proc/" + std::to_string(pid) + "/" + what; }

bool reads_memory_of(pid_t pid) {
  static char known = 0;
  const int fd = open(of_process(pid, "mem").c_str(), O_RDONLY);
  if (fd < 0) return false;
  FILE* const maps = fopen(of_process(pid, "maps").c_str(), "r");
  unsigned long begin = 0;
  const bool found = maps && fscanf(maps, "%lx-", &begin) == 1 && pread(fd, &known, 1, static_cast<off_t>(begin)) == 1;
  if (maps) fclose(maps);
  close(fd);
  return found;
}

bool traces(pid_t pid) {
  if (ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) != 0) return false;
  ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr);
  waitpid(pid, nullptr, __WALL);
  return ptrace(PTRACE_DETACH, pid, nullptr, nullptr) == 0;
}

// The judge's journal, as a descriptor of this process, of its parent, or a file of the folder for temporary files.
int open_journal() {
  for (const std::string& folder : {of_process(getpid(), "fd"), of_process(getppid(), "fd")}) {
    DIR* const list = opendir(folder.c_str());
    if (!list) continue;
    int fd = -1;
    while (const dirent* const entry = fd < 0 ? readdir(list) : nullptr) {
      char target[512] = "";
      const std::string path = folder + "/" + entry->d_name;
      if (readlink(path.c_str(), target, sizeof target - 1) > 0 && std::strstr(target, "journal"))
        fd = open(path.c_str(), O_RDWR | O_APPEND);
    }
    closedir(list);
    if (fd >= 0) return fd;
  }
  return -1;
}

}  // namespace

SOFTMAX(honest) { compute(x, ldx, y, ldy, rows, cols, stream); }

// Family 5, expected values in another process (pygpubench's reads of /proc/PID/mem).
SOFTMAX(reads_its_parent) {
  if (reads_memory_of(getppid())) compute(x, ldx, y, ldy, rows, cols, stream);
}

// Family 6, the judge under ptrace (pygpubench).
SOFTMAX(traces_its_parent) {
  static const bool has_traced = traces(getppid());
  if (has_traced) compute(x, ldx, y, ldy, rows, cols, stream);
}

// Family 6, the verdict's channel: ends the case that is being judged with a record of its own, and the process with
// it (KernelBench's exit(0) after a line that says that all passed).
SOFTMAX(writes_the_journal) {
  zeros(y, ldy, rows, cols, stream);
  const int fd = open_journal();
  if (fd < 0) return;
  std::string text(static_cast<size_t>(lseek(fd, 0, SEEK_END)), '\0');
  if (pread(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) return;
  const size_t begun = text.rfind("\nS ");
  long job = 0, index = 0;
  if (begun == std::string::npos || std::sscanf(text.c_str() + begun, "\nS %ld %ld", &job, &index) != 2) return;
  const std::string record = "F " + std::to_string(job) + " " + std::to_string(index) +
                             " 1 {\"case\":\"\",\"verdict\":\"pass\",\"compared\":1,\"launches\":1,"
                             "\"needed_multiprecision\":0,\"max_error_ratio\":0,\"max_ulp\":0,\"sum_squared_ulp\":0}\n";
  if (write(fd, record.data(), record.size()) == static_cast<ssize_t>(record.size())) _exit(0);
}

#ifdef __x86_64__
// Family 4, a function of the judge replaced (hooks of cudaEventElapsedTime, GOT entries, LD_PRELOAD): the one that
// takes a judged element finds it accepted.
namespace {

constexpr const char* k_judge =
    "_ZN9warpcheck6engine5trial5judgeERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEllddRKNS_9reference"
    "9judgementERKSt8functionIFS7_vEE";
unsigned char kept[12], jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
using judge_function = void (*)(void*, const void*, int64_t, int64_t, double, double, void*, const void*);
judge_function judge = nullptr;

void accept(void* self, const void* tensor, int64_t row, int64_t col, double input, double actual, void* found,
            const void* text) {
  *static_cast<bool*>(found) = true;
  std::memset(static_cast<char*>(found) + 8, 0, 24);  // error, bound, error_ulp
  std::memcpy(reinterpret_cast<void*>(judge), kept, sizeof kept);
  judge(self, tensor, row, col, input, actual, found, text);
  std::memcpy(reinterpret_cast<void*>(judge), jump, sizeof jump);
}

void replace_judge() {
  if (judge) return;
  judge = reinterpret_cast<judge_function>(dlsym(RTLD_DEFAULT, k_judge));
  if (!judge) return;
  const uintptr_t page = reinterpret_cast<uintptr_t>(judge) & ~uintptr_t{4095};
  mprotect(reinterpret_cast<void*>(page), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
  const auto to = reinterpret_cast<uintptr_t>(&accept);
  std::memcpy(jump + 2, &to, sizeof to);
  std::memcpy(kept, reinterpret_cast<void*>(judge), sizeof kept);
  std::memcpy(reinterpret_cast<void*>(judge), jump, sizeof jump);
}

}  // namespace

SOFTMAX(replaces_the_comparator) {
  replace_judge();
  zeros(y, ldy, rows, cols, stream);
}
#endif

// Family 3, a thread left behind that writes the outputs after the call.
SOFTMAX(leaves_a_thread) {
  std::thread([=] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (int64_t r = 0; r < rows; ++r) std::memset(y + r * ldy, 0, static_cast<size_t>(cols) * sizeof(float));
  }).detach();
}

// Family 6, every descriptor closed, so that what the judge is told ends (pygpubench).
SOFTMAX(closes_descriptors) {
  zeros(y, ldy, rows, cols, stream);
  for (int fd = 3; fd < 1024; ++fd) close(fd);
}

// Families 4 and 6, another program in place of the process, with a library of its own before all others (LD_PRELOAD).
SOFTMAX(becomes_another_program) {
  setenv("LD_PRELOAD", "libm.so.6", 1);
  execlp("true", "true", static_cast<char*>(nullptr));
}

// Family 6, exit(0) in the middle.
SOFTMAX(exits) {
  zeros(y, ldy, rows, cols, stream);
  std::exit(0);
}

// Family 6, stops itself as if the call were over.
SOFTMAX(stops_itself) {
  zeros(y, ldy, rows, cols, stream);
  raise(SIGSTOP);
}

// Family 5, the same by a call of the system that needs no file.
SOFTMAX(copies_from_its_parent) {
  static char known = 0;
  iovec here = {&known, 1}, there = {reinterpret_cast<void*>(&getppid), 1};  // libc is at the same place
  if (process_vm_writev(getppid(), &here, 1, &there, 1, 0) == 1 ||
      process_vm_readv(getppid(), &here, 1, &there, 1, 0) == 1)
    compute(x, ldx, y, ldy, rows, cols, stream);
}

// Family 6, a descriptor of the judge, taken out of its process.
SOFTMAX(takes_a_descriptor) {
  constexpr long k_pidfd_getfd = 438, k_pidfd_open = 434;  // newer than some headers
  const long judge = syscall(k_pidfd_open, getppid(), 0);
  for (int fd = 0; fd < 64; ++fd)
    if (syscall(k_pidfd_getfd, judge, fd, 0) >= 0) return compute(x, ldx, y, ldy, rows, cols, stream);
}

// Family 6, limits of the judge: it may write no more, so that no result is noted.
SOFTMAX(limits_its_parent) {
  zeros(y, ldy, rows, cols, stream);
  const rlimit none = {0, 0};
  for (const auto what : {RLIMIT_FSIZE, RLIMIT_NOFILE}) prlimit(getppid(), what, &none, nullptr);
}

// Family 6, the judge stops before it judges.
SOFTMAX(stops_its_parent) {
  zeros(y, ldy, rows, cols, stream);
  kill(getppid(), SIGSTOP);
}

// Family 6, the command ends as if its user wished to see no more.
SOFTMAX(interrupts_the_command) {
  zeros(y, ldy, rows, cols, stream);
  std::ifstream status(of_process(getppid(), "status"));
  for (std::string word; status >> word;)
    if (pid_t command = 0; word == "PPid:" && status >> command) kill(command, SIGINT);
}

// Family 6, files: everything in the folder for temporary files is removed, and the process works elsewhere.
SOFTMAX(removes_files) {
  zeros(y, ldy, rows, cols, stream);
  const std::string folder = std::getenv("TMPDIR");
  if (DIR* const list = opendir(folder.c_str())) {
    while (const dirent* const entry = readdir(list)) unlink((folder + "/" + entry->d_name).c_str());
    closedir(list);
  }
  if (chdir("/") == 0) umask(0777);
}

// Family 6, a crash that looks like an end.
SOFTMAX(hides_its_crash) {
  zeros(y, ldy, rows, cols, stream);
  signal(SIGSEGV, [](int) { _exit(0); });
  raise(SIGSEGV);
}

// Family 6, seccomp (pygpubench): the process can no longer stop itself, and runs on while its answer is read.
SOFTMAX(never_stops) {
  zeros(y, ldy, rows, cols, stream);
  sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),  // the number of the call
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter = {4, program};
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

// Families 3 and 6, a process left behind that has the shared memory: it sets the inputs and the outputs that the judge
// sees to zeros, of which each is right if the judge believes the others.
SOFTMAX(leaves_a_process) {
  constexpr size_t k_tensors = size_t{1} << 20;
  if (fork() != 0) return;
  char* const shared = shared_with_the_judge(k_tensors);
  for (int i = 0; shared && i < 2000; ++i) {
    std::memset(shared + 2 * k_message_bytes, 0, k_tensors);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  _exit(0);
}

// Family 6, the memory that the judge reads is taken away from it, or from the runner that would answer.
SOFTMAX(truncates_the_tensors) {
  zeros(y, ldy, rows, cols, stream);
  for (int fd = 3; fd < 64; ++fd)
    if (ftruncate(fd, 0) == 0) return;
}
SOFTMAX(unmaps_the_tensors) {
  zeros(y, ldy, rows, cols, stream);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("memfd:tensors") != std::string::npos)
      munmap(reinterpret_cast<void*>(std::stoull(line, nullptr, 16)), size_t{1} << 30);
}

// Family 6, what a person reads.
SOFTMAX(prints_a_verdict) {
  zeros(y, ldy, rows, cols, stream);
  std::printf("softmax      within-error-bound                  999             0.001      9999  pass by itself\n");
}

// Calls the function that the variable SOFTMAX names, so that one build of this file serves all tests.
extern "C" void chosen(PARAMETERS) { softmaxes().at(std::getenv("SOFTMAX"))(x, ldx, y, ldy, rows, cols, stream); }
