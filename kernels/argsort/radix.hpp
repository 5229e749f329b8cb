// Rows longer than a block sorts: least-significant-digit radix sort, one read and one write of every key per digit.
//
// A launch counts the digits of all keys. Then one launch per digit moves the keys, tile by tile: a tile ranks its keys
// among those of the same digit, publishes its count of each digit, and reads the counts of earlier tiles of
// the row (decoupled look-back).
//
// Sources: D. Merrill, M. Garland, Single-pass parallel prefix scan with decoupled look-back, NVIDIA NVR-2016-002;
// A. Adinets, D. Merrill, Onesweep: a faster least significant digit radix sort for GPUs, arXiv:2206.01784, 2022.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/grid.hpp"
#include "kernels/primitives/reduce.hpp"
#include "kernels/primitives/scan.hpp"
#include "kernels/primitives/sort_image.hpp"
#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_digit_bits = 8;
constexpr int k_digits = 1 << k_digit_bits;
constexpr int k_digit_passes = 32 / k_digit_bits;

constexpr int k_radix_threads = 512;
constexpr int k_radix_items = 16;
constexpr int k_radix_warps = k_radix_threads / k_warp_size;
constexpr int k_radix_tile = k_radix_threads * k_radix_items;
static_assert(k_radix_threads >= k_digits, "a thread for each digit");

// Counts of keys in a row. A word of a tile and a digit is 0, then one more than the tile's own count, then `prefix`
// with the count of the row up to the end of the tile.
template <class Index>
using radix_count = std::conditional_t<sizeof(Index) == 4, unsigned, unsigned long long>;
template <class Count>
constexpr Count k_is_prefix = Count{1} << (8 * sizeof(Count) - 1);

// The workspace. Counters must be zero before the first launch.
template <class Index>
struct radix_workspace {
  using count_type = radix_count<Index>;

  static constexpr int64_t tiles(int64_t cols) { return ceil_div(cols, k_radix_tile); }
  // Elements of `counts`.
  static int64_t count_words(int64_t rows, int64_t cols) {
    return k_digit_passes * (1 + rows * k_digits * (1 + tiles(cols)));
  }
  // Elements of `image` are twice those of the matrix.
  static int64_t bytes(int64_t rows, int64_t cols) {
    return count_words(rows, cols) * static_cast<int64_t>(sizeof(count_type)) +
           rows * cols * static_cast<int64_t>(2 * sizeof(uint32_t) + sizeof(Index));
  }

  count_type* counts;
  Index* index;
  uint32_t* image;
};

__device__ inline unsigned digit_of(uint32_t image, int pass) { return image >> pass * k_digit_bits & (k_digits - 1); }

// Counts the digits of every pass, by row: totals[pass][row][digit]. Two barriers per chunk.
constexpr int k_count_threads = 256;
constexpr int64_t k_count_chunk = 64 * k_count_threads;

template <class Count>
__global__ void __launch_bounds__(k_count_threads)
    count_digits(const float* keys, int64_t rows, int64_t cols, bool descending, Count* totals) {
  SIMT_SHARED(count, unsigned[k_digit_passes][k_digits]);
  const int64_t chunks = ceil_div(cols, k_count_chunk);
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t number = blockIdx.x; number < rows * chunks; number += gridDim.x) {
    for (int pass = 0; pass < k_digit_passes; ++pass) count[pass][thread] = 0;
    __syncthreads();
    const int64_t row = number / chunks;
    const int64_t begin = number % chunks * k_count_chunk;
    const int64_t end = begin + k_count_chunk < cols ? begin + k_count_chunk : cols;
#pragma unroll 8
    for (int64_t c = begin + thread; c < end; c += k_count_threads) {
      const uint32_t image = sort_image<float>::of(keys[row * cols + c], descending);
#pragma unroll
      for (int pass = 0; pass < k_digit_passes; ++pass) atomicAdd(&count[pass][digit_of(image, pass)], 1u);
    }
    __syncthreads();
    for (int pass = 0; pass < k_digit_passes; ++pass)
      if (count[pass][thread] > 0)
        atomicAdd(&totals[(pass * rows + row) * k_digits + thread], static_cast<Count>(count[pass][thread]));
  }
}

