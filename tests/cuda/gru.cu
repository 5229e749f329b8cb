#include "tests/cuda/gru.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/gru/gru.hpp"
#include "kernels/gru/sequence.hpp"

namespace warpcheck::self {
namespace {

void require(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

constexpr int64_t k_margin = 64;
constexpr unsigned char k_nan_byte = 0xff;  // four of them are a NaN

// Device memory with margins of NaN, beginning one element past an aligned address. Empty for a null pointer.
template <class T>
class guarded {
 public:
  explicit guarded(const std::vector<T>& values) : guarded(static_cast<int64_t>(values.size())) { set(values); }
  explicit guarded(int64_t size) : size_(size) {
    require(cudaMalloc(&memory_, bytes()), "cudaMalloc");
    require(cudaMemset(memory_, k_nan_byte, bytes()), "cudaMemset");
  }
  ~guarded() { cudaFree(memory_); }
  guarded(const guarded&) = delete;
  guarded& operator=(const guarded&) = delete;
  void set(const std::vector<T>& values) const {
    if (size_ > 0)
      require(cudaMemcpy(data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "copy");
  }
  T* data() const { return memory_ + k_margin + 1; }
  T* data_or_null() const { return size_ == 0 ? nullptr : data(); }
  int64_t size() const { return size_; }

  // Reads the values back and counts the bytes of the margins that changed.
  std::vector<T> read(int64_t* damaged) const {
    std::vector<T> all(static_cast<size_t>(size_ + 2 * k_margin + 1));
    require(cudaMemcpy(all.data(), memory_, bytes(), cudaMemcpyDeviceToHost), "copy");
    const auto* const byte = reinterpret_cast<const unsigned char*>(all.data());
    const auto begin = static_cast<size_t>(k_margin + 1) * sizeof(T);
    const size_t end = begin + static_cast<size_t>(size_) * sizeof(T);
    for (size_t i = 0; i < bytes(); ++i) *damaged += (i < begin || i >= end) && byte[i] != k_nan_byte;
    return std::vector<T>(all.begin() + k_margin + 1, all.begin() + k_margin + 1 + size_);
  }

 private:
  size_t bytes() const { return static_cast<size_t>(size_ + 2 * k_margin + 1) * sizeof(T); }

  int64_t size_;
  T* memory_ = nullptr;
};

gru_depths depths_of(const gru_plan& plan) {
  return {plan.depth_i, plan.depth_h, plan.depth_tb, plan.steps_i, plan.steps_h, plan.steps_tb};
}

gru_params params_of(const gru_config& c, float* w_ih, float* w_hh, float* b_ih, float* b_hh) {
  gru_params p;
  for (int d = 0; d < c.D; ++d) {
    p.w_ih[d] = w_ih + d * 3 * c.H * c.I;
    p.w_hh[d] = w_hh + d * 3 * c.H * c.H;
    p.b_ih[d] = b_ih == nullptr ? nullptr : b_ih + d * 3 * c.H;
    p.b_hh[d] = b_hh == nullptr ? nullptr : b_hh + d * 3 * c.H;
  }
  return p;
}

// What both passes write, with a workspace for each.
struct outputs {
  explicit outputs(const gru_config& c, bool biases)
      : y(c.T * c.B * c.D * c.H),
        hn(c.D * c.B * c.H),
        history(gru_history_bytes(c) / 4),
        dx(c.T * c.B * c.I),
        dh0(hn.size()),
        dh_reset(hn.size()),
        dw_ih(c.D * 3 * c.H * c.I),
        dw_hh(c.D * 3 * c.H * c.H),
        db_ih(biases ? c.D * 3 * c.H : 0),
        db_hh(biases ? c.D * 3 * c.H : 0),
        trace_e(y.size()),
        forward_work(gru_forward_workspace_bytes(c) / 4),
        backward_work(gru_backward_workspace_bytes(c) / 4) {}

  gru_grads grads(const gru_config& c) const {
    gru_grads g;
    g.dx = dx.data();
    for (int d = 0; d < c.D; ++d) {
      g.dw_ih[d] = dw_ih.data() + d * 3 * c.H * c.I;
      g.dw_hh[d] = dw_hh.data() + d * 3 * c.H * c.H;
      g.db_ih[d] = db_ih.size() == 0 ? nullptr : db_ih.data() + d * 3 * c.H;
      g.db_hh[d] = db_hh.size() == 0 ? nullptr : db_hh.data() + d * 3 * c.H;
    }
    return g;
  }

  guarded<float> y, hn, history, dx, dh0, dh_reset, dw_ih, dw_hh, db_ih, db_hh, trace_e, forward_work, backward_work;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// A call's tensors in device memory, and both passes of it.
class passes {
 public:
  explicit passes(const gru_call& call)
      : c_(config_of(call)),
        x_(call.x),
        w_ih_(call.w_ih),
        w_hh_(call.w_hh),
        b_ih_(call.b_ih),
        b_hh_(call.b_hh),
        h0_(call.h0),
        h_reset_(call.h_reset),
        dy_(call.dy),
        dhn_(call.dhn),
        lengths_(call.lengths),
        reset_(call.reset),
        out_(c_, b_ih_.size() > 0) {}

  void run(cudaStream_t stream) const {
    const gru_params params = params_of(c_, w_ih_.data(), w_hh_.data(), b_ih_.data_or_null(), b_hh_.data_or_null());
    const gru_inputs inputs{x_.data(), h0_.data_or_null(), h_reset_.data_or_null(), lengths_.data_or_null(),
                            reset_.data_or_null()};
    gru_forward(c_, params, inputs, {out_.y.data(), out_.hn.data(), out_.history.data()}, out_.forward_work.data(),
                gru_forward_workspace_bytes(c_), stream);
    gru_grads grads = out_.grads(c_);
    grads.dh0 = out_.dh0.data();
    grads.dh_reset = out_.dh_reset.data();
    grads.trace_e = out_.trace_e.data();
    gru_backward(c_, params, inputs, out_.y.data(), out_.history.data(), dy_.data_or_null(), dhn_.data_or_null(), grads,
                 out_.backward_work.data(), gru_backward_workspace_bytes(c_), stream);
  }
  // The same sizes with other values.
  void set_inputs(const gru_call& call) const {
    x_.set(call.x), w_ih_.set(call.w_ih), w_hh_.set(call.w_hh), b_ih_.set(call.b_ih), b_hh_.set(call.b_hh);
    h0_.set(call.h0), h_reset_.set(call.h_reset), dy_.set(call.dy), dhn_.set(call.dhn);
    lengths_.set(call.lengths), reset_.set(call.reset);
  }
  gru_answer read() const {
    gru_answer answer;
    answer.forward = depths_of(gru_forward_plan(c_));
    answer.backward = depths_of(gru_backward_plan(c_));
    int64_t* const damaged = &answer.damaged;
    answer.y = out_.y.read(damaged);
    answer.hn = out_.hn.read(damaged);
    answer.history = out_.history.read(damaged);
    answer.dx = out_.dx.read(damaged);
    answer.dh0 = out_.dh0.read(damaged);
    answer.dh_reset = out_.dh_reset.read(damaged);
    answer.dw_ih = out_.dw_ih.read(damaged);
    answer.dw_hh = out_.dw_hh.read(damaged);
    answer.db_ih = out_.db_ih.read(damaged);
    answer.db_hh = out_.db_hh.read(damaged);
    answer.trace_e = out_.trace_e.read(damaged);
    out_.forward_work.read(damaged);
    out_.backward_work.read(damaged);
    return answer;
  }

 private:
  static gru_config config_of(const gru_call& call) {
    return {call.time,
            call.batch,
            call.input,
            call.hidden,
            call.directions,
            call.recompute ? gru_history::recompute : gru_history::save,
            call.workspace_limit,
            static_cast<gru_regime>(call.regime),
            static_cast<gru_precision>(call.precision)};
  }

  gru_config c_;
  guarded<float> x_, w_ih_, w_hh_, b_ih_, b_hh_, h0_, h_reset_, dy_, dhn_;
  guarded<int64_t> lengths_;
  guarded<uint8_t> reset_;
  outputs out_;
};

}  // namespace

gru_answer run_gru(const gru_call& call) {
  const passes both(call);
  both.run(nullptr);
  require(cudaDeviceSynchronize(), "gru");
  return both.read();
}

std::vector<gru_answer> replay_gru(const std::vector<gru_call>& calls) {
  const passes both(calls.front());
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
  both.run(stream);
  require(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  require(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  std::vector<gru_answer> answers;
  for (const gru_call& call : calls) {
    both.set_inputs(call);
    require(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    require(cudaStreamSynchronize(stream), "a replayed graph");
    answers.push_back(both.read());
  }
  require(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
  require(cudaGraphDestroy(graph), "cudaGraphDestroy");
  require(cudaStreamDestroy(stream), "cudaStreamDestroy");
  return answers;
}

gru_residency gru_residency_of(int64_t batch, int64_t hidden, int directions) {
  const gru_config c{2, batch, 3, hidden, directions};
  const gru_plan forward = gru_forward_plan(c), backward = gru_backward_plan(c);
  return {std::max(forward.coresident_blocks, backward.coresident_blocks),
          std::max(forward.blocks_per_cluster, backward.blocks_per_cluster), simt::device_properties(nullptr).sm_count};
}

gru_times time_gru(int64_t time, int64_t batch, int64_t input, int64_t hidden, int directions, int repeats,
                   int regime) {
  gru_config c{time, batch, input, hidden, directions};
  c.regime = static_cast<gru_regime>(regime);
  uint32_t seed = 1;
  const auto random = [&](int64_t size, double scale) {
    std::vector<float> values(static_cast<size_t>(size));
    for (float& v : values) {
      seed = seed * 1664525u + 1013904223u;
      v = static_cast<float>((seed * 0x1p-31 - 1) * scale);
    }
    return values;
  };
  const double scale = 1 / std::sqrt(static_cast<double>(hidden));
  const guarded<float> x(random(time * batch * input, 1)), w_ih(random(directions * 3 * hidden * input, scale));
  const guarded<float> w_hh(random(directions * 3 * hidden * hidden, scale)),
      b_ih(random(directions * 3 * hidden, scale));
  const guarded<float> b_hh(random(directions * 3 * hidden, scale)), dy(random(time * batch * directions * hidden, 1));
  const outputs out(c, true);
  const gru_params params = params_of(c, w_ih.data(), w_hh.data(), b_ih.data(), b_hh.data());
  const gru_inputs inputs{x.data(), nullptr, nullptr, nullptr, nullptr};
  const auto forward = [&] {
    gru_forward(c, params, inputs, {out.y.data(), out.hn.data(), out.history.data()}, out.forward_work.data(),
                gru_forward_workspace_bytes(c), nullptr);
  };
  const auto backward = [&] {
    gru_backward(c, params, inputs, out.y.data(), out.history.data(), dy.data(), nullptr, out.grads(c),
                 out.backward_work.data(), gru_backward_workspace_bytes(c), nullptr);
  };
  constexpr int64_t k_flush = int64_t{256} << 20;
  const guarded<uint8_t> flush(k_flush);
  cudaEvent_t start, stop;
  require(cudaEventCreate(&start), "cudaEventCreate");
  require(cudaEventCreate(&stop), "cudaEventCreate");
  std::vector<double> ms[2];
  for (int i = -2; i < repeats; ++i)
    for (const int pass : {0, 1}) {
      require(cudaMemsetAsync(flush.data(), i & 0xff, k_flush), "cudaMemset");
      require(cudaEventRecord(start), "cudaEventRecord");
      pass == 0 ? forward() : backward();
      require(cudaEventRecord(stop), "cudaEventRecord");
      require(cudaEventSynchronize(stop), "gru");
      float elapsed = 0;
      require(cudaEventElapsedTime(&elapsed, start, stop), "cudaEventElapsedTime");
      if (i >= 0) ms[pass].push_back(elapsed);
    }
  require(cudaEventDestroy(start), "cudaEventDestroy");
  require(cudaEventDestroy(stop), "cudaEventDestroy");
  return {median(ms[0]), median(ms[1]), static_cast<int>(gru_forward_plan(c).regime)};
}

namespace {

struct sweep_counts {
  unsigned long long wrong, worst_logistic, worst_tanh;  // the bits of positive numbers are in their order
};

__device__ double part_of_bound(double actual, double exact) {
  const double part = fabs(actual - exact) / (8 * 0x1p-24 * fabs(exact) + 0x1p-126);
  return isnan(part) || fabs(actual) > 1 ? INFINITY : part;
}

__global__ void sweep_all_floats(sweep_counts* counts) {
  unsigned long long wrong = 0;
  double worst_logistic = 0, worst_tanh = 0;
  const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < uint64_t{1} << 32; i += step) {
    const float a = __uint_as_float(static_cast<uint32_t>(i));
    const float logistic = gru_logistic(a), tangent = gru_tanh(a);
    if (isnan(a)) {
      wrong += !isnan(logistic) || !isnan(tangent);
      continue;
    }
    const double x = a, of_logistic = part_of_bound(logistic, 1 / (1 + exp(-x)));
    const double of_tanh = part_of_bound(tangent, tanh(x));
    worst_logistic = fmax(worst_logistic, of_logistic);
    worst_tanh = fmax(worst_tanh, of_tanh);
    wrong += !(of_logistic <= 1 && of_tanh <= 1 && logistic >= 0 && (a > -104 || logistic == 0) &&
               (a < 18 || logistic == 1) && (a != 0 || logistic == 0.5f) &&
               __float_as_uint(gru_tanh(-a)) == (__float_as_uint(tangent) ^ 0x80000000u));
  }
  atomicAdd(&counts->wrong, wrong);
  atomicMax(&counts->worst_logistic, static_cast<unsigned long long>(__double_as_longlong(worst_logistic)));
  atomicMax(&counts->worst_tanh, static_cast<unsigned long long>(__double_as_longlong(worst_tanh)));
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

class long_floats {
 public:
  explicit long_floats(int64_t size) : size_(size) {
    require(cudaMalloc(&data_, static_cast<size_t>(size) * sizeof(float)), "cudaMalloc");
  }
  ~long_floats() { cudaFree(data_); }
  long_floats(const long_floats&) = delete;
  long_floats& operator=(const long_floats&) = delete;
  const long_floats& fill(uint64_t seed, double scale) const {
    fill_uniform<<<1024, 256>>>(data_, size_, seed, static_cast<float>(scale));
    return *this;
  }
  std::vector<float> read(int64_t begin, int64_t count) const {
    std::vector<float> values(static_cast<size_t>(count));
    require(cudaMemcpy(values.data(), data_ + begin, values.size() * sizeof(float), cudaMemcpyDeviceToHost), "copy");
    return values;
  }
  std::vector<float> read() const { return read(0, size_); }
  float* data() const { return data_; }

 private:
  int64_t size_;
  float* data_ = nullptr;
};

gru_config long_config(int64_t time, int64_t batch, int64_t input, int64_t hidden) {
  gru_config c{time, batch, input, hidden, 1};
  c.workspace_limit = int64_t{2} << 30;
  return c;
}

}  // namespace

gate_sweep sweep_gates() {
  sweep_counts* counts = nullptr;
  sweep_counts found;
  require(cudaMalloc(&counts, sizeof *counts), "cudaMalloc");
  require(cudaMemset(counts, 0, sizeof *counts), "cudaMemset");
  sweep_all_floats<<<1024, 256>>>(counts);
  require(cudaMemcpy(&found, counts, sizeof found, cudaMemcpyDeviceToHost), "the sweep of the gates");
  require(cudaFree(counts), "cudaFree");
  gate_sweep sweep;
  sweep.wrong = found.wrong;
  std::memcpy(&sweep.worst_logistic, &found.worst_logistic, sizeof sweep.worst_logistic);
  std::memcpy(&sweep.worst_tanh, &found.worst_tanh, sizeof sweep.worst_tanh);
  return sweep;
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
  const gru_params params = params_of(c, w_ih.data(), w_hh.data(), b_ih.data(), b_hh.data());
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
