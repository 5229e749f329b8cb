// Finds out what a candidate offers by calling it: calls that it answers with WARPCHECK_UNSUPPORTED are made plainer,
// trait by trait, until one trait less would be answered.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "properties/engine/cases/offer.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::engine {

// Asks from question number `first` on, given what is known already. `answered` is called before each question with
// its number and what is known by then, so that a question which ends the process can be passed over. None where no
// call was answered.
std::optional<offer> ask_offer(const target& t, int64_t first, offer known,
                               const std::function<void(int64_t question, const offer&)>& answered);

}  // namespace warpcheck::engine
