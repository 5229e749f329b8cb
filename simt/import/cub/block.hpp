// CUB's block operations. They exchange values in TempStorage in shared memory; as with CUB, reusing it needs a
// __syncthreads(). Sums are in the order of the threads.
#pragma once

#include <algorithm>
#include <vector>

#include "operators.hpp"

namespace cub {

enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS,
  BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT,
  BLOCK_LOAD_STRIPED,
  BLOCK_LOAD_VECTORIZE,
  BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT,
  BLOCK_STORE_STRIPED,
  BLOCK_STORE_VECTORIZE,
  BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};

// The thread's number in a block of X x Y x Z threads.
template <int X, int Y, int Z>
int linear_thread() {
  const uint3 t = ::simt::emu::thread_index();
  return static_cast<int>((t.z * Y + t.y) * X + t.x);
}

// Exchange buffer of a block: the caller's storage, or an internal one.
template <class T, int Count>
class block_values {
 public:
  struct TempStorage {
    T values[Count];
  };
  block_values() : block_values(own_storage()) {}
  explicit block_values(TempStorage& t) : values_(t.values) {}

 protected:
  T* values_;

 private:
  static TempStorage& own_storage() {
    SIMT_SHARED(storage, TempStorage);
    return storage;
  }
};

// The first thread gets the result.
template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int = 0>
class BlockReduce : block_values<T, X * Y * Z> {
  using base = block_values<T, X * Y * Z>;
  using base::values_;
  static constexpr int k_threads = X * Y * Z;

 public:
  using base::block_values;
  using typename base::TempStorage;

  template <class Op>
  SIMT_INLINE T Reduce(T value, Op op, SIMT_SITE) {
    return Reduce(value, op, k_threads, site);
  }
  template <class Op>
  SIMT_INLINE T Reduce(T value, Op op, int valid, SIMT_SITE) {
    const int thread = linear_thread<X, Y, Z>();
    values_[thread] = value;
    __syncthreads(site);
    if (thread != 0) return value;
    // CUB's order, so that sums are no deeper than there: a tree in each warp, then the warps.
    const int end = valid < k_threads ? valid : k_threads;
    for (int warp = 0; warp < end; warp += 32) {
      for (int step = 1; step < 32; step *= 2)
        for (int i = warp; i + step < end && i + step < warp + 32; i += 2 * step)
          values_[i] = op(values_[i], values_[i + step]);
      value = warp == 0 ? values_[0] : op(value, values_[warp]);
    }
    return value;
  }
  template <int Items, class Op>
  SIMT_INLINE T Reduce(T (&items)[Items], Op op, SIMT_SITE) {
    T value = items[0];
    for (int i = 1; i < Items; ++i) value = op(value, items[i]);
    return Reduce(value, op, k_threads, site);
  }
  SIMT_INLINE T Sum(T value, SIMT_SITE) { return Reduce(value, cub::Sum(), k_threads, site); }
  SIMT_INLINE T Sum(T value, int valid, SIMT_SITE) { return Reduce(value, cub::Sum(), valid, site); }
  template <int Items>
  SIMT_INLINE T Sum(T (&items)[Items], SIMT_SITE) {
    return Reduce(items, cub::Sum(), site);
  }
};

