// Tensors on the host, and the values of a case's inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "properties/engine/cases/case.hpp"

namespace warpcheck::engine {

// A tensor on the host: rows packed without gaps, elements as raw bits.
struct host_tensor {
  tensor_spec spec;
  std::vector<std::byte> bytes;

  explicit host_tensor(const tensor_spec& s) : spec(s), bytes(static_cast<size_t>(s.elements()) * size_of(s.type)) {}
  uint64_t bits(int64_t row, int64_t col) const;
  void set_bits(int64_t row, int64_t col, uint64_t bits);
  double value(int64_t row, int64_t col) const { return decode(spec.type, bits(row, col)); }
  std::vector<double> row(int64_t row) const;  // the row's values, exactly
};
using tensor_map = std::map<std::string, host_tensor, std::less<>>;  // by name

// Computes the values of an input from its recipe alone (case_inputs.hpp: those of the call). Reads `npy` files and
// checks their hash.
host_tensor materialize(const tensor_spec& spec);

}  // namespace warpcheck::engine
