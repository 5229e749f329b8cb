// Vectors of the device that are used while a kernel runs.
#pragma once

#include <memory>
#include <vector>

namespace simt {
inline namespace emu {

// Their code is this type's own: that of std::vector in a user's instrumented source would call the race detector.
template <class T>
struct own_allocator : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = own_allocator<U>;
  };
};
template <class T>
using own_vector = std::vector<T, own_allocator<T>>;

}  // namespace emu
}  // namespace simt
