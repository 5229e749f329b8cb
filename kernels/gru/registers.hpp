// Regime `registers`, hidden <= Width: thread (g, k) of a block keeps the Width weights of a gate's unit in registers
// for the whole sequence, forwards row k of gate g, backwards column k. A step costs two barriers and Width FMA a row.
// Up to 64 units as many threads again have the gates of the units: while the others multiply they write what came of
// the step before and read what the next one needs.
#pragma once

#include <cstdint>

#include "kernels/gru/operand.hpp"
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

// Threads with weights, and those with gates: the same ones where registers are scarce.
template <int Width>
struct gru_registers_threads {
  static constexpr bool k_apart = Width <= 64;
  static constexpr int k_dots = 3 * Width, k_all = k_apart ? 2 * k_dots : k_dots;
  // Number among the threads with gates, negative for the others.
  __device__ static int item() { return static_cast<int>(threadIdx.x) - (k_apart ? k_dots : 0); }
};

// Additions in a chain of gru_dot; backwards three gates are added besides.
constexpr int64_t gru_registers_depth(int64_t hidden, bool backward) {
  return (hidden + 3) / 4 + 2 + (backward ? 2 : 0);
}

constexpr int64_t gru_registers_shared_floats(int64_t width, int64_t rows, bool backward, bool rounds) {
  return rows * width * (backward ? 7 : rounds ? 5 : 4);
}

template <int Width, class Operand>
__global__ void __launch_bounds__(gru_registers_threads<Width>::k_all)
    gru_forward_registers(gru_forward_steps p, Operand operand) {
  SIMT_DYN_SHARED(float, h);  // [rows][Width], then sums [rows][3 Width], then states where h is rounded
  const gru_sequence& s = p.s;
  const gru_rows rows(s.batch, p.rows_per_block, blockIdx.x);
  using threads = gru_registers_threads<Width>;
  const int thread = static_cast<int>(threadIdx.x), gate = thread / Width % 3, unit = thread % Width;
  const int item = threads::item();
  const bool multiplies = thread < threads::k_dots;
  const int hidden = static_cast<int>(s.hidden), d = rows.d;
  float* const sums = h + p.rows_per_block * Width;
  float* const own = Operand::k_rounds ? sums + p.rows_per_block * 3 * Width : h;

  float w[Width];
  const float* const weights = p.w_hh[d] + (static_cast<int64_t>(gate) * hidden + unit) * hidden;
#pragma unroll
  for (int j = 0; j < Width; ++j) w[j] = operand(multiplies && unit < hidden && j < hidden ? weights[j] : 0.0f);
  const float bias = unit < hidden && p.b_hh[d] != nullptr ? p.b_hh[d][gate * hidden + unit] : 0.0f;

  for (int i = thread; i < rows.count * Width; i += threads::k_all) {
    const int k = i % Width;
    own[i] = k < hidden ? p.initial(d, rows.begin + i / Width, k) : 0.0f;
    if (Operand::k_rounds) h[i] = operand(own[i]);
  }
  // The first unit of a row that a thread has is read early, and written late where the threads are apart. Where they
  // are not, registers are scarce, and its place is made anew.
  const int64_t steps = p.chunk.steps();
  const bool has_first = item >= 0 && item < rows.count * Width && unit < hidden && steps > 0;
  gru_forward_place first = {};
  gru_forward_inputs in = {};
  gru_forward_result result = {};
  const auto place_first = [&](int64_t step, bool moves) {
    if (threads::k_apart && moves) {
      p.move_on(d, &first);
    } else {
      first = p.place(d, p.time(d, step), rows.begin + gate, unit);
    }
  };
  const auto write_first = [&](int64_t step) { p.write(d, p.time(d, step), rows.begin + gate, unit, first, result); };
  if (has_first) place_first(0, false);
  if (has_first) in = p.inputs(p.time(d, 0), first);
  __syncthreads();
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t t = p.time(d, step);
    if (has_first && step > 0) {
      if (threads::k_apart) write_first(step - 1);
      place_first(step, true);
      in = p.inputs(t, first);
    }
    for (int row = 0; multiplies && row < rows.count; ++row)
      sums[row * 3 * Width + thread] = gru_dot<Width>(w, h + row * Width) + bias;
    __syncthreads();
    const auto advance = [&](int i, int64_t length, const gru_forward_inputs& inputs) {
      const float* const of_row = sums + i / Width * 3 * Width + unit;
      const gru_forward_result r = p.advance(inputs, of_row[0], of_row[Width], of_row[2 * Width], own[i]);
      own[i] = p.next_state(d, t, rows.begin + i / Width, unit, length, r.y, own[i]);
      if (Operand::k_rounds) h[i] = operand(own[i]);
      return r;
    };
    if (!threads::k_apart && has_first) place_first(step, false);
    if (has_first) result = advance(item, first.length, in);
    if (!threads::k_apart && has_first) write_first(step);
    for (int i = item + 3 * Width; i < rows.count * Width && item >= 0; i += 3 * Width) {
      if (unit >= hidden) continue;
      const gru_forward_place place = p.place(d, t, rows.begin + i / Width, unit);
      p.write(d, t, rows.begin + i / Width, unit, place, advance(i, place.length, p.inputs(t, place)));
    }
    __syncthreads();
  }
  if (threads::k_apart && has_first) write_first(steps - 1);
  if (p.chunk.last) return;
  for (int i = thread; i < rows.count * Width; i += threads::k_all) {
    const int k = i % Width;
    if (k < hidden) p.carry[s.state(d, rows.begin + i / Width) + k] = own[i];
  }
}

