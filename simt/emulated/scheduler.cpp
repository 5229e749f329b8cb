// Decides which thread runs next. Every decision is a step; a schedule is a base order and the steps that deviate from
// it.
#include <algorithm>
#include <utility>

#include "simt/emulated/certificate.hpp"
#include "simt/emulated/executor.hpp"
#include "simt/emulated/explore.hpp"
#include "simt/emulated/parts.hpp"
#include "simt/emulated/symbols.hpp"

namespace simt {
inline namespace emu {
namespace {

// Rounds of atomics without effect after which a thread gives way: a spin loop must not starve whom it waits for.
constexpr uint32_t k_spin = 64;
constexpr uint32_t k_turns_of_warp = 4096;  // of a part, one after the other
constexpr int k_turns_ahead = 2, k_threads_ahead = 6;
constexpr int k_prefetched_lines = 4;  // of a stack, from its top

// The next runnable lane of the warp of thread `last`, cyclically; k_nobody if there is none.
SIMT_INLINE uint32_t next_of_warp(uint32_t last) {
  const uint32_t first_lane = last & ~(k_lanes - 1), lanes = device.runnable.warp(first_lane);
  if (lanes == 0) return k_nobody;
  const uint32_t later = lanes & ~((2u << (last & 31)) - 1);
  return first_lane + static_cast<uint32_t>(__builtin_ctz(later ? later : lanes));
}

// The order of a part is free. The threads of a warp have their stacks in the nearest cache, those of a block in the
// next. But a warp may wait, by what it reads again and again, for another one.
SIMT_INLINE uint32_t choice_of_part(uint32_t last) {
  if (++device.turns_of_warp < k_turns_of_warp) {
    const uint32_t lane = next_of_warp(last);
    if (lane != k_nobody) return lane;
  }
  device.turns_of_warp = 0;
  const uint32_t next = device.runnable.next((last & ~(k_lanes - 1)) + k_lanes);
  const uint32_t begin = thread_of(last).home->slot * device.padded;
  if (next - begin < device.padded) return next;
  const uint32_t again = device.runnable.next(begin);
  return again - begin < device.padded ? again : next;
}

// The base orders' choice after thread `last`.
SIMT_INLINE uint32_t base_choice(strategy base, uint32_t last, turn t) {
  if (t == turn::may_continue) return last;
  if (base == strategy::reverse) return device.runnable.previous(last == k_nobody ? k_nobody : last - 1);
  if (last == k_nobody) return device.runnable.next(0);
  const uint32_t first_lane = last & ~(k_lanes - 1);
  if (base == strategy::greedy && t == turn::spins) {
    // What a spinning thread waits for may come from any thread, and a thread that runs may keep its warp running: the
    // turns go to another warp and to one thread after the other, alternately.
    device.leaves_warp = !device.leaves_warp;
    if (device.leaves_warp) return device.runnable.next(first_lane + k_lanes);
    return device.spin_successor = device.runnable.next(device.spin_successor + 1);
  }
  if (base == strategy::greedy) {
    const uint32_t lane = next_of_warp(last);
    return lane != k_nobody ? lane : device.runnable.next(first_lane + k_lanes);
  }
  if (!is_part || t == turn::spins) return device.runnable.next(last + 1);
  return choice_of_part(last);
}

void set_rank(uint32_t resident, uint32_t rank) {
  const bool runs = device.runnable_ranks.contains(device.rank_of[resident]);
  device.runnable_ranks.erase(device.rank_of[resident]);
  device.rank_of[resident] = rank;
  device.thread_at[rank] = resident;
  if (runs) device.runnable_ranks.insert(rank);
}

// Ranks grow with every drop; when they are used up, the resident threads are numbered afresh in the same order.
void drop_to_last(uint32_t resident) {
  if (device.next_rank == device.thread_at.size()) {
    std::vector<std::pair<uint32_t, uint32_t>> order;
    for (uint32_t i = 0; i < device.rank_of.size(); ++i) order.emplace_back(device.rank_of[i], i);
    std::sort(order.begin(), order.end());
    device.runnable_ranks.reset(static_cast<uint32_t>(device.thread_at.size()));
    for (uint32_t rank = 0; rank < order.size(); ++rank) {
      const uint32_t i = order[rank].second;
      device.rank_of[i] = rank;
      device.thread_at[rank] = i;
      if (device.runnable.contains(i)) device.runnable_ranks.insert(rank);
    }
    device.next_rank = static_cast<uint32_t>(order.size());
  }
  set_rank(resident, device.next_rank++);
}

uint32_t pct_choice(uint32_t last, uint64_t step) {
  const bool drops = last != k_nobody && (step == device.change_step[0] || step == device.change_step[1]);
  if (drops && device.order == strategy::pct) drop_to_last(last);
  if (drops && device.order == strategy::pct_warp) {
    const uint32_t first_lane = last & ~(k_lanes - 1);
    for (uint32_t lane = 0; lane < k_lanes; ++lane) drop_to_last(first_lane + lane);
  }
  const uint32_t rank = device.runnable_ranks.next(0);
  return rank == k_nobody ? k_nobody : device.thread_at[rank];
}

void begin_priorities() {
  const auto n = static_cast<uint32_t>(device.slots * device.padded);
  const uint32_t group = device.order == strategy::pct_warp ? k_lanes : 1;
  own_vector<uint32_t> groups(n / group);
  for (uint32_t i = 0; i < groups.size(); ++i) groups[i] = i;
  for (auto i = static_cast<uint32_t>(groups.size()); i > 1; --i)
    std::swap(groups[i - 1], groups[device.random.below(i)]);
  device.rank_of.resize(n);
  device.thread_at.resize(n + std::max(n, 1024u));
  for (uint32_t rank = 0; rank < n; ++rank) {
    const uint32_t i = groups[rank / group] * group + rank % group;
    device.rank_of[i] = rank;
    device.thread_at[rank] = i;
  }
  device.next_rank = n;
  device.runnable_ranks.reset(static_cast<uint32_t>(device.thread_at.size()));
  // The length of the run is not known beforehand: each seed guesses one between 2^5 and 2^12 steps.
  const uint32_t length = 32u << device.random.below(8);
  for (uint64_t& step : device.change_step) step = device.stream->steps + 1 + device.random.below(length);
}

bool is_pct() { return device.order == strategy::pct || device.order == strategy::pct_warp; }

void record(uint64_t step, uint32_t choice) { device.stream->recorded.push_back({step, choice}); }

// A replay's deviation for this step, or k_nobody.
uint32_t replayed_choice(uint64_t step) {
  const std::vector<deviation>& list = device.stream->schedule.deviations;
  while (device.next_deviation < list.size() && list[device.next_deviation].step < step) ++device.next_deviation;
  if (device.next_deviation == list.size() || list[device.next_deviation].step != step) return k_nobody;
  return list[device.next_deviation].choice;
}

[[noreturn]] void stop_livelock(const char* why) {
  device.awaited = current != nullptr ? current->idle_at : nullptr;
  fail("livelock", [why] {
    std::string text = why;
    if (current != nullptr) text += ", last at " + describe(*current) + " [" + describe(current->site) + "]";
    const uint64_t blocks = device.total_clusters * device.cluster, started = device.blocks_started_here;
    if (started < blocks)
      text += "; " + std::to_string(blocks - started) + " of " + std::to_string(blocks) +
              " blocks have not started, and will when one of the " + std::to_string(device.slots) +
              " resident ones ends: a block must not wait for another that may start after it";
    return text;
  });
}

void renew_steps() {
  device.last_step = device.stream->steps + device.stream->step_limit;
  device.asks = 0;
}

// Threads that hardly ever ask a word wait for no other thread, except at barriers, which find their deadlocks
// themselves: such a launch is long. Where one lane asks and tells its warp by a few shuffles, a hundred steps have one
// ask.
void reach_step_limit() {
  if (device.asks <= device.stream->step_limit / 1024) return renew_steps();
  stop_livelock("the launch exceeded its limit of scheduler steps");
}

// Loads ahead of its turn what a later thread of the block needs, where the order says: since its last turn its stack
// has left the nearest cache, and its state before that. (Inline by force: g++ 12 takes a function that only prefetches
// for one without effect.)
SIMT_INLINE void prefetch_after(const thread& next) {
  const int turn = device.order == strategy::reverse ? -1 : 1;
  if (next.linear + static_cast<uint32_t>(turn * k_threads_ahead) >= device.padded) return;
  const auto* state = reinterpret_cast<const char*>(&next + turn * k_threads_ahead);
  for (int line = 0; line < 2; ++line) __builtin_prefetch(state + line * 64, 1);
  const auto* context = static_cast<const char*>((&next + turn * k_turns_ahead)->flow.context);
  for (int line = 0; line < k_prefetched_lines; ++line) __builtin_prefetch(context + line * 64);
}

SIMT_INLINE void run(thread& next) {
  thread& self = *current;
  if (!is_part || self.state != thread_state::at_warp_collective) prefetch_after(next);
  ++device.stream->switches;
  begin_flow(next);
  current = &next;
  switch_fiber(self.flow, next.flow, false);
}

// The next thread is mostly the neighbour. The processor foresees this branch, and so need not wait until the set of
// runnable threads is known, one turn after the other.
SIMT_INLINE void run_unless_self(uint32_t next) {
  thread& self = *current;
  if (next == self.resident + 1 && self.linear + 1 < device.threads) return run((&self)[1]);
  if (next != self.resident) run(thread_of(next));
}

// The running thread has ended: the next one becomes the running thread. It begins on the same stack if it has none.
void leave_thread() {
  thread& self = *current;
  device.idle_yields = 0;
  renew_steps();  // somebody gets on
  const uint32_t next = self.home->alive == 0 ? k_nobody : pick(self.resident, turn::blocks);
  ++device.stream->switches;
  current = next == k_nobody ? nullptr : &thread_of(next);
  if (current != nullptr && current->flow.stack == nullptr) {
    current->flow = std::exchange(self.flow, {});
    return;
  }
  free_stack(self.flow, false);  // no other fiber can start on it before the switch
  switch_fiber(self.flow, current == nullptr ? device.main : current->flow, true);
}

[[noreturn]] void run_threads() noexcept {
  fiber_entered(current->flow, device.main);
  for (;;) {
    device.run_thread(device.arguments);
    thread_exited(*current);
    leave_thread();
  }
}

}  // namespace

void begin_schedule() {
  const schedule& s = device.stream->schedule;
  if (s.strategy == strategy::replay && s.counts_accesses && s.build != 0 && s.build != build_id())
    throw device_error("schedule " + s.to_string() + " counts the memory accesses of another build: replay its seed");
  if (s.strategy == strategy::preempt && device.stream->record) {
    device.stream->recorded_accesses = true;
    device.stream->recorded_build = build_id();
  }
  device.order = s.strategy == strategy::explore ? strategy::fair : s.strategy;
  device.step_at_access = device.order == strategy::preempt || (device.order == strategy::replay && s.counts_accesses);
  renew_steps();
  device.idle_yields = 0;
  device.leaves_warp = false;
  device.spin_successor = 0;
  device.next_deviation = 0;
  device.random.state = s.seed;
  device.random.state = device.random.next() + device.stream->launches;
  device.runnable.reset(device.slots * device.padded,
                        device.order == strategy::random || device.order == strategy::preempt);
  if (is_pct()) begin_priorities();
}

void make_runnable(thread& t) {
  t.state = thread_state::runnable;
  device.runnable.insert(t.resident);
  if (is_pct()) device.runnable_ranks.insert(device.rank_of[t.resident]);
}

void make_runnable(thread* warp, uint32_t lanes) {
  device.runnable.insert_warp(warp->resident & ~(k_lanes - 1), lanes);
  for (uint32_t m = is_pct() ? lanes : 0; m; m &= m - 1)
    device.runnable_ranks.insert(device.rank_of[warp[__builtin_ctz(m)].resident]);
}

namespace {

SIMT_INLINE void make_waiting_here(thread& t) {
  device.runnable.erase(t.resident);
  if (is_pct()) device.runnable_ranks.erase(device.rank_of[t.resident]);
}

}  // namespace

void make_waiting(thread& t) { make_waiting_here(t); }

namespace {

// The choice of a replay.
uint32_t replay_choice(uint32_t last, turn t, uint64_t step) {
  const uint32_t usual = base_choice(device.stream->schedule.base, last, t);
  const uint32_t choice = replayed_choice(step);
  if (!device.runnable.contains(choice) || choice == usual) return usual;
  if (device.stream->record)
    device.stream->applied_deviations.push_back(
        "step " + std::to_string(step) + ": " +
        (last == k_nobody ? std::string("at the start")
                          : "after " + describe(thread_of(last)) + " [" + describe(thread_of(last).site) + "]") +
        " run " + describe(thread_of(choice)) + " instead of " + describe(thread_of(usual)));
  return choice;
}

uint32_t seeded_choice(uint32_t last, turn t, uint64_t step) {
  uint32_t choice = last;
  if (is_pct()) {
    choice = pct_choice(last, step);
  } else if (t != turn::may_continue || (device.random.next() & 15) == 0) {
    choice = device.runnable.random(device.random);
  }
  if (device.stream->record && choice != k_nobody && choice != base_choice(strategy::fair, last, t))
    record(step, choice);
  return choice;
}

// Inlined where threads wait: most launches run in a base order.
SIMT_INLINE uint32_t pick_here(uint32_t last, turn t) {
  if (explores() && device.runnable.next(0) == k_nobody) explore_choose();
  const uint64_t step = ++device.stream->steps;
  if (step > device.last_step) reach_step_limit();
  if (device.order <= strategy::reverse) return base_choice(device.order, last, t);
  return device.order == strategy::replay ? replay_choice(last, t, step) : seeded_choice(last, t, step);
}

}  // namespace

uint32_t pick(uint32_t last, turn t) { return pick_here(last, t); }

strategy base_order() {
  if (device.order <= strategy::reverse) return device.order;
  return device.order == strategy::replay ? device.stream->schedule.base : strategy::fair;
}

uint32_t decide(uint32_t options, uint32_t usual) {
  const uint64_t step = ++device.stream->steps;
  if (device.order <= strategy::reverse) return usual;
  if (device.order == strategy::replay) {
    const uint32_t choice = replayed_choice(step);
    return choice < options ? choice : usual;
  }
  const uint32_t choice = device.random.below(options);
  if (device.stream->record && choice != usual) record(step, choice);
  return choice;
}

void wait_here() {
  make_waiting_here(*current);
  may_land_flight();
  uint32_t next = pick_here(current->resident, turn::blocks);
  while (next == k_nobody && land_one_flight()) next = pick(current->resident, turn::blocks);
  if (next == k_nobody) {  // deadlock, which the main flow reports
    ++device.stream->switches;
    thread& self = *current;
    current = nullptr;
    switch_fiber(self.flow, device.main, false);
    return;
  }
  run_unless_self(next);
}

void after_sync() {
  device.idle_yields = 0;
  may_land_flight();
  run_unless_self(pick_here(current->resident, turn::may_continue));
}

void access_point() {
  if (!device.step_at_access) return;
  // Whoever does that much between two atomics is at work, and may be whom the others wait for.
  if (++current->accesses > k_spin) device.idle_yields = 0;
  run_unless_self(pick(current->resident, turn::may_continue));
}

void atomic_done(bool changed, const void* p, const void* pc, bool waits) {
  thread& self = *current;
  self.accesses = 0;
  if (changed)
    device.idle_yields = 0;
  else
    ++device.asks;
  if (changed) {
    self.is_not_idle();
    self.idle_at = p;
  } else if (p == self.idle_at) {
    self.idle_steps = 0;
    if (++self.idle > k_spin) {
      if (waits) hb_choice(choice::spin, pc);
      yield_to_others(self.site);
    }
  } else if (++self.idle_steps == self.idle_window) {
    // A loop that asks several words comes back to one of them. Which, and after how many others, it finds out by
    // comparing with ever later ones (R. P. Brent, "An improved Monte Carlo factorization algorithm", BIT 20, 1980).
    self.idle = self.idle_steps = 0;
    self.idle_window *= 2;
    self.idle_at = p;
  }
}

void spin_yield(const call_site& site) {
  hb_choice(choice::spin, SIMT_PC);
  yield_to_others(site);
}

void yield_to_others(const call_site& site) {
  thread& self = *current;
  self.site = site;
  self.is_not_idle();
  device.asks += k_spin;
  const uint64_t allowed = (uint64_t{1} << 16) + 64 * uint64_t{device.slots} * device.padded;
  if (++device.idle_yields > allowed) stop_livelock("every runnable thread spins and memory does not change");
  land_one_flight();
  give_way();
}

void give_way() {
  thread& self = *current;
  if (is_pct()) drop_to_last(self.resident);
  run_unless_self(pick(self.resident, turn::spins));
}

void begin_flow(thread& t) {
  if (t.flow.stack == nullptr) prepare_fiber(t.flow, run_threads);
}

}  // namespace emu
}  // namespace simt
