// Algorithms of Thrust. The host does each in the order of its elements, as work of the stream that the policy names,
// and waits for it.
#pragma once

#include <algorithm>
#include <deque>
#include <iostream>  // programs rely on Thrust's headers to include it
#include <numeric>
#include <vector>

#include "functional.h"
#include "iterator/iterators.hpp"

namespace thrust {

// Calls Work::run(arguments...), where the first argument may be a policy.
template <class Work>
struct algorithm {
  const char* name;

  template <class First, class... Rest>
  auto operator()(const First& first, const Rest&... rest) const {
    if constexpr (is_policy<First>)
      return in_stream(first.stream, rest...);
    else
      return in_stream(nullptr, first, rest...);
  }

 private:
  template <class... Arguments>
  auto in_stream(cudaStream_t stream, const Arguments&... a) const {
    using result = decltype(Work::run(a...));
    const ::simt::import::stream_call call = {name, {name, 0}, ::simt::import::on(stream)};
    if constexpr (std::is_void_v<result>) {
      ::simt::import::enqueue_and_wait(call, [&] { Work::run(a...); });
    } else {
      std::deque<result> made;
      ::simt::import::enqueue_and_wait(call, [&] { made.push_back(Work::run(a...)); });
      return made.front();
    }
  }
};

namespace work {

template <class Iterator>
using value_of = typename std::iterator_traits<in_place_t<Iterator>>::value_type;

// Marks [first, last) as written, since the host wrote it. Returns the end, as the caller's kind of iterator.
template <class Iterator>
Iterator written(const Iterator& first, in_place_t<Iterator> last) {
  const auto begin = in_place(first);
  const auto n = last - begin;
  if constexpr (std::is_pointer_v<in_place_t<Iterator>>)
    if (n > 0) ::simt::mark_initialized(begin, static_cast<size_t>(n) * sizeof(*begin));
  return first + n;
}
// Returns a position in [first, ...), as the caller's kind of iterator.
template <class Iterator>
Iterator place(const Iterator& first, in_place_t<Iterator> at) {
  return first + (at - in_place(first));
}
// Returns the values of [first, last).
template <class I>
std::deque<value_of<I>> copied(I first, I last) {
  return {in_place(first), in_place(last)};
}

struct sort {
  template <class I, class Less = std::less<>>
  static void run(I first, I last, Less less = {}) {
    auto all = copied(first, last);
    std::stable_sort(all.begin(), all.end(), less);
    std::copy(all.begin(), all.end(), in_place(first));
  }
};
struct sort_by_key {
  template <class I, class J, class Less = std::less<>>
  static void run(I first, I last, J values, Less less = {}) {
    const auto n = static_cast<size_t>(last - first);
    const auto keys = copied(first, last);
    const auto before = copied(values, values + (last - first));
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return less(keys[a], keys[b]); });
    auto key = in_place(first);
    auto value = in_place(values);
    for (size_t i = 0; i < n; ++i, ++key, ++value) {
      *key = keys[order[i]];
      *value = before[order[i]];
    }
  }
};
struct merge {
  template <class I, class J, class Out, class Less = std::less<>>
  static Out run(I first, I last, J second, J end, Out out, Less less = {}) {
    return written(out,
                   std::merge(in_place(first), in_place(last), in_place(second), in_place(end), in_place(out), less));
  }
};

struct reduce {
  template <class I, class T = value_of<I>, class Op = plus<>>
  static T run(I first, I last, T initial = {}, Op op = {}) {
    for (auto i = in_place(first); i != in_place(last); ++i) initial = op(initial, *i);
    return initial;
  }
};
struct transform_reduce {
  template <class I, class F, class T, class Op>
  static T run(I first, I last, F f, T initial, Op op) {
    for (auto i = in_place(first); i != in_place(last); ++i) initial = op(initial, f(*i));
    return initial;
  }
};
struct inner_product {
  template <class I, class J, class T, class Op = plus<>, class F = multiplies<>>
  static T run(I first, I last, J second, T initial, Op op = {}, F f = {}) {
    auto j = in_place(second);
    for (auto i = in_place(first); i != in_place(last); ++i, ++j) initial = op(initial, f(*i, *j));
    return initial;
  }
};
struct reduce_by_key {
  template <class I, class J, class K, class V, class Equal = std::equal_to<>, class Op = plus<>>
  static std::pair<K, V> run(I first, I last, J values, K keys, V sums, Equal equal = {}, Op op = {}) {
    auto i = in_place(first);
    auto j = in_place(values);
    auto key = in_place(keys);
    auto sum = in_place(sums);
    while (i != in_place(last)) {
      const value_of<I> own = *i;
      value_of<J> total = *j;
      for (++i, ++j; i != in_place(last) && equal(own, *i); ++i, ++j) total = op(total, *j);
      *key++ = own;
      *sum++ = total;
    }
    return {written(keys, key), written(sums, sum)};
  }
};

