// The executor's state: resident blocks, their threads, and the scheduler's bookkeeping. Internal to simt.
//
// One executor per module of a flavour, guarded by a lock: launches from several host threads run one after the other.
// Plain globals (hidden, one set per module) hold it: no thread-local storage, whose space is scarce in a dlopen'ed
// module.
#pragma once

#include <array>
#include <boost/smart_ptr/local_shared_ptr.hpp>
#include <boost/smart_ptr/make_local_shared_object.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "simt/emulated/collectives.hpp"
#include "simt/emulated/fiber.hpp"
#include "simt/emulated/launch.hpp"
#include "simt/emulated/own_vector.hpp"
#include "simt/emulated/vector_clock.hpp"
#include "simt/emulated_counts.hpp"
#include "simt/emulation.hpp"
#include "simt/tensor_step.hpp"

// The kernels' index macros would rewrite this file's names.
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim

// The place from which the function that the kernel called was called.
#define SIMT_PC __builtin_extract_return_addr(__builtin_return_address(0))

namespace simt {
inline namespace emu {

// No std::shared_ptr: a program has instrumented instances of its functions, and the linker may call them from here.
using boost::local_shared_ptr;
using boost::make_local_shared;

#ifdef SIMT_FLAVOUR_PLAIN
inline constexpr bool k_plain_flavour = true;
#else
inline constexpr bool k_plain_flavour = false;
#endif

inline constexpr unsigned k_lanes = 32;
inline constexpr uint32_t k_nobody = ~0u;

// What a thread waits for. Barriers of a block and collectives leave it as it is when they let the thread run.
enum class thread_state : uint8_t {
  runnable,
  at_block_barrier,
  at_warp_collective,
  at_cluster_barrier,
  at_grid_barrier,
  at_mbarrier,
  at_named_barrier,
  at_warpgroup,
  at_choice,  // an exploration decides when it goes on
  finished
};

struct block_state;

// A cp.async that has not been done yet, and the thread's group it belongs to.
struct pending_copy {
  char* destination;
  const void* source;
  unsigned bytes;
  uint32_t group;
};

struct tensor_tile;  // flights.hpp

// A bulk store that its thread has not waited for, and the group it belongs to.
struct pending_store {
  char* destination;
  const void* source;
  unsigned bytes;
  uint32_t group;
  bool is_done;
  uint32_t reader, writer;                   // race flavour: the names under which it accesses memory
  local_shared_ptr<const tensor_tile> tile;  // nullptr: neighbouring bytes
};

// Registers of a thread's products, in flight or done since: accumulators, or a fragment of A, which is only read.
struct watched_registers {
  const uint32_t* begin;
  const uint32_t* end;
  bool in_flight, touched;
  uint32_t pc;              // of the first product in flight
  uint32_t read_until = 0;  // of a fragment: the last group of products that reads it; 0: accumulators
};

struct thread_products;    // warpgroup.cpp
struct warpgroup_product;  // the same
struct tried_wait;         // tried_waits.hpp

// The products in flight of a warpgroup's 4 warps.
struct warpgroup_state {
  std::deque<warpgroup_product> products;  // those that are not computed, in order
  uint64_t computed = 0;                   // how many are
  uint32_t agents[4] = {};                 // race flavour: the names under which the warps' products read memory
  warpgroup_state();
  ~warpgroup_state();
  warpgroup_state(warpgroup_state&&) noexcept;
};

struct barrier_votes {
  unsigned voters = 0, ones = 0;
};
struct named_barrier_state {
  unsigned expected = 0, arrived = 0;  // threads, counted by whole warps
  unsigned threads = 0;                // that have come, whether or not their warps have arrived
  uint64_t phase = 0;
  // By warp: its lanes that have come before the warp arrived, and those of them that will not wait for the phase.
  std::array<uint32_t, 32> come{}, leaving{};
  barrier_votes votes, last_votes;  // of the phase being gathered, and of the last one
  call_site site;
  phase_clock known;
  // Of a tile, by the parity of the phase and by rank: its threads' values.
  std::array<std::vector<std::array<std::byte, 32>>, 2> values;
};

// Evaluations of one condition in a row with one outcome (conditionals.hpp).
struct evaluation_run {
  const char* file;
  uint32_t line, number;
  bool outcome, returns;
  uint32_t times;
};
class conditional;

// A switch and a barrier touch the first line of the cache, a collective also the second, and an access in the race
// flavour.
struct alignas(64) thread {
  fiber flow;  // without a stack until the thread begins, and after its end
  block_state* home = nullptr;
  call_site site;
  uint3 index{};
  uint32_t linear = 0;    // in the block
  uint32_t resident = 0;  // position in the run set: slot * padded block size + linear
  uint8_t lane = 0;
  uint8_t warp = 0;
  thread_state state = thread_state::finished;
  uint8_t written = 0;  // race flavour: bytes of its latest access, if that is a write, which may be still to come
  // The collective that the thread waits in, or last was in.
  uint64_t value = 0, result = 0;
  unsigned mask = 0, argument = 0;
  int width = 0;
  warp_op op{};
  bool has_fenced = false;              // race flavour: since its latest volatile write
  uint32_t id = 0;                      // race flavour: block instance and linear index
  uint32_t clock = 0;                   // race flavour: epoch
  std::unique_ptr<thread_clock> knows;  // race flavour
  // The number of returns of the thread to idle_at since an atomic of it changed memory (a spin), the number of other
  // words that it has read since, and the number after which a later word becomes idle_at.
  uint32_t idle = 0, idle_steps = 0, idle_window = 1;
  uint32_t accesses = 0;  // since its last atomic, where each is a step
  void is_not_idle() {
    idle = idle_steps = 0;
    idle_window = 1;
  }
  const void* idle_at = nullptr;
  const void* waits_for = nullptr;             // an mbarrier
  uint64_t cluster_phase = 0, grid_phase = 0;  // in which it last arrived; phases start at 1
  uint32_t arrived_at[2] = {};                 // race flavour: the epochs in which it did, of the cluster and the grid
  // The place where the thread asks which lanes run with it, and the answer, once one of them has formed the group.
  const void* asks_at = nullptr;
  uint32_t group = 0;
  uint32_t open_group = 1;
  std::vector<pending_copy> copies;
  uint32_t open_store_group = 1;
  std::vector<pending_store> stores;
  struct {
    const char* p;
    size_t bytes;
    uint32_t pc;
  } stored{};                                 // race flavour: its last store, which it may have made since it was noted
  std::vector<watched_registers> watched;     // race flavour
  std::unique_ptr<thread_products> products;  // where it takes part in products of a warpgroup
  std::unique_ptr<tried_wait> tried;          // race flavour: whether it waits is being found out
  const conditional* inside = nullptr;        // the innermost that it is in
  std::vector<evaluation_run> evaluated;      // after so many barriers of the block:
  uint32_t evaluated_after = 0;
  thread();
  ~thread();
  thread(thread&&) noexcept;
};

struct warp_state {
  uint32_t live = 0;        // lanes that have not exited
  uint32_t waiting = 0;     // lanes inside a collective
  bool differ = false;      // lanes that wait inside collectives: two are not in one operation of one mask
  uint32_t at_barrier = 0;  // lanes at the block barrier
  uint32_t base = 0;        // race flavour: every lane knows its warp's epochs below this
};

struct block_state {
  uint3 index{};
  bool active = false;
  uint32_t slot = 0;
  uint64_t serial = 0;  // number of the block among all that ever started
  uint32_t alive = 0, arrived = 0;
  // The block barrier being gathered, and the results of the last one.
  call_site barrier_site;
  int any = 0, all = 1, count = 0;
  int last_any = 0, last_all = 0, last_count = 0;
  uint32_t barriers = 0;          // that are complete
  bool may_skip = false;          // a thread has evaluated conditions since the last one, and exited
  uint32_t instance = 0;          // race flavour: distinguishes blocks that used the same slot
  uint32_t cluster_instance = 0;  // race flavour: instance of the cluster's first block
  uint32_t base = 0;              // race flavour: every thread knows its block's epochs below this
  uint32_t stamp = 0;             // race flavour: of the arena's shadow cells
  bool knows_others = false;      // race flavour: `known` or `wide` is not empty
  // Race flavour: what every thread of the block knows of others, and the accesses of others to its shared memory that
  // none of its threads is known to come after.
  vector_clock known;
  wide_clock wide[2];
  passed_fences passed;
  std::unordered_map<uint32_t, foreign_access> foreign;
  char* arena = nullptr;  // shared memory
  std::vector<thread> threads;
  std::vector<warp_state> warps;
  std::vector<warpgroup_state> warpgroups;          // of a kernel that has such products
  std::vector<named_barrier_state> named_barriers;  // by id, of a kernel that has such
};

// The barrier of a cluster or of a cooperative grid.
struct wide_barrier {
  bool grid = false;
  bool deserted = false;            // grid: a block has finished, so that no further phase can complete
  uint32_t first_slot = 0;          // cluster: its blocks are neighbours
  uint32_t alive = 0, arrived = 0;  // threads
  uint64_t phase = 1;
  // Race flavour: what the arrived threads know, and what passing the last phase teaches.
  vector_clock gathered;
  vector_clock last;
  bool is_partial = false;  // somebody has arrived at this phase without a release: each brings what it knows
};

// One SIMT_SHARED declaration of the running kernel (or its dynamic memory): the same place in every block's arena.
struct shared_declaration {
  const void* id;  // nullptr: the dynamic memory
  size_t offset, bytes;
};

// The cause that stopped a launch: `describe` composes the text later on the main stack, from the stopped thread's
// frame.
struct failure {
  const char* kind = nullptr;
  std::string (*describe)(const void*) = nullptr;
  const void* frame = nullptr;
  thread* by = nullptr;  // nullptr: the main flow
};

// splitmix64 (Steele, Lea, Flood, OOPSLA 2014): the same stream on every host.
struct random_stream {
  uint64_t state = 0;
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  // Uniform in [0, n) up to 2^-32.
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(((next() >> 32) * n) >> 32); }
};

// A set of resident threads as a bit set; for random() it keeps the number of members by word and by group of words.
class thread_set {
 public:
  void reset(uint32_t size, bool counts = false) {
    words_.assign((size + 63) / 64, 0);
    counts_ = counts;
    members_ = 0;
    if (!counts) return;
    in_word_.assign(words_.size(), 0);
    in_group_.assign(words_.size() / k_group_words + 1, 0);
  }
  void insert(uint32_t i) {
    if (counts_ && !contains_known(i)) count(i, 1);
    words_[i >> 6] |= uint64_t{1} << (i & 63);
  }
  // The members from `from`, a multiple of 32, whose bits are set.
  void insert_warp(uint32_t from, uint32_t bits) {
    if (!counts_) {
      words_[from >> 6] |= uint64_t{bits} << (from & 63);
      return;
    }
    for (; bits; bits &= bits - 1) insert(from + first(bits));
  }
  void erase(uint32_t i) {
    if (counts_ && contains_known(i)) count(i, -1);
    words_[i >> 6] &= ~(uint64_t{1} << (i & 63));
  }
  bool contains(uint32_t i) const { return i < words_.size() * 64 && contains_known(i); }
  // The first member at or after `from`, cyclically; k_nobody when empty.
  uint32_t next(uint32_t from) const {
    const auto n = static_cast<uint32_t>(words_.size());
    uint32_t w = from >> 6;
    if (w >= n) w = 0, from = 0;
    if (const uint64_t bits = words_[w] & (~uint64_t{0} << (from & 63))) return w * 64 + first(bits);
    return next_after(w);
  }
  // The last member at or before `from`, cyclically.
  uint32_t previous(uint32_t from) const {
    const auto n = static_cast<uint32_t>(words_.size());
    uint32_t w = from >> 6;
    if (w >= n) w = n - 1, from = 63;
    if (const uint64_t bits = words_[w] & (~uint64_t{0} >> (63 - (from & 63)))) return w * 64 + last(bits);
    for (uint32_t i = 0; i < n; ++i) {
      w = w == 0 ? n - 1 : w - 1;
      if (words_[w]) return w * 64 + last(words_[w]);
    }
    return k_nobody;
  }
  // The 32 members from `from`, a multiple of 32.
  uint32_t warp(uint32_t from) const { return static_cast<uint32_t>(words_[from >> 6] >> (from & 63)); }
  // Only for a set that counts.
  uint32_t random(random_stream& stream) const {
    if (members_ == 0) return k_nobody;
    uint32_t k = stream.below(members_), group = 0;
    while (k >= in_group_[group]) k -= in_group_[group++];
    uint32_t w = group * k_group_words;
    while (k >= in_word_[w]) k -= in_word_[w++];
    uint64_t bits = words_[w];
    while (k--) bits &= bits - 1;
    return w * 64 + first(bits);
  }

