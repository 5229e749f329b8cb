// An answer that a candidate writes into the memory that its process shares with the judge (isolation/arena.hpp).
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>

constexpr size_t k_message_bytes = size_t{4} << 20;  // a request, then an answer; each begins with its number and size

// Returns the memory, or null in a process that is no runner.
inline char* shared_with_the_judge(size_t tensors = 0) {
  for (int fd = 3; fd < 64; ++fd) {
    char target[64] = "";
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (readlink(link.c_str(), target, sizeof target - 1) <= 0 || !std::strstr(target, "memfd:tensors")) continue;
    void* const shared = mmap(nullptr, 2 * k_message_bytes + tensors, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared != MAP_FAILED) return static_cast<char*>(shared);
  }
  return nullptr;
}

// Writes the head of an answer of this size over the one before, and stops the process as if the call were over.
// Returns if there is no such memory, or if the judge continues the process.
inline void forge_answer(uint64_t bytes) {
  char* const shared = shared_with_the_judge();
  if (!shared) return;
  std::memcpy(shared + k_message_bytes + sizeof bytes, &bytes, sizeof bytes);
  std::memcpy(shared + k_message_bytes, shared, sizeof(uint64_t));
  raise(SIGSTOP);
}
