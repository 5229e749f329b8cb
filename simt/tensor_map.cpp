#include "simt/tensor_map.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "simt/half_types.hpp"

namespace simt {
namespace {

constexpr int k_types = static_cast<int>(tensor_element::tf32_flushed) + 1;

std::string of_dimension(const char* array, unsigned i, uint64_t value, const std::string& allowed) {
  return std::string(array) + "[" + std::to_string(i) + "]: " + std::to_string(value) + ", " + allowed;
}

// The rules of single arguments; "" where none is broken.
std::string broken_rule_of_scalars(const tensor_map_request& r) {
  if (r.type < 0) return "tensorDataType: " + std::to_string(r.type) + " is not a type";
  if (r.type >= k_types)
    return "tensorDataType: " + std::to_string(r.type) + " needs compute capability 10.0; the device has 9.0";
  if (r.rank < 1 || r.rank > k_most_dimensions) return "tensorRank: " + std::to_string(r.rank) + ", allowed are 1 to 5";
  if (r.interleave != 0) return "interleave: " + std::to_string(r.interleave) + " is not modelled, allowed is none (0)";
  if (r.pattern < 0 || r.pattern > 3)
    return "swizzle: " + std::to_string(r.pattern) + ", allowed are 0 to 3 (none, 32, 64 and 128 bytes)";
  if (r.promotion < 0 || r.promotion > 3) return "l2Promotion: " + std::to_string(r.promotion) + ", allowed are 0 to 3";
  if (r.fill < 0 || r.fill > 1) return "oobFill: " + std::to_string(r.fill) + ", allowed are 0 and 1";
  if (r.fill == 1 && !is_real(static_cast<tensor_element>(r.type)))
    return "oobFill: NaN is for types of reals, and these elements are integers";
  const auto rest = reinterpret_cast<uintptr_t>(r.address) % 16;
  if (rest != 0) return "globalAddress: it is " + std::to_string(rest) + " modulo 16, allowed is 0";
  if (r.sizes == nullptr || (r.rank > 1 && r.strides == nullptr) || r.box == nullptr || r.steps == nullptr)
    return "an array of dimensions is a null pointer";
  return "";
}

std::string broken_rule_of_dimensions(const tensor_map_request& r) {
  for (unsigned i = 0; i < r.rank; ++i) {
    if (r.sizes[i] < 1 || r.sizes[i] > uint64_t{1} << 32)
      return of_dimension("globalDim", i, r.sizes[i], "allowed are 1 to 2^32");
    if (r.box[i] < 1 || r.box[i] > 256) return of_dimension("boxDim", i, r.box[i], "allowed are 1 to 256");
    if (r.steps[i] < 1 || r.steps[i] > 8) return of_dimension("elementStrides", i, r.steps[i], "allowed are 1 to 8");
  }
  for (unsigned i = 0; i + 1 < r.rank; ++i) {
    if (r.strides[i] % 16 != 0) return of_dimension("globalStrides", i, r.strides[i], "allowed are multiples of 16");
    if (r.strides[i] >= uint64_t{1} << 40)
      return of_dimension("globalStrides", i, r.strides[i], "allowed is less than 2^40");
  }
  const uint64_t row = uint64_t{r.box[0]} * bytes_of(static_cast<tensor_element>(r.type));
  if (row % 16 != 0) return "boxDim[0]: a row of " + std::to_string(row) + " bytes, allowed are multiples of 16";
  const unsigned span = 16u << r.pattern;
  if (r.pattern != 0 && row > span)
    return "boxDim[0]: a row of " + std::to_string(row) + " bytes, and the swizzle's span is " + std::to_string(span);
  return "";
}

template <class T>
T element_at(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

template <class T>
T reduced(tensor_reduction how, T a, T b) {
  switch (how) {
    case tensor_reduction::add:
      if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
      else
        return a + b;
    case tensor_reduction::min: return std::min(a, b);
    case tensor_reduction::max: return std::max(a, b);
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    switch (how) {
      case tensor_reduction::inc: return a >= b ? T{0} : static_cast<T>(a + 1);
      case tensor_reduction::dec: return a == 0 || a > b ? b : static_cast<T>(a - 1);
      case tensor_reduction::bit_and: return a & b;
      case tensor_reduction::bit_or: return a | b;
      default: return a ^ b;
    }
  }
  return b;
}

template <class T>
void reduce_as(tensor_reduction how, char* to, const char* from, uint32_t bytes) {
  for (uint32_t at = 0; at < bytes; at += sizeof(T)) {
    const T value = reduced(how, element_at<T>(to + at), element_at<T>(from + at));
    std::memcpy(to + at, &value, sizeof value);
  }
}

// f32 has twice a half's digits and two more, so that rounding to it first changes no sum (Figueroa, 1995).
template <class Half>
void reduce_halves(tensor_reduction how, char* to, const char* from, uint32_t bytes) {
  for (uint32_t at = 0; at < bytes; at += 2) {
    const float a = to_float(element_at<Half>(to + at)), b = to_float(element_at<Half>(from + at));
    const float value = how == tensor_reduction::add   ? a + b
                        : how == tensor_reduction::min ? std::fmin(a, b)
                                                       : std::fmax(a, b);
    const Half half = from_float<Half>(value);
    std::memcpy(to + at, &half, sizeof half);
  }
}

bool is_tf32(tensor_element type) { return type == tensor_element::tf32 || type == tensor_element::tf32_flushed; }

}  // namespace

unsigned bytes_of(tensor_element type) {
  switch (type) {
    case tensor_element::u8: return 1;
    case tensor_element::u16:
    case tensor_element::f16:
    case tensor_element::bf16: return 2;
    case tensor_element::u64:
    case tensor_element::s64:
    case tensor_element::f64: return 8;
    default: return 4;
  }
}

bool is_real(tensor_element type) { return type >= tensor_element::f16; }

std::string encode_tensor_map(const tensor_map_request& r, tensor_map& map) {
  std::string broken = broken_rule_of_scalars(r);
  if (broken.empty()) broken = broken_rule_of_dimensions(r);
  if (!broken.empty()) return broken;
  constexpr swizzle patterns[] = {swizzle::none, swizzle::b32, swizzle::b64, swizzle::b128};
  map = {};
  map.address = static_cast<char*>(const_cast<void*>(r.address));
  map.rank = static_cast<uint8_t>(r.rank);
  map.type = static_cast<tensor_element>(r.type);
  map.pattern = patterns[r.pattern];
  map.fills_with_nan = r.fill == 1;
  map.mark = k_tensor_map_mark;
  for (unsigned i = 0; i < k_most_dimensions; ++i) {
    map.last[i] = i < r.rank ? static_cast<uint32_t>(r.sizes[i] - 1) : 0;
    map.box[i] = i < r.rank ? static_cast<uint16_t>(r.box[i]) : 1;
    map.steps[i] = i > 0 && i < r.rank ? static_cast<uint8_t>(r.steps[i]) : 1;  // dimension 0 is taken whole
    if (i > 0) map.strides[i - 1] = i < r.rank ? r.strides[i - 1] : 0;
  }
  return "";
}

uint32_t bytes_of_row(const tensor_map& map) { return map.box[0] * bytes_of(map.type); }

uint32_t pitch_of_tile(const tensor_map& map) {
  return map.pattern == swizzle::none ? bytes_of_row(map) : swizzle_bytes(map.pattern);
}

uint32_t rows_of_box(const tensor_map& map) {
  uint32_t rows = 1;
  for (unsigned i = 1; i < map.rank; ++i) rows *= (map.box[i] + map.steps[i] - 1u) / map.steps[i];
  return rows;
}

std::vector<tensor_piece> pieces_of_box(const tensor_map& map, const int32_t* coordinates) {
  std::vector<tensor_piece> pieces;
  const unsigned element = bytes_of(map.type);
  const uint32_t rows = rows_of_box(map), pitch = pitch_of_tile(map);
  const int64_t first = coordinates[0], size = int64_t{map.last[0]} + 1, box = map.box[0];
  const int64_t begin = std::clamp<int64_t>(-first, 0, box), end = std::clamp<int64_t>(size - first, begin, box);
  const auto add = [&](uint32_t row, int64_t from, int64_t to, char* global) {
    if (from == to) return;
    pieces.push_back(
        {row * pitch + static_cast<uint32_t>(from) * element, global, static_cast<uint32_t>(to - from) * element});
  };
  for (uint32_t row = 0; row < rows; ++row) {
    bool inside = begin < end;
    char* global = map.address;
    uint32_t rest = row;
    for (unsigned i = 1; i < map.rank; ++i) {
      const uint32_t count = (map.box[i] + map.steps[i] - 1u) / map.steps[i];
      const int64_t at = coordinates[i] + int64_t{rest % count} * map.steps[i];
      rest /= count;
      inside = inside && at >= 0 && at <= map.last[i];
      if (inside) global += static_cast<uint64_t>(at) * map.strides[i - 1];
    }
    if (!inside) {
      add(row, 0, box, nullptr);
      continue;
    }
    add(row, 0, begin, nullptr);
    add(row, begin, end, global + (first + begin) * element);
    add(row, end, box, nullptr);
  }
  return pieces;
}

void convert_loaded(tensor_element type, char* p, uint32_t bytes) {
  if (!is_tf32(type)) return;
  for (uint32_t at = 0; at < bytes; at += 4) {
    auto bits = element_at<uint32_t>(p + at);
    const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    bits = is_nan ? 0x7fffe000u : (bits + 0xfffu + (bits >> 13 & 1)) & ~0x1fffu;  // ties to even
    std::memcpy(p + at, &bits, sizeof bits);
  }
}

void fill_outside(bool with_nan, char* p, uint32_t bytes) {
  if (!with_nan) {
    std::memset(p, 0, bytes);
    return;
  }
  constexpr uint16_t nan = 0x7ff7;  // an element has it once, twice or four times
  for (uint32_t at = 0; at < bytes; at += sizeof nan) std::memcpy(p + at, &nan, sizeof nan);
}

bool has_reduction(tensor_element type, tensor_reduction how) {
  const bool halves = type == tensor_element::f16 || type == tensor_element::bf16;
  const bool integers = type >= tensor_element::u32 && type <= tensor_element::s64;
  switch (how) {
    case tensor_reduction::none: return true;
    case tensor_reduction::add: return is_real(type) || integers;
    case tensor_reduction::min:
    case tensor_reduction::max: return halves || integers;
    case tensor_reduction::inc:
    case tensor_reduction::dec: return type == tensor_element::u32;
    default: return integers;
  }
}

void reduce_elements(tensor_element type, tensor_reduction how, char* to, const char* from, uint32_t bytes) {
  switch (type) {
    case tensor_element::u32: return reduce_as<uint32_t>(how, to, from, bytes);
    case tensor_element::s32: return reduce_as<int32_t>(how, to, from, bytes);
    case tensor_element::u64: return reduce_as<uint64_t>(how, to, from, bytes);
    case tensor_element::s64: return reduce_as<int64_t>(how, to, from, bytes);
    case tensor_element::f64: return reduce_as<double>(how, to, from, bytes);
    case tensor_element::f16: return reduce_halves<f16>(how, to, from, bytes);
    case tensor_element::bf16: return reduce_halves<bf16>(how, to, from, bytes);
    default: return reduce_as<float>(how, to, from, bytes);
  }
}

}  // namespace simt
