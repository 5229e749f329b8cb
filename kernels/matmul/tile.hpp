// The product by tiles in shared memory: a block computes a tile of C for a slice of k. Each thread keeps its sums in
// registers and reads vectors of four from shared memory, free of bank conflicts: in each step along k, a thread of 8 x
// 16 sums reads 6 vectors for 128 FMAs, one of 8 x 8 reads 4 for 64, one of 4 x 8 reads 3 for 32. Stages of `Depth`
// steps are copied ahead while others are used; one barrier a stage. Shapes that promote add their sums to a second set
// of registers every k_matmul_promotion products.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/matmul/copies.hpp"
#include "kernels/matmul/epilogue.hpp"
#include "kernels/matmul/parts.hpp"
#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// WarpsM x WarpsN warps of 8 x 4 lanes, each with GroupsM x GroupsN groups of 4 x 4 elements. Unroll: steps along k in
// a row of instructions, which should fit the instruction cache. Blocks: how many should fit on a multiprocessor.
template <int WarpsM, int WarpsN, int GroupsM, int GroupsN, int Depth, int Unroll, int Stages, int Blocks,
          bool Promotes = false>
struct matmul_shape {
  static constexpr bool k_promotes = Promotes;
  static constexpr int k_warps_n = WarpsN, k_groups_m = GroupsM, k_groups_n = GroupsN;
  static constexpr int k_depth = Depth, k_unroll = Unroll, k_stages = Stages, k_blocks = Blocks;
  static_assert(Depth % Unroll == 0 && Unroll % 2 == 0, "a stage is whole rows of instructions, these two fragments");
  static_assert(k_matmul_promotion % Depth == 0, "a chain is whole stages");
  static constexpr int k_threads = 32 * WarpsM * WarpsN;
  static constexpr int k_lanes_m = 8, k_lanes_n = 4;
  static constexpr int k_warp_m = 4 * k_lanes_m * GroupsM, k_warp_n = 4 * k_lanes_n * GroupsN;
  static constexpr int k_m = WarpsM * k_warp_m, k_n = WarpsN * k_warp_n;
  using a_copies = matmul_copies<k_m, Depth, k_threads>;
  using b_copies = matmul_copies<k_n, Depth, k_threads>;
  static constexpr int k_stage_words = a_copies::k_words + b_copies::k_words;
  static constexpr size_t k_shared_bytes = sizeof(float) * Stages * k_stage_words;
};

struct matmul_product {
  matmul_operand a, b;
  int64_t m, n, k;
  int64_t length;  // of a slice
  int64_t tiles_m, tiles_n;
  matmul_partials partials;
  matmul_epilogue<float> epilogue;
};

// Tiles that run at the same time share rows of A and columns of B in the L2 cache: column after column of bands of
// this many rows of tiles.
constexpr int64_t k_matmul_band = 8;

struct matmul_tile_index {
  int64_t m, n;
};
__device__ inline matmul_tile_index matmul_tile_of(int64_t tile, int64_t tiles_m, int64_t tiles_n) {
  const int64_t band = tile / (k_matmul_band * tiles_n);
  const int64_t rest = tile - band * k_matmul_band * tiles_n;
  const int64_t left = tiles_m - band * k_matmul_band;
  const int64_t height = left < k_matmul_band ? left : k_matmul_band;
  return {band * k_matmul_band + rest % height, rest / height};
}

// The first of a tile's outer indices. If possible the last tile begins earlier, so that it is whole. The elements that
// it shares with the tile before are computed twice with the same bits, and only one of the two stores them.
template <int Outer>
__device__ int64_t matmul_tile_begin(const matmul_operand& x, int64_t tile, int64_t extent) {
  const int64_t begin = tile * Outer;
  if (begin + Outer <= extent || extent < Outer) return begin;
  return x.layout == matmul_layout::vectors && extent % 4 != 0 ? begin : extent - Outer;
}

// A thread's elements of the row of op(A) and the column of op(B) that a step along k multiplies.
template <class Shape>
struct matmul_fragment {
  float a[4 * Shape::k_groups_m];
  float b[4 * Shape::k_groups_n];

  __device__ void load(const float* as, const float* bs) {
#pragma unroll
    for (int g = 0; g < Shape::k_groups_m; ++g) {
      const float4 v = *reinterpret_cast<const float4*>(as + g * 4 * Shape::k_lanes_m);
      a[4 * g] = v.x, a[4 * g + 1] = v.y, a[4 * g + 2] = v.z, a[4 * g + 3] = v.w;
    }
#pragma unroll
    for (int g = 0; g < Shape::k_groups_n; ++g) {
      const float4 v = *reinterpret_cast<const float4*>(bs + g * 4 * Shape::k_lanes_n);
      b[4 * g] = v.x, b[4 * g + 1] = v.y, b[4 * g + 2] = v.z, b[4 * g + 3] = v.w;
    }
  }
};