template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan : block_values<T, X * Y * Z + 1> {
  using base = block_values<T, X * Y * Z + 1>;
  using base::values_;
  static constexpr int k_threads = X * Y * Z;

 public:
  using base::block_values;
  using typename base::TempStorage;

  template <class Op>
  SIMT_INLINE void InclusiveScan(T value, T& result, Op op, T& total, SIMT_SITE) {
    scan(value, op, site);
    result = values_[linear_thread<X, Y, Z>()];
    total = values_[k_threads - 1];
  }
  template <class Op>
  SIMT_INLINE void InclusiveScan(T value, T& result, Op op, SIMT_SITE) {
    T total;
    InclusiveScan(value, result, op, total, site);
  }
  template <class Op>
  SIMT_INLINE void ExclusiveScan(T value, T& result, T initial, Op op, T& total, SIMT_SITE) {
    scan(value, op, site);
    const int thread = linear_thread<X, Y, Z>();
    result = thread == 0 ? initial : op(initial, values_[thread - 1]);
    total = values_[k_threads - 1];
  }
  template <class Op>
  SIMT_INLINE void ExclusiveScan(T value, T& result, T initial, Op op, SIMT_SITE) {
    T total;
    ExclusiveScan(value, result, initial, op, total, site);
  }
  SIMT_INLINE void InclusiveSum(T value, T& result, SIMT_SITE) { InclusiveScan(value, result, cub::Sum(), site); }
  SIMT_INLINE void InclusiveSum(T value, T& result, T& total, SIMT_SITE) {
    InclusiveScan(value, result, cub::Sum(), total, site);
  }
  SIMT_INLINE void ExclusiveSum(T value, T& result, SIMT_SITE) { ExclusiveScan(value, result, T{}, cub::Sum(), site); }
  SIMT_INLINE void ExclusiveSum(T value, T& result, T& total, SIMT_SITE) {
    ExclusiveScan(value, result, T{}, cub::Sum(), total, site);
  }
  // Overload for several items per thread.
  template <int Items, class Op>
  SIMT_INLINE void ExclusiveScan(T (&in)[Items], T (&out)[Items], T initial, Op op, T& total, SIMT_SITE) {
    T own = in[0], before;
    for (int i = 1; i < Items; ++i) own = op(own, in[i]);
    ExclusiveScan(own, before, initial, op, total, site);
    for (int i = 0; i < Items; ++i) {
      const T item = in[i];
      out[i] = before;
      before = op(before, item);
    }
  }
  template <int Items, class Op>
  SIMT_INLINE void InclusiveScan(T (&in)[Items], T (&out)[Items], Op op, T& total, SIMT_SITE) {
    T own = in[0];
    for (int i = 1; i < Items; ++i) own = op(own, in[i]);
    scan(own, op, site);
    const int thread = linear_thread<X, Y, Z>();
    out[0] = thread == 0 ? in[0] : op(values_[thread - 1], in[0]);
    for (int i = 1; i < Items; ++i) out[i] = op(out[i - 1], in[i]);
    total = values_[k_threads - 1];
  }
  template <int Items>
  SIMT_INLINE void ExclusiveSum(T (&in)[Items], T (&out)[Items], SIMT_SITE) {
    T total;
    ExclusiveScan(in, out, T{}, cub::Sum(), total, site);
  }
  template <int Items>
  SIMT_INLINE void ExclusiveSum(T (&in)[Items], T (&out)[Items], T& total, SIMT_SITE) {
    ExclusiveScan(in, out, T{}, cub::Sum(), total, site);
  }
  template <int Items>
  SIMT_INLINE void InclusiveSum(T (&in)[Items], T (&out)[Items], SIMT_SITE) {
    T total;
    InclusiveScan(in, out, cub::Sum(), total, site);
  }
  template <int Items>
  SIMT_INLINE void InclusiveSum(T (&in)[Items], T (&out)[Items], T& total, SIMT_SITE) {
    InclusiveScan(in, out, cub::Sum(), total, site);
  }

 private:
  template <class Op>
  SIMT_INLINE void scan(T value, Op op, const ::simt::call_site& site) {
    const int thread = linear_thread<X, Y, Z>();
    values_[thread] = value;
    __syncthreads(site);
    if (thread == 0)
      for (int i = 1; i < k_threads; ++i) values_[i] = op(values_[i - 1], values_[i]);
    __syncthreads(site);
  }
};

// Combines each item with its left or right neighbour. The first item of all, or the last, has no neighbour and stays
// as it is, unless the caller passes the item of the neighbouring tile.
template <class T, int X, int Y = 1, int Z = 1>
class BlockAdjacentDifference : block_values<T, X * Y * Z> {
  using base = block_values<T, X * Y * Z>;
  using base::values_;
  static constexpr int k_threads = X * Y * Z;

 public:
  using base::block_values;
  using typename base::TempStorage;

