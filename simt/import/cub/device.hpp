// CUB's operations on a whole array: the host does them in the call's stream, in the order of the items. As with CUB, a
// first call with a null `storage` returns its size.
#pragma once

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "operators.hpp"

namespace cub {

// Returns true, and the size, if the call only asks for the size.
inline bool asks_for_size(void* storage, size_t& bytes) {
  if (storage == nullptr) bytes = 1;
  return storage == nullptr;
}
// Marks as written what the host wrote, because the detector observes only kernels.
template <class Pointer>
void written(Pointer p, size_t items) {
  if constexpr (std::is_pointer_v<Pointer>) ::simt::mark_initialized(p, items * sizeof(*p));
}

// True if two arrays share memory; iterators other than pointers share none.
template <class A, class B>
bool overlap(A a, int64_t items_of_a, B b, int64_t items_of_b) {
  if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>) {
    const auto first = reinterpret_cast<uintptr_t>(a), second = reinterpret_cast<uintptr_t>(b);
    return first < second + static_cast<size_t>(items_of_b) * sizeof(*b) &&
           second < first + static_cast<size_t>(items_of_a) * sizeof(*a);
  } else {
    return false;
  }
}
inline cudaError_t refuse_overlap(const char* function, const char* arrays, const ::simt::import::site& site) {
  return ::simt::import::misuse(function, site, std::string(arrays) + " overlap, which CUB does not allow",
                                cudaErrorInvalidValue);
}

// Enqueues the work in the stream.
template <class Work>
cudaError_t in_stream(const char* name, const ::simt::import::site& where, cudaStream_t stream, Work work) {
  ::simt::import::enqueue({name, where, ::simt::import::on(stream)}, [work]() mutable { work(); });
  return cudaSuccess;
}

// Sums of neighbours with equal keys.
template <class Keys, class Unique, class Values, class Sums, class Runs, class Op>
cudaError_t reduce_by_key(const char* function, const ::simt::import::site& site, cudaStream_t stream, void* storage,
                          size_t& bytes, Keys keys, Unique unique, Values values, Sums sums, Runs runs, Op op,
                          int64_t items) {
  if (asks_for_size(storage, bytes)) return cudaSuccess;
  if (overlap(keys, items, unique, items) || overlap(values, items, sums, items))
    return refuse_overlap(function, "the input and the output", site);
  return in_stream(function, site, stream, [=]() mutable {
    int64_t n = 0;
    for (int64_t i = 0; i < items; ++i) {
      const bool same = i > 0 && keys[i] == keys[i - 1];
      if (same) {
        sums[n - 1] = op(sums[n - 1], values[i]);
        continue;
      }
      unique[n] = keys[i];
      sums[n++] = values[i];
    }
    *runs = static_cast<std::decay_t<decltype(*runs)>>(n);
    written(unique, static_cast<size_t>(n));
    written(sums, static_cast<size_t>(n));
    written(runs, 1);
  });
}