template <int Width, class Operand>
__global__ void __launch_bounds__(gru_registers_threads<Width>::k_all)
    gru_backward_registers(gru_backward_steps p, Operand operand) {
  SIMT_DYN_SHARED(float, dh);  // [rows][Width], then dgh and sums, each [rows][3][Width]
  const gru_sequence& s = p.s;
  const gru_rows rows(s.batch, p.rows_per_block, blockIdx.x);
  using threads = gru_registers_threads<Width>;
  const int thread = static_cast<int>(threadIdx.x), gate = thread / Width % 3, unit = thread % Width;
  const int item = threads::item();
  const bool multiplies = thread < threads::k_dots;
  const int hidden = static_cast<int>(s.hidden), d = rows.d;
  float* const dgh = dh + p.rows_per_block * Width;
  float* const sums = dgh + p.rows_per_block * 3 * Width;

  float w[Width];
  const float* const weights = p.w_hh[d] + static_cast<int64_t>(gate) * hidden * hidden + unit;
#pragma unroll
  for (int j = 0; j < Width; ++j)
    w[j] = operand(multiplies && unit < hidden && j < hidden ? weights[static_cast<int64_t>(j) * hidden] : 0.0f);

  for (int i = item; i < rows.count * Width && item >= 0; i += 3 * Width) {
    const int row = i / Width, k = i % Width;
    dh[i] = k < hidden ? p.initial(d, rows.begin + row, k) : 0.0f;
    for (int g = 0; g < 3; ++g) dgh[(row * 3 + g) * Width + k] = 0.0f;  // beyond hidden it stays so
  }
  const int64_t steps = p.chunk.steps();
  const bool has_first = item >= 0 && item < rows.count * Width && unit < hidden && steps > 0;
  gru_backward_place first = {};
  gru_backward_inputs in = {};
  const auto place_first = [&](int64_t step, bool moves) {
    if (threads::k_apart && moves) {
      p.move_on(d, &first);
    } else {
      first = p.place(d, p.time(d, step), rows.begin + gate, unit);
    }
  };
  if (has_first) place_first(0, false);
  if (has_first) in = p.inputs(d, p.time(d, 0), rows.begin + gate, unit, first);
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t t = p.time(d, step);
    const auto begin = [&](int i, const gru_backward_place& place, const gru_backward_inputs& inputs) {
      const gru_backward_result r = p.gradients(t, place, inputs, &dh[i]);
      float* const to = dgh + i / Width * 3 * Width + unit;
      to[0] = operand(r.g.r);
      to[Width] = operand(r.g.z);
      to[2 * Width] = operand(r.g.hn);
      return r;
    };
    gru_backward_result result = {};
    if (!threads::k_apart && has_first) place_first(step, false);
    if (has_first) result = begin(item, first, in);
    if (!threads::k_apart && has_first) p.write(first, result);
    for (int i = item + 3 * Width; i < rows.count * Width && item >= 0; i += 3 * Width) {
      if (unit >= hidden) continue;
      const gru_backward_place place = p.place(d, t, rows.begin + i / Width, unit);
      p.write(place, begin(i, place, p.inputs(d, t, rows.begin + i / Width, unit, place)));
    }
    __syncthreads();
    if (has_first) {
      if (threads::k_apart) p.write(first, result);
      if (step + 1 < steps) {
        place_first(step + 1, true);
        in = p.inputs(d, p.time(d, step + 1), rows.begin + gate, unit, first);
      }
    }
    for (int row = 0; multiplies && row < rows.count; ++row)
      sums[row * 3 * Width + thread] = gru_dot<Width>(w, dgh + (row * 3 + gate) * Width);
    __syncthreads();
    for (int i = item; i < rows.count * Width && item >= 0; i += 3 * Width) {
      const int row = i / Width;
      const int64_t b = rows.begin + row, length = i == item ? first.length : s.length(b);
      if (unit >= hidden || t >= length) continue;
      const float* const of_row = sums + row * 3 * Width + unit;
      dh[i] = p.hand_over(d, t, b, length, unit, dh[i] + ((of_row[0] + of_row[Width]) + of_row[2 * Width]));
    }
  }
  for (int i = item; i < rows.count * Width && item >= 0; i += 3 * Width) {
    const int k = i % Width;
    if (k < hidden) p.finish(d, rows.begin + i / Width, k, dh[i]);
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
