// A tensor in a device's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "abi/candidate.h"
#include "properties/engine/cases/case.hpp"
#include "properties/engine/cases/host_tensor.hpp"

namespace warpcheck::engine {

// The device of this process has failed for good, whoever did that.
struct device_lost : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Throws device_lost if that is why a call of the device failed, else environment_error.
[[noreturn]] void device_failed(const warpcheck_device_api& api, const std::string& what);

// Bytes from a tensor's first element to its last.
size_t span_bytes(const tensor_spec& s);
// Whether the tensor, aligned as it says, ends before a page with room for a read past its end that no page stops.
bool leaves_room(const tensor_spec& s);

// Laid out as its spec says, owned. Every function throws as device_failed does.
class device_tensor {
 public:
  device_tensor(const tensor_spec& spec, const warpcheck_device_api& api, unsigned char fill);
  ~device_tensor() { api_->release(data_); }
  device_tensor(const device_tensor&) = delete;
  device_tensor& operator=(const device_tensor&) = delete;

  void* data() const { return data_; }
  const tensor_spec& spec() const { return spec_; }
  void write(const host_tensor& t);
  // The rows, packed; `touched` gets where a gap between rows no longer holds what it held, as an element offset, or
  // -1.
  host_tensor read(int64_t& touched) const;
  DLTensor view(DLDevice device);

 private:
  bool is_contiguous() const { return spec_.rows() <= 1 || spec_.ld == spec_.cols(); }
  bool whole() const;
  size_t seen_gap() const;
  size_t row_offset(int64_t row) const { return static_cast<size_t>(row * spec_.ld) * size_of(spec_.type); }
  void check(int status) const;

  tensor_spec spec_;
  const warpcheck_device_api* api_;
  size_t bytes_;
  unsigned char fill_;
  void* data_;
  std::vector<int64_t> shape_, strides_;  // what views point to
};

}  // namespace warpcheck::engine
