// Device memory: best-fit ranges of a reserved address space, each allocation between canaries.
#include <sys/mman.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "simt/emulated/fiber.hpp"
#include "simt/emulated/host_memory.hpp"
#include "simt/emulated/region.hpp"
#include "simt/emulated/shadow.hpp"
#include "simt/error.hpp"

#ifdef SIMT_FLAVOUR_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace simt {
inline namespace emu {
namespace {

constexpr size_t k_give_back = 1 << 20;  // freed ranges from this size on return their pages to the system
// NaN as f16, bf16, f32 and f64 (there signalling): what is read beyond a buffer spreads.
constexpr uint64_t k_canary = 0x7ff47ff47ff47ff4ull;

struct allocation {
  size_t bytes = 0;
  size_t unit = 0, units = 0;
};

struct allocator {
  std::map<char*, allocation> live;
  std::map<size_t, size_t> free_at;                  // first unit -> units
  std::set<std::pair<size_t, size_t>> free_by_size;  // units, first unit
  size_t colour = 0;
  std::mutex lock;

  allocator() { release(0, k_device_memory_bytes / k_unit_bytes); }

  void add(size_t unit, size_t units) {
    free_at[unit] = units;
    free_by_size.insert({units, unit});
  }
  void remove(std::map<size_t, size_t>::iterator it) {
    free_by_size.erase({it->second, it->first});
    free_at.erase(it);
  }
  size_t take(size_t units) {
    const auto best = free_by_size.lower_bound({units, 0});
    if (best == free_by_size.end())
      throw device_error("device memory is used up: " + std::to_string(units * k_unit_bytes) +
                         " bytes were asked for, the emulated device has " + std::to_string(k_device_memory_bytes));
    const auto [found, unit] = *best;
    remove(free_at.find(unit));
    if (found > units) add(unit + units, found - units);
    return unit;
  }
  void release(size_t unit, size_t units) {
    auto next = free_at.lower_bound(unit);
    if (next != free_at.end() && next->first == unit + units) {
      units += next->second;
      remove(next);
    }
    auto before = free_at.lower_bound(unit);
    if (before != free_at.begin()) {
      --before;
      if (before->first + before->second == unit) {
        unit = before->first;
        units += before->second;
        remove(before);
      }
    }
    add(unit, units);
  }
};

allocator& memory() {
  static allocator& instance = *new allocator;
  return instance;
}

char* unit_address(size_t unit) { return region_base() + k_arenas_bytes + unit * k_unit_bytes; }

unsigned char canary_byte(const char* p) {
  return static_cast<unsigned char>(k_canary >> (8 * (reinterpret_cast<uintptr_t>(p) % 8)));
}

void fill_canary(char* begin, char* end) {
  while (begin < end && reinterpret_cast<uintptr_t>(begin) % 8 != 0) {
    *begin = static_cast<char>(canary_byte(begin));
    ++begin;
  }
  for (; end - begin >= 8; begin += 8) std::memcpy(begin, &k_canary, 8);
  for (; begin < end; ++begin) *begin = static_cast<char>(canary_byte(begin));
}

// The first damaged byte of [begin, end), or nullptr.
const char* damaged_canary(const char* begin, const char* end) {
  for (; begin < end; ++begin) {
    while (reinterpret_cast<uintptr_t>(begin) % 8 == 0 && end - begin >= 8) {
      uint64_t word;
      std::memcpy(&word, begin, 8);
      if (word != k_canary) break;
      begin += 8;
    }
    if (begin < end && static_cast<unsigned char>(*begin) != canary_byte(begin)) return begin;
  }
  return nullptr;
}

#ifdef SIMT_FLAVOUR_ASAN
void poison(const char* begin, const char* end) {
  __asan_poison_memory_region(begin, static_cast<size_t>(end - begin));
}
void unpoison(const char* p, size_t bytes) { __asan_unpoison_memory_region(p, bytes); }
#else
void poison(const char*, const char*) {}
void unpoison(const char*, size_t) {}
#endif

const allocation& find_live(const void* p, const char* function) {
  const auto it = memory().live.find(static_cast<char*>(const_cast<void*>(p)));
  if (it == memory().live.end())
    throw device_error(std::string(function) + ": p is not the start of a live device allocation");
  return it->second;
}

}  // namespace

void* reserve(size_t bytes, size_t guard) {
  const size_t whole = guard == 0 ? bytes : bytes + 2 * guard + k_arena_bytes;
  const int access = guard == 0 ? PROT_READ | PROT_WRITE : PROT_NONE;
  void* p = mmap(nullptr, whole, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p != MAP_FAILED && guard > 0) {
    p = static_cast<char*>(p) + guard;
    p = static_cast<char*>(p) + -reinterpret_cast<uintptr_t>(p) % k_arena_bytes;
    if (mprotect(p, bytes, PROT_READ | PROT_WRITE) != 0) p = MAP_FAILED;
  }
  if (p == MAP_FAILED)
    throw device_error("the emulated device needs " + std::to_string(whole >> 30) +
                       " GiB of address space (not memory), which the system refuses: see ulimit -v");
  madvise(p, bytes, MADV_DONTDUMP);
  return p;
}

char* region_base() {
  static char* const base = static_cast<char*>(reserve(k_region_bytes, k_guard_bytes));
  return base;
}

void region_open([[maybe_unused]] char* p, [[maybe_unused]] size_t bytes) {
#ifdef SIMT_FLAVOUR_ASAN
  // Everything around the declarations stays poisoned: a red zone lies between any two.
  __asan_poison_memory_region(p - 64, 64);
  __asan_poison_memory_region(p + bytes / 8 * 8, 64 + 8);
  __asan_unpoison_memory_region(p, bytes);
#elif defined(SIMT_FLAVOUR_RACE)
  shadow_open_shared(p, bytes);
#endif
}

void region_close([[maybe_unused]] char* p, [[maybe_unused]] size_t bytes) {
#ifdef SIMT_FLAVOUR_ASAN
  __asan_poison_memory_region(p, bytes);
#elif defined(SIMT_FLAVOUR_RACE)
  shadow_close_shared(p, bytes);
#endif
}

uint64_t memory_layouts = 0;

void* device_alloc(size_t bytes, size_t misalign, size_t elem) {
  ++memory_layouts;
  if (elem == 0) throw device_error("device_alloc: elem is 0, allowed are sizes of at least 1 byte");
  if (misalign >= 256)
    throw device_error("device_alloc: misalign is " + std::to_string(misalign) + ", allowed are 0 to 255");
  if (bytes > k_device_memory_bytes)
    throw device_error("device_alloc: bytes is " + std::to_string(bytes) + ", allowed are at most " +
                       std::to_string(k_device_memory_bytes));
  allocator& m = memory();
  const std::lock_guard<std::mutex> guard(m.lock);
  // Starts at different page offsets, so that buffers do not compete for the same cache sets.
  const size_t front = k_page_bytes + (m.colour++ * 7 % 16) * 256 + misalign;
  const size_t units = (front + bytes + k_page_bytes + k_unit_bytes - 1) / k_unit_bytes;
  const size_t unit = m.take(units);
  char* p = unit_address(unit) + front;
  m.live[p] = {bytes, unit, units};
  fill_canary(p - k_page_bytes, p);
  fill_canary(p + bytes, p + bytes + k_page_bytes);
  poison(p - k_page_bytes, p);
  poison(p + bytes, p + bytes + k_page_bytes);
  shadow_allocated(p, bytes, unit, units);
  return p;
}

void (*before_device_free)() = nullptr;

void device_free(void* p) {
  if (const auto work = std::exchange(before_device_free, nullptr)) work();
  if (p == nullptr) return;
  ++memory_layouts;
  allocator& m = memory();
  const std::lock_guard<std::mutex> guard(m.lock);
  const allocation a = find_live(p, "device_free");
  auto* begin = static_cast<char*>(p);
  m.live.erase(begin);
  shadow_freed(begin, a.bytes, a.unit, a.units);
  unpoison(begin - k_page_bytes, k_page_bytes);
  unpoison(begin + a.bytes, k_page_bytes);
  if (a.units * k_unit_bytes >= k_give_back) madvise(unit_address(a.unit), a.units * k_unit_bytes, MADV_DONTNEED);
  m.release(a.unit, a.units);
}

void limit_access(void* p, [[maybe_unused]] const std::vector<memory_part>& parts) {
  allocator& m = memory();
  const std::lock_guard<std::mutex> guard(m.lock);
  [[maybe_unused]] const allocation& a = find_live(p, "limit_access");
#ifdef SIMT_FLAVOUR_RACE
  shadow_limited(a.unit, a.units, parts);
#endif
}

void each_allocation(const std::function<void(char*, size_t)>& f) {
  allocator& m = memory();
  const std::lock_guard<std::mutex> guard(m.lock);
  for (const auto& [p, a] : m.live) f(p, a.bytes);
}

#ifndef SIMT_FLAVOUR_RACE
void mark_uninitialized(void*, size_t) {}
void mark_initialized(void*, size_t) {}
unwritten_bytes count_unwritten(const void*, size_t) { return {}; }
void forbid_access(const void*, size_t, int) {}
void allow_access() {}
#endif

int64_t device_check(const void* p) {
  allocator& m = memory();
  const std::lock_guard<std::mutex> guard(m.lock);
  const allocation& a = find_live(p, "device_check");
  const auto* begin = static_cast<const char*>(p);
  const char* damaged = damaged_canary(begin - k_page_bytes, begin);
  if (damaged == nullptr) damaged = damaged_canary(begin + a.bytes, begin + a.bytes + k_page_bytes);
  return damaged == nullptr ? INT64_MIN : damaged - begin;
}

}  // namespace emu
}  // namespace simt
