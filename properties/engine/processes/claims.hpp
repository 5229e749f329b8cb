// The positions of a run that workers have taken. Each worker takes the next free position, so no worker waits for
// another one's long cases.
#pragma once

#include <cstddef>
#include <cstdint>

#include "properties/engine/processes/shared_words.hpp"

namespace warpcheck::engine {

// Memory that the parent and its workers share. It is writable only within take(), give() and set_next(), so a wild
// write of the candidate ends its process. If a position is lost nevertheless, it is missing at the end, and the parent
// sets the next position back to it.
class claims {
 public:
  // Throws environment_error if the memory cannot be mapped.
  explicit claims(size_t workers);

  // Takes the next free position for the worker and returns it; it may be beyond the last one of the run.
  int64_t take(size_t worker);
  // Gives the worker this position; the next free position does not change.
  void give(size_t worker, int64_t position);
  // Returns the position that the worker took or was given last; -1: none yet.
  int64_t of(size_t worker) const { return words_[1 + worker].load(); }
  // The next position that take() returns.
  int64_t next() const { return words_[0].load(); }
  void set_next(int64_t position);

 private:
  shared_words words_;
};

}  // namespace warpcheck::engine
