// Regime `registers`, hidden <= Width: thread (g, k) of a block keeps the Width weights of a gate's unit in registers
// for the whole sequence, forwards row k of gate g, backwards column k. A step costs two barriers and Width FMA a row;
// what the next one reads of the gates is on its way meanwhile.
#pragma once

#include <cstdint>

#include "kernels/gru/steps.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_gru_most_rows = 8;  // of a block

// Four chains, so that a thread has four FMA under way.
template <int Width>
__device__ float gru_dot(const float (&w)[Width], const float* v) {
  float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
  for (int j = 0; j < Width; j += 4) {
    const float4 four = *reinterpret_cast<const float4*>(v + j);
    sum[0] = fmaf(w[j], four.x, sum[0]);
    sum[1] = fmaf(w[j + 1], four.y, sum[1]);
    sum[2] = fmaf(w[j + 2], four.z, sum[2]);
    sum[3] = fmaf(w[j + 3], four.w, sum[3]);
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// Additions in a chain of gru_dot; backwards three gates are added besides.
constexpr int64_t gru_registers_depth(int64_t hidden, bool backward) {
  return (hidden + 3) / 4 + 2 + (backward ? 2 : 0);
}

constexpr int64_t gru_registers_shared_floats(int64_t width, int64_t rows, bool backward) {
  return rows * width * (backward ? 7 : 4);
}

template <int Width>
__global__ void __launch_bounds__(3 * Width) gru_forward_registers(gru_forward_steps p) {
  SIMT_DYN_SHARED(float, h);  // [rows][Width], then sums [rows][3 Width]
  const gru_sequence& s = p.s;
  const gru_rows rows(s.batch, p.rows_per_block, blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x), gate = thread / Width, unit = thread % Width;
  const int hidden = static_cast<int>(s.hidden), d = rows.d;
  float* const sums = h + p.rows_per_block * Width;

  float w[Width];
  const float* const weights = p.w_hh[d] + (static_cast<int64_t>(gate) * hidden + unit) * hidden;
#pragma unroll
  for (int j = 0; j < Width; ++j) w[j] = unit < hidden && j < hidden ? weights[j] : 0.0f;
  const float bias = unit < hidden && p.b_hh[d] != nullptr ? p.b_hh[d][gate * hidden + unit] : 0.0f;

  for (int i = thread; i < rows.count * Width; i += 3 * Width) {
    const int k = i % Width;
    h[i] = k < hidden ? p.initial(d, rows.begin + i / Width, k) : 0.0f;
  }
  // The first unit of a row that this thread has is on its way before it is needed.
  const bool has_first = thread < rows.count * Width && unit < hidden && p.chunk.steps() > 0;
  gru_forward_place first = {};
  gru_forward_inputs in = {};
  if (has_first) first = p.place(d, p.time(d, 0), rows.begin + gate, unit);
  if (has_first) in = p.inputs(p.time(d, 0), first);
  __syncthreads();
  for (int64_t step = 0; step < p.chunk.steps(); ++step) {
    const int64_t t = p.time(d, step);
    for (int row = 0; row < rows.count; ++row)
      sums[row * 3 * Width + thread] = gru_dot<Width>(w, h + row * Width) + bias;
    __syncthreads();
    const auto advance = [&](int i, const gru_forward_place& place, const gru_forward_inputs& inputs) {
      const int row = i / Width;
      const float* const of_row = sums + row * 3 * Width + unit;
      const gru_forward_result result = p.advance(inputs, of_row[0], of_row[Width], of_row[2 * Width], h[i]);
      h[i] = p.next_state(d, t, rows.begin + row, unit, place.length, result.y, h[i]);
      p.write(d, t, rows.begin + row, unit, place, result);
    };
    if (has_first) advance(thread, first, in);
    for (int i = thread + 3 * Width; i < rows.count * Width; i += 3 * Width) {
      if (unit >= hidden) continue;
      const gru_forward_place place = p.place(d, t, rows.begin + i / Width, unit);
      advance(i, place, p.inputs(t, place));
    }
    if (has_first && step + 1 < p.chunk.steps()) {
      p.move_on(d, &first);
      in = p.inputs(p.time(d, step + 1), first);
    }
    __syncthreads();
  }
  if (p.chunk.last) return;
  for (int i = thread; i < rows.count * Width; i += 3 * Width) {
    const int k = i % Width;
    if (k < hidden) p.carry[s.state(d, rows.begin + i / Width) + k] = h[i];
  }
}

template <int Width>
__global__ void __launch_bounds__(3 * Width) gru_backward_registers(gru_backward_steps p) {
  SIMT_DYN_SHARED(float, dh);  // [rows][Width], then dgh and sums, each [rows][3][Width]
  const gru_sequence& s = p.s;
  const gru_rows rows(s.batch, p.rows_per_block, blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x), gate = thread / Width, unit = thread % Width;
  const int hidden = static_cast<int>(s.hidden), d = rows.d;
  float* const dgh = dh + p.rows_per_block * Width;
  float* const sums = dgh + p.rows_per_block * 3 * Width;

  float w[Width];
  const float* const weights = p.w_hh[d] + static_cast<int64_t>(gate) * hidden * hidden + unit;
#pragma unroll
  for (int j = 0; j < Width; ++j) w[j] = unit < hidden && j < hidden ? weights[static_cast<int64_t>(j) * hidden] : 0.0f;

  for (int i = thread; i < rows.count * Width; i += 3 * Width) {
    const int row = i / Width, k = i % Width;
    dh[i] = k < hidden ? p.initial(d, rows.begin + row, k) : 0.0f;
    for (int g = 0; g < 3; ++g) dgh[(row * 3 + g) * Width + k] = 0.0f;  // beyond hidden it stays so
  }
  const bool has_first = thread < rows.count * Width && unit < hidden && p.chunk.steps() > 0;
  gru_backward_place first = {};
  gru_backward_inputs in = {};
  if (has_first) first = p.place(d, p.time(d, 0), rows.begin + gate, unit);
  if (has_first) in = p.inputs(d, p.time(d, 0), rows.begin + gate, unit, first);
  for (int64_t step = 0; step < p.chunk.steps(); ++step) {
    const int64_t t = p.time(d, step);
    const auto begin = [&](int i, const gru_backward_place& place, const gru_backward_inputs& inputs) {
      const gru_backward_result result = p.gradients(t, place, inputs, &dh[i]);
      float* const to = dgh + i / Width * 3 * Width + unit;
      to[0] = result.g.r;
      to[Width] = result.g.z;
      to[2 * Width] = result.g.hn;
      p.write(place, result);
    };
    if (has_first) begin(thread, first, in);
    for (int i = thread + 3 * Width; i < rows.count * Width; i += 3 * Width) {
      if (unit >= hidden) continue;
      const gru_backward_place place = p.place(d, t, rows.begin + i / Width, unit);
      begin(i, place, p.inputs(d, t, rows.begin + i / Width, unit, place));
    }
    if (has_first && step + 1 < p.chunk.steps()) {
      p.move_on(d, &first);
      in = p.inputs(d, p.time(d, step + 1), rows.begin + gate, unit, first);
    }
    __syncthreads();
    for (int row = 0; row < rows.count; ++row)
      sums[row * 3 * Width + thread] = gru_dot<Width>(w, dgh + (row * 3 + gate) * Width);
    __syncthreads();
    for (int i = thread; i < rows.count * Width; i += 3 * Width) {
      const int row = i / Width;
      const int64_t b = rows.begin + row, length = i == thread ? first.length : s.length(b);
      if (unit >= hidden || t >= length) continue;
      const float* const of_row = sums + row * 3 * Width + unit;
      dh[i] = p.hand_over(d, t, b, length, unit, dh[i] + ((of_row[0] + of_row[Width]) + of_row[2 * Width]));
    }
  }
  for (int i = thread; i < rows.count * Width; i += 3 * Width) {
    const int k = i % Width;
    if (k < hidden) p.finish(d, rows.begin + i / Width, k, dh[i]);
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
