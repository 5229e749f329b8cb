// `--source FILE.cu --entry NAME`: turns one function of a foreign source into a candidate (abi/candidate.h).
// Compiled with the source, by the host compiler for the emulated device and by nvcc for the GPU.
//
// A parameter's name, which the command has read, determines its argument: docs/bring_your_own. The entry checks
// nothing: the command refuses calls that break the operator's contract, and answers a call without output elements
// itself. The result may be void, or cudaError_t or int, of which 0 means success.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

// The stand-in headers also define __NVCC__, so nvcc must be recognised before they are included.
#if defined(__NVCC__) && !defined(SIMT_IMPORT_HEADERS)
#define SIMT_ENTRY_BY_NVCC 1
#endif

#ifdef SIMT_ENTRY_BY_NVCC
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#else
#include "simt/import/cuda_bf16.h"
#include "simt/import/cuda_fp16.h"
#include "simt/import/cuda_fp8.h"
#include "simt/import/cuda_runtime.h"
#endif

#include "abi/candidate_reserve.h"
#include "simt/import/entry_call.hpp"

namespace simt {
namespace import {

// The meaning of a parameter's name.
enum class meaning { input, output, integer, number, stream, reserve, reserve_bytes };
struct named_parameter {
  const char* name;
  meaning is;
  uint32_t types;  // element types that the tensor may have
};

// The element types of a pointer, as warpcheck_dtype_bit; a `void*` points to bytes.
template <class T>
constexpr uint32_t element_types() {
  if constexpr (std::is_void<T>::value)
    return WARPCHECK_U8;
  else if constexpr (std::is_same<T, float>::value)
    return WARPCHECK_F32;
  else if constexpr (std::is_same<T, double>::value)
    return WARPCHECK_F64;
  else if constexpr (std::is_same<T, __half>::value)
    return WARPCHECK_F16;
  else if constexpr (std::is_same<T, __nv_bfloat16>::value)
    return WARPCHECK_BF16;
  else if constexpr (std::is_same<T, __nv_fp8_e4m3>::value)
    return WARPCHECK_E4M3;
  else if constexpr (std::is_same<T, __nv_fp8_e5m2>::value)
    return WARPCHECK_E5M2;
  else if constexpr (std::is_integral<T>::value && std::is_signed<T>::value)
    return sizeof(T) == 8 ? WARPCHECK_I64 : sizeof(T) == 4 ? WARPCHECK_I32 : sizeof(T) == 1 ? WARPCHECK_I8 : 0;
  else if constexpr (std::is_integral<T>::value)
    return sizeof(T) == 4 ? WARPCHECK_U32 : sizeof(T) == 2 ? WARPCHECK_U16 : sizeof(T) == 1 ? WARPCHECK_U8 : 0;
  else
    return 0;
}
template <class Pointer>
constexpr uint32_t pointed_to() {
  return std::is_pointer<Pointer>::value ? element_types<std::remove_cv_t<std::remove_pointer_t<Pointer>>>() : 0;
}

// True if a parameter of this type can have the meaning of its name.
template <class T>
constexpr bool fits(const named_parameter& p) {
  const bool is_const = std::is_const<std::remove_pointer_t<T>>::value;
  switch (p.is) {
    case meaning::input: return (pointed_to<T>() & p.types) != 0;
    case meaning::output: return (pointed_to<T>() & p.types) != 0 && !is_const;
    case meaning::integer: return std::is_integral<T>::value || std::is_enum<T>::value;
    case meaning::number: return std::is_floating_point<T>::value;
    case meaning::stream: return std::is_same<T, cudaStream_t>::value;
    case meaning::reserve: return std::is_pointer<T>::value && !is_const;
    case meaning::reserve_bytes: return std::is_same<T, int64_t*>::value;
  }
  return false;
}

template <class T>
struct integer_of {
  using type = T;
};
template <class T>
constexpr warpcheck_entry_parameter parameter_of(const named_parameter& p) {
  if constexpr (std::is_integral<T>::value || std::is_enum<T>::value) {
    using kind = std::conditional_t<std::is_enum<T>::value, std::underlying_type<T>, integer_of<T>>;
    using limits = std::numeric_limits<typename kind::type>;
    constexpr auto most = static_cast<uint64_t>(limits::max());
    return {p.name, 0, static_cast<int64_t>(limits::min()), most > INT64_MAX ? INT64_MAX : static_cast<int64_t>(most)};
  } else {
    return {p.name, pointed_to<T>(), 0, 0};
  }
}

template <class T>
T value_as(const warpcheck_entry_value& v) {
#ifndef SIMT_ENTRY_BY_NVCC
  if constexpr (std::is_same<T, cudaStream_t>::value)
    return stream_of_call();
  else
#endif
      if constexpr (std::is_pointer<T>::value)
    return static_cast<T>(v.pointer);
  else if constexpr (std::is_floating_point<T>::value)
    return static_cast<T>(v.number);
  else
    return static_cast<T>(v.integer);
}

// The type of the I-th parameter.
template <size_t I, class R, class... T>
std::tuple_element<I, std::tuple<T...>> parameter_type(R (*)(T...)) {
  return {};
}

// True for the result of an entry that returns nothing or a status. A bool would count success as an error.
template <class R, class... T>
constexpr bool returns_status(R (*)(T...)) {
  return std::is_void<R>::value || std::is_enum<R>::value ||
         (std::is_integral<R>::value && !std::is_same<R, bool>::value);
}

// The parameters of an entry: their types, and the meanings of their names by the command (Source::parameters).
template <class Source, class R, class... T>
struct entry_type {
  static constexpr size_t count = sizeof...(T);

