#include "simt/emulated/packed_cells.hpp"

#include <deque>
#include <iterator>
#include <vector>

namespace simt {
inline namespace emu {

site_numbers sites;

namespace {

// Stable addresses, and numbers that are used again. These are containers of own types: a program has instrumented
// instances of the functions of others, and the linker may call them from here.
struct unused_number {
  uint32_t value;
};
template <class T>
struct cell_pool {
  std::deque<T> cells;
  std::vector<unused_number> unused;

  uint32_t add(const T& cell) {
    if (unused.empty()) {
      cells.push_back(cell);
      return static_cast<uint32_t>(cells.size() - 1);
    }
    const uint32_t number = unused.back().value;
    unused.pop_back();
    cells[number] = cell;
    return number;
  }
  void clear() {
    cells.clear();
    unused.clear();
  }
};
cell_pool<shadow_cell> linked;
cell_pool<split_word> split_words;

// Open addressing.
struct {
  uint32_t used = 1;  // number 0 is none
  uint32_t places[k_packed_sites] = {};
  uint32_t numbers[2 * k_packed_sites] = {};  // by a hash of the place
} known_sites;

packed_cell link_to(uint32_t number, packed_access mark) {
  return {number | uint64_t{static_cast<uint8_t>(packed_kind::link)} << k_packed_kind | mark, 0};
}

access_record unpack(packed_access a) {
  return {thread_of_packed(a), clock_of_packed(a), known_sites.places[a >> k_packed_site & (k_packed_sites - 1)]};
}

}  // namespace

uint32_t number_site(uint32_t pc) {
  uint32_t at = pc * 0x9e3779b1u >> 18;
  static_assert(std::size(known_sites.numbers) == 1u << (32 - 18));
  while (known_sites.numbers[at] != 0 && known_sites.places[known_sites.numbers[at]] != pc)
    at = (at + 1) % std::size(known_sites.numbers);
  uint32_t& number = known_sites.numbers[at];
  if (number == 0) {
    if (known_sites.used == k_packed_sites) return k_packed_sites;
    number = known_sites.used++;
    known_sites.places[number] = pc;
  }
  sites.recent[pc * 0x9e3779b1u >> 24] = {pc, number};
  return number;
}

shadow_cell unpack(const packed_cell& packed) {
  if (is_link(packed)) return linked_cell(packed);
  shadow_cell c = {};
  access_record *atomic = c.atomics, *read = c.reads;
  for (const packed_access a : {packed.first, packed.second}) {
    if (thread_of_packed(a) == 0) break;
    switch (kind_of_packed(a)) {
      case packed_kind::write: c.write = unpack(a); break;
      case packed_kind::atomic: *atomic++ = unpack(a); break;
      default: *read++ = unpack(a);
    }
  }
  if ((packed.first & k_packed_mark) != 0) c.write.pc |= k_dropped_reads;
  if ((packed.second & k_packed_mark) != 0) c.write.pc |= k_dropped_atomics;
  return c;
}

bool pack(const shadow_cell& c, packed_cell& packed) {
  packed_access found[2] = {};
  unsigned count = 0;
  const auto add = [&](access_record a, packed_kind kind) {
    if (a.thread == 0) return true;
    if (count == 2) return false;
    if (kind == packed_kind::write) a.pc &= k_code_offset;
    return (found[count++] = pack(a, kind)) != 0;
  };
  if (!add(c.write, packed_kind::write) || !add(c.atomics[0], packed_kind::atomic) ||
      !add(c.atomics[1], packed_kind::atomic) || !add(c.reads[0], packed_kind::read) ||
      !add(c.reads[1], packed_kind::read))
    return false;
  if ((c.write.pc & k_dropped_reads) != 0) found[0] |= k_packed_mark;
  if ((c.write.pc & k_dropped_atomics) != 0) found[1] |= k_packed_mark;
  packed = {found[0], found[1]};
  return true;
}

shadow_cell& linked_cell(const packed_cell& link) { return linked.cells[thread_of_packed(link.first)]; }
split_word& linked_bytes(const packed_cell& link) { return split_words.cells[thread_of_packed(link.first)]; }
packed_cell new_link(const shadow_cell& c) { return link_to(linked.add(c), 0); }
void free_link(const packed_cell& link) { linked.unused.push_back({thread_of_packed(link.first)}); }

void split(packed_cell& word) {
  split_word bytes = {{word, word, word, word}};
  if (is_link(word))
    for (size_t i = 1; i < 4; ++i) bytes.bytes[i] = new_link(shadow_cell(linked_cell(word)));
  word = link_to(split_words.add(bytes), k_split_link);
}

void forget_linked() {
  linked.clear();
  split_words.clear();
  if (known_sites.used < k_packed_sites / 2) return;
  known_sites = {};
  sites = {};
}

}  // namespace emu
}  // namespace simt
