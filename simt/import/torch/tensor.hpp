// The part of PyTorch that CUDA sources of extensions use on the host: dense tensors in the emulated device's memory,
// their sizes, types and pointers, their creation, and checks. The only arithmetic is what sources do with the partial
// results of their kernels: the sum or the mean of a tensor, and its product with a number. They are computed in f64.
// Any other operation of PyTorch on tensors (torch::matmul, a + b) does not compile.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "simt/import/cuda_bf16.h"
#include "simt/import/cuda_fp16.h"
#include "simt/import/cuda_runtime.h"

namespace c10 {

using Half = __half;
using BFloat16 = __nv_bfloat16;
using std::nullopt;
using std::optional;

enum class ScalarType : int8_t { Byte, Char, Short, Int, Long, Half, Float, Double, Bool, BFloat16 };
enum class DeviceType : int8_t { CPU, CUDA };

inline const char* toString(ScalarType t) {
  constexpr const char* names[] = {"Byte", "Char",  "Short",  "Int",  "Long",
                                   "Half", "Float", "Double", "Bool", "BFloat16"};
  return names[static_cast<int>(t)];
}
inline std::ostream& operator<<(std::ostream& out, ScalarType t) { return out << toString(t); }
inline int64_t elementSize(ScalarType t) {
  constexpr int64_t sizes[] = {1, 1, 2, 4, 8, 2, 4, 8, 1, 2};
  return sizes[static_cast<int>(t)];
}

template <class T>
constexpr ScalarType scalar_type_of() {
  if constexpr (std::is_same_v<T, bool>)
    return ScalarType::Bool;
  else if constexpr (std::is_same_v<T, Half>)
    return ScalarType::Half;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return ScalarType::BFloat16;
  else if constexpr (std::is_floating_point_v<T>)
    return sizeof(T) == 8 ? ScalarType::Double : ScalarType::Float;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 1)
    return std::is_signed_v<T> ? ScalarType::Char : ScalarType::Byte;
  else
    return sizeof(T) == 8 ? ScalarType::Long : sizeof(T) == 4 ? ScalarType::Int : ScalarType::Short;
}

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
template <class... Words>
[[noreturn]] void fail(const char* file, int line, const char* condition, const Words&... words) {
  std::ostringstream text;
  (text << ... << words);
  if constexpr (sizeof...(words) == 0) text << "Expected " << condition << " to be true";
  text << " (" << file << ":" << line << ")";
  throw Error(text.str());
}

struct Device {
  DeviceType kind = DeviceType::CUDA;
  int8_t number = 0;

  Device() = default;
  Device(DeviceType type, int8_t index = 0) : kind(type), number(index) {}
  DeviceType type() const { return kind; }
  int8_t index() const { return number; }
  bool is_cuda() const { return kind == DeviceType::CUDA; }
  bool is_cpu() const { return kind == DeviceType::CPU; }
  bool operator==(const Device& other) const { return kind == other.kind && number == other.number; }
  bool operator!=(const Device& other) const { return !(*this == other); }
};

class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType t) : type_(t) {}
  TensorOptions(Device d) : device_(d) {}
  TensorOptions(DeviceType d) : device_(d) {}
  TensorOptions dtype(ScalarType t) const {
    TensorOptions o = *this;
    o.type_ = t;
    return o;
  }
  TensorOptions device(Device d) const {
    TensorOptions o = *this;
    o.device_ = d;
    return o;
  }
  TensorOptions device(DeviceType type, int8_t index = 0) const { return device(Device(type, index)); }
  TensorOptions requires_grad(bool = true) const { return *this; }
  ScalarType type() const { return type_; }
  Device device() const { return device_; }

 private:
  ScalarType type_ = ScalarType::Float;
  Device device_;
};

