// Operators of CUB's algorithms.
#pragma once

#include <limits>
#include <type_traits>

#include "simt/import/cuda_runtime.h"

namespace cub {

struct NullType {};

template <class Key, class Value>
struct KeyValuePair {
  Key key;
  Value value;
};

struct Sum {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    return a + b;
  }
};
struct Difference {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    return a - b;
  }
};
struct Max {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};
struct Min {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return b < a ? b : a;
  }
};
struct Equality {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a == b;
  }
};
struct Inequality {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return !(a == b);
  }
};
// Returns the first of equal values.
struct ArgMax {
  template <class Pair>
  Pair operator()(const Pair& a, const Pair& b) const {
    return a.value < b.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};
struct ArgMin {
  template <class Pair>
  Pair operator()(const Pair& a, const Pair& b) const {
    return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};

template <class T>
struct Traits {
  static T Lowest() { return std::numeric_limits<T>::lowest(); }
  static T Max() { return std::numeric_limits<T>::max(); }
};

// Maps keys to unsigned integers of the same order, by which a radix sort compares.
template <class Key>
auto radix_bits(Key key) {
  using bits = std::conditional_t<
      sizeof(Key) == 1, unsigned char,
      std::conditional_t<sizeof(Key) == 2, unsigned short, std::conditional_t<sizeof(Key) == 4, unsigned, uint64_t>>>;
  constexpr bits sign = static_cast<bits>(bits{1} << (8 * sizeof(Key) - 1));
  bits b;
  __builtin_memcpy(&b, &key, sizeof key);
  if constexpr (std::is_unsigned_v<Key>) return b;
  if constexpr (std::is_integral_v<Key>) return static_cast<bits>(b ^ sign);
  return static_cast<bits>(b & sign ? ~b : b | sign);
}
// True if the bits [begin, end) of a are less than those of b.
template <class Key>
bool radix_less(Key a, Key b, int begin, int end) {
  const int bits = end - begin;
  const uint64_t mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  return ((uint64_t{radix_bits(a)} >> begin) & mask) < ((uint64_t{radix_bits(b)} >> begin) & mask);
}

}  // namespace cub
