// Named barriers of a block: barriers among some of its warps. A thread that comes to one waits for the threads of its
// warp that have not exited. Then the warp arrives and counts as 32 threads (PTX ISA, "barrier{.cta}").
#include <cstring>
#include <utility>

#include "simt/emulated/happens_before.hpp"
#include "simt/emulated/tensor.hpp"

namespace simt {
inline namespace emu {
namespace {

constexpr int k_first_of_tiles = 16;  // those before are the kernel's own
constexpr int k_named_barriers = k_first_of_tiles + 32;

// Each tile of each size has a barrier: 16 tiles of 64 threads, 8 of 128, and so on.
int barrier_of(unsigned tile, unsigned size) { return k_first_of_tiles + static_cast<int>(32 - 2048 / size + tile); }

// Of the caller's block.
named_barrier_state& barrier(int id) {
  std::vector<named_barrier_state>& all = current->home->named_barriers;
  if (all.empty()) all.resize(static_cast<size_t>(k_named_barriers));
  return all[static_cast<size_t>(id)];
}

// Without a count (0), a barrier waits for the threads that have not exited.
bool is_complete(const named_barrier_state& n, const block_state& b) {
  return n.expected == 0 ? n.threads == b.alive : n.arrived >= n.expected;
}

void give_votes(thread& t, const barrier_votes& votes) { t.result = votes.ones | uint64_t{votes.voters} << 32; }

void wake(thread& t, const named_barrier_state& n) {
  if (t.state != thread_state::at_named_barrier || t.waits_for != &n) return;
  give_votes(t, n.last_votes);
  make_runnable(t);
}

void complete(named_barrier_state& n, block_state& b) {
  n.arrived = n.threads = 0;
  ++n.phase;
  n.last_votes = std::exchange(n.votes, {});
  give_votes(*current, n.last_votes);
  if (device.counting != nullptr) ++device.counting->barriers;
  hb_phase_completes(n.known);
  for (uint32_t w = 0; w < device.warps; ++w) n.threads += static_cast<unsigned>(__builtin_popcount(n.come[w]));
  for (uint32_t i = 0; i < device.threads; ++i)
    if ((n.come[i / k_lanes] >> i % k_lanes & 1) == 0) wake(b.threads[i], n);
}

// The warp arrives if all its lanes have come that have not exited.
void arrive_if_met(named_barrier_state& n, block_state& b, uint32_t warp) {
  if (n.come[warp] == 0 || (b.warps[warp].live & ~n.come[warp]) != 0) return;
  const uint32_t leaving = std::exchange(n.leaving[warp], 0);
  thread* lanes = &b.threads[warp * k_lanes];
  for (uint32_t m = std::exchange(n.come[warp], 0); m != 0; m &= m - 1) {
    thread& t = lanes[__builtin_ctz(m)];
    hb_phase_arrives(n.known, t, b, {});
    if ((leaving >> t.lane & 1) != 0) wake(t, n);
  }
  n.arrived += k_lanes;
  if (is_complete(n, b)) complete(n, b);
}

std::string describe_count(unsigned count) {
  return count == 0 ? "the whole block" : std::to_string(count) + " threads";
}

// The caller comes to a barrier, and waits there for its warp and, unless it leaves, for the phase.
named_barrier_state& come(int id, unsigned count, bool leaves, const call_site& site) {
  thread& self = *current;
  block_state& b = *self.home;
  self.site = site;
  check_stack(self);
  named_barrier_state& n = barrier(id);
  const auto name = [&] {
    return describe(self) + (id < k_first_of_tiles ? " is at named barrier " + std::to_string(id) : " is at a tile");
  };
  if (count % k_lanes != 0 || count > device.padded) {
    fail("divergence", [&] {
      return name() + " for " + std::to_string(count) + " threads, allowed are multiples of 32 up to the block's " +
             std::to_string(device.padded) + ", at " + describe(site);
    });
  }
  if (n.threads > 0 && n.expected != count) {
    fail("divergence", [&] {
      return name() + " for " + describe_count(count) + " at " + describe(site) + ", others for " +
             describe_count(n.expected) + " at " + describe(n.site);
    });
  }
  if (n.threads == 0) n.site = site;
  n.expected = count;
  ++n.threads;
  n.come[self.warp] |= 1u << self.lane;
  if (leaves) n.leaving[self.warp] |= 1u << self.lane;
  const uint64_t phase = n.phase;
  arrive_if_met(n, b, self.warp);
  const bool is_met = (n.come[self.warp] >> self.lane & 1) == 0;
  if (is_met && leaves) return n;
  if (n.phase != phase) {
    after_sync();
  } else {
    self.waits_for = &n;
    self.state = thread_state::at_named_barrier;
    wait_here();
  }
  return n;
}

}  // namespace

void named_barrier_arrive(int id, unsigned count, const call_site& site) {
  access_point();
  come(id, count, true, site);
  device.idle_yields = 0;
}

void named_barrier_sync(int id, unsigned count, const call_site& site) {
  named_barrier_state& n = come(id, count, false, site);
  hb_phase_passes(n.known, *current, &n, {});
}

uint64_t named_barrier_vote(int id, unsigned count, bool vote, const call_site& site) {
  barrier_votes& votes = barrier(id).votes;
  ++votes.voters;
  votes.ones += vote;
  named_barrier_sync(id, count, site);
  return current->result;
}

void tile_sync(unsigned tile, unsigned size, const call_site& site) {
  named_barrier_sync(barrier_of(tile, size), size, site);
}

void tile_exchange(unsigned tile, unsigned size, unsigned rank, const void* value, size_t bytes,
                   const call_site& site) {
  named_barrier_state& n = barrier(barrier_of(tile, size));
  auto& values = n.values[n.phase % 2];
  values.resize(size);
  std::memcpy(&values[rank], value, bytes);
  tile_sync(tile, size, site);
}

void tile_value(unsigned tile, unsigned size, unsigned rank, void* value, size_t bytes) {
  const named_barrier_state& n = barrier(barrier_of(tile, size));
  std::memcpy(value, &n.values[(n.phase - 1) % 2][rank], bytes);
}

void named_barriers_lose_thread(const thread& t) {
  for (named_barrier_state& n : t.home->named_barriers) {
    arrive_if_met(n, *t.home, t.warp);
    if (n.threads > 0 && n.expected == 0 && is_complete(n, *t.home)) complete(n, *t.home);
  }
}

}  // namespace emu
}  // namespace simt