// True if the epilogue's flags contain a row or column of the block's tile; the same for all of its threads.
__device__ inline bool matmul_has_flags(const matmul_flags& flags, int64_t row, int rows, int64_t column, int columns) {
  if (!flags.found()) return false;
  unsigned mine = 0;
  for (int i = static_cast<int>(threadIdx.x); i < rows; i += static_cast<int>(blockDim.x)) mine |= flags.rows[row + i];
  for (int j = static_cast<int>(threadIdx.x); j < columns; j += static_cast<int>(blockDim.x))
    mine |= flags.columns[column + j];
  return __syncthreads_or(static_cast<int>(mine)) != 0;
}

// What a thread's sums are added to when a chain ends, in shapes that promote; otherwise nothing.
template <class Shape>
class matmul_promoted_sums {
 public:
  using sums = float[4 * Shape::k_groups_m][4 * Shape::k_groups_n];

  // Called after each whole stage.
  __device__ void end_stage(sums& sum) {
    chain_ += Shape::k_depth;
    if (Shape::k_promotes && chain_ == k_matmul_promotion) promote(sum), chain_ = 0;
  }
  // Turns the last chain into the whole sum.
  __device__ void finish(sums& sum) {
    if (!Shape::k_promotes) return;
    promote(sum);
#pragma unroll
    for (int i = 0; i < 4 * Shape::k_groups_m; ++i)
#pragma unroll
      for (int j = 0; j < 4 * Shape::k_groups_n; ++j) sum[i][j] = promoted_[i][j];
  }

 private:
  __device__ void promote(sums& sum) {
#pragma unroll
    for (int i = 0; i < 4 * Shape::k_groups_m; ++i)
#pragma unroll
      for (int j = 0; j < 4 * Shape::k_groups_n; ++j) promoted_[i][j] += sum[i][j], sum[i][j] = 0.0f;
  }

  sums promoted_ = {};
  int chain_ = 0;
};

// Multiplies the stages that copy_next copies, `left` steps along k, into a thread's sums.
template <class Shape, class Copy>
__device__ __forceinline__ void matmul_multiply_stages(const float* shared, int64_t left, int own_m, int own_n,
                                                       float (&sum)[4 * Shape::k_groups_m][4 * Shape::k_groups_n],
                                                       const Copy& copy_next) {
  using fragment = matmul_fragment<Shape>;
  constexpr int k_depth = Shape::k_depth, k_stages = Shape::k_stages, k_unroll = Shape::k_unroll;
  constexpr int k_a_pitch = Shape::a_copies::k_pitch, k_b_pitch = Shape::b_copies::k_pitch;
  const auto multiply = [&](const fragment& f) {
#pragma unroll
    for (int i = 0; i < 4 * Shape::k_groups_m; ++i)
#pragma unroll
      for (int j = 0; j < 4 * Shape::k_groups_n; ++j) sum[i][j] = fmaf(f.a[i], f.b[j], sum[i][j]);
  };

  matmul_promoted_sums<Shape> promoted;
  for (int s = 0; s < k_stages; ++s) copy_next();
  simt::cp_async_wait<k_stages - 1>();
  __syncthreads();
  int use_stage = 0;
  const float *as = shared + own_m, *bs = shared + Shape::a_copies::k_words + own_n;
  fragment f[2];
  f[0].load(as, bs);
  while (left >= k_depth) {
#pragma unroll 1
    for (int begin = 0; begin < k_depth; begin += k_unroll) {
#pragma unroll
      for (int l = 0; l < k_unroll; ++l) {
        const int next = begin + l + 1;
        if (l + 1 < k_unroll || next < k_depth) {
          f[(l + 1) % 2].load(as + next * k_a_pitch, bs + next * k_b_pitch);
        } else {
          // The last products of a stage run while the first fragment of the next is read and more is copied.
          left -= k_depth;
          simt::cp_async_wait<k_stages - 2>();
          __syncthreads();  // all copies of the next stage are there, and nobody reads this one any more
          use_stage = use_stage + 1 == k_stages ? 0 : use_stage + 1;
          as = shared + use_stage * Shape::k_stage_words + own_m;
          bs = shared + use_stage * Shape::k_stage_words + Shape::a_copies::k_words + own_n;
          if (left > 0) f[0].load(as, bs);
          copy_next();
        }
        multiply(f[l % 2]);
      }
    }
    promoted.end_stage(sum);
  }
#pragma unroll 1
  for (int l = 0; l < left; ++l) {
    f[0].load(as + l * k_a_pitch, bs + l * k_b_pitch);
    multiply(f[0]);
  }
  promoted.finish(sum);
}

// A block's tile of C, and the part of it that exists.
struct matmul_block_tile {
  matmul_tile_index tile;
  int64_t slice, row, column;
  int rows, columns;
};

