// Which worker has which position of a run: each takes the next one that nobody has, so that no worker waits for
// another's long cases.
#pragma once

#include <cstddef>
#include <cstdint>

#include "properties/engine/processes/shared_words.hpp"

namespace warpcheck::engine {

// Memory that the parent and its workers share. It can be written only within take(), give() and set_next(), so that a
// wild write of the code on trial ends its process; a position that is lost all the same is still missing at the end,
// and the parent puts the claims back to it.
class claims {
 public:
  // Throws environment_error where the memory cannot be mapped.
  explicit claims(size_t workers);

  // The next position that nobody took, which is then the worker's; it may be beyond the last one of the run.
  int64_t take(size_t worker);
  // Gives the worker this position; the next one stays what it is.
  void give(size_t worker, int64_t position);
  // What the worker took last, or was given; -1: nothing yet.
  int64_t of(size_t worker) const { return words_[1 + worker].load(); }
  // The next position that take() returns.
  int64_t next() const { return words_[0].load(); }
  void set_next(int64_t position);

 private:
  shared_words words_;
};

}  // namespace warpcheck::engine
