#include "bench/gru_runs.hpp"

#include <algorithm>
#include <cmath>

#include "bench/limits.hpp"
#include "kernels/gru/gru.hpp"

namespace warpcheck::bench {
namespace {

std::vector<float> uniform(int64_t size, double scale, uint64_t seed) {
  std::vector<float> values(static_cast<size_t>(size));
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  for (float& v : values) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    v = static_cast<float>((static_cast<double>(state >> 40) * 0x1p-23 - 1) * scale);
  }
  return values;
}

class device_floats {
 public:
  explicit device_floats(int64_t size) : size_(size) {
    check(cudaMalloc(&data_, static_cast<size_t>(std::max<int64_t>(1, size)) * sizeof(float)), "benchmark buffer");
    check(cudaMemset(data_, 0xff, static_cast<size_t>(size) * sizeof(float)), "benchmark buffer");
  }
  explicit device_floats(const std::vector<float>& values) : device_floats(static_cast<int64_t>(values.size())) {
    check(cudaMemcpy(data_, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice), "benchmark data");
  }
  ~device_floats() { cudaFree(data_); }
  device_floats(const device_floats&) = delete;
  device_floats& operator=(const device_floats&) = delete;
  float* data() const { return data_; }
  std::vector<float> read() const {
    std::vector<float> values(static_cast<size_t>(size_));
    check(cudaMemcpy(values.data(), data_, values.size() * sizeof(float), cudaMemcpyDeviceToHost), "results");
    return values;
  }

 private:
  int64_t size_;
  float* data_ = nullptr;
};

gru_config config_of(const gru_cell& c) {
  gru_config config{c.time, c.batch, c.input, c.hidden, c.directions};
  config.precision = static_cast<gru_precision>(c.precision);
  return config;
}

}  // namespace

gru_values draw_values(const gru_cell& c) {
  const double scale = 1 / std::sqrt(static_cast<double>(c.hidden));
  const int64_t gates = 3 * c.hidden * c.directions;
  return {uniform(c.time * c.batch * c.input, 1, 1),
          uniform(gates * c.input, scale, 2),
          uniform(gates * c.hidden, scale, 3),
          uniform(gates, scale, 4),
          uniform(gates, scale, 5),
          uniform(c.directions * c.batch * c.hidden, 1, 6),
          uniform(c.time * c.batch * c.directions * c.hidden, 1, 7)};
}

struct gru_run::state {
  gru_config c;
  device_floats w_ih, w_hh, b_ih, b_hh, h0;
  std::vector<std::unique_ptr<device_floats>> x, dy;
  device_floats y, hn, history, dx, dw_ih, dw_hh, db_ih, db_hh, trace, work;
  int64_t work_bytes;
  gru_params params;
  int last = 0;

  state(const gru_cell& cell, const gru_values& v, size_t flush_bytes)
      : c(config_of(cell)),
        w_ih(v.w_ih),
        w_hh(v.w_hh),
        b_ih(v.b_ih),
        b_hh(v.b_hh),
        h0(v.h0),
        y(static_cast<int64_t>(v.dy.size())),
        hn(static_cast<int64_t>(v.h0.size())),
        history(gru_history_bytes(c) / 4),
        dx(static_cast<int64_t>(v.x.size())),
        dw_ih(static_cast<int64_t>(v.w_ih.size())),
        dw_hh(static_cast<int64_t>(v.w_hh.size())),
        db_ih(static_cast<int64_t>(v.b_ih.size())),
        db_hh(static_cast<int64_t>(v.b_hh.size())),
        trace(static_cast<int64_t>(v.dy.size())),
        work(std::max(gru_forward_workspace_bytes(c), gru_backward_workspace_bytes(c)) / 4),
        work_bytes(std::max(gru_forward_workspace_bytes(c), gru_backward_workspace_bytes(c))) {
    const size_t bytes = (v.x.size() + v.dy.size()) * sizeof(float);
    for (size_t copies = 0; copies < 2 || copies * bytes < flush_bytes; ++copies) {
      x.push_back(std::make_unique<device_floats>(v.x));
      dy.push_back(std::make_unique<device_floats>(v.dy));
    }
    for (int d = 0; d < c.D; ++d) {
      params.w_ih[d] = w_ih.data() + d * 3 * c.H * c.I;
      params.w_hh[d] = w_hh.data() + d * 3 * c.H * c.H;
      params.b_ih[d] = b_ih.data() + d * 3 * c.H;
      params.b_hh[d] = b_hh.data() + d * 3 * c.H;
    }
  }
  gru_inputs inputs() const { return {x[static_cast<size_t>(last)]->data(), h0.data()}; }
  void select(int i) { last = i % static_cast<int>(x.size()); }
  void backward(float* trace_e, cudaStream_t stream) {
    gru_grads g;
    g.dx = dx.data();
    g.trace_e = trace_e;
    for (int d = 0; d < c.D; ++d) {
      g.dw_ih[d] = dw_ih.data() + d * 3 * c.H * c.I;
      g.dw_hh[d] = dw_hh.data() + d * 3 * c.H * c.H;
      g.db_ih[d] = db_ih.data() + d * 3 * c.H;
      g.db_hh[d] = db_hh.data() + d * 3 * c.H;
    }
    gru_backward(c, params, inputs(), y.data(), history.data(), dy[static_cast<size_t>(last)]->data(), nullptr, g,
                 work.data(), work_bytes, stream);
  }
};

gru_run::gru_run(const gru_cell& c, const gru_values& values, size_t flush_bytes)
    : state_(new state(c, values, flush_bytes)) {}
gru_run::~gru_run() = default;

void gru_run::forward(int i, cudaStream_t stream) {
  state& s = *state_;
  s.select(i);
  gru_forward(s.c, s.params, s.inputs(), {s.y.data(), s.hn.data(), s.history.data()}, s.work.data(), s.work_bytes,
              stream);
}

void gru_run::backward(int i, cudaStream_t stream) {
  state_->select(i);
  state_->backward(nullptr, stream);
}

gru_results gru_run::results(cudaStream_t stream) {
  state& s = *state_;
  check(cudaStreamSynchronize(stream), "gru");
  gru_results r{s.y.read(), s.history.read(), s.dx.read(), s.dw_ih.read(), {}};
  s.backward(s.trace.data(), stream);
  check(cudaStreamSynchronize(stream), "gru");
  r.trace_e = s.trace.read();
  return r;
}

gru_run::chain gru_run::chain_of(int kind, bool backwards) const {
  const gru_plan p = backwards ? gru_backward_plan(state_->c) : gru_forward_plan(state_->c);
  if (kind == 0) return {p.depth_i, p.steps_i};
  return kind == 1 ? chain{p.depth_h, p.steps_h} : chain{p.depth_tb, p.steps_tb};
}

std::string gru_run::regime() const {
  constexpr const char* k_names[] = {"automatic", "registers", "cluster", "grid", "product"};
  return k_names[static_cast<int>(gru_forward_plan(state_->c).regime)];
}

}  // namespace warpcheck::bench
