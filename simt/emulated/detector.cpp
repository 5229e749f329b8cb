// The checks behind every instrumented access.
#include "simt/emulated/detector.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "simt/emulated/bank_counts.hpp"
#include "simt/emulated/cell_checks.hpp"
#include "simt/emulated/certificate_state.hpp"
#include "simt/emulated/explore.hpp"
#include "simt/emulated/happens_before.hpp"
#include "simt/emulated/host_memory.hpp"
#include "simt/emulated/region.hpp"
#include "simt/emulated/stream_clocks.hpp"
#include "simt/emulated/symbols.hpp"
#include "simt/emulated/tried_waits.hpp"

namespace simt {
inline namespace emu {

bool compares_and_swaps = false;

void hb_compares() { compares_and_swaps = true; }

namespace {

bool is_inside(size_t offset) {
  if (offset < k_arenas_bytes) return (shadow.flags[offset] & k_accessible) != 0;
  const unit_range& r = shadow.units[offset / k_unit_bytes];
  return offset - r.begin < r.bytes;
}

// If the launch continues, a read outside returns zero.
void report_out_of_bounds(size_t offset, size_t bytes, access_kind kind, uint32_t pc) {
  const size_t slot = offset / k_arena_bytes;
  const bool has_exited = slot < device.slots && device.blocks[slot]->active && device.blocks[slot]->alive == 0;
  const auto text = [=, thread = current->id] {
    std::string text = std::string(name_of(kind)) + " of " + std::to_string(bytes) + " bytes by " +
                       describe_thread_id(thread) + " at " + source_line(pc) + " ";
    if (offset < k_arenas_bytes) {
      const size_t within = offset % k_arena_bytes;
      const shared_declaration* nearest = nullptr;
      for (const shared_declaration& d : device.declarations)
        if (d.offset <= within && (nearest == nullptr || d.offset > nearest->offset)) nearest = &d;
      if (has_exited) return text + "in the shared memory of a block that has exited";
      if (nearest == nullptr) return text + "before the first shared array";
      return text + "at byte " + std::to_string(within - nearest->offset) + " of " +
             (nearest->id == nullptr ? "dynamic shared memory" : "a shared array") + " of " +
             std::to_string(nearest->bytes) + " bytes";
    }
    const unit_range& r = shadow.units[offset / k_unit_bytes];
    if (r.bytes == 0) return text + "in device memory that is not allocated";
    return text + "at byte " + std::to_string(static_cast<int64_t>(offset - r.begin)) + " of a buffer of " +
           std::to_string(r.bytes) + " bytes";
  };
  if (!outlives("out_of_bounds", pc, text)) fail("out_of_bounds", text);
  for (size_t i = offset; kind == access_kind::read && i < offset + bytes; ++i)
    if (!is_inside(i)) reinterpret_cast<char*>(shadow.base)[i] = 0;
}

void note_unwritten(size_t offset, uint32_t pc) {
  if (detector.unwritten.found) return;
  detector.unwritten = {true, current->id, pc, offset};
}

// Flags of `bytes` bytes at once, where that is a power of two up to 8.
template <class Flags>
SIMT_INLINE bool all_set(const uint8_t* flags, uint8_t wanted) {
  Flags present, pattern;
  std::memcpy(&present, flags, sizeof present);
  std::memset(&pattern, wanted, sizeof pattern);
  return (present & pattern) == pattern;
}
template <size_t Bytes>
SIMT_INLINE bool all_set_of(const uint8_t* flags, uint8_t wanted) {
  using word = std::conditional_t<Bytes == 1, uint8_t, std::conditional_t<Bytes == 2, uint16_t, uint32_t>>;
  for (size_t i = 0; i < Bytes; i += sizeof(word))
    if (!all_set<word>(flags + i, wanted)) return false;
  return true;
}
inline bool all_set(const uint8_t* flags, size_t bytes, uint8_t wanted) {
  if (bytes == 4) return all_set<uint32_t>(flags, wanted);
  for (size_t i = 0; i < bytes; ++i)
    if ((flags[i] & wanted) != wanted) return false;
  return true;
}
inline void set_all(uint8_t* flags, size_t bytes, uint8_t value) { std::memset(flags, value, bytes); }

inline bool takes_value(access_kind kind, const access_record& now) {
  return kind == access_kind::read || (kind == access_kind::atomic && (now.pc & k_atomic_store) == 0);
}

// Bounds and initialisation of a shared access; false where it leaves its array.
template <access_kind Kind>
inline bool check_shared(size_t offset, size_t bytes, const access_record& now) {
  const uint32_t pc = now.pc & k_code_offset;
  uint8_t* flags = shadow.flags + offset;
  constexpr uint8_t k_both = k_accessible | k_written;
  if (all_set(flags, bytes, k_both)) return true;
  if (!all_set(flags, bytes, k_accessible)) {
    report_out_of_bounds(offset, bytes, Kind, pc);
    return false;
  }
  if (takes_value(Kind, now)) note_unwritten(offset, pc);
  set_all(flags, bytes, k_both);
  return true;
}

template <access_kind Kind>
inline bool check_global(size_t offset, size_t bytes, const access_record& now) {
  const uint32_t pc = now.pc & k_code_offset;
  const unit_range& r = shadow.units[offset / k_unit_bytes];
  if (bytes > r.bytes || offset - r.begin > r.bytes - bytes) {
    report_out_of_bounds(offset, bytes, Kind, pc);
    return false;
  }
  if (r.tracks_writes && !all_set(shadow.flags + offset, bytes, k_written)) {
    if (takes_value(Kind, now)) note_unwritten(offset, pc);
    set_all(shadow.flags + offset, bytes, k_written);
  }
  return true;
}

template <access_kind Kind>
__attribute__((always_inline)) inline void check(size_t offset, size_t bytes, const access_record& now,
                                                 bool may_copy = false) {
  ++device.accesses;
  if (has_open_races)
    settle_open_races(offset, bytes, &now,
                      may_copy                                            ? access_use::copies
                      : Kind == access_kind::atomic && compares_and_swaps ? access_use::compares
                                                                          : access_use::alone);
  uint32_t stamp = detector.generation;
  if (offset < k_arenas_bytes) {
    if (!check_shared<Kind>(offset, bytes, now)) return;
    block_state& owner = *device.blocks[offset / k_arena_bytes];
    stamp = owner.stamp;
    if (instance_of(now.thread) != owner.instance) owner.foreign[now.thread] = {now.clock, now.pc & k_code_offset};
  } else {
    if (!check_global<Kind>(offset, bytes, now)) return;
    if (shadow.units[offset / k_unit_bytes].is_followed && !is_repeated(Kind, offset, bytes, stamp))
      follow_access(offset, bytes, Kind, now);
  }
  if (!device.stream->detect) return;
  if (offset < k_arenas_bytes)
    check_races_shared<Kind>(offset, bytes, stamp, now, *current);
  else
    check_races_device<Kind>(offset, bytes, stamp, now, *current);
}

inline access_record access_from(const void* pc) { return {current->id, current->clock, code_offset(pc)}; }

constexpr uintptr_t k_null_bytes = 64 * 1024;  // no memory of any kind begins below

[[noreturn]] void report_null(const void* p, size_t bytes, access_kind kind, uint32_t pc) {
  fail("out_of_bounds", [&] {
    return std::string(name_of(kind)) + " of " + std::to_string(bytes) + " bytes by " +
           describe_thread_id(current->id) + " at " + source_line(pc) + " at address " +
           std::to_string(reinterpret_cast<uintptr_t>(p)) + ", off a null pointer";
  });
}

void check_host(uintptr_t address, size_t bytes, access_kind kind, uint32_t pc) {
  for (const forbidden_range& range : detector.forbidden)
    if (address < range.begin + range.bytes && range.begin < address + bytes)
      fail("out_of_bounds", [&] {
        return std::string(name_of(kind)) + " of " + std::to_string(bytes) + " bytes by " +
               describe_thread_id(current->id) + " at " + source_line(pc) + " in the host's memory, where argument " +
               std::to_string(range.argument) + " of the launch points";
      });
}

// Off the region by so much that it is anything of the detector's, or nothing at all.
[[noreturn]] void report_wild(uintptr_t address, size_t bytes, access_kind kind, uint32_t pc) {
  fail("out_of_bounds", [=] {
    const bool before = address - shadow.surroundings.begin < shadow.base - shadow.surroundings.begin;
    return std::string(name_of(kind)) + " of " + std::to_string(bytes) + " bytes by " +
           describe_thread_id(current->id) + " at " + source_line(pc) + " " +
           (before ? std::to_string(shadow.base + k_arenas_bytes - address) + " bytes before all device memory"
                   : "far from all device memory");
  });
}

inline bool is_wild(uintptr_t address) { return shadow.surroundings.has(address) || shadow.tables.has(address); }

// True if a running kernel accesses the device's memory, and not its stack or the host's.
template <access_kind Kind>
inline bool is_of_device(const void* p, size_t bytes, const void* pc) {
  if (current == nullptr) {
    if (checks_host) check_host_access(p, bytes, Kind, pc);
    return false;
  }
  const auto address = reinterpret_cast<uintptr_t>(p);
  if (address < k_null_bytes) report_null(p, bytes, Kind, code_offset(pc));
  if (address - shadow.base < k_region_bytes) return true;
  if (!current->watched.empty()) check_registers(*current, address, bytes, Kind, code_offset(pc));
  if (is_wild(address)) report_wild(address, bytes, Kind, code_offset(pc));
  if (!detector.forbidden.empty()) check_host(address, bytes, Kind, code_offset(pc));
  detector.far_access = code_offset(pc);
  if (address - reinterpret_cast<uintptr_t>(current->flow.stack) >= k_stack_bytes) {
    if (is_of_stack(address))
      count_choice(choice::foreign_local, code_offset(pc));
    else if (Kind == access_kind::write)
      count_choice(choice::unseen_memory, code_offset(pc));
  }
  return false;
}

// An access to the device's memory. Before it others may run; not between the halves of a copy: g++ notes the write of
// `*a = *b` before the read, and copies after both.
template <access_kind Kind>
inline void access(const void* p, size_t bytes, const void* pc) {
  const auto size = static_cast<uint8_t>(bytes < 255 ? bytes : 255);
  const bool may_copy = Kind == access_kind::read && current->written == size;
  if (device.step_at_access && !may_copy) access_point();
  const uintptr_t offset = reinterpret_cast<uintptr_t>(p) - shadow.base;
  check<Kind>(offset, bytes, access_from(pc), may_copy);
  if (device.counting != nullptr && offset < k_arenas_bytes)
    count_bank_access(*current, offset, bytes, code_offset(pc));
  current->written = Kind == access_kind::write ? size : 0;
  if (Kind == access_kind::write && !current->watched.empty()) note_store(*current, p, bytes, code_offset(pc));
}

// The same for most accesses: those to words, or to bytes that have cells of their own, to the thread's own local
// variables, and those of the host. False if it is not decided, and may be recorded already.
template <access_kind Kind, size_t Bytes>
SIMT_INLINE bool access_quickly(const void* p, const void* pc) {
  thread* const t = current;
  if (t == nullptr) return !checks_host;
  if (detector.watches) return false;
  const auto address = reinterpret_cast<uintptr_t>(p), offset = address - shadow.base;
  if (offset >= k_region_bytes) {
    if (address - reinterpret_cast<uintptr_t>(t->flow.stack) >= k_stack_bytes) return false;
    detector.far_access = code_offset(pc);
    return true;
  }
  if (offset % Bytes != 0 || !device.only_checks || !knows_barriers_only(*t)) return false;
  const simple_order is_before{*t};
  const access_record now = {t->id, t->clock, code_offset(pc)};
  if (has_open_races) {
    const bool may_copy = Kind == access_kind::read && t->written == Bytes;
    settle_open_races(offset, Bytes, &now, may_copy ? access_use::copies : access_use::alone);
  }
  constexpr bool k_whole = Bytes >= 4;
  constexpr size_t k_step = k_whole ? 4 : 1;  // what a cell is for
  if (offset < k_arenas_bytes) {
    if (offset / k_arena_bytes != t->home->slot || !all_set_of<Bytes>(shadow.flags + offset, k_accessible | k_written))
      return false;
    for (size_t at = offset; at < offset + Bytes; at += k_step) {
      shadow_cell& word = shadow.words[at / 4];
      if (word.stamp != (k_whole ? t->home->stamp : t->home->stamp | k_split) ||
          !check_quickly<Kind>(k_whole ? word : shadow.bytes[at], now, is_before, *t, at, k_step))
        return false;
    }
  } else {
    const unit_range& r = shadow.units[offset / k_unit_bytes];
    const size_t first = (offset - k_arenas_bytes) / 4;
    if (offset - r.begin + Bytes > r.bytes || r.is_followed || now.clock >= k_packed_clocks ||
        shadow.stamps[first / k_group_words] != detector.generation ||
        (r.tracks_writes && !all_set_of<Bytes>(shadow.flags + offset, k_written)))
      return false;
    packed_cell* cells = shadow.packed + first;
    if (!k_whole) {
      if (!is_split(*cells)) return false;
      cells = linked_bytes(*cells).bytes + offset % 4;
    }
    for (size_t i = 0; i < Bytes / k_step; ++i)
      if (!check_quickly<Kind>(cells[i], now, is_before, *t, offset + i * k_step, k_step)) return false;
  }
  ++device.accesses;
  t->written = Kind == access_kind::write ? Bytes : 0;
  return true;
}

// Entry of the hooks: filters what is not the device's memory.
template <access_kind Kind>
inline void hook(const void* p, size_t bytes, const void* pc) {
  if (bytes == 4 && access_quickly<Kind, 4>(p, pc)) return;
  if (bytes == 8 && access_quickly<Kind, 8>(p, pc)) return;
  if (is_of_device<Kind>(p, bytes, pc)) access<Kind>(p, bytes, pc);
}

inline void copy_hook(const void* to, const void* from, size_t bytes, const void* pc) {
  if (bytes == 0) return;
  hook<access_kind::read>(from, bytes, pc);
  hook<access_kind::write>(to, bytes, pc);
}

// clang calls the hooks of aligned accesses from an alignment of 8 on, for pairs of words that it joins, too (LLVM,
// ThreadSanitizer.cpp, instrumentLoadOrStore).
#ifdef __clang__
constexpr size_t k_most_alignment = 8;
#else
constexpr size_t k_most_alignment = 16;
#endif

[[noreturn]] void report_misaligned(size_t offset, size_t alignment, const std::string& access, const void* pc) {
  fail("misaligned", [&] {
    return access + " by " + describe_thread_id(current->id) + " at " + source_line(code_offset(pc)) +
           " at an address that is " + std::to_string(offset % alignment) + " modulo " + std::to_string(alignment);
  });
}

template <access_kind Kind>
__attribute__((noinline)) void slow_hook(const void* p, size_t bytes, const void* pc) {
  if (!is_of_device<Kind>(p, bytes, pc)) return;
  const uintptr_t offset = reinterpret_cast<uintptr_t>(p) - shadow.base;
  const size_t alignment = bytes < k_most_alignment ? bytes : k_most_alignment;
  if (offset % alignment != 0) {
    report_misaligned(offset, alignment, std::string(name_of(Kind)) + " of " + std::to_string(bytes) + " bytes", pc);
  }
  access<Kind>(p, bytes, pc);
}

// Compilers copy a struct with its padding, which nobody writes. A few unwritten bytes beside written ones count as it.
void accept_padding(const void* p, size_t bytes) {
  constexpr size_t k_least_hole = 8;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(p) - shadow.base;
  if (current == nullptr || begin >= k_region_bytes || !is_inside(begin) || !is_inside(begin + bytes - 1)) return;
  uint8_t* const flags = shadow.flags + begin;
  const auto is_written = [](uint8_t f) { return (f & k_written) != 0; };
  if (std::none_of(flags, flags + bytes, is_written)) return;
  for (uint8_t* at = flags; (at = std::find_if_not(at, flags + bytes, is_written)) != flags + bytes;) {
    uint8_t* const end = std::find_if(at, flags + bytes, is_written);
    if (end - at < static_cast<std::ptrdiff_t>(k_least_hole))
      std::for_each(at, end, [](uint8_t& f) { f |= k_written; });
    at = end;
  }
}

template <access_kind Kind, size_t Bytes>
SIMT_INLINE void natural_hook(const void* p, const void* pc) {
  if (access_quickly<Kind, Bytes>(p, pc)) return;
  slow_hook<Kind>(p, Bytes, pc);
}

// A volatile access is a relaxed atomic (PTX ISA, ld.volatile), but for a write to shared memory without a fence before
// it: that publishes nothing, and is the idiom of warps that were thought to run in lockstep. A read may be a spin
// either way.
inline void volatile_hook(const void* p, size_t bytes, bool write, const void* pc) {
  if (current == nullptr) return hb_host_atomic(p, bytes, !write, pc);  // the host's are relaxed atomics, too
  if (!(write ? is_of_device<access_kind::write> : is_of_device<access_kind::read>)(p, bytes, pc)) return;
  const uintptr_t offset = reinterpret_cast<uintptr_t>(p) - shadow.base;
  atomic_done(write, p, pc);  // before the access, for others may run
  const bool is_plain = detector.plain_volatile || (write && offset < k_arenas_bytes && !current->has_fenced);
  if (write) current->has_fenced = false;
  if (is_plain && write) return access<access_kind::write>(p, bytes, pc);
  if (is_plain) return access<access_kind::read>(p, bytes, pc);
  const atomic_kind kind = write ? atomic_kind::store : atomic_kind::load;
  access_point();
  if (explores()) explore_point(p, bytes, kind, commuting::no, pc);
  hb_choice(choice::atomic_access, pc);
  hb_atomic(*current, p, bytes, memory_scope::device, kind, pc);
  if (explores()) explore_executed(kind, write);
}

}  // namespace

void check_access(const void* p, size_t bytes, access_kind kind, const access_record& access) {
  if (reinterpret_cast<uintptr_t>(p) < k_null_bytes) report_null(p, bytes, kind, access.pc & k_code_offset);
  const uintptr_t offset = reinterpret_cast<uintptr_t>(p) - shadow.base;
  if (offset >= k_region_bytes && is_wild(reinterpret_cast<uintptr_t>(p)))
    report_wild(reinterpret_cast<uintptr_t>(p), bytes, kind, access.pc & k_code_offset);
  if (offset >= k_region_bytes) {
    detector.far_access = access.pc & k_code_offset;
    if (kind != access_kind::read) count_choice(choice::unseen_memory, access.pc & k_code_offset);
    return check_host(reinterpret_cast<uintptr_t>(p), bytes, kind, access.pc & k_code_offset);
  }
  switch (kind) {
    case access_kind::read: return check<access_kind::read>(offset, bytes, access);
    case access_kind::write: return check<access_kind::write>(offset, bytes, access);
    case access_kind::atomic: return check<access_kind::atomic>(offset, bytes, access);
  }
}

void check_index(const void* from, const void* at) {
  const uintptr_t pointer = reinterpret_cast<uintptr_t>(from) - shadow.base;
  const uintptr_t place = reinterpret_cast<uintptr_t>(at) - shadow.base;
  if (current == nullptr || pointer - k_arenas_bytes >= k_device_memory_bytes ||
      place - k_arenas_bytes >= k_device_memory_bytes)
    return;
  const unit_range own = shadow.units[pointer / k_unit_bytes], other = shadow.units[place / k_unit_bytes];
  // A pointer one past its allocation is still of it.
  if (own.begin == other.begin || pointer - own.begin > own.bytes || place - other.begin >= other.bytes) return;
  if (own.bytes == 0) return;
  const uint32_t pc = code_offset(SIMT_PC);
  const auto text = [=, thread = current->id] {
    return "an index by " + describe_thread_id(thread) + " at " + source_line(pc) + " leads from byte " +
           std::to_string(pointer - own.begin) + " of a buffer of " + std::to_string(own.bytes) + " bytes to byte " +
           std::to_string(place - other.begin) + " of another one of " + std::to_string(other.bytes) + " bytes";
  };
  if (!outlives("out_of_bounds", pc, text)) fail("out_of_bounds", text);
}

bool is_repeated(access_kind kind, size_t offset, size_t bytes, uint32_t generation) {
  if (bytes != 4 || offset % 4 != 0 || detector.launch_begin > 1) return false;
  bool found = false;
  each_cell_of_word(offset, generation, [&](const shadow_cell& c, size_t, size_t size) {
    found = size == 4 && (kind == access_kind::read    ? c.reads[0].thread != 0 || c.write.thread != 0
                          : kind == access_kind::write ? c.write.thread != 0
                                                       : c.atomics[0].thread != 0);
  });
  return found;
}

void forbid_access(const void* p, size_t bytes, int argument) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  if (address >= k_null_bytes && address - shadow.base >= k_region_bytes)
    forbidden_here.push_back({address, bytes, argument});
}
uint32_t hb_last_far_access() { return detector.far_access; }
void allow_access() { forbidden_here.clear(); }

void hb_write(const void* p, size_t bytes, const void* pc) {
  check_access(p, bytes, access_kind::write, access_from(pc));
}

void hb_releases_init(thread& t, const std::vector<const mbarrier*>& barriers, const void* pc) {
  const uint32_t agent = name_flight(t, agent_kind::initialisation);
  for (const mbarrier* m : barriers) check_access(m, sizeof *m, access_kind::write, {agent, 1, code_offset(pc)});
  hb_agent_done(t, agent, 2);
  t.knows->initialised.join(vector_clock::thread_key(agent), 2);
}

void hb_atomic(thread& t, const void* p, size_t bytes, memory_scope scope, atomic_kind kind, const void* pc) {
  access_record access = access_from(pc);
  if (scope == memory_scope::block) access.pc |= k_block_scope;
  if (kind == atomic_kind::load) access.pc |= k_atomic_load;
  if (kind == atomic_kind::store) access.pc |= k_atomic_store;
  check_access(p, bytes, access_kind::atomic, access);
  compares_and_swaps = false;
  hb_publish(t, reinterpret_cast<uintptr_t>(p), scope, kind);
}

void hb_thread_exits(thread& t) {
  hb_acts(t);
  if (has_open_races) settle_open_races_of(t.id);
  block_state& b = *t.home;
  if (device.counting != nullptr && b.alive == 0) count_banks_of_block(b, *device.counting);
  for (auto at = b.foreign.begin(); at != b.foreign.end();)
    at = ordered({at->first, at->second.clock, 0}, t) ? b.foreign.erase(at) : std::next(at);
  if (b.alive > 0 || b.foreign.empty() || !device.stream->detect) return;
  const auto [id, access] = *b.foreign.begin();
  fail("race", [&, id = id, access = access] {
    return "the exit of block (" + std::to_string(b.index.x) + "," + std::to_string(b.index.y) + "," +
           std::to_string(b.index.z) + ") and an access to its shared memory by " + describe_thread_id(id) + " at " +
           source_line(access.pc) + " are not ordered: the block's shared memory may be gone";
  });
}

std::string describe_thread_id(uint32_t id) {
  const uint3 b = detector.block_of_instance[instance_of(id)];
  const agent_kind kind = (id & k_agent) != 0 ? detector.agents[instance_of(id)] : agent_kind::initialisation;
  return std::string(kind == agent_kind::product          ? "wgmma of "
                     : kind != agent_kind::initialisation ? "an asynchronous copy of "
                                                          : "") +
         "block (" + std::to_string(b.x) + "," + std::to_string(b.y) + "," + std::to_string(b.z) + ") thread " +
         std::to_string(linear_of(id)) + (instance_of(id) < detector.launch_begin ? " of a launch before" : "");
}

void report_unwritten(emulation& stream) {
  conclude_notices(stream);
  compares_and_swaps = false;
  if (!detector.unwritten.found) return certificate_ends(stream);
  for (const finding& f : stream.findings)
    if (f.kind == "race") return;
  device.failed = true;
  stream.findings.push_back({"uninitialized", "read by " + describe_thread_id(detector.unwritten.thread) + " at " +
                                                  source_line(detector.unwritten.pc) + " of " +
                                                  describe_place(detector.unwritten.offset) + ", which nobody wrote"});
}

}  // namespace emu
}  // namespace simt

