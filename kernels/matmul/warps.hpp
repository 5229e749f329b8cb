// Panels multiplied by single warps: mma.sync, for GPUs without wgmma and for tiles too small for a warpgroup's. A
// block of four warps makes 64 x 64 elements of C, each warp 32 x 32; panels are copied ahead into a ring of stages.
// Cost: the two panels of a stage are read from the L2 cache, their fragments from shared memory twice.
#pragma once

#include <cstdint>

#include "kernels/matmul/panels.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

template <class Arithmetic>
struct matmul_warps_shape {
  using panel = matmul_panel<Arithmetic>;
  static constexpr int k_m = 64, k_n = 64;
  static constexpr int k_threads = 128, k_stages = 3;
  static constexpr int k_stage_bytes = 2 * panel::k_bytes;
  static constexpr size_t k_shared_bytes = static_cast<size_t>(k_stages) * k_stage_bytes;
  static_assert(k_shared_bytes >= sizeof(float) * k_m * k_matmul_staged_pitch<k_n>, "sums fit where panels were");
};

// The fragments of a step: of 32 outer indices in a stage, all parts. `strip`: the first of the warp's strips; each
// lane reads the word of a core matrix that has the lane's number.
template <class Arithmetic, int Groups, int Strips>
__device__ __forceinline__ void matmul_load_fragments(const unsigned char* operand, int strip, int step,
                                                      uint32_t (&f)[Arithmetic::k_parts][Groups][2 * Strips]) {
  using panel = matmul_panel<Arithmetic>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int part = 0; part < Arithmetic::k_parts; ++part)
#pragma unroll
    for (int g = 0; g < Groups; ++g)
#pragma unroll
      for (int i = 0; i < 2 * Strips; ++i)
        f[part][g][i] = *reinterpret_cast<const uint32_t*>(
            operand + (strip + g * Strips + i % Strips) * panel::k_strip_bytes + part * panel::k_part_bytes +
            (2 * step + i / Strips) * panel::k_core_bytes + 4 * lane);
}

// acc += the products of a stage, by the warp.
template <class Arithmetic>
__device__ __forceinline__ void matmul_multiply_stage(const unsigned char* a, const unsigned char* b, int strip_a,
                                                      int strip_b, float (&acc)[2][4][4]) {
  using panel = matmul_panel<Arithmetic>;
  using operand = typename Arithmetic::operand;
#pragma unroll 1
  for (int step = 0; step < panel::k_cores / 2; ++step) {
    uint32_t fa[Arithmetic::k_parts][2][4], fb[Arithmetic::k_parts][4][2];
    matmul_load_fragments<Arithmetic, 2, 2>(a, strip_a, step, fa);
    matmul_load_fragments<Arithmetic, 4, 1>(b, strip_b, step, fb);
#pragma unroll
    for (int q = 0; q < Arithmetic::k_products; ++q)
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
          simt::mma<16, 8, panel::k_step, operand, operand>(acc[i][j], fa[Arithmetic::a_part(q)][i],
                                                            fb[Arithmetic::b_part(q)][j], acc[i][j]);
  }
}

// The two panels of a stage at `l` along k.
template <class Arithmetic, class TC>
__device__ __forceinline__ void matmul_copy_stage(const matmul_panel_product<TC>& p, const matmul_panel_tile& tile,
                                                  int64_t l, unsigned char* stage) {
  using shape = matmul_warps_shape<Arithmetic>;
  using panel = matmul_panel<Arithmetic>;
  const int own = 16 * static_cast<int>(threadIdx.x);
  const unsigned char* const a = p.a.panels + (tile.row / panel::k_outer * p.k_panels + l) * panel::k_bytes;
  const unsigned char* const b = p.b.panels + (tile.column / panel::k_outer * p.k_panels + l) * panel::k_bytes;
#pragma unroll
  for (int at = own; at < panel::k_bytes; at += 16 * shape::k_threads) {
    simt::cp_async<16>(stage + at, a + at);
    simt::cp_async<16>(stage + panel::k_bytes + at, b + at);
  }
}

// sum += acc, and acc = 0.
__device__ __forceinline__ void matmul_promote(float (&sum)[2][4][4], float (&acc)[2][4][4]) {
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        sum[i][j][e] += acc[i][j][e];
        acc[i][j][e] = 0.0f;
      }
}

// Writes a warp's sums, the first of which is at `row` and `column`, to the tile in shared memory.
__device__ __forceinline__ void matmul_stage_fragments(const float (&sum)[2][4][4], int row, int column,
                                                       float* staged) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float* const own = staged + (row + lane / 4) * k_matmul_staged_pitch<64> + column + 2 * (lane % 4);
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int e = 0; e < 4; e += 2)
        *reinterpret_cast<float2*>(own + (16 * i + 4 * e) * k_matmul_staged_pitch<64> + 8 * j) =
            make_float2(sum[i][j][e], sum[i][j][e + 1]);
}

template <class Arithmetic, class TC>
__global__ void __launch_bounds__(128) matmul_warps(matmul_panel_product<TC> p) {
  using shape = matmul_warps_shape<Arithmetic>;
  using panel = matmul_panel<Arithmetic>;
  if (p.partials.data != nullptr) simt::trigger_dependents();
  SIMT_DYN_SHARED(unsigned char, shared);
  const auto tile = matmul_panel_tile::of<shape>(p, blockIdx.x);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  // 32 bits suffice, because no memory holds 2^32 panels of a row, and their division is fast.
  const auto stage_of = [&](int64_t l) {
    return shared + static_cast<unsigned>(l - tile.begin) % shape::k_stages * shape::k_stage_bytes;
  };
  const auto copy = [&](int64_t l) {
    if (l < tile.end) matmul_copy_stage<Arithmetic>(p, tile, l, stage_of(l));
    simt::cp_async_commit();
  };

  float sum[2][4][4] = {}, acc[2][4][4] = {};
  for (int s = 0; s + 1 < shape::k_stages; ++s) copy(tile.begin + s);
  constexpr int k_panels_to_promotion = k_matmul_promotion / Arithmetic::k_depth;
  int multiplied = 0;
  for (int64_t l = tile.begin; l < tile.end; ++l) {
    simt::cp_async_wait<shape::k_stages - 2>();
    __syncthreads();  // all copies of this stage are there, and nobody reads the one before any more
    copy(l + shape::k_stages - 1);
    const unsigned char* const a = stage_of(l);
    matmul_multiply_stage<Arithmetic>(a, a + panel::k_bytes, warp / 2 * 4, warp % 2 * 4, acc);
    if (++multiplied == k_panels_to_promotion || l + 1 == tile.end) {
      matmul_promote(sum, acc);
      multiplied = 0;
    }
  }

  __syncthreads();
  float* const staged = reinterpret_cast<float*>(shared);
  matmul_stage_fragments(sum, warp / 2 * 32, warp % 2 * 32, staged);
  __syncthreads();
  matmul_store_tile<64, 64, shape::k_threads>(p, tile, staged, static_cast<int>(threadIdx.x));
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
