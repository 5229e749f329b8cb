// `--source FILE.cu --entry NAME`: turns one function of a foreign source into a candidate (kernels/abi/candidate.h).
// Compiled with the source, by the host compiler for the emulated device and by nvcc for the GPU.
//
// The entry checks nothing: calls that break the operator's contract are refused here, and a call with no element to
// write is answered here.
//
// softmax, log_softmax:
//   extern "C" void NAME(const T* x, int64_t ldx, T* y, int64_t ldy, int64_t rows, int64_t cols, cudaStream_t stream);
// or, with the argmax of each row as a second output (nullptr where it is not wanted):
//   extern "C" void NAME(const T* x, int64_t ldx, T* y, int64_t ldy, int64_t rows, int64_t cols, int64_t* argmax,
//                        cudaStream_t stream);
// T is float, __half or __nv_bfloat16. The result may also be cudaError_t or int: 0 means success.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>

#ifdef __NVCC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#else
#include "simt/import/cuda_bf16.h"
#include "simt/import/cuda_fp16.h"
#include "simt/import/cuda_runtime.h"
#endif

#include "kernels/abi/candidate_table.hpp"

namespace simt {
namespace import {

template <class T>
constexpr uint32_t dtype_of() {
  using U = std::remove_const_t<T>;
  if (std::is_same<U, float>::value) return WARPCHECK_F32;
  if (std::is_same<U, double>::value) return WARPCHECK_F64;
  if (std::is_same<U, __half>::value) return WARPCHECK_F16;
  if (std::is_same<U, __nv_bfloat16>::value) return WARPCHECK_BF16;
  return 0;
}

inline uint32_t dtype_of(const DLDataType& t) {
  if (t.lanes != 1) return 0;
  if (t.code == kDLBfloat) return t.bits == 16 ? WARPCHECK_BF16 : 0;
  if (t.code != kDLFloat) return 0;
  return t.bits == 32 ? WARPCHECK_F32 : t.bits == 16 ? WARPCHECK_F16 : t.bits == 64 ? WARPCHECK_F64 : 0;
}

inline warpcheck_status refuse_call(warpcheck_call* call, warpcheck_status status, const std::string& message) {
  if (call->message != nullptr && call->message_size > 0)
    std::snprintf(call->message, call->message_size, "%s", message.c_str());
  return status;
}

// A matrix argument with contiguous rows, `ld` elements apart.
struct matrix {
  const char* name;
  char* data;
  int64_t rows, cols, ld, element;

