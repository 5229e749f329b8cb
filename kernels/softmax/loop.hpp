// softmax_loop: a block goes over a row of any length three times, with nothing kept in between.
//
//   one row of a block   load, maximum | barrier | load, exponential, add | barrier | load, exponential, divide, store
//
// Cost per row: the row three times in (four with an argmax) and once out, two barriers; each exponential twice. A
// thread's terms are added sixteen at a time in a tree, so that the longest chain is cols/2^14 + 14. No dispatch picks
// it: it is the plain kernel that the others are compared with, and accepts all calls that they refuse.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/primitives/quotient.hpp"
#include "kernels/primitives/reduce.hpp"
#include "kernels/rows/argmax_key.hpp"
#include "kernels/rows/row_access.hpp"
#include "kernels/softmax/arguments.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_loop_threads = 1024;
constexpr int k_loop_elements = 16;  // per thread and step

// Calls visit(start, value) for each group of k_loop_elements places of the row that falls to this thread; places
// outside the row hold -Inf. `start[k]` is the index of the first element of vector k.
template <class T, class Visit>
__device__ inline void sweep_row(const T* row, int64_t cols, Visit&& visit) {
  constexpr int k_width = row_vector<T>::k_width;
  constexpr int k_vectors = k_loop_elements / k_width;
  const int misalignment = misalignment_of(row);
  const int64_t step = static_cast<int64_t>(blockDim.x) * k_loop_elements;
  for (int64_t base = -misalignment; base < cols; base += step) {
    float value[k_loop_elements];
    int64_t start[k_vectors];
#pragma unroll
    for (int k = 0; k < k_vectors; ++k) {
      start[k] = base + (static_cast<int64_t>(k) * blockDim.x + threadIdx.x) * k_width;
      if (start[k] >= 0 && start[k] + k_width <= cols) {
        const row_vector<T> vector = load_vector(row + start[k]);
#pragma unroll
        for (int c = 0; c < k_width; ++c) value[k * k_width + c] = simt::to_float(vector.element[c]);
      } else {
#pragma unroll
        for (int c = 0; c < k_width; ++c) {
          const bool inside = start[k] + c >= 0 && start[k] + c < cols;
          value[k * k_width + c] = inside ? simt::to_float(row[start[k] + c]) : -INFINITY;
        }
      }
    }
    visit(start, value);
  }
}

template <int Count>
__device__ inline float tree_sum(const float* term) {
  if constexpr (Count == 1) {
    return term[0];
  } else {
    return tree_sum<Count / 2>(term) + tree_sum<Count / 2>(term + Count / 2);
  }
}

template <class T>
__global__ void __launch_bounds__(k_loop_threads) softmax_loop(softmax_arguments<T> a) {
  constexpr int k_width = row_vector<T>::k_width;
  constexpr int k_vectors = k_loop_elements / k_width;
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(sum_scratch, float[k_max_warps]);
  SIMT_SHARED(argmax_key_scratch, int64_t[k_max_warps]);
  for (int64_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
    const T* x = a.x + r * a.ldx;
    T* y = a.y + r * a.ldy;

    float maximum = -INFINITY;
    sweep_row(x, a.cols, [&](const int64_t(&)[k_vectors], const float(&value)[k_loop_elements]) {
#pragma unroll
      for (int i = 0; i < k_loop_elements; ++i) maximum = fmaxf(maximum, value[i]);
    });
    maximum = block_reduce(maximum, max_of(), maximum_scratch);

    if (a.argmax != nullptr) {
      int64_t argmax_key = k_no_argmax_key<int64_t>;
      sweep_row(x, a.cols, [&](const int64_t(&start)[k_vectors], const float(&value)[k_loop_elements]) {
#pragma unroll
        for (int i = 0; i < k_loop_elements; ++i)
          argmax_key =
              min_of<int64_t>()(argmax_key, argmax_key_of(value[i], start[i / k_width] + i % k_width, maximum));
      });
      argmax_key = block_reduce(argmax_key, min_of<int64_t>(), argmax_key_scratch);
      if (threadIdx.x == 0) a.argmax[r] = index_of_argmax_key(argmax_key);
    }

    float sum = 0.0f;
    sweep_row(x, a.cols, [&](const int64_t(&)[k_vectors], const float(&value)[k_loop_elements]) {
      float term[k_loop_elements];
#pragma unroll
      for (int i = 0; i < k_loop_elements; ++i) term[i] = expf(value[i] - maximum);
      sum += tree_sum<k_loop_elements>(term);
    });
    sum = block_reduce(sum, sum_of(), sum_scratch);

    const row_quotient over_sum(sum);
    const bool by_vector = misalignment_of(x) == misalignment_of(y);
    sweep_row(x, a.cols, [&](const int64_t(&start)[k_vectors], const float(&value)[k_loop_elements]) {
#pragma unroll
      for (int k = 0; k < k_vectors; ++k) {
        row_vector<T> result;
#pragma unroll
        for (int c = 0; c < k_width; ++c)
          result.element[c] = simt::from_float<T>(over_sum(expf(value[k * k_width + c] - maximum)));
        if (by_vector && start[k] >= 0 && start[k] + k_width <= a.cols) {
          store_vector(y + start[k], result);
        } else {
#pragma unroll
          for (int c = 0; c < k_width; ++c)
            if (start[k] + c >= 0 && start[k] + c < a.cols) y[start[k] + c] = result.element[c];
        }
      }
    });
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
