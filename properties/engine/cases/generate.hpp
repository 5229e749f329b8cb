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

// Within the target's max_rows and max_cols: a case that goes beyond is drawn again, the index counting on, so that
// generators that stratify by it come to what fits; no_case_fits where nothing does: the property is about larger ones.
// `attempt`: how often the case of this index was drawn before, in vain.
trial_case generate_case(const property& p, const target& t, uint64_t seed, int64_t index, int64_t attempt = 0);

// What keeps a property from having cases within the target's offer: "needs lengths", "" where that is not the reason.
std::string missing_trait(const property& p, const target& t, uint64_t seed);

// What a candidate offers for an operator on a device, per dtype that it supports. Loads the candidate.
std::vector<target> find_targets(std::string_view candidate, std::string_view op, std::string_view device);

}  // namespace warpcheck::engine
