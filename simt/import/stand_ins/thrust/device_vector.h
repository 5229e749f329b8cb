// Stands in for Thrust's header of this name: an array of device memory that the host fills, copies and frees.
#pragma once

#include <new>

#include "host_vector.h"

namespace thrust {

template <class T>
class device_allocator {};

template <class T, class = device_allocator<T>>
class device_vector {
 public:
  using value_type = T;
  using size_type = size_t;
  using difference_type = std::ptrdiff_t;
  using reference = device_reference<T>;
  using const_reference = device_reference<const T>;
  using pointer = device_ptr<T>;
  using iterator = device_ptr<T>;
  using const_iterator = device_ptr<const T>;

  device_vector() = default;
  explicit device_vector(size_t n, const T& value = {}) { resize(n, value); }
  device_vector(std::initializer_list<T> all) { assign(all.begin(), all.end()); }
  device_vector(const device_vector& other) { assign(other.begin(), other.end()); }
  device_vector(device_vector&& other) noexcept { swap(other); }
  template <class I, class = typename std::iterator_traits<I>::iterator_category>
  device_vector(I first, I last) {
    assign(first, last);
  }
  template <class Container, class = decltype(std::declval<const Container&>().begin())>
  device_vector(const Container& other) {
    assign(other.begin(), other.end());
  }
  ~device_vector() {
    if (data_.get() != nullptr) ::simt::import::release("thrust::device_vector", data_.get(), k_place);
  }
  device_vector& operator=(const device_vector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  device_vector& operator=(device_vector&& other) noexcept {
    swap(other);
    return *this;
  }
  template <class Container, class = decltype(std::declval<const Container&>().begin())>
  device_vector& operator=(const Container& other) {
    assign(other.begin(), other.end());
    return *this;
  }
  template <class I, class = typename std::iterator_traits<I>::iterator_category>
  void assign(I first, I last) {
    size_ = 0;
    reserve(static_cast<size_t>(last - first));
    size_ = static_cast<size_t>(last - first);
    copy(first, last, begin());
  }
  void assign(size_t n, const T& value) {
    size_ = 0;
    resize(n, value);
  }

  device_ptr<T> data() { return data_; }
  device_ptr<const T> data() const { return data_; }
  iterator begin() { return data_; }
  iterator end() { return data_ + static_cast<std::ptrdiff_t>(size_); }
  const_iterator begin() const { return data_; }
  const_iterator end() const { return const_iterator(data_) + static_cast<std::ptrdiff_t>(size_); }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }
  reference operator[](size_t i) { return begin()[static_cast<std::ptrdiff_t>(i)]; }
  const_reference operator[](size_t i) const { return begin()[static_cast<std::ptrdiff_t>(i)]; }
  reference front() { return *begin(); }
  reference back() { return end()[-1]; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  void clear() { size_ = 0; }
  void shrink_to_fit() {}
  void pop_back() { --size_; }
  void push_back(const T& value) {
    if (size_ == capacity_) reserve(2 * size_ + 1);
    ++size_;
    fill(end() - 1, end(), value);
  }
  void reserve(size_t n) {
    if (n <= capacity_) return;
    void* p = nullptr;
    if (::simt::import::allocate(&p, n * sizeof(T), false, k_place) != cudaSuccess) throw std::bad_alloc();
    const device_ptr<T> to(static_cast<T*>(p));
    if (size_ > 0) copy(begin(), end(), to);
    if (data_.get() != nullptr) ::simt::import::release("thrust::device_vector", data_.get(), k_place);
    data_ = to;
    capacity_ = n;
  }
  void resize(size_t n, const T& value = {}) {
    const size_t before = size_;
    reserve(n);
    size_ = n;
    if (n > before) fill(begin() + static_cast<std::ptrdiff_t>(before), end(), value);
  }
  iterator erase(iterator first, iterator last) {
    if (last != end()) copy(last, end(), first);
    size_ -= static_cast<size_t>(last - first);
    return first;
  }
  iterator erase(iterator at) { return erase(at, at + 1); }
  void swap(device_vector& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  friend bool operator==(const device_vector& a, const device_vector& b) {
    return a.size_ == b.size_ && (a.size_ == 0 || equal(a.begin(), a.end(), b.begin()));
  }
  friend bool operator!=(const device_vector& a, const device_vector& b) { return !(a == b); }

 private:
  static constexpr ::simt::import::site k_place = {"thrust::device_vector", 0};
  device_ptr<T> data_;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace thrust
