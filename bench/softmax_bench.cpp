// Softmax against the copy limit of the same run: `softmax_bench` prints a table, `--benchmark_out=FILE.json
// --benchmark_out_format=json` writes the numbers, `--benchmark_filter=REGEX` selects rows of it.
//
// Each row rotates over buffers that exceed the L2 cache, on random data; outputs are poisoned before and verified
// after the timing. See bench/README.md.
#include <benchmark/benchmark.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/limits.hpp"
#include "kernels/candidate.h"

#ifndef WARPCHECK_COMMIT
#error "define WARPCHECK_COMMIT: a number without its commit is not printed"
#endif

extern "C" const warpcheck_operator* warpcheck_operator_softmax_cuda(void);

namespace warpcheck::bench {
namespace {

using element = buffer_ring::element;

struct softmax_row {
  element type = element::f32;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t ld = 0;  // elements between rows; 0: cols
  int offset = 0;  // elements that x and y start past a 256-byte boundary
  bool argmax = false;
  const char* variant = nullptr;  // forced technique
  double target = 0.97;           // fraction of the copy limit that the specification asks for

  size_t element_bytes() const { return type == element::f32 ? 4 : 2; }
  int64_t stride() const { return ld == 0 ? cols : ld; }
  size_t bytes_one_way() const { return static_cast<size_t>(rows * cols) * element_bytes(); }
  size_t allocation() const { return static_cast<size_t>(rows * stride() + offset) * element_bytes(); }
  std::string name() const {
    static constexpr const char* k_types[] = {"f32", "f16", "bf16"};
    std::string text = std::string("softmax/") + k_types[static_cast<int>(type)] + "/" + std::to_string(rows) + "x" +
                       std::to_string(cols);
    if (ld != 0) text += "/ld:" + std::to_string(ld);
    if (offset != 0) text += "/offset:" + std::to_string(offset);
    if (argmax) text += "/argmax";
    if (variant != nullptr) text += std::string("/") + variant;
    return text;
  }
};

struct measurement {
  std::string name;
  std::string variant;
  double us = 0;
  double gbps = 0;
  double fraction = 0;  // of the copy limit
  double target = 0;
  limit copy;
};

constexpr int k_repeats = 101;

float to_float(const void* data, element type, size_t i) {
  if (type == element::f32) return static_cast<const float*>(data)[i];
  uint16_t bits = static_cast<const uint16_t*>(data)[i];
  if (type == element::bf16) {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
  return __half2float(__half(__half_raw{bits}));
}

// Throws unless a row of results is within the bound of the contract to first order: a relative error of
// (d + ln n + h + 11 + 12 q) u for an element d below the maximum, h the longest chain of additions and q rescales.
void verify_row(const void* x, const void* y, const softmax_row& row, int64_t index) {
  const auto n = static_cast<size_t>(row.cols);
  double maximum = -HUGE_VAL;
  for (size_t i = 0; i < n; ++i) maximum = std::max<double>(maximum, to_float(x, row.type, i));
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += std::exp(to_float(x, row.type, i) - maximum);
  const double log2_n = std::ceil(std::log2(static_cast<double>(n)));
  const double chain =
      std::min(static_cast<double>(n) - 1, 32 + 2 * log2_n + std::ceil(static_cast<double>(n) / 16384));
  const double rescales = row.cols <= (int64_t{1} << 22) ? 2 : 16;
  const double rounding = row.type == element::f32 ? 0 : row.type == element::f16 ? 0x1p-11 : 0x1p-8;
  const double smallest = row.type == element::f32 ? 0x1p-147 : row.type == element::f16 ? 0x1p-25 : 0x1p-134;
  for (size_t i = 0; i < n; ++i) {
    const double d = maximum - to_float(x, row.type, i);
    const double exact = std::exp(-d) / sum;
    const double relative = 1.01 * (d + std::log(static_cast<double>(n)) + chain + 11 + 12 * rescales) * 0x1p-24;
    const double actual = to_float(y, row.type, i);
    if (!(std::abs(actual - exact) <= exact * (relative + rounding) + smallest))
      throw std::runtime_error(row.name() + ": y[" + std::to_string(index) + "][" + std::to_string(i) + "] is " +
                               std::to_string(actual) + ", expected " + std::to_string(exact));
  }
}

class softmax_run {
 public:
  softmax_run(const softmax_row& row, size_t flush_bytes, cudaStream_t stream)
      : row_(row), ring_(row.allocation(), row.allocation(), flush_bytes), stream_(stream) {
    ring_.fill_inputs(row.type, 8.0f, stream);
    ring_.poison_outputs(stream);
    if (row.argmax) check(cudaMalloc(&argmax_, static_cast<size_t>(row.rows) * sizeof(int64_t)), "argmax buffer");
    check(cudaStreamSynchronize(stream), "inputs");
  }
  ~softmax_run() { cudaFree(argmax_); }
  softmax_run(const softmax_run&) = delete;
  softmax_run& operator=(const softmax_run&) = delete;

  std::vector<double> time() {
    return time_each(stream_, k_repeats, [&](int i) { last_ = i, run(i); });
  }
  limit copy_limit() const { return fastest_copy(ring_, row_.bytes_one_way(), k_repeats / 2, stream_); }
  const char* used_variant() const { return used_; }

  // Checks the last execution: every output written, and about a million elements of whole rows against f64.
  void verify() const {
    const size_t bytes = row_.element_bytes();
    const char* x = static_cast<const char*>(ring_.input(last_)) + static_cast<size_t>(row_.offset) * bytes;
    const char* y = static_cast<const char*>(ring_.output(last_)) + static_cast<size_t>(row_.offset) * bytes;
    if (row_.stride() == row_.cols && row_.offset == 0) {
      const int64_t left = count_poison(y, row_.bytes_one_way(), static_cast<int>(bytes), stream_);
      if (left != 0) throw std::runtime_error(row_.name() + ": " + std::to_string(left) + " outputs not written");
    }
    const int64_t samples = std::min(row_.rows, std::max<int64_t>(2, (int64_t{1} << 20) / row_.cols));
    std::vector<char> host_x(static_cast<size_t>(row_.cols) * bytes);
    std::vector<char> host_y(host_x.size());
    for (int64_t s = 0; s < samples; ++s) {
      const int64_t r = samples == 1 ? 0 : s * (row_.rows - 1) / (samples - 1);
      const size_t at = static_cast<size_t>(r * row_.stride()) * bytes;
      check(cudaMemcpy(host_x.data(), x + at, host_x.size(), cudaMemcpyDeviceToHost), "verification");
      check(cudaMemcpy(host_y.data(), y + at, host_y.size(), cudaMemcpyDeviceToHost), "verification");
      verify_row(host_x.data(), host_y.data(), row_, r);
      if (row_.argmax) verify_argmax(host_x.data(), r);
    }
  }

 private:
  void verify_argmax(const void* x, int64_t r) const {
    int64_t index = -1;
    check(cudaMemcpy(&index, argmax_ + r, sizeof index, cudaMemcpyDeviceToHost), "verification");
    int64_t expected = 0;
    for (int64_t i = 1; i < row_.cols; ++i)
      if (to_float(x, row_.type, static_cast<size_t>(i)) > to_float(x, row_.type, static_cast<size_t>(expected)))
        expected = i;
    if (index != expected)
      throw std::runtime_error(row_.name() + ": argmax[" + std::to_string(r) + "] is " + std::to_string(index) +
                               ", expected " + std::to_string(expected));
  }

  void run(int i) {
    const auto start = static_cast<uint64_t>(row_.offset) * row_.element_bytes();
    const auto bits = static_cast<uint8_t>(row_.element_bytes() * 8);
    const DLDataType type{static_cast<uint8_t>(row_.type == element::bf16 ? kDLBfloat : kDLFloat), bits, 1};
    int64_t shape[] = {row_.rows, row_.cols};
    int64_t strides[] = {row_.stride(), 1};
    DLTensor x{ring_.input(i), {kDLCUDA, 0}, 2, type, shape, strides, start};
    DLTensor y{ring_.output(i), {kDLCUDA, 0}, 2, type, shape, strides, start};
    int64_t unit = 1;
    DLTensor index{argmax_, {kDLCUDA, 0}, 1, {kDLInt, 64, 1}, shape, &unit, 0};
    const DLTensor* inputs[] = {&x};
    DLTensor* outputs[] = {&y, row_.argmax ? &index : nullptr};
    char message[256] = "";
    warpcheck_call call{};
    call.inputs = inputs;
    call.outputs = outputs;
    call.num_inputs = 1;
    call.num_outputs = 2;
    call.variant = row_.variant;
    call.stream = stream_;
    call.message = message;
    call.message_size = sizeof message;
    if (warpcheck_operator_softmax_cuda()->run(&call) != WARPCHECK_OK)
      throw std::runtime_error(row_.name() + ": " + message);
    used_ = call.used_variant;
  }

  softmax_row row_;
  buffer_ring ring_;
  cudaStream_t stream_;
  int64_t* argmax_ = nullptr;
  const char* used_ = nullptr;
  int last_ = 0;
};

std::vector<softmax_row> all_rows() {
  std::vector<softmax_row> rows;
  const auto add = [&](element type, int64_t r, int64_t c) -> softmax_row& {
    rows.push_back({});
    rows.back().type = type;
    rows.back().rows = r;
    rows.back().cols = c;
    return rows.back();
  };
  constexpr int64_t k_listed[][2] = {{2097152, 32}, {262144, 256}, {65536, 1000}, {65536, 1024}, {65536, 1025},
                                     {16384, 4096}, {8192, 8192},  {4096, 16384}, {2048, 32768}, {1024, 65536},
                                     {512, 131072}, {512, 128256}, {64, 1048576}, {16, 4194304}};
  for (const auto& shape : k_listed) add(element::f32, shape[0], shape[1]);
  add(element::f32, 4, 16777216).target = 0.70;
  add(element::f32, 1, 67108864).target = 0.70;
  for (const int64_t cols : {32, 1024, 4096, 32768}) {
    softmax_row& with_index = add(element::f32, (int64_t{1} << 26) / cols, cols);
    with_index.argmax = true;
    with_index.target = 0.96;
  }
  for (const int64_t cols : {256, 1024, 4096, 32768}) add(element::f32, (int64_t{1} << 26) / cols, cols).offset = 1;
  for (const element type : {element::f16, element::bf16})
    for (const int64_t cols : {32, 1024, 4096, 32768}) add(type, (int64_t{1} << 27) / cols, cols);
  return rows;
}

std::vector<measurement> g_results;
bool g_failed = false;

void run_benchmark(benchmark::State& state, const softmax_row& row, size_t flush_bytes, cudaStream_t stream) {
  static std::map<size_t, limit> copies;  // the limit depends on the byte count alone
  std::vector<double> times;
  measurement result;
  try {
    softmax_run run(row, flush_bytes, stream);
    limit& copy = copies[row.bytes_one_way()];
    if (copy.us == 0) copy = run.copy_limit();
    times = run.time();
    run.verify();
    result = {row.name(), run.used_variant(), median(times), 0, 0, row.target, copy};
  } catch (const std::exception& e) {
    state.SkipWithError(e.what());
    g_failed = true;
    return;
  }
  result.gbps = 2.0 * static_cast<double>(row.bytes_one_way()) / result.us * 1e-3;
  result.fraction = result.copy.us / result.us;
  size_t i = 0;
  for ([[maybe_unused]] auto _ : state) state.SetIterationTime(times[i++] * 1e-6);
  state.SetBytesProcessed(static_cast<int64_t>(times.size() * 2 * row.bytes_one_way()));
  state.counters["median_us"] = result.us;
  state.counters["GBps"] = result.gbps;
  state.counters["fraction_of_copy"] = result.fraction;
  state.counters["copy_us"] = result.copy.us;
  state.SetLabel(result.variant);
  g_results.push_back(result);
}

void print_table() {
  std::printf("%-40s %-16s %9s %8s %9s %9s %7s  %s\n", "row", "variant", "us", "GB/s", "copy us", "fraction", "target",
              "copied by");
  for (const measurement& m : g_results)
    std::printf("%-40s %-16s %9.2f %8.1f %9.2f %9.3f %7.2f  %s\n", m.name.c_str(), m.variant.c_str(), m.us, m.gbps,
                m.copy.us, m.fraction, m.target, m.copy.by.c_str());
}

}  // namespace
}  // namespace warpcheck::bench

int main(int argc, char** argv) try {
  using namespace warpcheck::bench;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const std::string gpu = describe_gpu();
  benchmark::AddCustomContext("gpu", gpu);
  benchmark::AddCustomContext("commit", WARPCHECK_COMMIT);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  int l2_bytes = 0;
  check(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0), "cudaDeviceGetAttribute");
  const size_t flush_bytes = 4 * static_cast<size_t>(l2_bytes);
  for (const softmax_row& row : all_rows())
    benchmark::RegisterBenchmark(row.name().c_str(), run_benchmark, row, flush_bytes, stream)
        ->UseManualTime()
        ->Iterations(k_repeats)
        ->Unit(benchmark::kMicrosecond);
  const double launch = launch_us(11, stream);
  benchmark::AddCustomContext("launch_us", std::to_string(launch));
  benchmark::RunSpecifiedBenchmarks();
  std::printf("\n%s, commit %s, empty launch %.2f us\n", gpu.c_str(), WARPCHECK_COMMIT, launch);
  print_table();
  check(cudaStreamDestroy(stream), "cudaStreamDestroy");
  return g_failed ? 1 : 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "softmax_bench: %s\n", e.what());
  return 3;
}
