// A candidate library in plain C++: a softmax for the CPU behind the C ABI of kernels/candidate.h.
//   c++ -std=c++17 -O2 -ffp-contract=off -shared -fPIC -I<warpcheck> softmax.cpp -o libmine.so
//   warpcheck verify softmax --candidate ./libmine.so --device cpu
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>

#include "kernels/candidate.h"

namespace {

struct matrix {
  float* data;
  int64_t rows, cols, ld;
  bool empty() const { return rows == 0 || cols == 0; }
  const char* begin() const { return reinterpret_cast<const char*>(data); }
  const char* row(int64_t r) const { return reinterpret_cast<const char*>(data + r * ld); }
};

matrix matrix_of(const DLTensor& t) {
  auto* data = t.data ? reinterpret_cast<float*>(static_cast<char*>(t.data) + t.byte_offset) : nullptr;
  return {data, t.shape[0], t.shape[1], t.strides ? t.strides[0] : t.shape[1]};
}

bool is_f32_matrix(const DLTensor& t) {
  return t.ndim == 2 && t.dtype.code == kDLFloat && t.dtype.bits == 32 && t.dtype.lanes == 1;
}

bool overlap(const matrix& a, const matrix& b) {
  if (a.empty() || b.empty()) return false;
  for (int64_t i = 0, j = 0; i < a.rows && j < b.rows;) {
    if (a.row(i) < b.row(j) + b.cols * 4 && b.row(j) < a.row(i) + a.cols * 4) return true;
    a.row(i) < b.row(j) ? ++i : ++j;
  }
  return false;
}

warpcheck_status refuse(warpcheck_call* call, warpcheck_status status, const char* message) {
  if (call->message && call->message_size > 0) std::snprintf(call->message, call->message_size, "%s", message);
  return status;
}

// kernels/softmax.hpp is the contract. The sum is in double, so that its error is far below the bound.
warpcheck_status run(warpcheck_call* call) {
  call->used_variant = nullptr;
  if (call->num_inputs != 1 || call->num_outputs < 1)
    return refuse(call, WARPCHECK_INVALID_ARGUMENT, "the call must have one input and one output");
  const DLTensor &xt = *call->inputs[0], &yt = *call->outputs[0];
  if (!is_f32_matrix(xt) || !is_f32_matrix(yt))
    return refuse(call, WARPCHECK_UNSUPPORTED, "this candidate takes f32 matrices");
  const matrix x = matrix_of(xt), y = matrix_of(yt);
  if (x.rows < 0 || x.cols < 0 || y.rows != x.rows || y.cols != x.cols)
    return refuse(call, WARPCHECK_INVALID_ARGUMENT, "x and y must have one shape, with extents >= 0");
  if (x.ld < x.cols || y.ld < y.cols)
    return refuse(call, WARPCHECK_INVALID_ARGUMENT, "a leading dimension must be >= cols");
  if (!x.empty() && (!x.data || !y.data)) return refuse(call, WARPCHECK_INVALID_ARGUMENT, "x and y must not be null");
  if ((x.data != y.data || x.ld != y.ld) && overlap(x, y))
    return refuse(call, WARPCHECK_INVALID_ARGUMENT, "y overlaps x");
  if (call->num_outputs > 1 && call->outputs[1]) {
    const DLTensor& at = *call->outputs[1];
    const char* begin = static_cast<const char*>(at.data) + at.byte_offset;
    for (const matrix& m : {x, y})
      if (!m.empty() && begin < m.row(m.rows - 1) + m.cols * 4 && m.begin() < begin + x.rows * 8)
        return refuse(call, WARPCHECK_INVALID_ARGUMENT, "the index overlaps x or y");
    return refuse(call, WARPCHECK_UNSUPPORTED, "this candidate has no argmax");
  }
  if (call->variant) return refuse(call, WARPCHECK_UNSUPPORTED, "this candidate has no variants");
  for (int64_t r = 0; r < x.rows; ++r) {
    const float* in = x.data + r * x.ld;
    float* out = y.data + r * y.ld;
    float m = -INFINITY;
    for (int64_t i = 0; i < x.cols; ++i) m = in[i] > m || in[i] != in[i] ? in[i] : m;
    double sum = 0;
    for (int64_t i = 0; i < x.cols; ++i) sum += std::exp(in[i] - m);
    for (int64_t i = 0; i < x.cols; ++i) out[i] = static_cast<float>(std::exp(in[i] - m) / sum);
  }
  return WARPCHECK_OK;
}

}  // namespace

extern "C" const warpcheck_candidate* warpcheck_candidate_get(uint32_t abi_version) {
  if (abi_version != WARPCHECK_CANDIDATE_ABI) return nullptr;
  static const warpcheck_operator softmax = {"softmax", WARPCHECK_DEVICE_CPU, WARPCHECK_F32, nullptr, 0, nullptr, 0,
                                             run};
  static const warpcheck_operator* const operators[] = {&softmax};
  static const warpcheck_candidate table = {
      WARPCHECK_CANDIDATE_ABI, sizeof(warpcheck_candidate), "mine", "plain C++", operators, 1, nullptr};
  return &table;
}
