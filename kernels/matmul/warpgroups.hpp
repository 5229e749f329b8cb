// Panels multiplied by warpgroups: wgmma, on GPUs of compute capability 9.0. One thread fetches the operands by bulk
// copies into a ring of slots; each of the other warpgroups owns 64 rows of the tile. A slot holds a unit: the tile's
// rows of A, or the columns of one of its halves of B, over a panel's depth. After every 64 products along k the
// accumulators of a half are added to sums of f32, while the other warpgroup's products continue.
// Cost: at the full rate of the tensor cores a tile of 128 x 256 in bf16x6 reads 24 bytes of the L2 cache a clock.
#pragma once

#include <cstdint>

#include "kernels/matmul/panels.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// Warpgroups x 64 rows; Halves times Columns columns. A warpgroup multiplies one half after the other, so that only the
// accumulators of one half need registers beside the sums of both. Slots: 0 for as many as shared memory holds.
template <class Arithmetic, int Warpgroups, int Columns, int Halves, int Slots = 0>
struct matmul_warpgroup_shape {
  using panel = matmul_panel<Arithmetic>;
  static constexpr int k_warpgroups = Warpgroups, k_columns = Columns, k_halves = Halves;
  static constexpr int k_m = 64 * Warpgroups, k_n = Columns * Halves;
  static constexpr int k_consumers = 128 * Warpgroups, k_threads = k_consumers + 128;
  static constexpr int k_slot_bytes = (k_m > Columns ? k_m : Columns) / 8 * panel::k_strip_bytes;
  static constexpr int k_most_bytes = 226 * 1024;  // of the 227 KiB, beside the barriers
  static constexpr int k_slots = Slots > 0 ? Slots : k_most_bytes / k_slot_bytes;
  static constexpr size_t k_shared_bytes = static_cast<size_t>(k_slots) * k_slot_bytes;
  // A chunk's units of A stay until its last half. Slots are filled in order: the first half and the unit after it fit
  // beside them.
  static_assert(Halves <= 2 && k_slots > 2 * k_matmul_promotion / Arithmetic::k_depth, "the ring holds a chunk's half");
  static_assert(k_shared_bytes >= sizeof(float) * k_m * k_matmul_staged_pitch<k_n>, "sums fit where units were");
};

// The slots and their barriers: full, by the bytes of a unit; empty, by each consuming warp.
template <class Shape>
struct matmul_ring {
  unsigned char* slots;
  simt::mbarrier* full;
  simt::mbarrier* empty;
};

// The next slot, and the parity of the phase that fills it.
template <int Slots>
struct matmul_ring_place {
  int slot = 0;
  unsigned parity = 0;

  __device__ void advance(int units) {
    slot += units;
    if (slot >= Slots) {
      slot -= Slots;
      parity ^= 1;
    }
  }
};

// Fetches all units of the tile in the order of multiplication: for each chunk of k those of the first half, each after
// the unit of A of the same depth, then those of the other halves.
template <class Arithmetic, class Shape, class TC>
__device__ __forceinline__ void matmul_fetch(const matmul_panel_product<TC>& p, const matmul_panel_tile& tile,
                                             const matmul_ring<Shape>& ring) {
  using panel = matmul_panel<Arithmetic>;
  constexpr int k_chunk = k_matmul_promotion / Arithmetic::k_depth;
  matmul_ring_place<Shape::k_slots> next;
  // `extent` outer indices from `outer` on. The last panel replaces a panel that does not exist; its results are not
  // stored.
  const auto put = [&](const matmul_packed& x, int64_t outer, int extent, int64_t k_panel) {
    ring.empty[next.slot].wait(next.parity ^ 1);
    simt::mbarrier* const full = &ring.full[next.slot];
    full->arrive_expect_tx(static_cast<unsigned>(extent / 8 * panel::k_strip_bytes));
    for (int at = 0; at < extent; at += panel::k_outer) {
      const int64_t wanted = (outer + at) / panel::k_outer, last = x.count - 1;
      const int64_t first_strip = (outer + at) % panel::k_outer / 8;
      const int size = extent - at < panel::k_outer ? extent - at : panel::k_outer;
      simt::bulk_copy(ring.slots + next.slot * Shape::k_slot_bytes + at / 8 * panel::k_strip_bytes,
                      x.panels + ((wanted < last ? wanted : last) * p.k_panels + k_panel) * panel::k_bytes +
                          first_strip * panel::k_strip_bytes,
                      static_cast<unsigned>(size / 8 * panel::k_strip_bytes), full);
    }
    next.advance(1);
  };
  for (int64_t chunk = tile.begin; chunk < tile.end; chunk += k_chunk) {
    const int64_t end = tile.end - chunk < k_chunk ? tile.end : chunk + k_chunk;
    for (int half = 0; half < Shape::k_halves; ++half)
      for (int64_t l = chunk; l < end; ++l) {
        if (half == 0) put(p.a, tile.row, Shape::k_m, l);
        put(p.b, tile.column + half * Shape::k_columns, Shape::k_columns, l);
      }
  }
}

// acc (+)= the products of two units, which are in flight afterwards.
template <class Arithmetic, class Shape>
__device__ __forceinline__ void matmul_multiply_units(const unsigned char* a, const unsigned char* b, bool accumulate,
                                                      float (&acc)[Shape::k_columns / 2]) {
  using panel = matmul_panel<Arithmetic>;
  const auto describe = [](const unsigned char* unit) {
    return simt::make_matrix_descriptor(unit, panel::k_core_bytes, panel::k_strip_bytes, simt::swizzle::none);
  };
  const simt::matrix_descriptor a_unit = describe(a), b_unit = describe(b);
#pragma unroll
  for (int step = 0; step < panel::k_cores / 2; ++step)
#pragma unroll
    for (int q = 0; q < Arithmetic::k_products; ++q) {
      const auto at = [step](int part) {
        return static_cast<unsigned>(part * panel::k_part_bytes + 2 * step * panel::k_core_bytes);
      };
      simt::wgmma<Shape::k_columns, typename Arithmetic::operand>(acc, a_unit.advanced(at(Arithmetic::a_part(q))),
                                                                  b_unit.advanced(at(Arithmetic::b_part(q))),
                                                                  accumulate || step > 0 || q > 0);
    }
  simt::wgmma_commit();
}

