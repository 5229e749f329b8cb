// The ABI adapter (abi/candidate.h) of the known-bad kernels: f32 rows, one launch, everything but the flaw
// right.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "kernels/candidate_support.hpp"
#include "kernels/logsumexp/contract.hpp"
#include "kernels/primitives/reduce.hpp"
#include "kernels/sigmoid/contract.hpp"
#include "kernels/softmax/contract.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_threads = 256;  // of a block

struct rows_call {
  const float* x;
  int64_t ldx;
  float* y;
  int64_t ldy;
  int64_t rows;
  int64_t cols;
  int64_t* argmax;  // or nullptr
  simt::stream_t stream;
};

// For softmax. `launch(rows_call)` is not called for rows = 0; an empty row is refused, it is none of the flaws.
template <class Launch>
warpcheck_status run_rows(warpcheck_call* call, Launch&& launch) {
  return candidate_call(call, [&] {
    const checked_call checked = check_call(softmax_contract(), *call);
    const tensor_view &x = checked.at("x"), &y = checked.at("y");
    if (x.type != WARPCHECK_F32) throw unsupported_call("x must be f32");
    if (x.cols == 0) throw unsupported_call("cols must not be 0");
    if (x.rows == 0) return;
    launch(rows_call{x.as<float>(), x.ld, y.as<float>(), y.ld, x.rows, x.cols, checked.data<int64_t>("index"),
                     static_cast<simt::stream_t>(call->stream)});
  });
}

// The same with one launch, whose blocks stride over the rows.
template <void (*Kernel)(rows_call), int Threads = k_threads>
warpcheck_status launch_rows(warpcheck_call* call) {
  return run_rows(call, [](const rows_call& a) {
    simt::launch({static_cast<unsigned>(a.rows < 1024 ? a.rows : 1024), Threads, 0, a.stream}, Kernel, a);
  });
}

// For logsumexp. y is the vector of a value per row, ldy is 1.
template <class Launch>
warpcheck_status run_row_values(warpcheck_call* call, Launch&& launch) {
  return candidate_call(call, [&] {
    const checked_call checked = check_call(logsumexp_contract(), *call);
    const tensor_view &x = checked.at("x"), &y = checked.at("y");
    if (x.type != WARPCHECK_F32 || y.type != WARPCHECK_F32) throw unsupported_call("x and y must be f32");
    if (x.cols == 0) throw unsupported_call("cols must not be 0");
    if (x.rows == 0) return;
    launch(rows_call{x.as<float>(), x.ld, y.as<float>(), 1, x.rows, x.cols, nullptr,
                     static_cast<simt::stream_t>(call->stream)});
  });
}

// For sigmoid: launches Kernel(x, y, n, mu, sigma) with a thread for each element, unless there is none.
template <void (*Kernel)(const float*, float*, int64_t, float, float)>
warpcheck_status launch_vector(warpcheck_call* call) {
  return candidate_call(call, [&] {
    const checked_call checked = check_call(sigmoid_contract(), *call);
    const tensor_view& x = checked.at("x");
    if (x.type != WARPCHECK_F32) throw unsupported_call("x must be f32");
    if (x.cols == 0) return;
    const auto blocks = static_cast<unsigned>((x.cols + k_threads - 1) / k_threads);
    simt::launch({blocks, k_threads, 0, static_cast<simt::stream_t>(call->stream)}, Kernel, x.as<float>(),
                 checked.data<float>("y"), x.cols, static_cast<float>(checked.scalar("mu")),
                 static_cast<float>(checked.scalar("sigma")));
  });
}

// The correct parts, for a block that owns a row and strides over it.

__device__ inline float strided_maximum(const float* row, int64_t cols, float* scratch) {
  float maximum = -INFINITY;
  for (int64_t i = threadIdx.x; i < cols; i += blockDim.x) maximum = fmaxf(maximum, row[i]);
  return block_reduce(maximum, max_of(), scratch);
}

__device__ inline float strided_sum(const float* row, int64_t cols, float maximum, float* scratch) {
  float sum = 0.0f;
  for (int64_t i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(row[i] - maximum);
  return block_reduce(sum, sum_of(), scratch);
}

__device__ inline void strided_quotients(const float* row, float* y, int64_t cols, float maximum, float sum) {
  for (int64_t i = threadIdx.x; i < cols; i += blockDim.x) y[i] = expf(row[i] - maximum) / sum;
}

// The lowest index of NaN, or else of the maximum.
__device__ inline int64_t strided_argmax(const float* row, int64_t cols, float maximum, int64_t* nan_scratch,
                                         int64_t* scratch) {
  int64_t nan = INT64_MAX, first = INT64_MAX;
  for (int64_t i = threadIdx.x; i < cols; i += blockDim.x) {
    if (row[i] != row[i] && i < nan) nan = i;
    if (row[i] == maximum && i < first) first = i;
  }
  nan = block_reduce(nan, min_of<int64_t>(), nan_scratch);
  first = block_reduce(first, min_of<int64_t>(), scratch);
  return nan != INT64_MAX ? nan : first;
}

// A flawed kernel: a variant of its library, which begins with the one that runs where none is forced.
struct flaw {
  const char* name;
  candidate_run run;
};

template <const auto& Flaws>
warpcheck_status run_flaw(warpcheck_call* call) {
  for (const flaw& f : Flaws) {
    if (call->variant != nullptr && std::strcmp(call->variant, f.name) != 0) continue;
    const warpcheck_status status = f.run(call);
    call->used_variant = f.name;
    return status;
  }
  return WARPCHECK_INVALID_ARGUMENT;
}

template <const auto& Flaws>
const warpcheck_operator* operator_of_flaws(const char* name) {
  static warpcheck_variant variants[std::size(Flaws)];
  for (size_t i = 0; i < std::size(Flaws); ++i) variants[i] = row_variant(Flaws[i].name, 1, -1, 1, -1, WARPCHECK_F32);
  static const warpcheck_operator table =
      operator_of_rows(name, k_candidate_device, WARPCHECK_F32, run_flaw<Flaws>, variants, std::size(Flaws));
  return &table;
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

// Defines the library's operator by its flaws: {name, run}, where `run` is a warpcheck_status (*)(warpcheck_call*).
#define WARPCHECK_KNOWN_BAD(op, ...)               \
  namespace warpcheck {                            \
  inline namespace SIMT_DEVICE_NS {                \
  static constexpr flaw k_flaws[] = {__VA_ARGS__}; \
  }                                                \
  }                                                \
  WARPCHECK_OPERATOR(op) { return warpcheck::operator_of_flaws<warpcheck::k_flaws>(#op); }