// One pass. The first one reads `keys`, and an item's index is its column; the last one writes no images.
template <class Index>
struct radix_pass {
  using count_type = radix_count<Index>;

  const float* keys;
  const uint32_t* image_in;
  const Index* index_in;
  uint32_t* image_out;
  Index* index_out;
  count_type* ticket;
  const count_type* totals;  // [row][digit]
  count_type* status;        // [row][tile][digit]
  int64_t rows, cols, tiles;
  bool descending;
};

// Returns the number of keys of a digit in the tiles before this one. Several words are read at once.
constexpr int k_look_back_words = 8;
template <class Count>
__device__ inline Count look_back(const Count* status, int64_t tile) {
  Count before = 0;
  for (int64_t last = tile - 1;; last -= k_look_back_words) {
    Count word[k_look_back_words];
#pragma unroll
    for (int i = 0; i < k_look_back_words; ++i)
      word[i] = last >= i ? simt::load_relaxed(status + (last - i) * k_digits) : k_is_prefix<Count>;
#pragma unroll
    for (int i = 0; i < k_look_back_words; ++i) {
      while (word[i] == 0) word[i] = simt::load_relaxed(status + (last - i) * k_digits);
      if (word[i] & k_is_prefix<Count>) return before + (word[i] & ~k_is_prefix<Count>);
      before += word[i] - 1;
    }
  }
}

// A block's shared memory for its tile.
template <class Index>
struct radix_scratch {
  Index index[k_radix_tile];
  uint32_t image[k_radix_tile];
  unsigned count[k_radix_warps][k_digits];  // of each warp; then the place in the tile of its first key of a digit
  radix_count<Index> target[k_digits];      // the place in the row of a key of the digit, minus its place in the tile
  radix_count<Index> base[k_max_warps];
  unsigned scan[k_max_warps];
  radix_count<Index> drawn;
};

// The images of every 32nd key from `at` on; `left` keys from there are in the row.
template <int Pass, class Index>
__device__ inline void load_images(const radix_pass<Index>& p, int64_t at, int left, bool is_full,
                                   uint32_t (&image)[k_radix_items]) {
  const float* const keys = p.keys + at;
  const uint32_t* const images = p.image_in + at;
#pragma unroll
  for (int i = 0; i < k_radix_items; ++i) {
    image[i] = ~0u;
    if (!is_full && i * k_warp_size >= left) continue;
    if constexpr (Pass == 0)
      image[i] = sort_image<float>::of(keys[i * k_warp_size], p.descending);
    else
      image[i] = images[i * k_warp_size];
  }
}

// Ranks a warp's keys, item i of lane l before item i of lane l + 1, before item i + 1, among those of its digit.
template <int Pass>
__device__ inline void rank_in_warp(const uint32_t (&image)[k_radix_items], unsigned* count,
                                    unsigned (&rank)[k_radix_items]) {
  const unsigned lane = threadIdx.x % k_warp_size;
#pragma unroll
  for (int i = 0; i < k_radix_items; ++i) {
    const unsigned lanes = simt::match_bits<Pass * k_digit_bits, k_digit_bits>(image[i]);
    const int last = 31 - __clz(static_cast<int>(lanes));
    const unsigned lower = static_cast<unsigned>(__popc(lanes & ((1u << lane) - 1)));
    unsigned before = 0;
    if (static_cast<int>(lane) == last) before = atomicAdd(count + digit_of(image[i], Pass), lower + 1);
    rank[i] = __shfl_sync(k_all_lanes, before, last) + lower;
  }
}

// The data of one digit in its thread: its count in the tile, its first place in the tile and, for the first tile, in
// the row.
template <class Index>
struct digit_place {
  unsigned count, in_tile;
  radix_count<Index> in_row;
};

