#include "properties/engine/cpu_device.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

namespace warpcheck::engine {
namespace {

constexpr size_t k_guard = 4096;
constexpr size_t k_filled = size_t{256} << 20;
constexpr unsigned char k_guard_byte = 0xa5;

struct block {
  unsigned char* base;
  size_t bytes;
};
std::unordered_map<const void*, block>& blocks() {
  static std::unordered_map<const void*, block> map;
  return map;
}

void* alloc(size_t bytes, size_t misalign, size_t) {
  // [guard][payload at misalign][guard], the base 256-aligned so that p % 256 == misalign.
  const size_t total = (k_guard + misalign + bytes + k_guard + 255) / 256 * 256;
  auto* base = static_cast<unsigned char*>(std::aligned_alloc(256, total));
  if (!base) return nullptr;
  unsigned char* p = base + k_guard + misalign;
  std::memset(base, k_guard_byte, k_guard + misalign);
  // A span of many gigabytes is mostly gaps that nobody touches: its pages stay unused.
  if (bytes <= k_filled) std::memset(p, 0xff, bytes);
  std::memset(p + bytes, k_guard_byte, k_guard);
  blocks()[p] = {base, bytes};
  return p;
}

void release(void* p) {
  const auto found = blocks().find(p);
  if (found == blocks().end()) return;
  std::free(found->second.base);
  blocks().erase(found);
}

int64_t check_guards(const void* p) {
  const auto found = blocks().find(p);
  if (found == blocks().end()) return INT64_MIN;
  const auto* payload = static_cast<const unsigned char*>(p);
  const auto [base, bytes] = found->second;
  for (const unsigned char* q = base; q < payload; ++q)
    if (*q != k_guard_byte) return q - payload;
  for (size_t i = 0; i < k_guard; ++i)
    if (payload[bytes + i] != k_guard_byte) return static_cast<int64_t>(bytes + i);
  return INT64_MIN;
}

void forget(void*, size_t) {}

int copy(void* destination, const void* source, size_t bytes) {
  if (bytes) std::memcpy(destination, source, bytes);
  return 0;
}

void* stream_create(const warpcheck_stream_options*) {
  static int token;  // a non-null handle; work on the host is ordered by itself
  return &token;
}
void stream_destroy(void*) {}
int stream_renew(void*, const warpcheck_stream_options*) { return 0; }
int stream_synchronize(void*, warpcheck_finding_fn, void*) { return 0; }

const char* describe() { return "host processor"; }
const char* last_error() { return ""; }

}  // namespace

const warpcheck_device_api& cpu_device_api() {
  static const warpcheck_device_api api = {sizeof(warpcheck_device_api),
                                           WARPCHECK_DEVICE_CPU,
                                           describe,
                                           last_error,
                                           alloc,
                                           release,
                                           check_guards,
                                           forget,
                                           copy,
                                           copy,
                                           stream_create,
                                           stream_destroy,
                                           stream_synchronize,
                                           nullptr,
                                           nullptr,
                                           nullptr,
                                           stream_renew};
  return api;
}

}  // namespace warpcheck::engine
