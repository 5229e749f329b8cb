// Rules of sizes: a least or largest extent, or a multiple, as the answers of a candidate show them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "properties/engine/cases/offer.hpp"

namespace warpcheck::engine {

inline constexpr int64_t k_most_multiple = 256;

// True if a call of this size is answered; nothing if no such call can be made.
using size_answers = std::function<std::optional<bool>(int64_t size)>;

// The sizes that a candidate refuses, as far as its answers beside a refused size show.
struct size_rule {
  std::optional<trait::kind_type> kind;
  int64_t size = 0;
};

// Returns the rule by which this size is refused. The rule must predict the answers on both sides of its border: a
// candidate that refuses every seventh size has neither a least size nor a multiple.
size_rule rule_of(const size_answers& answers, int64_t size);

}  // namespace warpcheck::engine
