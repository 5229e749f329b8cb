#include "properties/engine/processes/claims.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "properties/engine/error.hpp"

namespace warpcheck::engine {

claims::claims(size_t workers) : bytes_((1 + workers) * sizeof(word)) {
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw environment_error(fmt::format("cannot map memory: {}", std::strerror(errno)));
  words_ = static_cast<word*>(memory);
  new (&words_[0]) word(0);
  for (size_t w = 0; w < workers; ++w) new (&words_[1 + w]) word(-1);
  allow_writes(false);
}

claims::~claims() { munmap(words_, bytes_); }

int64_t claims::take(size_t worker) {
  allow_writes(true);
  const int64_t position = words_[0].fetch_add(1);
  words_[1 + worker].store(position);
  allow_writes(false);
  return position;
}

void claims::give(size_t worker, int64_t position) {
  allow_writes(true);
  words_[1 + worker].store(position);
  allow_writes(false);
}

void claims::set_next(int64_t position) {
  allow_writes(true);
  words_[0].store(position);
  allow_writes(false);
}

void claims::allow_writes(bool allow) const { mprotect(words_, bytes_, allow ? PROT_READ | PROT_WRITE : PROT_READ); }

}  // namespace warpcheck::engine
