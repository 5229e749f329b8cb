// The bytes of a request to a runner, and of its answer: values one after the other.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace warpcheck::engine {

// Bytes that no process of the suite writes: the text completes "an answer: ".
struct malformed_message : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class tape_writer {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_text(std::string_view text) {
    put<uint64_t>(text.size());
    bytes_.append(text);
  }
  const std::string& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  std::string bytes_;
};

// Reads bytes that may be anything: every function throws malformed_message if there are too few.
class tape_reader {
 public:
  explicit tape_reader(std::string bytes) : bytes_(std::move(bytes)) {}

  template <class T>
  T take() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, next(sizeof value), sizeof value);
    return value;
  }
  std::string take_text() {
    const auto size = take<uint64_t>();
    return {next(size), static_cast<size_t>(size)};
  }
  size_t left() const { return bytes_.size() - at_; }
  bool is_at_end() const { return left() == 0; }

 private:
  const char* next(uint64_t size) {
    if (size > left())
      throw malformed_message("it has " + std::to_string(left()) + " bytes in place of " + std::to_string(size));
    const char* const begin = bytes_.data() + at_;
    at_ += static_cast<size_t>(size);
    return begin;
  }

  std::string bytes_;
  size_t at_ = 0;
};

}  // namespace warpcheck::engine