// Sizes from a list, a vector or another tensor.
class IntArrayRef {
 public:
  IntArrayRef() = default;
  template <class Integer, class = std::enable_if_t<std::is_integral_v<Integer>>>
  IntArrayRef(std::initializer_list<Integer> list) : values_(list.begin(), list.end()) {}
  IntArrayRef(std::initializer_list<int64_t> list) : values_(list) {}
  template <class Integer>
  IntArrayRef(const std::vector<Integer>& list) : values_(list.begin(), list.end()) {}
  IntArrayRef(int64_t only) : values_{only} {}
  size_t size() const { return values_.size(); }
  int64_t operator[](size_t i) const { return values_.at(i); }
  int64_t at(size_t i) const { return values_.at(i); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  int64_t front() const { return values_.front(); }
  int64_t back() const { return values_.back(); }
  const int64_t* data() const { return values_.data(); }
  std::vector<int64_t> vec() const { return values_; }
  bool operator==(const IntArrayRef& other) const { return values_ == other.values_; }
  bool operator!=(const IntArrayRef& other) const { return values_ != other.values_; }

 private:
  std::vector<int64_t> values_;
};
inline std::ostream& operator<<(std::ostream& out, const IntArrayRef& sizes) {
  out << "[";
  for (size_t i = 0; i < sizes.size(); ++i) out << (i > 0 ? ", " : "") << sizes[i];
  return out << "]";
}

}  // namespace c10

namespace at {

using namespace c10;

// A dense tensor: sizes, a type, and memory of its own or shared with another.
class Tensor {
 public:
  Tensor() = default;
  Tensor(std::shared_ptr<void> memory, IntArrayRef sizes, ScalarType type)
      : memory_(std::move(memory)), sizes_(std::move(sizes)), type_(type), is_defined_(true) {}

  bool defined() const { return is_defined_; }
  int64_t dim() const { return static_cast<int64_t>(sizes_.size()); }
  int64_t ndimension() const { return dim(); }
  const IntArrayRef& sizes() const { return sizes_; }
  int64_t size(int64_t i) const { return sizes_[place(i)]; }
  int64_t numel() const { return product(sizes_, 0); }
  int64_t stride(int64_t i) const { return product(sizes_, place(i) + 1); }
  IntArrayRef strides() const {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < dim(); ++i) all.push_back(stride(i));
    return all;
  }
  ScalarType scalar_type() const { return type_; }
  ScalarType dtype() const { return type_; }
  ScalarType type() const { return type_; }
  int64_t element_size() const { return elementSize(type_); }
  int64_t itemsize() const { return element_size(); }
  int64_t nbytes() const { return numel() * element_size(); }
  TensorOptions options() const { return TensorOptions(type_); }
  Device device() const { return {}; }
  int64_t get_device() const { return 0; }
  bool is_cuda() const { return true; }
  bool is_cpu() const { return false; }
  bool is_contiguous() const { return true; }
  bool is_floating_point() const {
    return type_ == ScalarType::Half || type_ == ScalarType::BFloat16 || type_ == ScalarType::Float ||
           type_ == ScalarType::Double;
  }
  Tensor contiguous() const { return *this; }
  Tensor detach() const { return *this; }
  Tensor cuda() const { return *this; }

