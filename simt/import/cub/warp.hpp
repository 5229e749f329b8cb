// CUB's operations of a warp, or of `Threads` neighbouring lanes of one. Like CUB's own they use shuffles.
#pragma once

#include "operators.hpp"
#include "simt/import/cooperative_groups.h"

namespace cub {

namespace lanes {
template <int Threads>
unsigned mask() {
  static_assert(Threads > 0 && Threads <= 32 && (Threads & (Threads - 1)) == 0, "a power of two up to 32");
  const unsigned lane = ::simt::emu::lane_index();
  return (Threads == 32 ? 0xffffffffu : (1u << (Threads % 32)) - 1) << lane / Threads * Threads;
}
template <int Threads>
unsigned rank() {
  return ::simt::emu::lane_index() % Threads;
}
template <int Threads, class T>
T from(T v, unsigned rank, const ::simt::call_site& site) {
  return cooperative_groups::shuffled(
      v, [&](auto word) { return __shfl_sync(mask<Threads>(), word, static_cast<int>(rank), Threads, site); });
}
}  // namespace lanes

// The first lane gets the result.
template <class T, int Threads = 32, int = 0>
class WarpReduce {
 public:
  struct TempStorage {};
  explicit WarpReduce(TempStorage&) {}

  template <class Op>
  T Reduce(T value, Op op, int valid = Threads, SIMT_SITE) {
    const auto rank = static_cast<int>(lanes::rank<Threads>());
    for (int step = 1; step < Threads; step *= 2) {
      const int other = rank + step < Threads ? rank + step : rank;
      const T right = lanes::from<Threads>(value, static_cast<unsigned>(other), site);
      if (rank + step < valid && rank % (2 * step) == 0) value = op(value, right);
    }
    return value;
  }
  T Sum(T value, int valid = Threads, SIMT_SITE) { return Reduce(value, cub::Sum(), valid, site); }
};

template <class T, int Threads = 32, int = 0>
class WarpScan {
 public:
  struct TempStorage {};
  explicit WarpScan(TempStorage&) {}

  template <class Op>
  void InclusiveScan(T value, T& result, Op op, SIMT_SITE) {
    const unsigned rank = lanes::rank<Threads>();
    for (unsigned step = 1; step < Threads; step *= 2) {
      const T left = lanes::from<Threads>(value, rank >= step ? rank - step : rank, site);
      if (rank >= step) value = op(left, value);
    }
    result = value;
  }
  template <class Op>
  void InclusiveScan(T value, T& result, Op op, T& total, SIMT_SITE) {
    InclusiveScan(value, result, op, site);
    total = lanes::from<Threads>(result, Threads - 1, site);
  }
  template <class Op>
  void ExclusiveScan(T value, T& result, T initial, Op op, SIMT_SITE) {
    T all;
    InclusiveScan(value, all, op, site);
    const unsigned rank = lanes::rank<Threads>();
    const T left = lanes::from<Threads>(all, rank > 0 ? rank - 1 : 0, site);
    result = rank > 0 ? op(initial, left) : initial;
  }
  template <class Op>
  void ExclusiveScan(T value, T& result, T initial, Op op, T& total, SIMT_SITE) {
    InclusiveScan(value, total, op, site);
    total = lanes::from<Threads>(total, Threads - 1, site);
    ExclusiveScan(value, result, initial, op, site);
  }
  void InclusiveSum(T value, T& result, SIMT_SITE) { InclusiveScan(value, result, cub::Sum(), site); }
  void InclusiveSum(T value, T& result, T& total, SIMT_SITE) { InclusiveScan(value, result, cub::Sum(), total, site); }
  void ExclusiveSum(T value, T& result, SIMT_SITE) { ExclusiveScan(value, result, T{}, cub::Sum(), site); }
  void ExclusiveSum(T value, T& result, T& total, SIMT_SITE) {
    ExclusiveScan(value, result, T{}, cub::Sum(), total, site);
  }
  T Broadcast(T value, unsigned rank, SIMT_SITE) { return lanes::from<Threads>(value, rank, site); }
};

enum WarpExchangeAlgorithm { WARP_EXCHANGE_SMEM, WARP_EXCHANGE_SHUFFLE };
template <class T, int Items, int Threads = 32, int = 0, WarpExchangeAlgorithm = WARP_EXCHANGE_SMEM>
class WarpExchange {
 public:
  struct TempStorage {
    T values[Threads * Items];
  };
  explicit WarpExchange(TempStorage& t) : values_(t.values) {}

  template <class U>
  SIMT_INLINE void StripedToBlocked(const T (&in)[Items], U (&out)[Items], SIMT_SITE) {
    exchange(
        in, out, [](int i) { return i * Threads + rank(); }, [](int i) { return rank() * Items + i; }, site);
  }
  template <class U>
  SIMT_INLINE void BlockedToStriped(const T (&in)[Items], U (&out)[Items], SIMT_SITE) {
    exchange(
        in, out, [](int i) { return rank() * Items + i; }, [](int i) { return i * Threads + rank(); }, site);
  }
  template <class Offset>
  SIMT_INLINE void ScatterToStriped(T (&items)[Items], Offset (&ranks)[Items], SIMT_SITE) {
    exchange(
        items, items, [&](int i) { return ranks[i]; }, [](int i) { return i * Threads + rank(); }, site);
  }

 private:
  static int rank() { return static_cast<int>(lanes::rank<Threads>()); }
  template <class In, class Out, class To, class From>
  SIMT_INLINE void exchange(const In& in, Out& out, To to, From from, const ::simt::call_site& site) {
    for (int i = 0; i < Items; ++i) values_[to(i)] = in[i];
    __syncwarp(lanes::mask<Threads>(), site);
    for (int i = 0; i < Items; ++i) out[i] = values_[from(i)];
  }
  T* values_;
};

}  // namespace cub
