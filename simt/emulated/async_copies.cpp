// Asynchronous copies: a copy completes at a moment that the schedule chooses. Fixed orders take the extremes: greedy
// copies at once, fair and reverse as late as a wait allows.
#include <algorithm>
#include <cstring>
#include <deque>
#include <unordered_map>
#include <utility>

#include "simt/emulated/certificate.hpp"
#include "simt/emulated/flights.hpp"
#include "simt/emulated/happens_before.hpp"
#include "simt/emulated/parts.hpp"
#include "simt/emulated/region.hpp"
#include "simt/emulated/registers.hpp"
#include "simt/emulated/tensor.hpp"
#include "simt/emulated/tried_waits.hpp"
#include "simt/emulated/wide.hpp"

namespace simt {
inline namespace emu {
namespace {

std::deque<flight> flights;

// An mbarrier's phase, kept aside by the object's address.
struct phase_state {
  uint64_t owner = 0;  // serial number of the block whose shared memory holds it
  unsigned expected = 0, pending = 0;
  int64_t bytes = 0;  // of copies that the phase still waits for
  uint64_t phase = 0;
  phase_clock known;
  bool is_visible = true;  // to the asynchronous proxy and to the cluster
  const thread* by = nullptr;
};
std::unordered_map<const mbarrier*, phase_state> phases;
constexpr barrier_order k_orders_all = {};

phase_state& phase_of(const mbarrier* m) {
  const block_state* owner = owner_of(m);
  const auto at = phases.find(m);
  if (owner != nullptr && at != phases.end() && at->second.owner == owner->serial) return at->second;
  fail("uninitialized", [owner] {
    return describe(*current) + " uses an mbarrier " +
           (owner == nullptr ? std::string("that is not in shared memory") : std::string("that nobody initialised")) +
           ", at " + describe(current->site);
  });
}

void complete_if_due(const mbarrier* m, phase_state& s) {
  if (s.pending != 0 || s.bytes != 0) return;
  ++s.phase;
  s.pending = s.expected;
  hb_phase_completes(s.known);
  for (uint32_t slot = 0; slot < device.slots; ++slot) {
    block_state& b = *device.blocks[slot];
    if (!b.active) continue;
    for (uint32_t i = 0; i < device.threads; ++i)
      if (b.threads[i].state == thread_state::at_mbarrier && b.threads[i].waits_for == m) make_runnable(b.threads[i]);
  }
}

void land(const flight& f) {
  const block_state* owner = owner_of(f.destination);
  if (owner != nullptr && owner->alive > 0) {
    if (f.tile != nullptr)
      load_tile(*f.tile, f.destination);
    else if (f.source != nullptr)
      std::memcpy(f.destination, f.source, f.bytes);
    else if (f.reduction != tensor_reduction::none)
      reduce_elements(f.element, f.reduction, f.destination, reinterpret_cast<const char*>(&f.bits), f.bytes);
    else
      std::memcpy(f.destination, &f.bits, f.bytes);
  }
  const auto at = phases.find(f.barrier);
  if (at == phases.end()) return;
  hb_flight_lands(at->second.known, f.id, at->second.phase == f.phase);
  at->second.bytes -= f.bytes;
  complete_if_due(f.barrier, at->second);
}

void need_bulk(const void* destination, const void* source, unsigned bytes) {
  need_alignment(destination, 16, "destination");
  need_alignment(source, 16, "source");
  if (bytes % 16 == 0) return;
  fail("misaligned", [bytes] {
    return describe(*current) + " starts a bulk copy of " + std::to_string(bytes) +
           " bytes, allowed are multiples of 16, at " + describe(current->site);
  });
}

// An asynchronous operation is to complete on the mbarrier, whose initialisation it must see.
void need_visible(const mbarrier* m, const phase_state& s, const void* pc) {
  if (s.is_visible) return;
  hb_enters_proxy(*current, m, sizeof(mbarrier), proxy_use::completes, pc);
}

void copy(const pending_store& s) {
  if (s.tile != nullptr)
    store_tile(*s.tile, static_cast<const char*>(s.source));
  else
    std::memcpy(s.destination, s.source, s.bytes);
}

// The mbarrier was or is about to be used: an atomic access to its memory.
phase_state& use(mbarrier* m, const call_site& site, const void* pc) {
  current->site = site;
  access_point();
  hb_atomic(*current, m, sizeof(mbarrier), memory_scope::cluster, atomic_kind::update, pc);
  return phase_of(m);
}

void arrive(mbarrier* m, unsigned bytes, barrier_order order, const call_site& site, const void* pc) {
  phase_state& s = use(m, site, pc);
  s.bytes += bytes;
  if (s.pending == 0) {
    fail("divergence", [&] {
      return describe(*current) + " arrives at an mbarrier more often than its " + std::to_string(s.expected) +
             " times a phase, at " + describe(site);
    });
  }
  --s.pending;
  hb_phase_arrives(s.known, *current, *owner_of(m), order);
  device.idle_yields = 0;
  complete_if_due(m, s);
}

bool try_phase(mbarrier* m, unsigned parity, barrier_order order, const call_site& site, const void* pc) {
  thread& self = *current;
  const bool waits = hb_asks_again(self, m, parity, pc);
  phase_state& s = use(m, site, pc);
  const bool done = (s.phase & 1) != (parity & 1);
  if (!waits && hb_tries_answer(self, s.known, m, parity, done, pc)) return false;
  if (done) {
    hb_acts(self);
    hb_phase_passes(s.known, self, m, order);
  }
  atomic_done(done, m, pc, !waits);
  return done;
}

void copy(const pending_copy& c) { std::memcpy(c.destination, c.source, c.bytes); }

}  // namespace

block_state* owner_of(const void* p) {
  const auto offset = static_cast<size_t>(static_cast<const char*>(p) - region_base());
  if (offset >= device.slots * k_arena_bytes) return nullptr;
  block_state* b = device.blocks[offset / k_arena_bytes].get();
  return b->active ? b : nullptr;
}

void start_flight(flight f) {
  if (const auto at = phases.find(f.barrier); at != phases.end()) {
    f.phase = at->second.phase;
    hb_flight_counts_on(at->second.known, *current);
  }
  flights.push_back(f);
  device.has_flights = true;
  const bool eager = base_order() == strategy::greedy;
  if (decide(2, eager) == 1) {
    flights.pop_back();
    land(f);
  }
}

void need_alignment(const void* p, unsigned align, const char* what) {
  const auto rest = static_cast<unsigned>(reinterpret_cast<uintptr_t>(p) % align);
  if (rest == 0) return;
  fail("misaligned", [=] {
    return describe(*current) + " starts an asynchronous copy whose " + what + " is " + std::to_string(rest) +
           " modulo " + std::to_string(align) + ", at " + describe(current->site);
  });
}

void need_own_shared(const void* p, const char* what) {
  if (owner_of(p) == current->home) return;
  fail("out_of_bounds", [what] {
    return describe(*current) + " starts an asynchronous copy whose " + what +
           " is not in its block's shared memory, at " + describe(current->site);
  });
}

char* in_rank(void* p, unsigned rank) {
  const block_state& b = *current->home;
  return region_arena(b.slot / device.cluster * device.cluster + rank) + (static_cast<char*>(p) - b.arena);
}

void need_ranks(uint16_t ranks) {
  if (ranks != 0 && ranks >> device.cluster == 0) return;
  fail("out_of_bounds", [ranks] {
    return describe(*current) + " starts a copy into the blocks " + std::to_string(ranks) + " of a cluster of " +
           std::to_string(device.cluster) + ", at " + describe(current->site);
  });
}

void need_completion(mbarrier* m, const call_site& site, const void* pc) { need_visible(m, use(m, site, pc), pc); }
void need_remote_completion(const mbarrier* m, const void* pc) { need_visible(m, phase_of(m), pc); }

void start_store(pending_store s) {
  if (decide(2, base_order() == strategy::greedy) == 1) {
    copy(s);
    s.is_done = true;
  }
  current->stores.push_back(std::move(s));
}

void begin_async() {
  device.has_flights = false;
  flights.clear();
  phases.clear();
}

void forget_async() {
  for (flight& f : flights) f.id = 0;  // nobody's
  for (auto& [barrier, state] : phases) state.known = {};
  for (uint32_t slot = 0; slot < device.slots; ++slot) {
    block_state& b = *device.blocks[slot];
    for (named_barrier_state& n : b.named_barriers) n.known = {};
    for (thread& t : b.threads)
      for (pending_store& s : t.stores) s.reader = s.writer = 0;
  }
  forget_products();
}

bool land_one_flight() {
  if (flights.empty()) return false;
  const flight f = flights.front();
  flights.pop_front();
  land(f);
  return true;
}

namespace {

void land_chosen_flight() {
  const uint32_t choice = decide(static_cast<uint32_t>(std::min<size_t>(flights.size(), 15)) + 1, 0);
  if (choice == 0) return;
  const flight f = flights[choice - 1];
  flights.erase(flights.begin() + (choice - 1));
  land(f);
}

}  // namespace

void may_land_flights() {
  const bool has_products = may_compute_products();
  if (!flights.empty()) land_chosen_flight();
  device.has_flights = has_products || !flights.empty();
}

void async_copy(void* destination, const void* source, unsigned bytes) {
  thread& self = *current;
  need_alignment(destination, bytes, "destination");
  need_alignment(source, bytes, "source");
  need_own_shared(destination);
  access_point();
  hb_group_copies(self, destination, source, bytes, SIMT_PC);
  const pending_copy c = {static_cast<char*>(destination), source, bytes, self.open_group};
  if (decide(2, base_order() == strategy::greedy) == 1)
    copy(c);
  else
    self.copies.push_back(c);
}

void cp_async_commit() {
  hb_acts(*current);
  ++current->open_group;
}

void async_wait(unsigned groups) {
  thread& self = *current;
  const uint32_t last = self.open_group > groups ? self.open_group - groups : 0;  // groups below it are complete
  size_t kept = 0;
  for (const pending_copy& c : self.copies) {
    if (c.group < last)
      copy(c);
    else
      self.copies[kept++] = c;
  }
  self.copies.resize(kept);
  hb_groups_complete(self, last);
}

void mbarrier::initialise(unsigned count, bool is_visible, const call_site& site, const void* pc) {
  current->site = site;
  const block_state* owner = owner_of(this);
  if (owner == nullptr || count == 0 || count > (1u << 20) - 1) {
    fail("launch_limit", [&] {
      return describe(*current) + " initialises an mbarrier " +
             (owner == nullptr ? std::string("outside of shared memory")
                               : "for " + std::to_string(count) + " arrivals, allowed are 1 to 1048575") +
             ", at " + describe(site);
    });
  }
  hb_write(this, sizeof(mbarrier), pc);
  state_ = count;
  phase_state fresh;
  fresh.owner = owner->serial;
  fresh.expected = fresh.pending = count;
  fresh.is_visible = is_visible;
  fresh.by = current;
  phases[this] = std::move(fresh);
  if (is_visible) hb_releases_init(*current, {this}, pc);
}

void mbarrier::init(unsigned count, call_site site) { initialise(count, true, site, SIMT_PC); }
void mbarrier::init_unfenced(unsigned count, call_site site) { initialise(count, false, site, SIMT_PC); }

void fence_mbarrier_init() {
  std::vector<const mbarrier*> fenced;
  for (auto& [barrier, state] : phases)
    if (state.by == current && !std::exchange(state.is_visible, true)) fenced.push_back(barrier);
  if (!fenced.empty()) hb_releases_init(*current, fenced, SIMT_PC);
}

void mbarrier::arrive(call_site site) { emu::arrive(this, 0, k_orders_all, site, SIMT_PC); }

void mbarrier::arrive_expect_tx(unsigned bytes, call_site site) {
  emu::arrive(this, bytes, k_orders_all, site, SIMT_PC);
}

void mbarrier::arrive(unsigned bytes, barrier_order order, call_site site) {
  emu::arrive(this, bytes, order, site, SIMT_PC);
}

void mbarrier::arrive_remote(unsigned rank, call_site site) {
  const void* pc = SIMT_PC;
  emu::arrive(static_cast<mbarrier*>(map_shared(this, rank, site)), 0, k_orders_all, site, pc);
}

void mbarrier::arrive_and_drop(barrier_order order, call_site site) {
  const void* const pc = SIMT_PC;
  --use(this, site, pc).expected;
  emu::arrive(this, 0, order, site, pc);
}

void mbarrier::expect(int64_t bytes, call_site site) {
  phase_state& s = use(this, site, SIMT_PC);
  s.bytes += bytes;
  bytes < 0 ? hb_flight_counts_on(s.known, *current) : hb_phase_expects(s.known, *current);
  complete_if_due(this, s);
}

// The arrival may be as early as it is here: the copies are complete.
void mbarrier::arrive_when_copied(bool counts, call_site site) {
  const void* const pc = SIMT_PC;
  thread& self = *current;
  phase_state& s = use(this, site, pc);
  for (const pending_copy& c : self.copies) copy(c);
  self.copies.clear();
  hb_phase_gathers_groups(s.known, self);
  if (counts) emu::arrive(this, 0, k_orders_all, site, pc);
}

bool mbarrier::try_wait(unsigned parity, call_site site) {
  return try_phase(this, parity, k_orders_all, site, SIMT_PC);
}

bool mbarrier::try_wait(unsigned parity, barrier_order order, call_site site) {
  return try_phase(this, parity, order, site, SIMT_PC);
}

uint64_t mbarrier::state(call_site site) {
  hb_choice(choice::barrier_poll, SIMT_PC);
  const phase_state& s = use(this, site, SIMT_PC);
  return (s.phase & 1) | uint64_t{s.pending} << 1;
}

unsigned arrival_parity(const mbarrier* m, const call_site& site) {
  current->site = site;
  return phase_of(m).phase & 1;
}

static void wait_for_phase(mbarrier* m, unsigned parity, barrier_order order, const call_site& site, const void* pc) {
  thread& self = *current;
  phase_state* s = &use(m, site, pc);
  while ((s->phase & 1) == (parity & 1)) {
    self.waits_for = m;
    self.state = thread_state::at_mbarrier;
    wait_here();
    s = &phase_of(m);
  }
  hb_phase_passes(s->known, self, m, order);
}

void mbarrier::wait(unsigned parity, call_site site) { wait_for_phase(this, parity, k_orders_all, site, SIMT_PC); }
void wait_for_phase(mbarrier* m, unsigned parity, barrier_order order, const call_site& site) {
  wait_for_phase(m, parity, order, site, SIMT_PC);
}

void bulk_copy(void* destination, const void* source, unsigned bytes, mbarrier* barrier, call_site site) {
  need_visible(barrier, use(barrier, site, SIMT_PC), SIMT_PC);
  need_bulk(destination, source, bytes);
  need_own_shared(destination);
  hb_enters_proxy(*current, destination, bytes, proxy_use::writes, SIMT_PC);
  const uint32_t id = hb_flight_starts(*current, destination, source, bytes, SIMT_PC);
  start_flight({static_cast<char*>(destination), source, 0, bytes, barrier, id});
}

void bulk_prefetch(const void* source, unsigned bytes, call_site site) {
  current->site = site;
  need_alignment(source, 16, "source");
  if (bytes % 16 != 0) {
    fail("misaligned", [&] {
      return describe(*current) + " prefetches " + std::to_string(bytes) + " bytes, allowed are multiples of 16, at " +
             describe(site);
    });
  }
}

static void begin_remote(const mbarrier* barrier, const void* p, unsigned bytes, const call_site& site) {
  current->site = site;
  access_point();
  phase_of(barrier);
  need_alignment(p, bytes, "destination");
  if (owner_of(p) != nullptr && owner_of(p) == owner_of(barrier)) return;
  fail("out_of_bounds", [&] {
    return describe(*current) + " stores to an address that is not in the shared memory of the mbarrier's block, at " +
           describe(site);
  });
}

void async_store(mbarrier* barrier, void* p, uint64_t bits, unsigned bytes, const call_site& site) {
  begin_remote(barrier, p, bytes, site);
  const uint32_t id = hb_flight_starts(*current, p, nullptr, bytes, SIMT_PC);
  hb_flight_counts(id, barrier, sizeof(mbarrier), SIMT_PC);
  start_flight({static_cast<char*>(p), nullptr, bits, bytes, barrier, id});
}

void async_reduce(mbarrier* barrier, void* p, uint64_t bits, tensor_element type, tensor_reduction how,
                  call_site site) {
  const unsigned bytes = bytes_of(type);
  const void* const pc = SIMT_PC;
  begin_remote(barrier, p, bytes, site);
  const uint32_t id = hb_name_agent(*current, agent_kind::copy);
  hb_flight_counts(id, p, bytes, pc);
  hb_bulk_reduces(p, bytes, type, how, pc);
  if (!is_shared(p)) note_effect_of_order();
  hb_flight_counts(id, barrier, sizeof(mbarrier), pc);
  start_flight({static_cast<char*>(p), nullptr, bits, bytes, barrier, id, {}, 0, how, type});
}

void bulk_copy_multicast(void* destination, const void* source, unsigned bytes, mbarrier* barrier, uint16_t ranks,
                         call_site site) {
  thread& self = *current;
  self.site = site;
  access_point();
  need_bulk(destination, source, bytes);
  need_own_shared(destination);
  need_ranks(ranks);
  for (unsigned rank = 0; rank < device.cluster; ++rank) {
    if ((ranks >> rank & 1) == 0) continue;
    char* const to = in_rank(destination, rank);
    auto* const on = reinterpret_cast<mbarrier*>(in_rank(barrier, rank));
    need_visible(on, phase_of(on), SIMT_PC);
    hb_enters_proxy(self, to, bytes, proxy_use::writes, SIMT_PC);
    const uint32_t id = hb_flight_starts(self, to, source, bytes, SIMT_PC);
    hb_flight_counts(id, on, sizeof(mbarrier), SIMT_PC);
    start_flight({to, source, 0, bytes, on, id});
  }
}

void bulk_copy_remote(void* destination, const void* source, unsigned bytes, mbarrier* barrier, call_site site) {
  thread& self = *current;
  self.site = site;
  access_point();
  need_visible(barrier, phase_of(barrier), SIMT_PC);
  need_bulk(destination, source, bytes);
  need_own_shared(source, "source");
  if (owner_of(destination) == nullptr || owner_of(destination) != owner_of(barrier)) {
    fail("out_of_bounds", [&] {
      return describe(self) + " copies to an address that is not in the shared memory of the mbarrier's block, at " +
             describe(site);
    });
  }
  hb_enters_proxy(self, source, bytes, proxy_use::reads, SIMT_PC);
  hb_enters_proxy(self, destination, bytes, proxy_use::writes, SIMT_PC);
  const uint32_t id = hb_flight_starts(self, destination, source, bytes, SIMT_PC);
  hb_flight_counts(id, barrier, sizeof(mbarrier), SIMT_PC);
  start_flight({static_cast<char*>(destination), source, 0, bytes, barrier, id});
}

void bulk_store(void* destination, const void* source, unsigned bytes, call_site site) {
  thread& self = *current;
  self.site = site;
  access_point();
  need_bulk(destination, source, bytes);
  need_own_shared(source, "source");
  hb_enters_proxy(self, source, bytes, proxy_use::reads, SIMT_PC);
  const uint32_t reader = hb_name_agent(self, agent_kind::copy), writer = hb_name_agent(self, agent_kind::copy);
  hb_agent_access(reader, 1, source, bytes, false, SIMT_PC);
  const pending_store s = {
      static_cast<char*>(destination), source, bytes, self.open_store_group, false, reader, writer, {}};
  if (!is_in_flight(s)) hb_agent_access(writer, 1, destination, bytes, true, SIMT_PC);
  start_store(s);
}

bool is_in_flight(const pending_store& s) {
  const auto is_same_piece = [](const tensor_piece& x, const tensor_piece& y) {
    return x.offset == y.offset && x.global == y.global && x.bytes == y.bytes;
  };
  const auto is_same = [&](const pending_store& other) {
    if (other.source != s.source || other.destination != s.destination || other.bytes != s.bytes) return false;
    if (other.tile == nullptr || s.tile == nullptr) return other.tile == s.tile;
    return other.tile->reduction == tensor_reduction::none && other.tile->pattern == s.tile->pattern &&
           std::equal(other.tile->pieces.begin(), other.tile->pieces.end(), s.tile->pieces.begin(),
                      s.tile->pieces.end(), is_same_piece);
  };
  const thread* const lanes = current - current->lane;
  return std::any_of(lanes, lanes + k_lanes, [&](const thread& t) {
    return &t != current && std::any_of(t.stores.begin(), t.stores.end(), is_same);
  });
}

void bulk_store_commit() {
  hb_acts(*current);
  ++current->open_store_group;
}

void wait_for_bulk_stores(unsigned groups, bool read_only) {
  thread& self = *current;
  const uint32_t last = self.open_store_group > groups ? self.open_store_group - groups : 0;
  size_t kept = 0;
  for (pending_store& s : self.stores) {
    if (s.group < last) {
      if (!s.is_done) copy(s);
      s.is_done = true;
      hb_agent_done(self, s.reader, 2);
      if (!read_only) hb_agent_done(self, s.writer, 2);
    }
    if (s.group >= last || read_only) self.stores[kept++] = s;
  }
  self.stores.resize(kept);
}

// Copies that it did not wait for still complete, as long as its block's shared memory exists.
void async_thread_exits(thread& t) {
  check_last_store(t);
  for (pending_store& s : t.stores)
    if (!std::exchange(s.is_done, true)) copy(s);
}

}  // namespace emu
}  // namespace simt
