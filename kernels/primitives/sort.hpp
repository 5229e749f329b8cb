// Sorting of keys with their places: by a network within a warp, by stable radix passes within a block.
#pragma once

#include <cstdint>

#include "kernels/primitives/reduce.hpp"
#include "kernels/primitives/scan.hpp"
#include "kernels/primitives/sort_image.hpp"
#include "kernels/simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// ---- within a warp ----

// An item orders by its image, then by its place: no two are equal.
using sort_item = unsigned long long;
__host__ __device__ inline sort_item make_sort_item(uint32_t image, uint32_t place) {
  return static_cast<sort_item>(image) << 32 | place;
}
__host__ __device__ inline uint32_t place_of(sort_item item) { return static_cast<uint32_t>(item); }

// Whether two items that come in this order are to be exchanged.
__device__ inline bool in_wrong_order(sort_item lower, sort_item upper, bool ascending) {
  return (lower > upper) == ascending;
}

// Sorts the warp's 32 * Items items ascending: item i of lane l is the (l * Items + i)-th afterwards; before, any order
// will do. All lanes take part. Shuffles only for strides that cross lanes. (K. E. Batcher, Sorting networks and their
// applications, AFIPS 1968: the bitonic network.)
template <int Items>
__device__ inline void warp_sort(sort_item (&item)[Items]) {
  constexpr int k_count = k_warp_size * Items;
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
#pragma unroll
  for (int size = 2; size <= k_count; size *= 2) {
#pragma unroll
    for (int stride = size / 2; stride > 0; stride /= 2) {
      if (stride >= Items) {
        const int lanes = stride / Items;
        const bool ascending = (lane * Items & size) == 0;
        const bool is_lower = (lane & lanes) == 0;
#pragma unroll
        for (int i = 0; i < Items; ++i) {
          const sort_item other = __shfl_xor_sync(k_all_lanes, item[i], lanes);
          const bool keeps =
              is_lower ? !in_wrong_order(item[i], other, ascending) : !in_wrong_order(other, item[i], ascending);
          item[i] = keeps ? item[i] : other;
        }
      } else {
#pragma unroll
        for (int i = 0; i < Items; ++i) {
          if (i & stride) continue;
          const bool ascending = ((lane * Items + i) & size) == 0;
          const sort_item lower = item[i], upper = item[i | stride];
          const bool exchange = in_wrong_order(lower, upper, ascending);
          item[i] = exchange ? upper : lower;
          item[i | stride] = exchange ? lower : upper;
        }
      }
    }
  }
}

// ---- within a block ----

// Stable radix sort of up to Threads * Items items by their images, least significant digit first; equal images stay in
// the order of their places. Image: uint32_t or uint64_t; Index holds a place. All threads of a block of `Threads`
// take part. Four barriers in each of the sizeof(Image) passes.
template <class Image, class Index, int Threads, int Items>
class block_radix_sort {
  static constexpr int k_warps = Threads / k_warp_size;
  static constexpr int k_digit_bits = 8;
  static constexpr int k_digits = 1 << k_digit_bits;
  static_assert(Threads >= k_digits && Threads % k_warp_size == 0, "a thread for each digit, whole warps");

 public:
  static constexpr int k_capacity = Threads * Items;

  // Shared memory of the block. Before, `image` and `index` hold the items in the order that equal images keep; after,
  // sorted.
  struct storage {
    Image image[k_capacity];
    unsigned count[k_warps][k_digits];
    unsigned scratch[k_max_warps];
    Index index[k_capacity];
  };

  // A barrier must have passed since the items were written, and passes before it returns.
  __device__ static void sort(storage& s) {
    for (int shift = 0; shift < static_cast<int>(sizeof(Image)) * 8; shift += k_digit_bits) pass(s, shift);
  }

 private:
  // A warp takes 32 * Items items in a row, 32 at a time, so that ranks follow the order of the items.
  __device__ static void pass(storage& s, int shift) {
    const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
    const int warp = static_cast<int>(threadIdx.x) / k_warp_size;
    const int first = warp * k_warp_size * Items + lane;
    unsigned* const count = s.count[warp];
    for (int d = lane; d < k_digits; d += k_warp_size) count[d] = 0;
    __syncwarp();
    Image image[Items];
    Index index[Items];
    unsigned rank[Items];  // among the warp's items of the same digit
#pragma unroll
    for (int i = 0; i < Items; ++i) {
      image[i] = s.image[first + i * k_warp_size];
      index[i] = s.index[first + i * k_warp_size];
      const unsigned digit = digit_of(image[i], shift);
      const unsigned peers = __match_any_sync(k_all_lanes, digit);
      const unsigned before = __popc(peers & ((1u << lane) - 1));
      rank[i] = count[digit] + before;
      __syncwarp();
      if (before == 0) count[digit] += __popc(peers);
      __syncwarp();
    }
    __syncthreads();
    // Where a warp's items of a digit begin: behind all lower digits, and behind those of lower warps.
    unsigned total = 0;
    if (threadIdx.x < k_digits)
      for (int w = 0; w < k_warps; ++w) {
        const unsigned own = s.count[w][threadIdx.x];
        s.count[w][threadIdx.x] = total;
        total += own;
      }
    const unsigned begin = block_exclusive_scan(total, plus_of<unsigned>(), s.scratch).before;
    if (threadIdx.x < k_digits)
      for (int w = 0; w < k_warps; ++w) s.count[w][threadIdx.x] += begin;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Items; ++i) {
      const unsigned at = count[digit_of(image[i], shift)] + rank[i];
      s.image[at] = image[i];
      s.index[at] = index[i];
    }
    __syncthreads();
  }

  __device__ static unsigned digit_of(Image image, int shift) {
    return static_cast<unsigned>(image >> shift) & (k_digits - 1);
  }
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
