// Algorithms of Thrust. The host does each in the order of its elements, as work of the stream that the policy names,
// and waits for it.
#pragma once

#include <algorithm>
#include <deque>
#include <numeric>
#include <vector>

#include "functional.h"
#include "iterator/iterators.hpp"

namespace thrust {

// Calls Work::run(arguments...), where the first argument may be a policy.
template <class Work>
struct algorithm {
  template <class First, class... Rest>
  auto operator()(const First& first, const Rest&... rest) const {
    if constexpr (is_policy<First>)
      return in_stream(first.stream, rest...);
    else
      return in_stream(nullptr, first, rest...);
  }

 private:
  template <class... Arguments>
  static auto in_stream(cudaStream_t stream, const Arguments&... a) {
    using result = decltype(Work::run(a...));
    const ::simt::import::stream_call call = {Work::k_name, {Work::k_name, 0}, ::simt::import::on(stream)};
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
  static constexpr const char* k_name = "thrust::sort";
  template <class I, class Less = std::less<>>
  static void run(I first, I last, Less less = {}) {
    auto all = copied(first, last);
    std::stable_sort(all.begin(), all.end(), less);
    std::copy(all.begin(), all.end(), in_place(first));
  }
};
struct sort_by_key {
  static constexpr const char* k_name = "thrust::sort_by_key";
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
struct is_sorted {
  static constexpr const char* k_name = "thrust::is_sorted";
  template <class I, class Less = std::less<>>
  static bool run(I first, I last, Less less = {}) {
    return std::is_sorted(in_place(first), in_place(last), less);
  }
};
struct merge {
  static constexpr const char* k_name = "thrust::merge";
  template <class I, class J, class Out, class Less = std::less<>>
  static Out run(I first, I last, J second, J end, Out out, Less less = {}) {
    return written(out,
                   std::merge(in_place(first), in_place(last), in_place(second), in_place(end), in_place(out), less));
  }
};

struct reduce {
  static constexpr const char* k_name = "thrust::reduce";
  template <class I, class T = value_of<I>, class Op = plus<>>
  static T run(I first, I last, T initial = {}, Op op = {}) {
    for (auto i = in_place(first); i != in_place(last); ++i) initial = op(initial, *i);
    return initial;
  }
};
struct transform_reduce {
  static constexpr const char* k_name = "thrust::transform_reduce";
  template <class I, class F, class T, class Op>
  static T run(I first, I last, F f, T initial, Op op) {
    for (auto i = in_place(first); i != in_place(last); ++i) initial = op(initial, f(*i));
    return initial;
  }
};
struct inner_product {
  static constexpr const char* k_name = "thrust::inner_product";
  template <class I, class J, class T, class Op = plus<>, class F = multiplies<>>
  static T run(I first, I last, J second, T initial, Op op = {}, F f = {}) {
    auto j = in_place(second);
    for (auto i = in_place(first); i != in_place(last); ++i, ++j) initial = op(initial, f(*i, *j));
    return initial;
  }
};
struct reduce_by_key {
  static constexpr const char* k_name = "thrust::reduce_by_key";
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
  static constexpr const char* k_name = "thrust::inclusive_scan";
  template <class I, class Out, class Op = plus<>>
  static Out run(I first, I last, Out out, Op op = {}) {
    return written(out, std::partial_sum(in_place(first), in_place(last), in_place(out), op));
  }
};
struct exclusive_scan {
  static constexpr const char* k_name = "thrust::exclusive_scan";
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
  static constexpr const char* k_name = "thrust::adjacent_difference";
  template <class I, class Out, class Op = minus<>>
  static Out run(I first, I last, Out out, Op op = {}) {
    return written(out, std::adjacent_difference(in_place(first), in_place(last), in_place(out), op));
  }
};

struct transform {
  static constexpr const char* k_name = "thrust::transform";
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
  static constexpr const char* k_name = "thrust::for_each";
  template <class I, class F>
  static I run(I first, I last, F f) {
    for (auto i = in_place(first); i != in_place(last); ++i) f(*i);
    return written(first, in_place(last));
  }
};
struct for_each_n {
  static constexpr const char* k_name = "thrust::for_each_n";
  template <class I, class Size, class F>
  static I run(I first, Size n, F f) {
    return for_each::run(first, first + n, f);
  }
};
struct generate {
  static constexpr const char* k_name = "thrust::generate";
  template <class I, class F>
  static void run(I first, I last, F f) {
    std::generate(in_place(first), in_place(last), f);
    written(first, in_place(last));
  }
};
struct tabulate {
  static constexpr const char* k_name = "thrust::tabulate";
  template <class I, class F>
  static void run(I first, I last, F f) {
    std::ptrdiff_t n = 0;
    for (auto i = in_place(first); i != in_place(last); ++i) *i = f(n++);
    written(first, in_place(last));
  }
};

struct copy {
  static constexpr const char* k_name = "thrust::copy";
  template <class I, class Out>
  static Out run(I first, I last, Out out) {
    return written(out, std::copy(in_place(first), in_place(last), in_place(out)));
  }
};
struct copy_n {
  static constexpr const char* k_name = "thrust::copy_n";
  template <class I, class Size, class Out>
  static Out run(I first, Size n, Out out) {
    return copy::run(first, first + n, out);
  }
};
struct copy_if {
  static constexpr const char* k_name = "thrust::copy_if";
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
  static constexpr const char* k_name = "thrust::fill";
  template <class I, class T>
  static void run(I first, I last, const T& value) {
    for (auto i = in_place(first); i != in_place(last); ++i) *i = static_cast<value_of<I>>(value);
    written(first, in_place(last));
  }
};
struct fill_n {
  static constexpr const char* k_name = "thrust::fill_n";
  template <class I, class Size, class T>
  static I run(I first, Size n, const T& value) {
    fill::run(first, first + n, value);
    return first + n;
  }
};
struct sequence {
  static constexpr const char* k_name = "thrust::sequence";
  template <class I, class T = value_of<I>>
  static void run(I first, I last, T value = {}, T step = T(1)) {
    for (auto i = in_place(first); i != in_place(last); ++i, value = value + step) *i = value;
    written(first, in_place(last));
  }
};
struct gather {
  static constexpr const char* k_name = "thrust::gather";
  template <class I, class J, class Out>
  static Out run(I first, I last, J from, Out out) {
    auto to = in_place(out);
    for (auto i = in_place(first); i != in_place(last); ++i, ++to)
      *to = in_place(from)[static_cast<std::ptrdiff_t>(*i)];
    return written(out, to);
  }
};
struct scatter {
  static constexpr const char* k_name = "thrust::scatter";
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

struct count {
  static constexpr const char* k_name = "thrust::count";
  template <class I, class T>
  static std::ptrdiff_t run(I first, I last, const T& value) {
    return std::count(in_place(first), in_place(last), value);
  }
};
struct count_if {
  static constexpr const char* k_name = "thrust::count_if";
  template <class I, class Predicate>
  static std::ptrdiff_t run(I first, I last, Predicate p) {
    return std::count_if(in_place(first), in_place(last), p);
  }
};
struct find {
  static constexpr const char* k_name = "thrust::find";
  template <class I, class T>
  static I run(I first, I last, const T& value) {
    return place(first, std::find(in_place(first), in_place(last), value));
  }
};
struct find_if {
  static constexpr const char* k_name = "thrust::find_if";
  template <class I, class Predicate>
  static I run(I first, I last, Predicate p) {
    return place(first, std::find_if(in_place(first), in_place(last), p));
  }
};
struct min_element {
  static constexpr const char* k_name = "thrust::min_element";
  template <class I, class Less = std::less<>>
  static I run(I first, I last, Less less = {}) {
    return place(first, std::min_element(in_place(first), in_place(last), less));
  }
};
struct max_element {
  static constexpr const char* k_name = "thrust::max_element";
  template <class I, class Less = std::less<>>
  static I run(I first, I last, Less less = {}) {
    return place(first, std::max_element(in_place(first), in_place(last), less));
  }
};
struct minmax_element {
  static constexpr const char* k_name = "thrust::minmax_element";
  template <class I, class Less = std::less<>>
  static std::pair<I, I> run(I first, I last, Less less = {}) {
    return {min_element::run(first, last, less), max_element::run(first, last, less)};
  }
};
struct all_of {
  static constexpr const char* k_name = "thrust::all_of";
  template <class I, class Predicate>
  static bool run(I first, I last, Predicate p) {
    return std::all_of(in_place(first), in_place(last), p);
  }
};
struct any_of {
  static constexpr const char* k_name = "thrust::any_of";
  template <class I, class Predicate>
  static bool run(I first, I last, Predicate p) {
    return std::any_of(in_place(first), in_place(last), p);
  }
};
struct none_of {
  static constexpr const char* k_name = "thrust::none_of";
  template <class I, class Predicate>
  static bool run(I first, I last, Predicate p) {
    return std::none_of(in_place(first), in_place(last), p);
  }
};
struct equal {
  static constexpr const char* k_name = "thrust::equal";
  template <class I, class J, class Equal = std::equal_to<>>
  static bool run(I first, I last, J second, Equal same = {}) {
    return std::equal(in_place(first), in_place(last), in_place(second), same);
  }
};

struct remove_if {
  static constexpr const char* k_name = "thrust::remove_if";
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
  static constexpr const char* k_name = "thrust::remove";
  template <class I, class T>
  static I run(I first, I last, const T& value) {
    return remove_if::run(first, last, [&](const auto& x) { return x == value; });
  }
};
struct partition {
  static constexpr const char* k_name = "thrust::partition";
  template <class I, class Predicate>
  static I run(I first, I last, Predicate p) {
    auto all = copied(first, last);
    const auto middle = std::stable_partition(all.begin(), all.end(), p);
    std::copy(all.begin(), all.end(), in_place(first));
    return first + (middle - all.begin());
  }
};
struct unique {
  static constexpr const char* k_name = "thrust::unique";
  template <class I, class Equal = std::equal_to<>>
  static I run(I first, I last, Equal same = {}) {
    auto all = copied(first, last);
    all.erase(std::unique(all.begin(), all.end(), same), all.end());
    return place(first, std::copy(all.begin(), all.end(), in_place(first)));
  }
};
struct replace_if {
  static constexpr const char* k_name = "thrust::replace_if";
  template <class I, class Predicate, class T>
  static void run(I first, I last, Predicate p, const T& value) {
    std::replace_if(in_place(first), in_place(last), p, value);
  }
};
struct replace {
  static constexpr const char* k_name = "thrust::replace";
  template <class I, class T>
  static void run(I first, I last, const T& old, const T& value) {
    std::replace(in_place(first), in_place(last), old, value);
  }
};
struct reverse {
  static constexpr const char* k_name = "thrust::reverse";
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
  static constexpr const char* k_name = "thrust::lower_bound";
  template <class I, class T>
  static I of(I first, I last, const T& value) {
    return place(first, std::lower_bound(in_place(first), in_place(last), value));
  }
};
struct upper_bound : search<upper_bound> {
  static constexpr const char* k_name = "thrust::upper_bound";
  template <class I, class T>
  static I of(I first, I last, const T& value) {
    return place(first, std::upper_bound(in_place(first), in_place(last), value));
  }
};
struct binary_search : search<binary_search> {
  static constexpr const char* k_name = "thrust::binary_search";
  template <class I, class T>
  static bool of(I first, I last, const T& value) {
    return std::binary_search(in_place(first), in_place(last), value);
  }
};

}  // namespace work

inline constexpr algorithm<work::sort> sort, stable_sort;
inline constexpr algorithm<work::sort_by_key> sort_by_key, stable_sort_by_key;
inline constexpr algorithm<work::is_sorted> is_sorted;
inline constexpr algorithm<work::merge> merge;
inline constexpr algorithm<work::reduce> reduce;
inline constexpr algorithm<work::transform_reduce> transform_reduce;
inline constexpr algorithm<work::inner_product> inner_product;
inline constexpr algorithm<work::reduce_by_key> reduce_by_key;
inline constexpr algorithm<work::inclusive_scan> inclusive_scan;
inline constexpr algorithm<work::exclusive_scan> exclusive_scan;
inline constexpr algorithm<work::adjacent_difference> adjacent_difference;
inline constexpr algorithm<work::transform> transform;
inline constexpr algorithm<work::for_each> for_each;
inline constexpr algorithm<work::for_each_n> for_each_n;
inline constexpr algorithm<work::generate> generate;
inline constexpr algorithm<work::tabulate> tabulate;
inline constexpr algorithm<work::copy> copy;
inline constexpr algorithm<work::copy_n> copy_n;
inline constexpr algorithm<work::copy_if> copy_if;
inline constexpr algorithm<work::fill> fill;
inline constexpr algorithm<work::fill_n> fill_n;
inline constexpr algorithm<work::sequence> sequence;
inline constexpr algorithm<work::gather> gather;
inline constexpr algorithm<work::scatter> scatter;
inline constexpr algorithm<work::count> count;
inline constexpr algorithm<work::count_if> count_if;
inline constexpr algorithm<work::find> find;
inline constexpr algorithm<work::find_if> find_if;
inline constexpr algorithm<work::min_element> min_element;
inline constexpr algorithm<work::max_element> max_element;
inline constexpr algorithm<work::minmax_element> minmax_element;
inline constexpr algorithm<work::all_of> all_of;
inline constexpr algorithm<work::any_of> any_of;
inline constexpr algorithm<work::none_of> none_of;
inline constexpr algorithm<work::equal> equal;
inline constexpr algorithm<work::remove_if> remove_if;
inline constexpr algorithm<work::remove> remove;
inline constexpr algorithm<work::partition> partition;
inline constexpr algorithm<work::unique> unique;
inline constexpr algorithm<work::replace_if> replace_if;
inline constexpr algorithm<work::replace> replace;
inline constexpr algorithm<work::reverse> reverse;
inline constexpr algorithm<work::lower_bound> lower_bound;
inline constexpr algorithm<work::upper_bound> upper_bound;
inline constexpr algorithm<work::binary_search> binary_search;
}  // namespace thrust
