// The race flavour's state of each byte of the region: accessible or not, written or not, and its latest accesses. The
// other flavours have none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simt/emulated_memory.hpp"

namespace simt {
inline namespace emu {

inline constexpr size_t k_unit_bytes = 64 * 1024;  // device memory is dealt out in units

#ifdef SIMT_FLAVOUR_RACE

// An access: by whom (0: nobody), in which of its epochs, and where in the code (offset from the module's start).
struct access_record {
  uint32_t thread, clock, pc;
};
// Offsets are below 512 MiB; the bits above say of an atomic that it is of block scope, or not an update.
inline constexpr uint32_t k_block_scope = 1u << 31, k_atomic_load = 1u << 30, k_atomic_store = 1u << 29;
// Mark of a read: its thread has made a compare and swap there since.
inline constexpr uint32_t k_first_read = k_block_scope;
inline constexpr uint32_t k_code_offset = k_atomic_store - 1;
// Marks of a cell's write: a summary, and not the cell, has accesses since then.
inline constexpr uint32_t k_dropped_reads = 1u << 31, k_dropped_atomics = 1u << 29;

// The accesses to one 4-byte word, or to one byte of a word that was accessed in parts, that a later one may race with:
// the last write and, since then, up to two atomics, the earlier first, and two reads of different threads (of
// different warps where possible). Shared memory has one for each word, stale unless `stamp` is the present one; cells
// of device memory are packed (packed_cells.hpp) and are checked in this form.
struct shadow_cell {
  access_record write, atomics[2], reads[2];
  uint32_t stamp;
};
static_assert(sizeof(shadow_cell) == 64, "one cache line");
inline constexpr uint32_t k_split = 1u << 31;  // in a word's stamp: its bytes have cells of their own

// Accesses to a word or a part of it that its cell has no place for: what all of them have in common. It may represent
// more accesses than there were. Only for the schedule certificate (certificate.hpp).
struct access_summary {
  enum level_type : uint32_t { of_block, of_cluster, of_grid, of_agents };
  uint32_t thread;                     // one of them; 0: none
  uint32_t warps, lanes;               // in which the threads of its block are
  uint32_t latest;                     // epoch
  uint32_t cluster;                    // the instance of its cluster's first block
  uint32_t cluster_phase, grid_phase;  // the latest at which one of the threads had arrived
  level_type level;                    // whether others are of other blocks, or of other clusters; or are no threads
};
// In device memory neighbouring words share their summaries. `words`: which have used it, by a bit each.
inline constexpr size_t k_group_words = 32;
struct group_summary {
  access_summary summary;
  uint32_t words, stamp;
};
struct packed_cell;

// The live allocation of a unit of device memory: offsets in the region.
struct unit_range {
  uint64_t begin;
  uint64_t bytes : 61;
  uint64_t tracks_writes : 1;        // reads of bytes whose flag is not set are findings
  uint64_t is_followed : 1;          // from operation to operation (stream_clocks.hpp)
  uint64_t is_shared_with_host : 1;  // managed or pinned
};

enum : uint8_t { k_accessible = 1, k_written = 2 };

struct shadow_tables {
  uintptr_t base = uintptr_t{1} << 63;  // of the region; where there is none, out of reach of any address
  // The region and the tables, each with the guards around it: no kernel has business there outside of the region.
  struct range {
    uintptr_t begin = 0, bytes = 0;
    bool has(uintptr_t address) const { return address - begin < bytes; }
  } surroundings, tables;
  // Of shared memory, by word, but for `bytes`.
  shadow_cell* words = nullptr;
  shadow_cell* bytes = nullptr;
  access_summary* shared_reads = nullptr;  // that were dropped
  access_summary* shared_atomics = nullptr;
  // Of device memory: by word; by group of words, of which the cells are stale unless its stamp is the generation.
  packed_cell* packed = nullptr;
  uint32_t* stamps = nullptr;
  group_summary* dropped_reads = nullptr;
  group_summary* dropped_atomics = nullptr;
  uint8_t* flags = nullptr;  // per byte; arenas: k_accessible and k_written; device memory: k_written where tracked
  unit_range* units = nullptr;
};
extern shadow_tables shadow;

void shadow_allocated(char* p, size_t bytes, size_t unit, size_t units);
void shadow_freed(char* p, size_t bytes, size_t unit, size_t units);
void shadow_limited(size_t unit, size_t units, const std::vector<memory_part>& parts);
void shadow_open_shared(char* p, size_t bytes);
void shadow_close_shared(char* p, size_t bytes);
void shadow_forget();  // every cell is empty again

#else
inline void shadow_allocated(char*, size_t, size_t, size_t) {}
inline void shadow_freed(char*, size_t, size_t, size_t) {}
#endif

}  // namespace emu
}  // namespace simt
