// A GPU has memory enough: every element is there, and is looked at.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <stdexcept>

#include "tests/long_rows/long_device.hpp"

namespace warpcheck::self {
namespace {

constexpr size_t k_chunk = size_t{64} << 20;  // bytes that the host looks at, at a time; a multiple of every element

void require(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

class device_array : public long_array {
 public:
  device_array(size_t size, int64_t count, int64_t offset)
      : size_(size), count_(count), first_(static_cast<size_t>(offset) * size) {
    require(cudaMalloc(&base_, first_ + bytes()), "memory for a long array");
  }
  ~device_array() override { cudaFree(base_); }

  void* data() const override { return static_cast<char*>(base_) + first_; }
  void visit(const std::function<void(int64_t, int64_t, const char*)>& visit) const override {
    std::vector<char> chunk(k_chunk);
    for (size_t at = 0; at < bytes(); at += k_chunk) {
      const size_t length = std::min(k_chunk, bytes() - at);
      require(cudaMemcpy(chunk.data(), static_cast<const char*>(data()) + at, length, cudaMemcpyDeviceToHost),
              "a copy of a long array");
      visit(static_cast<int64_t>(at / size_), static_cast<int64_t>(length / size_), chunk.data());
    }
  }
  void put(int64_t i, uint64_t value) {
    require(
        cudaMemcpy(static_cast<char*>(data()) + static_cast<size_t>(i) * size_, &value, size_, cudaMemcpyHostToDevice),
        "an element of a long array");
  }
  // What is filled doubles with every copy.
  void fill(uint64_t value) {
    put(0, value);
    for (size_t filled = size_; filled < bytes(); filled *= 2)
      require(cudaMemcpy(static_cast<char*>(data()) + filled, data(), std::min(filled, bytes() - filled),
                         cudaMemcpyDeviceToDevice),
              "the background of a long array");
  }

 private:
  size_t bytes() const { return static_cast<size_t>(count_) * size_; }

  size_t size_;
  int64_t count_;
  size_t first_;  // bytes before the first element
  void* base_ = nullptr;
};

}  // namespace

std::unique_ptr<long_array> make_input(size_t size, int64_t count, int64_t offset, uint64_t background,
                                       const elements& listed) {
  auto array = std::make_unique<device_array>(size, count, offset);
  array->fill(background);
  for (const auto& [i, value] : listed) array->put(i, value);
  return array;
}

std::unique_ptr<long_array> make_output(size_t size, int64_t count, const std::vector<int64_t>&) {
  auto array = std::make_unique<device_array>(size, count, 0);
  array->fill(~uint64_t{0});
  return array;
}

void prepare(void*) {}

}  // namespace warpcheck::self
