// A call of the ABI adapter (abi/candidate.h) as a call of the C++ API, for our kernels and for other libraries.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/candidate_support.hpp"
#include "kernels/matmul/contract.hpp"
#include "kernels/matmul/matmul.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr uint32_t k_matmul_dtypes = WARPCHECK_F32 | WARPCHECK_F16 | WARPCHECK_BF16;
constexpr const char* k_matmul_extents[] = {"m", "n", "k"};

// A call of the C++ API, which checks the memory of its tensors.
struct matmul_call {
  trans ta, tb;
  int64_t m, n, k;
  float alpha, beta;
  tensor_view a, b, c;
  perceptron epilogue;
  matmul_options options;
  void* work;
  int64_t work_bytes;  // 0: the candidate allocates its own
};

// Checks that the input C, if it is present, is c itself.
inline void check_matmul_before(const tensor_view& before, const matmul_call& c) {
  if (before.is_empty()) {
    if (c.beta != 0.0f && !c.c.is_empty())
      throw std::invalid_argument("c_in has no elements, must be c where beta is not 0");
    return;
  }
  if (c.beta == 0.0f) throw std::invalid_argument("c_in has elements, must have none where beta is 0");
  if (before.type != c.c.type || before.data != c.c.data || (c.m > 1 && before.ld != c.c.ld))
    throw std::invalid_argument("c_in must be c: the same type, memory and strides");
}

inline matmul_call read_matmul_call(const warpcheck_call* call) {
  const checked_call checked = check_call(matmul_contract(), *call);
  const auto number = [&](const char* name) { return static_cast<float>(checked.scalar(name)); };
  const auto code = [&](const char* name) { return static_cast<int>(checked.scalar(name)); };
  const tensor_view &bias = checked.at("bias"), &work = checked.at("work");
  matmul_call c = {};
  c.ta = static_cast<trans>(code("ta"));
  c.tb = static_cast<trans>(code("tb"));
  c.m = checked.extent("m");
  c.n = checked.extent("n");
  c.k = checked.extent("k");
  c.alpha = number("alpha");
  c.beta = number("beta");
  c.a = checked.at("a");
  c.b = checked.at("b");
  c.c = checked.at("c");
  c.epilogue.sigmoid = code("sigmoid") == 1;
  c.epilogue.mu = number("mu");
  c.epilogue.sigma = number("sigma");
  c.epilogue.bias = bias.as<float>();
  c.options.mode = static_cast<matmul_mode>(code("mode"));
  c.options.rows_alone = code("rows_alone") == 1;
  c.work = work.data;
  c.work_bytes = work.cols;
  check_matmul_before(checked.at("c_in"), c);
  if (!bias.is_empty() && !bias.data) throw std::invalid_argument("bias is null, must point to its elements");
  return c;
}

// Calls f(type of a, type of c) for the types that have kernels.
template <class F>
void with_matmul_types(const matmul_call& c, F&& f) {
  if (c.options.mode != matmul_mode::ieee && c.a.type != WARPCHECK_F32)
    throw std::invalid_argument("mode is " + std::to_string(static_cast<int>(c.options.mode)) +
                                ", must be 0 (ieee) where the inputs have 16 bits");
  if (c.c.type != WARPCHECK_F32 && c.c.type != c.a.type)
    throw std::invalid_argument("c must be f32 or have the element type of a");
  with_type<float, simt::f16, simt::bf16>(c.a.type, [&](auto type) {
    using T = typename decltype(type)::type;
    if (c.c.type == WARPCHECK_F32) return f(type, type_tag<float>());
    if constexpr (!std::is_same_v<T, float>) f(type, type);
  });
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
