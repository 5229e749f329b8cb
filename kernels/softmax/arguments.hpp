// The arguments of every softmax kernel.
#pragma once

#include <cstdint>

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

template <class T>
struct softmax_arguments {
  const T* x;
  int64_t ldx;
  T* y;
  int64_t ldy;
  int64_t rows;
  int64_t cols;
  int64_t* argmax;  // or nullptr
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
