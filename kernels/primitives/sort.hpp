// Sorting of keys with their places: by networks within a warp, by merging in shared memory within a block.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/primitives/reduce.hpp"
#include "kernels/primitives/sort_image.hpp"
#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// An item orders by its image, then by its place, below 2^k_place_bits: no two are equal. It is the double
// 2^52 + image * 2^k_place_bits + place, because a GPU compares doubles by one instruction of a unit that sorting
// leaves idle, where 64-bit integers take two of the unit that moves the items.
using sort_item = double;
constexpr int k_place_bits = 20;
__host__ __device__ inline sort_item make_sort_item(uint32_t image, uint32_t place) {
  const uint64_t bits = uint64_t{0x433} << 52 | uint64_t{image} << k_place_bits | place;
  sort_item item;
  memcpy(&item, &bits, sizeof item);
  return item;
}
__host__ __device__ inline uint64_t item_bits(sort_item item) {
  uint64_t bits;
  memcpy(&bits, &item, sizeof bits);
  return bits;
}
__host__ __device__ inline uint32_t place_of(sort_item item) {
  return static_cast<uint32_t>(item_bits(item)) & ((1u << k_place_bits) - 1);
}
__host__ __device__ inline uint32_t image_of(sort_item item) {
  return static_cast<uint32_t>(item_bits(item) >> k_place_bits);
}
// Sorted after every item.
constexpr sort_item k_no_item = std::numeric_limits<double>::max();

// True if two items in this order must be exchanged.
__device__ inline bool in_wrong_order(sort_item lower, sort_item upper) { return lower > upper; }

// ---- within a thread ----

// Returns true if they were exchanged.
__device__ inline bool put_in_order(sort_item& lower, sort_item& upper) {
  const bool exchange = in_wrong_order(lower, upper);
  const sort_item low = exchange ? upper : lower;
  upper = exchange ? lower : upper;
  lower = low;
  return exchange;
}
__device__ inline void put_in_order(uint32_t& lower, uint32_t& upper) {
  const uint32_t low = lower < upper ? lower : upper;
  upper = lower < upper ? upper : lower;
  lower = low;
}

// Merges the sorted halves of every Stride-th of `Count` items. (K. E. Batcher, Sorting networks and their
// applications, AFIPS 1968: the odd-even merge.)
template <int Count, int Stride, class Item>
__device__ inline void merge_halves(Item* item) {
  if constexpr (2 * Stride < Count) {
    merge_halves<Count, 2 * Stride>(item);
    merge_halves<Count, 2 * Stride>(item + Stride);
#pragma unroll
    for (int i = Stride; i + Stride < Count; i += 2 * Stride) put_in_order(item[i], item[i + Stride]);
  } else {
    put_in_order(item[0], item[Stride]);
  }
}

// Sorts a thread's items ascending; Count: a power of two.
template <int Count, class Item>
__device__ inline void sort_registers(Item* item) {
  if constexpr (Count > 1) {
    sort_registers<Count / 2>(item);
    sort_registers<Count / 2>(item + Count / 2);
    merge_halves<Count, 1>(item);
  }
}

// ---- within a warp ----

// Returns the one of two items, its own and that of another lane, that the lane keeps.
__device__ inline sort_item stays(sort_item item, sort_item other, bool is_upper) {
  return in_wrong_order(item, other) != is_upper ? other : item;
}

__device__ inline uint32_t stays(uint32_t item, uint32_t other, bool is_upper) {
  return is_upper ? (item < other ? other : item) : (item < other ? item : other);
}

