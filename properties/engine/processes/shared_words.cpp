#include "properties/engine/processes/shared_words.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "properties/engine/error.hpp"

namespace warpcheck::engine {

shared_words::shared_words(size_t count, int64_t value) : bytes_(count * sizeof(word)) {
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw environment_error(fmt::format("cannot map memory: {}", std::strerror(errno)));
  words_ = static_cast<word*>(memory);
  for (size_t i = 0; i < count; ++i) new (&words_[i]) word(value);
}

shared_words::~shared_words() { munmap(words_, bytes_); }

void shared_words::allow_writes(bool allow) const {
  mprotect(words_, bytes_, allow ? PROT_READ | PROT_WRITE : PROT_READ);
}

}  // namespace warpcheck::engine
