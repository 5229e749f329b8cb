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

// Thrown if the device of this process has failed permanently, whatever the cause.
struct device_lost : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Throws device_lost if the device failed permanently, otherwise environment_error with the reason.
[[noreturn]] void device_failed(const warpcheck_device_api& api, const std::string& what);

// Bytes from a tensor's first element to its last.
size_t span_bytes(const tensor_spec& s);
// The same, up to the last element of the guest tensor in its gaps, if any (null: none).
size_t span_bytes(const tensor_spec& s, const tensor_spec* guest);
// True if alignment leaves a gap between the end of the tensor's memory and the next inaccessible page, in which a read
// past the end goes unseen.
bool leaves_room(const tensor_spec& s, const tensor_spec* guest);

// Allocates `bytes` bytes of the device with the alignment of the spec. Throws like device_failed.
void* allocate(const tensor_spec& s, const warpcheck_device_api& api, size_t bytes);

// A tensor with the layout of its spec. Every function throws like device_failed.
class device_tensor {
 public:
  // Uses memory of its own, or `lent` if that is not null: at least as long, and released by its owner. `guest`: the
  // tensor whose rows will lie in the gaps, or null.
  device_tensor(const tensor_spec& spec, const warpcheck_device_api& api, unsigned char fill,
                const tensor_spec* guest = nullptr, void* lent = nullptr);
  // Uses the gaps of `host`, which was made for it and outlives it.
  device_tensor(const tensor_spec& spec, const device_tensor& host);
  ~device_tensor() {
    if (has_own_memory_ && !is_lent_) api_->release(data_);
  }
  device_tensor(const device_tensor&) = delete;
  device_tensor& operator=(const device_tensor&) = delete;

  void* data() const { return data_; }
  const tensor_spec& spec() const { return spec_; }
  bool has_own_memory() const { return has_own_memory_; }
  size_t bytes() const { return bytes_; }  // of the memory
  // Makes the elements unwritten memory for the detector.
  void forget() const;
  void write(const host_tensor& t);
  // Returns the rows, packed. `touched` gets the element offset of a change in a gap between rows, or -1.
  host_tensor read(int64_t& touched) const;
  DLTensor view(DLDevice device);

 private:
  bool is_contiguous() const { return spec_.rows() <= 1 || spec_.ld == spec_.cols(); }
  bool whole() const;
  bool has_gaps() const { return gap_ > 0 && first_gap_ < end_of_gaps_; }
  size_t seen_gap(int64_t row) const;
  void poison_rows();
  size_t row_offset(int64_t row) const { return static_cast<size_t>(row * spec_.ld) * size_of(spec_.type); }
  void check(int status) const;

  tensor_spec spec_;
  const warpcheck_device_api* api_;
  bool has_own_memory_, is_lent_;
  size_t bytes_;
  unsigned char fill_;
  // After each row in [first_gap_, end_of_gaps_) there are gap_ elements that belong to no tensor.
  int64_t first_gap_, end_of_gaps_, gap_;
  void* data_;
  std::vector<int64_t> shape_, strides_;  // what views point to
};

}  // namespace warpcheck::engine
