// The events that happened before the present point of a thread, beyond those that the barriers of its own block and
// warp imply.
#pragma once

#include <algorithm>
#include <boost/smart_ptr/local_shared_ptr.hpp>
#include <boost/smart_ptr/make_local_shared_object.hpp>
#include <cstdint>
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

// For threads, warps and blocks: all their epochs below a bound. Sorted by key; bounds only grow.
class vector_clock {
 public:
  struct entry {
    uint64_t key;
    uint32_t below;
  };
  // Stands for all instances below its bound: the launches before.
  static constexpr uint64_t k_launches_before = 0;
  static uint64_t block_key(uint32_t instance) { return uint64_t{instance} << 16; }
  static uint64_t warp_key(uint32_t instance, uint32_t warp) { return block_key(instance) | 1u << 12 | warp; }
  static uint64_t thread_key(uint32_t id) { return block_key(instance_of(id)) | 2u << 12 | (id & (2 * k_agent - 1)); }

  void join(uint64_t key, uint32_t below) {
    const auto at = find(key);
    if (at != entries_.end() && at->key == key)
      at->below = std::max(at->below, below);
    else
      entries_.insert(at, {key, below});
  }
  void join(const vector_clock& other) {
    if (other.entries_.empty()) return;
    if (entries_.empty()) {
      entries_ = other.entries_;
      return;
    }
    std::vector<entry> merged;
    merged.reserve(entries_.size() + other.entries_.size());
    auto a = entries_.cbegin(), b = other.entries_.cbegin();
    while (a != entries_.cend() || b != other.entries_.cend()) {
      if (b == other.entries_.cend() || (a != entries_.cend() && a->key < b->key)) {
        merged.push_back(*a++);
      } else if (a == entries_.cend() || b->key < a->key) {
        merged.push_back(*b++);
      } else {
        merged.push_back({a->key, std::max(a->below, b->below)});
        ++a, ++b;
      }
    }
    entries_.swap(merged);
  }
  bool covers(uint32_t id, uint32_t clock) const {
    const uint32_t instance = instance_of(id);
    if (!entries_.empty() && entries_.front().key == k_launches_before && instance < entries_.front().below)
      return true;
    return covers_as(0, id, clock);
  }

  // The part of the past that a fence between the proxies has seen is stored beside it, under keys with a mark: of a
  // fence of all memory, or of the shared memory of the block that fenced.
  static constexpr uint64_t k_fenced = uint64_t{1} << 62;
  static uint64_t fenced_by_block(uint32_t instance) { return uint64_t{1} << 61 | uint64_t{instance} << 38; }
  // Stands for the phases of a barrier that has such a key, counted from 0 (certificate.cpp).
  static uint64_t phase_key(uint64_t barrier) { return uint64_t{1} << 60 | barrier; }
  // The same without a mark's entries and without phases, each under the mark.
  vector_clock marked(uint64_t mark) const {
    vector_clock result;
    for (const entry& e : entries_)
      if (e.key >> 60 == 0) result.entries_.push_back({e.key | mark, e.below});
    return result;
  }
  bool covers_as(uint64_t mark, uint32_t id, uint32_t clock) const {
    if (entries_.empty()) return false;
    const uint32_t instance = instance_of(id);
    return clock < below(mark | thread_key(id)) ||
           (!(id & k_agent) && (clock < below(mark | block_key(instance)) ||
                                clock < below(mark | warp_key(instance, linear_of(id) / 32))));
  }
  uint32_t below(uint64_t key) const {
    const auto at =
        std::lower_bound(entries_.begin(), entries_.end(), key, [](const entry& e, uint64_t k) { return e.key < k; });
    return at != entries_.end() && at->key == key ? at->below : 0;
  }
  bool empty() const { return entries_.empty(); }
  void clear() { entries_.clear(); }

 private:
  std::vector<entry>::iterator find(uint64_t key) {
    return std::lower_bound(entries_.begin(), entries_.end(), key,
                            [](const entry& e, uint64_t k) { return e.key < k; });
  }
  std::vector<entry> entries_;
};

// No std::shared_ptr: a program has instrumented instances of its functions, and the linker may call them from here.
using boost::local_shared_ptr;
using boost::make_local_shared;

// A shared clock does not change.
using shared_clock = local_shared_ptr<vector_clock>;

inline void join(shared_clock& to, const shared_clock& other) {
  if (other == nullptr || to == other) return;
  if (to == nullptr) {
    to = other;
    return;
  }
  if (to.local_use_count() > 1) to = make_local_shared<vector_clock>(*to);
  to->join(*other);
}

// The effect of fences across barriers, by scope: an atomic after the barrier publishes what a fence before it
// released, and a fence after the barrier acquires what an atomic before it read. For sequentially consistent fences
// alone: were the fence that acquires the earlier one, then what was read would come before what wrote it (PTX ISA,
// "Memory consistency model").
struct passed_fences {
  shared_clock released[3], acquirable[3];
  void join(const passed_fences& other) {
    for (unsigned s = 0; s < 3; ++s) {
      emu::join(released[s], other.released[s]);
      emu::join(acquirable[s], other.acquirable[s]);
    }
  }
  bool empty() const {
    for (unsigned s = 0; s < 3; ++s)
      if (released[s] != nullptr || acquirable[s] != nullptr) return false;
    return true;
  }
};

// The clock of a cluster's or grid's barrier: phases only add, so the latest stands for all.
struct wide_clock {
  uint64_t phase = 0;
  shared_clock what;
  void advance(const wide_clock& other) {
    if (other.phase > phase) *this = other;
  }
  bool covers(uint32_t id, uint32_t clock) const { return what != nullptr && what->covers(id, clock); }
};

// The clocks of arrivals at an mbarrier, and of its complete phases.
struct phase_clock {
  vector_clock gathered, gathered_afar;  // from the barrier's block, and from others of its cluster
  shared_clock complete, complete_afar;
  // For the certificate: the barrier's key, 0 as long as it needs none; how many phases are complete; and who has
  // passed the last one, each with its epoch.
  uint64_t key = 0;
  uint32_t phases = 0;
  std::vector<std::pair<uint32_t, uint32_t>> passed;
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
  shared_clock released[3];
  struct pending {
    uintptr_t variable;
    shared_clock what;
    bool is_passed_on = false;  // by a barrier since
  };
  std::vector<pending> acquirable[3];
  vector_clock initialised;  // mbarriers, before a fence for them
  passed_fences passed;      // since the last block barrier
};

}  // namespace emu
}  // namespace simt
