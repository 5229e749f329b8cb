// Sigmoid with shift and gain, element by element.
//
// Contract (the reference, properties and golden data refer to this comment)
//   y[i] = 1 / (1 + exp(-z)),  z = (x[i] - mu) * sigma.
//
// Arguments
//   x, y    n elements of T in device memory, aligned to one element. T: float, simt::f16, simt::bf16; arithmetic
//           is f32. y == x is allowed, with the bits of the out-of-place call; any other overlap is an error. Source:
//           the logistic function, NIST Digital Library of Mathematical Functions, 4.2 (exp).
//   n       >= 0; may exceed 2^32.
//   mu      the shift; sigma the gain: it multiplies.
//   stream  the work is ordered on it; the call does not wait.
//
// Special values. NaN in x, mu or sigma gives NaN; z = +Inf gives 1, z = -Inf gives +0; x = mu with a finite sigma
// gives exactly 0.5, as does sigma = 0 with a finite x; Inf * 0 and Inf - Inf give NaN; x - mu beyond f32 counts as
// infinite. Subnormal results are kept.
//
// Error. |y - exact| <= y [(1+u)/(1-u) (1 + (1-y) t/(1-t)) - 1] + 4 eta with t = (1 + eps_e) exp(gamma_2 min(|z|,104))
// - 1 (docs/numerics.md): both tails are relative. A result in a 16-bit T is rounded once more. Same input, same bits.
//
// Throws std::invalid_argument (negative n, null or misaligned pointer with n > 0, illegal overlap) and
// simt::device_error (failed launch).
#pragma once

#include <cstdint>

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// No other type has an overload.
void sigmoid(const float* x, float* y, int64_t n, float mu, float sigma, simt::stream_t stream);
void sigmoid(const simt::f16* x, simt::f16* y, int64_t n, float mu, float sigma, simt::stream_t stream);
void sigmoid(const simt::bf16* x, simt::bf16* y, int64_t n, float mu, float sigma, simt::stream_t stream);

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
