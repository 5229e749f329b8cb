// Choice of the kernel and of the slices of k, from types, options and extents alone, the same on every machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/matmul/matmul.hpp"
#include "kernels/matmul/parts.hpp"
#include "kernels/matmul/tile.hpp"
#include "kernels/matmul/vector.hpp"
#include "kernels/matmul/warpgroups.hpp"
#include "kernels/matmul/warps.hpp"
#include "kernels/primitives/grid.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// Shapes of the variants in f32.
using matmul_small_shape = matmul_shape<2, 2, 1, 2, 32, 8, 3, 4>;
using matmul_wide_shape = matmul_shape<1, 4, 2, 2, 32, 8, 2, 3>;
using matmul_square_shape = matmul_shape<2, 2, 2, 4, 32, 8, 2, 2>;
using matmul_thin_shape = matmul_shape<2, 2, 1, 2, 32, 8, 3, 4, true>;  // of small, in modes that split

// Calls run(shape type) for a variant of f32 that has one.
template <class Run>
auto matmul_with_shape(matmul_variant variant, matmul_mode mode, Run&& run) {
  if (mode != matmul_mode::ieee) return run(matmul_thin_shape{});
  switch (variant) {
    case matmul_variant::small: return run(matmul_small_shape{});
    case matmul_variant::wide: return run(matmul_wide_shape{});
    default: return run(matmul_square_shape{});
  }
}

// Shapes of the variants on tensor cores.
template <class Arithmetic>
using matmul_one_warpgroup_shape = matmul_warpgroup_shape<Arithmetic, 1, 32, 2, 10>;
template <class Arithmetic>
using matmul_two_warpgroups_shape = matmul_warpgroup_shape<Arithmetic, 2, 128, 2>;

// Calls run(arithmetic type): that of 16-bit inputs, or of a mode other than ieee.
template <class T, class Run>
auto matmul_with_arithmetic(matmul_mode mode, Run&& run) {
  if constexpr (!std::is_same_v<T, float>) {
    return run(matmul_16_bit<T>{});
  } else {
    switch (mode) {
      case matmul_mode::tf32x3: return run(matmul_tf32x3{});
      case matmul_mode::tf32x1: return run(matmul_tf32x1{});
      case matmul_mode::bf16x1: return run(matmul_bf16x1{});
      default: return run(matmul_bf16x6{});
    }
  }
}

// True if the mode multiplies in tensor cores, except for the products whose variant multiplies in f32.
template <class T>
constexpr bool matmul_on_tensor_cores(matmul_options options) {
  return !std::is_same_v<T, float> || options.mode != matmul_mode::ieee;
}

constexpr bool matmul_multiplies_in_f32(matmul_variant variant) { return variant < matmul_variant::warps; }

