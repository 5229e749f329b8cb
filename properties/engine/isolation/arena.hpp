// The memory that a judge shares with the runner of a candidate: a request, an answer, and copies of the tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "properties/engine/files/memory_file.hpp"

namespace warpcheck::engine {

// The requests, each with a letter, and their fields.
enum class request : char {
  alloc,           // id, bytes, misalign, element, placement
  release,         // id
  copy_in,         // id, offset, bytes
  forget,          // the same
  create_stream,   // id, schedule, options; answer: the error or ""
  destroy_stream,  // id
  call,            // operator, stream, call, reserve (id and bytes); answer: see runner.cpp
  synchronize,     // stream; answer: status, error, findings, damaged guards
  capture_begin,   // stream; answer: status, error
  capture_replay,  // stream, times; answer: status, error
  is_usable,       // answer: an int32_t
  accepts,         // operator, variant, call; answer: an int32_t
  reserve_bytes,   // operator, call; answer: an int64_t
  renew_stream,    // as create_stream; answer: status, error
  peek,            // id, offset, bytes: copies this part of a buffer back
};

class arena {
 public:
  // Creates an arena, or maps that of the descriptor. Throws environment_error if there is no memory.
  arena();
  explicit arena(int descriptor);
  ~arena();
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  int descriptor() const { return file_.descriptor(); }
  // Returns the copy of a block: as many bytes from the start of the tensors.
  char* at(size_t offset) const { return base_ + k_tensors + offset; }
  size_t offset_of(const void* p) const { return static_cast<size_t>(static_cast<const char*>(p) - at(0)); }
  // True if the pointer lies in the memory for tensors.
  bool has(const void* p) const { return p >= at(0) && p < base_ + k_capacity; }
  // Returns the memory of a block to the system.
  void discard(size_t offset, size_t bytes) const;

  // Messages have numbers; an answer has the number of its request.
  void write_request(uint64_t number, const std::string& bytes) const { write(0, number, bytes); }
  void write_answer(uint64_t number, const std::string& bytes) const { write(1, number, bytes); }
  // Copies the message; throws malformed_message if it has another number or no possible size.
  std::string read_request(uint64_t number) const { return read(0, number); }
  std::string read_answer(uint64_t number) const { return read(1, number); }
  bool has_answer(uint64_t number) const;

  static constexpr size_t k_message = size_t{4} << 20;  // bytes, including the head
  // Address space, not memory: pages are taken when touched, so rows may be many gigabytes apart.
  static constexpr size_t k_capacity = size_t{1} << 38;

 private:
  static constexpr size_t k_tensors = 2 * k_message;
  void map();
  void write(size_t slot, uint64_t number, const std::string& bytes) const;
  std::string read(size_t slot, uint64_t number) const;

  memory_file file_;
  char* base_ = nullptr;
};

}  // namespace warpcheck::engine
