#include "simt/tensor_map.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "simt/half_types.hpp"

namespace simt {
namespace {

constexpr int k_types = static_cast<int>(tensor_element::tf32_flushed) + 1;
constexpr swizzle k_patterns[] = {swizzle::none, swizzle::b32, swizzle::b64, swizzle::b128};  // by the driver's number

template <class T>
std::string of_dimension(const char* array, unsigned i, T value, const std::string& allowed) {
  return std::string(array) + "[" + std::to_string(i) + "]: " + std::to_string(value) + ", " + allowed;
}

// Of the tensor and its strides.
unsigned alignment_of(const tensor_map_request& r) { return r.interleave == 2 ? 32 : 16; }

// The rules of single arguments; "" where none is broken.
std::string broken_rule_of_scalars(const tensor_map_request& r) {
  if (r.type < 0) return "tensorDataType: " + std::to_string(r.type) + " is not a type";
  if (r.type >= k_types)
    return "tensorDataType: " + std::to_string(r.type) + " needs compute capability 10.0; the device has 9.0";
  const unsigned least = r.im2col != nullptr ? 3 : 1;
  if (r.rank < least || r.rank > k_most_dimensions)
    return "tensorRank: " + std::to_string(r.rank) + ", allowed are " + std::to_string(least) + " to 5";
  if (r.interleave < 0 || r.interleave > 2)
    return "interleave: " + std::to_string(r.interleave) + ", allowed are 0 to 2 (none, 16 and 32 bytes)";
  if (r.interleave != 0 && r.rank < 3)
    return "tensorRank: " + std::to_string(r.rank) + ", allowed are 3 to 5 if the layout is interleaved";
  if (r.pattern < 0 || r.pattern > 3)
    return "swizzle: " + std::to_string(r.pattern) + ", allowed are 0 to 3 (none, 32, 64 and 128 bytes)";
  if (r.interleave == 2 && r.pattern != 1)
    return "swizzle: " + std::to_string(r.pattern) +
           ", allowed is 1 (32 bytes) if the layout is interleaved by 32 bytes";
  if (r.promotion < 0 || r.promotion > 3) return "l2Promotion: " + std::to_string(r.promotion) + ", allowed are 0 to 3";
  if (r.fill < 0 || r.fill > 1) return "oobFill: " + std::to_string(r.fill) + ", allowed are 0 and 1";
  if (r.fill == 1 && !is_real(static_cast<tensor_element>(r.type)))
    return "oobFill: NaN is for types of reals, and these elements are integers";
  const unsigned align = alignment_of(r);
  const auto rest = reinterpret_cast<uintptr_t>(r.address) % align;
  if (rest != 0)
    return "globalAddress: it is " + std::to_string(rest) + " modulo " + std::to_string(align) + ", allowed is 0";
  const bool has_box =
      r.im2col == nullptr ? r.box != nullptr : r.im2col->lower != nullptr && r.im2col->upper != nullptr;
  if (r.sizes == nullptr || (r.rank > 1 && r.strides == nullptr) || !has_box || r.steps == nullptr)
    return "an array of dimensions is a null pointer";
  return "";
}

std::string broken_rule_of_pixels(const tensor_map_request& r) {
  const im2col_box& b = *r.im2col;
  const int least = r.rank == 3 ? -32768 : r.rank == 4 ? -128 : -16, most = -(least + 1);
  for (unsigned i = 0; i + 2 < r.rank; ++i) {
    const auto broken = [&](const char* array, int value) {
      return value >= least && value <= most ? ""
                                             : of_dimension(array, i, value,
                                                            "allowed are " + std::to_string(least) + " to " +
                                                                std::to_string(most) + " in this rank");
    };
    for (const std::string& found :
         {broken("pixelBoxLowerCorner", b.lower[i]), broken("pixelBoxUpperCorner", b.upper[i])})
      if (!found.empty()) return found;
    if (static_cast<int64_t>(r.sizes[i + (r.interleave == 0 ? 1 : 0)]) - 1 + b.upper[i] < b.lower[i])
      return of_dimension("pixelBoxUpperCorner", i, b.upper[i], "the box is empty");
  }
  if (b.channels < 1 || b.channels > 256)
    return "channelsPerPixel: " + std::to_string(b.channels) + ", allowed are 1 to 256";
  if (b.pixels < 1 || b.pixels > 1024)
    return "pixelsPerColumn: " + std::to_string(b.pixels) + ", allowed are 1 to 1024";
  return "";
}

// As the driver counts a tile, which rounds down where a copy rounds up.
constexpr uint64_t k_shared_bytes = 228 * 1024;
uint64_t counted_bytes(const tensor_map_request& r) {
  uint64_t bytes = bytes_of(static_cast<tensor_element>(r.type));
  if (r.im2col != nullptr) return bytes * r.im2col->channels * r.im2col->pixels;
  for (unsigned i = 0; i < r.rank; ++i) bytes *= r.box[i] / r.steps[i];
  return bytes;
}

std::string broken_rule_of_dimensions(const tensor_map_request& r) {
  for (unsigned i = 0; i < r.rank; ++i) {
    if (r.sizes[i] < 1 || r.sizes[i] > uint64_t{1} << 32)
      return of_dimension("globalDim", i, r.sizes[i], "allowed are 1 to 2^32");
    if (r.im2col == nullptr && (r.box[i] < 1 || r.box[i] > 256))
      return of_dimension("boxDim", i, r.box[i], "allowed are 1 to 256");
    if (r.steps[i] < 1 || r.steps[i] > 8) return of_dimension("elementStrides", i, r.steps[i], "allowed are 1 to 8");
  }
  for (unsigned i = 0; i + 1 < r.rank; ++i) {
    if (const unsigned align = alignment_of(r); r.strides[i] % align != 0)
      return of_dimension("globalStrides", i, r.strides[i], "allowed are multiples of " + std::to_string(align));
    if (r.strides[i] >= uint64_t{1} << 40)
      return of_dimension("globalStrides", i, r.strides[i], "allowed is less than 2^40");
  }
  if (r.im2col != nullptr)
    if (std::string broken = broken_rule_of_pixels(r); !broken.empty()) return broken;
  const uint64_t row =
      uint64_t{r.im2col != nullptr ? r.im2col->channels : r.box[0]} * bytes_of(static_cast<tensor_element>(r.type));
  const std::string what = std::string(r.im2col != nullptr ? "channelsPerPixel" : "boxDim[0]") + ": a row of " +
                           std::to_string(row) + " bytes, ";
  if (row % 16 != 0) return what + "allowed are multiples of 16";
  const unsigned span = 16u << r.pattern;
  if (const uint64_t bytes = counted_bytes(r); bytes > k_shared_bytes)
    return std::string(r.im2col != nullptr ? "pixelsPerColumn" : "boxDim") + ": " + std::to_string(bytes) +
           " bytes in all, allowed are " + std::to_string(k_shared_bytes);
  if (r.interleave == 0 && r.pattern != 0 && row > span)
    return what + "and the swizzle's span is " + std::to_string(span);
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
  map = {};
  map.address = static_cast<char*>(const_cast<void*>(r.address));
  map.rank = static_cast<uint8_t>(r.rank);
  map.type = static_cast<tensor_element>(r.type);
  map.pattern = k_patterns[r.pattern];
  map.interleave = static_cast<uint8_t>(r.interleave);
  map.fills_with_nan = r.fill == 1;
  map.mark = k_tensor_map_mark;
  for (unsigned i = 0; i < k_most_dimensions; ++i) {
    map.last[i] = i < r.rank ? static_cast<uint32_t>(r.sizes[i] - 1) : 0;
    map.box[i] = r.im2col == nullptr && i < r.rank ? static_cast<uint16_t>(r.box[i]) : 1;
    const bool has_step = i < r.rank && (i > 0 || r.interleave != 0);  // otherwise dimension 0 is taken whole
    map.steps[i] = has_step ? static_cast<uint8_t>(r.steps[i]) : 1;
    if (i > 0) map.strides[i - 1] = i < r.rank ? r.strides[i - 1] : 0;
  }
  if (r.im2col == nullptr) return "";
  map.is_im2col = true;
  map.box[0] = static_cast<uint16_t>(r.im2col->channels);
  map.box[1] = static_cast<uint16_t>(r.im2col->pixels);
  std::copy_n(r.im2col->lower, r.rank - 2, map.lower);
  std::copy_n(r.im2col->upper, r.rank - 2, map.upper);
  return "";
}

std::string replace_field(tensor_map& map, tensor_field field, unsigned ordinal, uint64_t value) {
  constexpr tensor_element types[] = {tensor_element::u8,          tensor_element::u16,  tensor_element::u32,
                                      tensor_element::s32,         tensor_element::u64,  tensor_element::s64,
                                      tensor_element::f16,         tensor_element::f32,  tensor_element::f32_flushed,
                                      tensor_element::f64,         tensor_element::bf16, tensor_element::tf32,
                                      tensor_element::tf32_flushed};
  const bool is_stride = field == tensor_field::global_stride;
  const bool has_ordinal = is_stride || field == tensor_field::box_dim || field == tensor_field::global_dim ||
                           field == tensor_field::element_stride;
  if (map.mark != k_tensor_map_mark && map.mark != k_replaced_mark && map.mark != 0)
    return "the object is no tensor map, nor zeros";
  if (map.is_im2col) return "the tensor map is of im2col";
  if (has_ordinal && ordinal >= k_most_dimensions - (is_stride ? 1 : 0))
    return "dimension " + std::to_string(ordinal) + " is none";
  switch (field) {
    case tensor_field::global_address: map.address = reinterpret_cast<char*>(value); break;
    case tensor_field::rank: map.rank = static_cast<uint8_t>(std::min<uint64_t>(value, 254) + 1); break;
    case tensor_field::box_dim: map.box[ordinal] = static_cast<uint16_t>(std::min<uint64_t>(value, UINT16_MAX)); break;
    case tensor_field::global_dim: map.last[ordinal] = static_cast<uint32_t>(value - 1); break;
    case tensor_field::global_stride: map.strides[ordinal] = value; break;
    case tensor_field::element_stride:
      map.steps[ordinal] = static_cast<uint8_t>(std::min<uint64_t>(value, UINT8_MAX));
      break;
    case tensor_field::elemtype:
      if (value >= std::size(types)) return "element type " + std::to_string(value) + ", allowed are 0 to 12";
      map.type = types[value];
      break;
    case tensor_field::interleave_layout: map.interleave = static_cast<uint8_t>(std::min<uint64_t>(value, 255)); break;
    case tensor_field::swizzle_mode:
      if (value >= std::size(k_patterns)) return "swizzle mode " + std::to_string(value) + ", allowed are 0 to 3";
      map.pattern = k_patterns[value];
      break;
    case tensor_field::fill_mode: map.fills_with_nan = value != 0; break;
  }
  map.mark = k_replaced_mark;
  return "";
}

std::string broken_rule_of(const tensor_map& map) {
  uint64_t sizes[k_most_dimensions];
  uint32_t box[k_most_dimensions], steps[k_most_dimensions];
  for (unsigned i = 0; i < k_most_dimensions; ++i) {
    sizes[i] = uint64_t{map.last[i]} + 1;
    box[i] = map.box[i];
    steps[i] = map.steps[i];
  }
  const auto pattern = std::find(std::begin(k_patterns), std::end(k_patterns), map.pattern) - std::begin(k_patterns);
  tensor_map encoded;
  return encode_tensor_map({static_cast<int>(map.type), map.rank, map.address, sizes, map.strides, box, steps,
                            map.interleave, static_cast<int>(pattern), 0, map.fills_with_nan},
                           encoded);
}

uint32_t bytes_of_row(const tensor_map& map) {
  return map.interleave == 0 ? map.box[0] * bytes_of(map.type) : 16u * map.interleave;
}

uint32_t pitch_of_tile(const tensor_map& map) {
  return map.pattern == swizzle::none || map.interleave != 0 ? bytes_of_row(map) : swizzle_bytes(map.pattern);
}

unsigned first_of_rows(const tensor_map& map) { return map.interleave == 0 ? 1 : 0; }

namespace {

// Of a slice of channels a copy brings one.
bool is_slice(const tensor_map& map, unsigned dimension) { return map.interleave != 0 && dimension + 2 == map.rank; }

}  // namespace

uint32_t rows_of_box(const tensor_map& map) {
  if (map.is_im2col) return map.box[1];
  uint32_t rows = 1;
  for (unsigned i = first_of_rows(map); i < map.rank; ++i)
    if (!is_slice(map, i)) rows *= (map.box[i] + map.steps[i] - 1u) / map.steps[i];
  return rows;
}

namespace {

// The coordinates of the rows of a copy, in the order in which they lie in the tile.
class row_walk {
 public:
  row_walk(const tensor_map& map, const tensor_place& place) : map_(map), place_(place), first_(first_of_rows(map)) {
    std::copy_n(place.at, map.rank, at_);
  }
  // The row's address, or nullptr outside of the tensor.
  char* global() const {
    char* p = map_.address;
    for (unsigned i = first_; i < map_.rank; ++i) {
      const int64_t x = at_[i] + (is_of_pixels(i) ? place_.offsets[i - first_] : 0);
      if (x < 0 || x > map_.last[i]) return nullptr;
      p += static_cast<uint64_t>(x) * (i == 0 ? bytes_of_row(map_) : map_.strides[i - 1]);
    }
    return p;
  }
  void next() {
    for (unsigned i = first_; i < map_.rank; ++i) {
      if (is_slice(map_, i)) continue;
      at_[i] += map_.steps[i];
      if (at_[i] < end(i)) return;
      at_[i] = is_of_pixels(i) ? map_.lower[i - first_] : place_.at[i];
    }
  }

