// Matrix times vector: C is a row or a column. A warp makes a slice's sums for 32 of its elements; its lanes' chains
// run along k side by side, whatever the layout. Chunks of 32 x 32 of the matrix come through the warp's own ring in
// shared memory, which turns rows along k into columns. A block's warps take neighbouring slices of the same elements;
// if one block has all slices, it adds them itself. In modes that split operands chains are short, so that their errors
// lie within the mode's bound.
// Cost: the matrix is read once, 8 KiB of it in flight for each warp; no barrier but the warp's, one a chunk.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/matmul/epilogue.hpp"
#include "kernels/matmul/parts.hpp"
#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

struct matmul_vector_shape {
  static constexpr int k_outer = 32;  // elements of C a warp
  static constexpr int k_depth = 32;  // of k a chunk
  static constexpr int k_stages = 3;  // chunks of a ring
  static constexpr int k_warps = 8;   // of a block, at most: it adds as many slices itself
  // Lines of a chunk are 4 words longer than the banks, so vectors of four along lines and across them use each bank
  // once.
  static constexpr int k_pitch = k_depth + 4;
  static constexpr int k_stage_words = k_outer * k_pitch + k_depth;  // and the vector's part
  static constexpr int k_ring_words = k_stages * k_stage_words;
  static_assert(k_outer == 32 && k_depth == 32, "a lane for each element of a line");
  static_assert(k_matmul_promotion % k_depth == 0, "a chain is whole chunks");

  static constexpr size_t shared_bytes(int warps) { return sizeof(float) * static_cast<size_t>(warps) * k_ring_words; }
};

// The matrix is op(A) if C is a column, else op(B); `outer` counts C's elements.
struct matmul_vector_product {
  const float* matrix;
  int64_t ld;
  bool along_k;  // neighbours along k are neighbours in memory; otherwise those of the outer index are
  bool vectors;  // lines begin at aligned addresses of vectors of four
  const float* vector;
  int64_t vector_stride;
  int64_t outer, k, slices, length;
  bool is_row;    // C is a row
  bool promotes;  // chains end after k_matmul_promotion products
  matmul_partials partials;
  matmul_epilogue<float> epilogue;
};

// A warp's walk along k: its copies ahead, and the lanes' chains.
class matmul_vector_walk {
 public:
  using shape = matmul_vector_shape;

  // The elements of C from `outer` on, and `count` of k from `begin` on.
  __device__ matmul_vector_walk(const matmul_vector_product& p, int64_t outer, int64_t begin, int64_t count,
                                float* ring)
      : p_(p),
        ring_(ring),
        lane_(static_cast<int>(threadIdx.x) % 32),
        elements_(static_cast<int>(p.outer - outer < shape::k_outer ? p.outer - outer : shape::k_outer)),
        uncopied_(count),
        from_(p.matrix + (p.along_k ? outer * p.ld + begin : begin * p.ld + outer)),
        vector_from_(p.vector + begin * p.vector_stride) {}

  __device__ float sum(int64_t count) {
    constexpr int k_stages = shape::k_stages;
    for (int s = 0; s + 1 < k_stages; ++s) copy_next();
    float sum = 0.0f, promoted = 0.0f;
    int use_stage = 0, chain = 0;
    for (int64_t left = count; left > 0; left -= shape::k_depth) {
      simt::cp_async_wait<k_stages - 2>();
      __syncwarp();  // all lanes' copies of this chunk are there, and nobody reads the one before any more
      copy_next();
      const float* const stage = ring_ + use_stage * shape::k_stage_words;
      if (lane_ < elements_)
        sum = multiply(stage, left < shape::k_depth ? static_cast<int>(left) : shape::k_depth, sum);
      use_stage = use_stage + 1 == k_stages ? 0 : use_stage + 1;
      chain += shape::k_depth;
      if (p_.promotes && chain == k_matmul_promotion) promoted += sum, sum = 0.0f, chain = 0;
    }
    return p_.promotes ? promoted + sum : sum;
  }