  bool empty() const { return rows == 0 || cols == 0; }
  char* row(int64_t r) const { return data + r * ld * element; }
};

inline matrix matrix_of(const DLTensor& t, const char* name) {
  const int64_t cols = t.ndim == 2 ? t.shape[1] : 0;
  return {name,
          t.data == nullptr ? nullptr : static_cast<char*>(t.data) + t.byte_offset,
          t.ndim == 2 ? t.shape[0] : 0,
          cols,
          t.ndim == 2 && t.strides != nullptr ? t.strides[0] : cols,
          t.dtype.bits / 8};
}

// What is wrong with a matrix by the row operators' contract, or nothing.
inline std::string broken_matrix(const DLTensor& t, const matrix& m) {
  const std::string name = m.name;
  if (t.ndim != 2) return name + " has " + std::to_string(t.ndim) + " dimensions, must have 2";
  if (m.rows < 0) return "rows is " + std::to_string(m.rows) + ", must be >= 0";
  if (m.cols < 0) return "cols is " + std::to_string(m.cols) + ", must be >= 0";
  if (m.ld < m.cols)
    return "ld" + name + " is " + std::to_string(m.ld) + ", must be >= cols = " + std::to_string(m.cols);
  if (m.empty()) return {};
  if (m.data == nullptr) return name + " is null";
  if (reinterpret_cast<uintptr_t>(m.data) % static_cast<uintptr_t>(m.element) != 0)
    return name + " is not aligned to its element";
  return {};
}

// Whether an element of one lies in the other; the gaps between rows belong to nobody.
inline bool overlap(const matrix& a, const matrix& b) {
  if (a.empty() || b.empty()) return false;
  for (int64_t i = 0, j = 0; i < a.rows && j < b.rows;) {
    if (a.row(i) < b.row(j) + b.cols * b.element && b.row(j) < a.row(i) + a.cols * a.element) return true;
    if (a.row(i) < b.row(j))
      ++i;
    else
      ++j;
  }
  return false;
}

// Runs `launch` and tells how it went: its own result, then the device's.
template <class Launch>
warpcheck_status run_launch(warpcheck_call* call, Launch&& launch) {
#ifndef __NVCC__
  // Launches without a stream go where the trial listens.
  struct redirect {
    program& p = the_program();
    emulation* before = p.current;
    explicit redirect(emulation* to) {
      if (to != nullptr) p.current = to;
      p.last_error = 0;
    }
    ~redirect() { p.current = before; }
  } here(static_cast<emulation*>(call->stream));
#endif
  if (const int code = launch(); code != 0)
    return refuse_call(call, WARPCHECK_DEVICE_ERROR, "the entry returned " + std::to_string(code));
  if (const cudaError_t e = cudaGetLastError(); e != cudaSuccess)
    return refuse_call(call, WARPCHECK_DEVICE_ERROR, cudaGetErrorString(e));
  return WARPCHECK_OK;
}

template <class Result, class Call>
std::enable_if_t<std::is_void<Result>::value, int> result_of(Call&& call) {
  call();
  return 0;
}
template <class Result, class Call>
std::enable_if_t<!std::is_void<Result>::value, int> result_of(Call&& call) {
  return static_cast<int>(call());
}

template <class... I>
constexpr bool are_int64() {
  const bool all[] = {(std::is_integral<I>::value && sizeof(I) == 8)...};
  for (const bool one : all)
    if (!one) return false;
  return true;
}

// The shape of an entry, read from its type.
template <class Entry>
struct row_entry {
  static constexpr bool fits = false, has_argmax = false;
  using element = float;
  static int run(Entry, const matrix&, const matrix&, int64_t*, cudaStream_t) { return 0; }
};
template <class R, class T, class I, class J, class K, class L>
struct row_entry<R (*)(const T*, I, T*, J, K, L, cudaStream_t)> {
  static constexpr bool fits = are_int64<I, J, K, L>() && dtype_of<T>() != 0, has_argmax = false;
  using element = T;
  static int run(R (*f)(const T*, I, T*, J, K, L, cudaStream_t), const matrix& x, const matrix& y, int64_t*,
                 cudaStream_t stream) {
    return result_of<R>([&] {
      return f(reinterpret_cast<const T*>(x.data), x.ld, reinterpret_cast<T*>(y.data), y.ld, x.rows, x.cols, stream);
    });
  }
};
template <class R, class T, class I, class J, class K, class L, class M>
struct row_entry<R (*)(const T*, I, T*, J, K, L, M*, cudaStream_t)> {
  static constexpr bool fits = are_int64<I, J, K, L, M>() && dtype_of<T>() != 0, has_argmax = true;
  using element = T;
  static int run(R (*f)(const T*, I, T*, J, K, L, M*, cudaStream_t), const matrix& x, const matrix& y, int64_t* argmax,
                 cudaStream_t stream) {
    return result_of<R>([&] {
      return f(reinterpret_cast<const T*>(x.data), x.ld, reinterpret_cast<T*>(y.data), y.ld, x.rows, x.cols,
               reinterpret_cast<M*>(argmax), stream);
    });
  }
};

constexpr const char* k_source_variant = "source";

template <class Entry, Entry Function>
warpcheck_status run_row_entry(warpcheck_call* call) {
  using form = row_entry<Entry>;
  static_assert(form::fits,
                "the entry's signature must be: extern \"C\" void NAME(const T* x, int64_t ldx, T* y, int64_t ldy, "
                "int64_t rows, int64_t cols, [int64_t* argmax,] cudaStream_t stream), T = float, __half or "
                "__nv_bfloat16");
  using T = typename form::element;
  call->used_variant = nullptr;
  if (call->num_inputs != 1 || call->num_outputs < 1 || call->num_outputs > 2)
    return refuse_call(call, WARPCHECK_INVALID_ARGUMENT, "the call must have 1 input and 1 or 2 outputs");
  const DLTensor &xt = *call->inputs[0], &yt = *call->outputs[0];
  const matrix x = matrix_of(xt, "x"), y = matrix_of(yt, "y");
  for (const std::string& text : {broken_matrix(xt, x), broken_matrix(yt, y)})
    if (!text.empty()) return refuse_call(call, WARPCHECK_INVALID_ARGUMENT, text);
  if (x.rows != y.rows || x.cols != y.cols)
    return refuse_call(call, WARPCHECK_INVALID_ARGUMENT, "y must have the shape of x");
  if (dtype_of(xt.dtype) != dtype_of(yt.dtype))
    return refuse_call(call, WARPCHECK_INVALID_ARGUMENT, "y must have the element type of x");
  if ((x.data != y.data || x.ld != y.ld) && overlap(x, y))
    return refuse_call(call, WARPCHECK_INVALID_ARGUMENT, "y overlaps x");
  int64_t* argmax = nullptr;
  if (call->num_outputs == 2 && call->outputs[1] != nullptr && call->outputs[1]->shape[0] != 0) {
    const DLTensor& at = *call->outputs[1];
    if (at.ndim != 1 || at.shape[0] != x.rows || at.dtype.code != kDLInt || at.dtype.bits != 64)
      return refuse_call(call, WARPCHECK_INVALID_ARGUMENT, "argmax must be one int64 per row");
    argmax = reinterpret_cast<int64_t*>(static_cast<char*>(at.data) + at.byte_offset);
    const matrix index{"argmax", reinterpret_cast<char*>(argmax), 1, x.rows, x.rows, 8};
    if (x.rows > 0 && at.data == nullptr) return refuse_call(call, WARPCHECK_INVALID_ARGUMENT, "argmax is null");
    if (overlap(index, x) || overlap(index, y))
      return refuse_call(call, WARPCHECK_INVALID_ARGUMENT, "argmax overlaps x or y");
    if (!form::has_argmax) return refuse_call(call, WARPCHECK_UNSUPPORTED, "this entry has no argmax output");
  }
  if (dtype_of(xt.dtype) != dtype_of<T>())
    return refuse_call(call, WARPCHECK_UNSUPPORTED, "this entry does not take the element type of x");
  if (call->variant != nullptr && std::string(call->variant) != k_source_variant)
    return refuse_call(call, WARPCHECK_UNSUPPORTED, "an entry has one variant, 'source'");
  call->used_variant = k_source_variant;
  if (x.rows == 0) return WARPCHECK_OK;
  if (x.cols == 0) {
    if (argmax == nullptr) return WARPCHECK_OK;
    const cudaError_t e =
        cudaMemsetAsync(argmax, 0xff, static_cast<size_t>(x.rows) * 8, static_cast<cudaStream_t>(call->stream));
    return e == cudaSuccess ? WARPCHECK_OK : refuse_call(call, WARPCHECK_DEVICE_ERROR, cudaGetErrorString(e));
  }
  return run_launch(call, [&] { return form::run(Function, x, y, argmax, static_cast<cudaStream_t>(call->stream)); });
}

// The table of a library that holds one entry. `device_api` is NULL on the GPU: the suite brings its own.
template <class Entry, Entry Function>
const warpcheck_candidate* source_candidate(uint32_t abi_version, const char* op, const char* name, const char* build,
                                            warpcheck_device device, const warpcheck_device_api* device_api) {
  if (abi_version != WARPCHECK_CANDIDATE_ABI) return nullptr;
  constexpr uint32_t dtypes = dtype_of<typename row_entry<Entry>::element>();
  static const warpcheck_variant variants[] = {warpcheck::row_variant(k_source_variant, 0, -1, 0, -1, dtypes)};
  static const warpcheck_operator table =
      warpcheck::operator_of_rows(op, device, dtypes, run_row_entry<Entry, Function>, variants, 1);
  static const warpcheck_operator* const operators[] = {&table};
  static const warpcheck_candidate candidate = {
      WARPCHECK_CANDIDATE_ABI, sizeof(warpcheck_candidate), name, build, operators, 1, device_api};
  return &candidate;
}

}  // namespace import
}  // namespace simt