constexpr matmul_region k_matmul_regions[] = {
    {matmul_variant::epilogue, {1, -1}, {1, -1}, {0, 0}},
    {matmul_variant::vector, {1, 1}, {1, -1}, {1, -1}},
    {matmul_variant::vector, {2, -1}, {1, 1}, {1, -1}},
    {matmul_variant::small, {2, -1}, {2, 64}, {1, -1}},
    {matmul_variant::small, {2, 768}, {65, 768}, {1, -1}},
    {matmul_variant::wide, {2, 768}, {769, -1}, {1, -1}},
    {matmul_variant::wide, {769, -1}, {65, 1792}, {1, -1}},
    {matmul_variant::wide, {769, 1792}, {1793, -1}, {1, -1}},
    {matmul_variant::wide, {1793, -1}, {1793, -1}, {1, 128}},
    {matmul_variant::square, {1793, -1}, {1793, -1}, {129, -1}},
};
// Independent of m: these variants are as good for few rows as for many.
constexpr matmul_region k_matmul_regions_of_rows_alone[] = {
    {matmul_variant::epilogue, {1, -1}, {1, -1}, {0, 0}},
    {matmul_variant::vector, {1, -1}, {1, 1}, {1, -1}},
    {matmul_variant::small, {1, -1}, {2, 64}, {1, -1}},
    {matmul_variant::wide, {1, -1}, {65, -1}, {1, -1}},
};
// A long and thin product takes as long as packing its matrix alone, so it is made of FMAs in f32.
constexpr matmul_region k_matmul_split_regions[] = {
    {matmul_variant::epilogue, {1, -1}, {1, -1}, {0, 0}},
    {matmul_variant::vector, {1, 1}, {1, -1}, {1, -1}},
    {matmul_variant::vector, {2, -1}, {1, 1}, {1, -1}},
    {matmul_variant::small, {2, 64}, {769, -1}, {1, -1}},
    {matmul_variant::small, {769, -1}, {2, 64}, {1, -1}},
    {matmul_variant::warps, {2, 64}, {2, 768}, {1, -1}},
    {matmul_variant::warps, {65, 128}, {2, -1}, {1, -1}},
    {matmul_variant::warps, {129, 768}, {2, 128}, {1, -1}},
    {matmul_variant::warps, {769, -1}, {65, 128}, {1, -1}},
    {matmul_variant::warps, {129, 512}, {129, 512}, {1, -1}},
    {matmul_variant::warpgroups, {129, 512}, {513, -1}, {1, -1}},
    {matmul_variant::warpgroups, {513, -1}, {129, -1}, {1, -1}},
};
constexpr matmul_region k_matmul_tensor_regions[] = {
    {matmul_variant::epilogue, {1, -1}, {1, -1}, {0, 0}},
    {matmul_variant::warps, {1, 128}, {1, -1}, {1, -1}},
    {matmul_variant::warps, {129, -1}, {1, 128}, {1, -1}},
    {matmul_variant::warps, {129, 512}, {129, 512}, {1, -1}},
    {matmul_variant::warpgroups, {129, 512}, {513, -1}, {1, -1}},
    {matmul_variant::warpgroups, {513, -1}, {129, -1}, {1, -1}},
};
// 16-bit operands need no packing for warpgroups, so a thin product is read once, as fast as memory allows. A vector is
// multiplied as in f32.
constexpr matmul_region k_matmul_16_bit_regions[] = {
    {matmul_variant::epilogue, {1, -1}, {1, -1}, {0, 0}},
    {matmul_variant::vector, {1, 1}, {1, -1}, {1, -1}},
    {matmul_variant::vector, {2, -1}, {1, 1}, {1, -1}},
    {matmul_variant::warps, {2, 512}, {2, 512}, {1, -1}},
    {matmul_variant::warpgroups, {2, 512}, {513, -1}, {1, -1}},
    {matmul_variant::warpgroups, {513, -1}, {2, -1}, {1, -1}},
};
constexpr matmul_region k_matmul_tensor_regions_of_rows_alone[] = {
    {matmul_variant::epilogue, {1, -1}, {1, -1}, {0, 0}},
    {matmul_variant::warps, {1, -1}, {1, 512}, {1, -1}},
    {matmul_variant::warpgroups, {1, -1}, {513, -1}, {1, -1}},
};

template <class T>
std::vector<matmul_region> matmul_regions_of(matmul_options options) {
  const auto all = [](const auto& regions) {
    return std::vector<matmul_region>(std::begin(regions), std::end(regions));
  };
  if (!matmul_on_tensor_cores<T>(options))
    return options.rows_alone ? all(k_matmul_regions_of_rows_alone) : all(k_matmul_regions);
  if (options.rows_alone) return all(k_matmul_tensor_regions_of_rows_alone);
  if (!std::is_same_v<T, float>) return all(k_matmul_16_bit_regions);
  const bool splits = options.mode == matmul_mode::tf32x3 || options.mode == matmul_mode::bf16x6;
  return splits && !options.unsplit ? all(k_matmul_split_regions) : all(k_matmul_tensor_regions);
}

// For m, n >= 1.
template <class T>
matmul_variant matmul_variant_of(matmul_options options, int64_t m, int64_t n, int64_t k) {
  const auto within = [](const int64_t(&range)[2], int64_t x) {
    return x >= range[0] && (range[1] < 0 || x <= range[1]);
  };
  for (const matmul_region& r : matmul_regions_of<T>(options))
    if (within(r.m, m) && within(r.n, n) && within(r.k, k)) return r.variant;
  return matmul_variant::automatic;
}

