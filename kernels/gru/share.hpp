// The products of a block at a step: its share of W_hh, which stays in registers for the whole sequence. `Lanes` lanes
// of a warp are parts of the sums of Outputs outputs, and WarpsInner warps share such sums. Shared memory is the cost:
// 32 lanes take four clocks to read a vector each, and one clock for each sum that lanes add. With R outputs and K
// inner indices a thread, that is 4/R clocks, and if 32 lanes add another 4/K, for each clock of a multiprocessor's
// FMAs.
#pragma once

#include <cstdint>

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

__device__ __host__ constexpr int gru_log2(int lanes) { return lanes == 1 ? 0 : 1 + gru_log2(lanes / 2); }

// A thread has Outputs x Inner weights and multiplies Rows rows of the batch at a time. The inner index runs over
// Segments, which are the three gates in the backward pass.
template <int Threads, int Segments, int WarpsInner, int Outputs, int Inner, int Rows, int Lanes = 32>
struct gru_share {
  static constexpr int k_threads = Threads, k_segments = Segments, k_warps_inner = WarpsInner;
  static constexpr int k_thread_outputs = Outputs, k_thread_inner = Inner, k_rows = Rows;
  static constexpr int k_lanes = Lanes;
  static constexpr int k_outputs = Threads / k_lanes / WarpsInner * Outputs;  // of a block
  static constexpr int k_stride = 4 * k_lanes * WarpsInner;
  static constexpr int k_inner = k_stride / 4 * Inner;  // products of a sum
  static constexpr int k_width = k_inner / Segments;    // of a segment
  static_assert(Inner % 4 == 0 && Threads % (k_lanes * WarpsInner) == 0, "vectors of four, and whole warps");
  static_assert(k_width % (4 * k_lanes) == 0, "the vectors of a warp lie in one segment");
  // Additions in the longest chain of a sum: a thread's products, the lanes, the warps.
  static constexpr int k_depth = Inner + gru_log2(Lanes) + WarpsInner - 1;

  // A thread's inner indices are first_inner() + i * k_stride .. + 3, i < Inner / 4.
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % k_lanes; }
  __device__ static int warp_inner() { return static_cast<int>(threadIdx.x) / k_lanes % WarpsInner; }
  __device__ static int first_inner() { return 4 * (warp_inner() * k_lanes + lane()); }
  __device__ static int first_output() { return static_cast<int>(threadIdx.x) / (k_lanes * WarpsInner) * Outputs; }
};

// The weights of an output: element j of segment s is data[s * segment_step + j * step]; null: zeros.
struct gru_weight_row {
  const float* data;
  int64_t segment_step, step;
};
template <class Share, class Operand, class Row>
__device__ void gru_load_share(float (&w)[Share::k_thread_outputs][Share::k_thread_inner], int64_t hidden,
                               const Operand& operand, const Row& row) {
#pragma unroll
  for (int o = 0; o < Share::k_thread_outputs; ++o) {
    const gru_weight_row weights = row(Share::first_output() + o);
#pragma unroll
    for (int i = 0; i < Share::k_thread_inner; ++i) {
      const int inner = Share::first_inner() + i / 4 * Share::k_stride + i % 4;
      const int segment = inner / Share::k_width, j = inner % Share::k_width;
      w[o][i] = operand(weights.data != nullptr && j < hidden
                            ? weights.data[segment * weights.segment_step + j * weights.step]
                            : 0.0f);
    }
  }
}

// Adds Count sums of each lane over 2 Distance lanes by a tree; for a whole warp lanes 16 apart, then 8, 4, 2, 1. While
// the number of sums is even, each of two lanes continues with half of them. Returns the index of the first sum that
// this lane ends with; this and the following sums are then complete in v[0], v[1], ...
template <int Count, int Distance = 16>
__device__ int gru_add_lanes(float* v, int lane) {
  if constexpr (Distance == 0) {
    return 0;
  } else if constexpr (Count % 2 == 0) {
    const bool upper = (lane & Distance) != 0;
#pragma unroll
    for (int i = 0; i < Count / 2; ++i) {
      const float mine = upper ? v[i + Count / 2] : v[i];
      const float others = upper ? v[i] : v[i + Count / 2];
      v[i] = mine + __shfl_xor_sync(0xffffffffu, others, Distance);
    }
    return (upper ? Count / 2 : 0) + gru_add_lanes<Count / 2, Distance / 2>(v, lane);
  } else {
#pragma unroll
    for (int i = 0; i < Count; ++i) v[i] += __shfl_xor_sync(0xffffffffu, v[i], Distance);
    return gru_add_lanes<Count, Distance / 2>(v, lane);
  }
}
// Returns the number of times that the count can be halved.
__device__ __host__ constexpr int gru_halvings(int count) {
  int halvings = 0;
  for (; count % 2 == 0 && halvings < 5; count /= 2) ++halvings;
  return halvings;
}

// A thread's parts of the sums [row][output] of Rows rows, k_inner floats apart in shared memory.
template <class Share, int Rows>
__device__ void gru_multiply_share(const float (&w)[Share::k_thread_outputs][Share::k_thread_inner], const float* rows,
                                   float (&sum)[Rows * Share::k_thread_outputs]) {
  constexpr int k_outputs = Share::k_thread_outputs;
#pragma unroll
  for (float& s : sum) s = 0.0f;
  const float* const from = rows + Share::first_inner();
#pragma unroll
  for (int i = 0; i < Share::k_thread_inner / 4; ++i)
#pragma unroll
    for (int row = 0; row < Rows; ++row) {
      const float4 v = *reinterpret_cast<const float4*>(from + row * Share::k_inner + i * Share::k_stride);
#pragma unroll
      for (int o = 0; o < k_outputs; ++o) sum[row * k_outputs + o] = fmaf(w[o][4 * i], v.x, sum[row * k_outputs + o]);
#pragma unroll
      for (int o = 0; o < k_outputs; ++o)
        sum[row * k_outputs + o] = fmaf(w[o][4 * i + 1], v.y, sum[row * k_outputs + o]);
#pragma unroll
      for (int o = 0; o < k_outputs; ++o)
        sum[row * k_outputs + o] = fmaf(w[o][4 * i + 2], v.z, sum[row * k_outputs + o]);
#pragma unroll
      for (int o = 0; o < k_outputs; ++o)
        sum[row * k_outputs + o] = fmaf(w[o][4 * i + 3], v.w, sum[row * k_outputs + o]);
    }
}

// Adds Rows rows to the partial sums [row][output] of this thread's warp. The order of additions does not depend on
// Rows.
template <class Share, int Rows>
__device__ void gru_multiply_rows(const float (&w)[Share::k_thread_outputs][Share::k_thread_inner], const float* rows,
                                  float* partials) {
  constexpr int k_outputs = Share::k_thread_outputs, k_sums = Rows * k_outputs;
  float sum[k_sums];
  gru_multiply_share<Share, Rows>(w, rows, sum);
  constexpr int k_halvings = gru_halvings(k_sums), k_left = k_sums >> k_halvings;
  const int lane = Share::lane(), first = gru_add_lanes<k_sums>(sum, lane);
  if (lane % (Share::k_lanes >> k_halvings) != 0) return;
#pragma unroll
  for (int i = 0; i < k_left; ++i)
    partials[(first + i) / k_outputs * Share::k_outputs + Share::first_output() + (first + i) % k_outputs] = sum[i];
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
