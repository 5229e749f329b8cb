// The update of a slot by a row, in a tile in shared memory and in global memory: one class per kind of sums.
//
// An Updates class has
//   word, k_limbs            a slot of a tile has k_limbs words; slot.limb(p) points to one
//   total                     global memory holds two per slot, `sums`, zero at the start
//   most_rows()               rows that a tile may take before it is handed over
//   context, begin()          what a thread reads once
//   source, fetch(row); change, change_of(source, context)   what is read of a row, and what that adds
//   in_bytes()                true if finite_change_of(source, context) may replace change_of; for a source that is
//                             not finite its result may be anything, but the slots that it is added to are noted
//   add_to_tile(slot, change), add(index, change), hand_over(slot, index, part)   part 0: g, 1: h
//   any_noted(), is_noted(change), note(index, change)   changes that no sum can hold are stored beside it
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/histogram/histogram.hpp"
#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_poison_slots = 16;  // per word: a bit for g and one for h each

constexpr float k_largest_float = std::numeric_limits<float>::max();

__device__ inline double power_of_two(int exponent) {
  // -1022 <= exponent <= 1023, as every exponent of a scale and its negative.
  return __longlong_as_double(static_cast<long long>(exponent + 1023) << 52);
}

// rint(x), halves to even, of |x| <= 2^51, because the last place of the sum is 1. A conversion to integers takes many
// times as long as an addition.
__device__ inline long long rounded(double x) {
  constexpr double k_shift = 0x1.8p52;
  return __double_as_longlong(x + k_shift) - __double_as_longlong(k_shift);
}

// A slot whose limbs lie `distance` words apart, so that neighbouring slots lie in different banks.
template <class Word>
struct tile_slot {
  Word* first;
  int distance;
  __device__ Word* limb(int p) const { return first + p * distance; }
};

// Integers q on the grid 2^-e. In a tile q is two limbs, its low `low_bits` bits and the signed rest, each summed in 32
// bits, so that no carry is passed on and no atomic returns a value. With at most 2^r rows in a leaf, |q| <= 2^(53-r),
// and with 2^b rows in a tile, b <= min(17, (10 + r) / 2) and 32 - b low bits, neither sum overflows: the low one is
// below 2^b 2^(32-b), and the high one at most 2^b 2^(53-r-32+b) = 2^(21-r+2b) <= 2^31 in magnitude, which is reached
// only from below: q = 2^(53-r) takes r > 29, where 2^(55-r) is far off.
struct fixed64_updates {
  using word = unsigned;
  using total = unsigned long long;
  static constexpr int k_limbs = 4;  // low limbs of g and h, high limbs of g and h

  const float *g, *h;
  const fixed_scale* scale;
  total* sums;
  unsigned* poison;  // 2 bits per slot
  int low_bits;

  static constexpr int k_most_low_bits = 27;  // of leaves of one row or two
  static int low_bits_for(int64_t max_rows) {
    int row_bits = 0;
    while (row_bits < 24 && (int64_t{1} << row_bits) < max_rows) ++row_bits;
    return k_most_low_bits - row_bits / 2;
  }
  int64_t most_rows() const { return int64_t{1} << (32 - low_bits); }

  struct context {
    double factor_g, factor_h;
  };
  struct source {
    float g, h;
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
  __device__ source fetch(int64_t row) const { return {g[row], h[row]}; }
  __device__ change change_of(const source& x, const context& c) const {
    change v{0, 0, 0};
    v.g = on_grid(x.g, c.factor_g, 1u, &v.poison);
    v.h = on_grid(x.h, c.factor_h, 2u, &v.poison);
    return v;
  }
  bool in_bytes() const { return low_bits < k_most_low_bits; }  // |q| <= 2^51
  __device__ static change finite_change_of(const source& x, const context& c) {
    return {rounded(static_cast<double>(x.g) * c.factor_g), rounded(static_cast<double>(x.h) * c.factor_h), 0};
  }