// The machine that plans are made for: 132 multiprocessors of 128 FMAs a clock, or 2048 products of bf16.
constexpr int64_t k_planned_sms = 132;
constexpr int64_t k_fmas_per_clock = 128;
// In clocks: a block's time beside its products, the pass that adds slices; bytes of partial sums a clock, both ways.
// Fitted to times of an H100 (docs/notes/matmul.md).
constexpr int64_t k_block_clocks = 1500, k_finish_clocks = 9000, k_partial_bytes_per_clock = 2800;
constexpr int64_t k_least_slice = 64, k_most_slices = 64;

// Clocks of the pass that adds slices.
inline int64_t matmul_finish_clocks(int64_t m, int64_t n, int64_t count) {
  if (count == 1) return 0;
  return k_finish_clocks + 2 * count * m * n * static_cast<int64_t>(sizeof(float)) / k_partial_bytes_per_clock;
}

// Returns the modelled clocks of the busiest multiprocessor for f32, with one tile of this shape over `length` of k per
// block.
template <class Shape>
int64_t matmul_fma_clocks(int64_t blocks, int64_t length) {
  const int64_t products = length * Shape::k_m * Shape::k_n / k_fmas_per_clock;
  // With w warps the FMAs take (w + latency) / w times as long as alone; fewer warps hide less.
  constexpr int groups = Shape::k_groups_m * Shape::k_groups_n;
  constexpr int64_t latency = groups <= 2 ? 7 : groups <= 4 ? 4 : 3;
  const auto beside = [&](int64_t resident) {
    const int64_t warps = resident * Shape::k_threads / 32;
    return resident * products * (warps + latency) / warps;
  };
  int64_t clocks = blocks * k_block_clocks + blocks / Shape::k_blocks * beside(Shape::k_blocks);
  if (blocks % Shape::k_blocks != 0) clocks += beside(blocks % Shape::k_blocks);
  return clocks;
}

// The same on tensor cores, with as many products of parts, in units of one of bf16: 64 x 64 by mma.sync, of which
// three blocks keep a multiprocessor busy at 0.6 of its rate; 128 x 256 by wgmma at 0.8 of it.
inline int64_t matmul_tensor_clocks(matmul_variant variant, int64_t part_products, int64_t blocks, int64_t length) {
  if (variant == matmul_variant::warpgroups) return blocks * (3000 + length * part_products * 20);
  return blocks * k_block_clocks + std::max<int64_t>(blocks, 3) * length * part_products * 10 / 3;
}

// Returns the cut of k, in slices of whole multiples of `step`, that takes least; clocks(blocks of the busiest
// multiprocessor, length) returns its time.
template <class Clocks>
matmul_slices matmul_best_slices(int64_t m, int64_t n, int64_t k, int64_t tiles_m, int64_t tiles_n, int64_t step,
                                 const Clocks& clocks) {
  matmul_slices best{1, k};
  // If tiles alone keep the machine busy, nothing is cut, so the products below are of few tiles.
  if (tiles_m >= ceil_div(4 * k_planned_sms, tiles_n)) return best;
  int64_t least = clocks(ceil_div(tiles_m * tiles_n, k_planned_sms), k);
  for (int64_t count = 2; count <= k_most_slices; ++count) {
    const int64_t length = ceil_div(ceil_div(k, count), step) * step;
    if (length < k_least_slice) break;
    const matmul_slices slices{ceil_div(k, length), length};
    const int64_t taken = clocks(ceil_div(tiles_m * tiles_n * slices.count, k_planned_sms), length) +
                          matmul_finish_clocks(m, n, slices.count);
    if (taken < least) best = slices, least = taken;
  }
  return best;
}

// The cut for a matrix times a vector, with `outer` sums: as many slices as a block adds itself, if that makes blocks
// for half of the multiprocessors, which are enough to keep the memory busy; otherwise slices of several blocks. They
// are multiples of `step`.
inline matmul_slices matmul_vector_slices(int64_t outer, int64_t k, int64_t step) {
  using shape = matmul_vector_shape<float>;
  const int64_t blocks = ceil_div(k_planned_sms / 2, ceil_div(outer, shape::k_outer));
  const int64_t count = std::min(k_most_slices, shape::k_warps * blocks);
  const int64_t length = std::max(k_least_slice, ceil_div(ceil_div(k, count), step) * step);
  return length < k ? matmul_slices{ceil_div(k, length), length} : matmul_slices{1, k};
}

