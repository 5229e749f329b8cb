// Sets every element of a vector.
#pragma once

#include <cstdint>

#include "kernels/primitives/grid.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_fill_threads = 256;

template <class V>
__global__ void __launch_bounds__(k_fill_threads) fill_values(V* y, int64_t count, V value) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x)
    y[i] = value;
}

template <class V>
void fill(V* y, int64_t count, V value, simt::stream_t stream) {
  if (count > 0)
    simt::launch({grid_size(ceil_div(count, k_fill_threads), stream), k_fill_threads, 0, stream}, fill_values<V>, y,
                 count, value);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
