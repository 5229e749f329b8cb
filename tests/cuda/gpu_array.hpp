// Elements in the memory of a GPU, for tests.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace warpcheck::self {

inline void require(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

template <class T>
class gpu_array {
 public:
  explicit gpu_array(size_t size) : size_(size) { require(cudaMalloc(&data_, size * sizeof(T)), "cudaMalloc"); }
  explicit gpu_array(const std::vector<T>& values) : gpu_array(values.size()) {
    require(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  ~gpu_array() { cudaFree(data_); }
  gpu_array(const gpu_array&) = delete;
  gpu_array& operator=(const gpu_array&) = delete;

  T* data() const { return data_; }
  size_t size() const { return size_; }
  void fill_bytes(int byte) const { require(cudaMemset(data_, byte, size_ * sizeof(T)), "cudaMemset"); }
  std::vector<T> read(size_t begin, size_t count) const {
    std::vector<T> values(count);
    require(cudaMemcpy(values.data(), data_ + begin, count * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
  }
  std::vector<T> read() const { return read(0, size_); }

 private:
  size_t size_;
  T* data_ = nullptr;
};

}  // namespace warpcheck::self