#define SIMT_HOOKS(n)                                                                              \
  void __tsan_read##n(void* p) { simt::natural_hook<simt::access_kind::read, n>(p, SIMT_PC); }     \
  void __tsan_write##n(void* p) { simt::natural_hook<simt::access_kind::write, n>(p, SIMT_PC); }   \
  void __tsan_unaligned_read##n(void* p) { simt::hook<simt::access_kind::read>(p, n, SIMT_PC); }   \
  void __tsan_unaligned_write##n(void* p) { simt::hook<simt::access_kind::write>(p, n, SIMT_PC); } \
  void __tsan_volatile_read##n(void* p) { simt::volatile_hook(p, n, false, SIMT_PC); }             \
  void __tsan_volatile_write##n(void* p) { simt::volatile_hook(p, n, true, SIMT_PC); }             \
  void __tsan_unaligned_volatile_read##n(void* p) { simt::volatile_hook(p, n, false, SIMT_PC); }   \
  void __tsan_unaligned_volatile_write##n(void* p) { simt::volatile_hook(p, n, true, SIMT_PC); }   \
  void __tsan_read_write##n(void* p) {                                                             \
    simt::natural_hook<simt::access_kind::read, n>(p, SIMT_PC);                                    \
    simt::natural_hook<simt::access_kind::write, n>(p, SIMT_PC);                                   \
  }                                                                                                \
  void __tsan_unaligned_read_write##n(void* p) {                                                   \
    simt::hook<simt::access_kind::read>(p, n, SIMT_PC);                                            \
    simt::hook<simt::access_kind::write>(p, n, SIMT_PC);                                           \
  }

