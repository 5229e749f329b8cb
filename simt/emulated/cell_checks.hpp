// Whether an access races with the earlier ones to its word or byte, and which of them its cell keeps.
#pragma once

#include "simt/emulated/certificate_state.hpp"
#include "simt/emulated/detector.hpp"
#include "simt/emulated/packed_cells.hpp"

namespace simt {
inline namespace emu {

extern bool compares_and_swaps;  // the atomic that is checked next, or now

// A third one has no place but where it is of another warp than the two.
inline bool replaces_second(const access_record (&slots)[2], const access_record& now) {
  return (slots[0].thread ^ slots[1].thread) < k_lanes && (now.thread ^ slots[0].thread) >= k_lanes;
}

// Keeps an access of the running thread in a summary that has some already. False where it takes summarise().
inline bool add_to_summary(access_summary& s, const access_record& now, const thread& t) {
  const bool is_of_level = s.level >= access_summary::of_grid ||
                           (s.level == access_summary::of_block && ((s.thread ^ now.thread) >> k_instance_shift) == 0);
  if (!is_of_level || now.thread != t.id || t.cluster_phase != 0 || t.grid_phase != 0) return false;
  s.warps |= 1u << t.warp;
  s.lanes |= 1u << t.lane;
  if (s.latest < now.clock) s.latest = now.clock;
  return true;
}

// `is_marked`: the cell has accesses in its summary already.
inline void keep_in_summary(bool is_marked, uint32_t flag, const access_record& access, const thread& t, size_t offset,
                            size_t bytes) {
  if (!is_marked || !add_to_summary(summary_at(offset, flag), access, t))
    summarise(is_marked, offset, bytes == 1, flag, access);
}
inline void keep_in_summary(shadow_cell& c, uint32_t flag, const access_record& access, const thread& t, size_t offset,
                            size_t bytes) {
  keep_in_summary((c.write.pc & flag) != 0, flag, access, t, offset, bytes);
  c.write.pc |= flag;
}

// Keeps two readers of a word, of different warps where there are such.
inline void keep_read(shadow_cell& c, const access_record& now, const thread& t, size_t offset, size_t bytes) {
  access_record(&slots)[2] = c.reads;
  for (access_record& slot : slots) {
    if (slot.thread == 0 || ordered(slot, t)) {
      slot = now;
      return;
    }
  }
  const bool replaces = replaces_second(slots, now);
  if (certificate.holds) keep_in_summary(c, k_dropped_reads, replaces ? slots[1] : now, t, offset, bytes);
  if (replaces) slots[1] = now;
}

inline bool reads_only(const access_record& atomic) { return (atomic.pc & k_atomic_load) != 0; }

// True if an atomic has read what the earlier one wrote, or what came of that: then what comes after it comes after the
// earlier one, too (PTX ISA, "Memory consistency model": observation order and causality order).
inline bool observes(const access_record& later, const access_record& earlier) {
  return (later.pc & k_atomic_store) == 0 && !reads_only(earlier);
}

// Keeps two atomics of a word, the earlier first.
inline void keep_atomic(access_record (&slots)[2], const access_record& now, const thread& t) {
  const auto stands_for = [&](const access_record& earlier) {
    if (earlier.thread == 0) return true;
    if (reads_only(now) && !reads_only(earlier)) return false;
    return observes(now, earlier) || ordered(earlier, t);
  };
  if (stands_for(slots[1])) slots[1] = {};
  if (stands_for(slots[0])) {
    slots[0] = slots[1];
    slots[1] = {};
  }
  if (slots[0].thread == 0)
    slots[0] = now;
  else if (slots[1].thread == 0 || replaces_second(slots, now))
    slots[1] = now;
}

inline bool atomics_conflict(const access_record& earlier, const access_record& now) {
  return ((earlier.pc | now.pc) & k_block_scope) != 0 && instance_of(earlier.thread) != instance_of(now.thread) &&
         !(reads_only(earlier) && reads_only(now));
}

template <access_kind Kind>
inline void check_atomics(const shadow_cell& c, const access_record& now, const thread& t, size_t offset,
                          size_t bytes) {
  for (const access_record& a : c.atomics) {
    if (a.thread == 0 || (Kind == access_kind::read && reads_only(a)) ||
        (Kind == access_kind::atomic && !atomics_conflict(a, now)) || ordered(a, t))
      continue;
    const access_record& later = c.atomics[1];
    if (Kind != access_kind::atomic && &a != &later && later.thread != 0 && observes(later, a) && ordered(later, t))
      continue;
    outlive_race({a, access_kind::atomic, now, Kind, offset, bytes});
  }
}

// True if a read races with nothing and is recorded, by a thread that knows no more than what the barriers of its block
// and warp imply: most reads of shared memory.
inline bool add_read(shadow_cell& c, const access_record& now, const thread& t, size_t offset, size_t bytes) {
  const block_state& b = *t.home;
  if (c.atomics[0].thread != 0 || b.alive != device.threads || !knows_barriers_only(t)) return false;
  const uint32_t id = t.id, of_block = b.base, of_warp = b.warps[t.warp].base;
  const auto is_before = [=](const access_record& r) {
    const uint32_t differs = r.thread ^ id;
    return differs == 0 || (differs < k_agent && r.clock < (differs < k_lanes ? of_warp : of_block));
  };
  if ((c.write.pc & k_dropped_atomics) != 0 || (c.write.thread != 0 && !is_before(c.write))) return false;
  for (access_record& slot : c.reads)
    if (slot.thread == 0 || is_before(slot)) return slot = now, true;
  const bool replaces = replaces_second(c.reads, now);
  if (certificate.holds) keep_in_summary(c, k_dropped_reads, replaces ? c.reads[1] : now, t, offset, bytes);
  if (replaces) c.reads[1] = now;
  return true;
}

template <access_kind Kind>
inline void check_cell(shadow_cell& c, const access_record& now, const thread& t, size_t offset, size_t bytes) {
  if (Kind == access_kind::read && c.reads[0].thread == now.thread && c.reads[0].clock == now.clock) return;
  if (Kind == access_kind::read && c.reads[1].thread != 0) __builtin_prefetch(&summary_at(offset, k_dropped_reads), 1);
  if (Kind == access_kind::read && add_read(c, now, t, offset, bytes)) return;
  if (c.write.thread != 0 && !ordered(c.write, t))
    outlive_race({c.write, access_kind::write, now, Kind, offset, bytes});
  check_atomics<Kind>(c, now, t, offset, bytes);
  check_dropped(c, offset, Kind, t, now.pc);
  if (Kind == access_kind::write || (Kind == access_kind::atomic && !reads_only(now)))
    for (const access_record& r : c.reads)
      if (r.thread != 0 && !ordered(r, t)) outlive_race({r, access_kind::read, now, Kind, offset, bytes});
  if (Kind == access_kind::read) {
    keep_read(c, now, t, offset, bytes);
  } else if (Kind == access_kind::atomic) {
    if (compares_and_swaps)
      for (access_record& r : c.reads)
        if (r.thread == now.thread) r.pc |= k_first_read;
    keep_atomic(c.atomics, now, t);
    if (certificate.holds) keep_in_summary(c, k_dropped_atomics, now, t, offset, bytes);
  } else {
    // All earlier accesses happened before this write: what is ordered after it is ordered after them.
    c.write = now;
    c.atomics[0] = c.atomics[1] = c.reads[0] = c.reads[1] = {};
  }
}

inline void refresh(shadow_cell& c, uint32_t stamp) {
  if (c.stamp == stamp) return;
  c = {};
  c.stamp = stamp;
}

template <access_kind Kind>
void check_bytes(shadow_cell& word, uint32_t stamp, size_t first, size_t end, const access_record& now,
                 const thread& t) {
  shadow_cell* bytes = shadow.bytes + first / 4 * 4;
  if (word.stamp != (stamp | k_split)) {
    // From now on each byte of the word keeps its own accesses, beginning with those to the whole word.
    refresh(word, stamp);
    for (int i = 0; i < 4; ++i) bytes[i] = word;
    word.stamp = stamp | k_split;
  }
  for (size_t i = first; i < end; ++i) check_cell<Kind>(bytes[i % 4], now, t, i, 1);
}

template <access_kind Kind>
inline void check_races_shared(size_t offset, size_t bytes, uint32_t stamp, const access_record& now, const thread& t) {
  const size_t end = offset + bytes;
  for (size_t at = offset; at < end;) {
    shadow_cell& word = shadow.words[at / 4];
    const size_t next = at / 4 * 4 + 4 < end ? at / 4 * 4 + 4 : end;
    if (next - at == 4 && word.stamp != (stamp | k_split)) {
      refresh(word, stamp);
      check_cell<Kind>(word, now, t, at, 4);
    } else {
      check_bytes<Kind>(word, stamp, at, next, now, t);
    }
    at = next;
  }
}

inline bool is_ordered(packed_access a, const thread& t) {
  return ordered({thread_of_packed(a), clock_of_packed(a), 0}, t);
}

// True if a write comes after all accesses to its word, and is recorded. It is not decided if their summary matters.
inline bool replace_all(packed_cell& c, packed_access now, const thread& t) {
  for (const packed_access a : {c.first, c.second})
    if ((a & k_packed_mark) != 0 || (a != 0 && !is_ordered(a, t))) return false;
  c = {now, 0};
  return true;
}

// True if a read races with nothing and is recorded: beside a write or another read, or two.
inline bool add_read(packed_cell& c, packed_access now, const thread& t, size_t offset, size_t bytes) {
  const packed_kind first = kind_of_packed(c.first), second = kind_of_packed(c.second);
  const bool follows_write = first == packed_kind::write;
  if ((c.second & k_packed_mark) != 0 || (!follows_write && first != packed_kind::read) ||
      (c.second != 0 && second != packed_kind::read) || (follows_write && !is_ordered(c.first, t)))
    return false;
  const auto replace = [&](packed_access& a) { a = now | (a & k_packed_mark); };
  if (!follows_write && is_ordered(c.first, t)) return replace(c.first), true;
  if (c.second == 0 || is_ordered(c.second, t)) return c.second = now, true;
  if (follows_write) return false;
  const access_record slots[2] = {{thread_of_packed(c.first), clock_of_packed(c.first), 0},
                                  {thread_of_packed(c.second), clock_of_packed(c.second), 0}};
  const access_record read = {thread_of_packed(now), clock_of_packed(now), 0};
  const bool replaces = replaces_second(slots, read);
  if (certificate.holds) {
    keep_in_summary((c.first & k_packed_mark) != 0, k_dropped_reads, replaces ? slots[1] : read, t, offset, bytes);
    c.first |= k_packed_mark;
  }
  if (replaces) c.second = now;
  return true;
}

// True if the access is decided and recorded.
template <access_kind Kind>
inline bool check_quickly(packed_cell& c, const access_record& now, const thread& t, size_t offset, size_t bytes) {
  if (Kind == access_kind::atomic) return false;
  const packed_access packed = pack(now, Kind == access_kind::write ? packed_kind::write : packed_kind::read);
  if (packed == 0 || is_link(c)) return false;
  if (c.first == 0) {
    c.first = packed;
    return true;
  }
  if (Kind == access_kind::write) return replace_all(c, packed, t);
  constexpr packed_access k_same = (packed_access{1} << k_packed_site) - 1;  // thread and clock
  const packed_access read = kind_of_packed(c.first) == packed_kind::write ? c.second : c.first;
  if (((read ^ packed) & k_same) == 0 && kind_of_packed(read) == packed_kind::read) return true;
  return add_read(c, packed, t, offset, bytes);
}

template <access_kind Kind>
inline void check_packed(packed_cell& c, const access_record& now, const thread& t, size_t offset, size_t bytes) {
  if (check_quickly<Kind>(c, now, t, offset, bytes)) return;
  if (is_link(c)) {
    shadow_cell& cell = linked_cell(c);
    check_cell<Kind>(cell, now, t, offset, bytes);
    if (const packed_cell link = c; Kind == access_kind::write && pack(cell, c)) free_link(link);
    return;
  }
  shadow_cell cell = unpack(c);
  check_cell<Kind>(cell, now, t, offset, bytes);
  if (!pack(cell, c)) c = new_link(cell);
}

template <access_kind Kind>
inline void check_races_device(size_t offset, size_t bytes, uint32_t stamp, const access_record& now, const thread& t) {
  const size_t end = offset + bytes;
  for (size_t at = offset; at < end;) {
    packed_cell& word = packed_word(at, stamp);
    const size_t next = at / 4 * 4 + 4 < end ? at / 4 * 4 + 4 : end;
    if (next - at == 4 && !is_split(word)) {
      check_packed<Kind>(word, now, t, at, 4);
    } else {
      if (!is_split(word)) split(word);
      split_word& parts = linked_bytes(word);
      for (size_t i = at; i < next; ++i) check_packed<Kind>(parts.bytes[i % 4], now, t, i, 1);
    }
    at = next;
  }
}

}  // namespace emu
}  // namespace simt
