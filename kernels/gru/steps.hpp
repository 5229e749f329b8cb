// The sequential part of gated recurrent units: what all regimes share, which is what a step does with a unit of a row.
// Its inputs are read apart, so that a thread can ask for the next step's before it waits for this one's sums.
#pragma once

#include <cstdint>

#include "kernels/gru/sequence.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

struct gru_forward_inputs {
  int64_t length;
  float r, z, n;  // gi
};
struct gru_backward_inputs {
  int64_t length;
  float r, z, n, hn, entering, dy;
};

struct gru_forward_steps {
  gru_sequence s;
  gru_chunk chunk;
  const float* w_hh[2];
  const float* b_hh[2];
  gru_panel gates;  // gi in blocks r, z, n; with four blocks they become the history
  float* y;
  float* hn;
  float* carry;  // [directions, batch, hidden]: the state between chunks
  int64_t rows_per_block;

  __device__ __host__ int64_t time(int d, int64_t step) const {
    return d == 0 ? chunk.begin[0] + step : chunk.end[1] - 1 - step;
  }
  __device__ float initial(int d, int64_t b, int64_t k) const {
    const int64_t i = s.state(d, b) + k;
    if (!chunk.first) return carry[i];
    const bool resets = d == 0 && s.time > 0 && s.marked(0, b) && s.length(b) > 0;
    const float* const from = resets ? s.h_reset : s.h0;
    if (hn != nullptr && s.length(b) == 0) hn[i] = s.h0 == nullptr ? 0.0f : s.h0[i];
    return from == nullptr ? 0.0f : from[i];
  }

  __device__ gru_forward_inputs inputs(int d, int64_t t, int64_t b, int64_t k) const {
    gru_forward_inputs in{s.length(b), 0.0f, 0.0f, 0.0f};
    if (t >= in.length) return in;
    const float* const row = gates.row(d, t, b) + k;
    in.r = row[0], in.z = row[s.hidden], in.n = row[2 * s.hidden];
    return in;
  }

  // One unit of a row at step t: gh are its three sums, h its state. Returns the state that enters the next step.
  __device__ float advance(int d, int64_t t, int64_t b, int64_t k, const gru_forward_inputs& in, float gh_r, float gh_z,
                           float gh_n, float h) const {
    const int64_t length = in.length;
    float* const row = gates.row(d, t, b) + k;
    const bool saves = gates.blocks == 4;
    const int64_t out = s.y_row(d, t, b) + k;
    if (t >= length) {
      y[out] = 0.0f;
      for (int block = 0; saves && block < 4; ++block) row[block * s.hidden] = 0.0f;
      return h;
    }
    const gru_gates g = gru_gates_of(in.r, gh_r, in.z, gh_z, in.n, gh_n);
    if (saves) {
      row[0] = g.r;
      row[s.hidden] = g.z;
      row[2 * s.hidden] = g.n;
      row[3 * s.hidden] = gh_n;
    }
    const float next = fmaf(g.z, h, fmaf(-g.z, g.n, g.n));
    y[out] = next;
    const bool ends = d == 0 ? t + 1 == length : t == 0;
    if (ends && hn != nullptr) hn[s.state(d, b) + k] = next;
    if (ends || !s.enters_reset(d, d == 0 ? t + 1 : t - 1, b, length)) return next;
    return s.h_reset == nullptr ? 0.0f : s.h_reset[s.state(d, b) + k];
  }
};

struct gru_backward_steps {
  gru_sequence s;
  gru_chunk chunk;
  const float* w_hh[2];
  gru_panel gates;  // r, z, n, hn: the history, or the panel itself
  gru_panel panel;  // becomes d_n, d_r, d_z, d_n r
  const float* dy;
  const float* dhn;
  float* dh0;
  float* dh_reset;
  float* trace_e;
  float* carry;  // [directions, batch, hidden]: dh between chunks
  int64_t rows_per_block;

  __device__ __host__ int64_t time(int d, int64_t step) const {
    return d == 0 ? chunk.end[0] - 1 - step : chunk.begin[1] + step;
  }
  __device__ float initial(int d, int64_t b, int64_t k) const {
    const int64_t i = s.state(d, b) + k;
    if (!chunk.first) return carry[i];
    if (dh_reset != nullptr) dh_reset[i] = 0.0f;
    return dhn == nullptr ? 0.0f : dhn[i];
  }

  __device__ gru_backward_inputs inputs(int d, int64_t t, int64_t b, int64_t k) const {
    gru_backward_inputs in{s.length(b), 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    if (t >= in.length) return in;
    const float* const from = gates.row(d, t, b) + k;
    const float* const entering = s.entering(d, t, b, in.length);
    in.r = from[0], in.z = from[s.hidden], in.n = from[2 * s.hidden], in.hn = from[3 * s.hidden];
    if (entering != nullptr) in.entering = entering[k];
    if (dy != nullptr) in.dy = dy[s.y_row(d, t, b) + k];
    return in;
  }

  // Writes the gradients of one unit of a row at step t. Returns e z, or what arrived where the row has no such step.
  __device__ float gradients(int d, int64_t t, int64_t b, int64_t k, const gru_backward_inputs& in, float dh,
                             gru_gate_gradients* g) const {
    float* const to = panel.row(d, t, b) + k;
    float e = 0.0f, next = dh;
    *g = {0.0f, 0.0f, 0.0f, 0.0f};
    if (t < in.length) {
      e = dy == nullptr ? dh : in.dy + dh;
      *g = gru_gradients_of(e, in.r, in.z, in.n, in.hn, in.entering);
      next = e * in.z;
    }
    to[0] = g->n;
    to[s.hidden] = g->r;
    to[2 * s.hidden] = g->z;
    to[3 * s.hidden] = g->hn;
    if (trace_e != nullptr) trace_e[((d * s.time + t) * s.batch + b) * s.hidden + k] = e;
    return next;
  }

  // dh of the state that entered step t, handed over where that was h_reset.
  __device__ float hand_over(int d, int64_t t, int64_t b, int64_t length, int64_t k, float dh) const {
    if (!s.enters_reset(d, t, b, length)) return dh;
    if (dh_reset != nullptr) dh_reset[s.state(d, b) + k] += dh;
    return 0.0f;
  }

  __device__ void finish(int d, int64_t b, int64_t k, float dh) const {
    const int64_t i = s.state(d, b) + k;
    if (!chunk.last) carry[i] = dh;
    if (chunk.last && dh0 != nullptr) dh0[i] = dh;
  }
};

// The rows of a group, all of one direction.
struct gru_rows {
  int d;
  int64_t begin;
  int count;

  __device__ gru_rows(int64_t batch, int64_t rows_per_group, int64_t group) {
    const int64_t groups = (batch + rows_per_group - 1) / rows_per_group;
    d = static_cast<int>(group / groups);
    begin = group % groups * rows_per_group;
    count = static_cast<int>(batch - begin < rows_per_group ? batch - begin : rows_per_group);
  }
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