 private:
  // Copies a chunk in the order of memory: lines of neighbours, one for each row of the stage.
  __device__ void copy_next() {
    if (uncopied_ > 0) {
      const int depth = static_cast<int>(uncopied_ < shape::k_depth ? uncopied_ : shape::k_depth);
      const int lines = p_.along_k ? elements_ : depth, places = p_.along_k ? depth : elements_;
      float* const stage = ring_ + copy_stage_ * shape::k_stage_words;
      if (p_.vectors && places == 32) {
        const int first = lane_ / 8, place = lane_ % 8 * 4;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const int line = first + 4 * i;
          if (line < lines) simt::cp_async<16>(stage + line * shape::k_pitch + place, from_ + line * p_.ld + place);
        }
      } else if (lane_ < places) {
#pragma unroll 8
        for (int line = 0; line < lines; ++line)
          simt::cp_async<4>(stage + line * shape::k_pitch + lane_, from_ + line * p_.ld + lane_);
      }
      if (lane_ < depth)
        simt::cp_async<4>(stage + shape::k_outer * shape::k_pitch + lane_, vector_from_ + lane_ * p_.vector_stride);
      uncopied_ -= shape::k_depth;
      from_ += shape::k_depth * (p_.along_k ? 1 : p_.ld);
      vector_from_ += shape::k_depth * p_.vector_stride;
      copy_stage_ = copy_stage_ + 1 == shape::k_stages ? 0 : copy_stage_ + 1;
    }
    simt::cp_async_commit();
  }

  // The lane's chain over `depth` of k.
  __device__ float multiply(const float* stage, int depth, float sum) const {
    const float* const x = stage + shape::k_outer * shape::k_pitch;
    if (depth < shape::k_depth) {
      const int first = p_.along_k ? lane_ * shape::k_pitch : lane_, step = p_.along_k ? 1 : shape::k_pitch;
#pragma unroll 1
      for (int l = 0; l < depth; ++l) sum = fmaf(stage[first + l * step], x[l], sum);
      return sum;
    }
#pragma unroll
    for (int l = 0; l < shape::k_depth; l += 4) {
      float4 m;
      if (p_.along_k) {
        m = *reinterpret_cast<const float4*>(stage + lane_ * shape::k_pitch + l);
      } else {
        const float* const at = stage + l * shape::k_pitch + lane_;
        m = make_float4(at[0], at[shape::k_pitch], at[2 * shape::k_pitch], at[3 * shape::k_pitch]);
      }
      const float4 v = *reinterpret_cast<const float4*>(x + l);
      sum = fmaf(m.x, v.x, sum);
      sum = fmaf(m.y, v.y, sum);
      sum = fmaf(m.z, v.z, sum);
      sum = fmaf(m.w, v.w, sum);
    }
    return sum;
  }

  const matmul_vector_product& p_;
  float* ring_;
  int lane_, elements_, copy_stage_ = 0;
  int64_t uncopied_;
  const float* from_;
  const float* vector_from_;
};

__global__ void __launch_bounds__(32 * matmul_vector_shape::k_warps) matmul_vector(matmul_vector_product p) {
  using shape = matmul_vector_shape;
  if (p.partials.data != nullptr) simt::trigger_dependents();
  SIMT_DYN_SHARED(float, shared);
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  const int64_t groups = ceil_div(p.slices, int64_t{warps});
  const int64_t tile = blockIdx.x / groups;
  const int64_t slice = (blockIdx.x - tile * groups) * warps + warp;
  const int64_t outer = tile * shape::k_outer + lane;
  const int64_t begin = slice * p.length;
  const int64_t count = slice >= p.slices ? 0 : p.k - begin < p.length ? p.k - begin : p.length;
  const float sum =
      matmul_vector_walk(p, tile * shape::k_outer, begin, count, shared + warp * shape::k_ring_words).sum(count);
  const int64_t i = p.is_row ? 0 : outer, j = p.is_row ? outer : 0;
  if (p.partials.data != nullptr) {
    if (slice < p.slices && outer < p.outer) *p.partials.at(slice, i, j) = sum;
    return;
  }
  __syncthreads();  // nobody reads its ring any more
  shared[32 * warp + lane] = sum;
  __syncthreads();
  if (warp > 0 || outer >= p.outer) return;
  float all = sum;
  for (int s = 1; s < warps; ++s) all += shared[32 * s + lane];
  p.epilogue.complete(i, j, 1, {all, 0.0f, 0.0f, 0.0f}, false);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