 private:
  static constexpr uint32_t k_group_words = 16, k_group_members = 64 * k_group_words;
  void count(uint32_t i, int change) {
    in_word_[i >> 6] = static_cast<uint8_t>(in_word_[i >> 6] + change);
    in_group_[i / k_group_members] += static_cast<uint32_t>(change);
    members_ += static_cast<uint32_t>(change);
  }
  // The first member of the words after w, cyclically.
  __attribute__((noinline)) uint32_t next_after(uint32_t w) const {
    const auto n = static_cast<uint32_t>(words_.size());
    for (uint32_t i = 0; i < n; ++i) {
      if (++w == n) w = 0;
      if (words_[w]) return w * 64 + first(words_[w]);
    }
    return k_nobody;
  }
  bool contains_known(uint32_t i) const { return words_[i >> 6] >> (i & 63) & 1; }
  static uint32_t first(uint64_t bits) { return static_cast<uint32_t>(__builtin_ctzll(bits)); }
  static uint32_t last(uint64_t bits) { return static_cast<uint32_t>(63 - __builtin_clzll(bits)); }
  own_vector<uint64_t> words_;
  own_vector<uint8_t> in_word_;
  own_vector<uint32_t> in_group_;
  uint32_t members_ = 0;
  bool counts_ = false;
};

struct executor {
  emulation* stream = nullptr;
  dim3 grid, block;
  size_t dynamic_bytes = 0;
  unsigned cluster = 1;  // its blocks
  dim3 cluster_shape;
  std::optional<dim3> wanted_cluster;  // what the kernel that has just begun is of, other than it was launched with
  bool cooperative = false;
  tensor_rules rules{};
  void (*run_thread)(void*) = nullptr;
  void* arguments = nullptr;

