// Flaw: a row is kept in shared memory where it fits; where it does not, separate kernels for maximum, terms and sum
// read it three times and write it once, for one value. It is right (as exactly as its formula is); only a benchmark
// shows what it costs (bench/README.md).
#include "properties/controls/known_bad/known_bad.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

constexpr int64_t k_cached_cols = 12288;  // 48 KiB

__device__ inline float log_of_sum(float maximum, float sum) {
  return fabsf(maximum) == INFINITY ? maximum : maximum + logf(sum);
}

// The maximum of the row, or NaN if it holds one.
__device__ inline float row_maximum(const float* row, int64_t cols, float* scratch) {
  float maximum = -INFINITY;
  for (int64_t i = threadIdx.x; i < cols; i += k_threads) maximum = max_of()(maximum, row[i]);
  return block_reduce(maximum, max_of(), scratch);
}

__global__ void cached_rows(rows_call a) {
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(sum_scratch, float[k_max_warps]);
  SIMT_DYN_SHARED(float, row);  // of each element only the thread that keeps it makes use
  for (int64_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
    for (int64_t i = threadIdx.x; i < a.cols; i += k_threads) row[i] = a.x[r * a.ldx + i];
    const float maximum = row_maximum(row, a.cols, maximum_scratch);
    const float sum = strided_sum(row, a.cols, maximum, sum_scratch);
    if (threadIdx.x == 0) a.y[r] = log_of_sum(maximum, sum);
  }
}

__global__ void row_maxima(rows_call a, float* maxima) {
  SIMT_SHARED(scratch, float[2][k_max_warps]);
  int turn = 0;
  for (int64_t r = blockIdx.x; r < a.rows; r += gridDim.x, turn = 1 - turn) {
    const float maximum = row_maximum(a.x + r * a.ldx, a.cols, scratch[turn]);
    if (threadIdx.x == 0) maxima[r] = maximum;
  }
}

__global__ void row_terms(rows_call a, const float* maxima, float* terms) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * k_threads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * k_threads + threadIdx.x; i < a.rows * a.cols; i += step) {
    const int64_t r = i / a.cols;
    terms[i] = expf(a.x[r * a.ldx + i % a.cols] - maxima[r]);
  }
}

__global__ void row_sums(rows_call a, const float* maxima, const float* terms) {
  SIMT_SHARED(scratch, float[2][k_max_warps]);
  int turn = 0;
  for (int64_t r = blockIdx.x; r < a.rows; r += gridDim.x, turn = 1 - turn) {
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < a.cols; i += k_threads) sum += terms[r * a.cols + i];
    sum = block_reduce(sum, sum_of(), scratch[turn]);
    if (threadIdx.x == 0) a.y[r] = log_of_sum(maxima[r], sum);
  }
}

warpcheck_status run(warpcheck_call* call) {
  return run_row_values(call, [](const rows_call& a) {
    const auto blocks = static_cast<unsigned>(a.rows < 1024 ? a.rows : 1024);
    if (a.cols <= k_cached_cols) {
      const size_t bytes = static_cast<size_t>(a.cols) * sizeof(float);
      return simt::launch({blocks, k_threads, bytes, a.stream}, cached_rows, a);
    }
    const simt::buffer<float> maxima(static_cast<size_t>(a.rows), a.stream);
    const simt::buffer<float> terms(static_cast<size_t>(a.rows * a.cols), a.stream);
    simt::launch({blocks, k_threads, 0, a.stream}, row_maxima, a, maxima.data());
    simt::launch({1024, k_threads, 0, a.stream}, row_terms, a, static_cast<const float*>(maxima.data()), terms.data());
    simt::launch({blocks, k_threads, 0, a.stream}, row_sums, a, static_cast<const float*>(maxima.data()),
                 static_cast<const float*>(terms.data()));
  });
}

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_KNOWN_BAD(logsumexp, {"lse_cached_rows", run})
