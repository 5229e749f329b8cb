// Regime `product`: one launch for each part of a step. The recurrent sums are a product of matrices; the kernels of
// this file do the rest, with a thread for each unit of a row. States and dh lie in device memory.
#pragma once

#include <cstdint>

#include "kernels/gru/steps.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_gru_separate_threads = 256;

// Element i of [directions, batch, hidden].
struct gru_unit {
  int d;
  int64_t b, k;

  __device__ gru_unit(const gru_sequence& s, int64_t i)
      : d(static_cast<int>(i / (s.batch * s.hidden))), b(i / s.hidden % s.batch), k(i % s.hidden) {}
};

template <class Visit>
__device__ void gru_for_units(const gru_sequence& s, const Visit& visit) {
  const int64_t count = s.directions * s.batch * s.hidden, step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    visit(gru_unit(s, i), i);
}

__global__ void __launch_bounds__(k_gru_separate_threads) gru_forward_begin(gru_forward_steps p) {
  gru_for_units(p.s, [&](const gru_unit& u, int64_t i) { p.carry[i] = p.initial(u.d, u.b, u.k); });
}

// sums [directions, batch, 3 hidden]: the sums of the step, including biases.
__global__ void __launch_bounds__(k_gru_separate_threads)
    gru_forward_step(gru_forward_steps p, const float* sums, int64_t step) {
  const int64_t hidden = p.s.hidden;
  gru_for_units(p.s, [&](const gru_unit& u, int64_t i) {
    const int64_t t = p.time(u.d, step);
    const float* const gh = sums + (u.d * p.s.batch + u.b) * 3 * hidden + u.k;
    const gru_forward_place place = p.place(u.d, t, u.b, u.k);
    const float h = p.carry[i];
    const gru_forward_result result = p.advance(p.inputs(t, place), gh[0], gh[hidden], gh[2 * hidden], h);
    p.write(u.d, t, u.b, u.k, place, result);
    p.carry[i] = p.next_state(u.d, t, u.b, u.k, place.length, result.y, h);
  });
}

// Ends step `step`-1 with its sums [directions, batch, hidden], then makes the gradients of step `step`. Before the
// first step there is none to end; after the last one none begins.
__global__ void __launch_bounds__(k_gru_separate_threads)
    gru_backward_step(gru_backward_steps p, const float* sums, int64_t step) {
  gru_for_units(p.s, [&](const gru_unit& u, int64_t i) {
    float dh;
    if (step == 0) {
      dh = p.initial(u.d, u.b, u.k);
    } else {
      dh = p.carry[i];
      p.hand_over(u.d, p.time(u.d, step - 1), u.b, u.k, sums[i], &dh);
    }
    if (step == p.chunk.steps()) {
      p.finish(u.d, u.b, u.k, dh);
      return;
    }
    const int64_t t = p.time(u.d, step);
    const gru_backward_place place = p.place(u.d, t, u.b, u.k);
    p.write(place, p.gradients(t, place, p.inputs(u.d, t, u.b, u.k, place), &dh));
    p.carry[i] = dh;
  });
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
