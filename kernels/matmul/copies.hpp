// Asynchronous copies of an operand's tiles into shared memory, where the outer index (row of op(A), column of op(B))
// is contiguous whatever the layout in device memory.
#pragma once

#include <cstdint>

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// Layout of an operand in device memory, and the unit of a copy. along_outer: neighbours in the outer index are
// neighbours in memory, by words or by aligned vectors of four. along_k: neighbours in k are, by words, which the copy
// transposes.
enum class matmul_layout : uint8_t { along_outer, vectors, along_k };

struct matmul_operand {
  const float* data;
  int64_t outer_stride, k_stride;  // elements; that of the contiguous index is 1
  matmul_layout layout;
};

// A tile of Outer x Depth elements in shared memory: element (o, l) at l * Pitch + o.
template <int Outer, int Depth, int Threads>
class matmul_copies {
 public:
  // Multiples of 4 words keep vectors aligned; 4 past a multiple of 32 makes a transposing copy free of bank conflicts.
  static constexpr int k_pitch = Outer + 4;
  static constexpr int k_words = Depth * k_pitch;

  // `outer` and `k`: the first of the tile.
  __device__ matmul_copies(const matmul_operand& x, int64_t outer, int64_t k)
      : x_(x), source_(x.data + outer * x.outer_stride + k * x.k_stride) {
    const int t = static_cast<int>(threadIdx.x);
    switch (x.layout) {
      case matmul_layout::along_k:
        outer_ = t / 8;
        k_ = t % 8;
        break;
      case matmul_layout::along_outer:
        outer_ = t % 32;
        k_ = t / 32;
        break;
      case matmul_layout::vectors:
        outer_ = 4 * (t % k_row_vectors);
        k_ = t / k_row_vectors;
        break;
    }
    source_ += outer_ * x.outer_stride + k_ * x.k_stride;
  }

  // A whole tile to `stage`, then on to the next one along k.
  __device__ void copy(float* stage) {
    float* const to = stage + k_ * k_pitch + outer_;
    switch (x_.layout) {
      case matmul_layout::along_k:
#pragma unroll
        for (int j = 0; j < Depth / 8; ++j)
#pragma unroll
          for (int i = 0; i < Outer / (Threads / 8); ++i)
            simt::cp_async<4>(to + 8 * j * k_pitch + i * (Threads / 8),
                              source_ + 8 * j + i * (Threads / 8) * x_.outer_stride);
        break;
      case matmul_layout::along_outer:
#pragma unroll
        for (int j = 0; j < Depth / k_warps; ++j)
#pragma unroll
          for (int i = 0; i < Outer / 32; ++i)
            simt::cp_async<4>(to + j * k_warps * k_pitch + 32 * i, source_ + j * k_warps * x_.k_stride + 32 * i);
        break;
      case matmul_layout::vectors:
#pragma unroll
        for (int j = 0; j < Depth / k_vector_rows; ++j)
          simt::cp_async<16>(to + j * k_vector_rows * k_pitch, source_ + j * k_vector_rows * x_.k_stride);
        break;
    }
    source_ += Depth * x_.k_stride;
  }

  // The same if only `outer` of the tile's outer indices and `depth` of its k exist. Other elements are not read. They
  // are not written beyond `depth`; those of outer indices that do not exist become 0.
  __device__ void copy_part(float* stage, int outer, int depth) {
    const bool rows = x_.layout == matmul_layout::along_k, vectors = x_.layout == matmul_layout::vectors;
    const int outer_step = rows ? Threads / 8 : vectors ? Outer : 32;
    const int k_step = rows ? 8 : vectors ? k_vector_rows : k_warps;
    const int width = vectors ? 4 : 1;
#pragma unroll 1
    for (int l = k_; l < Depth && l < depth; l += k_step) {
      const float* const from = source_ + (l - k_) * x_.k_stride;
      float* const to = stage + l * k_pitch;
#pragma unroll 1
      for (int o = outer_; o < Outer; o += outer_step) {
        const float* const element = from + (o - outer_) * x_.outer_stride;
        if (vectors && o + 4 <= outer) {
          simt::cp_async<16>(to + o, element);
          continue;
        }
        for (int e = 0; e < width; ++e) {
          if (o + e < outer) {
            simt::cp_async<4>(to + o + e, element + e);
          } else {
            to[o + e] = 0.0f;
          }
        }
      }
    }
    source_ += Depth * x_.k_stride;
  }

 private:
  static constexpr int k_warps = Threads / 32;
  static constexpr int k_row_vectors = Outer / 4;
  static constexpr int k_vector_rows = Threads / k_row_vectors;
  static_assert(Outer % 32 == 0 && Outer % (Threads / 8) == 0 && Depth % 8 == 0, "tiles divide into copies");
  static_assert(Depth % k_warps == 0 && Threads % k_row_vectors == 0 && Depth % k_vector_rows == 0,
                "rows of a tile divide into copies");

  const matmul_operand& x_;
  const float* source_;    // the first element of the next tile for this thread
  int outer_ = 0, k_ = 0;  // its place in the tile
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
