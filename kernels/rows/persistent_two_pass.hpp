// persistent_two_pass: all blocks of a device keep a row that is longer than what fits their registers and shared
// memory.
//
//   each block   load, compute: all of its tiles, the last of which stay | exchange | store what stayed | store ...
//                                                                                     load again, backwards ......
//
// Its tiles come through a ring of slots in shared memory and are summed up; the last of them stay, in registers and in
// slots. After the exchange between the blocks these tiles are written first, while the tiles before them are read once
// more, the last one first, and then the next row. If the L2 cache can keep the tiles that are read again, a hint asks
// for it, and each block takes its own tiles. In longer rows a block takes the next tile that no block has taken,
// because multiprocessors differ by a third in speed, and their writes at a time should lie close together (the same
// work in random order takes 8 % longer).
//
// Cost per row: the row in and out, and the part that did not stay once more in; each exponential twice; one exchange
// of a word a block (row_team.hpp). Two rescales per term up to k_two_pass_group tiles a block (2^22 columns on 16
// multiprocessors), and two more and one for each doubling beyond. A pair of launches for each row is 7 to 17 % slower
// in f32 (docs/notes/softmax.md). RowOp: see row_tile_pair.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/primitives/grid.hpp"
#include "kernels/primitives/reduce.hpp"
#include "kernels/rows/row_access.hpp"
#include "kernels/rows/row_team.hpp"
#include "kernels/rows/row_tile.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_two_pass_threads = 512;
// Tiles that stay in registers, and slots. Smaller blocks, for shorter rows, keep less; otherwise they would keep
// everything.
template <int Threads>
constexpr int two_pass_resident = Threads == k_two_pass_threads ? 4 : 1;
template <int Threads>
constexpr int two_pass_slots = Threads == k_two_pass_threads ? 6 : 2;
constexpr int k_two_pass_group = 32;   // tiles whose partials a block combines at a time
constexpr int k_two_pass_levels = 14;  // of groups, each of twice as many tiles as the one before
// Tiles of a block that do not stay and that the L2 cache can hold: 34 MB on an H200.
template <int Threads>
constexpr int two_pass_cached = Threads == k_two_pass_threads ? 8 : 1;
constexpr int k_two_pass_turns = 16;  // > the slots of a block + 1

template <class Partial, int Warps>
struct two_pass_shared {
  int64_t again[k_two_pass_turns];  // tiles that are being read once more, in turn; negative: no more
  Partial of_tiles[k_two_pass_group * Warps];
  tile_argmax_key argmax_keys[Warps];
  Partial of_blocks[k_max_team];
  Partial of_levels[k_two_pass_levels];
  Partial pair[2];
  Partial of_row;
};

// Kind: the tiles of the block. `end`: ends of rows beside whole tiles, which have the same place in all rows.
template <class RowOp, class T, int Threads, tile_kind Kind>
class two_pass_block {
 public:
  using partial = typename RowOp::partial;
  using result = typename RowOp::template result<T>;
  using slot = tile_slot<T, Threads>;
  static constexpr int k_warps = Threads / k_warp_size;
  static constexpr int k_tile = tile_elements<T, Threads>;
  static constexpr int k_resident = two_pass_resident<Threads>;
  static constexpr int k_slots = two_pass_slots<Threads>;
  static_assert(k_slots + 1 < k_two_pass_turns, "a turn is over before its place is needed again");
  using shared = two_pass_shared<partial, k_warps>;

  // The block takes every blocks-th of a row's `tiles`: `steps` of them. `taken`: see launch_persistent_two_pass.
  __device__ two_pass_block(const typename RowOp::template arguments<T>& a, const team_plan& plan, partial_slot* taken,
                            int64_t tiles, int steps, slot* slots, shared& s)
      : a_(a),
        plan_(plan),
        taken_(taken),
        slots_(slots),
        s_(s),
        whole_(whole_tiles_of<T>(a, k_tile)),
        dropped_of_row_(tiles - (k_slots + k_resident) * plan.blocks),
        steps_(steps),
        dropped_(steps > k_slots + k_resident ? steps - k_slots - k_resident : 0),
        resident_count_(steps - dropped_ < k_resident ? steps - dropped_ : k_resident),
        first_(first_of(0)),
        copied_(first_) {}