  // Returns a tensor of another shape in the same memory.
  Tensor view(const IntArrayRef& sizes) const {
    std::vector<int64_t> list = sizes.vec();
    int64_t known = 1, unknown = -1;
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i] < 0)
        unknown = static_cast<int64_t>(i);
      else
        known *= list[i];
    }
    if (unknown >= 0) list[static_cast<size_t>(unknown)] = known == 0 ? 0 : numel() / known;
    if (product(list, 0) != numel()) fail("torch", 0, "", "shape ", sizes, " is not of ", numel(), " elements");
    return Tensor(memory_, list, type_);
  }
  Tensor reshape(const IntArrayRef& sizes) const { return view(sizes); }
  Tensor view_as(const Tensor& other) const { return view(other.sizes()); }
  Tensor flatten() const { return view({numel()}); }
  Tensor unsqueeze(int64_t at) const {
    std::vector<int64_t> list = sizes_.vec();
    list.insert(list.begin() + (at < 0 ? at + dim() + 1 : at), 1);
    return view(list);
  }
  Tensor squeeze(int64_t at) const {
    std::vector<int64_t> list = sizes_.vec();
    if (size(at) == 1) list.erase(list.begin() + static_cast<int64_t>(place(at)));
    return view(list);
  }

  // Returns slice i of the first dimension, in the same memory.
  Tensor operator[](int64_t i) const {
    const int64_t bytes = stride(0) * element_size(), at = i < 0 ? i + size(0) : i;
    if (at < 0 || at >= size(0)) fail("torch", 0, "", "a tensor ", sizes_, " has no slice ", i);
    std::vector<int64_t> list = sizes_.vec();
    list.erase(list.begin());
    return Tensor(std::shared_ptr<void>(memory_, static_cast<char*>(data_ptr()) + at * bytes), list, type_);
  }

  void* data_ptr() const { return memory_.get(); }
  template <class T>
  T* data_ptr() const {
    if (scalar_type_of<std::remove_cv_t<T>>() != type_)
      fail("torch", 0, "", "expected scalar type ", scalar_type_of<std::remove_cv_t<T>>(), " but found ", type_);
    return static_cast<T*>(memory_.get());
  }
  template <class T>
  const T* const_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T>
  T* data() const {
    return data_ptr<T>();
  }

  Tensor& zero_() {
    if (nbytes() > 0) cudaMemsetAsync(data_ptr(), 0, static_cast<size_t>(nbytes()), nullptr);
    return *this;
  }
  Tensor& copy_(const Tensor& other) {
    if (other.numel() != numel() || other.type_ != type_)
      fail("torch", 0, "", "a tensor ", other.sizes_, " of ", other.type_, " is copied into one ", sizes_, " of ",
           type_);
    if (nbytes() > 0)
      cudaMemcpyAsync(data_ptr(), other.data_ptr(), static_cast<size_t>(nbytes()), cudaMemcpyDeviceToDevice, nullptr);
    return *this;
  }
  Tensor& fill_(double value) { return set(std::vector<double>(static_cast<size_t>(numel()), value)); }
  Tensor clone() const;
  Tensor to(const Device&) const { return *this; }
  Tensor to(ScalarType type) const;

  Tensor sum() const { return total(1); }
  Tensor mean() const {
    floating("a mean");
    return total(static_cast<double>(numel()));
  }
  Tensor mul(double factor) const {
    return changed([&](double v) { return v * factor; });
  }
  Tensor div(double divisor) const {
    return changed([&](double v) { return v / divisor; });
  }
  template <class T>
  T item() const {
    if (numel() != 1) fail("torch", 0, "", "a tensor of ", numel(), " elements is no number");
    return static_cast<T>(values()[0]);
  }

  // All elements, after the work before has ended.
  std::vector<double> values() const {
    std::vector<double> all;
    with_type([&](auto element) {
      std::vector<decltype(element)> elements(static_cast<size_t>(numel()));
      if (!elements.empty())
        cudaMemcpy(elements.data(), data_ptr(), static_cast<size_t>(nbytes()), cudaMemcpyDeviceToHost);
      for (const auto e : elements) all.push_back(static_cast<double>(e));
    });
    return all;
  }
  Tensor& set(const std::vector<double>& values) {
    with_type([&](auto element) {
      using T = decltype(element);
      std::vector<T> elements;
      for (const double v : values) {
        if constexpr (sizeof(T) == 2 && !std::is_integral_v<T>)
          elements.push_back(T(static_cast<float>(v)));
        else
          elements.push_back(static_cast<T>(v));
      }
      if (!elements.empty())
        cudaMemcpy(data_ptr(), elements.data(), static_cast<size_t>(nbytes()), cudaMemcpyHostToDevice);
    });
    return *this;
  }

 private:
  // Calls run with an element of the type.
  template <class Run>
  void with_type(const Run& run) const {
    switch (type_) {
      case ScalarType::Bool:
      case ScalarType::Byte: return run(uint8_t());
      case ScalarType::Char: return run(int8_t());
      case ScalarType::Short: return run(int16_t());
      case ScalarType::Int: return run(int32_t());
      case ScalarType::Long: return run(int64_t());
      case ScalarType::Half: return run(Half());
      case ScalarType::BFloat16: return run(BFloat16());
      case ScalarType::Float: return run(float());
      case ScalarType::Double: return run(double());
    }
  }
  // PyTorch refuses the mean of integers, and gives other types than theirs for products and quotients.
  void floating(const char* what) const {
    if (!is_floating_point()) fail("torch", 0, "", what, " of a tensor of integers is not modelled");
  }
  // The sum of all elements, divided.
  Tensor total(double divisor) const;
  // Each element changed in f64, and rounded once.
  template <class Change>
  Tensor changed(const Change& change) const;
  size_t place(int64_t i) const {
    if (i < -dim() || i >= dim()) fail("torch", 0, "", "a tensor of ", dim(), " dimensions has no dimension ", i);
    return static_cast<size_t>(i < 0 ? i + dim() : i);
  }
  static int64_t product(const IntArrayRef& sizes, size_t from) {
    int64_t n = 1;
    for (size_t i = from; i < sizes.size(); ++i) n *= sizes[i];
    return n;
  }

  std::shared_ptr<void> memory_;
  IntArrayRef sizes_;
  ScalarType type_ = ScalarType::Float;
  bool is_defined_ = false;
};

