#include "properties/engine/cases/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "properties/engine/error.hpp"
#include "properties/engine/files/npy.hpp"

namespace warpcheck::engine {

uint64_t host_tensor::bits(int64_t row, int64_t col) const {
  return load_bits(spec.type, bytes.data() + static_cast<size_t>(row * spec.cols() + col) * size_of(spec.type));
}

void host_tensor::set_bits(int64_t row, int64_t col, uint64_t bits) {
  store_bits(spec.type, bytes.data() + static_cast<size_t>(row * spec.cols() + col) * size_of(spec.type), bits);
}

std::vector<double> host_tensor::row(int64_t row) const {
  std::vector<double> values(static_cast<size_t>(spec.cols()));
  for (int64_t c = 0; c < spec.cols(); ++c) values[static_cast<size_t>(c)] = value(row, c);
  return values;
}

namespace {

npy_array read_array(const tensor_spec& spec) {
  npy_array array = read_npy(spec.fill.path, std::span(&spec.type, 1));
  if (array.sha256 != spec.fill.sha256)
    throw usage_error(fmt::format("fill: '{}' has SHA-256 {}, the case was made with {}", spec.fill.path, array.sha256,
                                  spec.fill.sha256));
  return array;
}

// Copies the tensor's part of an array. The array stays loaded, because the next part is usually of the same array.
void copy_part(const tensor_spec& spec, std::vector<std::byte>& into) {
  static std::string kept_name;
  static npy_array kept;
  const std::string name = fmt::format("{} {}", spec.fill.sha256, spec.fill.path);
  if (name != kept_name || kept.type != spec.type) {
    kept_name.clear();
    kept = read_array(spec);
    kept_name = name;
  }
  const double row = spec.fill.arguments[0], col = spec.fill.arguments[1];
  if (row + static_cast<double>(spec.rows()) > static_cast<double>(kept.rows) ||
      col + static_cast<double>(spec.cols()) > static_cast<double>(kept.cols))
    throw usage_error(fmt::format("fill: '{}' is [{}x{}] and holds no [{}x{}] at {},{}", spec.fill.path, kept.rows,
                                  kept.cols, spec.rows(), spec.cols(), row, col));
  const size_t element = size_of(spec.type), bytes = static_cast<size_t>(spec.cols()) * element;
  for (int64_t r = 0; r < spec.rows() && bytes > 0; ++r)
    std::memcpy(
        into.data() + static_cast<size_t>(r) * bytes,
        kept.bytes.data() +
            static_cast<size_t>((static_cast<int64_t>(row) + r) * kept.cols + static_cast<int64_t>(col)) * element,
        bytes);
}

}  // namespace

host_tensor materialize(const tensor_spec& spec) {
  host_tensor t(spec);
  if (spec.fill.distribution == "npy") {
    if (spec.fill.arguments.empty()) {
      npy_array array = read_array(spec);
      // One dimension may stand for a single row.
      if (array.shape != spec.shape && (std::max(array.shape.size(), spec.shape.size()) > 2 ||
                                        array.rows != spec.rows() || array.cols != spec.cols()))
        throw usage_error(fmt::format("fill: '{}' is {}[{}], the case has {}[{}]", spec.fill.path, name_of(array.type),
                                      fmt::join(array.shape, "x"), name_of(spec.type), fmt::join(spec.shape, "x")));
      t.bytes = std::move(array.bytes);
    } else {
      copy_part(spec, t.bytes);
    }
    for (const edit& e : spec.fill.edits) t.set_bits(e.row, e.col, encode(spec.type, e.value));
    return t;
  }
  if (spec.fill.distribution == "derived") return t;
  recipe without_edits = spec.fill;
  without_edits.edits.clear();
  const value_source source(without_edits, spec.type, spec.cols());
  for (int64_t r = 0; r < spec.rows(); ++r)
    for (int64_t c = 0; c < spec.cols(); ++c) t.set_bits(r, c, source.bits(r, c));
  for (const edit& e : spec.fill.edits) t.set_bits(e.row, e.col, encode(spec.type, e.value));
  return t;
}

}  // namespace warpcheck::engine
