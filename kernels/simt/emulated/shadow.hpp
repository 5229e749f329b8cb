// What the race flavour knows about each byte of the region. The other flavours keep nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simt {
inline namespace emu {

inline constexpr size_t k_unit_bytes = 64 * 1024;  // device memory is dealt out in units

#ifdef SIMT_FLAVOUR_RACE
void shadow_allocated(char* p, size_t bytes, size_t unit, size_t units, size_t elem);
void shadow_freed(char* p, size_t bytes, size_t unit, size_t units);
void shadow_open_shared(char* p, size_t bytes);
void shadow_close_shared(char* p, size_t bytes);
#else
inline void shadow_allocated(char*, size_t, size_t, size_t, size_t) {}
inline void shadow_freed(char*, size_t, size_t, size_t) {}
#endif

}  // namespace emu
}  // namespace simt