  template <size_t... I>
  static const warpcheck_entry_parameter* parameters(std::index_sequence<I...>) {
    static const warpcheck_entry_parameter list[] = {parameter_of<T>(Source::parameters[I])...};
    return list;
  }
  // The status that the entry returned, or 0 if it returns none.
  template <size_t... I>
  static int call(R (*f)(T...), const warpcheck_entry_value* v, std::index_sequence<I...>) {
    if constexpr (std::is_void<R>::value) {
      f(value_as<T>(v[I])...);
      return 0;
    } else {
      return static_cast<int>(f(value_as<T>(v[I])...));
    }
  }
  static constexpr bool returns_reason = std::is_same<R, cudaError_t>::value;
};
template <class Source, class R, class... T>
entry_type<Source, R, T...> type_of(R (*)(T...)) {
  return {};
}

inline warpcheck_status answer(warpcheck_call* call, warpcheck_status status, const std::string& message) {
  if (call->message != nullptr && call->message_size > 0)
    std::snprintf(call->message, call->message_size, "%s", message.c_str());
  return status;
}

template <class Function>
Function* of_the_command(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// Launches go to the trial's stream. An entry without a stream is over when all its work is.
struct redirected_launches {
#ifndef SIMT_ENTRY_BY_NVCC
  program& p = the_program();
  emulation* before = p.current;
  bool waits_for_all;
  redirected_launches(void* to, bool has_stream) : waits_for_all(!has_stream) {
    if (to != nullptr) p.current = static_cast<emulation*>(to);
    p.last_error = 0;
    begin_call();
  }
  ~redirected_launches() {
    end_call(waits_for_all);
    p.current = before;
  }
#else
  redirected_launches(void*, bool) {}
#endif
};

// True if the launches of an entry without a stream can be waited for: not while the caller's stream is captured.
inline bool begins_alone(void* stream) {
#ifdef SIMT_ENTRY_BY_NVCC
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const auto callers = static_cast<cudaStream_t>(stream);
  if (cudaStreamIsCapturing(callers, &status) != cudaSuccess || status != cudaStreamCaptureStatusNone) return false;
  return cudaStreamSynchronize(callers) == cudaSuccess;
#else
  (void)stream;
  return true;
#endif
}
inline void end_alone() {
#ifdef SIMT_ENTRY_BY_NVCC
  cudaDeviceSynchronize();
#endif
}

template <class Source>
struct source_library {
  // The parameter of this meaning; -1: there is none.
  static constexpr int find(meaning is) {
    int at = 0;
    for (const named_parameter& p : Source::parameters) {
      if (p.is == is) return at;
      ++at;
    }
    return -1;
  }
  static constexpr bool has_stream() { return find(meaning::stream) >= 0; }
  using type = decltype(type_of<Source>(Source::function));
  static constexpr std::make_index_sequence<type::count> k_all{};

  // The first value that `table` gets stays.
  static const warpcheck_entry& entry(const warpcheck_device_api* device_api = nullptr) {
    static const warpcheck_entry e = {Source::op,
                                      Source::name,
                                      Source::build,
                                      Source::device,
                                      device_api,
                                      type::parameters(k_all),
                                      static_cast<int32_t>(type::count),
                                      run};
    return e;
  }

  static warpcheck_status run(warpcheck_call* call) { return run_with_reserve(call, nullptr, 0); }

  // A call of one pass, with what lies between the passes.
  static warpcheck_status run_with_reserve(warpcheck_call* call, void* reserve, int64_t) {
    warpcheck_entry_value values[type::count == 0 ? 1 : type::count];
    int32_t is_called = 0;
    const warpcheck_status checked = values_of(call, values, is_called);
    if (checked != WARPCHECK_OK || (is_called == 0 && reserve == nullptr)) return checked;
    if constexpr (find(meaning::reserve) >= 0) values[find(meaning::reserve)].pointer = reserve;
    int code = 0;
    {
      const redirected_launches here(call->stream, has_stream());
      if (!has_stream() && !begins_alone(call->stream))
        return answer(call, WARPCHECK_UNSUPPORTED, "an entry without a stream is called while none is captured");
      try {
        code = type::call(Source::function, values, k_all);
      } catch (const std::exception& e) {
        return answer(call, WARPCHECK_INTERNAL_ERROR, std::string("the entry threw: ") + e.what());
      }
      if (!has_stream()) end_alone();
    }
    return status_of(call, code);
  }

  static const warpcheck_reserve* reserve() {
    if constexpr (find(meaning::reserve) >= 0) {
      static const warpcheck_reserve r = {sizeof(warpcheck_reserve), reserve_bytes, run_with_reserve};
      return &r;
    } else {
      return nullptr;
    }
  }

  static const warpcheck_candidate* table(uint32_t abi_version, const warpcheck_device_api* device_api) {
    const auto table_of = of_the_command<warpcheck_entry_table_fn>("warpcheck_entry_table");
    return abi_version == WARPCHECK_CANDIDATE_ABI && table_of != nullptr ? table_of(&entry(device_api)) : nullptr;
  }

 private:
  static warpcheck_status values_of(warpcheck_call* call, warpcheck_entry_value* values, int32_t& is_called) {
    return of_the_command<warpcheck_entry_values_fn>("warpcheck_entry_values")(&entry(), call, values, &is_called);
  }

  // The size that the entry writes if there is no reserve; 0 for a call that it refuses, as it refuses the pass.
  static int64_t reserve_bytes(const warpcheck_call* call) {
    warpcheck_call asked = *call;
    warpcheck_entry_value values[type::count == 0 ? 1 : type::count];
    int32_t is_called = 0;
    int64_t bytes = -1;
    if (values_of(&asked, values, is_called) != WARPCHECK_OK) return 0;
    values[find(meaning::reserve_bytes)].pointer = &bytes;
    return type::call(Source::function, values, k_all) == 0 ? bytes : 0;
  }

  static warpcheck_status status_of(warpcheck_call* call, int code) {
    if (code != 0) {
      const std::string said = "the entry returned " + std::to_string(code);
      if (type::returns_reason && code == static_cast<int>(cudaErrorInvalidValue))
        return answer(call, WARPCHECK_INVALID_ARGUMENT, said + ", cudaErrorInvalidValue");
      if (code == static_cast<int>(cudaErrorNotSupported))
        return answer(call, WARPCHECK_UNSUPPORTED, said + ", cudaErrorNotSupported");
      return answer(call, WARPCHECK_DEVICE_ERROR, said);
    }
    if (const cudaError_t e = cudaGetLastError(); e != cudaSuccess)
      return answer(call, WARPCHECK_DEVICE_ERROR, cudaGetErrorString(e));
    return WARPCHECK_OK;
  }
};

}  // namespace import
}  // namespace simt
