// Named barriers of a block: barriers among some of its threads.
#include "simt/emulated/happens_before.hpp"
#include "simt/emulated/tensor.hpp"

namespace simt {
inline namespace emu {
namespace {

constexpr size_t k_named_barriers = 16;

// The caller has arrived; returns whether the phase is complete.
bool arrive(int id, unsigned count, const call_site& site) {
  thread& self = *current;
  block_state& b = *self.home;
  self.site = site;
  check_stack(self);
  if (b.named_barriers.empty()) b.named_barriers.resize(k_named_barriers);
  named_barrier_state& n = b.named_barriers[static_cast<size_t>(id)];
  const auto name = [&] { return describe(self) + " is at named barrier " + std::to_string(id); };
  if (count == 0 || count % k_lanes != 0 || count > device.padded) {
    fail("divergence", [&] {
      return name() + " for " + std::to_string(count) + " threads, allowed are multiples of 32 up to the block's " +
             std::to_string(device.padded) + ", at " + describe(site);
    });
  }
  if (n.arrived > 0 && n.expected != count) {
    fail("divergence", [&] {
      return name() + " for " + std::to_string(count) + " threads at " + describe(site) + ", others for " +
             std::to_string(n.expected) + " at " + describe(n.site);
    });
  }
  if (n.arrived == 0) n.site = site;
  n.expected = count;
  hb_phase_arrives(n.known, self, b, {});
  if (++n.arrived < count) return false;
  n.arrived = 0;
  ++n.phase;
  hb_phase_completes(n.known);
  for (uint32_t i = 0; i < device.threads; ++i)
    if (b.threads[i].state == thread_state::at_named_barrier && b.threads[i].waits_for == &n)
      make_runnable(b.threads[i]);
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

}  // namespace emu
}  // namespace simt