  template <int Items, class Out, class Op>
  SIMT_INLINE void SubtractLeft(T (&in)[Items], Out (&out)[Items], Op op, SIMT_SITE) {
    left(in, out, op, nullptr, site);
  }
  template <int Items, class Out, class Op>
  SIMT_INLINE void SubtractLeft(T (&in)[Items], Out (&out)[Items], Op op, T before, SIMT_SITE) {
    left(in, out, op, &before, site);
  }
  template <int Items, class Out, class Op>
  SIMT_INLINE void SubtractRight(T (&in)[Items], Out (&out)[Items], Op op, SIMT_SITE) {
    right(in, out, op, nullptr, site);
  }
  template <int Items, class Out, class Op>
  SIMT_INLINE void SubtractRight(T (&in)[Items], Out (&out)[Items], Op op, T after, SIMT_SITE) {
    right(in, out, op, &after, site);
  }

 private:
  // `out` may be `in`: the items are read from the far end.
  template <int Items, class Out, class Op>
  SIMT_INLINE void left(T (&in)[Items], Out (&out)[Items], Op op, T* before, const ::simt::call_site& site) {
    const int thread = linear_thread<X, Y, Z>();
    values_[thread] = in[Items - 1];
    __syncthreads(site);
    for (int i = Items - 1; i > 0; --i) out[i] = op(in[i], in[i - 1]);
    T* neighbour = thread > 0 ? values_ + thread - 1 : before;
    out[0] = neighbour ? op(in[0], *neighbour) : in[0];
  }
  template <int Items, class Out, class Op>
  SIMT_INLINE void right(T (&in)[Items], Out (&out)[Items], Op op, T* after, const ::simt::call_site& site) {
    const int thread = linear_thread<X, Y, Z>();
    values_[thread] = in[0];
    __syncthreads(site);
    for (int i = 0; i < Items - 1; ++i) out[i] = op(in[i], in[i + 1]);
    T* neighbour = thread < k_threads - 1 ? values_ + thread + 1 : after;
    out[Items - 1] = neighbour ? op(in[Items - 1], *neighbour) : in[Items - 1];
  }
};

template <class T, int X, int Items, bool = false, int Y = 1, int Z = 1, int = 0>
class BlockExchange : block_values<T, X * Y * Z * Items> {
  using base = block_values<T, X * Y * Z * Items>;
  using base::values_;
  static constexpr int k_threads = X * Y * Z;

 public:
  using base::block_values;
  using typename base::TempStorage;

  template <class U>
  SIMT_INLINE void StripedToBlocked(const T (&in)[Items], U (&out)[Items], SIMT_SITE) {
    exchange(in, out, striped, blocked, site);
  }
  SIMT_INLINE void StripedToBlocked(T (&items)[Items], SIMT_SITE) { exchange(items, items, striped, blocked, site); }
  template <class U>
  SIMT_INLINE void BlockedToStriped(const T (&in)[Items], U (&out)[Items], SIMT_SITE) {
    exchange(in, out, blocked, striped, site);
  }
  SIMT_INLINE void BlockedToStriped(T (&items)[Items], SIMT_SITE) { exchange(items, items, blocked, striped, site); }
  template <class Offset>
  SIMT_INLINE void ScatterToBlocked(T (&items)[Items], Offset (&ranks)[Items], SIMT_SITE) {
    exchange(
        items, items, [&](int i) { return static_cast<int>(ranks[i]); }, blocked, site);
  }
  template <class Offset>
  SIMT_INLINE void ScatterToStriped(T (&items)[Items], Offset (&ranks)[Items], SIMT_SITE) {
    exchange(
        items, items, [&](int i) { return static_cast<int>(ranks[i]); }, striped, site);
  }

 private:
  static int striped(int i) { return i * k_threads + linear_thread<X, Y, Z>(); }
  static int blocked(int i) { return linear_thread<X, Y, Z>() * Items + i; }
  template <class In, class Out, class To, class From>
  SIMT_INLINE void exchange(const In& in, Out& out, To to, From from, const ::simt::call_site& site) {
    for (int i = 0; i < Items; ++i) values_[to(i)] = in[i];
    __syncthreads(site);
    for (int i = 0; i < Items; ++i) out[i] = values_[from(i)];
  }
};

template <class Key, int X, int Items, class Value = NullType, int = 4, bool = true,
          BlockScanAlgorithm = BLOCK_SCAN_WARP_SCANS, int = 0, int Y = 1, int Z = 1, int = 0>
class BlockRadixSort {
  static constexpr int k_items = X * Y * Z * Items;

