// The shadow cells of device memory (race flavour only). A word costs 16 bytes as long as at most two accesses to it
// matter; further ones take a cell of shadow_cell's size from a pool.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simt/emulated/region.hpp"
#include "simt/emulated/shadow.hpp"

namespace simt {
inline namespace emu {

// A packed access, from bit 0: thread (32 bits), clock (16), place in the code (13, sites.ids), kind (2), mark (1).
// 0: none. Where the kind is `link`, the low 32 bits are a number in a pool of device_cells instead.
using packed_access = uint64_t;
enum class packed_kind : uint8_t { write, atomic, read, link };
inline constexpr unsigned k_packed_clock = 32, k_packed_site = 48, k_packed_kind = 61;
inline constexpr uint32_t k_packed_clocks = 1u << 16, k_packed_sites = 1u << 13;
inline constexpr packed_access k_packed_mark = packed_access{1} << 63;
inline constexpr packed_access k_split_link = packed_access{1} << k_packed_site;  // to a split_word

// The accesses in the order of shadow_cell's members. Marks: of the first one, that the word's summary has dropped
// reads; of the second one, dropped atomics.
struct packed_cell {
  packed_access first, second;
};
static_assert(sizeof(packed_cell) == 16);

struct split_word {
  packed_cell bytes[4];
};

inline uint32_t thread_of_packed(packed_access a) { return static_cast<uint32_t>(a); }
inline uint32_t clock_of_packed(packed_access a) { return static_cast<uint16_t>(a >> k_packed_clock); }
inline packed_kind kind_of_packed(packed_access a) { return static_cast<packed_kind>(a >> k_packed_kind & 3); }
inline bool is_link(const packed_cell& c) { return kind_of_packed(c.first) == packed_kind::link; }
inline bool is_split(const packed_cell& c) { return is_link(c) && (c.first & k_split_link) != 0; }

// Numbers for places in the code (with the marks of access_record::pc).
struct site_numbers {
  struct {
    uint32_t pc, number;
  } recent[256];  // by a hash of pc
};
extern site_numbers sites;
uint32_t number_site(uint32_t pc);  // k_packed_sites if all are used

inline packed_access pack(const access_record& a, packed_kind kind, uint32_t site) {
  return a.thread | uint64_t{a.clock} << k_packed_clock | uint64_t{site} << k_packed_site |
         uint64_t{static_cast<uint8_t>(kind)} << k_packed_kind;
}
// 0 if the place has not been numbered lately, or the clock does not fit.
__attribute__((always_inline)) inline packed_access pack_recent(const access_record& a, packed_kind kind) {
  const auto& recent = sites.recent[a.pc * 0x9e3779b1u >> 24];
  return recent.pc == a.pc && recent.number != 0 && a.clock < k_packed_clocks ? pack(a, kind, recent.number) : 0;
}
// 0 if the access does not fit.
inline packed_access pack(const access_record& a, packed_kind kind) {
  if (const packed_access packed = pack_recent(a, kind)) return packed;
  const uint32_t site = number_site(a.pc);
  return site == k_packed_sites || a.clock >= k_packed_clocks ? 0 : pack(a, kind, site);
}

shadow_cell unpack(const packed_cell& packed);
// False if the accesses do not fit.
bool pack(const shadow_cell& c, packed_cell& packed);

// Cells of the pools. Their addresses stay the same.
shadow_cell& linked_cell(const packed_cell& link);
split_word& linked_bytes(const packed_cell& link);
packed_cell new_link(const shadow_cell& c);
void free_link(const packed_cell& link);
// From now on each byte of the word has a cell of its own, which begins with the accesses to the word.
void split(packed_cell& word);
// Forgets the pools, for no cell of device memory is valid any longer.
void forget_linked();

// The packed cell of the word of device memory at this offset in the region, of this generation.
inline packed_cell& packed_word(size_t offset, uint32_t generation) {
  const size_t word = (offset - k_arenas_bytes) / 4, group = word / k_group_words;
  if (shadow.stamps[group] != generation) {
    shadow.stamps[group] = generation;
    packed_cell* cells = shadow.packed + group * k_group_words;
    for (size_t i = 0; i < k_group_words; ++i) cells[i] = {0, 0};
  }
  return shadow.packed[word];
}
// Calls f(cell, offset, bytes) for the cells of the word that are valid in this generation: one, or one for each byte.
template <class F>
void each_cell_of_word(size_t offset, uint32_t generation, const F& f) {
  const size_t word = (offset - k_arenas_bytes) / 4;
  if (shadow.stamps[word / k_group_words] != generation) return;
  const packed_cell& c = shadow.packed[word];
  if (!is_split(c)) return f(unpack(c), offset / 4 * 4, size_t{4});
  for (size_t i = 0; i < 4; ++i) f(unpack(linked_bytes(c).bytes[i]), offset / 4 * 4 + i, size_t{1});
}

}  // namespace emu
}  // namespace simt
