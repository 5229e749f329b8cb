// The generic and the asynchronous proxy (PTX ISA, "Proxies"): accesses of a thread, and accesses of bulk copies and
// products of warpgroups. Happens-before between the two is not enough: a proxy fence must lie between. The read-only
// cache is a third proxy, which sees no write of its own launch. Tensor maps are read in a fourth one.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "simt/emulated/certificate_state.hpp"
#include "simt/emulated/detector.hpp"
#include "simt/emulated/happens_before.hpp"
#include "simt/emulated/intrinsics.hpp"
#include "simt/emulated/packed_cells.hpp"
#include "simt/emulated/region.hpp"
#include "simt/emulated/symbols.hpp"

namespace simt {
inline namespace emu {
namespace {

bool is_generic(const access_record& r) {
  if (r.thread == 0 || (r.thread & k_agent) == 0) return r.thread != 0;
  const agent_kind kind = detector.agents[instance_of(r.thread)];
  return kind == agent_kind::none || kind == agent_kind::initialisation;
}

// True if a fence has seen the access, and happened before the present point of t.
bool is_fenced_as(uint64_t mark, const access_record& r, const thread& t) {
  const block_state& b = *t.home;
  const auto knows = [&](const vector_clock& k) { return k.covers_as(mark, r.thread, r.clock); };
  for (const wide_clock& wide : b.wide)
    if (knows(wide.what)) return true;
  if (knows(b.known)) return true;
  if (t.knows == nullptr) return false;
  for (const wide_clock& wide : t.knows->wide)
    if (knows(wide.what)) return true;
  return knows(t.knows->known);
}

bool is_fenced(const access_record& r, const thread& t, const block_state& owner) {
  return is_fenced_as(vector_clock::k_fenced, r, t) ||
         is_fenced_as(vector_clock::fenced_by_block(owner.instance), r, t);
}

[[noreturn]] void report(const access_record& r, const char* access, const thread& t, proxy_use use, const void* pc,
                         size_t offset) {
  fail("race", [&] {
    const std::string where = " at " + source_line(code_offset(pc)) + " (" + describe_thread_id(t.id) + ")";
    const std::string what =
        std::string(access) + " by " + describe_thread_id(r.thread) + " at " + source_line(r.pc & k_code_offset);
    if (use == proxy_use::completes)
      return "initialisation of an mbarrier by " + describe_thread_id(r.thread) + " at " +
             source_line(r.pc & k_code_offset) + " is not visible to the async proxy, which completes on it" + where +
             ": no fence_mbarrier_init lies between them: " + describe_place(offset);
    return "generic " + what +
           (use == proxy_use::reads ? " is not visible to the async proxy, which reads"
                                    : " is not ordered before the async proxy's write") +
           where + ": no fence_proxy_async lies between them: " + describe_place(offset);
  });
}

// Any access that the cell no longer has may need a fence.
void check_dropped(const shadow_cell& c, size_t offset, const thread& t, const block_state& owner, proxy_use use,
                   const void* pc) {
  if (!certificate.holds || (c.write.pc & (k_dropped_reads | k_dropped_atomics)) == 0) return;
  const access_summary& reads = shadow.shared_reads[offset / 4];
  static struct {
    uint32_t thread, clock, instance;
    access_summary reads;
  } known;  // neighbouring words have had the same readers
  const bool reads_matter = use == proxy_use::writes && (c.write.pc & k_dropped_reads) != 0;
  if ((c.write.pc & k_dropped_atomics) != 0 || (reads_matter && reads.level != access_summary::of_block))
    return hb_choice(choice::unknown_reader, pc);
  if (!reads_matter || (known.thread == t.id && known.clock == t.clock && known.instance == owner.instance &&
                        std::memcmp(&known.reads, &reads, sizeof reads) == 0))
    return;
  if (!all_accesses(reads, [&](uint32_t id) { return is_fenced({id, reads.latest, 0}, t, owner); }))
    return hb_choice(choice::unknown_reader, pc);
  known = {t.id, t.clock, owner.instance, reads};
}

void check_cell(const shadow_cell& c, const thread& t, const block_state& owner, proxy_use use, const void* pc,
                size_t offset) {
  const auto check = [&](const access_record& r, const char* access) {
    if (is_generic(r) && ordered(r, t) && !is_fenced(r, t, owner)) report(r, access, t, use, pc, offset);
  };
  check(c.write, "write");
  if (use == proxy_use::completes) return;
  for (const access_record& a : c.atomics)
    if (use == proxy_use::writes || (a.pc & k_atomic_load) == 0) check(a, "atomic access");
  if (use == proxy_use::writes)
    for (const access_record& r : c.reads) check(r, "read");
  check_dropped(c, offset, t, owner, use, pc);
}

}  // namespace

void hb_proxy_fence(thread& t, proxy_space space) {
  join(t, snapshot(t).marked(space == proxy_space::all ? vector_clock::k_fenced
                                                       : vector_clock::fenced_by_block(t.home->instance)));
  ++t.clock;
}

void hb_enters_proxy(thread& t, const void* p, size_t bytes, proxy_use use, const void* pc) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(p) - shadow.base;
  if (begin >= k_arenas_bytes || !device.stream->detect) return;
  const block_state& owner = *device.blocks[begin / k_arena_bytes];
  for (size_t at = begin; at < begin + bytes;) {
    const size_t word = at / 4, next = std::min(word * 4 + 4, begin + bytes);
    const uint32_t stamp = shadow.words[word].stamp;
    if (stamp == owner.stamp)
      check_cell(shadow.words[word], t, owner, use, pc, at);
    else if (stamp == (owner.stamp | k_split))
      for (size_t i = at; i < next; ++i) check_cell(shadow.bytes[i], t, owner, use, pc, i);
    at = next;
  }
}

namespace {

constexpr size_t k_map_bytes = 128;

// A map that a block has acquired, and the writes to it that it had then.
struct acquired_map {
  uint32_t instance;
  const void* map;
  uint64_t writes;
};
std::vector<acquired_map> acquired_maps;
uint32_t launch_of_maps = 0;  // launch_begin of the launch that acquired them

template <class Visit>
void each_write_of_launch(const void* p, size_t bytes, const Visit& visit) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(p) - shadow.base;
  if (begin - k_arenas_bytes >= k_device_memory_bytes || !device.stream->detect) return;
  for (size_t word = begin / 4 * 4; word < begin + bytes; word += 4)
    each_cell_of_word(word, detector.generation, [&](const shadow_cell& c, size_t offset, size_t) {
      for (const access_record* r : {&c.write, &c.atomics[0], &c.atomics[1]})
        if (r->thread != 0 && instance_of(r->thread) >= detector.launch_begin && (r->pc & k_atomic_load) == 0)
          visit(*r, offset);
    });
}

uint64_t writes_of(const void* map) {
  uint64_t writes = 0;
  each_write_of_launch(map, k_map_bytes, [&](const access_record& r, size_t offset) {
    writes = (writes ^ (uint64_t{r.thread} << 32 | r.clock) ^ offset) * 0x9e3779b97f4a7c15u;
  });
  return writes;
}

[[noreturn]] void report_map(const access_record& r, const thread& t, size_t offset, const void* pc,
                             const char* missing) {
  fail("race", [&] {
    return "write of a tensor map by " + describe_thread_id(r.thread) + " at " + source_line(r.pc & k_code_offset) +
           " is not visible to the copy by it at " + source_line(code_offset(pc)) + " (" + describe_thread_id(t.id) +
           "): " + missing + ": " + describe_place(offset);
  });
}

}  // namespace

