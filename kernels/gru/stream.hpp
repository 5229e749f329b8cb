// Regime `stream`, any number of hidden units: a block reads W_hh once a step for all of its rows. Forwards a warp
// takes a gate's unit, its lanes share the products; backwards a thread takes a unit's column. States lie in the
// workspace.
#pragma once

#include <cstdint>

#include "kernels/gru/steps.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_gru_stream_threads = 256;
constexpr int k_gru_warp = 32;
constexpr int64_t k_gru_stream_part = 64;  // products of a chain backwards, before it is added to its sum

constexpr int64_t gru_stream_depth(int64_t hidden, bool backward) {
  if (!backward) return (hidden + k_gru_warp - 1) / k_gru_warp + 5;
  const int64_t part = hidden < k_gru_stream_part ? hidden : k_gru_stream_part;
  return part + (hidden + k_gru_stream_part - 1) / k_gru_stream_part + 2;
}

__global__ void __launch_bounds__(k_gru_stream_threads) gru_forward_stream(gru_forward_steps p) {
  const gru_sequence& s = p.s;
  const gru_rows rows(s.batch, p.rows_per_block);
  const int64_t hidden = s.hidden;
  const int d = rows.d;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % k_gru_warp, warp = thread / k_gru_warp;
  float* const h = p.carry + s.state(d, rows.begin);
  float* const sums = p.sums + 3 * s.state(d, rows.begin);

  for (int64_t k = thread; k < hidden; k += k_gru_stream_threads)
    for (int row = 0; row < rows.count; ++row) h[row * hidden + k] = p.initial(d, rows.begin + row, k);
  __syncthreads();
  for (int64_t step = 0; step < p.chunk.steps(); ++step) {
    const int64_t t = d == 0 ? p.chunk.begin[0] + step : p.chunk.end[1] - 1 - step;
    for (int64_t j = warp; j < 3 * hidden; j += k_gru_stream_threads / k_gru_warp) {
      const float* const w = p.w_hh[d] + j * hidden;
      float sum[k_gru_most_rows];
#pragma unroll
      for (int row = 0; row < k_gru_most_rows; ++row) sum[row] = 0.0f;
      for (int64_t k = lane; k < hidden; k += k_gru_warp) {
        const float weight = w[k];
#pragma unroll
        for (int row = 0; row < k_gru_most_rows; ++row)
          if (row < rows.count) sum[row] = fmaf(weight, h[row * hidden + k], sum[row]);
      }
      const float bias = p.b_hh[d] == nullptr ? 0.0f : p.b_hh[d][j];
#pragma unroll
      for (int row = 0; row < k_gru_most_rows; ++row) {
        if (row >= rows.count) continue;
        for (int distance = k_gru_warp / 2; distance > 0; distance /= 2)
          sum[row] += __shfl_xor_sync(0xffffffffu, sum[row], distance);
        if (lane == 0) sums[row * 3 * hidden + j] = sum[row] + bias;
      }
    }
    __syncthreads();
    for (int64_t k = thread; k < hidden; k += k_gru_stream_threads)
      for (int row = 0; row < rows.count; ++row) {
        const float* const of_row = sums + row * 3 * hidden + k;
        const int64_t b = rows.begin + row;
        float& state = h[row * hidden + k];
        state = p.advance(d, t, b, s.length(b), k, of_row[0], of_row[hidden], of_row[2 * hidden], state);
      }
    __syncthreads();
  }
}

__global__ void __launch_bounds__(k_gru_stream_threads) gru_backward_stream(gru_backward_steps p) {
  const gru_sequence& s = p.s;
  const gru_rows rows(s.batch, p.rows_per_block);
  const int64_t hidden = s.hidden;
  const int d = rows.d, thread = static_cast<int>(threadIdx.x);
  float* const dh = p.carry + s.state(d, rows.begin);

  // A unit is one thread's from the first step to the last; only dgh, in the panel, is for others.
  for (int64_t k = thread; k < hidden; k += k_gru_stream_threads)
    for (int row = 0; row < rows.count; ++row) dh[row * hidden + k] = p.initial(d, rows.begin + row, k);
  for (int64_t step = 0; step < p.chunk.steps(); ++step) {
    const int64_t t = d == 0 ? p.chunk.end[0] - 1 - step : p.chunk.begin[1] + step;
    for (int64_t k = thread; k < hidden; k += k_gru_stream_threads)
      for (int row = 0; row < rows.count; ++row) {
        const int64_t b = rows.begin + row;
        gru_gate_gradients g;
        float& state = dh[row * hidden + k];
        state = p.gradients(d, t, b, s.length(b), k, state, &g);
      }
    __syncthreads();
    for (int64_t k = thread; k < hidden; k += k_gru_stream_threads) {
      float total[k_gru_most_rows];
#pragma unroll
      for (int row = 0; row < k_gru_most_rows; ++row) total[row] = 0.0f;
      for (int gate = 0; gate < 3; ++gate) {
        float of_gate[k_gru_most_rows];
#pragma unroll
        for (int row = 0; row < k_gru_most_rows; ++row) of_gate[row] = 0.0f;
        for (int64_t begin = 0; begin < hidden; begin += k_gru_stream_part) {
          const int64_t end = hidden - begin < k_gru_stream_part ? hidden : begin + k_gru_stream_part;
          float part[k_gru_most_rows];
#pragma unroll
          for (int row = 0; row < k_gru_most_rows; ++row) part[row] = 0.0f;
          for (int64_t j = begin; j < end; ++j) {
            const float weight = p.w_hh[d][(gate * hidden + j) * hidden + k];
#pragma unroll
            for (int row = 0; row < k_gru_most_rows; ++row)
              if (row < rows.count)
                part[row] = fmaf(weight, p.panel.row(d, t, rows.begin + row)[(gate + 1) * hidden + j], part[row]);
          }
#pragma unroll
          for (int row = 0; row < k_gru_most_rows; ++row) of_gate[row] += part[row];
        }
#pragma unroll
        for (int row = 0; row < k_gru_most_rows; ++row) total[row] += of_gate[row];
      }
#pragma unroll
      for (int row = 0; row < k_gru_most_rows; ++row) {
        const int64_t b = rows.begin + row;
        if (row >= rows.count || t >= s.length(b)) continue;
        float& state = dh[row * hidden + k];
        state = p.hand_over(d, t, b, s.length(b), k, state + total[row]);
      }
    }
  }
  if (!p.chunk.last) return;  // what is between chunks lies where it belongs
  for (int64_t k = thread; k < hidden; k += k_gru_stream_threads)
    for (int row = 0; row < rows.count; ++row) p.finish(d, rows.begin + row, k, dh[row * hidden + k]);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
