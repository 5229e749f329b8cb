// PyTorch's files of tensors, .pt and .pth, as torch.save writes a tensor or a dict of tensors since PyTorch 1.6: a ZIP
// file with a pickle (CPython, Lib/pickletools.py), which is read as data. No code of the file runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/numerics/dtype.hpp"

namespace warpcheck::engine {

// A tensor as a view of its storage in the file.
struct pt_tensor {
  std::string name;  // its key in the dict; empty for a single tensor
  dtype type = dtype::f32;
  std::vector<int64_t> shape, strides;  // in elements, one to four dimensions
  int64_t offset = 0;
  std::span<const std::byte> storage;
};

bool is_pt(std::string_view path);

// The tensors of a file that is held in memory, which outlives them. Throws usage_error that names the file and what it
// holds besides them; `name` stands for it in messages.
std::vector<pt_tensor> parse_pt(std::span<const std::byte> file, const std::string& name);

// Returns the tensor's elements, row after row, without gaps.
std::vector<std::byte> dense_bytes(const pt_tensor& t);

}  // namespace warpcheck::engine
