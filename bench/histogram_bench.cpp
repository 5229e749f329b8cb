// Histograms against the read limit and the update limit of the same run. See bench/README.md.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/histogram_runs.hpp"
#include "bench/limits.hpp"

#ifndef WARPCHECK_COMMIT
#error "define WARPCHECK_COMMIT: a number without its commit is not printed"
#endif

namespace warpcheck::bench {
namespace {

constexpr int k_repeats = 31;

struct measurement {
  histogram_shape shape;
  double us = 0, updates_us = 0, read_us = 0;
};

struct program {
  cudaStream_t stream = nullptr;
  size_t flush_bytes = 0;
  std::vector<measurement> results;
  bool failed = false;
};

std::vector<histogram_shape> all_shapes() {
  std::vector<histogram_shape> shapes;
  for (const histogram_mode mode : {histogram_mode::quantised, histogram_mode::fixed64}) {
    shapes.push_back({mode, 10000000, 28});
    // A bin's share of the rows, then the leaf's part of them.
    for (const int heavy : {10, 50, 100}) shapes.push_back({mode, 10000000, 28, 255, heavy});
    for (const int part : {8, 64, 512}) shapes.push_back({mode, 10000000, 28, 255, 0, part});
  }
  for (const histogram_mode mode : {histogram_mode::float32, histogram_mode::float64})
    shapes.push_back({mode, 10000000, 28});
  return shapes;
}

// Least squares of us = a + b updates over the shuffled leaves of one mode, where bins are alike.
void print_growth(const std::vector<measurement>& results, histogram_mode mode) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const measurement& m : results) {
    if (m.shape.mode != mode || m.shape.heavy > 0 || m.shape.leaf_part == 1) continue;
    const double x = m.shape.updates();
    n += 1;
    sx += x;
    sy += m.us;
    sxx += x * x;
    sxy += x * m.us;
  }
  const double determinant = n * sxx - sx * sx;
  if (n < 3 || determinant <= 0) return;
  const double slope = (n * sxy - sx * sy) / determinant;
  std::printf("%s leaves: %.2f us + %.3f us per million updates\n", histogram_shape{mode}.mode_name(),
              (sy - slope * sx) / n, slope * 1e6);
}

void run_benchmark(benchmark::State& state, program& p, const histogram_shape& shape) {
  measurement result{shape};
  std::vector<double> times;
  try {
    histogram_run run(shape, p.stream);
    const auto both =
        time_in_turn(p.stream, k_repeats, {[&](int i) { run.run(i); }, [&](int i) { run.update_tiles(i); }});
    times = both[0];
    result.us = median(times);
    result.updates_us = median(both[1]);
    const buffer_ring ring(run.bytes() / 16 * 16, 16, p.flush_bytes);
    result.read_us = fastest_read(ring, ring.input_bytes(), k_repeats, p.stream).us;
    run.run(k_repeats);
    run.verify();
  } catch (const std::exception& e) {
    state.SkipWithError(e.what());
    p.failed = true;
    return;
  }
  size_t i = 0;
  for ([[maybe_unused]] auto _ : state) state.SetIterationTime(times[i++] * 1e-6);
  state.counters["median_us"] = result.us;
  state.counters["updates_us"] = result.updates_us;
  state.counters["read_us"] = result.read_us;
  state.counters["updates_per_s"] = shape.updates() / result.us * 1e6;
  p.results.push_back(result);
}

}  // namespace
}  // namespace warpcheck::bench

int main(int argc, char** argv) try {
  using namespace warpcheck::bench;
  program p;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const std::string gpu = describe_gpu();
  benchmark::AddCustomContext("gpu", gpu);
  benchmark::AddCustomContext("commit", WARPCHECK_COMMIT);
  check(cudaStreamCreate(&p.stream), "cudaStreamCreate");
  int l2_bytes = 0;
  check(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0), "cudaDeviceGetAttribute");
  p.flush_bytes = 4 * static_cast<size_t>(l2_bytes);
  for (const histogram_shape& shape : all_shapes())
    benchmark::RegisterBenchmark(shape.name().c_str(),
                                 [&p, shape](benchmark::State& state) { run_benchmark(state, p, shape); })
        ->UseManualTime()
        ->Iterations(k_repeats)
        ->Unit(benchmark::kMicrosecond);
  benchmark::RunSpecifiedBenchmarks();
  std::printf("\n%s, commit %s\n", gpu.c_str(), WARPCHECK_COMMIT);
  std::printf("%-48s %9s %12s %12s %9s %14s  %s\n", "row", "us", "updates us", "us/updates", "read us", "updates/s",
              "best peer");
  for (const measurement& m : p.results)
    std::printf("%-48s %9.2f %12.2f %12.3f %9.2f %14.4g  peer absent\n", m.shape.name().c_str(), m.us, m.updates_us,
                m.us / m.updates_us, m.read_us, m.shape.updates() / m.us * 1e6);
  for (const histogram_mode mode : {histogram_mode::quantised, histogram_mode::fixed64}) print_growth(p.results, mode);
  check(cudaStreamDestroy(p.stream), "cudaStreamDestroy");
  return p.failed ? 1 : 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "histogram_bench: %s\n", e.what());
  return 3;
}