void hb_releases_maps(thread& t) {
  join(t, snapshot(t).marked(vector_clock::k_maps_released));
  ++t.clock;
}

void hb_acquires_map(const thread& t, const void* map) {
  if (std::exchange(launch_of_maps, detector.launch_begin) != detector.launch_begin) acquired_maps.clear();
  const uint32_t instance = t.home->instance;
  const acquired_map now = {instance, map, writes_of(map)};
  const auto at = std::find_if(acquired_maps.begin(), acquired_maps.end(),
                               [&](const acquired_map& a) { return a.instance == instance && a.map == map; });
  if (at == acquired_maps.end())
    acquired_maps.push_back(now);
  else
    *at = now;
}

void hb_uses_map(const thread& t, const void* map, const void* pc) {
  const uint64_t writes = writes_of(map);
  if (writes == 0) return;
  const bool is_acquired = launch_of_maps == detector.launch_begin &&
                           std::any_of(acquired_maps.begin(), acquired_maps.end(), [&](const acquired_map& a) {
                             return a.instance == t.home->instance && a.map == map && a.writes == writes;
                           });
  each_write_of_launch(map, k_map_bytes, [&](const access_record& r, size_t offset) {
    if (!is_fenced_as(vector_clock::k_maps_released, r, t))
      report_map(r, t, offset, pc, "no fence.proxy.tensormap::generic.release follows it");
    if (!is_acquired)
      report_map(r, t, offset, pc, "no fence.proxy.tensormap::generic.acquire of the map lies before the copy");
  });
}