  uint32_t threads = 0, padded = 0, warps = 0;  // per block; padded to whole warps
  uint32_t slots = 0;                           // resident blocks
  std::vector<std::unique_ptr<block_state>> blocks;
  std::vector<thread*> by_resident;
  std::vector<shared_declaration> declarations;
  size_t static_bytes = 0, static_end = 0;
  uint64_t next_cluster = 0, total_clusters = 0;
  own_vector<uint64_t> window;                           // clusters that may start next, in base order
  uint64_t blocks_started = 0, blocks_started_here = 0;  // ever, and in this launch
  std::vector<wide_barrier> clusters;                    // of the resident blocks
  wide_barrier grid_barrier;
  std::chrono::steady_clock::time_point begun;  // the launch, where it may run in parts (parts.hpp)
  bool parts_are_over = false;                  // it has, or cannot any more
  bool had_parts = false;                       // it has, or one before that it may overlap
  bool had_effect = false;                      // the launch, by note_effect_of_order

  // Scheduler.
  strategy order{};
  bool step_at_access = false;  // atomics and checked accesses are scheduler steps, at which a switch may happen
  bool only_checks = false;     // race flavour: an access is checked for races, and is no step and not counted
  thread_set runnable;
  bool leaves_warp = false;     // greedy: after the next turn of spinning another warp runs
  uint32_t spin_successor = 0;  // greedy: who ran after the last turn of spinning that went to the next thread
  uint32_t turns_of_warp = 0;   // in a part: since another warp ran
  bool has_flights = false;     // copies or products may be in flight
  uint64_t last_step = 0, idle_yields = 0;
  uint64_t asks = 0;                   // atomics that changed nothing, since a thread ended
  const void* awaited = nullptr;       // the word that the last thread of a livelock asked in vain
  uint64_t accesses = 0;               // of this launch, checked
  const emulation* counted = nullptr;  // the stream whose launches are counted
  launch_counts counts;
  launch_counts* counting = nullptr;  // of this launch; nullptr: it is not counted
  random_stream random;
  own_vector<uint32_t> rank_of, thread_at;  // pct: smaller rank runs first
  thread_set runnable_ranks;
  uint32_t next_rank = 0;
  uint64_t change_step[2] = {};
  size_t next_deviation = 0;

