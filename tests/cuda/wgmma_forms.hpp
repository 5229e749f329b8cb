// Products of a warpgroup of every form (tests/import/programs/wgmma_forms.cuh) on the GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace warpcheck::self {

std::vector<std::string> wgmma_form_names();

// Of `products` products, one after the other: a has 64 rows of 32 bytes, b 8; c and d are the words of 128 threads.
std::vector<uint32_t> multiply_on_gpu(const std::string& form, bool has_a_in_registers, bool accumulates,
                                      const std::vector<uint8_t>& a, const std::vector<uint8_t>& b,
                                      const std::vector<uint32_t>& c);

}  // namespace warpcheck::self