struct DeviceReduce {
  template <class In, class Out, class Op, class T>
  static cudaError_t Reduce(void* storage, size_t& bytes, In in, Out out, int64_t items, Op op, T initial,
                            cudaStream_t stream = nullptr, SIMT_SITE) {
    if (asks_for_size(storage, bytes)) return cudaSuccess;
    if (overlap(in, items, out, 1)) return refuse_overlap("cub::DeviceReduce", "the input and the output", site);
    return in_stream("cub::DeviceReduce", site, stream, [=]() mutable {
      for (int64_t i = 0; i < items; ++i) initial = op(initial, in[i]);
      *out = initial;
      written(out, 1);
    });
  }
  template <class In, class Out>
  static cudaError_t Sum(void* storage, size_t& bytes, In in, Out out, int64_t items, cudaStream_t stream = nullptr,
                         SIMT_SITE) {
    return Reduce(storage, bytes, in, out, items, cub::Sum(), std::decay_t<decltype(*out)>{}, stream, site);
  }
  template <class In, class Out>
  static cudaError_t Max(void* storage, size_t& bytes, In in, Out out, int64_t items, cudaStream_t stream = nullptr,
                         SIMT_SITE) {
    using T = std::decay_t<decltype(in[0])>;
    return Reduce(storage, bytes, in, out, items, cub::Max(), std::numeric_limits<T>::lowest(), stream, site);
  }
  template <class In, class Out>
  static cudaError_t Min(void* storage, size_t& bytes, In in, Out out, int64_t items, cudaStream_t stream = nullptr,
                         SIMT_SITE) {
    using T = std::decay_t<decltype(in[0])>;
    return Reduce(storage, bytes, in, out, items, cub::Min(), std::numeric_limits<T>::max(), stream, site);
  }
  template <class In, class T>
  static cudaError_t ArgMax(void* storage, size_t& bytes, In in, KeyValuePair<int, T>* out, int64_t items,
                            cudaStream_t stream = nullptr, SIMT_SITE) {
    return extreme(site, stream, storage, bytes, in, out, items, [](const T& a, const T& b) { return b < a; });
  }
  template <class In, class T>
  static cudaError_t ArgMin(void* storage, size_t& bytes, In in, KeyValuePair<int, T>* out, int64_t items,
                            cudaStream_t stream = nullptr, SIMT_SITE) {
    return extreme(site, stream, storage, bytes, in, out, items, [](const T& a, const T& b) { return a < b; });
  }
  template <class Keys, class Unique, class Values, class Sums, class Runs, class Op>
  static cudaError_t ReduceByKey(void* storage, size_t& bytes, Keys keys, Unique unique, Values values, Sums sums,
                                 Runs runs, Op op, int64_t items, cudaStream_t stream = nullptr, SIMT_SITE) {
    return reduce_by_key("cub::DeviceReduce::ReduceByKey", site, stream, storage, bytes, keys, unique, values, sums,
                         runs, op, items);
  }

 private:
  template <class In, class T, class Better>
  static cudaError_t extreme(const ::simt::import::site& site, cudaStream_t stream, void* storage, size_t& bytes, In in,
                             KeyValuePair<int, T>* out, int64_t items, Better better) {
    if (asks_for_size(storage, bytes) || items == 0) return cudaSuccess;
    if (overlap(in, items, out, 1)) return refuse_overlap("cub::DeviceReduce", "the input and the output", site);
    return in_stream("cub::DeviceReduce", site, stream, [=]() mutable {
      KeyValuePair<int, T> best{0, in[0]};
      for (int64_t i = 1; i < items; ++i)
        if (better(in[i], best.value)) best = {static_cast<int>(i), in[i]};
      *out = best;
      written(out, 1);
    });
  }
};

