// Shared parts of the templates in this folder: the tensors of a call, the checks that each contract requires, and the
// sentence of a refusal. Copy this file beside your own, or write these parts yourself.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string_view>
#include <type_traits>

#include "abi/candidate.h"

namespace candidate {

// `rows` rows of `cols` elements, `ld` elements apart.
template <class T>
struct matrix {
  T* data;
  int64_t rows, cols, ld;

  bool empty() const { return rows == 0 || cols == 0; }
  T* row(int64_t r) const { return data + r * ld; }
};

// Ends a call: the adapter's answer with its reason.
struct refusal {
  warpcheck_status status;
  const char* sentence;
};

inline void require(bool condition, const char* sentence) {
  if (!condition) throw refusal{WARPCHECK_INVALID_ARGUMENT, sentence};
}
inline void offer(bool condition, const char* sentence) {
  if (!condition) throw refusal{WARPCHECK_UNSUPPORTED, sentence};
}

// Tensor i of the inputs or outputs of a call, as a matrix or as a vector, which is a matrix of one row. T: float or
// int64_t.
template <class T, class Tensors>
matrix<T> tensor(const Tensors& list, int32_t count, int32_t i, int32_t dimensions) {
  require(i < count && list[i] != nullptr, "a tensor of the call is missing");
  const DLTensor& t = *list[i];
  require(t.ndim == dimensions, "a tensor has the wrong number of dimensions");
  constexpr uint8_t k_code = std::is_same_v<T, float> ? kDLFloat : kDLInt;
  offer(t.dtype.code == k_code && t.dtype.bits == 8 * sizeof(T) && t.dtype.lanes == 1,
        "this candidate takes f32, and indices of 64 bits");
  auto* const data = t.data ? reinterpret_cast<T*>(static_cast<char*>(t.data) + t.byte_offset) : nullptr;
  const int64_t cols = t.shape[dimensions - 1];
  const matrix<T> m = dimensions == 1 ? matrix<T>{data, 1, cols, cols}
                                      : matrix<T>{data, t.shape[0], cols, t.strides ? t.strides[0] : cols};
  require(m.rows >= 0 && m.cols >= 0, "an extent is negative, must be >= 0");
  require(m.ld >= m.cols, "a leading dimension is below cols, must be >= cols");
  require(m.empty() || data, "a tensor that has elements is null, must point to them");
  require(reinterpret_cast<uintptr_t>(data) % sizeof(T) == 0, "a tensor is misaligned, must be aligned to its element");
  return m;
}
template <class T>
matrix<T> input(const warpcheck_call* call, int32_t i, int32_t dimensions) {
  return tensor<T>(call->inputs, call->num_inputs, i, dimensions);
}
template <class T>
matrix<T> output(const warpcheck_call* call, int32_t i, int32_t dimensions) {
  return tensor<T>(call->outputs, call->num_outputs, i, dimensions);
}

inline double scalar(const warpcheck_call* call, const char* name) {
  for (int32_t i = 0; i < call->num_scalars; ++i)
    if (std::string_view(call->scalars[i].name) == name) return call->scalars[i].value;
  throw refusal{WARPCHECK_INVALID_ARGUMENT, "a scalar of the call is missing"};
}

// An element of one must not lie in the other; the gaps between rows belong to nobody.
template <class A, class B>
void require_disjoint(const matrix<A>& a, const matrix<B>& b) {
  if (a.empty() || b.empty()) return;
  for (int64_t i = 0, j = 0; i < a.rows && j < b.rows;) {
    const auto at = reinterpret_cast<uintptr_t>(a.row(i)), bt = reinterpret_cast<uintptr_t>(b.row(j));
    require(
        at >= bt + static_cast<uintptr_t>(b.cols) * sizeof(B) || bt >= at + static_cast<uintptr_t>(a.cols) * sizeof(A),
        "an output overlaps another tensor, must be disjoint from it");
    at < bt ? ++i : ++j;
  }
}

// Runs `body` and answers for it. A candidate with variants reads call->variant and sets call->used_variant.
template <class Body>
warpcheck_status answer(warpcheck_call* call, Body&& body) {
  call->used_variant = nullptr;
  try {
    offer(!call->variant, "this candidate has no variants");
    body();
    return WARPCHECK_OK;
  } catch (const refusal& r) {
    if (call->message && call->message_size > 0) std::snprintf(call->message, call->message_size, "%s", r.sentence);
    return r.status;
  }
}

inline constexpr const char* k_row_extents[] = {"cols"};

// The table of a library that offers one operator, for the CPU and f32. `Run` answers its calls.
template <warpcheck_status (*Run)(warpcheck_call*), int32_t N = 1>
const warpcheck_candidate* table(uint32_t abi_version, const char* name,
                                 const char* const (&extents)[N] = k_row_extents) {
  if (abi_version != WARPCHECK_CANDIDATE_ABI) return nullptr;
  static const warpcheck_operator op = {
      sizeof(warpcheck_operator), name, WARPCHECK_DEVICE_CPU, WARPCHECK_F32, N, extents, nullptr, 0, {}, Run, nullptr};
  static const warpcheck_operator* const operators[] = {&op};
  static const warpcheck_candidate table = {
      WARPCHECK_CANDIDATE_ABI, sizeof(warpcheck_candidate), "mine", "plain C++", operators, 1, nullptr};
  return &table;
}

}  // namespace candidate
