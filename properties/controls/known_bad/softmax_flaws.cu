// Rows whose softmax has one flaw each, by variant.
#include "properties/controls/known_bad/known_bad.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

// Flaw: the comparison of the argmax passes over NaN, so that a row of NaN results has the index of a finite logit.
__global__ void nan_blind(rows_call a) {
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(sum_scratch, float[k_max_warps]);
  SIMT_SHARED(index_scratch, int64_t[k_max_warps]);
  for (int64_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
    const float* x = a.x + r * a.ldx;
    const float maximum = strided_maximum(x, a.cols, maximum_scratch);
    if (a.argmax != nullptr) {
      int64_t first = INT64_MAX;
      for (int64_t i = threadIdx.x; i < a.cols; i += k_threads)
        if (x[i] == maximum && i < first) first = i;
      first = block_reduce(first, min_of<int64_t>(), index_scratch);
      if (threadIdx.x == 0) a.argmax[r] = first;
    }
    const float sum = strided_sum(x, a.cols, maximum, sum_scratch);
    strided_quotients(x, a.y + r * a.ldy, a.cols, maximum, sum);
    __syncthreads();
  }
}

// Flaw: the kernel that works in place does not know which row its block has: every block exponentiates the first.
__global__ void copy_rows(rows_call a) {
  for (int64_t i = threadIdx.x; i < a.cols; i += k_threads) a.y[blockIdx.x * a.ldy + i] = a.x[blockIdx.x * a.ldx + i];
}

__global__ void one_row(float* y, int64_t cols) {
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(sum_scratch, float[k_max_warps]);
  const float maximum = strided_maximum(y, cols, maximum_scratch);
  const float sum = strided_sum(y, cols, maximum, sum_scratch);
  strided_quotients(y, y, cols, maximum, sum);
}

warpcheck_status run_one_row(warpcheck_call* call) {
  return run_rows(call, [](const rows_call& a) {
    if (a.argmax != nullptr) throw unsupported_call("argmax is not offered");
    const auto grid = static_cast<unsigned>(a.rows);
    simt::launch({grid, k_threads, 0, a.stream}, copy_rows, a);
    simt::launch({grid, k_threads, 0, a.stream}, one_row, a.y, a.cols);
  });
}

// Flaw: the maximum starts at the lowest finite number, with index -1, and only a greater value replaces it.
constexpr float k_lowest = -3.402823466e38f;

__global__ void sentinel(rows_call a) {
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(sum_scratch, float[k_max_warps]);
  SIMT_SHARED(best, float[k_threads]);
  SIMT_SHARED(best_index, int64_t[k_threads]);
  for (int64_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
    const float* x = a.x + r * a.ldx;
    float value = k_lowest;
    int64_t index = -1;
    for (int64_t i = threadIdx.x; i < a.cols; i += k_threads)
      if (x[i] > value) {
        value = x[i];
        index = i;
      }
    best[threadIdx.x] = value;
    best_index[threadIdx.x] = index;
    const float maximum = fmaxf(k_lowest, strided_maximum(x, a.cols, maximum_scratch));
    if (threadIdx.x == 0 && a.argmax != nullptr) {
      for (int t = 1; t < k_threads; ++t)
        if (best[t] > value || (best[t] == value && best_index[t] >= 0 && best_index[t] < index)) {
          value = best[t];
          index = best_index[t];
        }
      a.argmax[r] = index;
    }
    const float sum = strided_sum(x, a.cols, maximum, sum_scratch);
    strided_quotients(x, a.y + r * a.ldy, a.cols, maximum, sum);
    __syncthreads();
  }
}

// Flaw: thread 0 adds the partial sums of all others one by one: a chain of 1023 additions, in which small terms
// vanish.
constexpr int k_all_threads = 1024;

__global__ void serial_merge(rows_call a) {
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(partial, float[k_all_threads]);
  SIMT_SHARED(nan_scratch, int64_t[k_max_warps]);
  SIMT_SHARED(index_scratch, int64_t[k_max_warps]);
  for (int64_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
    const float* x = a.x + r * a.ldx;
    const float maximum = strided_maximum(x, a.cols, maximum_scratch);
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < a.cols; i += k_all_threads) sum += expf(x[i] - maximum);
    partial[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
      for (int t = 1; t < k_all_threads; ++t) partial[0] += partial[t];
    __syncthreads();
    if (a.argmax != nullptr) {
      const int64_t index = strided_argmax(x, a.cols, maximum, nan_scratch, index_scratch);
      if (threadIdx.x == 0) a.argmax[r] = index;
    }
    strided_quotients(x, a.y + r * a.ldy, a.cols, maximum, partial[0]);
    __syncthreads();
  }
}

// Flaw: partial maxima are merged in the order of threads, so that which of equal maxima wins depends on the block
// size.
// A NaN is larger than anything, the first one of a thread wins.
__device__ inline bool replaces(float candidate, float value) {
  return value == value && (candidate != candidate || candidate > value);
}

__global__ void thread_ties(rows_call a) {
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(sum_scratch, float[k_max_warps]);
  SIMT_SHARED(best, float[k_threads]);
  SIMT_SHARED(best_index, int64_t[k_threads]);
  for (int64_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
    const float* x = a.x + r * a.ldx;
    float value = x[threadIdx.x < a.cols ? threadIdx.x : 0];
    int64_t index = threadIdx.x < a.cols ? threadIdx.x : 0;
    for (int64_t i = threadIdx.x + k_threads; i < a.cols; i += k_threads)
      if (replaces(x[i], value)) {
        value = x[i];
        index = i;
      }
    best[threadIdx.x] = value;
    best_index[threadIdx.x] = index;
    const float maximum = strided_maximum(x, a.cols, maximum_scratch);
    if (threadIdx.x == 0 && a.argmax != nullptr) {
      for (int t = 1; t < k_threads; ++t)
        if (replaces(best[t], value)) {
          value = best[t];
          index = best_index[t];
        }
      a.argmax[r] = index;
    }
    const float sum = strided_sum(x, a.cols, maximum, sum_scratch);
    strided_quotients(x, a.y + r * a.ldy, a.cols, maximum, sum);
    __syncthreads();
  }
}

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_KNOWN_BAD(softmax, {"nan_blind", launch_rows<nan_blind>}, {"one_row", run_one_row},
                    {"sentinel", launch_rows<sentinel>}, {"serial_merge", launch_rows<serial_merge, k_all_threads>},
                    {"thread_ties", launch_rows<thread_ties>})