  __device__ void run() {
#pragma unroll 1
    for (int s = 0; s < k_slots; ++s) refill();
    simt::grid_dependency_wait();  // the words are cleared
    for (int64_t r = 0; r < a_.rows; ++r) {
      if (r > 0) first_ = first_of(r);
      sum_up(r);
      own_left_ = dropped_;
      if (threadIdx.x == 0) next_again_ = take(r);
      if (warp() == 0) exchange(r);
      __syncthreads();
      if (steps_ > 0) write(r, result(s_.of_row));
    }
  }

 private:
  // The block's tile of a row at `step`.
  __device__ int64_t tile(int step) const { return static_cast<int64_t>(step) * plan_.blocks + blockIdx.x; }
  // The tile relative to which the places of whole tiles are computed.
  __device__ int64_t origin() const { return Kind == tile_kind::end ? whole_.begin : 0; }
  __device__ tile_place<T> first_of(int64_t r) const { return place_of<T>(a_, r, origin(), k_tile); }
  // Visits tile t of row r, whose origin is `first`. Whole tiles have equal distances.
  template <class Visit>
  __device__ void with_tile(int64_t r, const tile_place<T>& first, int64_t t, Visit&& visit) const {
    if constexpr (Kind != tile_kind::whole)
      if (Kind == tile_kind::any || !whole_.has(t))
        return visit(tile_ops<RowOp, T, Threads, Kind>(), place_of<T>(a_, r, t, k_tile));
    if constexpr (Kind != tile_kind::any) {
      const int64_t distance = (t - origin()) * k_tile;
      visit(tile_ops<RowOp, T, Threads, tile_kind::whole>(),
            tile_place<T>{first.x + distance, first.y + distance, 0, k_tile});
    }
  }

  // Copies the next tile into the slot that has been free for longest: the block's tiles of the row, then those of the
  // next row. Each copy is one group.
  __device__ void refill() {
    if (steps_ > 0 && next_row_ < a_.rows) {
      with_tile(next_row_, copied_, tile(next_),
                [&](auto ops, const auto& at) { ops.copy(at, slots_[refilled_], next_ < dropped_); });
      if (++next_ == steps_) {
        next_ = 0;
        if (++next_row_ < a_.rows) copied_ = first_of(next_row_);
      }
    }
    simt::cp_async_commit();
    refilled_ = after(refilled_);
  }

  // By all threads, while row r is written: the same, but tiles that did not stay come first. The barrier keeps the
  // warps together, which saves 2 % of the time even if each block takes its own tiles. Tiles that nobody reads again
  // also stay in the cache (load_policy), unless they displace tiles that are read again.
  __device__ void refill_again(int64_t r) {
    if (threadIdx.x == 0) {
      s_.again[turn_ % k_two_pass_turns] = next_again_;
      if (next_again_ >= 0) next_again_ = take(r);
    }
    __syncthreads();
    const int64_t t = s_.again[turn_++ % k_two_pass_turns];
    if (t < 0) return refill();
    with_tile(r, first_, t, [&](auto ops, const auto& at) { ops.copy(at, slots_[refilled_], !is_cached()); });
    simt::cp_async_commit();
    refilled_ = after(refilled_);
  }

  // Returns the next tile of row r that is read once more; negative if there is none. By one thread, a turn ahead.
  __device__ int64_t take(int64_t r) {
    if (is_cached()) return own_left_ > 0 ? tile(--own_left_) : -1;
    return dropped_of_row_ - 2 - static_cast<int64_t>(atomicAdd(taken_ + r, 1));
  }
  __device__ bool is_cached() const { return dropped_of_row_ <= two_pass_cached<Threads> * plan_.blocks; }

  __device__ static int after(int slot) { return slot == k_slots - 1 ? 0 : slot + 1; }

  // Waits for a copy; since then the `staying` slots before it have not been refilled.
  template <int Slots = k_slots>
  __device__ static void wait_for_copy(int staying) {
    if (staying == k_slots - Slots)
      simt::cp_async_wait<Slots - 1>();
    else if constexpr (Slots > 1)
      wait_for_copy<Slots - 1>(staying);
  }

