// What a row adds to a slot, in a tile in shared memory and in global memory: one class per kind of sums.
//
// An Updates class says
//   word, total, k_planes     a tile holds k_planes words per slot, in planes: neighbouring slots lie in different
//   banks.
//                             Global memory holds two totals per slot, `sums`, zero at the start.
//   k_most_rows               rows that a tile may take before it is handed over
//   context, begin()          what a thread reads once
//   change, read(row)         what the row adds
//   add_to_tile(tile, slots, local, change), add(slot, change), hand_over(tile, slots, local, slot)
//   is_noted(change), note(slot, change)   what no sum can hold is remembered beside it
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/histogram.hpp"
#include "kernels/simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_poison_slots = 16;  // per word: a bit for g and one for h each

constexpr float k_largest_float = std::numeric_limits<float>::max();

__device__ inline double power_of_two(int exponent) {
  // -1022 <= exponent <= 1023, as every exponent of a scale and its negative.
  return __longlong_as_double(static_cast<long long>(exponent + 1023) << 52);
}

// Integers on the grid 2^-e, mod 2^64. In a tile a sum is two 32-bit words with the carry passed on by hand: a 64-bit
// atomic in shared memory is a loop, and the high word changes seldom.
struct fixed64_updates {
  using word = unsigned;
  using total = unsigned long long;
  static constexpr int k_planes = 4;  // low words of g and h, high words of g and h
  static constexpr int64_t k_most_rows = std::numeric_limits<int64_t>::max();

  const float *g, *h;
  const fixed_scale* scale;
  total* sums;
  unsigned* poison;  // 2 bits per slot

  struct context {
    double factor_g, factor_h;
  };
  struct change {
    long long g, h;
    unsigned poison;
  };

  __device__ context begin() const { return {power_of_two(scale->e_g), power_of_two(scale->e_h)}; }

  __device__ static long long on_grid(float x, double factor, unsigned bit, unsigned* poison) {
    // The product is exact; below the largest magnitude of the scale it fits.
    if (fabsf(x) <= k_largest_float) return __double2ll_rn(static_cast<double>(x) * factor);
    *poison |= bit;
    return 0;
  }
  __device__ change read(int64_t row, const context& c) const {
    change v{0, 0, 0};
    v.g = on_grid(g[row], c.factor_g, 1u, &v.poison);
    v.h = on_grid(h[row], c.factor_h, 2u, &v.poison);
    return v;
  }

  __device__ static void add_to_pair(unsigned* low, unsigned* high, long long value) {
    const auto bits = static_cast<unsigned long long>(value);
    const auto part = static_cast<unsigned>(bits);
    const unsigned before = atomicAdd(low, part);
    const unsigned rest = static_cast<unsigned>(bits >> 32) + (before + part < part ? 1u : 0u);
    if (rest != 0) atomicAdd(high, rest);
  }
  __device__ static void add_to_tile(word* tile, int slots, int local, const change& v) {
    add_to_pair(tile + local, tile + 2 * slots + local, v.g);
    add_to_pair(tile + slots + local, tile + 3 * slots + local, v.h);
  }
  __device__ void add(int64_t slot, const change& v) const {
    if (v.g != 0) atomicAdd(sums + 2 * slot, static_cast<total>(v.g));
    if (v.h != 0) atomicAdd(sums + 2 * slot + 1, static_cast<total>(v.h));
  }
  __device__ void hand_over(const word* tile, int slots, int local, int64_t slot) const {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const total sum = static_cast<total>(tile[(2 + part) * slots + local]) << 32 | tile[part * slots + local];
      if (sum != 0) atomicAdd(sums + 2 * slot + part, sum);
    }
  }
  __device__ static bool is_noted(const change& v) { return v.poison != 0; }
  __device__ void note(int64_t slot, const change& v) const {
    atomicOr(poison + slot / k_poison_slots, v.poison << 2 * (slot % k_poison_slots));
  }
};

