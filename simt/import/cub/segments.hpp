// CUB's sorts of many segments of an array: segment s has the items from begins[s] to ends[s]. Items of no segment stay
// as they are.
#pragma once

#include "device.hpp"

namespace cub {

// Sorts keys, and values if there are any, of each segment. All of these sorts are stable.
struct segment_sorter {
  const char* function;
  ::simt::import::site site;
  cudaStream_t stream;
  bool descending;
  int begin_bit, end_bit;

  template <class Key, class Value, class Begins, class Ends>
  cudaError_t sort(void* storage, size_t& bytes, const Key* in, Key* out, const Value* values_in, Value* values_out,
                   int64_t items, int64_t segments, Begins begins, Ends ends) const {
    if (asks_for_size(storage, bytes)) return cudaSuccess;
    if (overlap(in, items, out, items)) return refuse_overlap(function, "the keys' input and output", site);
    if (values_out != nullptr && overlap(values_in, items, values_out, items))
      return refuse_overlap(function, "the values' input and output", site);
    return in_stream(function, site, stream, [=, self = *this]() mutable {
      for (int64_t s = 0; s < segments; ++s)
        self.sort_one(in, out, values_in, values_out, static_cast<int64_t>(begins[s]), static_cast<int64_t>(ends[s]));
    });
  }
  // A sort of double buffers leaves its result in the one that is current then.
  template <class Key, class Value, class Begins, class Ends>
  cudaError_t sort(void* storage, size_t& bytes, DoubleBuffer<Key>& keys, DoubleBuffer<Value>* values, int64_t items,
                   int64_t segments, Begins begins, Ends ends) const {
    const cudaError_t e =
        sort(storage, bytes, keys.Current(), keys.Alternate(), values == nullptr ? nullptr : values->Current(),
             values == nullptr ? nullptr : values->Alternate(), items, segments, begins, ends);
    keys.selector ^= storage != nullptr;
    if (values != nullptr) values->selector ^= storage != nullptr;
    return e;
  }

 private:
  template <class Key, class Value>
  void sort_one(const Key* in, Key* out, const Value* values_in, Value* values_out, int64_t first, int64_t last) const {
    if (first >= last) return;
    std::vector<int64_t> order(static_cast<size_t>(last - first));
    std::iota(order.begin(), order.end(), first);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return descending ? radix_less(in[b], in[a], begin_bit, end_bit) : radix_less(in[a], in[b], begin_bit, end_bit);
    });
    for (int64_t i = first; i < last; ++i) {
      const int64_t from = order[static_cast<size_t>(i - first)];
      out[i] = in[from];
      if (values_out != nullptr) values_out[i] = values_in[from];
    }
    written(out + first, order.size());
    if (values_out != nullptr) written(values_out + first, order.size());
  }
};

// Keys and Pairs are the names of two functions; BITS are parameters.
#define SIMT_IMPORT_SORTS_OF_SEGMENTS(Class, Keys, Pairs, descending, BITS, begin_bit, end_bit)                   \
  template <class Key, class Begins, class Ends>                                                                  \
  static cudaError_t Keys(void* storage, size_t& bytes, const Key* in, Key* out, int64_t items, int64_t segments, \
                          Begins begins, Ends ends BITS, cudaStream_t stream = nullptr, SIMT_SITE) {              \
    return segment_sorter{"cub::" #Class "::" #Keys, site, stream, descending, begin_bit, end_bit}.sort(          \
        storage, bytes, in, out, static_cast<const char*>(nullptr), static_cast<char*>(nullptr), items, segments, \
        begins, ends);                                                                                            \
  }                                                                                                               \
  template <class Key, class Value, class Begins, class Ends>                                                     \
  static cudaError_t Pairs(void* storage, size_t& bytes, const Key* in, Key* out, const Value* from, Value* to,   \
                           int64_t items, int64_t segments, Begins begins, Ends ends BITS,                        \
                           cudaStream_t stream = nullptr, SIMT_SITE) {                                            \
    return segment_sorter{"cub::" #Class "::" #Pairs, site, stream, descending, begin_bit, end_bit}.sort(         \
        storage, bytes, in, out, from, to, items, segments, begins, ends);                                        \
  }                                                                                                               \
  template <class Key, class Begins, class Ends>                                                                  \
  static cudaError_t Keys(void* storage, size_t& bytes, DoubleBuffer<Key>& keys, int64_t items, int64_t segments, \
                          Begins begins, Ends ends BITS, cudaStream_t stream = nullptr, SIMT_SITE) {              \
    return segment_sorter{"cub::" #Class "::" #Keys, site, stream, descending, begin_bit, end_bit}.sort(          \
        storage, bytes, keys, static_cast<DoubleBuffer<char>*>(nullptr), items, segments, begins, ends);          \
  }                                                                                                               \
  template <class Key, class Value, class Begins, class Ends>                                                     \
  static cudaError_t Pairs(void* storage, size_t& bytes, DoubleBuffer<Key>& keys, DoubleBuffer<Value>& values,    \
                           int64_t items, int64_t segments, Begins begins, Ends ends BITS,                        \
                           cudaStream_t stream = nullptr, SIMT_SITE) {                                            \
    return segment_sorter{"cub::" #Class "::" #Pairs, site, stream, descending, begin_bit, end_bit}.sort(         \
        storage, bytes, keys, &values, items, segments, begins, ends);                                            \
  }
#define SIMT_IMPORT_BITS , int begin_bit = 0, int end_bit = 8 * sizeof(Key)

struct DeviceSegmentedRadixSort {
  SIMT_IMPORT_SORTS_OF_SEGMENTS(DeviceSegmentedRadixSort, SortKeys, SortPairs, false, SIMT_IMPORT_BITS, begin_bit,
                                end_bit)
  SIMT_IMPORT_SORTS_OF_SEGMENTS(DeviceSegmentedRadixSort, SortKeysDescending, SortPairsDescending, true,
                                SIMT_IMPORT_BITS, begin_bit, end_bit)
};

struct DeviceSegmentedSort {
  SIMT_IMPORT_SORTS_OF_SEGMENTS(DeviceSegmentedSort, SortKeys, SortPairs, false, , 0, 8 * sizeof(Key))
  SIMT_IMPORT_SORTS_OF_SEGMENTS(DeviceSegmentedSort, SortKeysDescending, SortPairsDescending, true, , 0,
                                8 * sizeof(Key))
  SIMT_IMPORT_SORTS_OF_SEGMENTS(DeviceSegmentedSort, StableSortKeys, StableSortPairs, false, , 0, 8 * sizeof(Key))
  SIMT_IMPORT_SORTS_OF_SEGMENTS(DeviceSegmentedSort, StableSortKeysDescending, StableSortPairsDescending, true, , 0,
                                8 * sizeof(Key))
};
#undef SIMT_IMPORT_SORTS_OF_SEGMENTS
#undef SIMT_IMPORT_BITS

}  // namespace cub