struct inclusive_scan {
  template <class I, class Out, class Op = plus<>>
  static Out run(I first, I last, Out out, Op op = {}) {
    return written(out, std::partial_sum(in_place(first), in_place(last), in_place(out), op));
  }
};
struct exclusive_scan {
  template <class I, class Out, class T = value_of<I>, class Op = plus<>>
  static Out run(I first, I last, Out out, T sum = {}, Op op = {}) {
    auto to = in_place(out);
    for (auto i = in_place(first); i != in_place(last); ++i, ++to) {
      const value_of<I> own = *i;  // the result may overwrite it
      *to = sum;
      sum = op(sum, own);
    }
    return written(out, to);
  }
};
struct adjacent_difference {
  template <class I, class Out, class Op = minus<>>
  static Out run(I first, I last, Out out, Op op = {}) {
    return written(out, std::adjacent_difference(in_place(first), in_place(last), in_place(out), op));
  }
};

struct transform {
  template <class I, class Out, class F>
  static Out run(I first, I last, Out out, F f) {
    return written(out, std::transform(in_place(first), in_place(last), in_place(out), f));
  }
  template <class I, class J, class Out, class F>
  static Out run(I first, I last, J second, Out out, F f) {
    return written(out, std::transform(in_place(first), in_place(last), in_place(second), in_place(out), f));
  }
};
struct for_each {
  template <class I, class F>
  static I run(I first, I last, F f) {
    for (auto i = in_place(first); i != in_place(last); ++i) f(*i);
    return written(first, in_place(last));
  }
};
struct for_each_n {
  template <class I, class Size, class F>
  static I run(I first, Size n, F f) {
    return for_each::run(first, first + n, f);
  }
};
struct generate {
  template <class I, class F>
  static void run(I first, I last, F f) {
    std::generate(in_place(first), in_place(last), f);
    written(first, in_place(last));
  }
};
struct tabulate {
  template <class I, class F>
  static void run(I first, I last, F f) {
    std::ptrdiff_t n = 0;
    for (auto i = in_place(first); i != in_place(last); ++i) *i = f(n++);
    written(first, in_place(last));
  }
};

struct copy {
  template <class I, class Out>
  static Out run(I first, I last, Out out) {
    return written(out, std::copy(in_place(first), in_place(last), in_place(out)));
  }
};
struct copy_n {
  template <class I, class Size, class Out>
  static Out run(I first, Size n, Out out) {
    return copy::run(first, first + n, out);
  }
};
struct copy_if {
  template <class I, class Out, class Predicate>
  static Out run(I first, I last, Out out, Predicate p) {
    return run(first, last, first, out, p);
  }
  template <class I, class J, class Out, class Predicate>
  static Out run(I first, I last, J stencil, Out out, Predicate p) {
    auto j = in_place(stencil);
    auto to = in_place(out);
    for (auto i = in_place(first); i != in_place(last); ++i, ++j)
      if (p(*j)) *to++ = *i;
    return written(out, to);
  }
};
struct fill {
  template <class I, class T>
  static void run(I first, I last, const T& value) {
    for (auto i = in_place(first); i != in_place(last); ++i) *i = static_cast<value_of<I>>(value);
    written(first, in_place(last));
  }
};
struct fill_n {
  template <class I, class Size, class T>
  static I run(I first, Size n, const T& value) {
    fill::run(first, first + n, value);
    return first + n;
  }
};
struct sequence {
  template <class I, class T = value_of<I>>
  static void run(I first, I last, T value = {}, T step = T(1)) {
    for (auto i = in_place(first); i != in_place(last); ++i, value = value + step) *i = value;
    written(first, in_place(last));
  }
};
struct gather {
  template <class I, class J, class Out>
  static Out run(I first, I last, J from, Out out) {
    auto to = in_place(out);
    for (auto i = in_place(first); i != in_place(last); ++i, ++to)
      *to = in_place(from)[static_cast<std::ptrdiff_t>(*i)];
    return written(out, to);
  }
};
struct scatter {
  template <class I, class J, class Out>
  static void run(I first, I last, J places, Out out) {
    auto j = in_place(places);
    for (auto i = in_place(first); i != in_place(last); ++i, ++j) {
      const auto at = static_cast<std::ptrdiff_t>(*j);
      in_place(out)[at] = *i;
      written(out + at, in_place(out) + at + 1);
    }
  }
};

