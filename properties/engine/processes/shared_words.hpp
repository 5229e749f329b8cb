// Words that a process shares with those that it forks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace warpcheck::engine {

class shared_words {
 public:
  using word = std::atomic<int64_t>;
  static_assert(word::is_always_lock_free);

  // Throws environment_error if the memory cannot be mapped.
  shared_words(size_t count, int64_t value);
  ~shared_words();
  shared_words(const shared_words&) = delete;
  shared_words& operator=(const shared_words&) = delete;

  word& operator[](size_t i) const { return words_[i]; }
  // Allows or forbids this process to write the words; at first it may.
  void allow_writes(bool allow) const;

 private:
  size_t bytes_;
  word* words_;
};

}  // namespace warpcheck::engine
