// The events that happened before the present point of a thread, beyond those that the barriers of its own block and
// warp imply.
#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstdint>
#include <utility>
#include <vector>

namespace simt {
inline namespace emu {

// A thread id is `instance << 11 | agent << 10 | linear`: instance counts the blocks of a launch, and of those before
// it that it may overlap, from 1; agent marks the copies that the thread started and that run beside it.
inline constexpr unsigned k_instance_shift = 11;
inline constexpr uint32_t k_agent = 1u << 10;
inline constexpr uint32_t k_max_instance = (1u << (32 - k_instance_shift)) - 1;

// Sets the number of blocks and bulk copies beyond the resident ones that the detector distinguishes before it drops
// the launch's history (at least 1). For tests: a launch of two million blocks takes long.
void limit_names(uint32_t spare);

inline uint32_t instance_of(uint32_t thread_id) { return thread_id >> k_instance_shift; }
inline uint32_t linear_of(uint32_t thread_id) { return thread_id & (k_agent - 1); }

// For threads, warps and blocks: all their epochs below a bound. Bounds only grow.
//
// It is a radix tree, and clocks share nodes. A join does not descend into a node that both clocks have, so its time
// depends on where the clocks differ, not on how many threads they know. A copy takes constant time.
class vector_clock {
 public:
  // Stands for all instances below its bound: the launches before.
  static constexpr uint64_t k_launches_before = 0;
  static uint64_t block_key(uint32_t instance) { return uint64_t{instance} << 16; }
  static uint64_t warp_key(uint32_t instance, uint32_t warp) { return block_key(instance) | (1 + warp); }
  static uint64_t thread_key(uint32_t id) { return block_key(instance_of(id)) | 2u << 12 | (id & (2 * k_agent - 1)); }

  void join(uint64_t key, uint32_t below);
  void join(const vector_clock& other) { root_ = merge(std::move(root_), other.root_); }
  bool covers(uint32_t id, uint32_t clock) const {
    return !empty() && (covers_as(0, id, clock) || instance_of(id) < below(k_launches_before));
  }

  // The part of the past that a fence between the proxies has seen is stored beside it, under keys with a mark: of a
  // fence of all memory, or of the shared memory of the block that fenced.
  static constexpr uint64_t k_fenced = uint64_t{1} << 62;
  static uint64_t fenced_by_block(uint32_t instance) { return uint64_t{1} << 61 | uint64_t{instance} << 38; }
  // What a fence between the generic proxy and that of tensor maps has released.
  static constexpr uint64_t k_maps_released = uint64_t{1} << 63;
  // Stands for the phases of a barrier that has such a key, counted from 0 (certificate.cpp).
  static uint64_t phase_key(uint64_t barrier) { return uint64_t{1} << 60 | barrier; }
  // The same without a mark's entries and without phases, each under the mark.
  vector_clock marked(uint64_t mark) const;
  bool covers_as(uint64_t mark, uint32_t id, uint32_t clock) const;
  uint32_t below(uint64_t key) const { return below(root_.get(), key); }
  bool empty() const { return root_ == nullptr; }
  void clear() { root_ = nullptr; }
  // True if both are known to be the same; equal clocks may differ in their nodes.
  bool is(const vector_clock& other) const { return root_ == other.root_; }

 private:
  struct node;
  struct leaf;
  struct branch;
  using pointer = boost::intrusive_ptr<node>;
  friend void intrusive_ptr_add_ref(node* n);
  friend void intrusive_ptr_release(node* n);

  static const node* descend(const node* n, uint64_t prefix, uint32_t level);
  static uint32_t below(const node* n, uint64_t key);
  static pointer fork(pointer a, const pointer& b);
  static pointer merge(pointer a, const pointer& b);
  static pointer merge_leaves(pointer a, const pointer& b);
  static pointer merge_sides(pointer a, const pointer& b);
  static pointer mark_all(const pointer& n, uint64_t mark);
  pointer root_;
};

// The effect of fences across barriers, by scope: an atomic after the barrier publishes what a fence before it
// released, and a fence after the barrier acquires what an atomic before it read. For sequentially consistent fences
// alone: were the fence that acquires the earlier one, then what was read would come before what wrote it (PTX ISA,
// "Memory consistency model").
struct passed_fences {
  vector_clock released[3], acquirable[3];
  void join(const passed_fences& other) {
    for (unsigned s = 0; s < 3; ++s) {
      released[s].join(other.released[s]);
      acquirable[s].join(other.acquirable[s]);
    }
  }
  bool empty() const {
    for (unsigned s = 0; s < 3; ++s)
      if (!released[s].empty() || !acquirable[s].empty()) return false;
    return true;
  }
};

// The clock of a cluster's or grid's barrier: phases only add, so the latest stands for all.
struct wide_clock {
  uint64_t phase = 0;
  vector_clock what;
  void advance(const wide_clock& other) {
    if (other.phase > phase) *this = other;
  }
  bool covers(uint32_t id, uint32_t clock) const { return what.covers(id, clock); }
};

// The clocks of arrivals at an mbarrier, and of its complete phases.
struct phase_clock {
  vector_clock gathered, gathered_afar;  // from the barrier's block, and from others of its cluster
  vector_clock complete, complete_afar;
  // For the certificate: the key of the barrier, 0 as long as it needs none; complete phases; and who has passed
  // the last one, and expects bytes in the present one without an arrival, each with its epoch.
  uint64_t key = 0;
  uint32_t phases = 0;
  std::vector<std::pair<uint32_t, uint32_t>> passed, expecting;
};

// An access to a block's shared memory from outside of the block.
struct foreign_access {
  uint32_t clock, pc;
};

// The detector's side of a thread; allocated when it first does more than block and full-warp barriers.
struct thread_clock {
  vector_clock known;
  wide_clock wide[2];            // of its cluster, of the grid
  uint32_t lane_below[32] = {};  // partial-mask __syncwarp: epochs of the warp's lanes
  bool has_lanes = false;
  // By scope: what the last fence released, and what atomics read since and a fence may acquire.
  vector_clock released[3];
  struct pending {
    uintptr_t variable;
    vector_clock what;
    bool is_passed_on = false;  // by a barrier since
  };
  std::vector<pending> acquirable[3];
  vector_clock initialised;  // mbarriers, before a fence for them
  passed_fences passed;      // since the last block barrier
};

}  // namespace emu
}  // namespace simt
