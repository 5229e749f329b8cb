// Packing: copies operands of any layout into panels (parts.hpp), and flags elements that are not finite. It reads each
// element once and writes its parts once.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/matmul/epilogue.hpp"
#include "kernels/matmul/parts.hpp"
#include "kernels/primitives/grid.hpp"
#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// An operand in device memory, and the place of its panels.
template <class T>
struct matmul_source {
  const T* data;
  int64_t outer_stride, k_stride;  // elements; one of them is 1
  bool vectors;                    // neighbours along k lie in aligned vectors of 16 bytes
  int64_t outer;
  unsigned char* panels;
  unsigned* flags;  // of each outer index; only if the arithmetic splits
};

constexpr int k_pack_threads = 256;
// Core matrices along k that a block makes, of 64 outer indices.
constexpr int k_pack_cores = 4;

template <class Arithmetic>
__host__ __device__ constexpr int64_t matmul_pack_blocks_along_k(int64_t k_panels) {
  return ceil_div(k_panels * matmul_panel<Arithmetic>::k_cores, k_pack_cores);
}

// The elements of row `outer` of a core matrix, which begin at index l; `special`: one of them is not finite (it is
// replaced by 0).
template <class Arithmetic, int Elements, class T>
__device__ void matmul_read_core(const matmul_source<T>& x, int64_t outer, int64_t l, int64_t k, T (&v)[Elements],
                                 bool& special) {
  if (x.vectors && outer < x.outer && l + Elements <= k) {
    const T* const from = x.data + outer * x.outer_stride + l;
    constexpr int k_vectors = Elements * static_cast<int>(sizeof(T)) / 16;
#pragma unroll
    for (int i = 0; i < k_vectors; ++i) {
      const uint4 loaded = reinterpret_cast<const uint4*>(from)[i];
      memcpy(&v[i * (Elements / k_vectors)], &loaded, sizeof loaded);
    }
  } else {
#pragma unroll
    for (int e = 0; e < Elements; ++e) {
      const bool exists = outer < x.outer && l + e < k;
      v[e] = exists ? x.data[outer * x.outer_stride + (l + e) * x.k_stride] : simt::from_float<T>(0.0f);
    }
  }
  if constexpr (matmul_panel<Arithmetic>::k_splits) {
#pragma unroll
    for (float& e : v) {
      if (matmul_is_finite(e)) continue;
      special = true;
      e = 0.0f;
    }
  }
}

// Blocks of a come first. Warps read the rows of 16 bytes of core matrices along the index that is contiguous, and
// write whole core matrices.
template <class Arithmetic>
__global__ void __launch_bounds__(k_pack_threads)
    matmul_pack(matmul_source<typename Arithmetic::input> a, matmul_source<typename Arithmetic::input> b, int64_t k,
                int64_t a_blocks, unsigned* any) {
  using panel = matmul_panel<Arithmetic>;
  constexpr int k_elements = panel::k_core_elements;
  const bool of_a = static_cast<int64_t>(blockIdx.x) < a_blocks;
  const matmul_source<typename Arithmetic::input> x = of_a ? a : b;
  const int64_t block = static_cast<int64_t>(blockIdx.x) - (of_a ? 0 : a_blocks);
  const int64_t k_panels = ceil_div(k, Arithmetic::k_depth);
  const int64_t blocks_along_k = matmul_pack_blocks_along_k<Arithmetic>(k_panels);
  const int64_t tile = block / blocks_along_k;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const bool along_k = x.k_stride == 1;
  const int row = along_k ? 8 * warp + lane % 8 : 32 * (warp % 2) + lane;
  const int64_t core = (block - tile * blocks_along_k) * k_pack_cores + (along_k ? lane / 8 : warp / 2);
  if (core >= k_panels * panel::k_cores) return;

  typename Arithmetic::input v[k_elements];
  bool special = false;
  matmul_read_core<Arithmetic>(x, panel::k_outer * tile + row, core * k_elements, k, v, special);
  if (special) {
    simt::store_relaxed(x.flags + panel::k_outer * tile + row, 1u);
    simt::store_relaxed(any, 1u);
  }
  uint32_t words[Arithmetic::k_parts][4];
  matmul_split(Arithmetic{}, v, words);
  const int64_t k_panel = core / panel::k_cores;
  unsigned char* const to = x.panels + (tile * k_panels + k_panel) * panel::k_bytes + row / 8 * panel::k_strip_bytes +
                            (core - k_panel * panel::k_cores) * panel::k_core_bytes + row % 8 * 16;
#pragma unroll
  for (int p = 0; p < Arithmetic::k_parts; ++p)
    *reinterpret_cast<uint4*>(to + p * panel::k_part_bytes) =
        make_uint4(words[p][0], words[p][1], words[p][2], words[p][3]);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
