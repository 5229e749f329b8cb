// Shared parts of the kernels that multiply panels on tensor cores: the product, and the transfer of a tile of sums
// from shared memory to C.
#pragma once

#include <cstdint>

#include "kernels/matmul/epilogue.hpp"
#include "kernels/matmul/parts.hpp"
#include "kernels/matmul/tile.hpp"
#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

template <class TC>
struct matmul_panel_product {
  matmul_packed a, b;
  int64_t m, n, k_panels;
  int64_t slice_panels;  // panels along k of a slice
  int64_t tiles_m, tiles_n;
  matmul_partials partials;
  matmul_epilogue<TC> epilogue;
};

// A tile of a slice: its first row and column, the slice, and the panels along k.
struct matmul_panel_tile {
  int64_t row, column, slice, begin, end;

  // Returns the tile of this number, among all tiles of all slices.
  template <class Shape, class TC>
  __device__ static matmul_panel_tile of(const matmul_panel_product<TC>& p, int64_t number) {
    const int64_t tiles = p.tiles_m * p.tiles_n;
    const int64_t slice = number / tiles;
    const matmul_tile_index tile = matmul_tile_of(number - slice * tiles, p.tiles_m, p.tiles_n);
    const int64_t begin = slice * p.slice_panels, end = begin + p.slice_panels;
    return {tile.m * Shape::k_m, tile.n * Shape::k_n, slice, begin, end < p.k_panels ? end : p.k_panels};
  }
};

// The distance of rows of a tile of sums in shared memory: those of four neighbouring rows, with two columns each of
// four lanes, use every bank once.
template <int Columns>
constexpr int k_matmul_staged_pitch = (Columns + 31) / 32 * 32 + 8;

// Stores a tile of sums, which `Threads` threads have written to shared memory, to C or the partial sums.
template <int Rows, int Columns, int Threads, class TC>
__device__ void matmul_store_tile(const matmul_panel_product<TC>& p, const matmul_panel_tile& tile, const float* staged,
                                  int thread) {
  constexpr int k_vectors = Columns / 4;
  const bool partial = p.partials.data != nullptr;
  const bool flagged = !partial && p.epilogue.flags.found();
#pragma unroll 1
  for (int v = thread; v < Rows * k_vectors; v += Threads) {
    const int r = v / k_vectors, c = 4 * (v % k_vectors);
    const int64_t i = tile.row + r, j = tile.column + c;
    if (i >= p.m || j >= p.n) continue;
    const float4 sum = *reinterpret_cast<const float4*>(staged + r * k_matmul_staged_pitch<Columns> + c);
    const float four[4] = {sum.x, sum.y, sum.z, sum.w};
    if (partial) {
      p.partials.store(tile.slice, i, j, 0, p.n - j, four);
    } else {
      p.epilogue.complete(i, j, p.n - j, four, flagged);
    }
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
