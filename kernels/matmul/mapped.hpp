// 16-bit operands multiplied by warpgroups from where they lie, without packing: tensor maps (cp.async.bulk.tensor)
// bring boxes of 64 x 64 elements into a ring of stages, swizzled as wgmma reads them. Blocks are persistent: while the
// sums of a tile are stored, one thread fetches the operands of the next. The products and their order, hence the bits,
// are those of warpgroups.hpp. Cost: at the full rate of the tensor cores a tile of 128 x 256 reads 48 bytes of the L2
// cache a clock.
#pragma once

#include <cstdint>

#include "kernels/matmul/panels.hpp"
#include "kernels/matmul/warpgroups.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// MajorA, MajorB: along which index neighbours of op(A) and op(B) are neighbours in memory. A stage holds 64 along k:
// two boxes of rows of op(A), one for each warpgroup, and four of columns of op(B), its parts.
template <class T, simt::major MajorA, simt::major MajorB>
struct matmul_mapped_shape {
  using operand = T;
  static constexpr simt::major k_major_a = MajorA, k_major_b = MajorB;
  static constexpr int k_warpgroups = 2, k_parts = 4;
  static constexpr int k_box = 64, k_box_bytes = k_box * k_box * 2;
  static constexpr int k_m = k_box * k_warpgroups, k_n = k_box * k_parts;
  static constexpr int k_consumers = 128 * k_warpgroups, k_threads = k_consumers + 128;
  static constexpr int k_stages = 4, k_stage_bytes = (k_warpgroups + k_parts) * k_box_bytes;
  // The stages first: swizzled boxes begin at multiples of 1024 bytes of shared memory, as dynamic memory alone does.
  static constexpr size_t k_shared_bytes = k_stages * (k_stage_bytes + 2 * sizeof(simt::mbarrier));
  static_assert(k_matmul_promotion == k_box, "a stage is promoted at once");
};

// Stages: full by the bytes of their boxes, empty by each consuming warp.
struct matmul_box_ring {
  unsigned char* stages;
  simt::mbarrier* full;
  simt::mbarrier* empty;
};

// Fetches the boxes of a tile in pairs of stages, in the order of multiplication. If their number is odd, the last box
// is zeros, which change no sum. Elements beyond the extents become 0.
template <class Shape>
__device__ __forceinline__ void matmul_fetch_boxes(const simt::tensor_map& a, const simt::tensor_map& b,
                                                   const matmul_panel_tile& tile, int64_t k_panels,
                                                   const matmul_box_ring& ring,
                                                   matmul_ring_place<Shape::k_stages>& next) {
  for (int64_t l = tile.begin; l < tile.end + (tile.end - tile.begin) % 2; ++l) {
    const auto k = static_cast<int32_t>(Shape::k_box * (l < tile.end ? l : k_panels));
    unsigned char* to = ring.stages + next.slot * Shape::k_stage_bytes;
    simt::mbarrier* const full = &ring.full[next.slot];
    const auto put = [&](const simt::tensor_map& x, simt::major major, int boxes, int64_t outer) {
#pragma unroll
      for (int box = 0; box < boxes; ++box, to += Shape::k_box_bytes) {
        const auto o = static_cast<int32_t>(outer + Shape::k_box * box);
        simt::tensor_load(to, x, major == simt::major::k ? o : k, major == simt::major::k ? k : o, full);
      }
    };
    ring.empty[next.slot].wait(next.parity ^ 1);
    full->arrive_expect_tx(Shape::k_stage_bytes);
    put(a, Shape::k_major_a, Shape::k_warpgroups, tile.row);
    put(b, Shape::k_major_b, Shape::k_parts, tile.column);
    next.advance(1);
  }
}

// The descriptor of a box: rows of 128 bytes, eight of which make 1024.
__device__ __forceinline__ simt::matrix_descriptor matmul_describe_box(const unsigned char* box) {
  return simt::make_matrix_descriptor(box, 0, 1024, simt::swizzle::b128);
}

// acc = the products of two boxes, which are in flight afterwards.
template <class Shape>
__device__ __forceinline__ void matmul_multiply_boxes(simt::matrix_descriptor a, simt::matrix_descriptor b,
                                                      float (&acc)[Shape::k_box / 2]) {
  // A step is 16 of k: in each row (k), or 16 rows (mn).
  const auto step_bytes = [](simt::major major) { return major == simt::major::k ? 32u : 2048u; };
#pragma unroll
  for (unsigned step = 0; step < Shape::k_box / 16; ++step)
    simt::wgmma<Shape::k_box, typename Shape::operand, Shape::k_major_a, Shape::k_major_b>(
        acc, a.advanced(step * step_bytes(Shape::k_major_a)), b.advanced(step * step_bytes(Shape::k_major_b)),
        step > 0);
  simt::wgmma_commit();
}