// Sorts the Lanes * Items items of each group of `Lanes` neighbouring lanes ascending, from any order: item i of lane l
// is the (l * Items + i)-th afterwards. All lanes of the warp take part. Runs of a lane, two lanes, four, ... are
// merged by the bitonic network (Batcher, ibid.), the second of a pair read backwards. Loops over strides that cross
// lanes are not unrolled, so that the code fits the instruction cache.
template <int Lanes, int Items, class Item>
__device__ inline void lane_network(Item (&item)[Items]) {
  static_assert(Items % 2 == 0, "items in pairs");
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  sort_registers<Items>(item);
#pragma unroll 1
  for (int width = 2; width <= Lanes; width *= 2) {
    const bool is_upper = (lane & width / 2) != 0;
#pragma unroll
    for (int i = 0; i < Items / 2; ++i) {
      Item &front = item[i], &back = item[Items - 1 - i];
      const Item of_front = __shfl_xor_sync(k_all_lanes, back, width - 1);
      const Item of_back = __shfl_xor_sync(k_all_lanes, front, width - 1);
      front = stays(front, of_front, is_upper);
      back = stays(back, of_back, is_upper);
    }
#pragma unroll 1
    for (int lanes = width / 4; lanes > 0; lanes /= 2)
#pragma unroll
      for (int i = 0; i < Items; ++i)
        item[i] = stays(item[i], __shfl_xor_sync(k_all_lanes, item[i], lanes), (lane & lanes) != 0);
#pragma unroll
    for (int stride = Items / 2; stride > 0; stride /= 2)
#pragma unroll
      for (int i = 0; i < Items; ++i)
        if ((i & stride) == 0) put_in_order(item[i], item[i | stride]);
  }
}

// Returns the shift that removes the leading bits which all images of a group of lanes share. Images of ~0 (NaN, and
// places without a key) do not count.
template <int Lanes, int Items>
__device__ inline int common_bits(const uint32_t (&image)[Items]) {
  uint32_t low = ~0u, high = 0;
#pragma unroll
  for (int i = 0; i < Items; ++i) {
    low = image[i] < low ? image[i] : low;
    high = image[i] > high && image[i] != ~0u ? image[i] : high;
  }
  low = lane_reduce<Lanes>(low, [](uint32_t a, uint32_t b) { return a < b ? a : b; });
  high = lane_reduce<Lanes>(high, [](uint32_t a, uint32_t b) { return a > b ? a : b; });
  return low < high ? __clz(static_cast<int>(low ^ high)) : 0;
}

// Exchanges neighbours that are in the wrong order, each item with the one before it, then with the one after it.
// Returns true if this lane had any.
template <int Lanes, int Items>
__device__ inline bool exchange_neighbours(sort_item (&item)[Items]) {
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const sort_item before = __shfl_up_sync(k_all_lanes, item[Items - 1], 1, Lanes);
  const sort_item behind = __shfl_down_sync(k_all_lanes, item[0], 1, Lanes);
  const bool takes_before = lane > 0 && in_wrong_order(before, item[0]);
  const bool takes_behind = lane < Lanes - 1 && in_wrong_order(item[Items - 1], behind);
  item[0] = takes_before ? before : item[0];
  item[Items - 1] = takes_behind ? behind : item[Items - 1];
  bool any = takes_before || takes_behind;
#pragma unroll
  for (int first = 0; first < 2; ++first)
#pragma unroll
    for (int i = first; i + 1 < Items; i += 2) any |= put_in_order(item[i], item[i + 1]);
  return any;
}

constexpr int k_neighbour_passes = 4;

// Sorts Lanes * Items images of each group of neighbouring lanes, image i of lane l at the (i * Lanes + l)-th place
// from `first` on, into items placed as by lane_network. The network sorts words of 32 bits: the leading bits of an
// image that differ within the group, and its place there. Ordering two words takes two instructions, ordering two
// items five. Items that agree in those bits are then neighbours, few in most rows. If exchanging neighbours does not
// end soon, the network sorts the items. `scratch` holds the images of the group.
template <int Lanes, int Items>
__device__ inline void lane_sort(const uint32_t (&image)[Items], uint32_t first, uint32_t* scratch,
                                 sort_item (&item)[Items]) {
  constexpr uint32_t k_places = Lanes * Items - 1;
  const uint32_t lane = threadIdx.x % Lanes;
  const int common = common_bits<Lanes>(image);
  uint32_t word[Items];
  __syncwarp();
#pragma unroll
  for (int i = 0; i < Items; ++i) {
    const uint32_t place = static_cast<uint32_t>(i) * Lanes + lane;
    scratch[place] = image[i];
    word[i] = ((image[i] == ~0u ? ~0u : image[i] << common) & ~k_places) | place;
  }
  lane_network<Lanes>(word);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < Items; ++i) {
    const uint32_t place = word[i] & k_places;
    item[i] = make_sort_item(scratch[place], first + place);
  }
