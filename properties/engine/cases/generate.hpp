// From (property, target, seed, index) to a case: the same four give the same case on every machine.
#pragma once

#include <rapidcheck.h>

#include <string_view>
#include <vector>

#include "properties/engine/error.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::engine {

// The cases of a property as a RapidCheck generator; `index` is the case's number within its job.
rc::Gen<trial_case> cases(const property& p, const target& t, int64_t index);

// Generates a case within the target's max_rows and max_cols. A case beyond them is drawn again with the next index, so
// that generators that stratify by the index reach a case that fits. Throws no_case_fits if none does, because the
// property is about larger cases. `attempt`: number of earlier draws for this index that had nothing to judge.
trial_case generate_case(const property& p, const target& t, uint64_t seed, int64_t index, int64_t attempt = 0);

// Returns the statement that a property needs and the target does not make ("needs the statement 'batch-invariant'"),
// or "". Of such a property even a right kernel may have failures.
std::string missing_statement(const property& p, const target& t);

// Returns the trait for lack of which a property has no case within the target's offer ("needs lengths"), or "" if
// there is another reason.
std::string missing_trait(const property& p, const target& t, uint64_t seed);

// Returns the offer of a candidate for an operator on a device, for each dtype that it supports. Loads the candidate.
std::vector<target> find_targets(std::string_view candidate, std::string_view op, std::string_view device);

}  // namespace warpcheck::engine
