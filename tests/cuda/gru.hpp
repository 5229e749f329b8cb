// Gated recurrent units on a GPU: both passes on host data, and their times.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace warpcheck::self {

// Tensors as in kernels/gru/gru.hpp, both directions in one; an empty one is a null pointer. Outputs and workspaces are
// NaN before a call.
struct gru_call {
  int64_t time = 0, batch = 0, input = 0, hidden = 0;
  int directions = 1;
  bool recompute = false;
  int64_t workspace_limit = 0;
  int regime = 0;     // as gru_regime, 0 for the automatic one
  int precision = 0;  // as gru_precision
  std::vector<float> x, w_ih, w_hh, b_ih, b_hh, h0, h_reset, dy, dhn;
  std::vector<int64_t> lengths;
  std::vector<uint8_t> reset;
};

// The chains that a plan declares.
struct gru_depths {
  int64_t i = 0, h = 0, tb = 0;
  int64_t steps_i = 0, steps_h = 0, steps_tb = 0;
};

struct gru_answer {
  std::vector<float> y, hn, history, dx, dh0, dh_reset, dw_ih, dw_hh, db_ih, db_hh, trace_e;
  gru_depths forward, backward;
  int64_t damaged = 0;  // elements beside outputs and workspaces that changed
};
gru_answer run_gru(const gru_call& call);

// Captures both passes of the first call into a graph, replays it for each of the calls, whose configuration is that of
// the first, with their inputs copied to where the first's were, and returns what each replay wrote.
std::vector<gru_answer> replay_gru(const std::vector<gru_call>& calls);

// Blocks that wait for each other and blocks of a cluster, as the plan of either pass has them, the more of both.
struct gru_residency {
  int64_t coresident = 0, cluster = 0, multiprocessors = 0;
};
gru_residency gru_residency_of(int64_t batch, int64_t hidden, int directions);

// Median milliseconds of a forward pass that saves its history, and of a backward pass for dx and all parameters, on
// random data; the L2 cache is flushed before each.
struct gru_times {
  double forward_ms = 0, backward_ms = 0;
  int regime = 0;
};
gru_times time_gru(int64_t time, int64_t batch, int64_t input, int64_t hidden, int directions, int repeats,
                   int regime = 0);

// The gate functions at every float, as the GPU computes them: how many values break their bounds or special values,
// and the largest part of a bound that an error takes.
struct gate_sweep {
  uint64_t wrong = 0;
  double worst_logistic = 0, worst_tanh = 0;
};
gate_sweep sweep_gates();

// One step of one row of a long call: what it was made of and what became of it.
struct gru_sampled_step {
  int64_t time = 0, row = 0;
  std::vector<float> x, entered, y, history, e, dx;  // history: blocks r, z, n, hn
};
struct gru_sampled_call {
  std::vector<float> w_ih, w_hh, b_ih, b_hh;
  gru_depths forward, backward;
  std::vector<gru_sampled_step> steps;
};
// Both passes of one direction from h0 = 0, the backward one in chunks of time, at `samples` {time, row}.
gru_sampled_call run_long_gru(int64_t time, int64_t batch, int64_t input, int64_t hidden,
                              const std::vector<std::pair<int64_t, int64_t>>& samples);
// Bytes that it takes of the device, and those that are free.
int64_t long_gru_bytes(int64_t time, int64_t batch, int64_t input, int64_t hidden);
int64_t free_device_bytes();

}  // namespace warpcheck::self