  __device__ void sum_up(int64_t r) {
    tile_argmax_key argmax_key = tile_argmax_key::none();
    int groups = 0;
    int slot_of_step = refilled_;  // the oldest slot
#pragma unroll 1
    for (int step = 0; step < steps_; ++step) {
      const int staying = step - dropped_ - resident_count_;  // if not negative, the slot of a tile that stays
      wait_for_copy(staying < 0 ? 0 : staying);
      partial mine;
      with_tile(r, first_, tile(step),
                [&](auto ops, const auto& at) { mine = ops.sum_up(at, slots_[slot_of_step], argmax(), argmax_key); });
      const int of_group = step % k_two_pass_group;
      if (lane() == 0) s_.of_tiles[of_group * k_warps + warp()] = mine;
      if (staying < 0) {
        if (step >= dropped_)
#pragma unroll
          for (int h = 0; h < k_resident; ++h)
            if (step - dropped_ == h)
              with_tile(r, first_, tile(step),
                        [&](auto ops, const auto& at) { ops.take(at, slots_[slot_of_step], resident_[h]); });
        refill();
      }
      slot_of_step = after(slot_of_step);
      if (of_group == k_two_pass_group - 1 || step == steps_ - 1) {
        __syncthreads();
        if (warp() == 0) combine_group(of_group + 1, groups);
        ++groups;
        __syncthreads();
      }
    }
    if (argmax()) {
      if (lane() == 0) s_.argmax_keys[warp()] = argmax_key;
      __syncthreads();
    }
    if (warp() == 0 && groups != 1) {
      for (int level = lane(); level < k_two_pass_levels; level += k_warp_size)
        if ((groups >> level & 1) == 0) s_.of_levels[level] = {-INFINITY, 0.0f};
      __syncwarp();
      const partial all = RowOp::combine(s_.of_levels, k_two_pass_levels);
      if (lane() == 0) s_.of_row = all;
      __syncwarp();
    }
  }

  // By one warp: combines the partials of a group of tiles; 2^level groups become one partial of that level.
  __device__ void combine_group(int tiles, int groups_before) {
    partial all = RowOp::combine(s_.of_tiles, tiles * k_warps);
    int level = 0;
    for (; (groups_before >> level & 1) != 0; ++level) {
      if (lane() == 0) {
        s_.pair[0] = s_.of_levels[level];
        s_.pair[1] = all;
      }
      __syncwarp();
      all = RowOp::combine(s_.pair, 2);
      __syncwarp();
    }
    if (lane() == 0) s_.of_levels[level] = s_.of_row = all;
    __syncwarp();
  }

  // By one warp: of_row is the block's partial before, and the row's partial after.
  __device__ void exchange(int64_t r) {
    const partial mine = s_.of_row;
    const int64_t word = r * plan_.blocks;
    // In place, other blocks write the tiles that this one has read, and it writes theirs.
    if (!is_cached()) __threadfence();
    if (lane() == 0) simt::store_relaxed(plan_.words + word + blockIdx.x, pack_partial(mine));
    wait_for_partials(plan_.words + word, plan_.blocks,
                      [&](int block, partial_slot w) { s_.of_blocks[block] = unpack_partial<partial>(w); });
    if (!is_cached()) __threadfence();
    const partial all = RowOp::combine(s_.of_blocks, plan_.blocks);
    if (lane() == 0) s_.of_row = all;
    if (!argmax()) return;
    const int64_t best = best_argmax_key(
        [&](int i) { return i < k_warps ? s_.argmax_keys[i].against(mine.maximum) : k_no_argmax_key<int64_t>; });
    if (lane() == 0) simt::store_relaxed(plan_.argmax_keys + word + blockIdx.x, static_cast<partial_slot>(best));
    if (blockIdx.x == 0) write_row_argmax(plan_, r, s_.of_blocks, all.maximum, RowOp::argmax(a_));
  }

  // Writes first the tiles that stayed in slots, then those in registers, then those that are read once more.
  __device__ void write(int64_t r, const result& of_row) {
    int64_t again = turn_;
#pragma unroll 1
    for (int step = dropped_ + resident_count_; step < steps_; ++step) write_slot(r, tile(step), of_row);
#pragma unroll
    for (int h = 0; h < k_resident; ++h) {
      if (h >= resident_count_) break;
      with_tile(r, first_, tile(dropped_ + h), [&](auto ops, const auto& at) { ops.write(at, resident_[h], of_row); });
    }
#pragma unroll 1
    for (; again < turn_ && s_.again[again % k_two_pass_turns] >= 0; ++again) {
      wait_for_copy(0);
      write_slot(r, s_.again[again % k_two_pass_turns], of_row);
    }
  }
  // Tile t of row r is in the slot that is refilled next.
  __device__ void write_slot(int64_t r, int64_t t, const result& of_row) {
    with_tile(r, first_, t, [&](auto ops, const auto& at) {
      row_vector<T> vectors[k_tile_vectors];
      ops.take(at, slots_[refilled_], vectors);
      ops.write(at, vectors, of_row);
    });
    refill_again(r);
  }