 public:
  struct TempStorage {
    Key keys[k_items];
    Value values[k_items];
  };
  BlockRadixSort() : temp_(own_storage()) {}
  explicit BlockRadixSort(TempStorage& t) : temp_(t) {}

  SIMT_INLINE void Sort(Key (&keys)[Items], int begin = 0, int end = 8 * sizeof(Key), SIMT_SITE) {
    sort(keys, static_cast<Value*>(nullptr), begin, end, false, site);
  }
  SIMT_INLINE void Sort(Key (&keys)[Items], Value (&values)[Items], int begin = 0, int end = 8 * sizeof(Key),
                        SIMT_SITE) {
    sort(keys, values, begin, end, false, site);
  }
  SIMT_INLINE void SortDescending(Key (&keys)[Items], int begin = 0, int end = 8 * sizeof(Key), SIMT_SITE) {
    sort(keys, static_cast<Value*>(nullptr), begin, end, true, site);
  }
  SIMT_INLINE void SortDescending(Key (&keys)[Items], Value (&values)[Items], int begin = 0, int end = 8 * sizeof(Key),
                                  SIMT_SITE) {
    sort(keys, values, begin, end, true, site);
  }

 private:
  static TempStorage& own_storage() {
    SIMT_SHARED(storage, TempStorage);
    return storage;
  }
  SIMT_INLINE void sort(Key (&keys)[Items], Value* values, int begin, int end, bool descending,
                        const ::simt::call_site& site) {
    const int first = linear_thread<X, Y, Z>() * Items;
    for (int i = 0; i < Items; ++i) {
      temp_.keys[first + i] = keys[i];
      if (values != nullptr) temp_.values[first + i] = values[i];
    }
    __syncthreads(site);
    if (first == 0) sort_all(values != nullptr, begin, end, descending);
    __syncthreads(site);
    for (int i = 0; i < Items; ++i) {
      keys[i] = temp_.keys[first + i];
      if (values != nullptr) values[i] = temp_.values[first + i];
    }
  }
  SIMT_INLINE void sort_all(bool with_values, int begin, int end, bool descending) {
    const std::vector<Key> keys(temp_.keys, temp_.keys + k_items);
    std::vector<Value> values(k_items);
    std::vector<int> order(k_items);
    for (int i = 0; i < k_items; ++i) {
      order[i] = i;
      if (with_values) values[i] = temp_.values[i];
    }
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return descending ? radix_less(keys[b], keys[a], begin, end) : radix_less(keys[a], keys[b], begin, end);
    });
    for (int i = 0; i < k_items; ++i) {
      temp_.keys[i] = keys[order[i]];
      if (with_values) temp_.values[i] = values[order[i]];
    }
  }
  TempStorage& temp_;
};

// Items in blocked order: thread t has [t * Items, (t + 1) * Items); striped: t, t + threads, ...
template <class From, class T, int Items>
SIMT_INLINE void LoadDirectBlocked(int thread, From from, T (&items)[Items], int valid = 1 << 30) {
  for (int i = 0; i < Items; ++i)
    if (thread * Items + i < valid) items[i] = from[thread * Items + i];
}
template <int Threads, class From, class T, int Items>
SIMT_INLINE void LoadDirectStriped(int thread, From from, T (&items)[Items], int valid = 1 << 30) {
  for (int i = 0; i < Items; ++i)
    if (thread + i * Threads < valid) items[i] = from[thread + i * Threads];
}
template <class To, class T, int Items>
SIMT_INLINE void StoreDirectBlocked(int thread, To to, T (&items)[Items], int valid = 1 << 30) {
  for (int i = 0; i < Items; ++i)
    if (thread * Items + i < valid) to[thread * Items + i] = items[i];
}
template <int Threads, class To, class T, int Items>
SIMT_INLINE void StoreDirectStriped(int thread, To to, T (&items)[Items], int valid = 1 << 30) {
  for (int i = 0; i < Items; ++i)
    if (thread + i * Threads < valid) to[thread + i * Threads] = items[i];
}