// Adds the products of two stages to a warpgroup's sums; a and b: its boxes in the first stage of the ring. While the
// products of one part are added, the next part's are in flight into the other accumulator. None is in flight from one
// call to the next, because ptxas would then wait for each product.
template <class Shape>
__device__ __forceinline__ void matmul_add_stages(const matmul_box_ring& ring, simt::matrix_descriptor a,
                                                  simt::matrix_descriptor b, matmul_ring_place<Shape::k_stages>& next,
                                                  float (&sum)[Shape::k_parts][Shape::k_box / 2]) {
  const auto release = [&](int stage) {
    if (threadIdx.x % 32 == 0) ring.empty[stage].arrive();
  };
  float acc[2][Shape::k_box / 2];
  const auto promote = [&](int group) {
#pragma unroll
    for (int i = 0; i < Shape::k_box / 2; ++i) sum[group % Shape::k_parts][i] += acc[group % 2][i];
  };
  constexpr int k_groups = 2 * Shape::k_parts;
  const int first = next.slot;
#pragma unroll
  for (int g = 0; g < k_groups; ++g) {
    const int part = g % Shape::k_parts;
    if (g == Shape::k_parts) next.advance(1);
    if (part == 0) ring.full[next.slot].wait(next.parity);
    const auto stage = static_cast<unsigned>(next.slot * Shape::k_stage_bytes);
    simt::wgmma_fence(acc[g % 2]);
    matmul_multiply_boxes<Shape>(a.advanced(stage),
                                 b.advanced(stage + static_cast<unsigned>(part * Shape::k_box_bytes)), acc[g % 2]);
    if (g == 0) continue;
    simt::wgmma_wait<1>(acc[(g - 1) % 2]);
    promote(g - 1);
    if (g == Shape::k_parts) release(first);
  }
  simt::wgmma_wait<0>(acc[(k_groups - 1) % 2]);
  promote(k_groups - 1);
  release(next.slot);
  next.advance(1);
}

// Stores a warpgroup's sums, which are lost, to C or the partial sums. Two neighbouring lanes swap halves of two rows,
// so that each has four columns of one row. The loop moves the sums of the next part to the place of the first, because
// registers have no index. Tiles inside C with a plain epilogue have a loop of their own, which is short enough for the
// instruction cache.
template <class Shape, class TC>
__device__ __forceinline__ void matmul_store_sums(const matmul_panel_product<TC>& p, const matmul_panel_tile& tile,
                                                  int thread, float (&sum)[Shape::k_parts][Shape::k_box / 2]) {
  const int lane = thread % 32;
  const bool odd = lane % 2 == 1;
  const bool partial = p.partials.data != nullptr;
  const int64_t i = tile.row + thread / 32 * 16 + lane / 4 + (odd ? 8 : 0);
  const auto store = [&](const auto& put) {
    int64_t j = tile.column + 4 * (lane % 4 / 2);
#pragma unroll 1
    for (int part = 0; part < Shape::k_parts; ++part) {
#pragma unroll
      for (int q = 0; q < Shape::k_box / 2; q += 4, j += 8) {
        const float(&own)[Shape::k_box / 2] = sum[0];
        float got[2];
#pragma unroll
        for (int e = 0; e < 2; ++e) got[e] = __shfl_xor_sync(~0u, odd ? own[q + e] : own[q + 2 + e], 1);
        const float four[4] = {odd ? got[0] : own[q], odd ? got[1] : own[q + 1], odd ? own[q + 2] : got[0],
                               odd ? own[q + 3] : got[1]};
        put(j, four);
      }
#pragma unroll
      for (int r = 0; r < Shape::k_box / 2; ++r)
#pragma unroll
        for (int to = 0; to + 1 < Shape::k_parts; ++to) sum[to][r] = sum[to + 1][r];
    }
  };
  using sums = const float(&)[4];
  if (!partial && p.epilogue.is_plain() && tile.row + Shape::k_m <= p.m && tile.column + Shape::k_n <= p.n)
    store([&](int64_t j, sums v) { p.epilogue.complete_plain(i, j, v); });
  else
    store([&](int64_t j, sums v) {
      if (i >= p.m || j >= p.n) return;
      if (partial)
        p.partials.store(tile.slice, i, j, 0, p.n - j, v);
      else
        p.epilogue.complete(i, j, p.n - j, v, false);
    });
}

template <class Shape, class TC>
__global__ void __launch_bounds__(Shape::k_threads, 1)
    matmul_mapped(const __grid_constant__ simt::tensor_map a, const __grid_constant__ simt::tensor_map b,
                  matmul_panel_product<TC> p, int64_t tiles) {
  if (!simt::is_sm_90()) return;
  if (p.partials.data != nullptr) simt::trigger_dependents();
  SIMT_DYN_SHARED(unsigned char, stages);
  auto* const full = reinterpret_cast<simt::mbarrier*>(stages + Shape::k_stages * Shape::k_stage_bytes);
  const matmul_box_ring ring{stages, full, full + Shape::k_stages};
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < Shape::k_stages) {
    ring.full[thread].init(1);
    ring.empty[thread].init(4 * Shape::k_warpgroups);
  }
  __syncthreads();
  matmul_ring_place<Shape::k_stages> next;
  if (thread >= Shape::k_consumers) {
    simt::set_max_registers<24, simt::register_change::release>();
    if (thread != Shape::k_consumers) return;
    for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x)
      matmul_fetch_boxes<Shape>(a, b, matmul_panel_tile::of<Shape>(p, number), p.k_panels, ring, next);
  } else {
    simt::set_max_registers<240, simt::register_change::raise>();
    const simt::matrix_descriptor of_a = matmul_describe_box(stages + thread / 128 * Shape::k_box_bytes);
    const simt::matrix_descriptor of_b = matmul_describe_box(stages + Shape::k_warpgroups * Shape::k_box_bytes);
    for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x) {
      const auto tile = matmul_panel_tile::of<Shape>(p, number);
      float sum[Shape::k_parts][Shape::k_box / 2] = {};
#pragma unroll 1
      for (int64_t l = tile.begin; l < tile.end; l += 2) matmul_add_stages<Shape>(ring, of_a, of_b, next, sum);
      matmul_store_sums<Shape>(p, tile, thread, sum);
    }
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