struct DeviceScan {
  // The ranges may be equal or disjoint.
  template <class In, class Out>
  static bool overlaps_in_part(In in, Out out, int64_t items) {
    if constexpr (std::is_pointer_v<In> && std::is_pointer_v<Out>)
      if (static_cast<const void*>(in) == static_cast<const void*>(out)) return false;
    return overlap(in, items, out, items);
  }
  template <class In, class Out, class Op, class T>
  static cudaError_t ExclusiveScan(void* storage, size_t& bytes, In in, Out out, Op op, T initial, int64_t items,
                                   cudaStream_t stream = nullptr, SIMT_SITE) {
    if (asks_for_size(storage, bytes)) return cudaSuccess;
    if (overlaps_in_part(in, out, items)) return refuse_overlap("cub::DeviceScan", "parts of input and output", site);
    return in_stream("cub::DeviceScan", site, stream, [=]() mutable {
      for (int64_t i = 0; i < items; ++i) {
        const auto item = in[i];  // in and out may be one
        out[i] = initial;
        initial = op(initial, item);
      }
      written(out, static_cast<size_t>(items));
    });
  }
  template <class In, class Out, class Op>
  static cudaError_t InclusiveScan(void* storage, size_t& bytes, In in, Out out, Op op, int64_t items,
                                   cudaStream_t stream = nullptr, SIMT_SITE) {
    if (asks_for_size(storage, bytes) || items == 0) return cudaSuccess;
    if (overlaps_in_part(in, out, items)) return refuse_overlap("cub::DeviceScan", "parts of input and output", site);
    return in_stream("cub::DeviceScan", site, stream, [=]() mutable {
      auto sum = in[0];
      out[0] = sum;
      for (int64_t i = 1; i < items; ++i) out[i] = sum = op(sum, in[i]);
      written(out, static_cast<size_t>(items));
    });
  }
  template <class In, class Out>
  static cudaError_t ExclusiveSum(void* storage, size_t& bytes, In in, Out out, int64_t items,
                                  cudaStream_t stream = nullptr, SIMT_SITE) {
    return ExclusiveScan(storage, bytes, in, out, cub::Sum(), std::decay_t<decltype(in[0])>{}, items, stream, site);
  }
  template <class In, class Out>
  static cudaError_t InclusiveSum(void* storage, size_t& bytes, In in, Out out, int64_t items,
                                  cudaStream_t stream = nullptr, SIMT_SITE) {
    return InclusiveScan(storage, bytes, in, out, cub::Sum(), items, stream, site);
  }
  // Runs of equal keys have sums of their own.
  template <class Keys, class In, class Out>
  static cudaError_t ExclusiveSumByKey(void* storage, size_t& bytes, Keys keys, In in, Out out, int64_t items,
                                       cudaStream_t stream = nullptr, SIMT_SITE) {
    return sum_by_key(false, site, stream, storage, bytes, keys, in, out, items);
  }
  template <class Keys, class In, class Out>
  static cudaError_t InclusiveSumByKey(void* storage, size_t& bytes, Keys keys, In in, Out out, int64_t items,
                                       cudaStream_t stream = nullptr, SIMT_SITE) {
    return sum_by_key(true, site, stream, storage, bytes, keys, in, out, items);
  }
  // In place.
  template <class T>
  static cudaError_t ExclusiveSum(void* storage, size_t& bytes, T* data, int64_t items, cudaStream_t stream = nullptr,
                                  SIMT_SITE) {
    return ExclusiveSum(storage, bytes, data, data, items, stream, site);
  }
  template <class T>
  static cudaError_t InclusiveSum(void* storage, size_t& bytes, T* data, int64_t items, cudaStream_t stream = nullptr,
                                  SIMT_SITE) {
    return InclusiveSum(storage, bytes, data, data, items, stream, site);
  }
  template <class T, class Op>
  static cudaError_t InclusiveScan(void* storage, size_t& bytes, T* data, Op op, int64_t items,
                                   cudaStream_t stream = nullptr, SIMT_SITE) {
    return InclusiveScan(storage, bytes, data, data, op, items, stream, site);
  }

 private:
  template <class Keys, class In, class Out>
  static cudaError_t sum_by_key(bool inclusive, const ::simt::import::site& site, cudaStream_t stream, void* storage,
                                size_t& bytes, Keys keys, In in, Out out, int64_t items) {
    if (asks_for_size(storage, bytes)) return cudaSuccess;
    if (overlaps_in_part(in, out, items)) return refuse_overlap("cub::DeviceScan", "parts of input and output", site);
    return in_stream("cub::DeviceScan", site, stream, [=]() mutable {
      std::decay_t<decltype(in[0])> sum{};
      for (int64_t i = 0; i < items; ++i) {
        const auto item = in[i];  // in and out may be one
        const auto before = i > 0 && keys[i] == keys[i - 1] ? sum : decltype(sum){};
        sum = before + item;
        out[i] = inclusive ? sum : before;
      }
      written(out, static_cast<size_t>(items));
    });
  }
};

