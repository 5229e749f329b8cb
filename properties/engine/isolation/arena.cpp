#include "properties/engine/isolation/arena.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "properties/engine/error.hpp"
#include "properties/engine/isolation/tape.hpp"

namespace warpcheck::engine {
namespace {

struct message_head {
  uint64_t number, size;
};

[[noreturn]] void fail_to_share() {
  throw environment_error(
      fmt::format("isolate: no shared memory for the candidate's process: {}; a limit of file sizes (ulimit -f) "
                  "counts, and --no-isolate needs none",
                  std::strerror(errno)));
}

}  // namespace

arena::arena() : file_("tensors") {
  if (ftruncate(descriptor(), static_cast<off_t>(k_capacity)) != 0) fail_to_share();
  map();
}

arena::arena(int descriptor) : file_(descriptor) {
  map();
  madvise(base_, k_capacity, MADV_DONTFORK);  // processes that a candidate forks do not get the memory
}

arena::~arena() { munmap(base_, k_capacity); }

void arena::map() {
  void* const p = mmap(nullptr, k_capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor(), 0);
  if (p == MAP_FAILED) fail_to_share();
  base_ = static_cast<char*>(p);
}

void arena::discard(size_t offset, size_t bytes) const {
  fallocate(descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(k_tensors + offset),
            static_cast<off_t>(bytes));
}

void arena::write(size_t slot, uint64_t number, const std::string& bytes) const {
  char* const begin = base_ + slot * k_message;
  const message_head head = {number, bytes.size()};
  if (bytes.size() > k_message - sizeof head) throw std::runtime_error("a message is longer than its memory");
  std::memcpy(begin + sizeof head, bytes.data(), bytes.size());
  std::memcpy(begin, &head, sizeof head);
}

bool arena::has_answer(uint64_t number) const {
  message_head head;
  std::memcpy(&head, base_ + k_message, sizeof head);
  return head.number == number;
}

std::string arena::read(size_t slot, uint64_t number) const {
  const char* const begin = base_ + slot * k_message;
  message_head head;
  std::memcpy(&head, begin, sizeof head);
  if (head.number != number)
    throw malformed_message(fmt::format("its number is {} in place of {}", head.number, number));
  if (head.size > k_message - sizeof head)
    throw malformed_message(fmt::format("its size is {} bytes, at most {}", head.size, k_message - sizeof head));
  return {begin + sizeof head, static_cast<size_t>(head.size)};
}

}  // namespace warpcheck::engine
