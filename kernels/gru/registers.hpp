// Regime `registers`, hidden <= Width: a block keeps W_hh in registers for the whole sequence, and takes its rows one
// after another. Thread 2k has unit k besides its share of the sums: the lanes that add a unit's sums, of three gates
// or of the gradient that a step hands back, leave them in threads 2k and 2k + 1. So only states, or gradients of the
// gates, go through shared memory, in two buffers in turn. A step costs one barrier; each of 2 Width threads makes 3
// Width / 2 FMAs.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/gru/operand.hpp"
#include "kernels/gru/share.hpp"
#include "kernels/gru/steps.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_gru_most_rows = 8;  // of a block

// `Lanes` lanes have Lanes / 2 units. In the forward pass the three gates of a unit each sum over the states; in the
// backward pass a unit sums over the gradients of three gates.
template <int Width, int Lanes = 4>
using gru_forward_share = gru_share<2 * Width, 1, 1, 3 * Lanes / 2, Width / Lanes, 1, Lanes>;
template <int Width, int Lanes = Width <= 64 ? 8 : 16>
using gru_backward_share = gru_share<2 * Width, 3, 1, Lanes / 2, 3 * Width / Lanes, 1, Lanes>;

// Blocks that a multiprocessor holds, and steps between the request of inputs and their use, which needs a second set
// of registers.
__device__ __host__ constexpr int gru_registers_residents(int width) { return width <= 64 ? 2 : 1; }
__device__ __host__ constexpr int gru_registers_ahead(int width) { return width <= 64 ? 2 : 1; }
constexpr int64_t k_gru_most_steps = int64_t{1} << 30;  // of a chunk: counted by an int

// Calls run(the least width of registers for this many units, as a type).
template <class Run>
auto gru_with_width(int64_t hidden, const Run& run) {
  if (hidden <= 32) return run(std::integral_constant<int, 32>());
  if (hidden <= 64) return run(std::integral_constant<int, 64>());
  return run(std::integral_constant<int, 128>());
}

// Floats of shared memory: of two buffers.
__device__ __host__ constexpr int64_t gru_registers_shared_floats(int64_t width, bool backward) {
  return 2 * width * (backward ? 3 : 1);
}

// Steps [begin, begin + count) of a chunk are those that a row has.
struct gru_active_steps {
  int begin, count;
  int has_marks, saves;

  // Runs a chunk of steps from one time to another, upwards or downwards.
  __device__ gru_active_steps(bool goes_up, int64_t begin_time, int64_t end_time, int64_t length, bool marks,
                              bool saved)
      : has_marks(marks), saves(saved) {
    const int64_t steps = end_time - begin_time, within = length - begin_time;
    count = static_cast<int>(within < 0 ? 0 : within > steps ? steps : within);
    begin = goes_up ? 0 : static_cast<int>(steps) - count;
    simt::compiler_barrier(*this);
  }
  __device__ bool operator()(int step) const {
    return static_cast<unsigned>(step - begin) < static_cast<unsigned>(count);
  }
};

// Four weights in a row; zeros beyond `left` of them.
template <bool Aligned>
__device__ float4 gru_four_weights(const float* from, int64_t left) {
  float4 four = {0.0f, 0.0f, 0.0f, 0.0f};
  if constexpr (Aligned) {
    if (left > 0) four = *reinterpret_cast<const float4*>(from);
  } else {
    if (left > 0) four.x = from[0];
    if (left > 1) four.y = from[1];
    if (left > 2) four.z = from[2];
    if (left > 3) four.w = from[3];
  }
  return four;
}
// Calls load(a type that tells if vectors of W_hh are aligned).
template <class Load>
__device__ void gru_with_alignment(const float* w_hh, int64_t hidden, const Load& load) {
  if (hidden % 4 == 0 && reinterpret_cast<uintptr_t>(w_hh) % sizeof(float4) == 0)
    load(std::true_type());
  else
    load(std::false_type());
}

