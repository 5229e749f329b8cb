// Products over all steps of a chunk whose operands do not lie in rows, and sums over rows. A function of its place
// reads each operand, so that rows beyond a length are zeros on both sides, and the states that entered need no copy.
#pragma once

#include <cstdint>

#include "kernels/gru/operand.hpp"
#include "kernels/gru/sequence.hpp"
#include "kernels/primitives/grid.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_gru_tile = 32;          // rows and columns of a block's tile, and products between two additions to it
constexpr int k_gru_tile_threads = 64;  // each has 4 x 4 elements
constexpr int64_t k_gru_slice = 2048;   // products of a slice of a sum over rows; more if there were too many slices
constexpr int64_t k_gru_most_slices = 1024;

// Additions in the longest chain of a sum of `count` products within a slice.
constexpr int64_t gru_product_depth(int64_t count) {
  return (count < k_gru_tile ? count : k_gru_tile) + ceil_div(count, k_gru_tile);
}

// Row l of a chunk is a pair (step, row of the batch); d is the direction.
struct gru_chunk_rows {
  gru_sequence s;
  gru_chunk chunk;

  __device__ __host__ int64_t count() const { return (chunk.end[0] - chunk.begin[0]) * s.batch; }
  __device__ int64_t time(int d, int64_t l) const { return chunk.begin[d] + l / s.batch; }
  __device__ int64_t batch(int64_t l) const { return l % s.batch; }
  __device__ bool active(int d, int64_t l) const { return time(d, l) < s.length(batch(l)); }
};

// Operands: element (i, l) of the left one, (l, j) of the right one.
struct gru_x_rows {
  gru_chunk_rows rows;
  const float* x;
  int64_t input;
  __device__ float operator()(int d, int64_t l, int64_t i) const {
    return rows.active(d, l) ? x[(rows.time(d, l) * rows.s.batch + rows.batch(l)) * input + i] : 0.0f;
  }
};
struct gru_entering_rows {
  gru_chunk_rows rows;
  __device__ float operator()(int d, int64_t l, int64_t k) const {
    if (!rows.active(d, l)) return 0.0f;
    const int64_t b = rows.batch(l);
    const float* const h = rows.s.entering(d, rows.time(d, l), b, rows.s.length(b));
    return h == nullptr ? 0.0f : h[k];
  }
};
// Gradients in the order r, z, n; of_state: dgh, else dgi. Panel blocks are d_n, d_r, d_z, d_n r.
struct gru_gradient_rows {
  gru_chunk_rows rows;
  gru_panel panel;
  bool of_state;
  __device__ float operator()(int d, int64_t l, int64_t j) const {
    if (!rows.active(d, l)) return 0.0f;
    const int64_t hidden = rows.s.hidden, from_n = j - 2 * hidden;
    const int64_t place = from_n < 0 ? hidden + j : of_state ? 3 * hidden + from_n : from_n;
    return panel.row(d, rows.time(d, l), rows.batch(l))[place];
  }
};
struct gru_weights {
  const float* w[2];
  int64_t columns;
  __device__ float operator()(int d, int64_t row, int64_t column) const { return w[d][row * columns + column]; }
};

template <class F>
struct gru_transposed {
  F f;
  __device__ float operator()(int d, int64_t i, int64_t j) const { return f(d, j, i); }
};
template <class F>
struct gru_rounded {
  F f;
  gru_operand<true> operand;
  __device__ float operator()(int d, int64_t i, int64_t j) const { return operand(f(d, i, j)); }
};
// Results.
struct gru_state_sums {  // gh: added to gi for r and z, stored beside it for n
  gru_chunk_rows rows;
  gru_panel panel;
  const float* bias[2];
  __device__ void operator()(int d, int64_t, int64_t l, int64_t j, float sum) const {
    float* const row = panel.row(d, rows.time(d, l), rows.batch(l));
    const float gh = bias[d] == nullptr ? sum : sum + bias[d][j];
    if (j < 2 * rows.s.hidden)
      row[j] += gh;
    else
      row[rows.s.hidden + j] = gh;
  }
};
struct gru_partials {  // [direction][slice][rows][columns]
  float* data;
  int64_t slices, elements, columns;
  __device__ void operator()(int d, int64_t slice, int64_t i, int64_t j, float sum) const {
    data[(d * slices + slice) * elements + i * columns + j] = sum;
  }
};

