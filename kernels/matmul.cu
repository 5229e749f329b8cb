// Matrix product: see the contract in matmul.hpp. What runs where: matmul_regions; how: matmul/tile.hpp.
#include "kernels/matmul.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/matmul/tile.hpp"
#include "kernels/primitives/arguments.hpp"
#include "kernels/primitives/grid.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

using small_shape = matmul_shape<2, 2, 1, 2, 32, 8, 3, 4>;
using wide_shape = matmul_shape<1, 4, 2, 2, 32, 8, 2, 3>;
using square_shape = matmul_shape<2, 2, 2, 4, 32, 8, 2, 2>;

// run(shape type) for a variant that has one.
template <class Run>
auto with_shape(matmul_variant variant, Run&& run) {
  switch (variant) {
    case matmul_variant::small: return run(small_shape{});
    case matmul_variant::wide: return run(wide_shape{});
    default: return run(square_shape{});
  }
}

constexpr matmul_region k_regions[] = {
    {matmul_variant::epilogue, {1, -1}, {1, -1}, {0, 0}},
    {matmul_variant::small, {1, -1}, {1, 64}, {1, -1}},
    {matmul_variant::small, {1, 768}, {65, 768}, {1, -1}},
    {matmul_variant::wide, {1, 768}, {769, -1}, {1, -1}},
    {matmul_variant::wide, {769, -1}, {65, 1792}, {1, -1}},
    {matmul_variant::wide, {769, 1792}, {1793, -1}, {1, -1}},
    {matmul_variant::wide, {1793, -1}, {1793, -1}, {1, 128}},
    {matmul_variant::square, {1793, -1}, {1793, -1}, {129, -1}},
};
// Without m: what runs is as good for few rows as for many.
constexpr matmul_region k_regions_of_rows_alone[] = {
    {matmul_variant::epilogue, {1, -1}, {1, -1}, {0, 0}},
    {matmul_variant::small, {1, -1}, {1, 64}, {1, -1}},
    {matmul_variant::wide, {1, -1}, {65, -1}, {1, -1}},
};

bool within(const int64_t (&range)[2], int64_t x) { return x >= range[0] && (range[1] < 0 || x <= range[1]); }

// For m, n >= 1.
matmul_variant variant_of(matmul_options options, int64_t m, int64_t n, int64_t k) {
  const auto find = [&](const auto& regions) {
    for (const matmul_region& r : regions)
      if (within(r.m, m) && within(r.n, n) && within(r.k, k)) return r.variant;
    return matmul_variant::automatic;
  };
  return options.rows_alone ? find(k_regions_of_rows_alone) : find(k_regions);
}

void check_options(matmul_options options, int64_t m, int64_t n, int64_t k) {
  if (options.mode != matmul_mode::ieee)
    throw std::invalid_argument("mode is " + std::to_string(static_cast<int>(options.mode)) + ", must be 0 (ieee)");
  const auto check_extent = [](const char* name, int64_t extent) {
    if (extent < 0) throw std::invalid_argument(std::string(name) + " is " + std::to_string(extent) + ", must be >= 0");
  };
  check_extent("m", m);
  check_extent("n", n);
  check_extent("k", k);
}

// The machine that plans are made for, whatever runs them: 132 multiprocessors of 128 FMAs a clock.
constexpr int64_t k_planned_sms = 132;
constexpr int64_t k_fmas_per_clock = 128;
// Clocks: of a block beside its products; of the pass that adds slices; bytes of partial sums a clock, both ways.
// Fitted to times of an H100 (docs/notes/matmul.md).
constexpr int64_t k_block_clocks = 1500, k_finish_clocks = 9000, k_partial_bytes_per_clock = 2800;
constexpr int64_t k_least_slice = 64, k_most_slices = 64;

// What a product of these slices takes, in clocks, for tiles of this shape.
template <class Shape>
int64_t clocks_of(int64_t m, int64_t n, matmul_slices slices) {
  const int64_t tiles = ceil_div(m, Shape::k_m) * ceil_div(n, Shape::k_n);
  const int64_t blocks = ceil_div(tiles * slices.count, k_planned_sms);  // of the busiest multiprocessor
  const int64_t products = slices.length * Shape::k_m * Shape::k_n / k_fmas_per_clock;
  // Beside each other w warps take (w + latency) / w times as long as their FMAs alone; fewer hide less.
  constexpr int groups = Shape::k_groups_m * Shape::k_groups_n;
  constexpr int64_t latency = groups <= 2 ? 7 : groups <= 4 ? 4 : 3;
  const auto beside = [&](int64_t resident) {
    const int64_t warps = resident * Shape::k_threads / 32;
    return resident * products * (warps + latency) / warps;
  };
  int64_t clocks = blocks * k_block_clocks + blocks / Shape::k_blocks * beside(Shape::k_blocks);
  if (blocks % Shape::k_blocks != 0) clocks += beside(blocks % Shape::k_blocks);
  if (slices.count == 1) return clocks;
  return clocks + k_finish_clocks +
         2 * slices.count * m * n * static_cast<int64_t>(sizeof(float)) / k_partial_bytes_per_clock;
}

