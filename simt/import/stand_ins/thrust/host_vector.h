// Stands in for Thrust's header of this name.
#pragma once

#include <initializer_list>
#include <vector>

#include "algorithms.hpp"

namespace thrust {

// Pointers serve as iterators.
template <class T, class = void>
class host_vector {
  using stored = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;

 public:
  using value_type = T;
  using size_type = size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using pointer = T*;
  using iterator = T*;
  using const_iterator = const T*;

  host_vector() = default;
  explicit host_vector(size_t n, const T& value = {}) : all_(n, static_cast<stored>(value)) {}
  host_vector(std::initializer_list<T> all) : all_(all.begin(), all.end()) {}
  template <class I, class = typename std::iterator_traits<I>::iterator_category>
  host_vector(I first, I last) {
    assign(first, last);
  }
  template <class Container, class = decltype(std::declval<const Container&>().begin())>
  host_vector(const Container& other) {
    assign(other.begin(), other.end());
  }
  template <class Container, class = decltype(std::declval<const Container&>().begin())>
  host_vector& operator=(const Container& other) {
    assign(other.begin(), other.end());
    return *this;
  }
  template <class I>
  void assign(I first, I last) {
    all_.resize(static_cast<size_t>(last - first));
    copy(first, last, begin());
  }

  T* data() { return reinterpret_cast<T*>(all_.data()); }
  const T* data() const { return reinterpret_cast<const T*>(all_.data()); }
  T* begin() { return data(); }
  T* end() { return data() + size(); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }
  const T* cbegin() const { return begin(); }
  const T* cend() const { return end(); }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& front() { return *begin(); }
  T& back() { return end()[-1]; }
  const T& front() const { return *begin(); }
  const T& back() const { return end()[-1]; }
  size_t size() const { return all_.size(); }
  bool empty() const { return all_.empty(); }
  void resize(size_t n, const T& value = {}) { all_.resize(n, static_cast<stored>(value)); }
  void reserve(size_t n) { all_.reserve(n); }
  void clear() { all_.clear(); }
  void push_back(const T& value) { all_.push_back(static_cast<stored>(value)); }
  void pop_back() { all_.pop_back(); }
  T* erase(T* first, T* last) {
    const auto at = all_.begin() + (first - begin());
    all_.erase(at, at + (last - first));
    return first;
  }
  void swap(host_vector& other) { all_.swap(other.all_); }
  friend bool operator==(const host_vector& a, const host_vector& b) { return a.all_ == b.all_; }
  friend bool operator!=(const host_vector& a, const host_vector& b) { return a.all_ != b.all_; }

 private:
  std::vector<stored> all_;
};

}  // namespace thrust
