#include "tests/cuda/wgmma_forms.hpp"

#include "tests/cuda/gpu_array.hpp"
#include "tests/import/programs/wgmma_forms.cuh"

namespace warpcheck::self {
namespace {

template <class Form>
std::vector<uint32_t> run(bool has_a_in_registers, bool accumulates, const std::vector<uint8_t>& a,
                          const std::vector<uint8_t>& b, const std::vector<uint32_t>& c) {
  using word = typename Form::word;
  const gpu_array<uint8_t> on_a(a), on_b(b);
  const gpu_array<uint32_t> on_c(c), on_d(c.size());
  const auto products = static_cast<unsigned>(a.size() / (wgmma_forms::k_rows * wgmma_forms::k_bytes));
  const auto kernel = has_a_in_registers ? wgmma_forms::multiply<Form, true> : wgmma_forms::multiply<Form, false>;
  kernel<<<products, wgmma_forms::k_threads>>>(on_a.data(), on_b.data(), reinterpret_cast<const word*>(on_c.data()),
                                               reinterpret_cast<word*>(on_d.data()), accumulates);
  require(cudaGetLastError(), "launch");
  return on_d.read();
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