// The cut of k, in slices of whole stages, that takes least.
template <class Shape>
matmul_slices best_slices(int64_t m, int64_t n, int64_t k) {
  matmul_slices best{1, k};
  // Where tiles alone keep the machine busy, nothing is cut; so the products below are of few tiles.
  if (ceil_div(m, Shape::k_m) >= ceil_div(4 * k_planned_sms, ceil_div(n, Shape::k_n))) return best;
  int64_t least = clocks_of<Shape>(m, n, best);
  for (int64_t count = 2; count <= k_most_slices; ++count) {
    const int64_t length = ceil_div(ceil_div(k, count), Shape::k_depth) * Shape::k_depth;
    if (length < k_least_slice) break;
    const matmul_slices slices{ceil_div(k, length), length};
    const int64_t clocks = clocks_of<Shape>(m, n, slices);
    if (clocks < least) best = slices, least = clocks;
  }
  return best;
}

// For rows_alone: as for this many rows.
constexpr int64_t k_rows_planned_alone = 64;

// A matrix as the host's checks see it, stored as `rows` x `cols`.
row_block stored(const char* name, const void* data, int64_t rows, int64_t cols, int64_t ld, const char* ld_name,
                 const char* cols_name) {
  if (ld < cols)
    throw std::invalid_argument(std::string(ld_name) + " is " + std::to_string(ld) + ", must be >= " + cols_name +
                                " = " + std::to_string(cols));
  const row_block block{name, data, sizeof(float), rows, cols, ld, ld_name};
  check_rows(block);
  return block;
}

bool vectors_at(const float* data, int64_t ld) {
  return reinterpret_cast<uintptr_t>(data) % sizeof(float4) == 0 && ld % 4 == 0;
}

matmul_operand operand(const float* data, int64_t ld, bool k_contiguous) {
  if (k_contiguous) return {data, ld, 1, matmul_layout::along_k};
  return {data, 1, ld, vectors_at(data, ld) ? matmul_layout::vectors : matmul_layout::along_outer};
}

template <class Shape>
void launch_tiles(matmul_product p, int64_t slices, simt::stream_t stream) {
  p.tiles_m = ceil_div(p.m, Shape::k_m);
  p.tiles_n = ceil_div(p.n, Shape::k_n);
  constexpr int64_t k_most_blocks = std::numeric_limits<int32_t>::max();
  if (p.tiles_m > k_most_blocks / slices / p.tiles_n)
    throw simt::device_error("launch_limit: tiles are " + std::to_string(p.tiles_m) + " x " +
                             std::to_string(p.tiles_n) + " of " + std::to_string(slices) +
                             " slices, allowed are together at most " + std::to_string(k_most_blocks));
  const simt::launch_config config{static_cast<unsigned>(p.tiles_m * p.tiles_n * slices), Shape::k_threads,
                                   Shape::k_shared_bytes, stream};
  simt::launch(config, matmul_tile<Shape>, p);
}

void launch_finish(const matmul_partials& partials, int64_t slices, int64_t m, int64_t n,
                   const matmul_epilogue& epilogue, simt::stream_t stream) {
  const int64_t vectors = m * (matmul_partial_pitch(n) / 4);
  simt::launch_config config{resident_grid_size(ceil_div(vectors, k_finish_threads), stream), k_finish_threads, 0,
                             stream};
  config.overlaps = slices > 0;
  simt::launch(config, matmul_finish, partials, slices, m, n, epilogue);
}

}  // namespace

template <class T, class TC>
matmul_slices matmul_plan(matmul_options options, int64_t m, int64_t n, int64_t k) {
  check_options(options, m, n, k);
  if (k == 0) return {0, 0};
  if (m == 0 || n == 0) return {1, k};
  const int64_t rows = options.rows_alone ? k_rows_planned_alone : m;
  return with_shape(variant_of(options, m, n, k), [&](auto shape) { return best_slices<decltype(shape)>(rows, n, k); });
}

template <class T, class TC>
int64_t matmul_work_bytes(matmul_options options, int64_t m, int64_t n, int64_t k) {
  const matmul_slices slices = matmul_plan<T, TC>(options, m, n, k);
  if (slices.count < 2 || m == 0 || n == 0) return 0;
  const int64_t row_bytes = slices.count * matmul_partial_pitch(n) * static_cast<int64_t>(sizeof(float));
  if (m > std::numeric_limits<int64_t>::max() / row_bytes)
    throw std::invalid_argument("m is " + std::to_string(m) + ", must be at most " +
                                std::to_string(std::numeric_limits<int64_t>::max() / row_bytes) +
                                " for this n, k and mode");
  return m * row_bytes;
}

