// Matrix times vector: C is a row or a column. A warp makes a slice's sums for 32 of its elements; its lanes' chains
// run along k side by side, whatever the layout. Chunks of 4 KiB of the matrix come through the warp's own ring in
// shared memory, which turns rows along k into columns. A block's warps take neighbouring slices of the same elements;
// if one block has all slices, it adds them itself. In modes that split operands, and of 16-bit ones, chains are short,
// so that their errors lie within the bound of tensor cores.
// Cost: the matrix is read once, 8 KiB of it in flight for each warp; no barrier but the warp's, one a chunk.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/matmul/epilogue.hpp"
#include "kernels/matmul/parts.hpp"
#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

template <class T>
struct matmul_vector_shape {
  static constexpr bool k_is_f32 = sizeof(T) == sizeof(float);
  static constexpr int k_vector = 16 / sizeof(T);  // elements
  static constexpr int k_outer = 32;               // elements of C a warp
  static constexpr int k_depth = 128 / sizeof(T);  // of k a chunk
  static constexpr int k_stages = 3;               // chunks of a ring
  static constexpr int k_warps = 8;                // of a block, at most: it adds as many slices itself
  // Lines along k are a vector longer than the banks, so vectors use each bank once, along lines and across them.
  static constexpr int k_pitch = k_depth + k_vector;
  static constexpr int k_pitch_of_outer = k_is_f32 ? k_pitch : k_outer;
  static constexpr int k_stage_elements = k_outer * k_pitch + k_depth;  // and the vector's part
  static constexpr int k_ring_elements = k_stages * k_stage_elements;
  static constexpr int k_vectors_of_lane = k_outer * k_depth / k_vector / 32;  // of a chunk
  static_assert(k_outer == 32 && k_depth % 32 == 0, "a lane for each element of a line");
  static_assert(k_matmul_promotion % k_depth == 0, "a chain is whole chunks");
  static_assert(k_depth * k_pitch_of_outer <= k_outer * k_pitch, "lines of both directions fit");

  static constexpr size_t shared_bytes(int warps) { return sizeof(T) * static_cast<size_t>(warps) * k_ring_elements; }
};

// The matrix is op(A) if C is a column, else op(B); `outer` counts C's elements.
template <class T, class TC>
struct matmul_vector_product {
  const T* matrix;
  int64_t ld;
  bool along_k;  // neighbours along k are neighbours in memory; otherwise those of the outer index are
  bool vectors;  // lines begin at aligned addresses of vectors of 16 bytes
  const T* vector;
  int64_t vector_stride;
  int64_t outer, k, slices, length;
  bool is_row;    // C is a row
  bool words;     // neighbours of the vector are neighbours in memory, in aligned words
  bool promotes;  // sums of k_matmul_promotion products are added to another sum
  matmul_partials partials;
  matmul_epilogue<TC> epilogue;
};

// A warp's walk along k: its copies ahead, and the lanes' chains.
template <class T, class TC>
class matmul_vector_walk {
 public:
  using shape = matmul_vector_shape<T>;

