// softmax in f32 as the contract does not allow it: one precision lower in one place. Compiled once per way,
// WARPCHECK_CONTROL; `none` is right. Each of the others must be rejected on generated cases, or the bound or the
// generators are too weak.
#include <dlpack/dlpack.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "kernels/candidate.h"

namespace {

#define WARPCHECK_STRING(text) #text
#define WARPCHECK_EXPANDED_STRING(text) WARPCHECK_STRING(text)
#define WARPCHECK_NAME WARPCHECK_EXPANDED_STRING(WARPCHECK_CONTROL)
constexpr std::string_view k_name = WARPCHECK_NAME;

// Rounds to bf16, to nearest even; not for NaN.
float to_bf16(float v) {
  uint32_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  bits = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

// e^d for the sum and the quotients.
float exponential(float d) {
  if (k_name == "bf16_exp") return to_bf16(static_cast<float>(std::exp(static_cast<double>(d))));
  // The intrinsic __expf is 2^(d log2 e) with the product rounded to f32, and subnormal results flushed to 0 (CUDA C++
  // Programming Guide, intrinsic functions; PTX ISA, ex2.approx.ftz). The rounded product alone stays inside the bound,
  // which allows d one rounding: the flushed results are what must be seen.
  if (k_name == "fast_exp") {
    const float scaled = d * 1.4426950408889634f;
    const auto power = static_cast<float>(std::exp2(static_cast<double>(scaled)));
    return power < 0x1p-126f ? 0.0f : power;
  }
  return static_cast<float>(std::exp(static_cast<double>(d)));
}

void softmax_row(const float* x, float* y, int64_t cols) {
  float maximum = -INFINITY;
  for (int64_t i = 0; i < cols; ++i) maximum = std::isnan(x[i]) || x[i] > maximum ? x[i] : maximum;
  for (int64_t i = 0; i < cols; ++i)
    if (std::isnan(x[i])) maximum = x[i];
  // One pass over the row, without the maximum: what overflows is lost.
  if (k_name == "one_pass") maximum = std::isfinite(maximum) ? 0 : maximum;
  if (!std::isfinite(maximum)) {
    std::fill(y, y + cols, NAN);
    return;
  }
  double sum = 0;
  for (int64_t i = 0; i < cols; ++i) sum += static_cast<double>(exponential(x[i] - maximum));
  for (int64_t i = 0; i < cols; ++i)
    y[i] = static_cast<float>(static_cast<double>(exponential(x[i] - maximum)) /
                              static_cast<double>(static_cast<float>(sum)));
}

int64_t first_maximum(const float* x, int64_t cols) {
  int64_t best = cols > 0 ? 0 : -1;
  for (int64_t i = 0; i < cols; ++i) {
    if (std::isnan(x[i])) return i;
    if (x[i] > x[best]) best = i;
  }
  return best;
}

warpcheck_status run(warpcheck_call* call) {
  const DLTensor &x = *call->inputs[0], &y = *call->outputs[0];
  const auto row_of = [](const DLTensor& t, int64_t row) { return static_cast<float*>(t.data) + row * t.strides[0]; };
  for (int64_t r = 0; r < x.shape[0]; ++r) {
    if (call->num_outputs > 1)
      static_cast<int64_t*>(call->outputs[1]->data)[r] = first_maximum(row_of(x, r), x.shape[1]);
    softmax_row(row_of(x, r), row_of(y, r), x.shape[1]);
  }
  call->used_variant = WARPCHECK_NAME;
  return WARPCHECK_OK;
}

constexpr warpcheck_variant k_variant = {WARPCHECK_NAME, 0, -1, 0, -1, WARPCHECK_F32};
constexpr warpcheck_operator k_softmax = {"softmax", WARPCHECK_DEVICE_CPU, WARPCHECK_F32, &k_variant, 1, nullptr, 0,
                                          run};

}  // namespace

extern "C" __attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(
    uint32_t abi_version) {
  if (abi_version != WARPCHECK_CANDIDATE_ABI) return nullptr;
  static const warpcheck_operator* const operators[] = {&k_softmax};
  static const warpcheck_candidate table = {
      WARPCHECK_CANDIDATE_ABI, sizeof(warpcheck_candidate), "control", "control", operators, 1, nullptr};
  return &table;
}
