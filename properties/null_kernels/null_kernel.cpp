// A candidate that answers without computing. Compiled once per way to do so, WARPCHECK_NULL_KERNEL: a case that one of
// these libraries passes tells nothing about the kernels that pass it.
#include <dlpack/dlpack.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <vector>

#include "kernels/candidate.h"
#include "properties/engine/recipe.hpp"

namespace {

using namespace warpcheck;
using engine::decode;
using engine::encode;
using engine::load_bits;
using engine::store_bits;

#define WARPCHECK_STRING(text) #text
#define WARPCHECK_EXPANDED_STRING(text) WARPCHECK_STRING(text)
constexpr std::string_view k_name = WARPCHECK_EXPANDED_STRING(WARPCHECK_NULL_KERNEL);

struct view {
  unsigned char* data;
  int64_t rows, cols, ld;
  dtype type;

  unsigned char* at(int64_t row, int64_t col) const {
    return data + static_cast<size_t>(row * ld + col) * size_of(type);
  }
  double get(int64_t row, int64_t col) const { return decode(type, load_bits(type, at(row, col))); }
  void set(int64_t row, int64_t col, double value) const { store_bits(type, at(row, col), encode(type, value)); }
};

dtype type_of(const DLDataType& t) {
  if (t.code == kDLBfloat) return dtype::bf16;
  if (t.code == kDLFloat) return t.bits == 16 ? dtype::f16 : t.bits == 64 ? dtype::f64 : dtype::f32;
  return t.bits == 64 ? dtype::i64 : dtype::i32;
}

view view_of(const DLTensor& t) {
  const bool matrix = t.ndim == 2;
  view v{static_cast<unsigned char*>(t.data) + t.byte_offset, matrix ? t.shape[0] : 1, matrix ? t.shape[1] : t.shape[0],
         matrix ? t.strides[0] : t.shape[0], type_of(t.dtype)};
  if (t.data == nullptr || v.rows < 0 || v.cols < 0) v.rows = 0;
  return v;
}

template <class Value>
void fill(const view& y, Value&& value) {
  for (int64_t r = 0; r < y.rows; ++r)
    for (int64_t c = 0; c < y.cols; ++c) y.set(r, c, is_float(y.type) ? value(r, c) : 0.0);
}

// What a right kernel would have answered, kept until the next call asks for something.
struct late_answer {
  std::vector<double> values;
  int64_t cols = 1;
};

void softmax_of(const view& x, late_answer& answer) {
  answer.cols = std::max<int64_t>(1, x.cols);
  answer.values.clear();
  for (int64_t r = 0; r < x.rows; ++r) {
    double maximum = -INFINITY, sum = 0;
    for (int64_t c = 0; c < x.cols; ++c) maximum = std::fmax(maximum, x.get(r, c));
    for (int64_t c = 0; c < x.cols; ++c) sum += std::exp(x.get(r, c) - maximum);
    for (int64_t c = 0; c < x.cols; ++c) answer.values.push_back(std::exp(x.get(r, c) - maximum) / sum);
  }
}

warpcheck_status run(warpcheck_call* call) {
  static late_answer previous;
  const view x = view_of(*call->inputs[0]);
  late_answer next;
  if (k_name == "previous_output") softmax_of(x, next);
  for (int32_t i = 0; i < call->num_outputs; ++i) {
    if (call->outputs[i] == nullptr) continue;
    const view y = view_of(*call->outputs[i]);
    if (k_name == "zeros") fill(y, [](int64_t, int64_t) { return 0.0; });
    if (k_name == "constant") fill(y, [&](int64_t, int64_t) { return 1.0 / static_cast<double>(y.cols); });
    if (k_name == "copy_input")
      fill(y, [&](int64_t r, int64_t c) { return r < x.rows && c < x.cols ? x.get(r, c) : 0.0; });
    if (k_name == "row_mean") {
      std::vector<double> mean(static_cast<size_t>(std::max(x.rows, y.rows)));
      for (int64_t r = 0; r < x.rows; ++r)
        for (int64_t c = 0; c < x.cols; ++c) mean[static_cast<size_t>(r)] += x.get(r, c) / static_cast<double>(x.cols);
      fill(y, [&](int64_t r, int64_t) { return mean[static_cast<size_t>(r)]; });
    }
    if (k_name == "previous_output")
      fill(y, [&](int64_t r, int64_t c) {
        const auto at = static_cast<size_t>(r * y.cols + c);
        return at < previous.values.size() ? previous.values[at] : 0.0;
      });
  }
  previous = std::move(next);
  call->used_variant = WARPCHECK_EXPANDED_STRING(WARPCHECK_NULL_KERNEL);
  return WARPCHECK_OK;
}

constexpr uint32_t k_types = WARPCHECK_F32 | WARPCHECK_F16 | WARPCHECK_BF16;
constexpr warpcheck_variant k_variant = {WARPCHECK_EXPANDED_STRING(WARPCHECK_NULL_KERNEL), 0, -1, 0, -1, k_types};
constexpr warpcheck_operator k_softmax = {"softmax", WARPCHECK_DEVICE_CPU, k_types, &k_variant, 1, nullptr, 0, run};

}  // namespace

extern "C" __attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(
    uint32_t abi_version) {
  if (abi_version != WARPCHECK_CANDIDATE_ABI) return nullptr;
  static const warpcheck_operator* const operators[] = {&k_softmax};
  static const warpcheck_candidate table = {
      WARPCHECK_CANDIDATE_ABI, sizeof(warpcheck_candidate), "null", "null", operators, 1, nullptr};
  return &table;
}
