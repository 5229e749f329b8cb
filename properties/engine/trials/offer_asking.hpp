// Determines a candidate's offer by calling it: a call that it answers with WARPCHECK_UNSUPPORTED loses trait after
// trait, until the candidate accepts the call with one trait less.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "properties/engine/cases/offer.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::engine {

// Returns the elements of all tensors but workspaces, which add no cost to a call.
int64_t elements_without_workspaces(const trial_case& c);

struct asked_offer {
  offer found;
  std::set<std::string> answered;  // of answered calls with elements: optional tensors, numbers, SCALAR=VALUE
  double seconds_of_row = 0;       // that the extent `rows` adds to a call for each row, as far as it was measured
};

// Inputs that a call need not read if a scalar has this value. Every operator's file registers its own once, before
// main.
struct unread_inputs {
  std::string op, scalar;
  double value = 0;
  std::vector<std::string> tensors;
};
struct unread_registration {
  explicit unread_registration(unread_inputs unread);
};

constexpr int64_t k_most_elements_of_question = int64_t{1} << 14;

// Asks calls like the cases of these properties, from question number `first` on, given what is already known, with at
// most `most_elements` where such a case exists.
// `answered` is called before each question with its number and the knowledge by then, so that a question that ends the
// process can be skipped; `calls` before each call of a question. Returns nothing if every call with elements was
// answered by unsupported.
std::optional<asked_offer> ask_offer(const target& t, std::span<const property* const> properties, int64_t first,
                                     int64_t most_elements, offer known,
                                     const std::function<void(int64_t question, const offer&)>& answered,
                                     const std::function<void()>& calls);

}  // namespace warpcheck::engine
