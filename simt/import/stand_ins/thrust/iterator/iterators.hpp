// Iterators of Thrust that compute their elements. They contain raw pointers to device memory, because algorithms run
// on the host and read elements in place.
#pragma once

#include <iterator>

#include "simt/import/stand_ins/thrust/device_ptr.h"
#include "simt/import/stand_ins/thrust/tuple.h"

namespace thrust {

template <class Iterator>
Iterator in_place(Iterator i) {
  return i;
}
template <class T>
T* in_place(device_ptr<T> p) {
  return p.get();
}
template <class Iterator>
using in_place_t = decltype(in_place(std::declval<Iterator>()));

// Steps and comparisons of an iterator with a position; Self::at(i) is the element i positions further on.
template <class Self, class Value, class Reference>
class counted {
 public:
  using value_type = Value;
  using reference = Reference;
  using pointer = void;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::random_access_iterator_tag;

  Reference operator*() const { return self().at(at_); }
  Reference operator[](difference_type i) const { return self().at(at_ + i); }
  Self& operator+=(difference_type by) { return at_ += by, self(); }
  Self& operator-=(difference_type by) { return at_ -= by, self(); }
  Self& operator++() { return *this += 1; }
  Self& operator--() { return *this -= 1; }
  Self operator++(int) {
    Self before = self();
    ++at_;
    return before;
  }
  Self operator--(int) {
    Self before = self();
    --at_;
    return before;
  }
  friend Self operator+(Self s, difference_type by) { return s += by; }
  friend Self operator+(difference_type by, Self s) { return s += by; }
  friend Self operator-(Self s, difference_type by) { return s -= by; }
  friend difference_type operator-(const Self& a, const Self& b) { return a.place() - b.place(); }
  friend bool operator==(const Self& a, const Self& b) { return a.place() == b.place(); }
  friend bool operator!=(const Self& a, const Self& b) { return a.place() != b.place(); }
  friend bool operator<(const Self& a, const Self& b) { return a.place() < b.place(); }
  difference_type place() const { return at_ + self().origin(); }
  difference_type origin() const { return 0; }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
  Self& self() { return static_cast<Self&>(*this); }
  difference_type at_ = 0;
};

template <class T>
class counting_iterator : public counted<counting_iterator<T>, T, T> {
 public:
  counting_iterator() = default;
  explicit counting_iterator(T first) : first_(first) {}
  T at(std::ptrdiff_t i) const { return static_cast<T>(first_ + static_cast<T>(i)); }
  std::ptrdiff_t origin() const { return static_cast<std::ptrdiff_t>(first_); }

 private:
  T first_{};
};
template <class T>
counting_iterator<T> make_counting_iterator(T first) {
  return counting_iterator<T>(first);
}

template <class T>
class constant_iterator : public counted<constant_iterator<T>, T, T> {
 public:
  explicit constant_iterator(T value) : value_(value) {}
  constant_iterator(T value, std::ptrdiff_t at) : value_(value) { *this += at; }
  T at(std::ptrdiff_t) const { return value_; }

 private:
  T value_;
};
template <class T>
constant_iterator<T> make_constant_iterator(T value, std::ptrdiff_t at = 0) {
  return constant_iterator<T>(value, at);
}

// A value written here is discarded.
struct anything {
  template <class T>
  const anything& operator=(const T&) const {
    return *this;
  }
};
template <class = void>
class discard_iterator : public counted<discard_iterator<>, anything, anything> {
 public:
  anything at(std::ptrdiff_t) const { return {}; }
};
inline discard_iterator<> make_discard_iterator() { return {}; }

template <class Function, class Iterator>
using result_at = std::decay_t<decltype(std::declval<Function>()(*std::declval<in_place_t<Iterator>>()))>;

template <class Function, class Iterator>
class transform_iterator : public counted<transform_iterator<Function, Iterator>, result_at<Function, Iterator>,
                                          result_at<Function, Iterator>> {
 public:
  transform_iterator(Iterator base, Function f = {}) : base_(in_place(base)), f_(f) {}
  result_at<Function, Iterator> at(std::ptrdiff_t i) const { return f_(*(base_ + i)); }

 private:
  in_place_t<Iterator> base_;
  mutable Function f_;
};
template <class Function, class Iterator>
transform_iterator<Function, Iterator> make_transform_iterator(Iterator base, Function f) {
  return transform_iterator<Function, Iterator>(base, f);
}

template <class Element, class Index>
class permutation_iterator : public counted<permutation_iterator<Element, Index>,
                                            typename std::iterator_traits<in_place_t<Element>>::value_type,
                                            typename std::iterator_traits<in_place_t<Element>>::reference> {
 public:
  permutation_iterator(Element elements, Index indices) : elements_(in_place(elements)), indices_(in_place(indices)) {}
  typename std::iterator_traits<in_place_t<Element>>::reference at(std::ptrdiff_t i) const {
    return elements_[static_cast<std::ptrdiff_t>(*(indices_ + i))];
  }

 private:
  in_place_t<Element> elements_;
  in_place_t<Index> indices_;
};
template <class Element, class Index>
permutation_iterator<Element, Index> make_permutation_iterator(Element elements, Index indices) {
  return {elements, indices};
}

template <class Tuple>
class zip_iterator;
template <class... Iterators>
class zip_iterator<std::tuple<Iterators...>>
    : public counted<zip_iterator<std::tuple<Iterators...>>,
                     std::tuple<typename std::iterator_traits<in_place_t<Iterators>>::value_type...>,
                     std::tuple<typename std::iterator_traits<in_place_t<Iterators>>::reference...>> {
 public:
  using place_type = std::tuple<typename std::iterator_traits<in_place_t<Iterators>>::reference...>;
  zip_iterator(const std::tuple<Iterators...>& all)
      : all_(std::apply([](const auto&... i) { return std::tuple<in_place_t<Iterators>...>(in_place(i)...); }, all)) {}
  place_type at(std::ptrdiff_t by) const {
    return std::apply([by](const auto&... i) { return place_type(*(i + by)...); }, all_);
  }
  // The position of the first of them, which determines distances.
  std::ptrdiff_t origin() const {
    const auto& first = std::get<0>(all_);
    if constexpr (std::is_pointer_v<std::decay_t<decltype(first)>>)
      return static_cast<std::ptrdiff_t>(reinterpret_cast<uintptr_t>(first) / sizeof(*first));
    else
      return first.place();
  }

 private:
  std::tuple<in_place_t<Iterators>...> all_;
};
template <class... Iterators>
zip_iterator<std::tuple<Iterators...>> make_zip_iterator(const std::tuple<Iterators...>& all) {
  return {all};
}
template <class... Iterators>
zip_iterator<std::tuple<Iterators...>> make_zip_iterator(Iterators... all) {
  return {std::tuple<Iterators...>(all...)};
}
template <class Iterator>
std::reverse_iterator<in_place_t<Iterator>> make_reverse_iterator(Iterator i) {
  return std::reverse_iterator<in_place_t<Iterator>>(in_place(i));
}

using std::advance;
using std::distance;
template <class Iterator>
using iterator_traits = std::iterator_traits<Iterator>;

}  // namespace thrust
