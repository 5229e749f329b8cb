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
SIMT_INLINE bool add_to_summary(access_summary& s, const access_record& now, const thread& t) {
  const bool is_of_level = s.level >= access_summary::of_grid ||
                           (s.level == access_summary::of_block && ((s.thread ^ now.thread) >> k_instance_shift) == 0);
  if (!is_of_level || now.thread != t.id || t.cluster_phase != 0 || t.grid_phase != 0) return false;
  s.warps |= 1u << t.warp;
  s.lanes |= 1u << t.lane;
  if (s.latest < now.clock) s.latest = now.clock;
  return true;
}

// `is_marked`: the cell has accesses in its summary already.
SIMT_INLINE void keep_in_summary(bool is_marked, uint32_t flag, const access_record& access, const thread& t,
                                 size_t offset, size_t bytes) {
  if (!is_marked || !add_to_summary(summary_at(offset, flag), access, t))
    summarise(is_marked, offset, bytes == 1, flag, access);
}
SIMT_INLINE void keep_in_summary(shadow_cell& c, uint32_t flag, const access_record& access, const thread& t,
                                 size_t offset, size_t bytes) {
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

// ordered() for a thread that knows no more than what the barriers of its block and warp imply, as most do.
struct simple_order {
  const thread& t;
  SIMT_INLINE bool operator()(uint32_t thread, uint32_t clock) const {
    const block_state& b = *t.home;
    const uint32_t differs = thread ^ t.id;
    if (differs == 0) return true;
    if (differs >= k_agent || clock >= (differs < k_lanes ? b.warps[t.warp].base : b.base)) return false;
    if (b.alive == device.threads) return true;
    const auto& other = b.threads[linear_of(thread)];  // no barrier since it left has its last epoch behind it
    return other.state != thread_state::finished || clock < other.clock;
  }
};
struct any_order {
  const thread& t;
  bool operator()(uint32_t thread, uint32_t clock) const { return ordered({thread, clock, 0}, t); }
};

// A read for which the cell has no place, since two others are in it: the new one or the second goes into the summary.
__attribute__((noinline)) inline bool add_third_read(shadow_cell& c, const access_record& now, const thread& t,
                                                     size_t offset, size_t bytes) {
  const bool replaces = replaces_second(c.reads, now);
  if (certificate.holds) keep_in_summary(c, k_dropped_reads, replaces ? c.reads[1] : now, t, offset, bytes);
  if (replaces) c.reads[1] = now;
  return true;
}
__attribute__((noinline)) inline bool add_third_read(packed_cell& c, const access_record& now, const thread& t,
                                                     size_t offset, size_t bytes) {
  const access_record slots[2] = {{thread_of_packed(c.first), clock_of_packed(c.first), 0},
                                  {thread_of_packed(c.second), clock_of_packed(c.second), 0}};
  const bool replaces = replaces_second(slots, now);
  const packed_access packed = pack(now, packed_kind::read);
  if (packed == 0) return false;
  if (certificate.holds) {
    keep_in_summary((c.first & k_packed_mark) != 0, k_dropped_reads, replaces ? slots[1] : now, t, offset, bytes);
    c.first |= k_packed_mark;
  }
  if (replaces) c.second = packed;
  return true;
}
// True if that is no more than to add the new one to the others in the summary, and is done.
SIMT_INLINE bool is_represented(bool is_marked, uint32_t first, uint32_t second, access_summary& s,
                                const access_record& now, const thread& t) {
  if ((first ^ second) < k_lanes && (now.thread ^ first) >= k_lanes) return false;
  return !certificate.holds || (is_marked && add_to_summary(s, now, t));
}

// True if an access to a word of shared memory races with nothing and is recorded.
template <access_kind Kind, class Order>
SIMT_INLINE bool check_quickly(shadow_cell& c, const access_record& now, const Order& is_before, const thread& t,
                               size_t offset, size_t bytes) {
  const auto is_past = [&](const access_record& r) __attribute__((always_inline)) {
    return r.thread == 0 || is_before(r.thread, r.clock);
  };
  if (Kind == access_kind::read && c.reads[0].thread == now.thread && c.reads[0].clock == now.clock) return true;
  if (Kind == access_kind::atomic || c.atomics[0].thread != 0 || (c.write.pc & k_dropped_atomics) != 0) return false;
  if (!is_past(c.write)) return false;
  if (Kind == access_kind::write) {
    if ((c.write.pc & k_dropped_reads) != 0 || !is_past(c.reads[0]) || !is_past(c.reads[1])) return false;
    c.write = now;
    c.reads[0] = c.reads[1] = {};
    return true;
  }
  for (access_record& slot : c.reads)
    if (is_past(slot)) return slot = now, true;
  return is_represented((c.write.pc & k_dropped_reads) != 0, c.reads[0].thread, c.reads[1].thread,
                        summary_at(offset, k_dropped_reads), now, t) ||
         add_third_read(c, now, t, offset, bytes);
}

template <access_kind Kind>
inline void check_cell(shadow_cell& c, const access_record& now, const thread& t, size_t offset, size_t bytes) {
  if (Kind == access_kind::read && check_quickly<Kind>(c, now, any_order{t}, t, offset, bytes)) return;
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

// Records an access if its place in the code has been numbered lately.
SIMT_INLINE bool record(packed_access& at, const access_record& now, packed_kind kind, packed_access mark = 0) {
  const packed_access packed = pack_recent(now, kind);
  if (packed == 0) return false;
  at = packed | mark;
  return true;
}

// True if an access to a word of device memory, or a part of one, races with nothing and is recorded: a write after all
// earlier ones, or a read beside a write and another read, or two reads.
template <access_kind Kind, class Order>
SIMT_INLINE bool check_quickly(packed_cell& c, const access_record& now, const Order& is_before, const thread& t,
                               size_t offset, size_t bytes) {
  const packed_access first = c.first, second = c.second;
  const packed_kind kind = kind_of_packed(first);
  const auto is_past = [&](packed_access a) __attribute__((always_inline)) {
    return a == 0 || is_before(thread_of_packed(a), clock_of_packed(a));
  };
  const auto is_same = [&](packed_access a) {
    return thread_of_packed(a) == now.thread && clock_of_packed(a) == now.clock;
  };
  if (Kind == access_kind::atomic || kind == packed_kind::link) return false;
  if (Kind == access_kind::write) {
    if (((first | second) & k_packed_mark) != 0 || !is_past(first) || !is_past(second)) return false;
    if (!record(c.first, now, packed_kind::write)) return false;
    c.second = 0;
    return true;
  }
  if (first == 0) return record(c.first, now, packed_kind::read);
  constexpr auto k_read = static_cast<packed_access>(packed_kind::read);
  if (second != 0 && second >> k_packed_kind != k_read) return false;  // an atomic, or some that were dropped
  if (kind == packed_kind::write) {
    if (is_same(second)) return true;
    return is_past(first) && is_past(second) && record(c.second, now, packed_kind::read);
  }
  if (kind != packed_kind::read) return false;
  if (is_same(first)) return true;
  if (is_past(first)) return record(c.first, now, packed_kind::read, first & k_packed_mark);
  if (is_past(second)) return record(c.second, now, packed_kind::read);
  return is_represented((first & k_packed_mark) != 0, thread_of_packed(first), thread_of_packed(second),
                        group_at(offset, k_dropped_reads).summary, now, t) ||
         add_third_read(c, now, t, offset, bytes);
}

template <access_kind Kind>
inline void check_packed(packed_cell& c, const access_record& now, const thread& t, size_t offset, size_t bytes) {
  if (check_quickly<Kind>(c, now, any_order{t}, t, offset, bytes)) return;
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
