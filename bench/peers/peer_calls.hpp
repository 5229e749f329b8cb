// Shared parts of candidates that call other libraries: they refuse what the contract refuses, before the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "abi/candidate.h"
#include "kernels/candidate_support.hpp"
#include "kernels/primitives/arguments.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// For NVIDIA's libraries whose calls return a `Status`; `text_of` converts it to text.
template <class Status>
void check_status(Status status, Status success, Status not_supported, const char* (*text_of)(Status),
                  const char* what) {
  if (status == success) return;
  const std::string text = std::string(what) + ": " + text_of(status);
  if (status == not_supported) throw unsupported_call(text);
  throw simt::device_error(text);
}

// One result of `result_bytes` for each row of x.
template <class T>
void check_result_per_row(const matrix_view& x, const char* output, const void* y, size_t result_bytes) {
  const row_block x_rows{"x", x.base, sizeof(T), x.rows, x.cols, x.ld, "ldx"};
  const row_block results{output, y, result_bytes, 1, x.rows, x.rows, nullptr};
  check_rows(x_rows);
  check_rows(results);
  check_disjoint(x_rows, results);
}

// The `op` of a reduction.
enum class reduction { sum, min, max };

// A call of "reduce": inputs {x[rows, cols]}, outputs {y[rows]}; scalar "op": 0 sum, 1 min, 2 max. `run(x, y, op,
// stream)`, with y a pointer to x's element type, gets the calls that the contract allows and that have a result.
template <class Run>
warpcheck_status run_reduction(warpcheck_call* call, const char* library, Run&& run) {
  return candidate_call(call, [&] {
    const tensor_arguments tensors(call, 1, 1, 1);
    const matrix_view x = tensors.input_matrix(0, "x");
    const double op = scalar_argument(call, "op");
    const auto run_as = [&](auto zero) {
      using T = decltype(zero);
      T* const y = tensors.output_vector<T>(0, "y", x.rows);
      check_result_per_row<T>(x, "y", y, sizeof(T));
      if (op != 0 && op != 1 && op != 2)
        throw std::invalid_argument("op is " + std::to_string(op) + ", must be 0 (sum), 1 (min) or 2 (max)");
      if (call->variant != nullptr) throw unsupported_call(std::string(library) + " has no variants");
      if (x.rows > 0) run(x, y, static_cast<reduction>(static_cast<int>(op)), static_cast<cudaStream_t>(call->stream));
    };
    if (x.dtype == WARPCHECK_F32) return run_as(0.0f);
    if (x.dtype == WARPCHECK_F64) return run_as(0.0);
    throw unsupported_call("element type of the first input is not one of f32, f64");
  });
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
