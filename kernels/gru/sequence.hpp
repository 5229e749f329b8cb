// Rows of a sequence: lengths, marks, and the state that enters a step; gate functions.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/primitives/logistic.hpp"
#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

struct gru_sequence {
  int64_t time, batch, hidden;
  int directions;
  const int64_t* lengths;
  const uint8_t* reset;
  const float* h0;
  const float* h_reset;
  const float* y;

  __device__ int64_t length(int64_t b) const {
    if (lengths == nullptr) return time;
    const int64_t wanted = lengths[b];
    return wanted < 0 ? 0 : wanted > time ? time : wanted;
  }
  __device__ bool marked(int64_t t, int64_t b) const { return reset != nullptr && reset[t * batch + b] != 0; }
  // True if h_reset enters step t of a row of this length.
  __device__ bool enters_reset(int d, int64_t t, int64_t b, int64_t length) const {
    return d == 0 ? marked(t, b) : t + 1 < length && marked(t + 1, b);
  }
  __device__ __host__ int64_t state(int d, int64_t b) const { return (d * batch + b) * hidden; }
  __device__ __host__ int64_t y_row(int d, int64_t t, int64_t b) const {
    return ((t * batch + b) * directions + d) * hidden;
  }
  // The state that enters step t; null: zeros.
  __device__ const float* entering(int d, int64_t t, int64_t b, int64_t length) const {
    if (enters_reset(d, t, b, length)) return h_reset == nullptr ? nullptr : h_reset + state(d, b);
    if (d == 0 ? t == 0 : t + 1 == length) return h0 == nullptr ? nullptr : h0 + state(d, b);
    return y + y_row(d, d == 0 ? t - 1 : t + 1, b);
  }
};

// The steps [begin, end) of each direction in one launch.
struct gru_chunk {
  int64_t begin[2], end[2];
  bool first, last;

  __device__ __host__ int64_t steps() const { return end[0] - begin[0]; }
};

// Panels of gates or gradients: [direction][step - begin][batch][blocks * hidden].
struct gru_panel {
  float* data;
  int64_t steps, batch, hidden, blocks;
  int64_t begin[2];

  __device__ __host__ float* row(int d, int64_t t, int64_t b) const {
    return data + ((d * steps + (t - begin[d])) * batch + b) * blocks * hidden;
  }
};

// exp errs by 5u, the sum and the quotient by u each. Below -104 the exponential may be one subnormal instead of 0.
// Neither function branches, because lanes on both sides of a branch would run one after the other.
__device__ inline float gru_logistic(float a) {
  const float e = expf(-fabsf(a));
  return unit_quotient(a >= 0.0f ? 1.0f : a > -104.0f ? e : 0.0f, 1.0f + e);
}

// From 0.7 on 1 - 2 / (1 + e^2|a|): the exponent errs by 2|a| 2u, the power by another 4u, the sum by u and the
// reciprocal by 2u, so that the quotient, at most 0.396, errs by 8.5u and the result by 3.9u, which is 6.5u of it.
// Below 0.7 a polynomial in a^2, cut off at 0.04u.
__device__ inline float gru_tanh(float a) {
  const float x = fabsf(a), s = x * x;
  float narrow = fmaf(2.06040296e-3f, s, -8.11326492e-3f);
  narrow = fmaf(narrow, s, 2.16893130e-2f);
  narrow = fmaf(narrow, s, -5.39481560e-2f);
  narrow = fmaf(narrow, s, 1.33332501e-1f);
  narrow = fmaf(narrow, s, -3.33333328e-1f);
  const float wide = fmaf(-2.0f, simt::reciprocal_approx(1.0f + simt::exp2_approx(x * 2.88539008f)), 1.0f);
  float4 both = {fmaf(x * s, narrow, x), wide, x, a};
  simt::compiler_barrier(both);
  return copysignf(both.z < 0.7f ? both.x : both.y, both.w);
}

struct gru_gates {
  float r, z, n;
};

__device__ inline gru_gates gru_gates_of(float gi_r, float gh_r, float gi_z, float gh_z, float gi_n, float gh_n) {
  const float r = gru_logistic(gi_r + gh_r);
  const float z = gru_logistic(gi_z + gh_z);
  return {r, z, gru_tanh(fmaf(r, gh_n, gi_n))};
}

struct gru_gate_gradients {
  float r, z, n, hn;
};

__device__ inline gru_gate_gradients gru_gradients_of(float e, float r, float z, float n, float hn, float h_prev) {
  const float d_n = e * (1.0f - z) * fmaf(-n, n, 1.0f);
  return {d_n * hn * r * (1.0f - r), e * (h_prev - n) * z * (1.0f - z), d_n, d_n * r};
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