  // The elements of C from `outer` on, and `count` of k from `begin` on.
  __device__ matmul_vector_walk(const matmul_vector_product<T, TC>& p, int64_t outer, int64_t begin, int64_t count,
                                T* ring)
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
      const T* const stage = ring_ + use_stage * shape::k_stage_elements;
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
      T* const stage = ring_ + copy_stage_ * shape::k_stage_elements;
      if (p_.vectors && places == (p_.along_k ? shape::k_depth : shape::k_outer)) {
        const int of_line = places / shape::k_vector, first = lane_ / of_line,
                  place = lane_ % of_line * shape::k_vector;
#pragma unroll
        for (int i = 0; i < shape::k_vectors_of_lane; ++i) {
          const int line = first + 32 / of_line * i;
          if (line < lines) simt::cp_async<16>(stage + line * pitch() + place, from_ + line * p_.ld + place);
        }
      } else {
        for (int place = lane_; place < places; place += 32) {
#pragma unroll 8
          for (int line = 0; line < lines; ++line)
            copy_element(stage + line * pitch() + place, from_ + line * p_.ld + place);
        }
      }
      T* const x = stage + shape::k_outer * shape::k_pitch;
      if (p_.words && depth == shape::k_depth) {
        const int l = lane_ * (shape::k_depth / 32);
        simt::cp_async<4>(x + l, vector_from_ + l);
      } else {
        for (int l = lane_; l < depth; l += 32) copy_element(x + l, vector_from_ + l * p_.vector_stride);
      }
      uncopied_ -= shape::k_depth;
      from_ += shape::k_depth * (p_.along_k ? 1 : p_.ld);
      vector_from_ += shape::k_depth * p_.vector_stride;
      copy_stage_ = copy_stage_ + 1 == shape::k_stages ? 0 : copy_stage_ + 1;
    }
    simt::cp_async_commit();
  }

  // Elements of 16 bits have no asynchronous copy.
  __device__ static void copy_element(T* to, const T* from) {
    if constexpr (shape::k_is_f32)
      simt::cp_async<4>(to, from);
    else
      *to = *from;
  }

  __device__ int pitch() const { return p_.along_k ? shape::k_pitch : shape::k_pitch_of_outer; }

  // Adds the products of `depth` of k to the lane's sum: its chain goes on in f32; in 16-bit types each vector of them
  // is a chain from +0.
  __device__ float multiply(const T* stage, int depth, float sum) const {
    constexpr bool k_goes_on = shape::k_is_f32;
    const T* const x = stage + shape::k_outer * shape::k_pitch;
    if (depth < shape::k_depth) {
      const int first = p_.along_k ? lane_ * shape::k_pitch : lane_, step = p_.along_k ? 1 : pitch();
      float chain = k_goes_on ? sum : 0.0f;
#pragma unroll 1
      for (int l = 0; l < depth; ++l) {
        chain = fmaf(simt::to_float(stage[first + l * step]), simt::to_float(x[l]), chain);
        if (!k_goes_on && l % shape::k_vector == shape::k_vector - 1) sum += chain, chain = 0.0f;
      }
      return k_goes_on ? chain : sum + chain;
    }
#pragma unroll
    for (int l = 0; l < shape::k_depth; l += shape::k_vector) {
      vector m;
      if (p_.along_k) {
        m = *reinterpret_cast<const vector*>(stage + lane_ * shape::k_pitch + l);
      } else {
#pragma unroll
        for (int e = 0; e < shape::k_vector; ++e) m.element[e] = stage[(l + e) * shape::k_pitch_of_outer + lane_];
      }
      const vector v = *reinterpret_cast<const vector*>(x + l);
      float chain = k_goes_on ? sum : 0.0f;
#pragma unroll
      for (int e = 0; e < shape::k_vector; ++e)
        chain = fmaf(simt::to_float(m.element[e]), simt::to_float(v.element[e]), chain);
      sum = k_goes_on ? chain : sum + chain;
    }
    return sum;
  }

  struct alignas(16) vector {
    T element[shape::k_vector];
  };

  const matmul_vector_product<T, TC>& p_;
  T* ring_;
  int lane_, elements_, copy_stage_ = 0;
  int64_t uncopied_;
  const T* from_;
  const T* vector_from_;
};

template <class T, class TC>
__global__ void __launch_bounds__(32 * matmul_vector_shape<T>::k_warps) matmul_vector(matmul_vector_product<T, TC> p) {
  using shape = matmul_vector_shape<T>;
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
  T* const ring = reinterpret_cast<T*>(shared) + warp * shape::k_ring_elements;
  const float sum = matmul_vector_walk<T, TC>(p, tile * shape::k_outer, begin, count, ring).sum(count);
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