// A thread's weights: of the gates of its units in the forward pass, of the columns of its units in the backward pass.
template <class Share, class Operand>
__device__ void gru_load_gates(float (&w)[Share::k_thread_outputs][Share::k_thread_inner], const float* w_hh,
                               int64_t hidden, const Operand& operand) {
  gru_with_alignment(w_hh, hidden, [&](auto aligned) {
#pragma unroll
    for (int o = 0; o < Share::k_thread_outputs; ++o) {
      const int of_unit = Share::first_output() / 3 + o / 3;
      const float* const row = w_hh + (o % 3 * hidden + of_unit) * hidden;
#pragma unroll
      for (int i = 0; i < Share::k_thread_inner; i += 4) {
        const int j = Share::first_inner() + i / 4 * Share::k_stride;
        const int64_t left = of_unit < hidden ? hidden - j : 0;
        const float4 four = gru_four_weights<decltype(aligned)::value>(row + j, left);
        w[o][i] = operand(four.x), w[o][i + 1] = operand(four.y);
        w[o][i + 2] = operand(four.z), w[o][i + 3] = operand(four.w);
      }
    }
  });
}
template <class Share, class Operand>
__device__ void gru_load_columns(float (&w)[Share::k_thread_outputs][Share::k_thread_inner], const float* w_hh,
                                 int64_t hidden, const Operand& operand) {
  gru_with_alignment(w_hh, hidden, [&](auto aligned) {
#pragma unroll
    for (int i = 0; i < Share::k_thread_inner; ++i) {
      const int inner = Share::first_inner() + i / 4 * Share::k_stride + i % 4;
      const int gate = inner / Share::k_width, j = inner % Share::k_width;
#pragma unroll
      for (int o = 0; o < Share::k_thread_outputs; o += 4) {
        const int of_unit = Share::first_output() + o;
        const float* const from = w_hh + (gate * hidden + j) * hidden + of_unit;
        const float4 four = gru_four_weights<decltype(aligned)::value>(from, j < hidden ? hidden - of_unit : 0);
        w[o][i] = operand(four.x), w[o + 1][i] = operand(four.y);
        w[o + 2][i] = operand(four.z), w[o + 3][i] = operand(four.w);
      }
    }
  });
}

template <class Share, class Operand>
__global__ void __launch_bounds__(Share::k_threads, gru_registers_residents(Share::k_width))
    gru_forward_registers(gru_forward_steps p, Operand operand) {
  constexpr int k_width = Share::k_width, k_outputs = Share::k_thread_outputs;
  constexpr int k_ahead = gru_registers_ahead(k_width);
  SIMT_DYN_SHARED(float, states);  // [2][k_width]: the state that enters a step, and its result
  const gru_rows rows(p.s.batch, p.rows_per_block, blockIdx.x);
  const int d = rows.d, unit = static_cast<int>(threadIdx.x) / 2;
  const int64_t hidden = p.s.hidden;
  const int steps = static_cast<int>(p.chunk.steps());
  const bool is_first = threadIdx.x % 2 == 0, owns = is_first && unit < hidden;

  float w[k_outputs][Share::k_thread_inner];
  gru_load_gates<Share>(w, p.w_hh[d], hidden, operand);
  float bias[3] = {0.0f, 0.0f, 0.0f};
  for (int gate = 0; gate < 3; ++gate)
    if (owns && p.b_hh[d] != nullptr) bias[gate] = p.b_hh[d][gate * hidden + unit];

  for (int64_t b = rows.begin; b < rows.begin + rows.count; ++b) {
    float own = owns ? p.initial(d, b, unit) : 0.0f;
    if (b > rows.begin) __syncthreads();  // nobody reads the row before
    if (is_first) states[unit] = operand(own);
    if (is_first && !owns) states[k_width + unit] = 0.0f;
    gru_forward_place place = owns && steps > 0 ? p.place(d, p.time(d, 0), b, unit) : gru_forward_place{};
    gru_strides stride = p.strides(d);
    simt::compiler_barrier(stride);  // otherwise the compiler computes them again at each step
    const gru_active_steps active(d == 0, p.chunk.begin[d], p.chunk.end[d], place.length, p.s.reset != nullptr,
                                  p.gates.blocks == 4);
    gru_forward_inputs in[k_ahead] = {};
    for (int i = 0; i < k_ahead && i < steps && owns; ++i) in[i] = p.inputs(place.gates + i * stride.gates);
    const auto take = [&](int step, const float* from, float* to, gru_forward_inputs* inputs) {
      __syncthreads();
      float sum[k_outputs];
      gru_multiply_share<Share, 1>(w, from, sum);
      gru_add_lanes<k_outputs, Share::k_lanes / 2>(sum, Share::lane());
      if (!owns) return;
      const gru_forward_result result = p.advance(*inputs, sum[0] + bias[0], sum[1] + bias[1], sum[2] + bias[2], own);
      if (active.has_marks)
        own = p.next_state(d, p.time(d, step), b, unit, place.length, result.y, own);
      else
        own = active(step) ? result.y : own;
      to[unit] = operand(own);
      p.write(place, active(step), active.saves, result);
      p.move_on(stride, &place);
      if (step + k_ahead < steps) *inputs = p.inputs(place.gates + (k_ahead - 1) * stride.gates);
    };
    for (int step = 0; step < steps; step += 2) {
      take(step, states, states + k_width, &in[0]);
      if (step + 1 < steps) take(step + 1, states + k_width, states, &in[1 % k_ahead]);
    }
    if (!owns) continue;
    if (!p.chunk.last) p.carry[p.s.state(d, b) + unit] = own;
    if (p.chunk.last && p.hn != nullptr) p.hn[p.s.state(d, b) + unit] = own;
  }
}

