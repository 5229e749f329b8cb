// Tensor maps: the layout of a tensor in global memory for cp.async.bulk.tensor, and the rows of a box (CUDA driver API
// 13.0, "Tensor Map Object Management"; PTX ISA 9.0, "Tensors", "Tensor-map"). Plain host code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simt/emulated/types.hpp"
#include "simt/tensor_types.hpp"

namespace simt {

constexpr unsigned k_most_dimensions = 5;

// The values are those of CUtensorMapDataType.
enum class tensor_element : uint8_t {
  u8,
  u16,
  u32,
  s32,
  u64,
  s64,
  f16,
  f32,
  f64,
  bf16,
  f32_flushed,  // a load keeps subnormals
  tf32,         // rounded to the nearest, ties to even
  tf32_flushed
};
unsigned bytes_of(tensor_element type);
bool is_real(tensor_element type);

// The pixels of cuTensorMapEncodeIm2col. The corners are of W, H and D: the filter's base is within
// [lower, size - 1 + upper].
struct im2col_box {
  const int *lower, *upper;
  uint32_t channels, pixels;
};

// The arguments of cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col, with the driver's numbers. Dimension 0 is the
// innermost. In an interleaved layout its elements are slices of channels, of 16 or 32 bytes; dimensions 0 to rank - 3
// are of space, rank - 2 counts slices, of which a copy brings one, and rank - 1 images, as measured on an H200.
struct tensor_map_request {
  int type;
  unsigned rank;
  const void* address;
  const uint64_t* sizes;    // elements, of `rank` dimensions
  const uint64_t* strides;  // bytes, of the dimensions from 1 on
  const uint32_t* box;      // elements; not read for im2col
  const uint32_t* steps;    // between the elements that are taken
  int interleave, pattern, promotion, fill;
  const im2col_box* im2col = nullptr;  // nullptr: tiled
};

struct alignas(64) tensor_map {
  char* address;
  uint64_t strides[k_most_dimensions - 1];
  uint32_t last[k_most_dimensions];  // size - 1
  uint16_t box[k_most_dimensions];   // im2col: channels and pixels
  int16_t lower[k_most_dimensions - 2], upper[k_most_dimensions - 2];
  uint8_t steps[k_most_dimensions];
  uint8_t rank;
  tensor_element type;
  swizzle pattern;
  uint8_t interleave;  // the driver's number
  bool fills_with_nan, is_im2col;
  uint32_t mark;  // k_tensor_map_mark: an encoded map; k_replaced_mark: a kernel wrote fields, which may break rules
  uint64_t unused[2];
};
static_assert(sizeof(tensor_map) == 128, "the size of CUtensorMap");
constexpr uint32_t k_tensor_map_mark = 0x544d4150, k_replaced_mark = k_tensor_map_mark + 1;

// Returns the rule that the request breaks, or "" after it has written the map.
std::string encode_tensor_map(const tensor_map_request& request, tensor_map& map);

// The fields of tensormap.replace.
enum class tensor_field : uint8_t {
  global_address,
  rank,  // less one
  box_dim,
  global_dim,
  global_stride,
  element_stride,
  elemtype,
  interleave_layout,
  swizzle_mode,
  fill_mode
};
// Returns what is wrong, or "" after it has written the field, of the dimension `ordinal` where it has several. The map
// is one that was encoded, or of zeros.
std::string replace_field(tensor_map& map, tensor_field field, unsigned ordinal, uint64_t value);
// Returns the rule that a map breaks whose fields a kernel wrote, or "".
std::string broken_rule_of(const tensor_map& map);

// Neighbours along dimension 0: in the tile, as it lies without its swizzle, and in global memory (nullptr: outside of
// the tensor).
struct tensor_piece {
  uint32_t offset;
  char* global;
  uint32_t bytes;
};
// Where a copy begins, innermost dimension first: `rank` coordinates; for im2col the filter's base, and the first
// pixel's offsets from it, in the order of W, H, D.
struct tensor_place {
  unsigned rank;
  int32_t at[k_most_dimensions];
  bool is_im2col = false;
  uint16_t offsets[k_most_dimensions - 2] = {};
};
std::vector<tensor_piece> pieces_of_box(const tensor_map& map, const tensor_place& place);
uint32_t pitch_of_tile(const tensor_map& map);  // bytes from row to row
uint32_t rows_of_box(const tensor_map& map);
uint32_t bytes_of_row(const tensor_map& map);
unsigned first_of_rows(const tensor_map& map);  // the first dimension along which there are rows

// Converts `bytes` bytes of whole elements in place, as a load does.
void convert_loaded(tensor_element type, char* p, uint32_t bytes);
void fill_outside(bool with_nan, char* p, uint32_t bytes);

enum class tensor_reduction : uint8_t { none, add, min, max, inc, dec, bit_and, bit_or, bit_xor };
// True if elements of the type have the reduction (PTX ISA, cp.reduce.async.bulk).
bool has_reduction(tensor_element type, tensor_reduction how);
// to = how(to, from) for `bytes` bytes of whole elements.
void reduce_elements(tensor_element type, tensor_reduction how, char* to, const char* from, uint32_t bytes);

}  // namespace simt