struct DeviceRunLengthEncode {
  template <class In, class Unique, class Counts, class Runs>
  static cudaError_t Encode(void* storage, size_t& bytes, In in, Unique unique, Counts counts, Runs runs, int64_t items,
                            cudaStream_t stream = nullptr, SIMT_SITE) {
    struct ones {
      int operator[](int64_t) const { return 1; }
    };
    return reduce_by_key("cub::DeviceRunLengthEncode::Encode", site, stream, storage, bytes, in, unique, ones(), counts,
                         runs, cub::Sum(), items);
  }
};

// A reduction for each range of items [begin[i], end[i]).
struct DeviceSegmentedReduce {
  template <class In, class Out, class Begin, class End, class Op, class T>
  static cudaError_t Reduce(void* storage, size_t& bytes, In in, Out out, int64_t segments, Begin begin, End end, Op op,
                            T initial, cudaStream_t stream = nullptr, SIMT_SITE) {
    if (asks_for_size(storage, bytes)) return cudaSuccess;
    return in_stream("cub::DeviceSegmentedReduce", site, stream, [=]() mutable {
      for (int64_t s = 0; s < segments; ++s) {
        T value = initial;
        for (int64_t i = begin[s]; i < static_cast<int64_t>(end[s]); ++i) value = op(value, in[i]);
        out[s] = value;
      }
      written(out, static_cast<size_t>(segments));
    });
  }
  template <class In, class Out, class Begin, class End>
  static cudaError_t Sum(void* storage, size_t& bytes, In in, Out out, int64_t segments, Begin begin, End end,
                         cudaStream_t stream = nullptr, SIMT_SITE) {
    return Reduce(storage, bytes, in, out, segments, begin, end, cub::Sum(), std::decay_t<decltype(out[0])>{}, stream,
                  site);
  }
  template <class In, class Out, class Begin, class End>
  static cudaError_t Max(void* storage, size_t& bytes, In in, Out out, int64_t segments, Begin begin, End end,
                         cudaStream_t stream = nullptr, SIMT_SITE) {
    using T = std::decay_t<decltype(in[0])>;
    return Reduce(storage, bytes, in, out, segments, begin, end, cub::Max(), std::numeric_limits<T>::lowest(), stream,
                  site);
  }
  template <class In, class Out, class Begin, class End>
  static cudaError_t Min(void* storage, size_t& bytes, In in, Out out, int64_t segments, Begin begin, End end,
                         cudaStream_t stream = nullptr, SIMT_SITE) {
    using T = std::decay_t<decltype(in[0])>;
    return Reduce(storage, bytes, in, out, segments, begin, end, cub::Min(), std::numeric_limits<T>::max(), stream,
                  site);
  }
};

// Selected items in their order, then the others in reverse.
struct DevicePartition {
  template <class In, class Out, class Count, class Predicate>
  static cudaError_t If(void* storage, size_t& bytes, In in, Out out, Count count, int64_t items, Predicate predicate,
                        cudaStream_t stream = nullptr, SIMT_SITE) {
    return partition("cub::DevicePartition::If", site, stream, storage, bytes, in, out, count, items,
                     [=](int64_t i) mutable { return static_cast<bool>(predicate(in[i])); });
  }
  template <class In, class Flags, class Out, class Count>
  static cudaError_t Flagged(void* storage, size_t& bytes, In in, Flags flags, Out out, Count count, int64_t items,
                             cudaStream_t stream = nullptr, SIMT_SITE) {
    return partition("cub::DevicePartition::Flagged", site, stream, storage, bytes, in, out, count, items,
                     [=](int64_t i) mutable { return static_cast<bool>(flags[i]); });
  }

 private:
  template <class In, class Out, class Count, class Chosen>
  static cudaError_t partition(const char* function, const ::simt::import::site& site, cudaStream_t stream,
                               void* storage, size_t& bytes, In in, Out out, Count count, int64_t items,
                               Chosen chosen) {
    if (asks_for_size(storage, bytes)) return cudaSuccess;
    if (overlap(in, items, out, items)) return refuse_overlap(function, "the input and the output", site);
    return in_stream(function, site, stream, [=]() mutable {
      int64_t first = 0, last = items;
      for (int64_t i = 0; i < items; ++i) out[chosen(i) ? first++ : --last] = in[i];
      *count = static_cast<std::decay_t<decltype(*count)>>(first);
      written(out, static_cast<size_t>(items));
      written(count, 1);
    });
  }
};