// Those of the standard library. A position is the caller's kind of iterator.
#define SIMT_IMPORT_THRUST_OF_STD(name)                                                                           \
  struct name {                                                                                                   \
    template <class I, class... Rest>                                                                             \
    static auto run(I first, I last, const Rest&... rest) {                                                       \
      if constexpr (std::is_same_v<decltype(std::name(in_place(first), in_place(last), rest...)), in_place_t<I>>) \
        return place(first, std::name(in_place(first), in_place(last), rest...));                                 \
      else                                                                                                        \
        return std::name(in_place(first), in_place(last), rest...);                                               \
    }                                                                                                             \
  };
SIMT_IMPORT_THRUST_OF_STD(is_sorted)
SIMT_IMPORT_THRUST_OF_STD(count)
SIMT_IMPORT_THRUST_OF_STD(count_if)
SIMT_IMPORT_THRUST_OF_STD(find)
SIMT_IMPORT_THRUST_OF_STD(find_if)
SIMT_IMPORT_THRUST_OF_STD(min_element)
SIMT_IMPORT_THRUST_OF_STD(max_element)
SIMT_IMPORT_THRUST_OF_STD(all_of)
SIMT_IMPORT_THRUST_OF_STD(any_of)
SIMT_IMPORT_THRUST_OF_STD(none_of)
SIMT_IMPORT_THRUST_OF_STD(replace_if)
SIMT_IMPORT_THRUST_OF_STD(replace)
#undef SIMT_IMPORT_THRUST_OF_STD

struct minmax_element {
  template <class I, class Less = std::less<>>
  static std::pair<I, I> run(I first, I last, Less less = {}) {
    return {min_element::run(first, last, less), max_element::run(first, last, less)};
  }
};
struct equal {
  template <class I, class J, class Equal = std::equal_to<>>
  static bool run(I first, I last, J second, Equal same = {}) {
    return std::equal(in_place(first), in_place(last), in_place(second), same);
  }
};

struct remove_if {
  template <class I, class Predicate>
  static I run(I first, I last, Predicate p) {
    return run(first, last, first, p);
  }
  template <class I, class J, class Predicate>
  static I run(I first, I last, J stencil, Predicate p) {
    const auto judged = copied(stencil, stencil + (last - first));
    auto to = in_place(first);
    auto i = to;
    for (const auto& one : judged) {
      if (!p(one)) *to++ = value_of<I>(*i);
      ++i;
    }
    return place(first, to);
  }
};
struct remove {
  template <class I, class T>
  static I run(I first, I last, const T& value) {
    return remove_if::run(first, last, [&](const auto& x) { return x == value; });
  }
};
struct partition {
  template <class I, class Predicate>
  static I run(I first, I last, Predicate p) {
    auto all = copied(first, last);
    const auto middle = std::stable_partition(all.begin(), all.end(), p);
    std::copy(all.begin(), all.end(), in_place(first));
    return first + (middle - all.begin());
  }
};
struct unique {
  template <class I, class Equal = std::equal_to<>>
  static I run(I first, I last, Equal same = {}) {
    auto all = copied(first, last);
    all.erase(std::unique(all.begin(), all.end(), same), all.end());
    return place(first, std::copy(all.begin(), all.end(), in_place(first)));
  }
};
struct reverse {
  template <class I>
  static void run(I first, I last) {
    const auto all = copied(first, last);
    std::copy(all.rbegin(), all.rend(), in_place(first));
  }
};