// Memory that the detector knows to be unwritten.
inline Tensor empty(const IntArrayRef& sizes, const TensorOptions& options = {}) {
  int64_t bytes = elementSize(options.type());
  for (const int64_t n : sizes) bytes *= n;
  void* memory = nullptr;
  if (bytes > 0 && cudaMalloc(&memory, static_cast<size_t>(bytes)) != cudaSuccess)
    fail("torch", 0, "", "no memory for a tensor ", sizes);
  return Tensor(std::shared_ptr<void>(memory, [](void* p) { cudaFree(p); }), sizes, options.type());
}
inline Tensor zeros(const IntArrayRef& sizes, const TensorOptions& options = {}) {
  Tensor t = empty(sizes, options);
  return t.zero_();
}
inline Tensor empty_like(const Tensor& t, const TensorOptions& options) { return empty(t.sizes(), options); }
inline Tensor empty_like(const Tensor& t) { return empty(t.sizes(), t.options()); }
inline Tensor zeros_like(const Tensor& t, const TensorOptions& options) { return zeros(t.sizes(), options); }
inline Tensor zeros_like(const Tensor& t) { return zeros(t.sizes(), t.options()); }
inline Tensor full(const IntArrayRef& sizes, double value, const TensorOptions& options = {}) {
  return empty(sizes, options).fill_(value);
}
inline Tensor full_like(const Tensor& t, double value) { return full(t.sizes(), value, t.options()); }
inline Tensor ones(const IntArrayRef& sizes, const TensorOptions& options = {}) { return full(sizes, 1, options); }
inline Tensor ones_like(const Tensor& t) { return full_like(t, 1); }
inline Tensor tensor(double value, const TensorOptions& options = {}) { return full({}, value, options); }
inline int64_t maybe_wrap_dim(int64_t dim, int64_t dims) { return dim < 0 ? dim + dims : dim; }

inline Tensor Tensor::clone() const { return empty_like(*this).copy_(*this); }
inline Tensor Tensor::total(double divisor) const {
  double sum = 0;
  for (const double v : values()) sum += v;
  return full({}, sum / divisor, is_floating_point() ? type_ : ScalarType::Long);
}
template <class Change>
Tensor Tensor::changed(const Change& change) const {
  floating("a product or quotient");
  std::vector<double> all = values();
  for (double& v : all) v = change(v);
  return empty_like(*this).set(all);
}
inline Tensor Tensor::to(ScalarType type) const { return type == type_ ? *this : empty(sizes_, type).set(values()); }
inline int64_t size(const Tensor& t, int64_t dim) { return t.size(dim); }
inline Tensor operator*(const Tensor& t, double factor) { return t.mul(factor); }
inline Tensor operator*(double factor, const Tensor& t) { return t.mul(factor); }
inline Tensor operator/(const Tensor& t, double divisor) { return t.div(divisor); }

constexpr ScalarType kByte = ScalarType::Byte, kChar = ScalarType::Char, kShort = ScalarType::Short,
                     kInt = ScalarType::Int, kLong = ScalarType::Long, kHalf = ScalarType::Half,
                     kFloat = ScalarType::Float, kDouble = ScalarType::Double, kBool = ScalarType::Bool,
                     kBFloat16 = ScalarType::BFloat16;
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA;

namespace cuda {

// The trial's stream.
struct CUDAStream {
  cudaStream_t stream() const { return nullptr; }
  operator cudaStream_t() const { return nullptr; }
};
inline CUDAStream getCurrentCUDAStream(int = 0) { return {}; }
inline CUDAStream getDefaultCUDAStream(int = 0) { return {}; }

}  // namespace cuda
}  // namespace at

