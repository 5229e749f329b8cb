// Values that most tests of the reference name.
#pragma once

#include <limits>

namespace warpcheck::reference {

inline constexpr double k_inf = std::numeric_limits<double>::infinity();
inline constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace warpcheck::reference
