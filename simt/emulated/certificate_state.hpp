// The certificate's state, and the accesses for which a shadow cell has no place (race flavour only).
#pragma once

#include <functional>
#include <vector>

#include "simt/emulated/certificate.hpp"
#include "simt/emulated/detector.hpp"

namespace simt {
inline namespace emu {

inline constexpr size_t k_choices = static_cast<size_t>(choice::earlier_launch) + 1;

struct certificate_state {
  bool holds = false;            // no choice so far in this launch
  bool is_wide_partial = false;  // a wider barrier of this launch did not order all threads of its blocks
  uint64_t counts[k_choices] = {};
  uint32_t places[k_choices] = {};  // of the first of each, in the code
  uint64_t barriers = 0;            // that have a key, ever
};
extern certificate_state certificate;

void count_choices(choice kind, uint32_t place, uint64_t count);
inline void count_choice(choice kind, uint32_t place) { count_choices(kind, place, 1); }

// Kinds of choices in this launch that no exploration makes in another order (explore.hpp).
std::vector<const char*> unexplored_choices();
// Calls f(place) for each place in the code with an atomic of which a result was used in this launch, although its
// operation commutes.
void each_used_result(const std::function<void(uint32_t)>& f);

// `overlaps`: the launch goes on with the accesses of those before it.
void certificate_begins(bool overlaps);
// The kind and size of the atomics of this launch on the word at p, which commute.
struct word_operation {
  commuting operation;
  uint8_t size;
};
word_operation operation_at(const void* p);
bool certificate_holds();  // and no result is used of an atomic that commutes
// Counts the launch as certified, or adds its choices to the report.
void certificate_ends(emulation& stream);

SIMT_INLINE group_summary& group_at(size_t offset, uint32_t flag) {
  const size_t group = (offset - k_arenas_bytes) / 4 / k_group_words;
  return flag == k_dropped_reads ? shadow.dropped_reads[group] : shadow.dropped_atomics[group];
}
// The summary that a cell with this flag has accesses in.
SIMT_INLINE access_summary& summary_at(size_t offset, uint32_t flag) {
  if (offset >= k_arenas_bytes) return group_at(offset, flag).summary;
  return (flag == k_dropped_reads ? shadow.shared_reads : shadow.shared_atomics)[offset / 4];
}

// Keeps an access that the cell of this offset, the word's own or a byte's, has no place for. `is_marked`: the cell has
// others there.
void summarise(bool is_marked, size_t offset, bool is_byte, uint32_t flag, const access_record& access);

// True if all accesses of the summary happened before the present point of t.
bool is_covered(const access_summary& s, const thread& t);
// Counts a choice if an access that the cell does not have may be unordered with one of this kind by t.
inline void check_dropped(const shadow_cell& cell, size_t offset, access_kind kind, const thread& t, uint32_t pc);

// Calls f(thread id) for every thread that may have made an access of the summary, until one returns false.
template <class Predicate>
bool all_accesses(const access_summary& s, const Predicate& holds) {
  for (uint32_t warps = s.warps; warps != 0; warps &= warps - 1)
    for (uint32_t lanes = s.lanes; lanes != 0; lanes &= lanes - 1) {
      const auto linear =
          static_cast<uint32_t>(__builtin_ctz(warps)) * k_lanes + static_cast<uint32_t>(__builtin_ctz(lanes));
      if (linear >= device.threads) continue;
      if (!holds(instance_of(s.thread) << k_instance_shift | linear)) return false;
    }
  return true;
}

inline void check_dropped(const shadow_cell& cell, size_t offset, access_kind kind, const thread& t, uint32_t pc) {
  const uint32_t flags = cell.write.pc & (k_dropped_reads | k_dropped_atomics);
  if (flags == 0 || !certificate.holds) return;
  const auto covers = [&](uint32_t flag) { return (flags & flag) == 0 || is_covered(summary_at(offset, flag), t); };
  const bool is_known = (kind == access_kind::read || covers(k_dropped_reads)) &&
                        (kind == access_kind::atomic || covers(k_dropped_atomics));
  if (!is_known) count_choice(choice::unknown_reader, pc & k_code_offset);
}

// Barriers whose phases are complete after a fixed number of arrivals, whoever they are from.
void certify_arrival(phase_clock& k, const thread& t);
// What t lets the phase wait for counts under every schedule only if it happens before an arrival at the phase.
void certify_expectation(phase_clock& k, const thread& t);
void certify_arrivals(phase_clock& k);
void certify_pass(phase_clock& k, const thread& t);
// True if all phases that are complete happen before the present point of t.
bool knows_phase(const phase_clock& k, const thread& t);
void certify_completion(phase_clock& k);

}  // namespace emu
}  // namespace simt