struct DeviceSelect {
  template <class In, class Flags, class Out, class Count>
  static cudaError_t Flagged(void* storage, size_t& bytes, In in, Flags flags, Out out, Count count, int64_t items,
                             cudaStream_t stream = nullptr, SIMT_SITE) {
    if (storage != nullptr && overlap(flags, items, out, items))
      return refuse_overlap("cub::DeviceSelect::Flagged", "the flags and the output", site);
    return select("cub::DeviceSelect::Flagged", site, stream, storage, bytes, in, out, count, items,
                  [=](int64_t i) mutable { return static_cast<bool>(flags[i]); });
  }
  template <class In, class Out, class Count, class Predicate>
  static cudaError_t If(void* storage, size_t& bytes, In in, Out out, Count count, int64_t items, Predicate predicate,
                        cudaStream_t stream = nullptr, SIMT_SITE) {
    return select("cub::DeviceSelect::If", site, stream, storage, bytes, in, out, count, items,
                  [=](int64_t i) mutable { return predicate(in[i]); });
  }
  template <class In, class Out, class Count>
  static cudaError_t Unique(void* storage, size_t& bytes, In in, Out out, Count count, int64_t items,
                            cudaStream_t stream = nullptr, SIMT_SITE) {
    return select("cub::DeviceSelect::Unique", site, stream, storage, bytes, in, out, count, items,
                  [=](int64_t i) mutable { return i == 0 || !(in[i] == in[i - 1]); });
  }

 private:
  template <class In, class Out, class Count, class Chosen>
  static cudaError_t select(const char* function, const ::simt::import::site& site, cudaStream_t stream, void* storage,
                            size_t& bytes, In in, Out out, Count count, int64_t items, Chosen chosen) {
    if (asks_for_size(storage, bytes)) return cudaSuccess;
    if (overlap(in, items, out, items) || overlap(in, items, count, 1) || overlap(out, items, count, 1))
      return refuse_overlap(function, "the input, the output or the count", site);
    return in_stream(function, site, stream, [=]() mutable {
      std::vector<std::decay_t<decltype(in[0])>> kept;
      for (int64_t i = 0; i < items; ++i)
        if (chosen(i)) kept.push_back(in[i]);
      std::copy(kept.begin(), kept.end(), out);
      *count = static_cast<std::decay_t<decltype(*count)>>(kept.size());
      written(out, kept.size());
      written(count, 1);
    });
  }
};

// Two buffers of which a sort reads one and writes the other, which then is the current one.
template <class T>
struct DoubleBuffer {
  T* d_buffers[2] = {};
  int selector = 0;
  DoubleBuffer() = default;
  DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate} {}
  T* Current() { return d_buffers[selector]; }
  T* Alternate() { return d_buffers[selector ^ 1]; }
};

