// Calls a function that takes and returns PyTorch tensors, with tensors made from pointers. Used by the function that
// the command appends to a source from a Python file (command/candidates/inline_source.cpp).
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "simt/import/torch/tensor.hpp"

namespace simt::import {

// A tensor in memory of the caller.
template <class T>
at::Tensor tensor_at(T* data, const at::IntArrayRef& sizes) {
  using element = std::remove_const_t<T>;
  return at::Tensor(std::shared_ptr<void>(const_cast<element*>(data), [](void*) {}), sizes,
                    c10::scalar_type_of<element>());
}

// Copies results to the caller's outputs. Throws if their number, elements or types differ from those.
inline void take(std::vector<at::Tensor> wanted, const std::vector<at::Tensor>& results) {
  TORCH_CHECK(wanted.size() == results.size(), "the call returns ", results.size(), " tensors, must return ",
              wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    if (results[i].data_ptr() != wanted[i].data_ptr()) wanted[i].copy_(results[i]);
}
inline void take(std::vector<at::Tensor> wanted, const at::Tensor& result) {
  take(std::move(wanted), std::vector<at::Tensor>{result});
}
template <class... T>
void take(std::vector<at::Tensor> wanted, const std::tuple<T...>& results) {
  std::apply([&](const auto&... each) { take(std::move(wanted), std::vector<at::Tensor>{each...}); }, results);
}

}  // namespace simt::import