// The step of a chunk that h0 enters; `steps` if the chunk does not have it.
__device__ inline int gru_step_of_h0(const gru_backward_steps& p, int d, int64_t length, const gru_active_steps& active,
                                     int steps) {
  const bool has = d == 0 ? p.chunk.begin[0] == 0 : length <= p.chunk.end[1];
  return has ? active.begin + active.count - 1 : steps;
}

template <class Share, class Operand>
__global__ void __launch_bounds__(Share::k_threads, gru_registers_residents(Share::k_width))
    gru_backward_registers(gru_backward_steps p, Operand operand) {
  constexpr int k_width = Share::k_width, k_outputs = Share::k_thread_outputs, k_ahead = gru_registers_ahead(k_width);
  SIMT_DYN_SHARED(float, dgh);  // [2][3][k_width]
  const gru_rows rows(p.s.batch, p.rows_per_block, blockIdx.x);
  const int d = rows.d, unit = static_cast<int>(threadIdx.x) / 2;
  const int64_t hidden = p.s.hidden;
  const int steps = static_cast<int>(p.chunk.steps());
  const bool is_first = threadIdx.x % 2 == 0, owns = is_first && unit < hidden;

  float w[k_outputs][Share::k_thread_inner];
  gru_load_columns<Share>(w, p.w_hh[d], hidden, operand);
  for (int i = unit; is_first && !owns && i < gru_registers_shared_floats(k_width, true); i += k_width) dgh[i] = 0.0f;

  for (int64_t b = rows.begin; b < rows.begin + rows.count; ++b) {
    float dh = owns ? p.initial(d, b, unit) : 0.0f;
    if (b > rows.begin) __syncthreads();  // nobody reads the row before
    gru_backward_place place = owns && steps > 0 ? p.place(d, p.time(d, 0), b, unit) : gru_backward_place{};
    gru_strides stride = p.strides(d);
    simt::compiler_barrier(stride);
    const gru_active_steps active(d == 1, p.chunk.begin[d], p.chunk.end[d], place.length, p.s.reset != nullptr, true);
    gru_backward_inputs in[k_ahead] = {};
    const int begins = gru_step_of_h0(p, d, place.length, active, steps);
    const auto read = [&](int step, int64_t later, gru_backward_inputs* to) {  // `later` steps than `place`
      if (step >= steps) return;
      const gru_backward_place at = p.later(place, stride, later);
      const float* entering = at.y + stride.y;
      if (active.has_marks || step == begins) entering = p.entering(d, p.time(d, step), b, unit, at);
      *to = p.inputs(at, active(step) ? entering : nullptr);
    };
    for (int i = 0; i < k_ahead && owns; ++i) read(i, i, &in[i]);
    float sum[k_outputs] = {};
    const auto take_over = [&](int step) {  // the result that a step handed back
      if (!active(step)) return;
      dh += sum[0];
      if (active.has_marks) dh = p.hand_over(d, p.time(d, step), b, place.length, unit, dh);
    };
    const auto take = [&](int step, float* exchanged, gru_backward_inputs* inputs) {
      if (owns) {
        if (step > 0) take_over(step - 1);
        const gru_backward_result result = p.gradients(active(step), *inputs, &dh);
        exchanged[unit] = operand(result.g.r);
        exchanged[k_width + unit] = operand(result.g.z);
        exchanged[2 * k_width + unit] = operand(result.g.hn);
        p.write(place.panel, result.g);
        if (p.trace_e != nullptr) *p.place(d, p.time(d, step), b, unit).trace_e = result.e;
        place = p.later(place, stride, 1);
        read(step + k_ahead, k_ahead - 1, inputs);
      }
      __syncthreads();
      gru_multiply_share<Share, 1>(w, exchanged, sum);
      gru_add_lanes<k_outputs, Share::k_lanes / 2>(sum, Share::lane());
    };
    for (int step = 0; step < steps; step += 2) {
      take(step, dgh, &in[0]);
      if (step + 1 < steps) take(step + 1, dgh + 3 * k_width, &in[1 % k_ahead]);
    }
    if (owns && steps > 0) take_over(steps - 1);
    if (owns) p.finish(d, b, unit, dh);
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