 private:
  bool is_of_pixels(unsigned i) const { return map_.is_im2col && i - first_ + 2 < map_.rank; }
  int64_t end(unsigned i) const {
    if (is_of_pixels(i)) return int64_t{map_.last[i]} + map_.upper[i - first_] + 1;
    return map_.is_im2col ? INT64_MAX : int64_t{place_.at[i]} + map_.box[i];
  }

  const tensor_map& map_;
  const tensor_place& place_;
  unsigned first_;
  int64_t at_[k_most_dimensions];
};

}  // namespace

std::vector<tensor_piece> pieces_of_box(const tensor_map& map, const tensor_place& place) {
  std::vector<tensor_piece> pieces;
  const bool is_whole = map.interleave != 0;  // a row is inside, or all of it outside
  const unsigned element = bytes_of(map.type);
  const uint32_t rows = rows_of_box(map), pitch = pitch_of_tile(map);
  const int64_t first = is_whole ? 0 : place.at[0], box = bytes_of_row(map) / element;
  const int64_t size = is_whole ? box : int64_t{map.last[0]} + 1;
  const int64_t begin = std::clamp<int64_t>(-first, 0, box), end = std::clamp<int64_t>(size - first, begin, box);
  const auto add = [&](uint32_t row, int64_t from, int64_t to, char* global) {
    if (from == to) return;
    pieces.push_back(
        {row * pitch + static_cast<uint32_t>(from) * element, global, static_cast<uint32_t>(to - from) * element});
  };
  row_walk walk(map, place);
  for (uint32_t row = 0; row < rows; ++row, walk.next()) {
    char* const global = begin < end ? walk.global() : nullptr;
    if (global == nullptr) {
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
    case tensor_reduction::add: return is_real(type) || (integers && type != tensor_element::s64);
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
