// The sequential part of gated recurrent units that all regimes share: the work of a step on one unit of a row. Its
// inputs are read separately, so that a thread can request the next step's before it waits for this one's sums.
#pragma once

#include <cstdint>

#include "kernels/gru/sequence.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// The addresses of a unit's data for a step. From one step to the next they advance by additions; computing them anew
// took longer than the gates themselves.
struct gru_forward_place {
  int64_t length;
  float* gates;
  float* y;
};
// Floats from a step's place in the gates, or in y, to the next step's.
struct gru_strides {
  int64_t gates, y;
};
struct gru_forward_inputs {
  float r, z, n;  // gi
};
struct gru_forward_result {
  float r, z, n, hn, y;
};

struct gru_backward_place {
  int64_t length;
  const float* gates;
  float* panel;
  const float* y;
  const float* dy;
  float* trace_e;
};
struct gru_backward_inputs {
  float r, z, n, hn, entering, dy;
};
struct gru_backward_result {
  gru_gate_gradients g;
  float e;
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

  __device__ gru_forward_place place(int d, int64_t t, int64_t b, int64_t k) const {
    return {s.length(b), gates.row(d, t, b) + k, y + s.y_row(d, t, b) + k};
  }
  __device__ gru_strides strides(int d) const {
    const int64_t units = (d == 0 ? s.batch : -s.batch) * s.hidden;
    return {gates.blocks * units, s.directions * units};
  }
  __device__ void move_on(const gru_strides& step, gru_forward_place* place) const {
    place->gates += step.gates;
    place->y += step.y;
  }
  __device__ gru_forward_inputs inputs(const float* of_gates) const {
    return {of_gates[0], of_gates[s.hidden], of_gates[2 * s.hidden]};
  }
  __device__ gru_forward_inputs inputs(int64_t t, const gru_forward_place& place) const {
    return t < place.length ? inputs(place.gates) : gru_forward_inputs{0.0f, 0.0f, 0.0f};
  }