struct DeviceRadixSort {
  template <class Key>
  static cudaError_t SortKeys(void* storage, size_t& bytes, const Key* in, Key* out, int64_t items, int begin = 0,
                              int end = 8 * sizeof(Key), cudaStream_t stream = nullptr, SIMT_SITE) {
    return sort("cub::DeviceRadixSort::SortKeys", site, stream, storage, bytes, in, out,
                static_cast<const char*>(nullptr), static_cast<char*>(nullptr), items, begin, end, false);
  }
  template <class Key>
  static cudaError_t SortKeysDescending(void* storage, size_t& bytes, const Key* in, Key* out, int64_t items,
                                        int begin = 0, int end = 8 * sizeof(Key), cudaStream_t stream = nullptr,
                                        SIMT_SITE) {
    return sort("cub::DeviceRadixSort::SortKeysDescending", site, stream, storage, bytes, in, out,
                static_cast<const char*>(nullptr), static_cast<char*>(nullptr), items, begin, end, true);
  }
  template <class Key, class Value>
  static cudaError_t SortPairs(void* storage, size_t& bytes, const Key* in, Key* out, const Value* values_in,
                               Value* values_out, int64_t items, int begin = 0, int end = 8 * sizeof(Key),
                               cudaStream_t stream = nullptr, SIMT_SITE) {
    return sort("cub::DeviceRadixSort::SortPairs", site, stream, storage, bytes, in, out, values_in, values_out, items,
                begin, end, false);
  }
  template <class Key, class Value>
  static cudaError_t SortPairsDescending(void* storage, size_t& bytes, const Key* in, Key* out, const Value* values_in,
                                         Value* values_out, int64_t items, int begin = 0, int end = 8 * sizeof(Key),
                                         cudaStream_t stream = nullptr, SIMT_SITE) {
    return sort("cub::DeviceRadixSort::SortPairsDescending", site, stream, storage, bytes, in, out, values_in,
                values_out, items, begin, end, true);
  }
  template <class Key>
  static cudaError_t SortKeys(void* storage, size_t& bytes, DoubleBuffer<Key>& keys, int64_t items, int begin = 0,
                              int end = 8 * sizeof(Key), cudaStream_t stream = nullptr, SIMT_SITE) {
    const cudaError_t e = SortKeys(storage, bytes, keys.Current(), keys.Alternate(), items, begin, end, stream, site);
    keys.selector ^= storage != nullptr;
    return e;
  }
  template <class Key>
  static cudaError_t SortKeysDescending(void* storage, size_t& bytes, DoubleBuffer<Key>& keys, int64_t items,
                                        int begin = 0, int end = 8 * sizeof(Key), cudaStream_t stream = nullptr,
                                        SIMT_SITE) {
    const cudaError_t e =
        SortKeysDescending(storage, bytes, keys.Current(), keys.Alternate(), items, begin, end, stream, site);
    keys.selector ^= storage != nullptr;
    return e;
  }
  template <class Key, class Value>
  static cudaError_t SortPairs(void* storage, size_t& bytes, DoubleBuffer<Key>& keys, DoubleBuffer<Value>& values,
                               int64_t items, int begin = 0, int end = 8 * sizeof(Key), cudaStream_t stream = nullptr,
                               SIMT_SITE) {
    const cudaError_t e = SortPairs(storage, bytes, keys.Current(), keys.Alternate(), values.Current(),
                                    values.Alternate(), items, begin, end, stream, site);
    keys.selector ^= storage != nullptr, values.selector ^= storage != nullptr;
    return e;
  }
  template <class Key, class Value>
  static cudaError_t SortPairsDescending(void* storage, size_t& bytes, DoubleBuffer<Key>& keys,
                                         DoubleBuffer<Value>& values, int64_t items, int begin = 0,
                                         int end = 8 * sizeof(Key), cudaStream_t stream = nullptr, SIMT_SITE) {
    const cudaError_t e = SortPairsDescending(storage, bytes, keys.Current(), keys.Alternate(), values.Current(),
                                              values.Alternate(), items, begin, end, stream, site);
    keys.selector ^= storage != nullptr, values.selector ^= storage != nullptr;
    return e;
  }