  template <class Slot>
  __device__ void add_to_tile(const Slot& slot, const change& v) const {
    const unsigned low = (1u << low_bits) - 1u;
    atomicAdd(slot.limb(0), static_cast<unsigned>(v.g) & low);
    atomicAdd(slot.limb(1), static_cast<unsigned>(v.h) & low);
    atomicAdd(slot.limb(2), static_cast<unsigned>(v.g >> low_bits));
    atomicAdd(slot.limb(3), static_cast<unsigned>(v.h >> low_bits));
  }
  __device__ void add(int64_t index, const change& v) const {
    if (v.g != 0) atomicAdd(sums + 2 * index, static_cast<total>(v.g));
    if (v.h != 0) atomicAdd(sums + 2 * index + 1, static_cast<total>(v.h));
  }
  template <class Slot>
  __device__ void hand_over(const Slot& slot, int64_t index, int part) const {
    const auto high = static_cast<long long>(static_cast<int>(*slot.limb(2 + part)));
    const total sum = (static_cast<total>(high) << low_bits) + *slot.limb(part);
    if (sum != 0) atomicAdd(sums + 2 * index + part, sum);
  }
  __device__ bool any_noted() const { return scale->nonfinite != 0; }
  __device__ static bool is_noted(const change& v) { return v.poison != 0; }
  __device__ void note(int64_t index, const change& v) const {
    atomicOr(poison + index / k_poison_slots, v.poison << 2 * (index % k_poison_slots));
  }
};

// Floating-point sums of T in tiles, of f64 in global memory.
template <class T>
struct float_updates {
  using word = T;
  using total = double;
  static constexpr int k_limbs = 2;

  const float *g, *h;
  total* sums;

  int64_t most_rows() const { return sizeof(T) == 4 ? 16384 : int64_t{1} << 40; }

  struct context {};
  struct source {
    float g, h;
  };
  using change = source;

  __device__ context begin() const { return {}; }
  __device__ source fetch(int64_t row) const { return {g[row], h[row]}; }
  __device__ static change change_of(const source& x, const context&) { return x; }
  static bool in_bytes() { return true; }
  __device__ static change finite_change_of(const source& x, const context&) { return x; }
  template <class Slot>
  __device__ static void add_to_tile(const Slot& slot, const change& v) {
    atomicAdd(slot.limb(0), static_cast<T>(v.g));
    atomicAdd(slot.limb(1), static_cast<T>(v.h));
  }
  __device__ void add(int64_t index, const change& v) const {
    atomicAdd(sums + 2 * index, static_cast<double>(v.g));
    atomicAdd(sums + 2 * index + 1, static_cast<double>(v.h));
  }
  template <class Slot>
  __device__ void hand_over(const Slot& slot, int64_t index, int part) const {
    const auto sum = static_cast<double>(*slot.limb(part));
    if (sum != 0) atomicAdd(sums + 2 * index + part, sum);
  }
  __device__ static bool any_noted() { return false; }
  __device__ static bool is_noted(const change&) { return false; }
  __device__ void note(int64_t, const change&) const {}
};

// Small integers, each summed in a separate word: 2^16 rows of at most 2^15 - 1 stay below 2^31. Two atomics that
// return nothing cost less than one on a packed word whose overflows must be noticed.
struct quantised_updates {
  using word = unsigned;
  using total = unsigned long long;
  static constexpr int k_limbs = 2;

  const int16_t* gh;
  total* sums;
  bool aligned;  // a row's pair is one word in memory

  int64_t most_rows() const { return 65536; }

  struct context {};
  using source = unsigned;  // g in the low half
  struct change {
    int g, h;
  };

  __device__ context begin() const { return {}; }
  __device__ source fetch(int64_t row) const {
    const int16_t* const pair = gh + 2 * row;
    if (aligned) return *reinterpret_cast<const unsigned*>(pair);
    return static_cast<uint16_t>(pair[0]) | static_cast<unsigned>(pair[1]) << 16;
  }
  __device__ static change change_of(source x, const context&) {
    return {static_cast<int16_t>(x & 0xffffu), static_cast<int>(x >> 16)};
  }
  static bool in_bytes() { return true; }
  __device__ static change finite_change_of(source x, const context& c) { return change_of(x, c); }
  template <class Slot>
  __device__ static void add_to_tile(const Slot& slot, const change& v) {
    atomicAdd(slot.limb(0), static_cast<unsigned>(v.g));
    atomicAdd(slot.limb(1), static_cast<unsigned>(v.h));
  }
  __device__ void add(int64_t index, const change& v) const {
    if (v.g != 0) atomicAdd(sums + 2 * index, static_cast<total>(static_cast<long long>(v.g)));
    if (v.h != 0) atomicAdd(sums + 2 * index + 1, static_cast<total>(static_cast<long long>(v.h)));
  }
  template <class Slot>
  __device__ void hand_over(const Slot& slot, int64_t index, int part) const {
    const auto sum = static_cast<long long>(static_cast<int>(*slot.limb(part)));
    if (sum != 0) atomicAdd(sums + 2 * index + part, static_cast<total>(sum));
  }
  __device__ static bool any_noted() { return false; }
  __device__ static bool is_noted(const change&) { return false; }
  __device__ void note(int64_t, const change&) const {}
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
