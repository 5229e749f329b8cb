// Barriers wider than a block: of a cluster and of a cooperative grid, and the clusters' shared memory.
#include "simt/emulated/explore.hpp"
#include "simt/emulated/happens_before.hpp"
#include "simt/emulated/region.hpp"
#include "simt/emulated/wide.hpp"

namespace simt {
inline namespace emu {
namespace {

wide_barrier& cluster_of(const thread& t) { return device.clusters[t.home->slot / device.cluster]; }

bool has_arrived(const thread& t, const wide_barrier& w) {
  const uint64_t phase = w.grid ? t.grid_phase : t.cluster_phase;
  return phase == w.phase;
}

// Every live thread of the domain has arrived; a grid waits for blocks that are still to come, or have gone, for ever.
bool is_complete(const wide_barrier& w) { return w.arrived > 0 && w.arrived == w.alive && !(w.grid && w.deserted); }

void complete(wide_barrier& w) {
  const thread_state waiting = w.grid ? thread_state::at_grid_barrier : thread_state::at_cluster_barrier;
  const uint32_t first = w.grid ? 0 : w.first_slot, count = w.grid ? device.slots : device.cluster;
  hb_wide_completes(w, first, count);
  explore_meet(first, count);
  ++w.phase;
  if (device.counting != nullptr) ++device.counting->barriers;
  w.arrived = 0;
  for (uint32_t slot = first; slot < first + count; ++slot) {
    block_state& b = *device.blocks[slot];
    if (!b.active) continue;
    for (uint32_t i = 0; i < device.threads; ++i)
      if (b.threads[i].state == waiting) make_runnable(b.threads[i]);
  }
}

void arrive(thread& self, wide_barrier& w, bool releases = true) {
  if (has_arrived(self, w)) {
    fail("divergence", [&] {
      return describe(self) + " arrives twice at a phase of the " + (w.grid ? "grid" : "cluster") + " barrier, at " +
             describe(self.site);
    });
  }
  (w.grid ? self.grid_phase : self.cluster_phase) = w.phase;
  ++w.arrived;
  hb_wide_arrives(w, self, releases);
  if (is_complete(w)) complete(w);
}

// Waits until the phase in which the thread arrived is over.
void wait(thread& self, wide_barrier& w) {
  if ((w.grid ? self.grid_phase : self.cluster_phase) == 0) {
    fail("divergence", [&] {
      return describe(self) + " waits at the " + (w.grid ? "grid" : "cluster") +
             " barrier without having arrived, at " + describe(self.site);
    });
  }
  if (has_arrived(self, w)) {
    self.state = w.grid ? thread_state::at_grid_barrier : thread_state::at_cluster_barrier;
    wait_here();
  } else {
    after_sync();
  }
  hb_wide_passes(w, self);
}

}  // namespace

void grid_dependency_wait() { hb_waits_for_previous(*current); }

void begin_wide_barriers() {
  device.clusters.assign(device.slots / device.cluster, {});
  for (uint32_t i = 0; i < device.clusters.size(); ++i) device.clusters[i].first_slot = i * device.cluster;
  device.grid_barrier = {};
  device.grid_barrier.grid = true;
}

void wide_block_starts(block_state& b) {
  wide_barrier& w = device.clusters[b.slot / device.cluster];
  if (b.slot == w.first_slot) {
    const uint32_t first_slot = w.first_slot;
    w = {};
    w.first_slot = first_slot;
  }
  w.alive += device.threads;
  device.grid_barrier.alive += device.threads;
}

void wide_thread_exits(const thread& t) {
  const auto lose = [&t](wide_barrier& w) {
    --w.alive;
    if (has_arrived(t, w)) --w.arrived;
    if (w.grid && t.home->alive == 0) w.deserted = true;
    if (is_complete(w)) complete(w);
  };
  lose(cluster_of(t));
  if (device.cooperative) lose(device.grid_barrier);
}

void cluster_arrive(call_site site) {
  current->site = site;
  arrive(*current, cluster_of(*current));
}

void cluster_arrive_relaxed(call_site site) {
  current->site = site;
  arrive(*current, cluster_of(*current), false);
}

void cluster_wait(call_site site) {
  current->site = site;
  wait(*current, cluster_of(*current));
}

void grid_arrive(call_site site) {
  thread& self = *current;
  self.site = site;
  if (!device.cooperative) {
    fail("launch_limit", [&] {
      return describe(self) + " synchronises the grid at " + describe(site) + " in a launch that is not cooperative";
    });
  }
  arrive(self, device.grid_barrier);
}

void grid_wait(call_site site) {
  current->site = site;
  wait(*current, device.grid_barrier);
}

unsigned cluster_rank() noexcept { return current->home->slot % device.cluster; }
unsigned cluster_size() noexcept { return device.cluster; }
dim3 cluster_shape() noexcept { return device.cluster_shape; }
unsigned cluster_id() noexcept { return current->home->index.x / device.cluster_shape.x; }

void refuse_remote(unsigned rank, const call_site& site) {
  fail("out_of_bounds", [&] {
    return describe(*current) + " accesses its block's own shared memory (.shared::cta) by an address of rank " +
           std::to_string(rank) + " of its cluster, at " + describe(site);
  });
}

void* map_shared(void* p, unsigned rank, const call_site& site) {
  thread& self = *current;
  self.site = site;
  const block_state& b = *self.home;
  auto* own = static_cast<char*>(p);
  if (rank >= device.cluster) {
    fail("out_of_bounds", [&] {
      return describe(self) + " maps shared memory of rank " + std::to_string(rank) + " of a cluster of " +
             std::to_string(device.cluster) + " blocks, at " + describe(site);
    });
  }
  if (own < b.arena || own >= b.arena + k_arena_bytes) {
    fail("out_of_bounds", [&] {
      return describe(self) + " maps an address that is not in its block's shared memory, at " + describe(site);
    });
  }
  const uint32_t slot = b.slot / device.cluster * device.cluster + rank;
  if (device.blocks[slot]->alive == 0) {
    fail("out_of_bounds", [&] {
      return describe(self) + " maps shared memory of rank " + std::to_string(rank) +
             " of its cluster, whose block has exited, at " + describe(site);
    });
  }
  return region_arena(slot) + (own - b.arena);
}

const void* own_shared(const void* p, unsigned& rank) {
  const block_state& b = *current->home;
  const uint32_t first = b.slot / device.cluster * device.cluster;
  for (rank = 0; rank < device.cluster; ++rank) {
    const char* const arena = region_arena(first + rank);
    if (p >= arena && p < arena + k_arena_bytes) return b.arena + (static_cast<const char*>(p) - arena);
  }
  return nullptr;
}

bool is_cooperative() noexcept { return device.cooperative; }

}  // namespace emu
}  // namespace simt
