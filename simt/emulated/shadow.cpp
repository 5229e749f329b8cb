#include "simt/emulated/shadow.hpp"

#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "simt/emulated/fiber.hpp"
#include "simt/emulated/happens_before.hpp"
#include "simt/emulated/packed_cells.hpp"
#include "simt/emulated/region.hpp"
#include "simt/emulated/stream_clocks.hpp"
#include "simt/error.hpp"

namespace simt {
inline namespace emu {

shadow_tables shadow;

namespace {

constexpr size_t k_big = 1 << 20;
constexpr size_t k_word_cells = k_arenas_bytes / 4 * sizeof(shadow_cell);
constexpr size_t k_byte_cells = k_arenas_bytes * sizeof(shadow_cell);
constexpr size_t k_dropped = k_arenas_bytes / 4 * sizeof(access_summary);

constexpr size_t k_group_bytes = k_group_words * 4, k_groups = k_device_memory_bytes / k_group_bytes;
constexpr size_t k_packed_cells = k_device_memory_bytes / 4 * sizeof(packed_cell);
constexpr size_t k_stamps = k_groups * sizeof(uint32_t);
constexpr size_t k_summaries = k_groups * sizeof(group_summary);

constexpr size_t k_cells = k_word_cells + k_byte_cells + 2 * k_dropped + k_packed_cells + k_stamps + 2 * k_summaries;
constexpr size_t k_units = k_region_bytes / k_unit_bytes * sizeof(unit_range);
constexpr size_t k_tables = k_cells + k_region_bytes + k_units;

void prepare() {
  if (shadow.words != nullptr) return;
  shadow.base = reinterpret_cast<uintptr_t>(region_base());
  char* tables = static_cast<char*>(reserve(k_tables, k_guard_bytes));
  const auto begin = reinterpret_cast<uintptr_t>(tables) - k_guard_bytes;
  shadow.tables = {begin, k_tables + 2 * k_guard_bytes};
  shadow.surroundings = {shadow.base - k_guard_bytes, k_region_bytes + 2 * k_guard_bytes};
  const auto next = [&tables](size_t bytes) { return std::exchange(tables, tables + bytes); };
  shadow.words = reinterpret_cast<shadow_cell*>(next(k_word_cells));
  shadow.bytes = reinterpret_cast<shadow_cell*>(next(k_byte_cells));
  shadow.shared_reads = reinterpret_cast<access_summary*>(next(k_dropped));
  shadow.shared_atomics = reinterpret_cast<access_summary*>(next(k_dropped));
  shadow.packed = reinterpret_cast<packed_cell*>(next(k_packed_cells));
  shadow.stamps = reinterpret_cast<uint32_t*>(next(k_stamps));
  shadow.dropped_reads = reinterpret_cast<group_summary*>(next(k_summaries));
  shadow.dropped_atomics = reinterpret_cast<group_summary*>(next(k_summaries));
  shadow.flags = reinterpret_cast<uint8_t*>(next(k_region_bytes));
  shadow.units = reinterpret_cast<unit_range*>(next(k_units));
}

size_t offset_of(const void* p) { return reinterpret_cast<uintptr_t>(p) - shadow.base; }

// Zeroes [p, p + bytes); whole pages of a big range go back to the system instead of being touched.
void zero(void* p, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(p), end = begin + bytes;
  const uintptr_t first = (begin + k_page_bytes - 1) / k_page_bytes * k_page_bytes,
                  last = end / k_page_bytes * k_page_bytes;
  if (bytes < k_big) {
    std::memset(p, 0, bytes);
    return;
  }
  std::memset(p, 0, first - begin);
  madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  std::memset(reinterpret_cast<void*>(last), 0, end - last);
}

// The live allocation that holds [p, p + bytes), or nullptr.
unit_range* range_of(const void* p, size_t bytes) {
  const size_t offset = offset_of(p);
  if (shadow.words == nullptr || offset >= k_region_bytes || offset < k_arenas_bytes) return nullptr;
  unit_range& r = shadow.units[offset / k_unit_bytes];
  return offset >= r.begin && bytes <= r.bytes && offset - r.begin <= r.bytes - bytes ? &r : nullptr;
}

}  // namespace

void shadow_allocated(char* p, size_t bytes, size_t unit, size_t units) {
  prepare();
  unit_range* first = shadow.units + k_arenas_bytes / k_unit_bytes + unit;
  for (size_t i = 0; i < units; ++i) first[i] = {offset_of(p), bytes, 0, 0, 0};
}

void shadow_freed(char* p, size_t bytes, size_t unit, size_t units) {
  unit_range* first = shadow.units + k_arenas_bytes / k_unit_bytes + unit;
  for (size_t i = 0; i < units; ++i) first[i].bytes = 0;
  if (first->is_followed) forget_followed(k_arenas_bytes / k_unit_bytes + unit, units);
  hb_stream_settles();
  // Stale cells are harmless when another launch has begun, since their stamp is old; a kernel may free memory, too.
  if (bytes < k_big && !in_kernel()) return;
  // A group lies in one allocation, as a page does.
  const size_t first_group = (offset_of(p) - k_arenas_bytes) / k_group_bytes;
  const size_t groups = (bytes + k_group_bytes - 1) / k_group_bytes + 1;
  zero(shadow.packed + first_group * k_group_words, groups * k_group_words * sizeof(packed_cell));
  zero(shadow.stamps + first_group, groups * sizeof(uint32_t));
  zero(shadow.dropped_reads + first_group, groups * sizeof(group_summary));
  zero(shadow.dropped_atomics + first_group, groups * sizeof(group_summary));
  zero(shadow.flags + offset_of(p), bytes);
}

void shadow_limited(size_t unit, size_t units, const std::vector<memory_part>& parts) {
  unit_range* first = shadow.units + k_arenas_bytes / k_unit_bytes + unit;
  for (size_t i = 0; i < units; ++i) first[i].bytes = 0;
  for (const memory_part& part : parts) {
    const size_t begin = offset_of(part.begin);
    for (size_t at = begin; at < begin + part.bytes; at += k_unit_bytes) {
      unit_range& r = shadow.units[at / k_unit_bytes];
      r.begin = begin;
      r.bytes = part.bytes;
    }
  }
}

void shadow_open_shared(char* p, size_t bytes) {
  prepare();
  std::memset(shadow.flags + offset_of(p), k_accessible, bytes);
}

void shadow_close_shared(char* p, size_t bytes) { std::memset(shadow.flags + offset_of(p), 0, bytes); }

void shadow_forget() { madvise(shadow.words, k_cells, MADV_DONTNEED); }

void mark_uninitialized(void* p, size_t bytes) {
  ++memory_layouts;
  unit_range* r = range_of(p, bytes);
  if (r == nullptr) throw device_error("mark_uninitialized: [p, p + bytes) is not inside a live device allocation");
  const size_t first = r->begin / k_unit_bytes, last = (r->begin + r->bytes) / k_unit_bytes;
  if (!r->tracks_writes) {
    const size_t offset = offset_of(p), before = offset - r->begin, after = r->bytes - before - bytes;
    std::memset(shadow.flags + r->begin, k_written, before);
    std::memset(shadow.flags + offset + bytes, k_written, after);
    for (size_t i = first; i <= last; ++i) shadow.units[i].tracks_writes = 1;
  }
  zero(shadow.flags + offset_of(p), bytes);
}

unwritten_bytes count_unwritten(const void* p, size_t bytes) {
  unwritten_bytes u;
  const unit_range* r = range_of(p, bytes);
  if (r == nullptr || !r->tracks_writes) return u;
  const uint8_t* flags = shadow.flags + offset_of(p);
  for (size_t i = 0; i < bytes; ++i)
    if ((flags[i] & k_written) == 0 && u.count++ == 0) u.first = i;
  return u;
}

void mark_initialized(void* p, size_t bytes) {
  if (const size_t offset = offset_of(p); shadow.words != nullptr && offset < k_arenas_bytes) {
    for (size_t i = offset; i < offset + bytes; ++i)
      if ((shadow.flags[i] & k_accessible) != 0) shadow.flags[i] |= k_written;
    return;
  }
  const unit_range* r = range_of(p, bytes);
  if (r != nullptr && r->tracks_writes) std::memset(shadow.flags + offset_of(p), k_written, bytes);
}

}  // namespace emu
}  // namespace simt
