// Gated recurrent units, both passes, on the cells of the specification: microseconds a step.
// Every row is verified by the reference's step verdict before and after it is timed. Beside each precision stands
// cuDNN in f32, or for those that round operands the faster of f32 and tf32. The errors of both, over all steps of two
// rows of the batch, are measured against the reference in double.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/gru_cudnn.hpp"
#include "bench/gru_runs.hpp"
#include "bench/limits.hpp"
#include "bench/peer_times.hpp"
#include "reference/gru/gru_backward.hpp"
#include "reference/gru/gru_bound.hpp"

#ifndef WARPCHECK_COMMIT
#error "define WARPCHECK_COMMIT: a number without its commit is not printed"
#endif

namespace warpcheck::bench {
namespace {

constexpr int k_repeats = 15;
constexpr int k_samples = 8;  // (step, row) pairs that a verdict looks at

struct measurement {
  gru_cell cell;
  bool backward = false;
  std::string regime, peer;
  double us = 0, peer_us = 0, torch_us = 0;
  double error = 0;  // of y, or backwards of dx: the largest difference over the largest element
  // Of cuDNN's fastest algorithm at the same precision, and the least of all at that.
  std::optional<double> peer_error, least_error;
};
// Rows of the batch by themselves, in double.
struct exact_rows {
  std::vector<int64_t> batch;
  std::vector<reference::gru_states<double>> states;
  std::vector<reference::gru_gradients<double>> gradients;
};
struct program {
  cudaStream_t stream = nullptr;
  size_t flush_bytes = 0;
  gru_cudnn cudnn;
  foreign_times foreign;
  std::map<std::string, exact_rows> exact;  // by the sizes of a cell
  std::vector<measurement> results;
  bool failed = false;
};

std::vector<gru_cell> all_cells() {
  std::vector<gru_cell> cells;
  for (const auto& [t, b, i, h] : {std::array<int64_t, 4>{1000, 8, 64, 64},
                                   {100, 16, 128, 128},
                                   {128, 64, 256, 256},
                                   {1024, 1, 256, 256},
                                   {512, 32, 512, 512},
                                   {256, 128, 1024, 1024}})
    for (const int directions : {1, 2})
      for (const int precision : {0, 1, 2, 3}) cells.push_back({t, b, i, h, directions, precision});
  return cells;
}

reference::gru_shape shape_of(const gru_cell& c) { return {c.time, c.batch, c.input, c.hidden, c.directions}; }
std::vector<double> widened(const std::vector<float>& v) { return {v.begin(), v.end()}; }

// Steps [first, first + steps) of row b as a problem of their own, without a state that enters: data, all of it.
reference::gru_problem<double> part_of(const gru_cell& c, const gru_values& v, int64_t first, int64_t steps,
                                       int64_t b) {
  const reference::gru_shape s = shape_of(c);
  reference::gru_problem<double> p;
  p.shape = {steps, 1, c.input, c.hidden, c.directions};
  for (int64_t t = first; t < first + steps; ++t)
    for (int64_t i = 0; i < c.input; ++i) p.x.push_back(v.x[s.x(t, b, i)]);
  p.w_ih = widened(v.w_ih);
  p.w_hh = widened(v.w_hh);
  p.b_ih = widened(v.b_ih);
  p.b_hh = widened(v.b_hh);
  return p;
}

// Step (t, b), with the states of the results as its input.
reference::gru_problem<double> step_of(const gru_cell& c, const gru_values& v, const gru_results& r, int64_t t,
                                       int64_t b) {
  const reference::gru_shape s = shape_of(c);
  reference::gru_problem<double> p = part_of(c, v, t, 1, b);
  for (int d = 0; d < c.directions; ++d)
    for (int64_t k = 0; k < c.hidden; ++k) {
      const bool first = d == 0 ? t == 0 : t + 1 == c.time;
      p.h0.push_back(first ? v.h0[s.state(d, b, k)] : r.y[s.y(d == 0 ? t - 1 : t + 1, b, d, k)]);
    }
  return p;
}

// Throws unless the step that entered row b of the batch at t, and the gradients that left it, are within their bounds.
void verify_step(const gru_cell& c, const gru_values& v, const gru_run& run, const gru_results& r, int64_t t,
                 int64_t b) {
  const reference::gru_shape s = shape_of(c);
  using reference::dot_arithmetic;
  constexpr dot_arithmetic k_arithmetics[] = {dot_arithmetic::ieee, dot_arithmetic::tf32x3, dot_arithmetic::tf32x1,
                                              dot_arithmetic::bf16x1};
  const auto chains = [&](bool backwards) {
    const auto of = [&](int kind) {
      const gru_run::chain found = run.chain_of(kind, backwards);
      return reference::gru_chain{found.depth, found.steps};
    };
    return reference::gru_accuracy{k_arithmetics[c.precision], of(0), of(1), of(2)};
  };
  const reference::gru_problem<double> p = step_of(c, v, r, t, b);
  reference::gru_states<double> states;
  reference::gru_gradients<double> gradients;
  std::vector<double> e;
  for (int d = 0; d < c.directions; ++d)
    for (int64_t k = 0; k < c.hidden; ++k) {
      states.y.push_back(r.y[s.y(t, b, d, k)]);
      e.push_back(r.trace_e[s.trace(d, t, b, k)]);
    }
  for (int d = 0; d < c.directions; ++d)
    for (int block = 0; block < 4; ++block)
      for (int64_t k = 0; k < c.hidden; ++k) states.history.push_back(r.history[s.history(d, t, b, block, k)]);
  // e is data; with no dy it is what arrives.
  gradients.trace_e = e;
  for (int64_t i = 0; i < c.input; ++i) gradients.dx.push_back(r.dx[s.x(t, b, i)]);
  const auto forward = judge_gru_steps(p, states, chains(false));
  const auto backward = judge_gru_gradient_steps(p, states, {}, e, gradients, chains(true));
  for (const reference::gru_verdict* verdict : {&forward, &backward})
    if (!verdict->accepted())
      throw std::runtime_error(c.name() + ", step " + std::to_string(t) + ", row " + std::to_string(b) + ": " +
                               verdict->where);
}

void verify(const gru_cell& c, const gru_values& v, const gru_run& run, const gru_results& r) {
  std::vector<std::future<void>> samples;
  for (int sample = 0; sample < k_samples; ++sample) {
    const int64_t t = sample == 0 ? 0 : sample == 1 ? c.time - 1 : (sample * 7919) % c.time;
    samples.push_back(std::async(std::launch::async, verify_step, std::cref(c), std::cref(v), std::cref(run),
                                 std::cref(r), t, sample * 104729 % c.batch));
  }
  for (std::future<void>& sample : samples) sample.get();
}

std::string row_name(const gru_cell& c, bool backward) {
  return "gru/" + c.name() + (backward ? "/backward" : "/forward");
}

exact_rows compute_exact(const gru_cell& c, const gru_values& v) {
  const reference::gru_shape s = shape_of(c);
  exact_rows exact;
  exact.batch = {0};
  if (c.batch > 1) exact.batch.push_back(c.batch - 1);
  using row = std::pair<reference::gru_states<double>, reference::gru_gradients<double>>;
  std::vector<std::future<row>> rows;
  for (const int64_t b : exact.batch)
    rows.push_back(std::async(std::launch::async, [&c, &v, s, b]() -> row {
      reference::gru_problem<double> p = part_of(c, v, 0, c.time, b);
      std::vector<double> dy;
      for (int d = 0; d < c.directions; ++d)
        for (int64_t k = 0; k < c.hidden; ++k) p.h0.push_back(v.h0[s.state(d, b, k)]);
      for (int64_t t = 0; t < c.time; ++t)
        for (int64_t k = 0; k < c.directions * c.hidden; ++k) dy.push_back(v.dy[s.y(t, b, 0, k)]);
      reference::gru_states<double> states = gru_forward(p);
      reference::gru_gradients<double> gradients = gru_backward(p, states, dy, {});
      return {std::move(states), std::move(gradients)};
    }));
  for (std::future<row>& made : rows) {
    row r = made.get();
    exact.states.push_back(std::move(r.first));
    exact.gradients.push_back(std::move(r.second));
  }
  return exact;
}

// Of these rows of a result [time, batch, width], y or dx: the largest difference over the largest element.
double error_of(const gru_cell& c, const exact_rows& exact, bool backward, const std::vector<float>& result) {
  const int64_t width = backward ? c.input : c.directions * c.hidden;
  double most = 0, largest = 0;
  for (size_t row = 0; row < exact.batch.size(); ++row) {
    const std::vector<double>& values = backward ? exact.gradients[row].dx : exact.states[row].y;
    for (int64_t t = 0; t < c.time; ++t)
      for (int64_t k = 0; k < width; ++k) {
        const double value = values[static_cast<size_t>(t * width + k)];
        const double actual = result[static_cast<size_t>((t * c.batch + exact.batch[row]) * width + k)];
        const double difference = std::fabs(actual - value);
        most = difference <= most ? most : difference;  // NaN stays
        largest = std::max(largest, std::fabs(value));
      }
  }
  return most / largest;
}

std::string digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", value);
  return text;
}

// cuDNN's times and errors beside ours.
void compare(program& p, const gru_cell& c, const gru_values& values, const gru_results& ours, measurement* m) {
  exact_rows& exact = p.exact[gru_cell{c.time, c.batch, c.input, c.hidden, c.directions}.name()];
  if (exact.batch.empty()) exact = compute_exact(c, values);
  m->error = error_of(c, exact, m->backward, m->backward ? ours.dx : ours.y);
  // A peer is no candidate: it is to compute the same thing. In f32 its persistent algorithms are 7e-6 off.
  constexpr double k_f32 = 2e-5, k_tf32 = 4e-3;
  m->peer = p.cudnn.name();
  double fastest = 0;
  for (const cudnn_result& r : p.cudnn.run_all(c, values, m->backward, k_repeats, p.stream)) {
    const double error = error_of(c, exact, m->backward, m->backward ? r.dx : r.y);
    if (!(error <= (r.is_tf32 ? k_tf32 : k_f32)))
      throw std::runtime_error("cuDNN (" + r.by + ") is off by " + digits(error));
    if (m->peer_us == 0 || r.us < m->peer_us) m->peer_us = r.us, m->peer = r.by;
    if (r.is_tf32 != c.is_rounded()) continue;
    if (fastest == 0 || r.us < fastest) fastest = r.us, m->peer_error = error;
    m->least_error = std::min(error, m->least_error.value_or(error));
  }
  // cuDNN has no bf16 whose results are f32.
  if (c.precision < 3 && m->peer_error && m->error > 2 * *m->peer_error)
    throw std::runtime_error("an error of " + digits(m->error) + " is more than twice cuDNN's, " +
                             digits(*m->peer_error));
}

void measure(benchmark::State& state, program& p, const gru_cell& c, bool backward) {
  measurement m;
  m.cell = c, m.backward = backward;
  std::vector<double> times;
  try {
    const gru_values values = draw_values(c);
    gru_run run(c, values, p.flush_bytes);
    run.forward(0, p.stream);
    run.backward(0, p.stream);
    verify(c, values, run, run.results(p.stream));
    times =
        time_each(p.stream, k_repeats, [&](int i) { backward ? run.backward(i, p.stream) : run.forward(i, p.stream); });
    run.forward(1, p.stream);
    run.backward(1, p.stream);
    const gru_results last = run.results(p.stream);
    verify(c, values, run, last);
    m.us = median(times);
    m.regime = run.regime();
    compare(p, c, values, last, &m);
    for (const auto& [name, us] : p.foreign[row_name(c, backward)]) m.torch_us = median(us);
  } catch (const std::exception& e) {
    state.SkipWithError(e.what());
    p.failed = true;
    return;
  }
  size_t i = 0;
  for ([[maybe_unused]] auto _ : state) state.SetIterationTime(times[i++] * 1e-6);
  state.counters["median_us"] = m.us;
  state.counters["us_per_step"] = m.us / static_cast<double>(c.time);
  state.counters["TFLOP/s"] = c.flop() * (backward ? 2 : 1) / m.us * 1e-6;
  if (m.peer_us > 0) state.counters["cuDNN us"] = m.peer_us;
  state.counters["error"] = m.error;
  if (m.peer_error) state.counters["cuDNN error"] = *m.peer_error;
  if (m.least_error) state.counters["cuDNN least error"] = *m.least_error;
  if (m.torch_us > 0) state.counters["torch.nn.GRU us"] = m.torch_us;
  state.SetLabel(m.regime);
  p.results.push_back(m);
}

}  // namespace
}  // namespace warpcheck::bench

