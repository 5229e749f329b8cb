#include "properties/engine/processes/claims.hpp"

namespace warpcheck::engine {

claims::claims(size_t workers) : words_(1 + workers, -1) {
  words_[0].store(0);
  words_.allow_writes(false);
}

int64_t claims::take(size_t worker) {
  words_.allow_writes(true);
  const int64_t position = words_[0].fetch_add(1);
  words_[1 + worker].store(position);
  words_.allow_writes(false);
  return position;
}

void claims::give(size_t worker, int64_t position) {
  words_.allow_writes(true);
  words_[1 + worker].store(position);
  words_.allow_writes(false);
}

void claims::set_next(int64_t position) {
  words_.allow_writes(true);
  words_[0].store(position);
  words_.allow_writes(false);
}

}  // namespace warpcheck::engine
