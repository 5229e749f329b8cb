// Named barriers of a block: barriers among some of its threads.
#include "simt/emulated/happens_before.hpp"
#include "simt/emulated/tensor.hpp"

namespace simt {
inline namespace emu {
namespace {

constexpr size_t k_named_barriers = 16;

// A partial warp counts as a whole one. Without a count (0), a barrier waits for the threads that have not exited.
bool is_complete(const named_barrier_state& n, const block_state& b) {
  return n.expected == 0 ? n.threads == b.alive : n.arrived >= n.expected;
}

void complete(named_barrier_state& n, block_state& b) {
  n.arrived = n.threads = 0;
  ++n.phase;
  hb_phase_completes(n.known);
  for (uint32_t i = 0; i < device.threads; ++i)
    if (b.threads[i].state == thread_state::at_named_barrier && b.threads[i].waits_for == &n)
      make_runnable(b.threads[i]);
}

std::string describe_count(unsigned count) {
  return count == 0 ? "the whole block" : std::to_string(count) + " threads";
}

// The caller has arrived; returns whether the phase is complete.
bool arrive(int id, unsigned count, const call_site& site) {
  thread& self = *current;
  block_state& b = *self.home;
  self.site = site;
  check_stack(self);
  if (b.named_barriers.empty()) b.named_barriers.resize(k_named_barriers);
  named_barrier_state& n = b.named_barriers[static_cast<size_t>(id)];
  const auto name = [&] { return describe(self) + " is at named barrier " + std::to_string(id); };
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
  hb_phase_arrives(n.known, self, b, {});
  ++n.threads;
  n.arrived += self.linear + 1 == device.threads ? 1 + device.padded - device.threads : 1;
  if (!is_complete(n, b)) return false;
  complete(n, b);
  return true;
}

}  // namespace

void named_barrier_arrive(int id, unsigned count, const call_site& site) {
  access_point();
  arrive(id, count, site);
  device.idle_yields = 0;
}

void named_barrier_sync(int id, unsigned count, const call_site& site) {
  thread& self = *current;
  if (arrive(id, count, site)) {
    after_sync();
  } else {
    self.waits_for = &self.home->named_barriers[static_cast<size_t>(id)];
    self.state = thread_state::at_named_barrier;
    wait_here();
  }
  named_barrier_state& n = self.home->named_barriers[static_cast<size_t>(id)];
  hb_phase_passes(n.known, self, &n, {});
}

void named_barriers_lose_thread(block_state& b) {
  for (named_barrier_state& n : b.named_barriers)
    if (n.threads > 0 && n.expected == 0 && is_complete(n, b)) complete(n, b);
}

}  // namespace emu
}  // namespace simt
