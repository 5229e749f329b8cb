// Block barriers and warp collectives: the last thread to arrive completes them for all.
#include "simt/emulated/collectives.hpp"

#include <utility>

#include "simt/emulated/certificate.hpp"
#include "simt/emulated/explore.hpp"
#include "simt/emulated/happens_before.hpp"

namespace simt {
inline namespace emu {
namespace {

bool same_line(const call_site& a, const call_site& b) {
  return a.line == b.line && (a.file == b.file || __builtin_strcmp(a.file, b.file) == 0);
}

void release_barrier(block_state& b) {
  if (b.may_skip) judge_skipped_barrier(b);
  b.may_skip = false;
  ++b.barriers;
  b.arrived = 0;
  if (device.counting != nullptr) ++device.counting->barriers;
  b.last_any = b.any;
  b.last_all = b.all;
  b.last_count = b.count;
  b.any = b.count = 0;
  b.all = 1;
  hb_block_barrier(b);
  explore_meet(b.slot, 1);
  for (uint32_t w = 0; w < device.warps; ++w)
    make_runnable(&b.threads[w * k_lanes], std::exchange(b.warps[w].at_barrier, 0));
}

// The lane whose value a shuffle by t reads (CUDA C++ Programming Guide, "Warp Shuffle Functions").
int source_lane(const thread& t) {
  const int lane = t.lane, width = t.width, base = lane & ~(width - 1), argument = static_cast<int>(t.argument);
  int source = lane;
  switch (t.op) {
    case warp_op::shuffle_index: return base + (argument & (width - 1));
    case warp_op::shuffle_up: source = lane - argument; return source < base ? lane : source;
    case warp_op::shuffle_down: source = lane + argument; return source >= base + width ? lane : source;
    case warp_op::shuffle_xor: source = lane ^ argument; return source >= base + width ? lane : source;
    default: return source;
  }
}

uint64_t shuffled(const thread* lanes, const thread& t, uint32_t present) {
  const int source = source_lane(t);
  if (source >= 0 && source < 32 && (present >> source & 1)) return lanes[source].value;
  fail("divergence", [&] {
    const bool named = source >= 0 && source < 32 && (t.mask >> source & 1);
    return describe(t) + " shuffles from lane " + std::to_string(source) + ", which " +
           (named ? "has exited" : "the mask does not name") + ", at " + describe(t.site);
  });
}

uint64_t reduced(warp_op op, const thread* lanes, uint32_t present) {
  auto fold = [&](auto zero, auto combine) {
    auto total = zero;
    bool first = true;
    for (uint32_t m = present; m; m &= m - 1) {
      const auto value = static_cast<decltype(zero)>(lanes[__builtin_ctz(m)].value);
      total = first ? value : combine(total, value);
      first = false;
    }
    return static_cast<uint64_t>(static_cast<uint32_t>(total));
  };
  const uint32_t u = 0;
  const int32_t s = 0;
  switch (op) {
    case warp_op::reduce_add: return fold(u, [](uint32_t a, uint32_t b) { return a + b; });
    case warp_op::reduce_and: return fold(u, [](uint32_t a, uint32_t b) { return a & b; });
    case warp_op::reduce_or: return fold(u, [](uint32_t a, uint32_t b) { return a | b; });
    case warp_op::reduce_xor: return fold(u, [](uint32_t a, uint32_t b) { return a ^ b; });
    case warp_op::reduce_min_unsigned: return fold(u, [](uint32_t a, uint32_t b) { return a < b ? a : b; });
    case warp_op::reduce_max_unsigned: return fold(u, [](uint32_t a, uint32_t b) { return a > b ? a : b; });
    case warp_op::reduce_min_signed: return fold(s, [](int32_t a, int32_t b) { return a < b ? a : b; });
    default: return fold(s, [](int32_t a, int32_t b) { return a > b ? a : b; });
  }
}

uint64_t ballot(const thread* lanes, uint32_t present) {
  uint64_t votes = 0;
  for (uint32_t m = present; m; m &= m - 1) {
    const int lane = __builtin_ctz(m);
    votes |= uint64_t{lanes[lane].value != 0} << lane;
  }
  return votes;
}

uint64_t matching(const thread* lanes, uint32_t present, uint64_t value) {
  uint64_t same = 0;
  for (uint32_t m = present; m; m &= m - 1) {
    const int lane = __builtin_ctz(m);
    same |= uint64_t{lanes[lane].value == value} << lane;
  }
  return same;
}

// The lanes that the operation of a waiting one is for.
uint32_t present_of(const warp_state& w, const thread& t) { return t.mask & w.live; }

// The lanes that it still waits for: those that have not arrived, or wait in an operation with another mask.
uint32_t missing_of(const warp_state& w, const thread* lanes, const thread& t) {
  uint32_t missing = present_of(w, t) & ~w.waiting;
  if (!w.differ) return missing;
  for (uint32_t m = present_of(w, t) & w.waiting; m; m &= m - 1)
    if (lanes[__builtin_ctz(m)].mask != t.mask) missing |= m & -m;
  return missing;
}

// The waiting lanes whose operation cannot complete, because they wait for each other with different masks.
uint32_t stuck_lanes(const warp_state& w, const thread* lanes) {
  uint32_t stuck = w.waiting;
  for (uint32_t before = 0; stuck != before;) {
    before = stuck;
    for (uint32_t m = stuck; m; m &= m - 1) {
      const uint32_t missing = missing_of(w, lanes, lanes[__builtin_ctz(m)]);
      if (missing == 0 || (missing & ~stuck) != 0) stuck &= ~(m & -m);
    }
  }
  return stuck;
}

[[noreturn]] void report_different(const thread& t, const thread& leader) {
  fail("divergence", [&] {
    return describe(t) + " at " + describe(t.site) + " and lane " + std::to_string(leader.lane) + " at " +
           describe(leader.site) + " meet in different warp operations, masks or widths";
  });
}

// All lanes of `present` wait with the same mask: computes their results and lets them run.
void complete(block_state& b, unsigned warp_number, uint32_t present) {
  warp_state& w = b.warps[warp_number];
  thread* lanes = &b.threads[warp_number * k_lanes];
  const thread& leader = lanes[__builtin_ctz(present)];
  const warp_op op = leader.op;
  for (uint32_t m = w.differ ? present : 0; m; m &= m - 1) {
    const thread& t = lanes[__builtin_ctz(m)];
    const bool of_matrices = op >= warp_op::mma && op <= warp_op::exchange;
    if (t.op != op || t.width != leader.width || (of_matrices && t.argument != leader.argument))
      report_different(t, leader);
  }
  uint64_t common = 0;
  if (op == warp_op::ballot)
    common = ballot(lanes, present);
  else if (op == warp_op::match_all)
    common = matching(lanes, present, leader.value) == present ? present : 0;
  else if (op >= warp_op::mma && op <= warp_op::exchange)
    complete_matrix_op(lanes, present);
  else if (op >= warp_op::reduce_add)
    common = reduced(op, lanes, present);
  const bool shuffles = op >= warp_op::shuffle_index && op <= warp_op::shuffle_xor;
  for (uint32_t m = present; m; m &= m - 1) {
    thread& t = lanes[__builtin_ctz(m)];
    t.result = shuffles                   ? shuffled(lanes, t, present)
               : op == warp_op::match_any ? matching(lanes, present, t.value)
                                          : common;
  }
  make_runnable(lanes, present);
  w.waiting &= ~present;
  explore_meet(lanes, present);
  if (op == warp_op::sync) hb_warp_sync(b, warp_number, present);
}

// Completes the operation of a waiting lane if all its lanes have come. Returns whether they have.
bool complete_if_met(block_state& b, const thread& t) {
  const warp_state& w = b.warps[t.warp];
  const thread* lanes = &b.threads[t.warp * k_lanes];
  const uint32_t present = present_of(w, t);
  if ((present & ~w.waiting) != 0) return false;
  const uint32_t missing = missing_of(w, lanes, t);
  if (missing == 0)
    complete(b, t.warp, present);
  else if (stuck_lanes(w, lanes) >> t.lane & 1)
    report_different(t, lanes[__builtin_ctz(missing)]);
  return missing == 0;
}

}  // namespace

namespace {

[[noreturn]] void report_two_barriers(const thread& self, const call_site& site) {
  fail("divergence", [&] {
    return describe(self) + " is at the barrier of " + describe(site) + " while others of its block wait at that of " +
           describe(self.home->barrier_site);
  });
}

[[noreturn]] void report_not_in_mask(const thread& self) {
  fail("divergence", [&] {
    return describe(self) + " is not in the mask of the warp operation that it executes at " + describe(self.site);
  });
}

}  // namespace

void meet_block(int predicate, reduction r, const call_site& site) {
  thread& self = *current;
  block_state& b = *self.home;
  check_stack(self);
  if (b.arrived == 0)
    b.barrier_site = r == reduction::none ? call_site{} : site;
  else if (r != reduction::none && b.barrier_site.line != 0 && !same_line(b.barrier_site, site))
    report_two_barriers(self, site);
  b.any |= predicate != 0;
  b.all &= predicate != 0;
  b.count += predicate != 0;
  self.site = site;
  self.state = thread_state::at_block_barrier;
  b.warps[self.warp].at_barrier |= 1u << self.lane;
  if (++b.arrived == b.alive) {
    release_barrier(b);
    after_sync();
  } else {
    wait_here();
  }
}

int barrier_result(reduction r) noexcept {
  const block_state& b = *current->home;
  return r == reduction::any ? b.last_any : r == reduction::all ? b.last_all : b.last_count;
}

void meet_warp(warp_op op, unsigned mask, uint64_t value, unsigned argument, int width, const call_site& site) {
  thread& self = *current;
  block_state& b = *self.home;
  warp_state& w = b.warps[self.warp];
  check_stack(self);
  self.site = site;
  if ((mask >> self.lane & 1) == 0) report_not_in_mask(self);
  self.op = op;
  self.mask = mask;
  self.value = value;
  self.argument = argument;
  self.width = width;
  self.state = thread_state::at_warp_collective;
  if (w.waiting == 0) {
    w.differ = false;
  } else {
    const thread& other = b.threads[self.warp * k_lanes + static_cast<unsigned>(__builtin_ctz(w.waiting))];
    const bool of_matrices = op >= warp_op::mma && op <= warp_op::exchange;
    w.differ = w.differ || mask != other.mask || op != other.op || width != other.width ||
               (of_matrices && argument != other.argument);
  }
  w.waiting |= 1u << self.lane;
  if ((present_of(w, self) & ~w.waiting) == 0 && complete_if_met(b, self))
    after_sync();
  else
    wait_here();
}

uint64_t warp_result() noexcept { return current->result; }

// Lanes of a warp need not run together, so that any that are at the same call are a right answer. They are the caller
// alone (always so under greedy), or those that come to the call until it is the caller's turn again.
unsigned active_mask() noexcept {
  thread& self = *current;
  hb_choice(choice::active_mask, SIMT_PC);
  if (decide(2, base_order() == strategy::greedy) == 1) return 1u << self.lane;
  self.asks_at = SIMT_PC;
  self.group = 0;
  give_way();
  if (self.group == 0) {
    thread* lanes = &self.home->threads[self.warp * k_lanes];
    const auto asks_too = [&](const thread& t) { return t.asks_at == self.asks_at && t.group == 0; };
    uint32_t group = 0;
    for (uint32_t m = self.home->warps[self.warp].live; m; m &= m - 1)
      if (asks_too(lanes[__builtin_ctz(m)])) group |= m & -m;
    for (uint32_t m = group; m; m &= m - 1) lanes[__builtin_ctz(m)].group = group;
  }
  self.asks_at = nullptr;
  return self.group;
}
unsigned lane_index() noexcept { return current->lane; }

void thread_exited(thread& t) {
  block_state& b = *t.home;
  warp_state& w = b.warps[t.warp];
  t.state = thread_state::finished;
  make_waiting(t);
  --b.alive;
  w.live &= ~(1u << t.lane);
  t.copies.clear();
  async_thread_exits(t);
  hb_thread_exits(t);
  b.may_skip |= t.evaluated_after == b.barriers && !t.evaluated.empty();
  if (b.alive > 0 && b.arrived == b.alive) release_barrier(b);
  named_barriers_lose_thread(t);
  // A collective may have waited for this lane only.
  for (uint32_t lanes = w.waiting; lanes != 0; lanes &= w.waiting) {
    const auto first = static_cast<uint32_t>(__builtin_ctz(lanes));
    lanes &= lanes - 1;
    complete_if_met(b, b.threads[t.warp * k_lanes + first]);
  }
  wide_thread_exits(t);
  if (b.alive == 0) close_shared(b);
}

}  // namespace emu
}  // namespace simt
