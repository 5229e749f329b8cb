// Happens-before. Barriers of the own block and warp are scalars (every epoch below `base` is known); partial warp
// barriers keep 32 lane epochs; fences, atomics and wider barriers carry explicit vector clocks. Shuffles and votes
// order nothing, as in CUDA's memory model.
#include "simt/emulated/happens_before.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "simt/emulated/bank_counts.hpp"
#include "simt/emulated/certificate_state.hpp"
#include "simt/emulated/detector.hpp"
#include "simt/emulated/packed_cells.hpp"
#include "simt/emulated/tried_waits.hpp"

namespace simt {
inline namespace emu {

detector_state detector;
thread_local std::vector<forbidden_range> forbidden_here;

namespace {

// Events that releases have published through one atomic variable, by scope and the block or cluster within it (device:
// 0). Atomics on a variable follow each other in a known order, except for reads without a write between them: events
// released before a read are only published by the next write.
struct publication {
  memory_scope scope;
  uint32_t domain;
  vector_clock what, by_reads;
};
std::unordered_map<uintptr_t, std::vector<publication>> variables;

thread_clock& details(thread& t) {
  if (t.knows == nullptr) t.knows = std::make_unique<thread_clock>();
  return *t.knows;
}

uint32_t domain_of(const thread& t, memory_scope scope) {
  switch (scope) {
    case memory_scope::block: return t.home->instance;
    case memory_scope::cluster: return t.home->cluster_instance;
    default: return 0;
  }
}

uint32_t new_arena_stamp() {
  if (++detector.arena_generation >= k_split) {
    shadow_forget();
    detector.arena_generation = 1;
  }
  return detector.arena_generation;
}

// The names are used up: accesses and vector clocks so far are forgotten together. Forgetting the accesses alone would
// leave a clock that covers what the next thread of that name does; forgetting the clocks alone would make races of
// what was ordered. What orders two accesses comes after the first of them, so that none to come needs what is
// forgotten.
void forget_history() {
  count_choice(choice::lost_history, 0);
  new_generation();
  detector.launch_begin = 0;
  variables.clear();
  for (uint32_t slot = 0; slot < device.slots; ++slot) {
    block_state& b = *device.blocks[slot];
    if (!b.active) continue;
    b.stamp = new_arena_stamp();
    b.known.clear();
    b.knows_others = false;
    for (wide_clock& wide : b.wide) wide = {};
    b.passed = {};
    b.foreign.clear();
    for (thread& t : b.threads) t.knows.reset();
  }
  for (wide_barrier& w : device.clusters) w.gathered.clear(), w.last.clear();
  device.grid_barrier.gathered.clear();
  device.grid_barrier.last.clear();
  forget_async();
}

bool is_taken(uint32_t instance) {
  for (uint32_t slot = 0; slot < device.slots; ++slot)
    if (device.blocks[slot]->active && device.blocks[slot]->instance == instance) return true;
  return false;
}

uint32_t next_instance() {
  do {
    if (++detector.instances > device.slots + detector.spare_names) {
      forget_history();
      detector.instances = 1;
      detector.wrapped = true;
    }
  } while (detector.wrapped && is_taken(detector.instances));
  return detector.instances;
}

void join_all(vector_clock& to, const vector_clock& known, const wide_clock (&wide)[2]) {
  to.join(known);
  for (const wide_clock& w : wide) to.join(w.what);
}

// The part of a thread's fences, and of its atomics since, that a barrier passes on.
void pass_on(thread_clock& of_thread, passed_fences& to) {
  to.join(of_thread.passed);
  for (unsigned s = 0; s < 3; ++s)
    for (thread_clock::pending& p : of_thread.acquirable[s]) {
      if (p.is_passed_on) continue;
      to.acquirable[s].join(p.what);
      p.is_passed_on = true;
    }
  of_thread.passed = {};
}

// Adds the thread's new knowledge to its block's.
void pool_clock(block_state& b, thread_clock& learnt) {
  pass_on(learnt, b.passed);
  for (unsigned k = 0; k < 2; ++k) b.wide[k].advance(learnt.wide[k]);
  b.known.join(learnt.known);
  b.knows_others = !b.known.empty() || !b.wide[0].what.empty() || !b.wide[1].what.empty();
  learnt.known.clear();
}

}  // namespace

uint32_t name_flight(const thread& t, agent_kind kind) {
  const uint32_t instance = next_instance();
  if (detector.block_of_instance.size() <= instance) detector.block_of_instance.resize(instance + 1);
  detector.block_of_instance[instance] = detector.block_of_instance[t.home->instance];
  detector.agents.resize(detector.block_of_instance.size());
  detector.agents[instance] = kind;
  return instance << k_instance_shift | k_agent | t.linear;
}

void limit_names(uint32_t spare) { detector.spare_names = spare; }

void new_generation() {
  if (++detector.generation >= k_split) {
    shadow_forget();
    detector.generation = 1;
  }
  forget_linked();
}

vector_clock snapshot(const thread& t) {
  const block_state& b = *t.home;
  const warp_state& w = b.warps[t.warp];
  vector_clock k;
  if (t.knows != nullptr) join_all(k, t.knows->known, t.knows->wide);
  join_all(k, b.known, b.wide);
  k.join(vector_clock::block_key(b.instance), b.base);
  if (w.base > b.base) k.join(vector_clock::warp_key(b.instance, t.warp), w.base);
  if (t.knows != nullptr && t.knows->has_lanes)
    for (uint32_t lane = 0; lane < k_lanes; ++lane)
      if (t.knows->lane_below[lane] > w.base)
        k.join(vector_clock::thread_key((t.id & ~uint32_t{31}) | lane), t.knows->lane_below[lane]);
  k.join(vector_clock::thread_key(t.id), t.clock + 1);
  return k;
}

void join(thread& t, const vector_clock& what) {
  hb_acts(t);
  details(t).known.join(what);
}
void join(thread& t, uint64_t key, uint32_t below) {
  hb_acts(t);
  details(t).known.join(key, below);
}

// A launch that may overlap those before it goes on with their accesses, which happened before nothing of it until a
// thread waits for them.
void hb_launch_begins(bool programmatic_launch) {
  const bool overlaps = programmatic_launch && !detector.settled && !detector.wrapped;
  certificate_begins(overlaps);
  if (!overlaps) {
    new_generation();
    detector.instances = 0;
    detector.wrapped = false;
    detector.block_of_instance.assign(1, {});
    variables.clear();
  }
  if (!overlaps)
    device.had_parts = false;
  else if (device.had_parts)  // whose accesses are not known one by one
    count_choice(choice::earlier_launch, 0);
  detector.launch_begin = detector.instances + 1;
  detector.settled = false;
  detector.unwritten.found = false;
  detector.far_access = 0;
  detector.watches = false;
  detector.forbidden = forbidden_here;
}

bool ordered_by_clocks(const access_record& r, const thread& t) {
  if (r.thread == t.id) return true;
  const block_state& b = *t.home;
  if (instance_of(r.thread) == b.instance && (r.thread & k_agent) == 0) {
    const uint32_t linear = linear_of(r.thread);
    const thread& other = b.threads[linear];
    // A barrier orders those who take part: an exited thread's last epoch is behind no later barrier. As long as no
    // thread has exited, the other thread's state, which is seldom in the cache, is not read.
    const bool behind = b.alive == device.threads || other.state != thread_state::finished || r.clock < other.clock;
    if (r.clock < b.base && behind) return true;
    if (linear / k_lanes == t.warp && behind) {
      if (r.clock < b.warps[t.warp].base) return true;
      if (t.knows != nullptr && t.knows->has_lanes && r.clock < t.knows->lane_below[linear % k_lanes]) return true;
    }
  }
  for (const wide_clock& wide : b.wide)
    if (wide.covers(r.thread, r.clock)) return true;
  if (b.known.covers(r.thread, r.clock)) return true;
  if (t.knows == nullptr) return false;
  for (const wide_clock& wide : t.knows->wide)
    if (wide.covers(r.thread, r.clock)) return true;
  return t.knows->known.covers(r.thread, r.clock);
}

void hb_stream_settles() { detector.settled = true; }

void hb_waits_for_previous(thread& t) { join(t, vector_clock::k_launches_before, detector.launch_begin); }

bool hb_has_one_outcome_so_far() { return certificate_holds() && !detector.unwritten.found && !has_open_races; }

void hb_launch_ends() {
  for (uint32_t slot = 0; slot < device.slots; ++slot) {
    block_state& b = *device.blocks[slot];
    b.known.clear();
    b.knows_others = false;
    for (wide_clock& wide : b.wide) wide = {};
    b.passed = {};
    b.foreign.clear();
  }
}

void hb_block_starts(block_state& b) {
  b.instance = next_instance();
  if (detector.block_of_instance.size() <= b.instance) detector.block_of_instance.resize(b.instance + 1);
  detector.block_of_instance[b.instance] = b.index;
  detector.agents.resize(detector.block_of_instance.size());
  detector.agents[b.instance] = agent_kind::none;
  b.base = 1;
  b.known.clear();
  b.knows_others = false;
  for (wide_clock& wide : b.wide) wide = {};
  b.passed = {};
  b.foreign.clear();
  b.cluster_instance = device.blocks[b.slot / device.cluster * device.cluster]->instance;
  b.stamp = new_arena_stamp();
  for (warp_state& w : b.warps) w.base = 1;
}

void hb_thread_starts(thread& t) {
  t.clock = 1;
  t.arrived_at[0] = t.arrived_at[1] = 0;
  t.written = 0;
  t.has_fenced = false;
  t.id = t.home->instance << k_instance_shift | t.linear;
  t.knows.reset();
}

void hb_block_barrier(block_state& b) {
  if (device.counting != nullptr) count_banks_of_block(b, *device.counting);
  uint32_t latest = 0;
  for (uint32_t i = 0; i < device.threads; ++i) latest = std::max(latest, b.threads[i].clock);
  b.base = latest + 1;
  for (uint32_t i = 0; i < device.threads; ++i) {
    thread& t = b.threads[i];
    if (t.state == thread_state::finished) continue;
    t.clock = b.base;
    if (t.knows != nullptr) pool_clock(b, *t.knows);
  }
  for (warp_state& w : b.warps) w.base = b.base;
}

void hb_warp_sync(block_state& b, unsigned warp_number, uint32_t lanes) {
  if (device.counting != nullptr) count_banks_of_warp(b, warp_number, *device.counting);
  warp_state& w = b.warps[warp_number];
  thread* warp = &b.threads[warp_number * k_lanes];
  uint32_t latest = 0;
  vector_clock all;
  passed_fences passed;
  for (uint32_t m = lanes; m; m &= m - 1) {
    const thread& t = warp[__builtin_ctz(m)];
    latest = std::max(latest, t.clock);
    if (t.knows == nullptr) continue;
    join_all(all, t.knows->known, t.knows->wide);
    pass_on(*t.knows, passed);
  }
  if (lanes == w.live) {
    w.base = latest + 1;
    // Lanes that have left since are not behind the base.
    for (uint32_t m = lanes; m; m &= m - 1) {
      const thread_clock* k = warp[__builtin_ctz(m)].knows.get();
      if (k == nullptr || !k->has_lanes) continue;
      for (uint32_t i = 0; i < k_lanes; ++i)
        if ((lanes >> i & 1) == 0 && k->lane_below[i] > 0)
          all.join(vector_clock::thread_key(warp[i].id), k->lane_below[i]);
    }
    for (uint32_t m = lanes; m; m &= m - 1) warp[__builtin_ctz(m)].clock = w.base;
  } else {
    uint32_t below[k_lanes] = {};
    for (uint32_t m = lanes; m; m &= m - 1) {
      const auto lane = static_cast<uint32_t>(__builtin_ctz(m));
      if (const thread_clock* k = warp[lane].knows.get(); k != nullptr && k->has_lanes)
        for (uint32_t i = 0; i < k_lanes; ++i) below[i] = std::max(below[i], k->lane_below[i]);
      below[lane] = std::max(below[lane], warp[lane].clock + 1);
    }
    for (uint32_t m = lanes; m; m &= m - 1) {
      thread& t = warp[__builtin_ctz(m)];
      thread_clock& k = details(t);
      std::copy(std::begin(below), std::end(below), std::begin(k.lane_below));
      k.has_lanes = true;
      ++t.clock;
    }
  }
  if (!all.empty())
    for (uint32_t m = lanes; m; m &= m - 1) join(warp[__builtin_ctz(m)], all);
  if (!passed.empty())
    for (uint32_t m = lanes; m; m &= m - 1) details(warp[__builtin_ctz(m)]).passed = passed;
}

void hb_fence(thread& t, memory_scope scope, fence_order order) {
  t.has_fenced = true;
  thread_clock& k = details(t);
  const bool sequential = order == fence_order::sequential;
  for (unsigned s = 0; s <= static_cast<unsigned>(scope); ++s) {
    if (!k.acquirable[s].empty()) hb_choice(choice::published, nullptr);
    for (const auto& pending : k.acquirable[s]) k.known.join(pending.what);
    k.acquirable[s].clear();
    if (!sequential) continue;
    const vector_clock& of_block = t.home->passed.acquirable[s];
    if (!k.passed.acquirable[s].empty() || !of_block.empty()) hb_choice(choice::published, nullptr);
    k.known.join(k.passed.acquirable[s]);
    k.known.join(of_block);
    k.passed.acquirable[s].clear();
  }
  const vector_clock released = snapshot(t);
  for (unsigned s = 0; s <= static_cast<unsigned>(scope); ++s) {
    k.released[s] = released;
    if (sequential) k.passed.released[s] = released;
  }
  ++t.clock;
}

static publication& publication_at(uintptr_t p, memory_scope scope, const thread& t) {
  std::vector<publication>& list = variables[p];
  const uint32_t domain = domain_of(t, scope);
  const auto same = std::find_if(list.begin(), list.end(),
                                 [&](const publication& e) { return e.scope == scope && e.domain == domain; });
  return same != list.end() ? *same : list.emplace_back(publication{scope, domain, {}, {}});
}

// A fence of t, of at least this scope, makes it known.
static void acquirable(thread& t, uintptr_t p, memory_scope scope, const vector_clock& what) {
  auto& list = details(t).acquirable[static_cast<unsigned>(scope)];
  const auto same = std::find_if(list.begin(), list.end(), [&](const auto& e) { return e.variable == p; });
  if (same == list.end())
    list.push_back({p, what});
  else if (!same->what.is(what))
    *same = {p, what};
}

// The synchronising side of an atomic: it may acquire what was published at p and publish what fences released.
void hb_publish(thread& t, uintptr_t p, memory_scope scope, atomic_kind kind) {
  const bool writes = kind != atomic_kind::load;
  const passed_fences& of_block = t.home->passed;
  if (variables.empty() && t.knows == nullptr && of_block.empty()) return;
  if (const auto at = variables.find(p); at != variables.end()) {
    for (publication& published : at->second) {
      if (writes) published.what.join(std::exchange(published.by_reads, {}));
      if (published.what.empty() || published.scope > scope || published.domain != domain_of(t, published.scope))
        continue;
      acquirable(t, p, published.scope, published.what);
    }
  }
  for (unsigned s = 0; s <= static_cast<unsigned>(scope); ++s) {
    const auto publish = [&](const vector_clock& released) {
      if (released.empty()) return;
      publication& here = publication_at(p, static_cast<memory_scope>(s), t);
      (writes ? here.what : here.by_reads).join(released);
    };
    publish(of_block.released[s]);
    if (t.knows == nullptr) continue;
    publish(t.knows->passed.released[s]);
    if (!t.knows->released[s].is(t.knows->passed.released[s])) publish(t.knows->released[s]);
  }
}

// Epochs before an arrival lie below the phase's bound, those after it do not: then one entry stands for a block.
static uint32_t bound_of(const wide_barrier& w) { return static_cast<uint32_t>(w.phase << 12); }

// The contribution of a thread that releases nothing itself: events that a fence of it released, and the mbarriers that
// it initialised.
static vector_clock fenced_by(const thread& t, memory_scope scope) {
  const auto s = static_cast<unsigned>(scope);
  vector_clock k = t.home->passed.released[s];
  if (t.knows == nullptr) return k;
  k.join(t.knows->initialised);
  k.join(t.knows->released[s]);
  k.join(t.knows->passed.released[s]);
  return k;
}

// From now on an entry for the block would stand for too much: those that have arrived bring their own.
static void become_partial(wide_barrier& w, const thread& self) {
  w.is_partial = true;
  for (uint32_t slot = w.first_slot; slot < w.first_slot + device.cluster; ++slot) {
    block_state& b = *device.blocks[slot];
    for (uint32_t i = 0; b.active && i < device.threads; ++i) {
      thread& t = b.threads[i];
      if (&t == &self || t.cluster_phase != w.phase) continue;
      --t.clock;  // with which it goes on
      w.gathered.join(snapshot(t));
      ++t.clock;
    }
  }
}

void hb_wide_arrives(wide_barrier& w, thread& t, bool releases) {
  const uint64_t of_thread = t.knows != nullptr ? t.knows->wide[w.grid].phase : 0;
  if (std::max(of_thread, t.home->wide[w.grid].phase) + 1 < w.phase) hb_choice(choice::barrier_member, nullptr);
  t.arrived_at[w.grid] = t.clock;
  if (!releases) {
    certificate.is_wide_partial = true;
    if (!w.is_partial) become_partial(w, t);
    w.gathered.join(fenced_by(t, memory_scope::cluster));
  } else if (!w.is_partial && t.clock < bound_of(w) && !(t.knows != nullptr && t.knows->has_lanes)) {
    t.clock = bound_of(w);
    if (t.knows != nullptr) join_all(w.gathered, t.knows->known, t.knows->wide);
  } else {  // what it knows of its block's threads that have left may lie beyond the bound
    w.gathered.join(snapshot(t));
    t.clock = std::max(t.clock + 1, bound_of(w));
  }
}

void hb_wide_completes(wide_barrier& w, uint32_t first_slot, uint32_t slots) {
  for (uint32_t slot = first_slot; slot < first_slot + slots && !w.is_partial; ++slot) {
    const block_state& b = *device.blocks[slot];
    if (!b.active) continue;
    if (b.alive != device.threads) certificate.is_wide_partial = true;
    w.gathered.join(vector_clock::block_key(b.instance), bound_of(w));
    join_all(w.gathered, b.known, b.wide);
  }
  w.last.join(w.gathered);
  w.gathered.clear();
  w.is_partial = false;
}

void hb_wide_passes(const wide_barrier& w, thread& t) { details(t).wide[w.grid].advance({w.phase - 1, w.last}); }

// With scope .cta another block's arrival contributes nothing.
void hb_phase_arrives(phase_clock& k, thread& t, const block_state& owner, barrier_order order) {
  certify_arrival(k, t);
  const bool is_afar = t.home != &owner;
  vector_clock& to = is_afar ? k.gathered_afar : k.gathered;
  const memory_scope scope = order.is_of_own_block ? memory_scope::block : memory_scope::cluster;
  if (!(is_afar && order.is_of_own_block)) to.join(order.is_relaxed ? fenced_by(t, scope) : snapshot(t));
  ++t.clock;
}

void hb_phase_completes(phase_clock& k) {
  ++k.phases;
  certify_arrivals(k);
  if (certificate.holds && k.key != 0) k.gathered.join(vector_clock::phase_key(k.key), k.phases);
  k.complete.join(std::exchange(k.gathered, {}));
  k.complete_afar.join(std::exchange(k.gathered_afar, {}));
  certify_completion(k);
}

void hb_phase_passes(phase_clock& k, thread& t, const void* p, barrier_order order) {
  certify_pass(k, t);
  const memory_scope scope = order.is_of_own_block ? memory_scope::block : memory_scope::cluster;
  auto place = reinterpret_cast<uintptr_t>(p);
  for (const vector_clock* what : {&k.complete, &k.complete_afar}) {
    if (what == &k.complete_afar && (what->empty() || order.is_of_own_block)) continue;
    if (order.is_relaxed)
      acquirable(t, place++, scope, *what);
    else
      join(t, *what);
  }
}

void hb_phase_expects(phase_clock& k, const thread& t) { certify_expectation(k, t); }

void hb_phase_gathers_groups(phase_clock& k, const thread& t) {
  certify_expectation(k, t);
  k.gathered.join(vector_clock::thread_key(t.id | k_agent), t.open_group + 1);
}

void hb_flight_counts_on(phase_clock& k, const thread& t) { certify_arrival(k, t); }

void hb_flight_lands(phase_clock& k, uint32_t id, bool is_same_phase) {
  if (!is_same_phase) hb_choice(choice::barrier_member, nullptr);
  k.gathered.join(vector_clock::thread_key(id), 2);
}

void hb_groups_complete(thread& t, uint32_t below) { join(t, vector_clock::thread_key(t.id | k_agent), below); }

}  // namespace emu
}  // namespace simt
