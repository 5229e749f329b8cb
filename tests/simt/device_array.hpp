// Device memory of the emulated device with a host's view, for tests.
#pragma once

#include <initializer_list>
#include <vector>

#include "simt/emulated_memory.hpp"

namespace warpcheck::self {

template <class T>
class device_array {
 public:
  explicit device_array(const std::vector<T>& values)
      : size_(values.size()), data_(static_cast<T*>(simt::device_alloc(size_ * sizeof(T), 0, sizeof(T)))) {
    for (size_t i = 0; i < size_; ++i) data_[i] = values[i];
  }
  explicit device_array(size_t n) : device_array(std::vector<T>(n)) {}
  ~device_array() { simt::device_free(data_); }
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;
  T* data() { return data_; }
  operator T*() { return data_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[i]; }

 private:
  size_t size_;
  T* data_;
};

}  // namespace warpcheck::self