// Transposing loads and stores access memory in striped order, and the threads of a warp or of the block exchange their
// items in the TempStorage. The others need none.
enum class exchanging { nothing, of_warp, of_block };
constexpr exchanging exchanging_of(BlockLoadAlgorithm a) {
  if (a == BLOCK_LOAD_TRANSPOSE) return exchanging::of_block;
  return a > BLOCK_LOAD_TRANSPOSE ? exchanging::of_warp : exchanging::nothing;
}
constexpr exchanging exchanging_of(BlockStoreAlgorithm a) {
  if (a == BLOCK_STORE_TRANSPOSE) return exchanging::of_block;
  return a > BLOCK_STORE_TRANSPOSE ? exchanging::of_warp : exchanging::nothing;
}
template <class T, int X, int Items, exchanging Kind, int Y, int Z>
class block_transposition : protected block_values<T, Kind == exchanging::nothing ? 1 : X * Y * Z * Items> {
  using base = block_values<T, Kind == exchanging::nothing ? 1 : X * Y * Z * Items>;
  static constexpr int k_group = Kind == exchanging::of_block ? X * Y * Z : 32;

 protected:
  using base::base;
  static int striped(int i) {
    const int thread = linear_thread<X, Y, Z>();
    return thread / k_group * k_group * Items + i * k_group + thread % k_group;
  }
  static int blocked(int i) { return linear_thread<X, Y, Z>() * Items + i; }
  static void meet(const ::simt::call_site& site) {
    if constexpr (Kind == exchanging::of_block)
      __syncthreads(site);
    else
      __syncwarp(~0u, site);
  }
};

template <class T, int X, int Items, BlockLoadAlgorithm Algorithm = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockLoad : block_transposition<T, X, Items, exchanging_of(Algorithm), Y, Z> {
  using base = block_transposition<T, X, Items, exchanging_of(Algorithm), Y, Z>;

 public:
  using base::base;
  using typename base::TempStorage;
  template <class From>
  SIMT_INLINE void Load(From from, T (&items)[Items], int valid = 1 << 30, SIMT_SITE) {
    const int thread = linear_thread<X, Y, Z>();
    if constexpr (Algorithm == BLOCK_LOAD_STRIPED)
      LoadDirectStriped<X * Y * Z>(thread, from, items, valid);
    else if constexpr (Algorithm == BLOCK_LOAD_DIRECT || Algorithm == BLOCK_LOAD_VECTORIZE)
      LoadDirectBlocked(thread, from, items, valid);
    else
      transpose(from, items, valid, site);
  }
  template <class From, class Default>
  SIMT_INLINE void Load(From from, T (&items)[Items], int valid, Default otherwise, SIMT_SITE) {
    for (T& item : items) item = otherwise;
    Load(from, items, valid, site);
  }

 private:
  template <class From>
  SIMT_INLINE void transpose(From from, T (&items)[Items], int valid, const ::simt::call_site& site) {
    for (int i = 0; i < Items; ++i) {
      const int at = this->striped(i);
      if (at < valid) items[i] = from[at];
      this->values_[at] = items[i];
    }
    this->meet(site);
    for (int i = 0; i < Items; ++i) items[i] = this->values_[this->blocked(i)];
  }
};
template <class T, int X, int Items, BlockStoreAlgorithm Algorithm = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockStore : block_transposition<T, X, Items, exchanging_of(Algorithm), Y, Z> {
  using base = block_transposition<T, X, Items, exchanging_of(Algorithm), Y, Z>;

 public:
  using base::base;
  using typename base::TempStorage;
  template <class To>
  SIMT_INLINE void Store(To to, T (&items)[Items], int valid = 1 << 30, SIMT_SITE) {
    const int thread = linear_thread<X, Y, Z>();
    if constexpr (Algorithm == BLOCK_STORE_STRIPED)
      StoreDirectStriped<X * Y * Z>(thread, to, items, valid);
    else if constexpr (Algorithm == BLOCK_STORE_DIRECT || Algorithm == BLOCK_STORE_VECTORIZE)
      StoreDirectBlocked(thread, to, items, valid);
    else
      transpose(to, items, valid, site);
  }

 private:
  template <class To>
  SIMT_INLINE void transpose(To to, T (&items)[Items], int valid, const ::simt::call_site& site) {
    for (int i = 0; i < Items; ++i) this->values_[this->blocked(i)] = items[i];
    this->meet(site);
    for (int i = 0; i < Items; ++i)
      if (const int at = this->striped(i); at < valid) to[at] = this->values_[at];
  }
};

}  // namespace cub