  // One unit of a row at a step: gh are its three sums, h its state.
  __device__ static gru_forward_result advance(const gru_forward_inputs& in, float gh_r, float gh_z, float gh_n,
                                               float h) {
    const gru_gates g = gru_gates_of(in.r, gh_r, in.z, gh_z, in.n, gh_n);
    return {g.r, g.z, g.n, gh_n, fmaf(g.z, h, fmaf(-g.z, g.n, g.n))};
  }
  // The state that enters the next step.
  __device__ float next_state(int d, int64_t t, int64_t b, int64_t k, int64_t length, float y_t, float h) const {
    if (t >= length) return h;
    const bool ends = d == 0 ? t + 1 == length : t == 0;
    if (ends || s.reset == nullptr || !s.enters_reset(d, d == 0 ? t + 1 : t - 1, b, length)) return y_t;
    return s.h_reset == nullptr ? 0.0f : s.h_reset[s.state(d, b) + k];
  }
  __device__ void write(int d, int64_t t, int64_t b, int64_t k, const gru_forward_place& place,
                        const gru_forward_result& result) const {
    const bool active = t < place.length;
    write(place, active, gates.blocks == 4, result);
    if (active && hn != nullptr && (d == 0 ? t + 1 == place.length : t == 0)) hn[s.state(d, b) + k] = result.y;
  }
  // The same, except for hn.
  __device__ void write(const gru_forward_place& place, bool active, bool saves,
                        const gru_forward_result& result) const {
    *place.y = active ? result.y : 0.0f;
    if (saves) {
      place.gates[0] = active ? result.r : 0.0f;
      place.gates[s.hidden] = active ? result.z : 0.0f;
      place.gates[2 * s.hidden] = active ? result.n : 0.0f;
      place.gates[3 * s.hidden] = active ? result.hn : 0.0f;
    }
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

  __device__ gru_backward_place place(int d, int64_t t, int64_t b, int64_t k) const {
    const int64_t of_y = s.y_row(d, t, b) + k;
    return {s.length(b),
            gates.row(d, t, b) + k,
            panel.row(d, t, b) + k,
            s.y + of_y,
            dy == nullptr ? nullptr : dy + of_y,
            trace_e == nullptr ? nullptr : trace_e + ((d * s.time + t) * s.batch + b) * s.hidden + k};
  }
  __device__ gru_strides strides(int d) const {
    const int64_t units = (d == 0 ? -s.batch : s.batch) * s.hidden;
    return {4 * units, s.directions * units};
  }
  __device__ void move_on(const gru_strides& step, gru_backward_place* place) const {
    *place = later(*place, step, 1);
    if (trace_e != nullptr) place->trace_e += step.gates / 4;
  }
  // The place some steps later, without its trace, which spares a pointer.
  __device__ gru_backward_place later(const gru_backward_place& place, const gru_strides& step, int64_t steps) const {
    gru_backward_place at = place;
    at.gates += steps * step.gates;
    at.panel += steps * step.gates;
    at.y += steps * step.y;
    if (dy != nullptr) at.dy += steps * step.y;
    return at;
  }
  // The state that entered step t; null: zero.
  __device__ const float* entering(int d, int64_t t, int64_t b, int64_t k, const gru_backward_place& place) const {
    const bool is_reset = s.reset != nullptr && s.enters_reset(d, t, b, place.length);
    if (is_reset || (d == 0 ? t == 0 : t + 1 == place.length)) {
      const float* const states = is_reset ? s.h_reset : s.h0;
      return states == nullptr ? nullptr : states + s.state(d, b) + k;
    }
    const int64_t step = s.batch * s.directions * s.hidden;
    return place.y + (d == 0 ? -step : step);
  }
  __device__ gru_backward_inputs inputs(int d, int64_t t, int64_t b, int64_t k, const gru_backward_place& place) const {
    return t < place.length ? inputs(place, entering(d, t, b, k, place)) : gru_backward_inputs{};
  }
  __device__ gru_backward_inputs inputs(const gru_backward_place& place, const float* entering) const {
    const int64_t hidden = s.hidden;
    return {place.gates[0],
            place.gates[hidden],
            place.gates[2 * hidden],
            place.gates[3 * hidden],
            entering == nullptr ? 0.0f : *entering,
            dy == nullptr ? 0.0f : *place.dy};
  }

  // The gradients of one unit of a row at step t. If the row has such a step, dh becomes e z.
  __device__ gru_backward_result gradients(int64_t t, const gru_backward_place& place, const gru_backward_inputs& in,
                                           float* dh) const {
    return gradients(t < place.length, in, dh);
  }
  __device__ gru_backward_result gradients(bool active, const gru_backward_inputs& in, float* dh) const {
    if (!active) return {};
    const float e = dy == nullptr ? *dh : in.dy + *dh;
    *dh = e * in.z;
    return {gru_gradients_of(e, in.r, in.z, in.n, in.hn, in.entering), e};
  }
  __device__ void write(const gru_backward_place& place, const gru_backward_result& result) const {
    write(place.panel, result.g);
    if (trace_e != nullptr) *place.trace_e = result.e;
  }
  __device__ void write(float* of_panel, const gru_gate_gradients& g) const {
    of_panel[0] = g.n;
    of_panel[s.hidden] = g.r;
    of_panel[2 * s.hidden] = g.z;
    of_panel[3 * s.hidden] = g.hn;
  }

  // Returns dh of the state that entered step t; if that was h_reset, adds it to dh_reset.
  __device__ float hand_over(int d, int64_t t, int64_t b, int64_t length, int64_t k, float dh) const {
    if (s.reset == nullptr || !s.enters_reset(d, t, b, length)) return dh;
    if (dh_reset != nullptr) dh_reset[s.state(d, b) + k] += dh;
    return 0.0f;
  }
  // The same for a step of the sequence, after adding its sum to *dh.
  __device__ void hand_over(int d, int64_t t, int64_t b, int64_t k, float sum, float* dh) const {
    const int64_t length = s.length(b);
    if (t < length) *dh = hand_over(d, t, b, length, k, *dh + sum);
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
