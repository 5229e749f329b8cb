// Histograms against the read limit and the update limit of the same run. See bench/README.md.
#include <benchmark/benchmark.h>

#include <array>
#include <bit>
#include <cstdio>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/histogram_runs.hpp"
#include "bench/limits.hpp"
#include "reference/histogram.hpp"

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

// Verdicts on the sums of one part (0: g, 1: h) of a column's bins.
std::vector<reference::judgement> judge_part(const histogram_shape& shape, const histogram_data& d, int part,
                                             std::span<const reference::histogram_update> updates,
                                             std::span<const double> sums) {
  const auto bins = static_cast<size_t>(shape.bins);
  std::vector<reference::judgement> verdicts(bins);
  if (shape.mode == histogram_mode::quantised) {
    std::vector<int64_t> x(d.g.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = d.gh[2 * i + static_cast<size_t>(part)];
    const std::vector<int64_t> expected = reference::integer_histogram(updates, x, shape.bins);
    for (size_t b = 0; b < bins; ++b)
      verdicts[b] = reference::judge_fixed(dtype::f64, static_cast<double>(std::bit_cast<int64_t>(sums[b])),
                                           static_cast<double>(expected[b]));
    return verdicts;
  }
  const std::vector<float>& values = part == 0 ? d.g : d.h;
  const std::vector<double> x(values.begin(), values.end());
  if (shape.mode == histogram_mode::fixed64) {
    const int e = reference::fixed_exponent(x, shape.rows);
    if (e != (part == 0 ? d.e_g : d.e_h)) throw std::runtime_error(shape.name() + ": the scale is wrong");
    const std::vector<double> expected = reference::fixed_histogram(updates, x, shape.bins, e);
    for (size_t b = 0; b < bins; ++b) verdicts[b] = reference::judge_fixed(dtype::f64, sums[b], expected[b]);
    return verdicts;
  }
  std::vector<reference::judged_sum> exact(bins);
  for (const reference::histogram_update& u : updates)
    exact[static_cast<size_t>(u.slot)].add(x[static_cast<size_t>(u.row)]);
  for (size_t b = 0; b < bins; ++b)
    verdicts[b] =
        shape.mode == histogram_mode::float32 ? exact[b].judge_float32(sums[b]) : exact[b].judge_float64(sums[b]);
  return verdicts;
}

void verify_column(const histogram_shape& shape, const histogram_data& d, int column) {
  std::vector<reference::histogram_update> updates(static_cast<size_t>(shape.leaf_rows()));
  for (size_t i = 0; i < updates.size(); ++i) {
    const int64_t row = d.rows.empty() ? static_cast<int64_t>(i) : d.rows[i];
    updates[i] = {d.bins[static_cast<size_t>(row * shape.cols + column)], row};
  }
  for (int part = 0; part < 2; ++part) {
    std::vector<double> sums(static_cast<size_t>(shape.bins));
    for (size_t b = 0; b < sums.size(); ++b)
      sums[b] = d.sums[2 * (static_cast<size_t>(column * shape.bins) + b) + static_cast<size_t>(part)];
    const std::vector<reference::judgement> verdicts = judge_part(shape, d, part, updates, sums);
    for (size_t b = 0; b < verdicts.size(); ++b)
      if (!verdicts[b].accepted)
        throw std::runtime_error(shape.name() + ": bin " + std::to_string(b) + " of column " + std::to_string(column) +
                                 ", part " + std::to_string(part) + ": expected " +
                                 std::to_string(verdicts[b].expected) + ", off by " +
                                 std::to_string(verdicts[b].error));
  }
}

// Throws unless every sum is right: integers and fixed64 to the bit, the others within their bounds.
void verify(const histogram_shape& shape, const histogram_data& d) {
  std::vector<std::future<void>> columns;
  for (int c = 0; c < shape.cols; ++c)
    columns.push_back(std::async(std::launch::async, [&, c] { verify_column(shape, d, c); }));
  for (std::future<void>& column : columns) column.get();
}

// Time over updates of the shuffled leaves of one mode, where bins are alike.
void print_growth(const std::vector<measurement>& results, histogram_mode mode) {
  std::vector<std::pair<double, double>> points;
  for (const measurement& m : results)
    if (m.shape.mode == mode && m.shape.heavy == 0 && m.shape.leaf_part > 1)
      points.emplace_back(m.shape.updates() * 1e-6, m.us);
  if (points.size() < 3) return;
  const line fit = fit_line(points);
  std::printf("%s leaves: %.2f us + %.3f us per million updates, within %.0f %%\n", histogram_shape{mode}.mode_name(),
              fit.at_zero, fit.slope, 100 * fit.worst);
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
    verify(shape, run.fetch());
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
