// Asks a candidate what it offers before cases are made for it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "properties/engine/trials/property.hpp"

namespace warpcheck::cli {

// Gives each target the offer that its candidate's answers show, and prints it. All of a built-in candidate is offered.
void ask_offers(std::vector<engine::target>& targets);

// Why the property cannot be asked of a candidate with this offer: "needs lengths"; "" where it can. Cases of it are
// tried in processes of their own.
std::string unmet_need(const engine::property& p, const engine::target& t,
                       const std::function<engine::trial_case(int64_t index)>& make, uint64_t seed);

}  // namespace warpcheck::cli
