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

inline const void* data_of(const DLTensor& tensor) {
  return tensor.data == nullptr ? nullptr : static_cast<const char*>(tensor.data) + tensor.byte_offset;
}

// A two-dimensional tensor with contiguous rows.
struct matrix_view {
  void* base;
  int64_t rows;
  int64_t cols;
  int64_t ld;
  uint32_t dtype;

  template <class T>
  const T* data() const {
    return static_cast<const T*>(base);
  }
  template <class T>
  T* mutable_data() const {
    return static_cast<T*>(base);
  }
};

// The tensors of a call, checked for count and form.
class tensor_arguments {
 public:
  tensor_arguments(const warpcheck_call* call, int inputs, int min_outputs, int max_outputs) : call_(call) {
    if (call->num_inputs != inputs)
      throw std::invalid_argument("inputs: got " + std::to_string(call->num_inputs) + " tensors, expected " +
                                  std::to_string(inputs));
    if (call->num_outputs < min_outputs || call->num_outputs > max_outputs)
      throw std::invalid_argument("outputs: got " + std::to_string(call->num_outputs) + " tensors, expected " +
                                  std::to_string(min_outputs) + " to " + std::to_string(max_outputs));
  }

  matrix_view input_matrix(int i, const char* name) const { return matrix(call_->inputs[i], name); }
  matrix_view output_matrix(int i, const char* name) const { return matrix(call_->outputs[i], name); }

  template <class T>
  T* output_vector(int i, const char* name, int64_t length) const {
    T* const data = optional_output_vector<T>(i, name, length);
    if (call_->outputs[i] == nullptr) throw std::invalid_argument(std::string(name) + " is missing");
    return data;
  }

  // A one-dimensional contiguous tensor as a matrix of one row.
  matrix_view input_vector(int i, const char* name) const { return vector(call_->inputs[i], name); }
  matrix_view output_vector(int i, const char* name) const { return vector(call_->outputs[i], name); }

  // Returns nullptr if the call has no such output, or one of no elements.
  template <class T>
  T* optional_output_vector(int i, const char* name, int64_t length) const {
    if (i >= call_->num_outputs || call_->outputs[i] == nullptr) return nullptr;
    const DLTensor& tensor = *call_->outputs[i];
    if (dtype_bit(tensor.dtype) != dtype_bit_of<T>())
      throw std::invalid_argument(std::string(name) + " has the wrong element type");
    if (tensor.ndim == 1 && tensor.shape[0] == 0) return nullptr;
    if (tensor.ndim != 1 || tensor.shape[0] != length)
      throw std::invalid_argument(std::string(name) + " must have one dimension of " + std::to_string(length) +
                                  " elements");
    if (length > 1 && tensor.strides != nullptr && tensor.strides[0] != 1)
      throw unsupported_call(std::string(name) + " has stride " + std::to_string(tensor.strides[0]) + ", must be 1");
    return static_cast<T*>(const_cast<void*>(data_of(tensor)));
  }

 private:
  static matrix_view matrix(const DLTensor* tensor, const char* name) {
    if (tensor == nullptr) throw std::invalid_argument(std::string(name) + " is missing");
    if (tensor->ndim != 2)
      throw std::invalid_argument(std::string(name) + " has " + std::to_string(tensor->ndim) +
                                  " dimensions, must have 2");
    const int64_t cols = tensor->shape[1];
    if (cols > 1 && tensor->strides != nullptr && tensor->strides[1] != 1)
      throw unsupported_call(std::string(name) + " has column stride " + std::to_string(tensor->strides[1]) +
                             ", must be 1");
    return {const_cast<void*>(data_of(*tensor)), tensor->shape[0], cols,
            tensor->strides != nullptr ? tensor->strides[0] : cols, dtype_bit(tensor->dtype)};
  }

  static matrix_view vector(const DLTensor* tensor, const char* name) {
    if (tensor == nullptr) throw std::invalid_argument(std::string(name) + " is missing");
    if (tensor->ndim != 1)
      throw std::invalid_argument(std::string(name) + " has " + std::to_string(tensor->ndim) +
                                  " dimensions, must have 1");
    const int64_t length = tensor->shape[0];
    if (length > 1 && tensor->strides != nullptr && tensor->strides[0] != 1)
      throw unsupported_call(std::string(name) + " has stride " + std::to_string(tensor->strides[0]) + ", must be 1");
    return {const_cast<void*>(data_of(*tensor)), 1, length, length, dtype_bit(tensor->dtype)};
  }

  const warpcheck_call* call_;
};

// The scalar argument of this name.
inline double scalar_argument(const warpcheck_call* call, const char* name) {
  for (int32_t i = 0; i < call->num_scalars; ++i)
    if (std::strcmp(call->scalars[i].name, name) == 0) return call->scalars[i].value;
  throw std::invalid_argument(std::string(name) + " is missing");
}

inline void check_same_shape(const matrix_view& a, const char* a_name, const matrix_view& b, const char* b_name) {
  if (a.rows != b.rows || a.cols != b.cols)
    throw std::invalid_argument(std::string(b_name) + " is " + std::to_string(b.rows) + " x " + std::to_string(b.cols) +
                                ", must have the shape of " + a_name + ", " + std::to_string(a.rows) + " x " +
                                std::to_string(a.cols));
  if (a.dtype != b.dtype) throw std::invalid_argument(std::string(b_name) + " must have the element type of " + a_name);
}

// For operators of dense matrices: gaps between rows are legal in a call, but not offered.
inline void require_dense(const tensor_view& m) {
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
