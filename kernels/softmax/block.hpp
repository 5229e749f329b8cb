// softmax_block: a row lies in the registers of a block.
//
//   block i     load ............. | maximum | barrier | exponentials, sum | barrier | quotient, store
//   block i+1        load ............. | maximum | barrier | ...              on the same multiprocessor
//
// Cost per row: the row once in and out; two barriers. The loads of a row are all in flight at once; blocks of few
// bytes keep what a multiprocessor has in flight near the 48-64 KB that saturate memory (more only mixes reads and
// writes).
#pragma once

#include <cstdint>

#include "kernels/primitives/reduce.hpp"
#include "kernels/rows/argmax_key.hpp"
#include "kernels/rows/row_access.hpp"
#include "kernels/softmax/arguments.hpp"
#include "kernels/softmax/arithmetic.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

template <class T, row_access Access, int Vectors, int MaxThreads, int MinBlocks>
__global__ void __launch_bounds__(MaxThreads, MinBlocks) softmax_block(softmax_arguments<T> a) {
  using slice_type = row_slice<T, Access, Vectors>;
  using arithmetic = softmax_arithmetic<T>;
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(sum_scratch, float[k_max_warps]);
  SIMT_SHARED(argmax_key, int);
  for (int64_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
    const slice_type slice(a.x + r * a.ldx, static_cast<int>(a.cols), static_cast<int>(threadIdx.x),
                           static_cast<int>(blockDim.x));
    float value[slice_type::k_values];
    slice.template load<load_policy<T>>(value);

    if (threadIdx.x == 0) argmax_key = k_no_argmax_key<int>;
    const float own = max_of_values(value);
    const float maximum = block_reduce(own, max_of(), maximum_scratch);
    if (a.argmax != nullptr) offer_argmax_key(slice, value, own, maximum, &argmax_key);
    float sum =
        chained_sum<slice_type::k_values>([&](int i) { return value[i] = arithmetic::exp(value[i] - maximum); });
    block_post(sum, sum_of(), sum_scratch);
    __syncthreads();
    sum = block_fetch(sum_of(), sum_scratch);
    if (a.argmax != nullptr && threadIdx.x == 0) a.argmax[r] = index_of_argmax_key(argmax_key);

    const typename arithmetic::quotient over_sum(sum);
#pragma unroll
    for (int i = 0; i < slice_type::k_values; ++i) value[i] = over_sum(value[i]);
    slice.store(value, a.y + r * a.ldy);
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
