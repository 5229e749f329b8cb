// For properties that compare the bits of two calls.
#pragma once

#include "properties/engine/trials/trial.hpp"

namespace warpcheck {

// Ends a case whose launches may differ in their bits (--accept nondeterministic).
inline void need_equal_launches(engine::trial& t) {
  if (t.the_case().knob("agree") == "free") t.need("the same bits from launch to launch");
}

}  // namespace warpcheck