int main(int argc, char** argv) try {
  using namespace warpcheck::bench;
  program p;
  for (const std::string& file : take_option(&argc, argv, "--peer-times")) read_foreign(file, &p.foreign);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const std::string gpu = describe_gpu();
  benchmark::AddCustomContext("gpu", gpu);
  benchmark::AddCustomContext("commit", WARPCHECK_COMMIT);
  check(cudaStreamCreate(&p.stream), "cudaStreamCreate");
  int l2_bytes = 0;
  check(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0), "cudaDeviceGetAttribute");
  p.flush_bytes = 4 * static_cast<size_t>(l2_bytes);
  for (const gru_cell& c : all_cells())
    for (const bool backward : {false, true})
      benchmark::RegisterBenchmark(row_name(c, backward).c_str(),
                                   [&p, c, backward](benchmark::State& state) { measure(state, p, c, backward); })
          ->UseManualTime()
          ->Iterations(k_repeats)
          ->Unit(benchmark::kMicrosecond);
  benchmark::RunSpecifiedBenchmarks();
  std::printf("\n%s, commit %s, %s\n", gpu.c_str(), WARPCHECK_COMMIT, p.cudnn.name().c_str());
  std::printf("%-34s %-9s %-10s %12s %10s %12s %8s %12s %9s %11s %9s  %s\n", "cell", "pass", "regime", "us", "us/step",
              "cuDNN us", "ratio", "torch us", "error", "cuDNN error", "its least", "cuDNN by");
  for (const measurement& m : p.results)
    std::printf("%-34s %-9s %-10s %12.1f %10.3f %12.1f %8.3f %12.1f %9.2g %11.2g %9.2g  %s\n", m.cell.name().c_str(),
                m.backward ? "backward" : "forward", m.regime.c_str(), m.us, m.us / static_cast<double>(m.cell.time),
                m.peer_us, m.peer_us > 0 ? m.us / m.peer_us : 0, m.torch_us, m.error, m.peer_error.value_or(0),
                m.least_error.value_or(0), m.peer.c_str());
  check(cudaStreamDestroy(p.stream), "cudaStreamDestroy");
  return p.failed ? 1 : 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "gru_bench: %s\n", e.what());
  return 3;
}
