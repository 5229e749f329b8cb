// softmax_subwarp, softmax_warp: `Lanes` lanes hold a row in registers.
//
//   a warp, Rows = 2   load row 0, load row 1 | maximum 0, 1 | exponentials, sum 0, 1 | quotient, store 0, store 1
//                      <-- in flight ------->   <-- shuffles among the Lanes lanes -->
//
// A warp takes 32/Lanes * Rows neighbouring rows at a time, `Rows` of them in flight per lane.
//
// Cost per row: the row once in and out, each exponential once, 2 log2(Lanes) shuffles; no barrier. Short rows are
// limited by bytes in flight, 16-bit rows by arithmetic. Reading the next rows ahead was tried: it spills
// (docs/notes/softmax.md).
#pragma once

#include <cstdint>

#include "kernels/primitives/reduce.hpp"
#include "kernels/rows/argmax_key.hpp"
#include "kernels/rows/row_access.hpp"
#include "kernels/rows/row_warp.hpp"
#include "kernels/softmax/arguments.hpp"
#include "kernels/softmax/arithmetic.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

template <class T, row_access Access, int Lanes, int Vectors, int Rows>
__global__ void __launch_bounds__(lanes_threads(Rows* Vectors* access_width<T, Access>),
                                  lanes_resident_blocks<T>(Rows* Vectors* access_width<T, Access>))
    softmax_warp(softmax_arguments<T> a) {
  using slice_type = row_slice<T, Access, Vectors>;
  using arithmetic = softmax_arithmetic<T>;
  constexpr int k_groups = k_warp_size / Lanes;
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const int group = static_cast<int>(threadIdx.x) % k_warp_size / Lanes;
  const int64_t warp = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / k_warp_size;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * blockDim.x / k_warp_size;
  // A row after the last is empty: its lanes stay active for the shuffles and access nothing.
  const auto slice_of = [&](int64_t r) {
    const bool exists = r < a.rows;
    return slice_type(a.x + (exists ? r * a.ldx : 0), exists ? static_cast<int>(a.cols) : 0, lane, Lanes);
  };
  for (int64_t base = warp * k_groups * Rows; base < a.rows; base += warps * k_groups * Rows) {
    float value[Rows][slice_type::k_values];
    float maximum[Rows];
    float sum[Rows];
#pragma unroll
    for (int j = 0; j < Rows; ++j) slice_of(base + j * k_groups + group).template load<load_policy<T>>(value[j]);
#pragma unroll
    for (int j = 0; j < Rows; ++j) {
      maximum[j] = lanes_maximum<Lanes>(max_of_values(value[j]));
    }
    if (a.argmax != nullptr) {
#pragma unroll
      for (int j = 0; j < Rows; ++j) {
        const int64_t r = base + j * k_groups + group;
        const int argmax_key =
            lane_reduce<Lanes>(argmax_key_of_maximum(slice_of(r), value[j], maximum[j]), min_of<int>());
        if (lane == 0 && r < a.rows) a.argmax[r] = index_of_argmax_key(argmax_key);
      }
    }
#pragma unroll
    for (int j = 0; j < Rows; ++j) {
      sum[j] = chained_sum<slice_type::k_values>(
          [&](int i) { return value[j][i] = arithmetic::exp(value[j][i] - maximum[j]); });
      sum[j] = lane_reduce<Lanes>(sum[j], sum_of());
    }
#pragma unroll
    for (int j = 0; j < Rows; ++j) {
      const int64_t r = base + j * k_groups + group;
      const typename arithmetic::quotient over_sum(sum[j]);
#pragma unroll
      for (int i = 0; i < slice_type::k_values; ++i) value[j][i] = over_sum(value[j][i]);
      slice_of(r).store(value[j], a.y + (r < a.rows ? r * a.ldy : 0));
    }
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
