// Device memory of the emulated device: exact bounds between canaries, any misalignment, reused for ever.
// Each flavour's module has its own; pointers of one flavour mean nothing to another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace simt {
inline namespace emu {

// Address space set aside for live allocations; memory costs only what is touched.
inline constexpr size_t k_device_memory_bytes = size_t{128} << 30;

// Returns p with p % 256 == misalign (0 to 255) and exactly `bytes` usable bytes, surrounded by at least a page of
// canary pattern on each side. `elem` is the element size in bytes, for messages. Contents are undefined.
// Race flavour: accesses outside [p, p + bytes) are findings. ASan flavour: they are reported by ASan (below a p that
// is not a multiple of 8, only from the 8-byte boundary on, which is ASan's granularity; canaries cover the rest).
// Throws device_error when the address space is used up or misalign is out of range.
void* device_alloc(size_t bytes, size_t misalign, size_t elem);

// Frees what device_alloc returned; nullptr is allowed, any other pointer throws device_error.
void device_free(void* p);
// Leaves of the allocation that begins at p only these parts, each of them an allocation to all checks: of whole units
// of 64 KiB, ascending. The other bytes may not be accessed (race flavour; no effect in the other flavours).
struct memory_part {
  char* begin;
  size_t bytes;
};
void limit_access(void* p, const std::vector<memory_part>& parts);
// Changes with every allocation, and whenever bytes become uninitialised.
extern uint64_t memory_layouts;
// Called once by the next device_free, before it frees; null: nothing is.
extern void (*before_device_free)();

// Offset, relative to p, of the first damaged canary byte (negative, or >= the size), or INT64_MIN where all is intact.
int64_t device_check(const void* p);

// Race flavour: until a kernel writes them, reads of [p, p + bytes) are findings (`uninitialized`), as for a buffer.
// The host must call mark_initialized for what it then writes itself. No effect in the other flavours.
void mark_uninitialized(void* p, size_t bytes);
void mark_initialized(void* p, size_t bytes);
// The number of these bytes that were not written since, and the first of them; none in the other flavours.
struct unwritten_bytes {
  size_t count = 0, first = 0;
};
unwritten_bytes count_unwritten(const void* p, size_t bytes);

}  // namespace emu
}  // namespace simt
