// Rounding of the operands of products to a precision. Products of such operands are exact in an FMA of f32, so regimes
// whose steps do not use tensor cores keep the contract of each precision, too.
#pragma once

#include "kernels/gru/gru.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/matmul/parts.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr bool gru_rounds(gru_precision p) { return p == gru_precision::tf32 || p == gru_precision::bf16; }

constexpr matmul_mode gru_matmul_mode(gru_precision p) {
  return p == gru_precision::ieee     ? matmul_mode::ieee
         : p == gru_precision::tf32x3 ? matmul_mode::tf32x3
         : p == gru_precision::tf32   ? matmul_mode::tf32x1
                                      : matmul_mode::bf16x1;
}

// An operand that is used as it is (ieee, tf32x3), or one that is rounded.
template <bool Rounds>
struct gru_operand {
  static constexpr bool k_rounds = false;
  __device__ float operator()(float x) const { return x; }
};
template <>
struct gru_operand<true> {
  static constexpr bool k_rounds = true;
  bool to_bf16;
  __device__ float operator()(float x) const {
    return to_bf16 ? simt::to_float(matmul_nearest_bf16(x)) : matmul_nearest_tf32(x);
  }
};

// Calls run(gru_operand of the precision).
template <class Run>
auto gru_with_operand(gru_precision p, const Run& run) {
  if (gru_rounds(p)) return run(gru_operand<true>{p == gru_precision::bf16});
  return run(gru_operand<false>{});
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