template <class T, class TC>
std::vector<matmul_region> matmul_regions(matmul_options options) {
  check_options(options, 0, 0, 0);
  if (options.rows_alone) return {std::begin(k_regions_of_rows_alone), std::end(k_regions_of_rows_alone)};
  return {std::begin(k_regions), std::end(k_regions)};
}

template <class T, class TC>
matmul_variant matmul_with(matmul_variant variant, trans ta, trans tb, int64_t m, int64_t n, int64_t k, float alpha,
                           const T* a, int64_t lda, const T* b, int64_t ldb, float beta, TC* c, int64_t ldc,
                           perceptron epilogue, matmul_options options, void* work, int64_t work_bytes,
                           simt::stream_t stream) {
  check_options(options, m, n, k);
  if (ta > trans::yes)
    throw std::invalid_argument("ta is " + std::to_string(static_cast<int>(ta)) + ", must be 0 or 1");
  if (tb > trans::yes)
    throw std::invalid_argument("tb is " + std::to_string(static_cast<int>(tb)) + ", must be 0 or 1");
  if (variant == matmul_variant::epilogue || variant > matmul_variant::square)
    throw std::invalid_argument("variant is " + std::to_string(static_cast<int>(variant)) +
                                ", must be 0 (automatic) or 2 to 4");
  const bool ta_yes = ta == trans::yes, tb_yes = tb == trans::yes;
  const row_block a_rows = stored("a", a, ta_yes ? k : m, ta_yes ? m : k, lda, "lda", ta_yes ? "m" : "k");
  const row_block b_rows = stored("b", b, tb_yes ? n : k, tb_yes ? k : n, ldb, "ldb", tb_yes ? "k" : "n");
  const row_block c_rows = stored("c", c, m, n, ldc, "ldc", "n");
  const int64_t needed = matmul_work_bytes<T, TC>(options, m, n, k);
  if (work_bytes < needed)
    throw std::invalid_argument("work_bytes is " + std::to_string(work_bytes) + ", must be at least " +
                                std::to_string(needed));
  const int64_t words = needed / static_cast<int64_t>(sizeof(float4));
  const row_block work_rows{"work", work, sizeof(float4), 1, words, words, nullptr};
  check_rows(work_rows);
  const bool has_bias = epilogue.bias != nullptr && m > 0;
  const row_block bias_rows{"bias", epilogue.bias, sizeof(float), 1, has_bias ? n : 0, n, nullptr};
  check_rows(bias_rows);
  for (const row_block& other : {a_rows, b_rows, bias_rows}) {
    check_disjoint(other, c_rows);
    check_disjoint(other, work_rows);
  }
  check_disjoint(c_rows, work_rows);
  if (m == 0 || n == 0) return matmul_variant::automatic;

  const matmul_epilogue finish{alpha,       beta,          c, ldc, vectors_at(c, ldc), epilogue.bias, epilogue.sigmoid,
                               epilogue.mu, epilogue.sigma};
  if (k == 0 || alpha == 0.0f) {
    launch_finish({nullptr, m, 0}, 0, m, n, finish, stream);
    return matmul_variant::epilogue;
  }
  const matmul_slices slices = matmul_plan<T, TC>(options, m, n, k);
  const matmul_partials partials{slices.count > 1 ? static_cast<float*>(work) : nullptr, m, matmul_partial_pitch(n)};
  const matmul_product product{
      operand(a, lda, !ta_yes), operand(b, ldb, tb_yes), m, n, k, slices.length, 0, 0, partials, finish};
  if (variant == matmul_variant::automatic) variant = variant_of(options, m, n, k);
  with_shape(variant, [&](auto shape) { launch_tiles<decltype(shape)>(product, slices.count, stream); });
  if (slices.count > 1) launch_finish(partials, slices.count, m, n, finish, stream);
  return variant;
}

template <class T, class TC>
void matmul(trans ta, trans tb, int64_t m, int64_t n, int64_t k, float alpha, const T* a, int64_t lda, const T* b,
            int64_t ldb, float beta, TC* c, int64_t ldc, perceptron epilogue, matmul_options options, void* work,
            int64_t work_bytes, simt::stream_t stream) {
  matmul_with<T, TC>(matmul_variant::automatic, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, epilogue, options,
                     work, work_bytes, stream);
}

template void matmul<float, float>(trans, trans, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*,
                                   int64_t, float, float*, int64_t, perceptron, matmul_options, void*, int64_t,
                                   simt::stream_t);
template matmul_variant matmul_with<float, float>(matmul_variant, trans, trans, int64_t, int64_t, int64_t, float,
                                                  const float*, int64_t, const float*, int64_t, float, float*, int64_t,
                                                  perceptron, matmul_options, void*, int64_t, simt::stream_t);
template int64_t matmul_work_bytes<float, float>(matmul_options, int64_t, int64_t, int64_t);
template matmul_slices matmul_plan<float, float>(matmul_options, int64_t, int64_t, int64_t);
template std::vector<matmul_region> matmul_regions<float, float>(matmul_options);

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
