// Speed of the emulated device, one executable per flavour. Times are of one launch.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <vector>

#include "bench/simt_bench_kernels.hpp"
#include "simt/emulation.hpp"
#include "tests/simt/device_array.hpp"

namespace warpcheck::bench {
namespace {

using self::device_array;

simt::emulation stream_with(const char* schedule, unsigned resident) {
  simt::emulation stream;
  stream.schedule = simt::schedule::parse(schedule);
  stream.resident_blocks = resident;
  return stream;
}

void softmax_1024x1024(benchmark::State& state, const char* schedule, unsigned resident) {
  device_array<float> in(1024 * 1024), out(1024 * 1024);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(std::sin(static_cast<double>(i) * 0.37) * 5);
  simt::emulation stream = stream_with(schedule, resident);
  for (auto _ : state) run_softmax(in.data(), out.data(), 1024, 1024, &stream);
  double sum = 0;
  for (size_t c = 0; c < 1024; ++c) sum += static_cast<double>(out[c]);
  // The row's terms are probabilities with relative errors below 2^-18 each.
  if (!(std::fabs(sum - 1) < 0x1p-18)) state.SkipWithError("the row does not sum to 1");
}
BENCHMARK_CAPTURE(softmax_1024x1024, fair, "fair", 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(softmax_1024x1024, fair_8_resident, "fair", 8)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(softmax_1024x1024, greedy, "greedy", 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(softmax_1024x1024, random, "random:42", 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(softmax_1024x1024, preempt, "preempt:42", 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(softmax_1024x1024, pct_warp, "pct_warp:42", 1)->Unit(benchmark::kMillisecond);

// Memory of this process in bytes.
size_t resident_memory() {
  std::ifstream statm("/proc/self/statm");
  size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * 4096;
}

// `accesses`: to memory of the device, shared or not, by all threads of a launch. The memory that the first launch adds
// to the process is given for each byte of the operands, which the host has touched. The argument of the benchmark is
// the number of processes that a launch may use.
template <class Run>
void access_rate(benchmark::State& state, uint64_t accesses, size_t operand_bytes, const Run& run) {
  simt::emulation stream = stream_with("fair", 8);
  stream.processes = static_cast<unsigned>(state.range(0));
  const size_t before = resident_memory();
  run(&stream);
  const size_t added = resident_memory() - before;
  for (auto _ : state) run(&stream);
  if (!stream.ok()) state.SkipWithError("finding");
  state.counters["accesses"] =
      benchmark::Counter(static_cast<double>(accesses), benchmark::Counter::kIsIterationInvariantRate);
  state.counters["detector_bytes_per_byte"] = static_cast<double>(added) / static_cast<double>(operand_bytes);
}

#define SIMT_RATE(name) BENCHMARK(name)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond)

void softmax_rate(benchmark::State& state) {
  constexpr size_t k_n = 1024 * 1024;
  device_array<float> in(k_n), out(k_n);
  for (size_t i = 0; i < k_n; ++i) in[i] = static_cast<float>(i % 7), out[i] = 0;
  access_rate(state, 4 * k_n + 1024 * (8 + 256) * 2, 2 * k_n * sizeof(float),
              [&](simt::emulation* s) { run_softmax(in.data(), out.data(), 1024, 1024, s); });
}
SIMT_RATE(softmax_rate);

void product_rate(benchmark::State& state) {
  constexpr size_t k_n = 256;
  device_array<float> a(k_n * k_n), b(k_n * k_n), c(k_n * k_n);
  for (size_t i = 0; i < a.size(); ++i) a[i] = 1, b[i] = 2, c[i] = 0;
  access_rate(state, k_n * k_n * (k_n / 16 * 36 + 1), 3 * k_n * k_n * sizeof(float),
              [&](simt::emulation* s) { run_tiled_product(a.data(), b.data(), c.data(), k_n, s); });
  if (c[5] != 2 * k_n) state.SkipWithError("wrong output");
}
SIMT_RATE(product_rate);

void stencil_rate(benchmark::State& state) {
  constexpr size_t k_n = 1 << 20;
  device_array<float> in(k_n), out(k_n);
  for (size_t i = 0; i < k_n; ++i) in[i] = 1, out[i] = 0;
  access_rate(state, 8 * k_n, 2 * k_n * sizeof(float),
              [&](simt::emulation* s) { run_stencil(in.data(), out.data(), k_n, s); });
  if (out[5] != 7) state.SkipWithError("wrong output");
}
SIMT_RATE(stencil_rate);

void bins_rate(benchmark::State& state) {
  constexpr size_t k_n = 1 << 20;
  device_array<int> in(k_n), bins(256);
  for (size_t i = 0; i < k_n; ++i) in[i] = static_cast<int>(i * 7);
  for (size_t i = 0; i < 256; ++i) bins[i] = 0;
  access_rate(state, 2 * k_n + k_n / 4096 * 256 * 3, k_n * sizeof(int),
              [&](simt::emulation* s) { run_count_bins(in.data(), bins.data(), k_n, s); });
  if (bins[5] % 4096 != 0) state.SkipWithError("wrong output");
}
SIMT_RATE(bins_rate);
#undef SIMT_RATE

// One block of 128 threads with three barriers, its allocations included: a small case.
void small_case(benchmark::State& state) {
  simt::emulation stream = stream_with("fair", 8);
  for (auto _ : state) {
    auto* in = static_cast<int*>(simt::device_alloc(512, 0, 4));
    auto* out = static_cast<int*>(simt::device_alloc(512, 0, 4));
    for (int i = 0; i < 128; ++i) in[i] = i;
    run_rotate(in, out, &stream);
    if (out[5] != 7) state.SkipWithError("wrong output");
    simt::device_free(in);
    simt::device_free(out);
  }
}
BENCHMARK(small_case)->Unit(benchmark::kMicrosecond);

void per_thread_barrier(benchmark::State& state) {
  const auto threads = static_cast<unsigned>(state.range(0)), blocks = static_cast<unsigned>(state.range(1));
  simt::emulation stream = stream_with("fair", blocks);
  constexpr int k_barriers = 200;
  for (auto _ : state) run_barriers(blocks, threads, k_barriers, &stream);
  state.counters["per_thread_barrier"] =
      benchmark::Counter(static_cast<double>(threads) * blocks * k_barriers,
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(per_thread_barrier)
    ->Args({256, 1})
    ->Args({1024, 1})
    ->Args({1024, 16})
    ->Args({1024, 64})
    ->Unit(benchmark::kMillisecond);

void per_lane_syncwarp(benchmark::State& state) {
  simt::emulation stream = stream_with("fair", 1);
  constexpr int k_barriers = 200;
  for (auto _ : state) run_warp_barriers(1, 256, k_barriers, &stream);
  state.counters["per_lane_syncwarp"] = benchmark::Counter(
      256.0 * k_barriers, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(per_lane_syncwarp)->Unit(benchmark::kMillisecond);

constexpr int k_steps = 64;

// All operands are 1; `ones` are the bits of one, or of two neighbours.
void tensor_step(benchmark::State& state, int n, uint32_t ones,
                 void (*run)(const float*, float*, int, simt::emulation*)) {
  const auto cols = static_cast<size_t>(n);
  device_array<float> in(512 + 8 * cols), out(64 * cols);
  for (size_t i = 0; i < in.size(); ++i) std::memcpy(&in[i], &ones, sizeof ones);
  simt::emulation stream = stream_with("fair", 1);
  for (auto _ : state) run(in.data(), out.data(), k_steps, &stream);
  if (out[5] != static_cast<float>(65536 / n / 64 * k_steps)) state.SkipWithError("wrong output");
  state.counters["per_step"] =
      benchmark::Counter(k_steps, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(tensor_step, bf16_m64n64k16, 64, 0x3f803f80u, run_bf16_products)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(tensor_step, tf32_m64n128k8, 128, 0x3f800000u, run_tf32_products)->Unit(benchmark::kMillisecond);

// The same products by a plain loop: 64 x n sums of k products each.
__attribute__((noinline, target("fma"))) void multiply(const float* a, const float* b, float* c, size_t n, size_t k) {
  for (size_t i = 0; i < 64; ++i)
    for (size_t j = 0; j < n; ++j) {
      float sum = c[i * n + j];
      for (size_t l = 0; l < k; ++l) sum = __builtin_fmaf(a[i * k + l], b[l * n + j], sum);
      c[i * n + j] = sum;
    }
}

void plain_loop(benchmark::State& state, size_t n, size_t k) {
  std::vector<float> a(64 * k, 1.0f), b(k * n, 1.0f), c(64 * n);
  for (auto _ : state) {
    multiply(a.data(), b.data(), c.data(), n, k);
    benchmark::ClobberMemory();
  }
}
BENCHMARK_CAPTURE(plain_loop, m64n64k16, 64, 16)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(plain_loop, m64n128k8, 128, 8)->Unit(benchmark::kMicrosecond);

void per_empty_thread(benchmark::State& state) {
  simt::emulation stream = stream_with("fair", 1);
  for (auto _ : state) run_nothing(1000, 256, &stream);
  state.counters["per_thread"] =
      benchmark::Counter(256000.0, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(per_empty_thread)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace warpcheck::bench

BENCHMARK_MAIN();