// Floating-point sums of T in tiles, of f64 in global memory.
template <class T>
struct float_updates {
  using word = T;
  using total = double;
  static constexpr int k_planes = 2;
  static constexpr int64_t k_most_rows = sizeof(T) == 4 ? 16384 : std::numeric_limits<int64_t>::max();

  const float *g, *h;
  total* sums;

  struct context {};
  struct change {
    float g, h;
  };

  __device__ context begin() const { return {}; }
  __device__ change read(int64_t row, const context&) const { return {g[row], h[row]}; }
  __device__ static void add_to_tile(word* tile, int slots, int local, const change& v) {
    atomicAdd(tile + local, static_cast<T>(v.g));
    atomicAdd(tile + slots + local, static_cast<T>(v.h));
  }
  __device__ void add(int64_t slot, const change& v) const {
    atomicAdd(sums + 2 * slot, static_cast<double>(v.g));
    atomicAdd(sums + 2 * slot + 1, static_cast<double>(v.h));
  }
  __device__ void hand_over(const word* tile, int slots, int local, int64_t slot) const {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const auto sum = static_cast<double>(tile[part * slots + local]);
      if (sum != 0) atomicAdd(sums + 2 * slot + part, sum);
    }
  }
  __device__ static bool is_noted(const change&) { return false; }
  __device__ void note(int64_t, const change&) const {}
};

// Small integers, one 32-bit atomic per row in most cases: g in the high half of a word, signed, h in the low half,
// unsigned. Who overflows a half sees it in the word that the atomic returns and counts the overflow in a second word,
// packed alike. With P the first word, C_g and C_h the counts,
//   Sum h = 2^16 C_h + P mod 2^16,   2^16 Sum g = P + 2^32 C_g - Sum h.
// |C_g|, C_h <= rows 32767 / 2^16 + 1, so 2^15 rows stay far inside 16 bits.
struct quantised_updates {
  using word = unsigned;
  using total = unsigned long long;
  static constexpr int k_planes = 2;
  static constexpr int64_t k_most_rows = 32768;

  const int16_t* gh;
  total* sums;

  struct context {};
  struct change {
    int g, h;
  };

  __device__ context begin() const { return {}; }
  __device__ change read(int64_t row, const context&) const { return {gh[2 * row], gh[2 * row + 1]}; }
  __device__ static void add_to_tile(word* tile, int slots, int local, const change& v) {
    const unsigned packed = (static_cast<unsigned>(v.g) << 16) + static_cast<unsigned>(v.h);
    const unsigned before = atomicAdd(tile + local, packed);
    const unsigned low = ((before & 0xffffu) + (packed & 0xffffu)) >> 16;
    // A negative g was added as 2^16 + g, which overflows unless the sum stays below 0.
    const unsigned high = (before + packed < packed ? 1u : 0u) - (packed >> 31);
    const unsigned overflow = (high << 16) + low;
    if (overflow != 0) atomicAdd(tile + slots + local, overflow);
  }
  __device__ void add(int64_t slot, const change& v) const {
    if (v.g != 0) atomicAdd(sums + 2 * slot, static_cast<total>(static_cast<long long>(v.g)));
    if (v.h != 0) atomicAdd(sums + 2 * slot + 1, static_cast<total>(static_cast<long long>(v.h)));
  }
  __device__ void hand_over(const word* tile, int slots, int local, int64_t slot) const {
    const unsigned packed = tile[local], overflow = tile[slots + local];
    const long long h = (static_cast<long long>(overflow & 0xffffu) << 16) + (packed & 0xffffu);
    const long long carries = static_cast<int16_t>(overflow >> 16);
    const long long g = (static_cast<long long>(packed) + carries * (1ll << 32) - h) / 65536;
    if (g != 0) atomicAdd(sums + 2 * slot, static_cast<total>(g));
    if (h != 0) atomicAdd(sums + 2 * slot + 1, static_cast<total>(h));
  }
  __device__ static bool is_noted(const change&) { return false; }
  __device__ void note(int64_t, const change&) const {}
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