  fiber main;
  bool failed = false;
  failure cause;
};

extern executor device;
extern thread* current;  // the running thread; nullptr on the host's own flow

inline thread& thread_of(uint32_t resident) { return *device.by_resident[resident]; }

// Blocks (executor.cpp).
void begin_blocks(bool programmatic_launch);  // none is resident yet
void run_blocks();                            // all that the launch has left
void end_blocks();

// Scheduler (scheduler.cpp).
void begin_schedule();
void make_runnable(thread& t);
void make_runnable(thread* warp, uint32_t lanes);
void make_waiting(thread& t);
// Takes the calling thread off the run set and runs others until it is runnable again.
void wait_here();
// After the calling thread completed a barrier or collective, others may go first.
void after_sync();
// A switch may happen before the calling thread's next memory access.
void access_point();
// Others may run before the calling thread goes on.
void give_way();
// The calling thread performed an atomic; without effect on memory, it may be part of a spin, but for a store, which
// reads nothing. `pc` is the place of the call; `waits`: a spin depends on the order of the threads.
void atomic_done(bool changed, const void* p, const void* pc, bool waits = true);
// A spin: lets other threads run, because the calling thread may wait for them.
void yield_to_others(const call_site& site);
// Gives a thread that is about to run for the first time a flow.
void begin_flow(thread& t);
enum class turn : uint8_t { may_continue, blocks, spins };
// Returns the thread that runs after `last` (k_nobody at the start); k_nobody if no thread can run.
uint32_t pick(uint32_t last, turn t);
// A choice among `options` that is no thread's turn: the base order takes `usual`.
uint32_t decide(uint32_t options, uint32_t usual);
// fair, greedy or reverse: the order in force, or the one that a replay deviates from (fair for seeded ones).
strategy base_order();

// Shared memory (shared_memory.cpp).
void open_shared(block_state& b);
void close_shared(const block_state& b);
void check_shared_canaries(const block_state& b);

// Collectives (collectives.cpp).
void thread_exited(thread& t);
void named_barriers_lose_thread(const thread& t);

// A finding if threads have skipped the block barrier that is about to complete (conditionals.cpp).
void judge_skipped_barrier(const block_state& b);

// Operations on matrices (tensor.cpp).
void complete_matrix_op(thread* lanes, uint32_t present);
uint32_t first_static_address();                             // behind the dynamic memory and a red zone
char* shared_place(const block_state& b, uint32_t address);  // nullptr where a 32-bit address names nothing of it

// Wide barriers (wide_barriers.cpp).
void begin_wide_barriers();
void wide_block_starts(block_state& b);
void wide_thread_exits(const thread& t);

// Asynchronous copies (async_copies.cpp).
void begin_async();
void forget_async();     // race flavour: what waiting for a copy or a phase would teach
bool land_one_flight();  // completes the oldest copy in flight; false if there is none
void may_land_flights();
inline void may_land_flight() {  // completes one, and a product, if the schedule says so
  if (device.has_flights) may_land_flights();
}
void async_thread_exits(thread& t);

// Products of warpgroups (warpgroup.cpp).
void begin_products();
void forget_products();
bool may_compute_products();  // computes some that are in flight if the schedule says so. Returns whether some are left
void drop_products(block_state& b);
void drop_products(thread& t);

// Faults (faults.cpp): those of kernels become findings from now on. ASan reports them itself.
void catch_faults();

// Failures.
[[noreturn]] void stop_overflow(const thread& self);
// At synchronisation: a kernel that goes too deep would write into its neighbour's stack.
inline void check_stack(const thread& self) {
  if (__builtin_expect(stack_used_up(self.flow), 0)) stop_overflow(self);
}
[[noreturn]] void stop_launch(const char* kind, std::string (*describe)(const void*), const void* frame);

// Ends the launch with a finding; describe() runs later, on the main stack, and may refer to the caller's frame.
template <class Describe>
[[noreturn]] void fail(const char* kind, const Describe& describe) {
  stop_launch(
      kind, [](const void* frame) -> std::string { return (*static_cast<const Describe*>(frame))(); }, &describe);
}

std::string describe(const thread& t);
std::string describe(const call_site& site);

}  // namespace emu
}  // namespace simt
