// Rounding mode, flush-to-zero, denormals-are-zero and exception masks of this thread. A call that leaves them changed
// corrupts every later computation in its process, also that of the reference.
#pragma once

#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include <cfenv>

namespace warpcheck::engine {

#ifdef __SSE__
inline constexpr unsigned k_floating_point_controls = 0xffc0u;
inline unsigned floating_point_controls() { return _mm_getcsr() & k_floating_point_controls; }
inline void restore_floating_point_controls(unsigned controls) {
  _mm_setcsr((_mm_getcsr() & ~k_floating_point_controls) | controls);
}
#else
inline constexpr unsigned k_floating_point_controls = ~0u;
inline unsigned floating_point_controls() { return static_cast<unsigned>(std::fegetround()); }
inline void restore_floating_point_controls(unsigned controls) { std::fesetround(static_cast<int>(controls)); }
#endif

}  // namespace warpcheck::engine