namespace simt {
inline namespace emu {
namespace {

// The data of `-fsanitize=alignment` for an access (compiler-rt and libsanitizer, ubsan_handlers.h: TypeMismatchData).
struct checked_access {
  const char* file;
  uint32_t line, column;
  const struct {
    uint16_t kind, info;
    char name[1];
  } * type;
  uint8_t log_alignment;
  uint8_t kind;  // 0 load, 1 store, 2 reference; others name a place without an access
};
constexpr const char* k_access_words[] = {"read of a ", "write of a ", "access to a "};

void report_past_local(const checked_access& access, const void* pc) {
  // The compiler made `access` a constant of the program.
  const auto describe = [&access, thread = current->id, at = code_offset(pc)] {
    return k_access_words[access.kind] + std::string(access.type->name) + " by " + describe_thread_id(thread) + " at " +
           source_line(at) + " outside of a local array or another object whose size is known";
  };
  if (!outlives("out_of_bounds", code_offset(pc), describe)) fail("out_of_bounds", describe);
}

}  // namespace
}  // namespace emu
}  // namespace simt

// Sources that are not ours are compiled with this check, too, because g++ splits the copy of a vector before it calls
// the hooks below. They also use `-fsanitize=object-size`, which sees a place after the end of an array on the stack,
// and no alignment. g++ leaves out the check of a load behind that of a reference to the same place, as copies make it.
extern "C" void __ubsan_handle_type_mismatch_v1(const simt::checked_access* access, uintptr_t p) {
  const uintptr_t offset = p - simt::shadow.base;
  if (simt::current == nullptr || access->kind > 2) return;
  const size_t alignment = size_t{1} << access->log_alignment;
  if (offset >= simt::k_region_bytes) {
    if (access->kind < 2 && (alignment == 1 || p % alignment == 0)) simt::report_past_local(*access, SIMT_PC);
    return;
  }
  if (offset % alignment == 0) return;
  simt::report_misaligned(offset, alignment, simt::k_access_words[access->kind] + std::string(access->type->name),
                          SIMT_PC);
}

