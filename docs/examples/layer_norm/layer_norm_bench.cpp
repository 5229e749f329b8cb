// layer_norm against the fastest copy of the same bytes; rows of the last result are judged by the reference.
#include <benchmark/benchmark.h>

#include "bench/limits.hpp"
#include "kernels/abi/candidate.h"
#include "layer_norm_reference.hpp"

using namespace warpcheck::bench;

extern "C" const warpcheck_operator* warpcheck_operator_layer_norm_cuda(void);

static void rows_of(benchmark::State& state) {
  int64_t rows = state.range(0), cols = state.range(1), shape[] = {rows, cols};
  const size_t bytes = static_cast<size_t>(rows * cols) * sizeof(float);
  buffer_ring ring(bytes, bytes, size_t{256} << 20);
  ring.fill_inputs(buffer_ring::element::f32, 8, nullptr);
  const limit copy = fastest_copy(ring, bytes, 20, nullptr);
  float* all = nullptr;  // gamma, beta, mean, rstd
  check(cudaMallocManaged(&all, static_cast<size_t>(2 * (rows + cols)) * sizeof(float)), "small tensors");
  for (int64_t i = 0; i < 2 * cols; ++i) all[i] = i < cols ? 1.5f : 0.5f;
  const auto of = [](void* at, int rank, int64_t* size) {
    return DLTensor{at, {kDLCUDA, 0}, rank, {kDLFloat, 32, 1}, size, nullptr, 0};
  };
  const auto run = [&](int i) {
    DLTensor t[] = {of(ring.input(i), 2, shape), of(all, 1, shape + 1), of(all + cols, 1, shape + 1),
                    of(ring.output(i), 2, shape), of(all + 2 * cols, 1, shape), of(all + 2 * cols + rows, 1, shape)};
    DLTensor *out[] = {t + 3, t + 4, t + 5}, *in[] = {t, t + 1, t + 2};
    const warpcheck_scalar eps{"eps", 1e-5};
    warpcheck_call call{sizeof call, in, out, &eps, 3, 3, 1, nullptr, nullptr, nullptr, nullptr, 0};
    if (warpcheck_operator_layer_norm_cuda()->run(&call) != WARPCHECK_OK) throw std::runtime_error("layer_norm failed");
  };
  const auto times = time_in_turn(nullptr, 100, {run, [&](int i) { copy.run(ring, i); }});
  for (auto _ : state) state.SetIterationTime(median(times[0]) * 1e-6);
  state.SetLabel(describe_gpu());
  state.counters["of_copy"] = median(times[1]) / median(times[0]);  // 1: as fast as the copy
  ring.poison_outputs(nullptr);
  run(0);
  std::vector<float> x(bytes / 4), y(x);
  check(cudaMemcpy(x.data(), ring.input(0), bytes, cudaMemcpyDefault), "x");
  check(cudaMemcpy(y.data(), ring.output(0), bytes, cudaMemcpyDefault), "y");
  for (auto at = x.begin(); at < x.end(); at += rows / 64 * cols) {
    const layer_norm::row_model model({at, at + cols}, {all, all + cols}, {all + cols, all + 2 * cols}, 1e-5);
    for (int64_t i = 0; i < cols; ++i)
      if (!model.judge(i, y[static_cast<size_t>(at - x.begin() + i)]).accepted) state.SkipWithError("a result is wrong");
  }
}
BENCHMARK(rows_of)->Args({65536, 1024})->Args({8192, 8192})->Iterations(1)->UseManualTime()->Unit(benchmark::kMicrosecond);