// Publishes the number of keys of each digit in the tile, and turns the warps' counts into places. Returns the data
// that the look-back needs.
template <class Index>
__device__ inline digit_place<Index> place_digits(const radix_pass<Index>& p, radix_scratch<Index>& s, int64_t row,
                                                  int64_t tile) {
  using count_type = radix_count<Index>;
  const int digit = static_cast<int>(threadIdx.x);
  const bool has_digit = digit < k_digits;
  digit_place<Index> mine{0, 0, 0};
  if (has_digit)
    for (int w = 0; w < k_radix_warps; ++w) mine.count += s.count[w][digit];
  if (tile == 0) {
    const count_type total = has_digit ? p.totals[row * k_digits + digit] : 0;
    mine.in_row = block_exclusive_scan(total, plus_of<count_type>(), s.base).before;
  }
  if (has_digit)
    simt::store_relaxed(
        p.status + (row * p.tiles + tile) * k_digits + digit,
        tile == 0 ? k_is_prefix<count_type> | (mine.in_row + mine.count) : static_cast<count_type>(mine.count) + 1);
  mine.in_tile = block_exclusive_scan(mine.count, plus_of<unsigned>(), s.scan).before;
  unsigned place = mine.in_tile;
  if (has_digit)
    for (int w = 0; w < k_radix_warps; ++w) {
      const unsigned count = s.count[w][digit];
      s.count[w][digit] = place;
      place += count;
    }
  return mine;
}

// Blocks draw tiles by ticket, so a tile waits only for tiles that have begun. The places after the row take part as
// keys of the last digit, after all others, and are not written. Five barriers per tile, and one more for the first
// tile of a row: the next tile's ticket and counts may be written while this one's items are still read.
template <int Pass, class Index>
__global__ void __launch_bounds__(k_radix_threads, 2) move_by_digit(radix_pass<Index> p) {
  using count_type = radix_count<Index>;
  SIMT_DYN_SHARED(radix_scratch<Index>, scratch);
  radix_scratch<Index>& s = *scratch;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / k_warp_size;
  const int first = warp * k_warp_size * k_radix_items + thread % k_warp_size;
  for (;;) {
    if (thread == 0) s.drawn = atomicAdd(p.ticket, count_type{1});
    for (int i = thread; i < k_radix_warps * k_digits; i += k_radix_threads) (&s.count[0][0])[i] = 0;
    __syncthreads();
    const auto number = static_cast<int64_t>(s.drawn);
    if (number >= p.rows * p.tiles) return;
    const int64_t row = number / p.tiles, tile = number % p.tiles, begin = tile * k_radix_tile;
    const int count = static_cast<int>(p.cols - begin < k_radix_tile ? p.cols - begin : k_radix_tile);
    const int left = count - first;
    const bool is_full = count == k_radix_tile;
    uint32_t image[k_radix_items];
    unsigned rank[k_radix_items];
    load_images<Pass>(p, row * p.cols + begin + first, left, is_full, image);
    rank_in_warp<Pass>(image, s.count[warp], rank);
    __syncthreads();
    const digit_place<Index> mine = place_digits(p, s, row, tile);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < k_radix_items; ++i) {
      rank[i] += s.count[warp][digit_of(image[i], Pass)];
      s.image[rank[i]] = image[i];
    }
    if (thread < k_digits) {
      count_type* const status = p.status + row * p.tiles * k_digits + thread;
      count_type before = mine.in_row;
      if (tile > 0) {
        before = look_back(status, tile);
        simt::store_relaxed(status + tile * k_digits, k_is_prefix<count_type> | (before + mine.count));
      }
      s.target[thread] = before - mine.in_tile;
    }
    const Index* const index_in = p.index_in + row * p.cols + begin + first;
#pragma unroll
    for (int i = 0; i < k_radix_items; ++i)
      if (is_full || i * k_warp_size < left)
        s.index[rank[i]] = Pass == 0 ? static_cast<Index>(begin + first + i * k_warp_size) : index_in[i * k_warp_size];
    __syncthreads();
    uint32_t* const image_out = p.image_out + row * p.cols;
    Index* const index_out = p.index_out + row * p.cols;
#pragma unroll
    for (int i = 0; i < k_radix_items; ++i) {
      const int place = thread + i * k_radix_threads;
      if (!is_full && place >= count) continue;
      const uint32_t key = s.image[place];
      const count_type to = s.target[digit_of(key, Pass)] + static_cast<unsigned>(place);
      if constexpr (Pass + 1 < k_digit_passes) image_out[to] = key;
      index_out[to] = s.index[place];
    }
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
