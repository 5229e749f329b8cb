#include "command/candidates/python/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>

#include "abi/host_memory.hpp"

namespace warpcheck::python {
namespace {

constexpr size_t k_page = 4096, k_guard = 4096, k_alignment = 256;
constexpr unsigned char k_guard_byte = 0xa5;
constexpr size_t k_filled = size_t{256} << 20;
// Address space, not memory: pages are taken when touched, so rows may be many gigabytes apart.
constexpr size_t k_capacity = size_t{1} << 38;

struct buffer {
  size_t size, payload, bytes;  // the block's bytes; offset of the buffer, and its bytes
};
std::map<size_t, buffer>& buffers() {
  static std::map<size_t, buffer> map;  // by the first byte of the block
  return map;
}
std::string g_error;

// Returns the first place with `size` free bytes.
size_t find_place(size_t size) {
  size_t at = 0;
  for (const auto& [begin, b] : buffers()) {
    if (begin - at >= size) break;
    at = begin + b.size;
  }
  return at;
}

std::map<size_t, buffer>::iterator find(const void* p) {
  const size_t offset = shared_memory::own().offset_of(p);
  auto at = buffers().upper_bound(offset);
  if (at == buffers().begin()) return buffers().end();
  --at;
  return offset < at->first + at->second.size ? at : buffers().end();
}

unsigned char* address(size_t offset) { return reinterpret_cast<unsigned char*>(shared_memory::own().base()) + offset; }

void* alloc(size_t bytes, size_t misalign, size_t) {
  const size_t payload = k_guard + misalign % k_alignment;
  const size_t size = (payload + bytes + k_guard + k_page - 1) / k_page * k_page;
  unsigned char* p = nullptr;
  size_t begin = 0;
  try {
    p = address(0);
    begin = find_place(size);
  } catch (const std::exception& e) {
    g_error = e.what();
    return nullptr;
  }
  if (begin + size > k_capacity) {
    g_error = "the tensors of a call need more than 256 GiB of addresses";
    return nullptr;
  }
  p += begin;
  std::memset(p, k_guard_byte, payload);
  if (bytes <= k_filled) std::memset(p + payload, 0xff, bytes);
  std::memset(p + payload + bytes, k_guard_byte, size - payload - bytes);
  buffers()[begin] = {size, payload, bytes};
  return p + payload;
}

void release(void* p) {
  const auto found = find(p);
  if (found == buffers().end()) return;
  fallocate(shared_memory::own().descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            static_cast<off_t>(found->first), static_cast<off_t>(found->second.size));
  buffers().erase(found);
}

int64_t check_guards(const void* p) {
  const auto found = find(p);
  if (found == buffers().end()) return INT64_MIN;
  const unsigned char* const begin = address(found->first);
  const buffer& b = found->second;
  for (size_t i = 0; i < b.payload; ++i)
    if (begin[i] != k_guard_byte) return static_cast<int64_t>(i) - static_cast<int64_t>(b.payload);
  for (size_t i = b.payload + b.bytes; i < b.size; ++i)
    if (begin[i] != k_guard_byte) return static_cast<int64_t>(i) - static_cast<int64_t>(b.payload);
  return INT64_MIN;
}

const char* describe() { return "a Python interpreter in a process of its own"; }
const char* last_error() { return g_error.c_str(); }

}  // namespace

shared_memory& shared_memory::own() {
  static shared_memory* memory = nullptr;
  static pid_t of = 0;
  if (of != getpid()) {  // the memory belongs to the process that this one was forked from
    buffers().clear();
    memory = new shared_memory;
    of = getpid();
  }
  return *memory;
}

shared_memory::shared_memory() {
  file_.resize(k_capacity);
  void* const p = mmap(nullptr, k_capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor(), 0);
  if (p == MAP_FAILED) throw std::runtime_error(std::string("no shared memory: ") + std::strerror(errno));
  base_ = static_cast<char*>(p);
}

shared_block shared_memory::block_of(const void* p) const {
  const auto found = find(p);
  return found == buffers().end() ? shared_block{0, 0} : shared_block{found->first, found->second.size};
}

const warpcheck_device_api* shared_memory_api(warpcheck_device device) {
  const auto of = [](warpcheck_device d) {
    return host_memory::api_of(d, describe, last_error, alloc, release, check_guards);
  };
  static const warpcheck_device_api cpu = of(WARPCHECK_DEVICE_CPU), cuda = of(WARPCHECK_DEVICE_CUDA);
  return device == WARPCHECK_DEVICE_CUDA ? &cuda : &cpu;
}

}  // namespace warpcheck::python