// Stores a thread's sums, the first of which is at row own_m and column own_n of the tile. Flagged: replaces the
// elements of flagged rows and columns.
template <class Shape, bool Flagged>
__device__ __forceinline__ void matmul_store_sums(const matmul_product& p, const matmul_block_tile& at, int own_m,
                                                  int own_n,
                                                  const float (&sum)[4 * Shape::k_groups_m][4 * Shape::k_groups_n]) {
  // Stores only the part of the tile that the tile before does not store.
  const int first_row = static_cast<int>(at.tile.m * Shape::k_m - at.row);
  const int first_column = static_cast<int>(at.tile.n * Shape::k_n - at.column);
#pragma unroll
  for (int i = 0; i < 4 * Shape::k_groups_m; ++i) {
    const int r = own_m + i / 4 * 4 * Shape::k_lanes_m + i % 4;
    if (r < first_row || r >= at.rows) continue;
#pragma unroll
    for (int g = 0; g < Shape::k_groups_n; ++g) {
      const int j = own_n + g * 4 * Shape::k_lanes_n;
      const float four[4] = {sum[i][4 * g], sum[i][4 * g + 1], sum[i][4 * g + 2], sum[i][4 * g + 3]};
      if (Flagged) {
        p.epilogue.replace(at.row + r, at.column + j, first_column - j, at.columns - j, four);
      } else if (p.partials.data != nullptr) {
        p.partials.store(at.slice, at.row + r, at.column + j, first_column - j, at.columns - j, four);
      } else {
        p.epilogue.store(at.row + r, at.column + j, first_column - j, at.columns - j, four);
      }
    }
  }
  if constexpr (!Flagged) {
    if (p.partials.data != nullptr || !p.epilogue.sigmoid) return;
#pragma unroll 1
    for (int i = 0; i < 4 * Shape::k_groups_m; ++i) {
      const int r = own_m + i / 4 * 4 * Shape::k_lanes_m + i % 4;
      if (r < first_row || r >= at.rows) continue;
#pragma unroll 1
      for (int g = 0; g < Shape::k_groups_n; ++g) {
        const int j = own_n + g * 4 * Shape::k_lanes_n;
        p.epilogue.finish(at.row + r, at.column + j, first_column - j, at.columns - j);
      }
    }
  }
}

// Flagged: computes only the elements of flagged rows and columns, which a split into parts has left unchanged.
template <class Shape, bool Flagged = false>
__global__ void __launch_bounds__(Shape::k_threads, Shape::k_blocks) matmul_tile(matmul_product p) {
  constexpr int k_depth = Shape::k_depth;
  if (p.partials.data != nullptr) simt::trigger_dependents();
  SIMT_DYN_SHARED(float, shared);

  const int64_t tiles = p.tiles_m * p.tiles_n;
  const int64_t slice = blockIdx.x / tiles;
  const matmul_tile_index tile = matmul_tile_of(blockIdx.x - slice * tiles, p.tiles_m, p.tiles_n);
  const int64_t row = matmul_tile_begin<Shape::k_m>(p.a, tile.m, p.m);
  const int64_t column = matmul_tile_begin<Shape::k_n>(p.b, tile.n, p.n);
  const int64_t k_begin = slice * p.length;
  const int64_t k_left = p.k - k_begin < p.length ? p.k - k_begin : p.length;
  const int rows = static_cast<int>(p.m - row < Shape::k_m ? p.m - row : Shape::k_m);
  const int columns = static_cast<int>(p.n - column < Shape::k_n ? p.n - column : Shape::k_n);

  if (Flagged && !matmul_has_flags(p.epilogue.flags, row, rows, column, columns)) return;

  typename Shape::a_copies a_copies(p.a, row, k_begin);
  typename Shape::b_copies b_copies(p.b, column, k_begin);
  int64_t uncopied = k_left;
  int copy_stage = 0;
  const auto copy_next = [&] {
    if (uncopied > 0) {
      float* const stage = shared + copy_stage * Shape::k_stage_words;
      const int depth = static_cast<int>(uncopied < k_depth ? uncopied : k_depth);
      if (rows == Shape::k_m && depth == k_depth) {
        a_copies.copy(stage);
      } else {
        a_copies.copy_part(stage, rows, depth);
      }
      if (columns == Shape::k_n && depth == k_depth) {
        b_copies.copy(stage + Shape::a_copies::k_words);
      } else {
        b_copies.copy_part(stage + Shape::a_copies::k_words, columns, depth);
      }
      uncopied -= k_depth;
      copy_stage = copy_stage + 1 == Shape::k_stages ? 0 : copy_stage + 1;
    }
    simt::cp_async_commit();
  };

  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  // Neighbours along n are neighbouring lanes or 16 apart, those along m lie between. So the lanes that read vectors
  // read in pairs from the same place, for either operand, and a load of 16 bytes takes half the passes.
  const int lane_m = lane / 2 % Shape::k_lanes_m, lane_n = lane % 2 + lane / 16 * 2;
  const int own_m = warp / Shape::k_warps_n * Shape::k_warp_m + 4 * lane_m;
  const int own_n = warp % Shape::k_warps_n * Shape::k_warp_n + 4 * lane_n;
  float sum[4 * Shape::k_groups_m][4 * Shape::k_groups_n];
#pragma unroll
  for (auto& of_row : sum)
#pragma unroll
    for (float& s : of_row) s = 0.0f;
  matmul_multiply_stages<Shape>(shared, k_left, own_m, own_n, sum, copy_next);
  matmul_store_sums<Shape, Flagged>(p, {tile, slice, row, column, rows, columns}, own_m, own_n, sum);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
