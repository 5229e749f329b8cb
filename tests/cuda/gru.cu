#include "tests/cuda/gru.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/gru/gru.hpp"
#include "tests/cuda/gpu_array.hpp"

namespace warpcheck::self {
namespace {

gru_depths depths_of(const gru_plan& plan) {
  return {plan.depth_i, plan.depth_h, plan.depth_tb, plan.steps_i, plan.steps_h, plan.steps_tb};
}

// Uniform in [-scale, scale), a hash of place and seed.
__global__ void fill_uniform(float* to, int64_t size, uint64_t seed, float scale) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < size; i += step) {
    uint64_t bits = (static_cast<uint64_t>(i) + seed) * 0x9e3779b97f4a7c15ull;
    bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9ull;
    to[i] = (static_cast<float>(bits >> 40) * 0x1p-23f - 1) * scale;
  }
}

class long_floats : public gpu_array<float> {
 public:
  explicit long_floats(int64_t size) : gpu_array(static_cast<size_t>(size)) {}
  void fill(uint64_t seed, double scale) const {
    fill_uniform<<<1024, 256>>>(data(), static_cast<int64_t>(size()), seed, static_cast<float>(scale));
  }
};

gru_config long_config(int64_t time, int64_t batch, int64_t input, int64_t hidden) {
  gru_config c{time, batch, input, hidden, 1};
  c.workspace_limit = int64_t{2} << 30;
  return c;
}

}  // namespace

gru_residency gru_residency_of(int64_t batch, int64_t hidden, int directions) {
  const gru_config c{2, batch, 3, hidden, directions};
  const gru_plan forward = gru_forward_plan(c), backward = gru_backward_plan(c);
  return {std::max(forward.coresident_blocks, backward.coresident_blocks),
          std::max(forward.blocks_per_cluster, backward.blocks_per_cluster), simt::device_properties(nullptr).sm_count};
}

int64_t long_gru_bytes(int64_t time, int64_t batch, int64_t input, int64_t hidden) {
  const gru_config c = long_config(time, batch, input, hidden);
  const int64_t states = time * batch * hidden, parameters = 8 * hidden * (hidden + input + 2);
  return 4 * (3 * states + 2 * time * batch * input + parameters) + gru_history_bytes(c) +
         std::max(gru_forward_workspace_bytes(c), gru_backward_workspace_bytes(c));
}

int64_t free_device_bytes() {
  size_t free_bytes = 0, all_bytes = 0;
  require(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
  return static_cast<int64_t>(free_bytes);
}

gru_sampled_call run_long_gru(int64_t time, int64_t batch, int64_t input, int64_t hidden,
                              const std::vector<std::pair<int64_t, int64_t>>& samples) {
  const gru_config c = long_config(time, batch, input, hidden);
  const double scale = 1 / std::sqrt(static_cast<double>(hidden));
  const int64_t states = time * batch * hidden;
  const int64_t work_bytes = std::max(gru_forward_workspace_bytes(c), gru_backward_workspace_bytes(c));
  const long_floats x(time * batch * input), w_ih(3 * hidden * input), w_hh(3 * hidden * hidden), b_ih(3 * hidden),
      b_hh(3 * hidden), y(states), history(4 * states), dy(states), e(states), dx(time * batch * input),
      dw_ih(3 * hidden * input), dw_hh(3 * hidden * hidden), work(work_bytes / 4);
  x.fill(1, 1), w_ih.fill(2, scale), w_hh.fill(3, scale), b_ih.fill(4, scale), b_hh.fill(5, scale), dy.fill(6, 1);
  gru_params params;
  params.w_ih[0] = w_ih.data(), params.w_hh[0] = w_hh.data();
  params.b_ih[0] = b_ih.data(), params.b_hh[0] = b_hh.data();
  const gru_inputs inputs{x.data(), nullptr, nullptr, nullptr, nullptr};
  gru_forward(c, params, inputs, {y.data(), nullptr, history.data()}, work.data(), work_bytes, nullptr);
  gru_grads grads;
  grads.dx = dx.data(), grads.trace_e = e.data(), grads.dw_ih[0] = dw_ih.data(), grads.dw_hh[0] = dw_hh.data();
  gru_backward(c, params, inputs, y.data(), history.data(), dy.data(), nullptr, grads, work.data(), work_bytes,
               nullptr);
  require(cudaDeviceSynchronize(), "gru");
  gru_sampled_call call{w_ih.read(),
                        w_hh.read(),
                        b_ih.read(),
                        b_hh.read(),
                        depths_of(gru_forward_plan(c)),
                        depths_of(gru_backward_plan(c)),
                        {}};
  for (const auto& [t, row] : samples) {
    const int64_t place = t * batch + row, before = place - batch;
    call.steps.push_back({t, row, x.read(place * input, input),
                          t == 0 ? std::vector<float>(static_cast<size_t>(hidden)) : y.read(before * hidden, hidden),
                          y.read(place * hidden, hidden), history.read(place * 4 * hidden, 4 * hidden),
                          e.read(place * hidden, hidden), dx.read(place * input, input)});
  }
  return call;
}

}  // namespace warpcheck::self
