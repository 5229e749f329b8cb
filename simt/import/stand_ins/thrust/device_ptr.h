// Stands in for Thrust's header of this name: pointers to device memory. The host reads their elements by copies.
#pragma once

#include <cstddef>
#include <iterator>
#include <ostream>

#include "execution_policy.h"

namespace thrust {

template <class T>
class device_ptr;

// An element of device memory. An access by the host waits for the default stream, as a copy does.
template <class T>
class device_reference {
 public:
  using value_type = std::remove_const_t<T>;
  explicit device_reference(T* p) : p_(p) {}
  device_reference(const device_reference&) = default;
  operator value_type() const {
    value_type value;
    cudaMemcpy(&value, p_, sizeof value, cudaMemcpyDeviceToHost);
    return value;
  }
  const device_reference& operator=(const value_type& value) const {
    cudaMemcpy(p_, &value, sizeof value, cudaMemcpyHostToDevice);
    return *this;
  }
  device_reference& operator=(const device_reference& other) {
    static_cast<const device_reference&>(*this) = static_cast<value_type>(other);
    return *this;
  }
  device_ptr<T> operator&() const { return device_ptr<T>(p_); }
  template <class U>
  const device_reference& operator+=(const U& by) const {
    return *this = static_cast<value_type>(*this) + by;
  }
  template <class U>
  const device_reference& operator-=(const U& by) const {
    return *this = static_cast<value_type>(*this) - by;
  }
  template <class U>
  const device_reference& operator*=(const U& by) const {
    return *this = static_cast<value_type>(*this) * by;
  }
  const device_reference& operator++() const { return *this += 1; }
  friend std::ostream& operator<<(std::ostream& out, const device_reference& r) {
    return out << static_cast<value_type>(r);
  }

 private:
  T* p_;
};

template <class T>
class device_ptr {
 public:
  using value_type = std::remove_const_t<T>;
  using element_type = T;
  using reference = device_reference<T>;
  using pointer = device_ptr;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::random_access_iterator_tag;

  constexpr device_ptr(std::nullptr_t = nullptr) {}
  explicit device_ptr(T* p) : p_(p) {}
  template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
  device_ptr(const device_ptr<U>& other) : p_(other.get()) {}

  T* get() const { return p_; }
  explicit operator bool() const { return p_ != nullptr; }
  reference operator*() const { return reference(p_); }
  reference operator[](difference_type i) const { return reference(p_ + i); }
  device_ptr& operator+=(difference_type by) { return p_ += by, *this; }
  device_ptr& operator-=(difference_type by) { return p_ -= by, *this; }
  device_ptr& operator++() { return *this += 1; }
  device_ptr& operator--() { return *this -= 1; }
  device_ptr operator++(int) { return device_ptr(p_++); }
  device_ptr operator--(int) { return device_ptr(p_--); }
  friend device_ptr operator+(device_ptr p, difference_type by) { return p += by; }
  friend device_ptr operator+(difference_type by, device_ptr p) { return p += by; }
  friend device_ptr operator-(device_ptr p, difference_type by) { return p -= by; }
  friend difference_type operator-(device_ptr a, device_ptr b) { return a.p_ - b.p_; }
  friend bool operator==(device_ptr a, device_ptr b) { return a.p_ == b.p_; }
  friend bool operator!=(device_ptr a, device_ptr b) { return a.p_ != b.p_; }
  friend bool operator<(device_ptr a, device_ptr b) { return a.p_ < b.p_; }
  friend bool operator<=(device_ptr a, device_ptr b) { return a.p_ <= b.p_; }
  friend bool operator>(device_ptr a, device_ptr b) { return a.p_ > b.p_; }

 private:
  T* p_ = nullptr;
};

template <class T>
device_ptr<T> device_pointer_cast(T* p) {
  return device_ptr<T>(p);
}
template <class T>
device_ptr<T> device_pointer_cast(device_ptr<T> p) {
  return p;
}
template <class T>
T* raw_pointer_cast(device_ptr<T> p) {
  return p.get();
}
template <class T>
T* raw_pointer_cast(T* p) {
  return p;
}

template <class T>
device_ptr<T> device_malloc(size_t n, SIMT_SITE) {
  void* p = nullptr;
  ::simt::import::allocate(&p, n * sizeof(T), false, site);
  return device_ptr<T>(static_cast<T*>(p));
}
template <class T>
void device_free(device_ptr<T> p, SIMT_SITE) {
  ::simt::import::release("thrust::device_free", const_cast<void*>(static_cast<const void*>(p.get())), site);
}

}  // namespace thrust