// Functions that `-fsanitize=thread` makes the compiler call; libtsan is not linked. In the unaligned variants the
// compiler knows no alignment, so none is required.
extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
SIMT_HOOKS(1)
SIMT_HOOKS(2)
SIMT_HOOKS(4)
SIMT_HOOKS(8)
SIMT_HOOKS(16)
void __tsan_read_range(void* p, size_t n) {
  if (n == 0) return;
  simt::accept_padding(p, n);
  simt::hook<simt::access_kind::read>(p, n, SIMT_PC);
}
void __tsan_write_range(void* p, size_t n) {
  if (n != 0) simt::hook<simt::access_kind::write>(p, n, SIMT_PC);
}
// What objcopy makes of memcpy.
void* simt_kernel_memcpy(void* to, const void* from, size_t n) {
  simt::copy_hook(to, from, n, SIMT_PC);
  return std::memcpy(to, from, n);
}
// The same with clang, which also copies structs by memcpy.
void* __tsan_memcpy(void* to, const void* from, size_t n) {
  if (n != 0) simt::accept_padding(from, n);
  simt::copy_hook(to, from, n, SIMT_PC);
  return std::memcpy(to, from, n);
}
void* __tsan_memmove(void* to, const void* from, size_t n) {
  simt::copy_hook(to, from, n, SIMT_PC);
  return std::memmove(to, from, n);
}
void* __tsan_memset(void* to, int byte, size_t n) {
  if (n != 0) simt::hook<simt::access_kind::write>(to, n, SIMT_PC);
  return std::memset(to, byte, n);
}

// What objcopy makes of functions of libm that write by a pointer.
#define SIMT_WRITES(T, suffix)                                            \
  T simt_kernel_frexp##suffix(T x, int* exponent) {                       \
    simt::hook<simt::access_kind::write>(exponent, sizeof(int), SIMT_PC); \
    return std::frexp(x, exponent);                                       \
  }                                                                       \
  T simt_kernel_modf##suffix(T x, T* whole) {                             \
    simt::hook<simt::access_kind::write>(whole, sizeof(T), SIMT_PC);      \
    return std::modf(x, whole);                                           \
  }                                                                       \
  T simt_kernel_remquo##suffix(T x, T y, int* quotient) {                 \
    simt::hook<simt::access_kind::write>(quotient, sizeof(int), SIMT_PC); \
    return std::remquo(x, y, quotient);                                   \
  }
SIMT_WRITES(double, )
SIMT_WRITES(float, f)
#undef SIMT_WRITES
}