// Overloads for one value, and for each value of a range.
template <class Bound>
struct search {
  template <class I, class T, class = std::enable_if_t<!std::is_same_v<I, T>>>
  static auto run(I first, I last, const T& value) {
    return Bound::of(first, last, value);
  }
  template <class I, class J, class Out>
  static Out run(I first, I last, J values, J end, Out out) {
    auto to = in_place(out);
    for (auto j = in_place(values); j != in_place(end); ++j, ++to) {
      if constexpr (std::is_same_v<decltype(Bound::of(first, last, *j)), bool>)
        *to = Bound::of(first, last, *j);
      else
        *to = static_cast<value_of<Out>>(Bound::of(first, last, *j) - first);
    }
    return written(out, to);
  }
};
struct lower_bound : search<lower_bound> {
  template <class I, class T>
  static I of(I first, I last, const T& value) {
    return place(first, std::lower_bound(in_place(first), in_place(last), value));
  }
};
struct upper_bound : search<upper_bound> {
  template <class I, class T>
  static I of(I first, I last, const T& value) {
    return place(first, std::upper_bound(in_place(first), in_place(last), value));
  }
};
struct binary_search : search<binary_search> {
  template <class I, class T>
  static bool of(I first, I last, const T& value) {
    return std::binary_search(in_place(first), in_place(last), value);
  }
};

}  // namespace work

inline constexpr algorithm<work::sort> sort{"thrust::sort"}, stable_sort{"thrust::stable_sort"};
inline constexpr algorithm<work::sort_by_key> sort_by_key{"thrust::sort_by_key"},
    stable_sort_by_key{"thrust::stable_sort_by_key"};
#define SIMT_IMPORT_THRUST(name) inline constexpr algorithm<work::name> name{"thrust::" #name};
SIMT_IMPORT_THRUST(is_sorted)
SIMT_IMPORT_THRUST(merge)
SIMT_IMPORT_THRUST(reduce)
SIMT_IMPORT_THRUST(transform_reduce)
SIMT_IMPORT_THRUST(inner_product)
SIMT_IMPORT_THRUST(reduce_by_key)
SIMT_IMPORT_THRUST(inclusive_scan)
SIMT_IMPORT_THRUST(exclusive_scan)
SIMT_IMPORT_THRUST(adjacent_difference)
SIMT_IMPORT_THRUST(transform)
SIMT_IMPORT_THRUST(for_each)
SIMT_IMPORT_THRUST(for_each_n)
SIMT_IMPORT_THRUST(generate)
SIMT_IMPORT_THRUST(tabulate)
SIMT_IMPORT_THRUST(copy)
SIMT_IMPORT_THRUST(copy_n)
SIMT_IMPORT_THRUST(copy_if)
SIMT_IMPORT_THRUST(fill)
SIMT_IMPORT_THRUST(fill_n)
SIMT_IMPORT_THRUST(sequence)
SIMT_IMPORT_THRUST(gather)
SIMT_IMPORT_THRUST(scatter)
SIMT_IMPORT_THRUST(count)
SIMT_IMPORT_THRUST(count_if)
SIMT_IMPORT_THRUST(find)
SIMT_IMPORT_THRUST(find_if)
SIMT_IMPORT_THRUST(min_element)
SIMT_IMPORT_THRUST(max_element)
SIMT_IMPORT_THRUST(minmax_element)
SIMT_IMPORT_THRUST(all_of)
SIMT_IMPORT_THRUST(any_of)
SIMT_IMPORT_THRUST(none_of)
SIMT_IMPORT_THRUST(equal)
SIMT_IMPORT_THRUST(remove_if)
SIMT_IMPORT_THRUST(remove)
SIMT_IMPORT_THRUST(partition)
SIMT_IMPORT_THRUST(unique)
SIMT_IMPORT_THRUST(replace_if)
SIMT_IMPORT_THRUST(replace)
SIMT_IMPORT_THRUST(reverse)
SIMT_IMPORT_THRUST(lower_bound)
SIMT_IMPORT_THRUST(upper_bound)
SIMT_IMPORT_THRUST(binary_search)
#undef SIMT_IMPORT_THRUST
}  // namespace thrust