// The sums of a warpgroup's rows over all of the tile's panels.
template <class Arithmetic, class Shape>
__device__ __forceinline__ void matmul_consume(const matmul_panel_tile& tile, const matmul_ring<Shape>& ring,
                                               int warpgroup, float (&sum)[Shape::k_halves][Shape::k_columns / 2]) {
  using place = matmul_ring_place<Shape::k_slots>;
  constexpr int k_chunk = k_matmul_promotion / Arithmetic::k_depth;
  const bool releases = threadIdx.x % 32 == 0;
  const auto unit = [&](int slot) { return ring.slots + slot * Shape::k_slot_bytes; };
  const int own_rows = warpgroup * 8 * matmul_panel<Arithmetic>::k_strip_bytes;
  float acc[Shape::k_columns / 2];
#pragma unroll
  for (int i = 0; i < Shape::k_columns / 2; ++i) {
    acc[i] = 0.0f;
#pragma unroll
    for (int half = 0; half < Shape::k_halves; ++half) sum[half][i] = 0.0f;
  }
  place next;
  for (int64_t chunk = tile.begin; chunk < tile.end; chunk += k_chunk) {
    const int panels = static_cast<int>(tile.end - chunk < k_chunk ? tile.end - chunk : k_chunk);
    place a_of_chunk = next;
#pragma unroll
    for (int half = 0; half < Shape::k_halves; ++half) {
      place a = a_of_chunk;
      int a_before = 0, b_before = 0;
      const auto release = [&] {
        if (!releases) return;
        ring.empty[b_before].arrive();
        if (half + 1 == Shape::k_halves) ring.empty[a_before].arrive();
      };
      simt::wgmma_fence(acc);
#pragma unroll 1
      for (int l = 0; l < panels; ++l) {
        if (half == 0) {
          ring.full[next.slot].wait(next.parity);
          next.advance(1);
        }
        ring.full[next.slot].wait(next.parity);
        matmul_multiply_units<Arithmetic, Shape>(unit(a.slot) + own_rows, unit(next.slot), l > 0, acc);
        if (l > 0) {
          simt::wgmma_wait<1>();
          release();
        }
        a_before = a.slot;
        b_before = next.slot;
        a.advance(2);
        next.advance(1);
      }
      simt::wgmma_wait<0>(acc);
      release();
#pragma unroll
      for (int i = 0; i < Shape::k_columns / 2; ++i) sum[half][i] += acc[i];
    }
  }
}

// Writes a warpgroup's sums to the tile in shared memory.
template <class Shape>
__device__ __forceinline__ void matmul_stage_sums(const float (&sum)[Shape::k_halves][Shape::k_columns / 2], int thread,
                                                  float* staged) {
  const int lane = thread % 32;
  float* const own = staged + (thread / 32 * 16 + lane / 4) * k_matmul_staged_pitch<Shape::k_n> + 2 * (lane % 4);
#pragma unroll
  for (int half = 0; half < Shape::k_halves; ++half)
#pragma unroll
    for (int i = 0; i < Shape::k_columns / 2; i += 2)
      *reinterpret_cast<float2*>(own + i / 2 % 2 * 8 * k_matmul_staged_pitch<Shape::k_n> + half * Shape::k_columns +
                                 i / 4 * 8) = make_float2(sum[half][i], sum[half][i + 1]);
}

template <class Arithmetic, class Shape, class TC>
__global__ void __launch_bounds__(Shape::k_threads, 1) matmul_warpgroups(matmul_panel_product<TC> p) {
  if (!simt::is_sm_90()) return;
  if (p.partials.data != nullptr) simt::trigger_dependents();
  SIMT_DYN_SHARED(unsigned char, slots);
  SIMT_SHARED(full, simt::mbarrier[Shape::k_slots]);
  SIMT_SHARED(empty, simt::mbarrier[Shape::k_slots]);
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < Shape::k_slots) {
    full[thread].init(1);
    empty[thread].init(4 * Shape::k_warpgroups);
  }
  __syncthreads();
  const auto tile = matmul_panel_tile::of<Shape>(p, blockIdx.x);
  const matmul_ring<Shape> ring{slots, full, empty};
  if (thread >= Shape::k_consumers) {
    if (Shape::k_warpgroups == 2) simt::set_max_registers<40, simt::register_change::release>();
    if (thread == Shape::k_consumers) matmul_fetch<Arithmetic>(p, tile, ring);
  } else {
    if (Shape::k_warpgroups == 2) simt::set_max_registers<232, simt::register_change::raise>();
    float sum[Shape::k_halves][Shape::k_columns / 2];
    matmul_consume<Arithmetic>(tile, ring, thread / 128, sum);
    simt::named_barrier<1>::sync(Shape::k_consumers);  // nobody multiplies from the slots any more
    float* const staged = reinterpret_cast<float*>(slots);
    matmul_stage_sums<Shape>(sum, thread, staged);
    simt::named_barrier<1>::sync(Shape::k_consumers);
    matmul_store_tile<Shape::k_m, Shape::k_n, Shape::k_consumers>(p, tile, staged, thread);
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
