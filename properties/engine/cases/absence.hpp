// The trait of calls without an optional tensor.
#pragma once

#include <string>
#include <string_view>

#include "properties/engine/cases/offer.hpp"

namespace warpcheck::engine {

// The value of a trait of kind `present` if the tensor is not there; the text is "bias absent".
inline constexpr std::string_view k_absent = "absent";
inline trait absence_of(const std::string& tensor) { return {trait::present, tensor, std::string(k_absent), 0}; }

}  // namespace warpcheck::engine