#pragma unroll 1
  for (int pass = 0; pass < k_neighbour_passes; ++pass)
    if (!__any_sync(k_all_lanes, exchange_neighbours<Lanes>(item))) return;
  lane_network<Lanes>(item);
}

// ---- within a block ----

// Returns the number of items of a among the first `diagonal` items of the merged sequence; among equals a comes first.
// `a` and `b` return the item at an offset.
template <class Offset, class A, class B>
__device__ inline Offset merge_path(A&& a, Offset a_count, B&& b, Offset b_count, Offset diagonal) {
  Offset low = diagonal > b_count ? diagonal - b_count : 0;
  Offset high = diagonal < a_count ? diagonal : a_count;
  while (low < high) {
    const Offset middle = low + (high - low) / 2;
    if (a(middle) <= b(diagonal - 1 - middle))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Sorts the items of all threads of a block of whole warps, placed as by lane_sort: first each warp by the network,
// then runs in pairs by merging (O. Green, R. McColl, D. A. Bader, GPU merge path, ICS 2012), in which each thread
// finds its part of the result.
template <int Items>
class block_merge_sort {
  // A gap after every k_gap items, so that neighbouring threads store, and mostly read, through different banks.
  static constexpr int k_gap = Items > 16 ? Items : 16;

 public:
  // Items of shared memory for a block of this many threads.
  __host__ __device__ static constexpr int scratch_items(int threads) {
    return threads * Items + threads * Items / k_gap;
  }

  // Images in the order of lane_sort, each warp's after those of the warp before. Items: a power of two. Two barriers
  // for each doubling of the runs; another must pass before the scratch is used again.
  __device__ static void sort(const uint32_t (&image)[Items], sort_item* scratch, sort_item (&item)[Items]) {
    constexpr uint32_t k_run = k_warp_size * Items;
    const uint32_t first = threadIdx.x / k_warp_size * k_run;
    lane_sort<k_warp_size>(image, first, reinterpret_cast<uint32_t*>(scratch) + first, item);
    const int count = static_cast<int>(blockDim.x) * Items;
    for (int length = k_warp_size * Items; length < count; length *= 2) merge(item, scratch, length, count);
  }

 private:
  __device__ static int slot(int i) { return i + i / k_gap; }

  __device__ static void merge(sort_item (&item)[Items], sort_item* scratch, int length, int count) {
    const int first = static_cast<int>(threadIdx.x) * Items;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Items; ++i) scratch[slot(first + i)] = item[i];
    __syncthreads();
    const int a_begin = first & -(2 * length);
    const int a_end = a_begin + length < count ? a_begin + length : count;
    const int b_end = a_end + length < count ? a_end + length : count;
    const auto at = [&](int i) { return scratch[slot(i)]; };
    int a = a_begin + merge_path([&](int i) { return at(a_begin + i); }, a_end - a_begin,
                                 [&](int i) { return at(a_end + i); }, b_end - a_end, first - a_begin);
    int b = a_end + first - a;
    sort_item of_a = a < a_end ? at(a) : k_no_item;
    sort_item of_b = b < b_end ? at(b) : k_no_item;
#pragma unroll
    for (int i = 0; i < Items; ++i) {
      const bool takes_b = in_wrong_order(of_a, of_b);
      item[i] = takes_b ? of_b : of_a;
      const int next = takes_b ? ++b : ++a;
      const sort_item follows = next < (takes_b ? b_end : a_end) ? at(next) : k_no_item;
      of_a = takes_b ? of_a : follows;
      of_b = takes_b ? follows : of_b;
    }
  }
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
