// The memory of a call's tensors: one file in memory that this process and the interpreter both map, with guards around
// each buffer as abi/candidate.h demands.
#pragma once

#include "abi/candidate.h"
#include "properties/engine/files/memory_file.hpp"

namespace warpcheck::python {

// A buffer with its guards.
struct shared_block {
  size_t begin, size;  // bytes, from the start of the file
};

class shared_memory {
 public:
  // Returns the memory of this process; a forked process makes its own. Throws std::runtime_error if there is no
  // memory.
  static shared_memory& own();

  int descriptor() const { return file_.descriptor(); }
  char* base() const { return base_; }
  size_t offset_of(const void* p) const { return static_cast<size_t>(static_cast<const char*>(p) - base_); }
  // Returns the block that contains p; size 0 if none does.
  shared_block block_of(const void* p) const;

 private:
  shared_memory();
  engine::memory_file file_{"tensors"};
  char* base_ = nullptr;
};

// The interface of candidate.h over that memory, for tensors that count as being on `device`.
const warpcheck_device_api* shared_memory_api(warpcheck_device device);

}  // namespace warpcheck::python