  __device__ bool argmax() const { return Kind == tile_kind::any && RowOp::argmax(a_) != nullptr; }
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % k_warp_size; }
  __device__ static int warp() { return static_cast<int>(threadIdx.x) / k_warp_size; }

  const typename RowOp::template arguments<T>& a_;
  const team_plan& plan_;
  partial_slot* taken_;
  slot* slots_;
  shared& s_;
  whole_tiles whole_;
  int64_t dropped_of_row_;  // tiles that do not stay: the first ones; may be negative
  int steps_, dropped_;     // tiles of the block, and how many of them do not stay
  int resident_count_;      // in registers
  tile_place<T> first_;     // the origin of the current row
  row_vector<T> resident_[k_resident][k_tile_vectors];
  int64_t next_row_ = 0;  // to be copied
  tile_place<T> copied_;  // the origin of that row
  int next_ = 0;          // of that row
  int refilled_ = 0;
  int64_t turn_ = 0;  // of refill_again
  int own_left_ = 0;  // tiles of this row that thread 0 may still take, and what it has taken
  int64_t next_again_ = -1;
};

// Each kind has a separate kernel; in one kernel they would cost each other registers.
template <class RowOp, class T, int Threads, tile_kind Kind>
__global__ void __launch_bounds__(Threads, 1)
    persistent_two_pass(typename RowOp::template arguments<T> a, team_plan plan, partial_slot* taken, int64_t tiles) {
  using slot = tile_slot<T, Threads>;
  using shared = two_pass_shared<typename RowOp::partial, Threads / k_warp_size>;
  SIMT_DYN_SHARED(slot, slots);
  SIMT_SHARED(s, shared);
  const int64_t block = blockIdx.x;
  const int steps = block < tiles ? static_cast<int>(ceil_div(tiles - block, plan.blocks)) : 0;
  two_pass_block<RowOp, T, Threads, Kind>(a, plan, taken, tiles, steps, slots, s).run();
}

template <class RowOp, class T, int Threads>
tile_kind two_pass_kind(const typename RowOp::template arguments<T>& a, int64_t tiles) {
  const whole_tiles whole = whole_tiles_of<T>(a, tile_elements<T, Threads>);
  if (RowOp::argmax(a) != nullptr || whole.end == whole.begin) return tile_kind::any;
  return whole.begin == 0 && whole.end == tiles ? tile_kind::whole : tile_kind::end;
}

// For rows of any length.
template <class RowOp, class T, int Threads>
void launch_persistent_two_pass(const typename RowOp::template arguments<T>& a, simt::stream_t stream) {
  const int64_t tiles = tiles_of_rows(a.x, a.ldx, a.rows, a.cols, tile_elements<T, Threads>);
  const int blocks = std::min(simt::device_properties(stream).sm_count, k_max_team);
  // One more word for each row: the number of tiles that have been taken to be read once more, minus one
  // (k_no_partial).
  const partial_slots words(a.rows * (blocks + 1), RowOp::argmax(a) != nullptr, stream);
  const team_plan plan{blocks, 1, words.words(), words.argmax_keys()};
  simt::launch_config config{static_cast<unsigned>(blocks), Threads,
                             two_pass_slots<Threads> * sizeof(tile_slot<T, Threads>), stream};
  config.cooperative = true;
  config.programmatic_launch = true;
  const auto run = [&](auto kernel) { simt::launch(config, kernel, a, plan, words.words() + a.rows * blocks, tiles); };
  switch (two_pass_kind<RowOp, T, Threads>(a, tiles)) {
    case tile_kind::whole: return run(persistent_two_pass<RowOp, T, Threads, tile_kind::whole>);
    case tile_kind::end: return run(persistent_two_pass<RowOp, T, Threads, tile_kind::end>);
    case tile_kind::any: return run(persistent_two_pass<RowOp, T, Threads, tile_kind::any>);
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
