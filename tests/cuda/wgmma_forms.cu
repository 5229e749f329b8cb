#include "tests/cuda/wgmma_forms.hpp"

#include <stdexcept>

#include "tests/import/programs/wgmma_forms.cuh"

namespace warpcheck::self {
namespace {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

template <class T>
class on_gpu {
 public:
  explicit on_gpu(size_t bytes) { check(cudaMalloc(&data_, bytes), "cudaMalloc"); }
  on_gpu(const void* from, size_t bytes) : on_gpu(bytes) {
    check(cudaMemcpy(data_, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  on_gpu(const on_gpu&) = delete;
  on_gpu& operator=(const on_gpu&) = delete;
  ~on_gpu() { cudaFree(data_); }
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

template <class Form>
std::vector<uint32_t> run(bool has_a_in_registers, bool accumulates, const std::vector<uint8_t>& a,
                          const std::vector<uint8_t>& b, const std::vector<uint32_t>& c) {
  using word = typename Form::word;
  const on_gpu<uint8_t> on_a(a.data(), a.size()), on_b(b.data(), b.size());
  const on_gpu<word> on_c(c.data(), 4 * c.size()), on_d(4 * c.size());
  const auto products = static_cast<unsigned>(a.size() / (wgmma_forms::k_rows * wgmma_forms::k_bytes));
  const auto kernel = has_a_in_registers ? wgmma_forms::multiply<Form, true> : wgmma_forms::multiply<Form, false>;
  kernel<<<products, wgmma_forms::k_threads>>>(on_a.data(), on_b.data(), on_c.data(), on_d.data(), accumulates);
  check(cudaGetLastError(), "launch");
  std::vector<uint32_t> d(c.size());
  check(cudaMemcpy(d.data(), on_d.data(), 4 * d.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  return d;
}

}  // namespace

std::vector<std::string> wgmma_form_names() {
  std::vector<std::string> names;
  wgmma_forms::each_form([&](auto, const char* name) { names.emplace_back(name); });
  return names;
}

std::vector<uint32_t> multiply_on_gpu(const std::string& form, bool has_a_in_registers, bool accumulates,
                                      const std::vector<uint8_t>& a, const std::vector<uint8_t>& b,
                                      const std::vector<uint32_t>& c) {
  std::vector<uint32_t> d;
  wgmma_forms::each_form([&](auto one, const char* name) {
    if (form == name) d = run<decltype(one)>(has_a_in_registers, accumulates, a, b, c);
  });
  return d;
}

}  // namespace warpcheck::self