namespace detail {

void note_read_only(const void* p, size_t bytes) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(p) - shadow.base;
  if (current == nullptr || begin - k_arenas_bytes >= k_device_memory_bytes || !device.stream->detect) return;
  const uint32_t pc = code_offset(SIMT_PC);
  const auto check = [&](const shadow_cell& c, size_t offset) {
    for (const access_record* r : {&c.write, &c.atomics[0], &c.atomics[1]}) {
      if (r->thread == 0 || instance_of(r->thread) < detector.launch_begin || (r->pc & k_atomic_load) != 0) continue;
      fail("race", [&] {
        return "read by " + describe_thread_id(current->id) + " at " + source_line(pc) +
               " through the read-only cache (__ldg, ld.global.nc), which need not see what the same launch writes: " +
               (r == &c.write ? "write by " : "atomic access by ") + describe_thread_id(r->thread) + " at " +
               source_line(r->pc & k_code_offset) + ": " + describe_place(offset);
      });
    }
  };
  for (size_t word = begin / 4 * 4; word < begin + bytes; word += 4)
    each_cell_of_word(word, detector.generation, [&](const shadow_cell& c, size_t offset, size_t size) {
      if (offset + size > begin && offset < begin + bytes) check(c, std::max(offset, begin));
    });
}

}  // namespace detail

// A copy that runs beside its thread, under the thread's agent name and the group's number.
void hb_group_copies(thread& t, const void* destination, const void* source, size_t bytes, const void* pc) {
  const access_record access = {t.id | k_agent, t.open_group, code_offset(pc)};
  check_access(source, bytes, access_kind::read, access);
  check_access(destination, bytes, access_kind::write, access);
}

// A copy that ends with an mbarrier, under a name of its own.
uint32_t hb_flight_starts(thread& t, const void* destination, const void* source, size_t bytes, const void* pc) {
  const access_record access = {name_flight(t), 1, code_offset(pc)};
  if (source != nullptr) check_access(source, bytes, access_kind::read, access);
  check_access(destination, bytes, access_kind::write, access);
  return access.thread;
}

// The store and its count on the mbarrier land together.
void hb_flight_counts(uint32_t id, const void* barrier, size_t bytes, const void* pc) {
  check_access(barrier, bytes, access_kind::atomic, {id, 1, code_offset(pc)});
}

uint32_t hb_name_agent(const thread& t, agent_kind kind) { return name_flight(t, kind); }

void hb_agent_done(thread& t, uint32_t agent, uint32_t below) {
  if (agent != 0) join(t, vector_clock::thread_key(agent), below);
}

void hb_read(const void* p, size_t bytes, const void* pc) {
  check_access(p, bytes, access_kind::read, {current->id, current->clock, code_offset(pc)});
}

void hb_agent_access(uint32_t agent, uint32_t clock, const void* p, size_t bytes, bool writes, const void* pc) {
  check_access(p, bytes, writes ? access_kind::write : access_kind::read, {agent, clock, code_offset(pc)});
}

}  // namespace emu
}  // namespace simt
