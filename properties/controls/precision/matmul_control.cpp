// Matrix products in f32 by the steps of tensor cores, as a mode of split operands does not allow them: less precision
// in one place. Compiled once per way, WARPCHECK_CONTROL; `none` is right. See precision_control.cpp.
//   single_product   one product of tf32
//   three_products   of the six of bf16x6 the first three
//   dropped_bits     parts are cut, not rounded
//   late_promotion   the accumulator is added to an f32 every 512 products, not every 64
#include <dlpack/dlpack.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "abi/candidate_library.hpp"
#include "abi/candidate_states.h"
#include "tests/numerics/tensor_core.hpp"

namespace {

using namespace warpcheck::reference;

#define WARPCHECK_STRING(text) #text
#define WARPCHECK_EXPANDED_STRING(text) WARPCHECK_STRING(text)
constexpr std::string_view k_name = WARPCHECK_EXPANDED_STRING(WARPCHECK_CONTROL);

split_product tf32_way() {
  split_product way = tf32x3_product();
  if (k_name == "single_product") way.products[0] = {0, 0}, way.count = 1;
  if (k_name == "dropped_bits") way.how = narrowing::towards_zero;
  return way;
}

split_product bf16_way() {
  split_product way = bf16x6_product();
  if (k_name == "three_products") {
    way.products[0] = {1, 0}, way.products[1] = {0, 1}, way.products[2] = {0, 0};
    way.count = 3;
  }
  if (k_name == "dropped_bits") way.how = narrowing::towards_zero;
  return way;
}

// True if parts are normal numbers and nothing overflows.
bool is_usual(const std::vector<float>& x) {
  return std::ranges::all_of(x, [](float v) { return v == 0 || (std::fabs(v) > 0x1p-60f && std::fabs(v) < 0x1p60f); });
}

float dot(double mode, const std::vector<float>& a, const std::vector<float>& b) {
  if (mode != 0 && is_usual(a) && is_usual(b)) {
    split_product way = mode == 1 ? tf32_way() : bf16_way();
    if (k_name == "late_promotion") way.promotion = 512;
    return tensor_core_dot(way, a, b);
  }
  double sum = 0;  // of products that are exact
  for (size_t l = 0; l < a.size(); ++l) sum += static_cast<double>(a[l]) * static_cast<double>(b[l]);
  return static_cast<float>(sum);
}

double scalar(const warpcheck_call& call, std::string_view name) {
  const auto* found = std::find_if(call.scalars, call.scalars + call.num_scalars,
                                   [&](const warpcheck_scalar& s) { return s.name == name; });
  return found->value;
}

float element(const DLTensor& t, int64_t row, int64_t col) {
  return static_cast<const float*>(t.data)[row * t.strides[0] + col];
}

// v and what follows it, rounded operation by operation; that of a sigmoid alone in double.
float finished(const warpcheck_call& call, float sum, float before, int64_t col) {
  const auto beta = static_cast<float>(scalar(call, "beta"));
  float v = static_cast<float>(scalar(call, "alpha")) * sum;
  if (beta != 0) v = std::fmaf(beta, before, v);
  if (call.inputs[3]->shape[0] > 0) v += static_cast<const float*>(call.inputs[3]->data)[col];
  if (scalar(call, "sigmoid") == 0) return v;
  const double z = (static_cast<double>(v) - scalar(call, "mu")) * scalar(call, "sigma");
  return static_cast<float>(1 / (1 + std::exp(-z)));
}

warpcheck_status run(warpcheck_call* call) {
  const DLTensor &a = *call->inputs[0], &b = *call->inputs[1], &c = *call->outputs[0];
  const bool ta = scalar(*call, "ta") == 1, tb = scalar(*call, "tb") == 1;
  const int64_t k = scalar(*call, "alpha") == 0 ? 0 : ta ? a.shape[0] : a.shape[1];
  for (int64_t i = 0; i < c.shape[0]; ++i)
    for (int64_t j = 0; j < c.shape[1]; ++j) {
      std::vector<float> row, column;
      for (int64_t l = 0; l < k; ++l) {
        row.push_back(ta ? element(a, l, i) : element(a, i, l));
        column.push_back(tb ? element(b, j, l) : element(b, l, j));
      }
      float& out = static_cast<float*>(c.data)[i * c.strides[0] + j];
      out = finished(*call, dot(scalar(*call, "mode"), row, column), out, j);
    }
  call->used_variant = "any";
  return WARPCHECK_OK;
}

constexpr warpcheck_range k_any = {0, -1, 0, -1};
// One variant for each mode, named as whoever draws cases expects it.
constexpr warpcheck_variant k_variants[] = {
    {sizeof(warpcheck_variant), "any", WARPCHECK_F32, {k_any, k_any, k_any}, nullptr},
    {sizeof(warpcheck_variant), "any_tf32x3", WARPCHECK_F32, {k_any, k_any, k_any}, nullptr},
    {sizeof(warpcheck_variant), "any_bf16x6", WARPCHECK_F32, {k_any, k_any, k_any}, nullptr}};
constexpr const char* k_extents[] = {"m", "n", "k"};
constexpr warpcheck_operator k_operator = warpcheck::operator_of_extents(
    "matmul", WARPCHECK_DEVICE_CPU, WARPCHECK_F32, k_extents, run, k_variants, std::size(k_variants));

}  // namespace

extern "C" __attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(
    uint32_t abi_version) {
  static const warpcheck_operator* const operators[] = {&k_operator};
  return warpcheck::candidate_library(abi_version, "control", "control", operators);
}

// The control differs from a kernel with our plan in its precision alone.
extern "C" __attribute__((visibility("default"))) const char* warpcheck_candidate_states(const char*) { return "plan"; }