// For m, n, k >= 1.
template <class T>
matmul_slices matmul_slices_of(matmul_options options, int64_t m, int64_t n, int64_t k) {
  if (options.unsplit) return {1, k};
  constexpr int64_t k_rows_planned_alone = 64;  // for rows_alone: planned as for this many rows
  const int64_t rows = options.rows_alone ? k_rows_planned_alone : m;
  const bool tensor_cores = matmul_on_tensor_cores<T>(options);
  const matmul_variant variant = matmul_variant_of<T>(options, m, n, k);
  if (variant == matmul_variant::vector)
    return matmul_vector_slices(n == 1 ? rows : n, k,
                                tensor_cores ? k_matmul_promotion : matmul_vector_shape<float>::k_depth);
  if (matmul_multiplies_in_f32(variant))
    return matmul_with_shape(variant, options.mode, [&](auto shape) {
      using shape_type = decltype(shape);
      return matmul_best_slices(rows, n, k, ceil_div(rows, shape_type::k_m), ceil_div(n, shape_type::k_n),
                                tensor_cores ? k_matmul_promotion : shape_type::k_depth, matmul_fma_clocks<shape_type>);
    });
  const bool large = variant == matmul_variant::warpgroups;
  const int64_t part_products = matmul_with_arithmetic<T>(options.mode, [](auto arithmetic) -> int64_t {
    using type = decltype(arithmetic);
    return type::k_products * (std::is_same_v<typename type::operand, simt::tf32> ? 2 : 1);  // of bf16 for one of tf32
  });
  return matmul_best_slices(
      rows, n, k, ceil_div(rows, large ? 128 : 64), ceil_div(n, large ? 256 : 64), k_matmul_promotion,
      [&](int64_t blocks, int64_t length) { return matmul_tensor_clocks(variant, part_products, blocks, length); });
}

// Offsets of the parts of the workspace in bytes, each a multiple of 256.
struct matmul_space {
  int64_t flags = 0, flag_words = 0;
  int64_t a = 0, b = 0, partials = 0;
  int64_t bytes = 0;
};

// Throws std::invalid_argument if they exceed 63 bits.
template <class T>
matmul_space matmul_space_of(matmul_options options, int64_t m, int64_t n, int64_t k) {
  matmul_space space;
  if (m == 0 || n == 0 || k == 0) return space;
  const int64_t slices = matmul_slices_of<T>(options, m, n, k).count;
  if (!matmul_on_tensor_cores<T>(options) && slices == 1) return space;
  constexpr int64_t k_most_extent = int64_t{1} << 48;  // larger ones do not fit anyway; no product below overflows
  __extension__ using wide_integer = unsigned __int128;
  wide_integer end = 0;
  const auto take = [&end](wide_integer bytes) {
    const auto begin = static_cast<int64_t>(end);
    if (end < static_cast<wide_integer>(INT64_MAX)) end += (bytes + 255) / 256 * 256;
    return begin;
  };
  if (std::max({m, n, k}) > k_most_extent) {
    take(static_cast<wide_integer>(1) << 64);
  } else if (matmul_on_tensor_cores<T>(options)) {
    matmul_with_arithmetic<T>(options.mode, [&](auto arithmetic) {
      using panel = matmul_panel<decltype(arithmetic)>;
      if (panel::k_splits) space.flag_words = 1 + m + n;
      space.flags = take(static_cast<wide_integer>(space.flag_words) * sizeof(unsigned));
      const wide_integer row = static_cast<wide_integer>(ceil_div(k, decltype(arithmetic)::k_depth)) * panel::k_bytes;
      space.a = take(ceil_div(m, panel::k_outer) * row);
      space.b = take(ceil_div(n, panel::k_outer) * row);
    });
  }
  if (slices > 1 && end <= static_cast<wide_integer>(INT64_MAX))
    space.partials = take(static_cast<wide_integer>(slices) * matmul_partial_pitch(n) * m * sizeof(float));
  if (end > static_cast<wide_integer>(INT64_MAX))
    throw std::invalid_argument("m is " + std::to_string(m) + ", n " + std::to_string(n) + " and k " +
                                std::to_string(k) + ": the workspace must be less than 2^63 bytes");
  space.bytes = static_cast<int64_t>(end);
  return space;
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