 private:
  template <class Key, class Value>
  static cudaError_t sort(const char* function, const ::simt::import::site& site, cudaStream_t stream, void* storage,
                          size_t& bytes, const Key* in, Key* out, const Value* values_in, Value* values_out,
                          int64_t items, int begin, int end, bool descending) {
    if (asks_for_size(storage, bytes)) return cudaSuccess;
    if (overlap(in, items, out, items)) return refuse_overlap(function, "the keys' input and output", site);
    const int64_t values = values_out == nullptr ? 0 : items;
    if (values != 0 && overlap(values_in, values, values_out, values))
      return refuse_overlap(function, "the values' input and output", site);
    if (values != 0 && (overlap(out, items, values_out, values) || overlap(in, items, values_out, values) ||
                        overlap(out, items, values_in, values)))
      return refuse_overlap(function, "arrays of keys and of values", site);
    return in_stream(function, site, stream, [=]() mutable {
      std::vector<int64_t> order(static_cast<size_t>(items));
      std::iota(order.begin(), order.end(), int64_t{0});
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return descending ? radix_less(in[b], in[a], begin, end) : radix_less(in[a], in[b], begin, end);
      });
      for (int64_t i = 0; i < items; ++i) {
        out[i] = in[order[static_cast<size_t>(i)]];
        if (values_out != nullptr) values_out[i] = values_in[order[static_cast<size_t>(i)]];
      }
      written(out, static_cast<size_t>(items));
      if (values_out != nullptr) written(values_out, static_cast<size_t>(items));
    });
  }
};

// Sorts in place; all of its sorts are stable.
struct DeviceMergeSort {
  template <class Keys, class Less>
  static cudaError_t SortKeys(void* storage, size_t& bytes, Keys keys, int64_t items, Less less,
                              cudaStream_t stream = nullptr, SIMT_SITE) {
    return SortKeysCopy(storage, bytes, keys, keys, items, less, stream, site);
  }
  template <class Keys, class Less>
  static cudaError_t StableSortKeys(void* storage, size_t& bytes, Keys keys, int64_t items, Less less,
                                    cudaStream_t stream = nullptr, SIMT_SITE) {
    return SortKeysCopy(storage, bytes, keys, keys, items, less, stream, site);
  }
  template <class In, class Out, class Less>
  static cudaError_t SortKeysCopy(void* storage, size_t& bytes, In in, Out out, int64_t items, Less less,
                                  cudaStream_t stream = nullptr, SIMT_SITE) {
    return sort(site, stream, storage, bytes, in, out, static_cast<char*>(nullptr), items, less);
  }
  template <class Keys, class Values, class Less>
  static cudaError_t SortPairs(void* storage, size_t& bytes, Keys keys, Values values, int64_t items, Less less,
                               cudaStream_t stream = nullptr, SIMT_SITE) {
    return sort(site, stream, storage, bytes, keys, keys, values, items, less);
  }
  template <class Keys, class Values, class Less>
  static cudaError_t StableSortPairs(void* storage, size_t& bytes, Keys keys, Values values, int64_t items, Less less,
                                     cudaStream_t stream = nullptr, SIMT_SITE) {
    return sort(site, stream, storage, bytes, keys, keys, values, items, less);
  }

 private:
  template <class In, class Out, class Values, class Less>
  static cudaError_t sort(const ::simt::import::site& site, cudaStream_t stream, void* storage, size_t& bytes, In in,
                          Out out, Values values, int64_t items, Less less) {
    if (asks_for_size(storage, bytes)) return cudaSuccess;
    if (overlap(out, items, values, values == nullptr ? 0 : items))
      return refuse_overlap("cub::DeviceMergeSort", "arrays of keys and of values", site);
    return in_stream("cub::DeviceMergeSort", site, stream, [=]() mutable {
      using value = std::decay_t<decltype(values[0])>;
      std::vector<std::pair<std::decay_t<decltype(in[0])>, value>> pairs;
      for (int64_t i = 0; i < items; ++i) pairs.emplace_back(in[i], values == nullptr ? value{} : values[i]);
      std::stable_sort(pairs.begin(), pairs.end(),
                       [&](const auto& a, const auto& b) { return less(a.first, b.first); });
      for (int64_t i = 0; i < items; ++i) {
        out[i] = pairs[static_cast<size_t>(i)].first;
        if (values != nullptr) values[i] = pairs[static_cast<size_t>(i)].second;
      }
      written(out, static_cast<size_t>(items));
      if (values != nullptr) written(values, static_cast<size_t>(items));
    });
  }
};