// sum_l left(i, l) right(l, j) for l of each slice, i < m, j < n. Block x is a tile, y a slice, z a direction.
template <class Left, class Right, class Out>
__global__ void __launch_bounds__(k_gru_tile_threads)
    gru_product(Left left, Right right, Out out, int64_t m, int64_t n, int64_t inner, int64_t slice_length) {
  SIMT_SHARED(a, float[k_gru_tile][k_gru_tile + 1]);  // [l][i]
  SIMT_SHARED(b, float[k_gru_tile][k_gru_tile + 1]);  // [l][j]
  const int64_t across = ceil_div(n, k_gru_tile);
  const int64_t top = blockIdx.x / across * k_gru_tile, side = blockIdx.x % across * k_gru_tile;
  const int64_t slice = blockIdx.y;
  const int d = static_cast<int>(blockIdx.z), thread = static_cast<int>(threadIdx.x);
  const int row = thread / 8 * 4, column = thread % 8 * 4;
  const int64_t first = slice * slice_length;
  const int64_t last = inner - first < slice_length ? inner : first + slice_length;
  float total[4][4] = {};
  for (int64_t begin = first; begin < last; begin += k_gru_tile) {
    for (int e = thread; e < k_gru_tile * k_gru_tile; e += k_gru_tile_threads) {
      const int across_tile = e % k_gru_tile, down = e / k_gru_tile;
      const int64_t of_a = begin + across_tile, of_b = begin + down;
      a[across_tile][down] = top + down < m && of_a < last ? left(d, top + down, of_a) : 0.0f;
      b[down][across_tile] = side + across_tile < n && of_b < last ? right(d, of_b, side + across_tile) : 0.0f;
    }
    __syncthreads();
    float part[4][4] = {};
    for (int l = 0; l < k_gru_tile; ++l)
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) part[i][j] = fmaf(a[l][row + i], b[l][column + j], part[i][j]);
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) total[i][j] += part[i][j];
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      if (top + row + i < m && side + column + j < n) out(d, slice, top + row + i, side + column + j, total[i][j]);
}

constexpr int k_gru_elements_threads = 128;

// Adds slices in their order to the result of earlier chunks.
__global__ void __launch_bounds__(k_gru_elements_threads)
    gru_add_slices(gru_partials partials, float* to0, float* to1, bool first) {
  const int d = static_cast<int>(blockIdx.y);
  float* const to = d == 0 ? to0 : to1;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  if (to == nullptr) return;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < partials.elements; i += step) {
    float sum = first ? 0.0f : to[i];
    for (int64_t slice = 0; slice < partials.slices; ++slice)
      sum += partials.data[(d * partials.slices + slice) * partials.elements + i];
    to[i] = sum;
  }
}

// Sums over rows of the panel's four blocks: the threads of a block cover columns side by side and rows one below the
// other, both of a slice. Rows without a step are zeros.
constexpr int k_gru_bias_columns = 32, k_gru_bias_rows = 8;
constexpr int64_t gru_bias_depth(int64_t slice) { return ceil_div(slice, k_gru_bias_rows) + k_gru_bias_rows; }

__global__ void __launch_bounds__(k_gru_bias_columns* k_gru_bias_rows)
    gru_sum_biases(const float* panel, int64_t direction_rows, int64_t rows, int64_t slice_length,
                   gru_partials partials) {
  SIMT_SHARED(sums, float[k_gru_bias_rows][k_gru_bias_columns]);
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y), d = static_cast<int>(blockIdx.z);
  const int64_t columns = partials.columns, column = static_cast<int64_t>(blockIdx.x) * k_gru_bias_columns + x;
  const int64_t first = blockIdx.y * slice_length;
  const int64_t last = rows - first < slice_length ? rows : first + slice_length;
  float sum = 0.0f;
  if (column < columns)
    for (int64_t row = first + y; row < last; row += k_gru_bias_rows)
      sum += panel[(d * direction_rows + row) * columns + column];
  sums[y][x] = sum;
  __syncthreads();
  if (y > 0 || column >= columns) return;
  for (int other = 1; other < k_gru_bias_rows; ++other) sum += sums[other][x];
  partials(d, blockIdx.y, 0, column, sum);
}

struct gru_bias_gradients {
  float* ih[2];
  float* hh[2];
};
// Adds slices in their order to the result of earlier chunks. Blocks n, r, z of the panel are db_ih, blocks r, z, n r
// db_hh.
__global__ void __launch_bounds__(k_gru_elements_threads)
    gru_add_biases(gru_partials partials, gru_bias_gradients to, bool first) {
  const int d = static_cast<int>(blockIdx.y);
  const int64_t hidden = partials.columns / 4;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * k_gru_elements_threads + threadIdx.x;
  if (column >= partials.columns) return;
  const auto add = [&](float* gradient) {
    float sum = first ? 0.0f : *gradient;
    for (int64_t slice = 0; slice < partials.slices; ++slice)
      sum += partials.data[(d * partials.slices + slice) * partials.elements + column];
    *gradient = sum;
  };
  if (to.ih[d] != nullptr && column < 3 * hidden)
    add(to.ih[d] + (column < hidden ? 2 * hidden + column : column - hidden));
  if (to.hh[d] != nullptr && column >= hidden) add(to.hh[d] + column - hidden);
}

// Writes zeros at the steps that a row does not have, because a product with an infinite weight would not give them.
__global__ void __launch_bounds__(k_gru_elements_threads) gru_clear_padding(gru_sequence s, float* dx, int64_t input) {
  const int64_t count = s.time * s.batch * input, step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    if (i / input / s.batch >= s.length(i / input % s.batch)) dx[i] = 0.0f;
}

// Turns sums into gates: blocks a_r, a_z, gi_n, gh_n become r, z, n, hn.
__global__ void __launch_bounds__(k_gru_elements_threads) gru_open_gates(gru_panel panel, int64_t rows) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < rows * panel.hidden; i += step) {
    float* const row = panel.data + i / panel.hidden * 4 * panel.hidden + i % panel.hidden;
    const gru_gates g =
        gru_gates_of(row[0], 0.0f, row[panel.hidden], 0.0f, row[2 * panel.hidden], row[3 * panel.hidden]);
    row[0] = g.r;
    row[panel.hidden] = g.z;
    row[2 * panel.hidden] = g.n;
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
