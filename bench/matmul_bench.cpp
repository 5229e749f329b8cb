// Matrix products against the FMA limit of the same run, and against cuBLAS in f32, tf32, bf16 and BF16x9 and CUTLASS'
// 3xTF32. See bench/README.md.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/limits.hpp"
#include "bench/matmul_runs.hpp"

#ifndef WARPCHECK_COMMIT
#error "define WARPCHECK_COMMIT: a number without its commit is not printed"
#endif

namespace warpcheck::bench {
namespace {

constexpr int k_repeats = 21;

struct measurement {
  product_shape shape;
  product_arithmetic arithmetic;
  std::string variant;
  double us = 0, layer_us = 0;
  double peer_us[std::size(k_all_peers)] = {};  // 0: not there
  double error_ratio = 0;                       // the largest share of the bound that an error takes
  double peer_error_ratio[std::size(k_all_peers)] = {};
  // Operations a second by tensor cores that a product of so many parts is made of.
  double tensor_limit() const {
    const bool tf32 = arithmetic == product_arithmetic::tf32x3;
    const double peer = peer_us[static_cast<int>(tf32 ? product_peer::tf32 : product_peer::bf16)];
    const int parts = tf32 ? 3 : arithmetic == product_arithmetic::bf16x6 ? 6 : 1;
    return peer > 0 ? shape.flops() / peer / parts : 0;
  }
};

struct program {
  cudaStream_t stream = nullptr;
  size_t flush_bytes = 0;
  double fma_limit = 0;  // operations per microsecond
  std::vector<measurement> results;
  std::map<std::pair<std::string, product_peer>, double>
      peer_error_ratios;  // of shapes: the same beside each of our modes
  bool failed = false;
};

const std::vector<product_shape>& all_shapes() {
  static const std::vector<product_shape> shapes = [] {
    std::vector<product_shape> all = {{512, 512, 512},    {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096},
                                      {8192, 8192, 8192}, {4097, 4095, 4093}, {64, 4096, 4096},   {8192, 64, 8192},
                                      {8192, 8192, 64},   {1, 4096, 4096},    {4096, 1, 4096},    {1, 50000, 8192}};
    const int64_t layouts_of[] = {2048, 4096};
    for (const int64_t n : layouts_of)
      for (const int layout : {1, 2, 3}) all.push_back({n, n, n, layout % 2 == 1, layout >= 2});
    return all;
  }();
  return shapes;
}

// Ours, as a layer, and each peer, in turns, all verified after.
void run_benchmark(benchmark::State& state, program& p, const product_shape& shape, product_arithmetic arithmetic) {
  measurement result{shape, arithmetic, "", 0, 0, {}, 0, {}};
  std::vector<double> times;
  try {
    product_run run(shape, p.stream, p.flush_bytes);
    std::vector<timed_run> who = {{[&](int i) { run.ours(arithmetic, i); }},
                                  {[&](int i) { run.layer(arithmetic, i); }}};
    std::vector<product_peer> peers;
    for (const product_peer peer : k_all_peers) {
      if (!offers(peer, shape)) continue;
      peers.push_back(peer);
      who.push_back({[&, peer](int i) { run.peer(peer, i); }});
    }
    const auto all = time_in_turn(p.stream, k_repeats, who);
    times = all[0];
    result.us = median(times);
    result.layer_us = median(all[1]);
    for (size_t k = 0; k < peers.size(); ++k) result.peer_us[static_cast<int>(peers[k])] = median(all[k + 2]);
    result.variant = run.variant(arithmetic);
    result.error_ratio = run.verify_ours(arithmetic);
    for (const product_peer peer : peers) {
      const std::pair key(shape.name(), peer);
      auto known = p.peer_error_ratios.find(key);
      if (known == p.peer_error_ratios.end()) known = p.peer_error_ratios.emplace(key, run.verify_peer(peer)).first;
      result.peer_error_ratio[static_cast<int>(peer)] = known->second;
    }
  } catch (const std::exception& e) {
    state.SkipWithError(e.what());
    p.failed = true;
    return;
  }
  size_t i = 0;
  for ([[maybe_unused]] auto _ : state) state.SetIterationTime(times[i++] * 1e-6);
  state.SetLabel(result.variant);
  state.counters["median_us"] = result.us;
  state.counters["tflops"] = shape.flops() / result.us * 1e-6;
  state.counters["fma_limit_tflops"] = p.fma_limit * 1e-6;
  state.counters["layer_us"] = result.layer_us;
  state.counters["error ratio"] = result.error_ratio;
  for (const product_peer peer : k_all_peers) {
    if (result.peer_us[static_cast<int>(peer)] == 0) continue;
    state.counters[std::string(name_of(peer)) + " us"] = result.peer_us[static_cast<int>(peer)];
    state.counters[std::string(name_of(peer)) + " error ratio"] = result.peer_error_ratio[static_cast<int>(peer)];
  }
  p.results.push_back(result);
}

void print_row(const measurement& m, double fma_limit) {
  const double rate = m.shape.flops() / m.us;
  const bool on_tensor_cores = m.arithmetic != product_arithmetic::ieee;
  const double limit = on_tensor_cores ? m.tensor_limit() : fma_limit;
  std::printf("%-24s %-7s %-14s %10.1f %8.1f %8.1f %8.3f %10.1f", m.shape.name().c_str(), name_of(m.arithmetic),
              m.variant.c_str(), m.us, rate * 1e-6, limit * 1e-6, limit > 0 ? rate / limit : 0, m.layer_us);
  for (const double us : m.peer_us)
    if (us > 0)
      std::printf(" %10.1f %7.3f", us, us / m.us);
    else
      std::printf(" %10s %7s", "absent", "");
  std::printf(" %11.4f\n", m.error_ratio);
}

void print_table(const program& p, const std::string& gpu) {
  std::printf("\n%s, %s, %s, commit %s; %.1f TFLOP/s of FMAs in f32 from registers\n", gpu.c_str(),
              cublas_text().c_str(), cutlass_text().c_str(), WARPCHECK_COMMIT, p.fma_limit * 1e-6);
  std::printf("%-24s %-7s %-14s %10s %8s %8s %8s %10s", "m x n x k", "mode", "variant", "us", "TFLOP/s", "limit",
              "of it", "layer us");
  for (const product_peer peer : k_all_peers) std::printf(" %10s %7s", name_of(peer), "ratio");
  std::printf(" %11s\n", "error ratio");
  for (const measurement& m : p.results) print_row(m, p.fma_limit);
  std::printf(
      "limit: FMAs (ieee); a third of cuBLAS tf32 (tf32x3), a sixth of cuBLAS bf16 (bf16x6), cuBLAS bf16 (f16, bf16).\n"
      "ratio: time of the peer / ours, above 1 we are faster. error ratio: the largest share of the error bound.\n");
  std::printf("largest share of a peer's own bound:");
  for (const product_peer peer : k_all_peers) {
    double worst = 0;
    bool is_there = false;
    for (const measurement& m : p.results) {
      worst = std::max(worst, m.peer_error_ratio[static_cast<int>(peer)]);
      is_there = is_there || m.peer_us[static_cast<int>(peer)] > 0;
    }
    if (is_there) std::printf(" %s %.4f;", name_of(peer), worst);
  }
  std::printf("\n");
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
  benchmark::AddCustomContext("cublas", cublas_text());
  benchmark::AddCustomContext("cutlass", cutlass_text());
  check(cudaStreamCreate(&p.stream), "cudaStreamCreate");
  int l2_bytes = 0;
  check(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0), "cudaDeviceGetAttribute");
  p.flush_bytes = 4 * static_cast<size_t>(l2_bytes);
  p.fma_limit = fma_flops(k_repeats, p.stream) * 1e-6;
  for (const product_shape& shape : all_shapes())
    for (const product_arithmetic arithmetic : k_all_arithmetics)
      benchmark::RegisterBenchmark(
          ("matmul/" + std::string(name_of(arithmetic)) + "/" + shape.name()).c_str(),
          [&p, shape, arithmetic](benchmark::State& state) { run_benchmark(state, p, shape, arithmetic); })
          ->UseManualTime()
          ->Iterations(k_repeats)
          ->Unit(benchmark::kMicrosecond);
  benchmark::RunSpecifiedBenchmarks();
  print_table(p, gpu);
  check(cudaStreamDestroy(p.stream), "cudaStreamDestroy");
  return p.failed ? 1 : 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "matmul_bench: %s\n", e.what());
  return 3;
}
