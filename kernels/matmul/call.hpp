// A call of the ABI adapter (abi/candidate.h) as a call of the C++ API, for our kernels and for other libraries.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/candidate_support.hpp"
#include "kernels/matmul/matmul.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr uint32_t k_matmul_dtypes = WARPCHECK_F32 | WARPCHECK_F16 | WARPCHECK_BF16;
constexpr const char* k_matmul_extents[] = {"m", "n", "k"};

// A call of the C++ API. Shapes are those of the tensors, legal or not; the API checks them.
struct matmul_call {
  trans ta, tb;
  int64_t m, n, k;
  float alpha, beta;
  matrix_view a, b, c;
  perceptron epilogue;
  matmul_options options;
  void* work;
  int64_t work_bytes;  // 0: the candidate allocates its own
};

inline int64_t matmul_code(const warpcheck_call* call, const char* name, int most) {
  const double value = scalar_argument(call, name);
  if (value >= 0 && value <= most && value == std::floor(value)) return static_cast<int64_t>(value);
  throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) + ", must be an integer in [0, " +
                              std::to_string(most) + "]");
}

inline void check_matmul_shape(const matrix_view& x, const char* name, int64_t rows, int64_t cols) {
  if (x.rows != rows || x.cols != cols)
    throw std::invalid_argument(std::string(name) + " is " + std::to_string(x.rows) + " x " + std::to_string(x.cols) +
                                ", must be " + std::to_string(rows) + " x " + std::to_string(cols));
}

inline bool is_given(const warpcheck_call* call, int input) {
  if (input >= call->num_inputs || call->inputs[input] == nullptr) return false;
  const DLTensor& t = *call->inputs[input];
  for (int32_t i = 0; i < t.ndim; ++i)
    if (t.shape[i] == 0) return false;
  return true;
}

// Checks that the input C, if it is present, is c itself.
inline void check_matmul_before(const warpcheck_call* call, const tensor_arguments& tensors, const matmul_call& c) {
  const bool has_elements = c.m > 0 && c.n > 0;
  if (!is_given(call, 2)) {
    if (c.beta != 0.0f && has_elements)
      throw std::invalid_argument("c_in has no elements, must be c where beta is not 0");
    return;
  }
  if (c.beta == 0.0f) throw std::invalid_argument("c_in has elements, must have none where beta is 0");
  const matrix_view before = tensors.input_matrix(2, "c_in");
  check_matmul_shape(before, "c_in", c.m, c.n);
  if (before.dtype != c.c.dtype || before.base != c.c.base || (c.m > 1 && before.ld != c.c.ld))
    throw std::invalid_argument("c_in must be c: the same type, memory and strides");
}

inline matmul_call read_matmul_call(const warpcheck_call* call) {
  const int inputs = std::clamp<int32_t>(call->num_inputs, 2, 4);
  const tensor_arguments tensors(call, inputs, 1, 2);
  matmul_call c = {};
  c.ta = static_cast<trans>(matmul_code(call, "ta", 1));
  c.tb = static_cast<trans>(matmul_code(call, "tb", 1));
  c.alpha = static_cast<float>(scalar_argument(call, "alpha"));
  c.beta = static_cast<float>(scalar_argument(call, "beta"));
  c.epilogue.sigmoid = matmul_code(call, "sigmoid", 1) == 1;
  c.epilogue.mu = static_cast<float>(scalar_argument(call, "mu"));
  c.epilogue.sigma = static_cast<float>(scalar_argument(call, "sigma"));
  c.options.mode = static_cast<matmul_mode>(matmul_code(call, "mode", 2));
  c.options.rows_alone = matmul_code(call, "rows_alone", 1) == 1;
  c.a = tensors.input_matrix(0, "a");
  c.b = tensors.input_matrix(1, "b");
  c.c = tensors.output_matrix(0, "c");
  c.m = c.ta == trans::yes ? c.a.cols : c.a.rows;
  c.k = c.ta == trans::yes ? c.a.rows : c.a.cols;
  c.n = c.tb == trans::yes ? c.b.rows : c.b.cols;
  check_matmul_shape(c.b, "b", c.tb == trans::yes ? c.n : c.k, c.tb == trans::yes ? c.k : c.n);
  check_matmul_shape(c.c, "c", c.m, c.n);
  if (c.a.dtype != c.b.dtype) throw std::invalid_argument("b must have the element type of a");
  check_matmul_before(call, tensors, c);
  if (is_given(call, 3)) {
    const matrix_view bias = tensors.input_vector(3, "bias");
    if (bias.dtype != WARPCHECK_F32) throw std::invalid_argument("bias must be f32");
    if (bias.cols != c.n)
      throw std::invalid_argument("bias has " + std::to_string(bias.cols) + " elements, must have " +
                                  std::to_string(c.n) + " or none");
    if (bias.base == nullptr) throw std::invalid_argument("bias is null, must point to its elements");
    c.epilogue.bias = bias.data<float>();
  }
  if (call->num_outputs > 1 && call->outputs[1] != nullptr) {
    const matrix_view work = tensors.output_vector(1, "work");
    if (work.dtype != WARPCHECK_U8) throw std::invalid_argument("work must be u8");
    if (work.cols < 0) throw std::invalid_argument("work has " + std::to_string(work.cols) + " bytes, must have >= 0");
    c.work = work.base;
    c.work_bytes = work.cols;
  }
  return c;
}

// Calls f(type of a, type of c) for the types that have kernels.
template <class F>
void with_matmul_types(const matmul_call& c, F&& f) {
  if (c.options.mode != matmul_mode::ieee && c.a.dtype != WARPCHECK_F32)
    throw std::invalid_argument("mode is " + std::to_string(static_cast<int>(c.options.mode)) +
                                ", must be 0 (ieee) where the inputs have 16 bits");
  if (c.c.dtype != WARPCHECK_F32 && c.c.dtype != c.a.dtype)
    throw std::invalid_argument("c must be f32 or have the element type of a");
  with_type<float, simt::f16, simt::bf16>(c.a.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if (c.c.dtype == WARPCHECK_F32) return f(type, type_tag<float>());
    if constexpr (!std::is_same_v<T, float>) f(type, type);
  });
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