namespace c10::cuda {

using at::cuda::CUDAStream;
using at::cuda::getCurrentCUDAStream;
using at::cuda::getDefaultCUDAStream;

// There is one device.
struct CUDAGuard {
  explicit CUDAGuard(int) {}
  explicit CUDAGuard(Device) {}
};
struct OptionalCUDAGuard {
  OptionalCUDAGuard() = default;
  explicit OptionalCUDAGuard(std::optional<Device>) {}
};

}  // namespace c10::cuda

namespace at {

inline std::optional<Device> device_of(const Tensor& t) { return t.device(); }
namespace cuda {
using c10::cuda::CUDAGuard;
using c10::cuda::OptionalCUDAGuard;
}  // namespace cuda

}  // namespace at

namespace torch {

using namespace at;
constexpr ScalarType kUInt8 = kByte, kInt8 = kChar, kInt16 = kShort, kInt32 = kInt, kInt64 = kLong, kFloat16 = kHalf,
                     kFloat32 = kFloat, kFloat64 = kDouble;
inline TensorOptions dtype(ScalarType t) { return TensorOptions(t); }
inline TensorOptions device(Device d) { return TensorOptions(d); }
inline TensorOptions device(DeviceType d) { return TensorOptions(d); }

}  // namespace torch

#define TORCH_CHECK(condition, ...) \
  ((condition) ? (void)0 : ::c10::fail(__FILE__, __LINE__, #condition __VA_OPT__(, ) __VA_ARGS__))
#define TORCH_INTERNAL_ASSERT(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_ASSERTM(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_ASSERT(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_ERROR(...) ::c10::fail(__FILE__, __LINE__, "" __VA_OPT__(, ) __VA_ARGS__)
#define C10_CUDA_CHECK(call)                                                              \
  do {                                                                                    \
    const cudaError_t c10_error = (call);                                                 \
    TORCH_CHECK(c10_error == cudaSuccess, "CUDA error: ", cudaGetErrorString(c10_error)); \
  } while (0)
#define AT_CUDA_CHECK(call) C10_CUDA_CHECK(call)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())

// Expands the body once for each type, as a function with the name `scalar_t` for it.
#define SIMT_TORCH_CASE(type, scalar, ...) \
  case type: {                             \
    using scalar_t = scalar;               \
    return __VA_ARGS__();                  \
  }
#define SIMT_TORCH_DISPATCH(type, name, cases)                                                                       \
  [&] {                                                                                                              \
    switch (type) { cases default : ::c10::fail(__FILE__, __LINE__, "", name, " is not implemented for ", (type)); } \
  }()
#define SIMT_TORCH_FLOATING(...)                                \
  SIMT_TORCH_CASE(::c10::ScalarType::Float, float, __VA_ARGS__) \
  SIMT_TORCH_CASE(::c10::ScalarType::Double, double, __VA_ARGS__)
#define SIMT_TORCH_HALF(...) SIMT_TORCH_CASE(::c10::ScalarType::Half, ::c10::Half, __VA_ARGS__)
#define SIMT_TORCH_BFLOAT(...) SIMT_TORCH_CASE(::c10::ScalarType::BFloat16, ::c10::BFloat16, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(type, name, ...) SIMT_TORCH_DISPATCH(type, name, SIMT_TORCH_FLOATING(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(type, name, ...) \
  SIMT_TORCH_DISPATCH(type, name, SIMT_TORCH_FLOATING(__VA_ARGS__) SIMT_TORCH_HALF(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(first, second, type, name, ...) \
  SIMT_TORCH_DISPATCH(type, name,                                       \
                      SIMT_TORCH_FLOATING(__VA_ARGS__) SIMT_TORCH_HALF(__VA_ARGS__) SIMT_TORCH_BFLOAT(__VA_ARGS__))

// The command reads the Python bindings from the text of the source. The body is never instantiated.
#ifndef TORCH_EXTENSION_NAME
#define TORCH_EXTENSION_NAME extension
#endif
#define PYBIND11_MODULE(name, m) \
  template <class Module>        \
  void simt_bindings(Module& m)
