// The row operators in f32 as their contracts do not allow it: one precision lower in one place. Compiled once per way,
// WARPCHECK_CONTROL; `none` is right. An operator that computes lower must be rejected on generated cases
// (CMakeLists.txt names the property), or the bound or the generators are too weak.
#include <dlpack/dlpack.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "abi/candidate_library.hpp"
#include "abi/candidate_states.h"
#include "abi/candidate_table.hpp"

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

// e^d, for sums and quotients.
float exponential(float d) {
  const auto e = static_cast<float>(std::exp(static_cast<double>(d)));
  if (k_name == "bf16_exp") return to_bf16(e);
  // The intrinsic __expf is 2^(d log2 e) with the product rounded to f32, and subnormal results flushed to 0 (CUDA C++
  // Programming Guide, intrinsic functions; PTX ISA, ex2.approx.ftz). The rounded product alone hardly leaves the
  // bounds, which allow d one rounding: the flushed results are what must be seen.
  if (k_name == "fast_exp") {
    const float scaled = d * 1.4426950408889634f;
    const auto power = static_cast<float>(std::exp2(static_cast<double>(scaled)));
    return power < 0x1p-126f ? 0.0f : power;
  }
  // The error that this intrinsic may have not far from 0, 2 + |1.173 d| ulp, but everywhere, and none at 0. Only
  // sigmoid must find it: a term of a sum, which may be rescaled twice, is allowed 17 u, more than these 8 u.
  if (k_name == "coarse_exp" && d != 0) return e * (1 + 0x1p-21f);
  return e;
}

// -1 of no elements.
int64_t first_maximum(const float* x, int64_t cols) {
  int64_t best = cols > 0 ? 0 : -1;
  for (int64_t i = 0; i < cols; ++i) {
    if (std::isnan(x[i])) return i;
    if (x[i] > x[best]) best = i;
  }
  return best;
}

// NaN if there is one.
float maximum_of(const float* x, int64_t cols) { return cols > 0 ? x[first_maximum(x, cols)] : -INFINITY; }

// The sum of e^(x_i - reference) over all elements but one.
float sum_of(const float* x, int64_t cols, float reference, int64_t skipped = -1) {
  double sum = 0;
  for (int64_t i = 0; i < cols; ++i) sum += i == skipped ? 0 : static_cast<double>(exponential(x[i] - reference));
  return static_cast<float>(sum);
}

float logarithm(float s) { return static_cast<float>(std::log(static_cast<double>(s))); }

// ln of the sum of e^(x_i - maximum).
float log_sum_of(const float* x, int64_t cols, float maximum) {
  const float rest = sum_of(x, cols, maximum, first_maximum(x, cols));
  if (k_name == "plain_log") return logarithm(1 + rest);
  return static_cast<float>(std::log1p(static_cast<double>(rest)));
}

void softmax(const warpcheck_call&, const float* x, float* y, int64_t cols) {
  const float maximum = maximum_of(x, cols);
  if (!std::isfinite(maximum)) {
    std::fill(y, y + cols, NAN);
    return;
  }
  // One pass over the row, without the maximum: what overflows is lost.
  const float reference = k_name == "one_pass" ? 0 : maximum;
  const float sum = sum_of(x, cols, reference);
  for (int64_t i = 0; i < cols; ++i)
    y[i] = static_cast<float>(static_cast<double>(exponential(x[i] - reference)) / static_cast<double>(sum));
}

void log_softmax(const warpcheck_call&, const float* x, float* y, int64_t cols) {
  const float maximum = maximum_of(x, cols);
  if (!std::isfinite(maximum)) {
    std::fill(y, y + cols, NAN);
    return;
  }
  const float log_sum = log_sum_of(x, cols, maximum);
  // One pass gives logsumexp, which has lost digits where the maximum is large beside the result.
  const float all = maximum + logarithm(sum_of(x, cols, maximum));
  for (int64_t i = 0; i < cols; ++i) y[i] = k_name == "one_pass" ? x[i] - all : (x[i] - maximum) - log_sum;
}

void logsumexp(const warpcheck_call&, const float* x, float* y, int64_t cols) {
  const float maximum = maximum_of(x, cols);
  *y = std::isfinite(maximum) ? maximum + log_sum_of(x, cols, maximum) : maximum;
}

float scalar(const warpcheck_call& call, std::string_view name) {
  const auto* found = std::find_if(call.scalars, call.scalars + call.num_scalars,
                                   [&](const warpcheck_scalar& s) { return s.name == name; });
  return static_cast<float>(found->value);
}

void sigmoid(const warpcheck_call& call, const float* x, float* y, int64_t cols) {
  const float mu = scalar(call, "mu"), sigma = scalar(call, "sigma");
  for (int64_t i = 0; i < cols; ++i) {
    const float z = (x[i] - mu) * sigma, e = exponential(-std::fabs(z));
    y[i] = (z < 0 ? e : 1) / (1 + e);
    if (k_name == "tanh") y[i] = 0.5f + 0.5f * static_cast<float>(std::tanh(static_cast<double>(z / 2)));
  }
}

// For reduce; minimum and maximum have no precision to lose, and no property that draws them is run.
void sum(const warpcheck_call&, const float* x, float* y, int64_t cols) {
  double exact = 0;
  float chain = 0;
  for (int64_t i = 0; i < cols; ++i) {
    exact += static_cast<double>(x[i]);
    chain = k_name == "bf16_sum" ? to_bf16(chain + x[i]) : chain + x[i];
  }
  *y = k_name == "none" ? static_cast<float>(exact) : chain;
}

// Row by row; an operator of vectors has one row.
template <auto Row>
warpcheck_status run(warpcheck_call* call) {
  const DLTensor &x = *call->inputs[0], &y = *call->outputs[0];
  const auto row_of = [](const DLTensor& t, int64_t row) { return static_cast<float*>(t.data) + row * t.strides[0]; };
  const int64_t rows = x.ndim == 2 ? x.shape[0] : 1, cols = x.shape[x.ndim - 1];
  for (int64_t r = 0; r < rows; ++r) {
    if (call->num_outputs > 1) static_cast<int64_t*>(call->outputs[1]->data)[r] = first_maximum(row_of(x, r), cols);
    Row(*call, row_of(x, r), row_of(y, r), cols);
  }
  call->used_variant = WARPCHECK_NAME;
  return WARPCHECK_OK;
}

constexpr warpcheck_variant k_variant = warpcheck::row_variant(WARPCHECK_NAME, 0, -1, 0, -1, WARPCHECK_F32);

template <auto Row>
constexpr warpcheck_operator operator_of(const char* name) {
  return warpcheck::operator_of_rows(name, WARPCHECK_DEVICE_CPU, WARPCHECK_F32, run<Row>, &k_variant, 1);
}
constexpr warpcheck_operator k_operators[] = {operator_of<softmax>("softmax"), operator_of<log_softmax>("log_softmax"),
                                              operator_of<logsumexp>("logsumexp"), operator_of<sigmoid>("sigmoid"),
                                              operator_of<sum>("reduce")};

}  // namespace

extern "C" __attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(
    uint32_t abi_version) {
  static const warpcheck_operator* const operators[] = {&k_operators[0], &k_operators[1], &k_operators[2],
                                                        &k_operators[3], &k_operators[4]};
  return warpcheck::candidate_library(abi_version, "control", "control", operators);
}

// The control differs from a kernel with our plan in its precision alone.
extern "C" __attribute__((visibility("default"))) const char* warpcheck_candidate_states(const char*) { return "plan"; }
