// The detector's own state and its checks of memory accesses (race flavour only).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simt/emulated/executor.hpp"
#include "simt/emulated/happens_before.hpp"
#include "simt/emulated/region.hpp"
#include "simt/emulated/shadow.hpp"
#include "simt/emulated/vector_clock.hpp"

namespace simt {
inline namespace emu {

// Host memory that no thread may touch (host_memory.hpp).
struct forbidden_range {
  uintptr_t begin;
  size_t bytes;
  int argument;  // of the launch, which points there
};

struct detector_state {
  uint32_t generation = 0;        // of device memory's cells: one per launch and those before that it may overlap
  uint32_t arena_generation = 0;  // of shared memory's cells: one per block
  uint32_t instances = 0;         // blocks (and bulk copies) named so far in this generation
  uint32_t launch_begin = 1;      // the first of them that this launch named
  // The next launch starts when all before it are complete. Atomic, for memory is freed outside of the launches' lock.
  std::atomic<bool> settled = true;
  bool wrapped = false;  // names were used up and are dealt out again
  // Names beyond those of the resident blocks; tests lower it.
  uint32_t spare_names = k_max_instance - static_cast<uint32_t>(k_max_slots);
  own_vector<uint3> block_of_instance;
  std::vector<agent_kind> agents;  // by instance: a block, or what does something beside its thread
  // The first read of a byte that nobody had written. Reported at the end of the launch, unless a race explains it.
  struct {
    bool found = false;
    uint32_t thread, pc;
    uint64_t offset;
  } unwritten;
  std::vector<forbidden_range> forbidden;  // to this launch
  bool plain_volatile = false;             // a volatile access is no atomic one
  bool watches = false;                    // a thread of it has registers of products
  uint32_t far_access = 0;  // where in the code the last access was made that is none to the device's memory
};
extern detector_state detector;
extern thread_local std::vector<forbidden_range> forbidden_here;  // to launches of this host thread

void new_generation();
vector_clock snapshot(const thread& t);
void join(thread& t, const vector_clock& what);
void join(thread& t, uint64_t key, uint32_t below);
void hb_publish(thread& t, uintptr_t p, memory_scope scope, atomic_kind kind);
uint32_t name_flight(const thread& t, agent_kind kind = agent_kind::copy);

SIMT_INLINE bool knows_barriers_only(const thread& t) { return t.knows == nullptr && !t.home->knows_others; }
// True if the recorded access happened before the present point of t, by everything that t knows.
bool ordered_by_clocks(const access_record& r, const thread& t);

// The same. Most threads know no more than what the barriers of their block and warp imply.
__attribute__((always_inline)) inline bool ordered(const access_record& r, const thread& t) {
  if (r.thread == t.id) return true;
  const block_state& b = *t.home;
  if (knows_barriers_only(t)) {
    const uint32_t differs = r.thread ^ t.id;
    // No base of a warp is below its block's. Where a thread has left, it takes a closer look.
    if (differs >= k_agent || r.clock >= (differs < k_lanes ? b.warps[t.warp].base : b.base)) return false;
    if (b.alive == device.threads) return true;
  }
  return ordered_by_clocks(r, t);
}

enum class access_kind : uint8_t { read, write, atomic };
const char* name_of(access_kind kind);

// True if the launch has already made such an access to these bytes of device memory, so that it is followed.
bool is_repeated(access_kind kind, size_t offset, size_t bytes, uint32_t generation);

// Two accesses that nothing orders, to `bytes` bytes (1 or 4) at the offset in the region.
struct race_record {
  access_record earlier;
  access_kind earlier_kind;
  access_record now;
  access_kind kind;
  size_t offset, bytes;
};
std::string describe_race(const race_record& r);

// True if the launch goes on after such a finding (notices.hpp), which is noted.
bool outlives(const char* kind, uint32_t pc, const std::function<std::string()>& describe);
// Ends the launch, or goes on where such a race is tolerated.
void outlive_race(const race_record& r);
extern bool has_open_races;  // whether it is open for a race if it is harmless
// Decides what can be decided before the access `now` to [offset, offset + bytes), or nullptr for none: those that
// the present contents decide, and those that the thread's next access to the place decides.
enum class access_use : uint8_t {
  alone,
  compares,  // it is a compare and swap
  copies     // it may be the read of a copy whose write is noted already and takes effect after it
};
void settle_open_races(size_t offset, size_t bytes, const access_record* now, access_use use);
// The thread ends.
void settle_open_races_of(uint32_t thread);
// The launch has ended: what is still open is decided, and what it outlived is put into words.
void conclude_notices(emulation& stream);

// Checks [p, p + bytes) for bounds, initialisation and races and records the access, made by the running thread or in
// its name. Addresses outside the region (stack, host memory) are ignored unless they are forbidden.
void check_access(const void* p, size_t bytes, access_kind kind, const access_record& access);
// Describes a thread: "thread 3 of block (1,0,0)".
std::string describe_thread_id(uint32_t id);
// Describes the byte and array at an offset of the region.
std::string describe_place(size_t offset);
// Registers of products in flight or done, where the address is of such: a race, or a touch.
void note_store(thread& t, const void* p, size_t bytes, uint32_t pc);
void check_registers(thread& t, uintptr_t address, size_t bytes, access_kind kind, uint32_t pc);
// At the end of a launch: the unwritten read, unless a race was found.
void report_unwritten(emulation& stream);

}  // namespace emu
}  // namespace simt
