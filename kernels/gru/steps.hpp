// The sequential part of gated recurrent units: what both regimes share, and what a block does with a unit of a row.
#pragma once

#include <cstdint>

#include "kernels/gru/sequence.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// The most rows of a block: sums over them are in registers.
constexpr int k_gru_most_rows = 8;

struct gru_forward_steps {
  gru_sequence s;
  gru_chunk chunk;
  const float* w_hh[2];
  const float* b_hh[2];
  gru_panel gates;  // gi in blocks r, z, n; with four blocks they become the history
  float* y;
  float* hn;
  float* carry;  // [directions, batch, hidden]: the state between chunks
  float* sums;   // [directions, batch, 3 hidden], of regime `stream`
  int64_t rows_per_block;

  __device__ float initial(int d, int64_t b, int64_t k) const {
    const int64_t i = s.state(d, b) + k;
    if (!chunk.first) return carry[i];
    const bool resets = d == 0 && s.time > 0 && s.marked(0, b) && s.length(b) > 0;
    const float* const from = resets ? s.h_reset : s.h0;
    if (hn != nullptr && s.length(b) == 0) hn[i] = s.h0 == nullptr ? 0.0f : s.h0[i];
    return from == nullptr ? 0.0f : from[i];
  }

  // One unit of a row at step t: gh are its three sums, h its state. Returns the state that enters the next step.
  __device__ float advance(int d, int64_t t, int64_t b, int64_t length, int64_t k, float gh_r, float gh_z, float gh_n,
                           float h) const {
    float* const row = gates.row(d, t, b) + k;
    const bool saves = gates.blocks == 4;
    const int64_t out = s.y_row(d, t, b) + k;
    if (t >= length) {
      y[out] = 0.0f;
      for (int block = 0; saves && block < 4; ++block) row[block * s.hidden] = 0.0f;
      return h;
    }
    const gru_gates g = gru_gates_of(row[0], gh_r, row[s.hidden], gh_z, row[2 * s.hidden], gh_n);
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
  float* carry;  // [directions, batch, hidden]: dh, between chunks and in regime `stream`
  int64_t rows_per_block;

  __device__ float initial(int d, int64_t b, int64_t k) const {
    const int64_t i = s.state(d, b) + k;
    if (!chunk.first) return carry[i];
    if (dh_reset != nullptr) dh_reset[i] = 0.0f;
    return dhn == nullptr ? 0.0f : dhn[i];
  }

  // Writes the gradients of one unit of a row at step t. Returns e z, or what arrived where the row has no such step.
  __device__ float gradients(int d, int64_t t, int64_t b, int64_t length, int64_t k, float dh,
                             gru_gate_gradients* g) const {
    float* const to = panel.row(d, t, b) + k;
    float e = 0.0f, next = dh;
    *g = {0.0f, 0.0f, 0.0f, 0.0f};
    if (t < length) {
      const float* const from = gates.row(d, t, b) + k;
      const float* const entering = s.entering(d, t, b, length);
      const float z = from[s.hidden];
      e = dy == nullptr ? dh : dy[s.y_row(d, t, b) + k] + dh;
      *g = gru_gradients_of(e, from[0], z, from[2 * s.hidden], from[3 * s.hidden],
                            entering == nullptr ? 0.0f : entering[k]);
      next = e * z;
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

// The rows of a block, all of one direction.
struct gru_rows {
  int d;
  int64_t begin;
  int count;

  __device__ gru_rows(int64_t batch, int64_t rows_per_block) {
    const int64_t groups = (batch + rows_per_block - 1) / rows_per_block;
    d = static_cast<int>(blockIdx.x / groups);
    begin = blockIdx.x % groups * rows_per_block;
    count = static_cast<int>(batch - begin < rows_per_block ? batch - begin : rows_per_block);
  }
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
