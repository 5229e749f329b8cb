// best_split against the launch latency and the read of its histogram, on the shapes of the specification and on how
// its time grows. Every row is verified to the bit before and after it is timed. Peers are absent.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/best_split_calls.hpp"
#include "bench/limits.hpp"
#include "reference/best_split.hpp"

#ifndef WARPCHECK_COMMIT
#error "define WARPCHECK_COMMIT: a number without its commit is not printed"
#endif

namespace warpcheck::bench {

void verify_split(const split_case& c, const std::vector<double>& hist, const double* values, const int64_t* fields) {
  reference::split_problem p;
  p.slots = hist;
  p.settings.min_data = 1;
  for (int64_t f = 0; f < c.features; ++f)
    p.features.push_back({f, c.bins_of(f), 0, f * c.bins, 0,
                          c.missing ? reference::split_missing::nan : reference::split_missing::none, false});
  for (int64_t b = 0; b < c.bins_of(0); ++b) {
    p.leaf.g += hist[static_cast<size_t>(2 * b)];
    p.leaf.h += hist[static_cast<size_t>(2 * b + 1)];
  }
  p.leaf.n = static_cast<int64_t>(p.leaf.h);
  p.leaf.parent_gain = reference::leaf_gain(p.leaf.g, p.leaf.h, p.settings);
  p.leaf.seed = 1;
  const reference::split_result r = reference::best_split(p);
  const double expected[] = {r.gain,    r.left.g,  r.left.h,     r.left.gain,  r.left.value,
                             r.right.g, r.right.h, r.right.gain, r.right.value};
  const int64_t expected_fields[] = {r.is_valid, r.default_left, r.feature, static_cast<int64_t>(r.threshold),
                                     r.left.n,   r.right.n};
  if (std::memcmp(values, expected, sizeof expected) != 0 ||
      std::memcmp(fields, expected_fields, sizeof expected_fields) != 0)
    throw std::runtime_error("the record is not the reference's: gain " + std::to_string(values[0]) + ", expected " +
                             std::to_string(r.gain));
}

namespace {

constexpr int k_repeats = 101;
constexpr size_t k_flush_bytes = size_t{240} << 20;  // four times the L2 cache

struct row {
  split_case shape;
  double target_us;  // 0: none
};

std::vector<row> all_rows() {
  std::vector<row> rows = {{{1000, 255, true, "automatic"}, 15}, {{1, 65536, true, "automatic"}, 60}};
  for (const int64_t features : {1, 28, 132, 500, 2000}) rows.push_back({{features, 255, true, "automatic"}, 0});
  for (const int64_t bins : {256, 1024, 4096, 16384})
    for (const char* path : {"block", "cluster"}) rows.push_back({{1, bins, true, path}, 0});
  for (const int64_t bins : {255, 1024}) rows.push_back({{1, bins, true, "known"}, 0});
  for (const int64_t bins : {4096, 16384, 65536})
    for (const char* path : {"automatic", "known"}) rows.push_back({{1000, 255, true, path, bins}, 0});
  return rows;
}

void measure(benchmark::State& state, const row& r) {
  try {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreate(&stream), "stream");
    split_calls calls(r.shape, k_flush_bytes);
    calls.run(0, stream);
    calls.verify(stream);
    for (auto _ : state) {
      const double us = median(time_each(stream, k_repeats, [&](int i) { calls.run(i, stream); }));
      state.SetIterationTime(us * 1e-6);
      state.counters["us"] = us;
    }
    calls.verify(stream);
    state.counters["launch_us"] = launch_us(k_repeats, stream);
    state.counters["GB/s"] = static_cast<double>(calls.bytes()) / state.counters["us"] * 1e-3;
    if (r.target_us > 0) state.counters["of_target"] = state.counters["us"] / r.target_us;
    state.SetLabel(calls.path() + ", peer absent");
    check(cudaStreamDestroy(stream), "stream");
  } catch (const std::exception& e) {
    state.SkipWithError(e.what());
  }
}

}  // namespace
}  // namespace warpcheck::bench

int main(int argc, char** argv) {
  using namespace warpcheck::bench;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  try {
    std::printf("%s, commit %s\n", describe_gpu().c_str(), WARPCHECK_COMMIT);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "best_split_bench: %s\n", e.what());
    return 3;
  }
  for (const row& r : all_rows()) {
    const std::string name = "best_split/" + std::to_string(r.shape.features) + "x" + std::to_string(r.shape.bins) +
                             (r.shape.last_bins > 0 ? "_and_" + std::to_string(r.shape.last_bins) : "") + "/" +
                             r.shape.path;
    benchmark::RegisterBenchmark(name.c_str(), [r](benchmark::State& state) { measure(state, r); })
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