// Counts samples in bins, one fewer than the levels between them. A sample outside all bins counts nowhere.
struct DeviceHistogram {
  template <class Samples, class Count, class Level>
  static cudaError_t HistogramEven(void* storage, size_t& bytes, Samples samples, Count* histogram, int levels,
                                   Level lower, Level upper, int64_t items, cudaStream_t stream = nullptr, SIMT_SITE) {
    return count(site, stream, storage, bytes, samples, histogram, levels, items, [=](Level sample) {
      if (!(sample >= lower && sample < upper)) return -1;
      if constexpr (std::is_integral_v<Level>)
        return static_cast<int>(uint64_t(sample - lower) * uint64_t(levels - 1) / uint64_t(upper - lower));
      return static_cast<int>((sample - lower) * (Level(levels - 1) / (upper - lower)));
    });
  }
  template <class Samples, class Count, class Level>
  static cudaError_t HistogramRange(void* storage, size_t& bytes, Samples samples, Count* histogram, int levels,
                                    const Level* limits, int64_t items, cudaStream_t stream = nullptr, SIMT_SITE) {
    return count(site, stream, storage, bytes, samples, histogram, levels, items, [=](Level sample) {
      const int above = static_cast<int>(std::upper_bound(limits, limits + levels, sample) - limits);
      return above == levels ? -1 : above - 1;
    });
  }

 private:
  template <class Samples, class Count, class Bin>
  static cudaError_t count(const ::simt::import::site& site, cudaStream_t stream, void* storage, size_t& bytes,
                           Samples samples, Count* histogram, int levels, int64_t items, Bin bin) {
    if (asks_for_size(storage, bytes)) return cudaSuccess;
    if (overlap(samples, items, histogram, levels - 1))
      return refuse_overlap("cub::DeviceHistogram", "the samples and the histogram", site);
    return in_stream("cub::DeviceHistogram", site, stream, [=]() mutable {
      std::fill_n(histogram, levels - 1, Count{});
      for (int64_t i = 0; i < items; ++i)
        if (const int b = bin(samples[i]); b >= 0) ++histogram[b];
      written(histogram, static_cast<size_t>(levels - 1));
    });
  }
};

// ---- iterators

template <class T>
struct CountingInputIterator {
  T first;
  explicit CountingInputIterator(T value) : first(value) {}
  T operator[](int64_t i) const { return static_cast<T>(first + static_cast<T>(i)); }
  T operator*() const { return first; }
  CountingInputIterator operator+(int64_t i) const { return CountingInputIterator((*this)[i]); }
};
template <class In, class Offset = ptrdiff_t>
struct ArgIndexInputIterator {
  using value_type = KeyValuePair<Offset, std::decay_t<decltype(std::declval<In&>()[0])>>;
  In in;
  Offset first = 0;
  explicit ArgIndexInputIterator(In i, Offset offset = 0) : in(i), first(offset) {}
  value_type operator[](Offset i) const { return {first + i, in[first + i]}; }
  value_type operator*() const { return (*this)[0]; }
  ArgIndexInputIterator operator+(Offset i) const { return ArgIndexInputIterator(in, first + i); }
  ArgIndexInputIterator& operator++() { return ++first, *this; }
};
template <class T>
struct ConstantInputIterator {
  T value;
  explicit ConstantInputIterator(T v) : value(v) {}
  T operator[](int64_t) const { return value; }
  T operator*() const { return value; }
  ConstantInputIterator operator+(int64_t) const { return *this; }
};
template <class T, class Op, class In, class = int64_t>
struct TransformInputIterator {
  In in;
  Op op;
  TransformInputIterator(In i, Op o) : in(i), op(o) {}
  T operator[](int64_t i) const { return op(in[i]); }
  T operator*() const { return op(*in); }
  TransformInputIterator operator+(int64_t i) const { return {in + i, op}; }
};

}  // namespace cub
