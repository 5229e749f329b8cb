// Counts choices, and keeps the accesses that a shadow cell drops. A summary may represent more accesses than there
// were, which at worst denies a certificate.
#include "simt/emulated/certificate.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unordered_map>

#include "simt/emulated/certificate_state.hpp"
#include "simt/emulated/packed_cells.hpp"
#include "simt/emulated/parts.hpp"
#include "simt/emulated/symbols.hpp"
#include "simt/tensor_map.hpp"

namespace simt {
inline namespace emu {

certificate_state certificate;

namespace {

constexpr const char* k_choice_names[] = {
    "an atomic whose result or order may matter",
    "an atomic load or store, or a volatile access",
    "a fence that acquires what an atomic has read",
    "a barrier whose phases others may complete",
    "a question for a barrier's phase",
    "__activemask",
    "a clock",
    "a loop that waits for other threads",
    "a race",
    "readers of one word that are too many to tell apart",
    "a write to memory that the race detector does not follow",
    "a local variable of another thread",
    "an allocation by a kernel",
    "the number of an SM or of a warp on it",
    "a bulk reduction whose order may matter",
    "a launch too large to remember",
    "a launch before this one that it may overlap",
};
static_assert(std::size(k_choice_names) == k_choices);

// The atomics of one place in the code whose operation commutes.
struct atomic_site {
  uint64_t count = 0;
  unsigned char is_used = 0;  // somebody has taken the result of one
};
std::unordered_map<uint32_t, atomic_site> atomic_sites;  // of this launch, by their places
struct {
  uint32_t place = 0;
  atomic_site* site = nullptr;
} recent_site;                                               // one of them; place 0: none
std::unordered_map<uintptr_t, uint8_t> operations_of_words;  // by address / 4, since the first overlapping launch

constexpr uint8_t k_of_bulk = 0x80;  // in a kind: a bulk reduction has had this word

// The words that had atomics of one kind lately, by their low bits: they are in operations_of_words.
struct {
  uintptr_t word;
  uint8_t kind;
} recent_operations[256];

// The last summary of a thread's that was covered: neighbouring words have had the same readers.
struct {
  uint32_t thread = 0, clock = 0;
  access_summary summary;
} last_covered;

uint64_t wide_phase(const thread& t, bool grid) {
  return std::max(t.knows != nullptr ? t.knows->wide[grid].phase : 0, t.home->wide[grid].phase);
}

// The thread of that id, or nullptr if its block has ended.
const thread* find_thread(uint32_t id) {
  const uint32_t instance = instance_of(id);
  if (current->home->instance == instance) return &current->home->threads[linear_of(id)];
  for (uint32_t slot = 0; slot < device.slots; ++slot)
    if (const block_state& b = *device.blocks[slot]; b.active && b.instance == instance)
      return &b.threads[linear_of(id)];
  return nullptr;
}

// The part of the summary of a block's phases that thread t must know at least.
uint32_t known_phases(const phase_clock& k, const thread& t) {
  const uint64_t key = vector_clock::phase_key(k.key);
  uint32_t known = t.home->known.below(key);
  for (const wide_clock& wide : t.home->wide) known = std::max(known, wide.what.below(key));
  if (t.knows == nullptr) return known;
  for (const wide_clock& wide : t.knows->wide) known = std::max(known, wide.what.below(key));
  return std::max(known, t.knows->known.below(key));
}

// True if another cell has accesses in the summary of this one, which is about to have some. For device memory it may
// be true without reason.
bool is_summary_in_use(size_t offset, bool is_byte, uint32_t flag) {
  if (offset < k_arenas_bytes) {
    bool found = false;
    for (size_t i = 0; is_byte && i < 4; ++i) found = found || (shadow.bytes[offset / 4 * 4 + i].write.pc & flag) != 0;
    return found;
  }
  group_summary& g = group_at(offset, flag);
  const uint32_t own = 1u << offset / 4 % k_group_words;
  const packed_cell* cells = shadow.packed + (offset - k_arenas_bytes) / 4 / k_group_words * k_group_words;
  uint32_t users = g.stamp == detector.generation ? g.words : 0;
  if (!is_byte) users &= ~own;
  for (uint32_t bits = users; bits != 0; bits &= bits - 1) {
    const packed_cell& c = cells[__builtin_ctz(bits)];
    if (is_link(c) || ((flag == k_dropped_reads ? c.first : c.second) & k_packed_mark) != 0) break;
    users &= ~(bits & -bits);
  }
  g.stamp = detector.generation;
  g.words = users | own;
  return users != 0;
}

// Counts a choice if a word has had an operation of another kind. `origin`: k_of_bulk or 0.
void note_operation(const void* p, size_t bytes, commuting operation, uint8_t origin, uint32_t place) {
  const auto first = reinterpret_cast<uintptr_t>(p) / 4;
  for (size_t i = 0; i < bytes / 4; ++i) {
    // A word, and each half of a longer one, is a kind of its own.
    const auto kind = static_cast<uint8_t>((static_cast<size_t>(operation) * 4 + bytes / 4 + i) | origin);
    auto& recent = recent_operations[(first + i) % std::size(recent_operations)];
    if (recent.word == first + i && recent.kind == kind) continue;
    uint8_t& known = operations_of_words.try_emplace(first + i, kind).first->second;
    const auto of_bulk = static_cast<uint8_t>((known | kind) & k_of_bulk);
    if ((known | k_of_bulk) == (kind | k_of_bulk))
      recent = {first + i, kind};
    else
      count_choice(of_bulk != 0 ? choice::bulk_reduction : choice::atomic, place);
    known |= of_bulk;
  }
}

// The kind of a bulk reduction, or `no`.
commuting commuting_of(tensor_element type, tensor_reduction how) {
  if (is_real(type)) return commuting::no;
  const bool is_signed = type == tensor_element::s32 || type == tensor_element::s64;
  switch (how) {
    case tensor_reduction::add: return commuting::add;
    case tensor_reduction::min: return is_signed ? commuting::min : commuting::unsigned_min;
    case tensor_reduction::max: return is_signed ? commuting::max : commuting::unsigned_max;
    case tensor_reduction::bit_and: return commuting::bit_and;
    case tensor_reduction::bit_or: return commuting::bit_or;
    case tensor_reduction::bit_xor: return commuting::bit_xor;
    default: return commuting::no;
  }
}

}  // namespace

void count_choices(choice kind, uint32_t place, uint64_t count) {
  note_effect_of_order();
  const auto i = static_cast<size_t>(kind);
  certificate.holds = false;
  if (certificate.counts[i] == 0) certificate.places[i] = place;
  certificate.counts[i] += count;
}

void hb_choice(choice kind, const void* pc) {
  if (current == nullptr && (kind == choice::clock || kind == choice::kernel_heap)) return;  // the host's own
  count_choice(kind, pc == nullptr ? 0 : code_offset(pc));
}

unsigned char* hb_commutes(const void* p, size_t bytes, commuting operation, const void* pc) {
  const uint32_t place = code_offset(pc);
  note_operation(p, bytes, operation, 0, place);
  if (recent_site.place != place) recent_site = {place, &atomic_sites[place]};
  ++recent_site.site->count;
  return &recent_site.site->is_used;
}

void hb_bulk_reduces(const void* p, size_t bytes, tensor_element type, tensor_reduction how, const void* pc) {
  const uint32_t place = code_offset(pc);
  const commuting operation = commuting_of(type, how);
  if (operation == commuting::no) return count_choice(choice::bulk_reduction, place);
  const size_t size = bytes_of(type);
  for (size_t at = 0; at < bytes; at += size)
    note_operation(static_cast<const char*>(p) + at, size, operation, k_of_bulk, place);
}

std::vector<const char*> unexplored_choices() {
  std::vector<const char*> names;
  for (size_t i = 0; i < k_choices; ++i) {
    const auto kind = static_cast<choice>(i);
    const bool is_explored =
        kind == choice::atomic || kind == choice::atomic_access || kind == choice::published || kind == choice::spin;
    if (certificate.counts[i] > 0 && !is_explored) names.push_back(k_choice_names[i]);
  }
  return names;
}

void each_used_result(const std::function<void(uint32_t)>& f) {
  for (const auto& [place, site] : atomic_sites)
    if (site.is_used != 0) f(place);
}

void certificate_begins(bool overlaps) {
  const bool is_proven = certificate.holds || !overlaps;
  const uint64_t barriers = certificate.barriers;
  certificate = {};
  certificate.barriers = barriers;
  certificate.holds = device.stream->detect;
  last_covered = {};
  atomic_sites.clear();
  recent_site = {};
  if (!overlaps) {
    operations_of_words.clear();
    for (auto& recent : recent_operations) recent = {};
  }
  if (!is_proven) count_choice(choice::earlier_launch, 0);
}

word_operation operation_at(const void* p) {
  const auto at = operations_of_words.find(reinterpret_cast<uintptr_t>(p) / 4);
  if (at == operations_of_words.end()) return {commuting::no, 0};
  const auto kind = static_cast<uint8_t>(at->second & ~k_of_bulk);
  return {static_cast<commuting>(kind / 4), static_cast<uint8_t>(kind % 4 == 1 ? 4 : 8)};
}

bool certificate_holds() {
  return certificate.holds &&
         std::none_of(atomic_sites.begin(), atomic_sites.end(), [](const auto& at) { return at.second.is_used != 0; });
}

void certificate_ends(emulation& stream) {
  if (!stream.ok() || !stream.detect) return;
  for (const auto& [place, site] : atomic_sites)
    if (site.is_used != 0) count_choices(choice::atomic, place, site.count);
  if (certificate.holds) {
    ++stream.certified;
    return;
  }
  for (size_t i = 0; i < k_choices; ++i) {
    if (certificate.counts[i] == 0) continue;
    const auto same = std::find_if(stream.choices.begin(), stream.choices.end(),
                                   [i](const schedule_choice& c) { return c.what == k_choice_names[i]; });
    if (same == stream.choices.end())
      stream.choices.push_back({k_choice_names[i], certificate.places[i], certificate.counts[i]});
    else
      same->count += certificate.counts[i];
  }
}

void summarise(bool is_marked, size_t offset, bool is_byte, uint32_t flag, const access_record& access) {
  access_summary& s = summary_at(offset, flag);
  const uint32_t instance = instance_of(access.thread), linear = linear_of(access.thread);
  if (!is_marked && !is_summary_in_use(offset, is_byte, flag)) s.thread = 0;
  const thread* t = (access.thread & k_agent) != 0 ? nullptr : find_thread(access.thread);
  // The thread may have arrived since at a barrier that has the access behind it.
  const auto phase_at = [&](uint64_t latest, bool grid) {
    return static_cast<uint32_t>(latest - (latest > 0 && access.clock <= t->arrived_at[grid]));
  };
  const access_summary one = {access.thread,
                              1u << linear / k_lanes,
                              1u << linear % k_lanes,
                              access.clock,
                              t == nullptr ? 0 : t->home->cluster_instance,
                              t == nullptr ? 0 : phase_at(t->cluster_phase, false),
                              t == nullptr ? 0 : phase_at(t->grid_phase, true),
                              t == nullptr ? access_summary::of_agents : access_summary::of_block};
  if (s.thread == 0) {
    s = one;
    return;
  }
  s.warps |= one.warps;
  s.lanes |= one.lanes;
  s.latest = std::max(s.latest, one.latest);
  s.cluster_phase = std::max(s.cluster_phase, one.cluster_phase);
  s.grid_phase = std::max(s.grid_phase, one.grid_phase);
  const access_summary::level_type apart = instance_of(s.thread) == instance ? access_summary::of_block
                                           : s.cluster == one.cluster        ? access_summary::of_cluster
                                                                             : access_summary::of_grid;
  s.level = std::max({s.level, one.level, apart});
}

bool is_covered(const access_summary& s, const thread& t) {
  if (s.level == access_summary::of_agents || instance_of(s.thread) < detector.launch_begin) return false;
  const block_state& b = *t.home;
  if (!certificate.is_wide_partial) {
    if (wide_phase(t, true) > s.grid_phase) return true;
    if (s.level <= access_summary::of_cluster && s.cluster == b.cluster_instance &&
        wide_phase(t, false) > s.cluster_phase)
      return true;
  }
  if (s.level != access_summary::of_block) return false;
  // A barrier has all threads of the block behind it, as long as none has left.
  if (instance_of(s.thread) == b.instance && s.latest < b.base && b.alive == device.threads) return true;
  if (last_covered.thread == t.id && last_covered.clock == t.clock &&
      std::memcmp(&last_covered.summary, &s, sizeof s) == 0)
    return true;
  if (!all_accesses(s, [&](uint32_t id) { return ordered({id, s.latest, 0}, t); })) return false;
  last_covered = {t.id, t.clock, s};
  return true;
}

void certify_arrival(phase_clock& k, const thread& t) {
  if (!certificate.holds) return;
  if (k.key == 0) k.key = ++certificate.barriers;
  if (known_phases(k, t) < k.phases) count_choice(choice::barrier_member, 0);
}

bool knows_phase(const phase_clock& k, const thread& t) {
  return k.phases == 0 || (k.key != 0 && known_phases(k, t) >= k.phases);
}

void certify_expectation(phase_clock& k, const thread& t) {
  certify_arrival(k, t);
  if (certificate.holds) k.expecting.emplace_back(t.id, t.clock);
}

void certify_arrivals(phase_clock& k) {
  if (certificate.holds)
    for (const auto& [id, clock] : k.expecting)
      if (!k.gathered.covers(id, clock) && !k.gathered_afar.covers(id, clock)) count_choice(choice::barrier_member, 0);
  k.expecting.clear();
}

void certify_pass(phase_clock& k, const thread& t) {
  if (!certificate.holds) return;
  if (k.key == 0) k.key = ++certificate.barriers;
  // With only the phase before last known to be complete, the wait might have found that one's parity.
  if (known_phases(k, t) + 1 < k.phases) count_choice(choice::barrier_member, 0);
  if (k.passed.empty() || k.passed.back() != std::make_pair(t.id, t.clock)) k.passed.emplace_back(t.id, t.clock);
}

void certify_completion(phase_clock& k) {
  if (certificate.holds)
    for (const auto& [id, clock] : k.passed) {
      const bool is_before = k.complete.covers(id, clock) || k.complete_afar.covers(id, clock);
      if (!is_before) count_choice(choice::barrier_member, 0);
    }
  k.passed.clear();
}

}  // namespace emu
}  // namespace simt

// What objcopy makes of malloc() and operator new in instrumented code.
extern "C" {
void* simt_kernel_malloc(size_t bytes) {
  simt::hb_choice(simt::choice::kernel_heap, SIMT_PC);
  return std::malloc(bytes);
}
void* simt_kernel_new(size_t bytes) {
  simt::hb_choice(simt::choice::kernel_heap, SIMT_PC);
  return ::operator new(bytes);
}
void* simt_kernel_new_array(size_t bytes) {
  simt::hb_choice(simt::choice::kernel_heap, SIMT_PC);
  return ::operator new[](bytes);
}
}
