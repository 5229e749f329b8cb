// Gated recurrent units on a GPU: what a case is too small for.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace warpcheck::self {

// The chains that a plan declares.
struct gru_depths {
  int64_t i = 0, h = 0, tb = 0;
  int64_t steps_i = 0, steps_h = 0, steps_tb = 0;
};

// Blocks that wait for each other and blocks of a cluster, as the plan of either pass has them, the more of both.
struct gru_residency {
  int64_t coresident = 0, cluster = 0, multiprocessors = 0;
};
gru_residency gru_residency_of(int64_t batch, int64_t hidden, int directions);

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
