// From a warpcheck_call (abi/candidate.h) to the typed C++ API of an operator: reads tensors, picks the element
// type and the variant, and turns exceptions into a status and one sentence.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "abi/candidate.h"
#include "abi/candidate_table.hpp"
#include "abi/contract.hpp"
#include "simt/simt.hpp"

#ifdef __CUDACC__
#define WARPCHECK_OPERATOR_SYMBOL(op) warpcheck_operator_##op##_cuda
#else
#define WARPCHECK_OPERATOR_SYMBOL(op) warpcheck_operator_##op##_emulated
#endif

// Begins the definition of the function through which an operator's .cu file exports its table for the device that it
// is compiled for: `const warpcheck_operator* warpcheck_operator_<op>_<cuda|emulated>(void)`.
#define WARPCHECK_OPERATOR(op)                                              \
  extern "C" const warpcheck_operator* WARPCHECK_OPERATOR_SYMBOL(op)(void); \
  extern "C" const warpcheck_operator* WARPCHECK_OPERATOR_SYMBOL(op)(void)

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

#ifdef __CUDACC__
constexpr warpcheck_device k_candidate_device = WARPCHECK_DEVICE_CUDA;
#else
constexpr warpcheck_device k_candidate_device = WARPCHECK_DEVICE_EMULATED;
#endif

template <class T>
constexpr uint32_t dtype_bit_of();
template <>
constexpr uint32_t dtype_bit_of<float>() {
  return WARPCHECK_F32;
}
template <>
constexpr uint32_t dtype_bit_of<double>() {
  return WARPCHECK_F64;
}
template <>
constexpr uint32_t dtype_bit_of<simt::f16>() {
  return WARPCHECK_F16;
}
template <>
constexpr uint32_t dtype_bit_of<simt::bf16>() {
  return WARPCHECK_BF16;
}
template <>
constexpr uint32_t dtype_bit_of<int64_t>() {
  return WARPCHECK_I64;
}

constexpr const char* dtype_name(uint32_t bit) {
  switch (bit) {
    case WARPCHECK_F32: return "f32";
    case WARPCHECK_F64: return "f64";
    case WARPCHECK_F16: return "f16";
    case WARPCHECK_BF16: return "bf16";
    case WARPCHECK_I64: return "i64";
    default: return "another";
  }
}

// For operators of dense matrices: gaps between rows are legal in a call, but not offered.
inline void require_dense(const tensor_view& m) {
  if (m.ld < m.cols)
    throw std::invalid_argument("ld" + m.rule->name + " is " + std::to_string(m.ld) +
                                ", must be >= cols = " + std::to_string(m.cols));
  if (m.rows > 1 && m.cols > 0 && m.ld != m.cols)
    throw unsupported_call(m.rule->name + " has rows " + std::to_string(m.ld) + " elements apart, must be dense");
}

// The table of one of our operators with one extent.
template <size_t Variants, size_t Boundaries>
constexpr warpcheck_operator own_operator(const char* name, uint32_t dtypes,
                                          const warpcheck_variant (&variants)[Variants],
                                          const int64_t (&boundaries)[Boundaries], candidate_run run,
                                          candidate_picks picks, const char* const* extent = k_row_extents) {
  return operator_of_rows(name, k_candidate_device, dtypes, run, variants, Variants,
                          {boundaries, static_cast<int32_t>(Boundaries)}, picks, extent);
}

constexpr bool accepts(const warpcheck_variant& variant, int64_t extent) {
  const warpcheck_range& range = variant.ranges[0];
  return extent >= range.min && (range.max < 0 || extent <= range.max);
}

// For the C++ API: throws if the forced technique does not support rows of this length.
inline void check_extent(const warpcheck_variant& variant, int64_t cols) {
  if (!accepts(variant, cols))
    throw std::invalid_argument("variant: " + std::string(variant.name) + " takes rows of " +
                                std::to_string(variant.ranges[0].min) + " to " + std::to_string(variant.ranges[0].max) +
                                " elements, got cols = " + std::to_string(cols));
}

// Index of the variant that the call forces, -1 if it forces none. An extent of 0 needs no kernel, so any variant does.
template <size_t Count>
int find_variant(const warpcheck_call* call, const warpcheck_variant (&variants)[Count], int64_t extent) {
  if (call->variant == nullptr) return -1;
  for (int i = 0; i < static_cast<int>(Count); ++i) {
    if (std::strcmp(variants[i].name, call->variant) != 0) continue;
    if (extent > 0 && !accepts(variants[i], extent))
      throw unsupported_call("variant " + std::string(call->variant) + " does not take rows of " +
                             std::to_string(extent) + " elements");
    return i;
  }
  throw unsupported_call("variant " + std::string(call->variant) + " does not exist");
}

template <class T>
struct type_tag {
  using type = T;
};

// True if kernels for T are compiled. A library that defines WARPCHECK_ONLY_TYPE has only the kernels of this type, and
// no explicit instantiations. Mutants define it, because most of their cost is compilation.
#ifdef WARPCHECK_ONLY_TYPE
template <class T>
constexpr bool k_is_built = std::is_same_v<T, WARPCHECK_ONLY_TYPE>;
#else
template <class T>
constexpr bool k_is_built = true;
#endif

// Calls f(type_tag<T>()) for the type T of Types that the tensor has.
template <class... Types, class F>
void with_type(uint32_t dtype, F&& f) {
  const auto is = [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (k_is_built<T>) {
      if (dtype == dtype_bit_of<T>()) {
        f(type);
        return true;
      }
    }
    return false;
  };
  if ((is(type_tag<Types>()) || ...)) return;
  std::string names;
  for (const uint32_t bit : {dtype_bit_of<Types>()...})
    names += (names.empty() ? "" : ", ") + std::string(dtype_name(bit));
  throw unsupported_call("element type of the first input is not one of " + names);
}

// Runs `body` and reports its outcome by the rules of candidate.h.
template <class Body>
warpcheck_status candidate_call(warpcheck_call* call, Body&& body) {
  const auto fail = [call](warpcheck_status status, const char* message) {
    if (call->message != nullptr && call->message_size > 0)
      std::snprintf(call->message, call->message_size, "%s", message);
    return status;
  };
  try {
    call->used_variant = nullptr;
    body();
    return WARPCHECK_OK;
  } catch (const std::invalid_argument& e) {
    return fail(WARPCHECK_INVALID_ARGUMENT, e.what());
  } catch (const unsupported_call& e) {
    return fail(WARPCHECK_UNSUPPORTED, e.what());
  } catch (const simt::device_error& e) {
    return fail(WARPCHECK_DEVICE_ERROR, e.what());
  } catch (const std::exception& e) {
    return fail(WARPCHECK_INTERNAL_ERROR, e.what());
  } catch (...) {
    return fail(WARPCHECK_INTERNAL_ERROR, "an exception of unknown type");
  }
}

// Returns the name of the variant that `body` selects for the call's stream; nullptr if it selects `automatic` or
// refuses the call.
template <size_t Count, class Body>
const char* candidate_pick(const warpcheck_call* call, const warpcheck_variant (&variants)[Count], Body&& body) {
  try {
    const int picked = static_cast<int>(body(static_cast<simt::stream_t>(call->stream)));
    return picked == 0 ? nullptr : variants[picked - 1].name;
  } catch (...) {
    return nullptr;
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
