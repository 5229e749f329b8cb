// persistent_pipeline: a team of blocks keeps a row, each block alone on its multiprocessor, while the next rows are
// copied ahead.
//
// A block's tiles of a row, every n-th for a team of n blocks, come through a ring of slots in shared memory. So what
// all blocks read and write at a time lies together (parts in one tile take 1 to 2 % longer). A tile is summed up as
// soon as it has arrived, and k_pipeline_lag tiles later it moves to registers, to the place of the same tile of the
// row before, which is written. So a slot is free again at once, copies are always in flight, and the exchange between
// the blocks has the time of k_pipeline_lag tiles. In turn m (m.0 is the first tile of row m):
//
//   load       m+1.3        m+2.0   m+2.1   m+2.2    asynchronous copies, into the slots that hold frees
//   wait, compute  m.3      m+1.0   m+1.1   m+1.2    the maximum and the terms of a tile that has arrived
//   exchange   send row m, receive row m-1           a word a block; the row was sent a turn before it is received
//   hold       m.0          m.1     m.2     m.3      from a slot to registers
//   store      m-1.0        m-1.1   m-1.2   m-1.3    from these registers, before hold
//
// Tiles that are not whole, at the ends of a row, take much longer, and the blocks of a team wait for each other. So
// these tiles have their own block.
//
// Cost per row: the row once in and out, each exponential twice; one word a block (row_team.hpp). Two rescales per
// term. RowOp: see row_tile_pair.hpp.
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

constexpr int k_pipeline_tiles = 4;  // of a row in a block
constexpr int k_pipeline_slots = 7;  // as many as fit a multiprocessor's shared memory with k_pipeline_threads
constexpr int k_pipeline_lag = 3;    // < k_pipeline_tiles, < k_pipeline_slots
constexpr int k_pipeline_threads = 512;
constexpr int k_pipeline_ends = 2;  // tiles of a row that are not whole, if other blocks have whole ones

// Shared memory of the warps of a block, for two neighbouring rows, because rows overlap.
template <class Partial, class Result, int Warps>
struct pipeline_shared {
  Partial of_tiles[2][k_pipeline_tiles * Warps];
  tile_argmax_key argmax_keys[2][Warps];
  Partial of_blocks[k_max_team];
  Result of_row[2];
  unsigned summed_warps[2], come_warps[2];  // warps that have summed a row, and that have come to write it
  // Every lane arrives for itself: with a __syncwarp and an arrival of one lane, ptxas 13.0 generates the loop twice,
  // which costs 7 % of the time of 2^22 columns.
  simt::mbarrier summed[2];    // of_tiles and argmax keys are there, and nobody looks at of_row of the row before last
  simt::mbarrier complete[2];  // of_row is there, and nobody looks at of_tiles, argmax keys and of_blocks any more
};

// The distribution of a row's tiles over the blocks of a team: the first n blocks take every n-th whole tile, and the
// blocks after them take the other tiles likewise. If there are blocks of whole tiles, up to two other tiles are left
// for one block.
struct pipeline_share {
  int blocks;
  int of_whole;  // blocks
  whole_tiles whole;
  int64_t others;  // tiles
};

// Kind: the kind of the block's tiles.
template <class RowOp, class T, int Threads, tile_kind Kind>
class pipeline_block {
 public:
  using partial = typename RowOp::partial;
  using result = typename RowOp::template result<T>;
  using slot = tile_slot<T, Threads>;
  static constexpr int k_warps = Threads / k_warp_size;
  static constexpr int k_tile = tile_elements<T, Threads>;
  using shared = pipeline_shared<partial, result, k_warps>;

  __device__ pipeline_block(const typename RowOp::template arguments<T>& a, const team_plan& plan,
                            const pipeline_share& share, slot* slots, shared& s)
      : a_(a),
        plan_(plan),
        share_(share),
        slots_(slots),
        s_(s),
        team_(static_cast<int>(blockIdx.x) / plan.blocks),
        rank_(static_cast<int>(blockIdx.x) % plan.blocks),
        tiles_(static_cast<int>(ceil_div((k_whole ? share.whole.count() : share.others) - sharer(), sharers()))),
        rows_((a.rows - team_ + plan.teams - 1) / plan.teams) {}

  __device__ void run() {
    copied_ = written_ = place(0, 0);
    if (lane() == 0) {
#pragma unroll
      for (int p = 0; p < k_pipeline_tiles; ++p)
        if (!has(p)) s_.of_tiles[0][p * k_warps + warp()] = s_.of_tiles[1][p * k_warps + warp()] = {-INFINITY, 0.0f};
    }
    // Unrolled, because in a loop nvcc 13.0 takes the copies' addresses from a register that nothing sets.
#pragma unroll
    for (int s = 0; s < k_pipeline_slots; ++s) {
      if (s / k_pipeline_tiles < rows_) copy(s / k_pipeline_tiles, s % k_pipeline_tiles, s);
      simt::cp_async_commit();
    }
    simt::grid_dependency_wait();  // the words are cleared
#pragma unroll 1
    for (int64_t m = -1; m <= rows_; ++m) turn(m);
  }

 private:
  static constexpr bool k_whole = Kind == tile_kind::whole;
  static constexpr int k_last = (Kind == tile_kind::end ? k_pipeline_ends : k_pipeline_tiles) - 1;  // tile

  __device__ int64_t row(int64_t i) const { return team_ + i * plan_.teams; }
  __device__ int64_t word(int64_t i) const { return row(i) * plan_.blocks; }
  // The number of this block among those that share such tiles, and their count.
  __device__ int sharer() const { return k_whole ? rank_ : rank_ - share_.of_whole; }
  __device__ int sharers() const { return k_whole ? share_.of_whole : plan_.blocks - share_.of_whole; }
  // True if the block has a tile p. Facts that share_pipeline ensures are known at compile time.
  __device__ bool has(int p) const {
    if (k_whole && p < k_pipeline_tiles - 1) return true;
    return (Kind != tile_kind::end || p < k_pipeline_ends) && p < tiles_;
  }
  // The block's tile p of row i.
  __device__ tile_place<T> place(int64_t i, int p) const {
    const int64_t t = p * sharers() + sharer();
    return place_of<T>(a_, row(i), k_whole ? share_.whole.begin + t : share_.whole.other(t), k_tile);
  }
  // Visits tile p of row i, if the block has it; `first` is the place of the first one. Whole tiles have equal
  // distances; if nothing is read or written, `first` may be of any row.
  template <class Visit>
  __device__ void with_tile(int64_t i, const tile_place<T>& first, int p, Visit&& visit) const {
    if (!has(p)) return;
    if constexpr (k_whole)
      visit(tile_ops<RowOp, T, Threads, Kind>(),
            tile_place<T>{first.x, first.y, 0, k_tile, p * share_.of_whole * k_tile});
    else
      visit(tile_ops<RowOp, T, Threads, Kind>(), place(i, p));
  }
  // Advances from the first tile of a row to that of the next.
  __device__ void advance(tile_place<T>& first) const {
    first.x += plan_.teams * a_.ldx;
    first.y += plan_.teams * a_.ldy;
  }

  __device__ static int after(int slot) { return slot == k_pipeline_slots - 1 ? 0 : slot + 1; }

  __device__ void copy(int64_t i, int tile, int to) {
    if (tile == 0 && i > 0) advance(copied_);
    with_tile(i, copied_, tile,
              [&](auto ops, const auto& at) { ops.copy(at, slots_[to], load_policy<T> == cache_hint::keep_in_l2); });
  }

  // Sums the next tile: `tile` of row i.
  __device__ void sum_up(int64_t i, int tile) {
    simt::cp_async_wait<k_pipeline_slots - k_pipeline_lag - 1>();
    if (tile == 0) argmax_key_ = tile_argmax_key::none();
    with_tile(i, written_, tile, [&](auto ops, const auto& at) {
      const partial mine = ops.sum_up(at, slots_[summed_slot_], argmax(), argmax_key_);
      if (lane() == 0) s_.of_tiles[i % 2][tile * k_warps + warp()] = mine;
    });
    summed_slot_ = after(summed_slot_);
    if (tile == k_last) publish(i);
  }

  // The last warp that has summed row i publishes the block's words.
  __device__ void publish(int64_t i) {
    if (argmax() && lane() == 0) s_.argmax_keys[i % 2][warp()] = argmax_key_;
    s_.summed[i % 2].arrive();
    if (before_me(&s_.summed_warps[i % 2]) != k_warps - 1) return;
    wait(s_.summed[i % 2], i);
    const partial all = RowOp::combine(s_.of_tiles[i % 2], k_pipeline_tiles * k_warps);
    int64_t best = k_no_argmax_key<int64_t>;
    if (argmax())
      best = best_argmax_key([&](int w) { return w < k_warps ? s_.argmax_keys[i % 2][w].against(all.maximum) : best; });
    if (lane() == 0) {
      simt::store_relaxed(plan_.words + word(i) + rank_, pack_partial(all));
      if (argmax()) simt::store_relaxed(plan_.argmax_keys + word(i) + rank_, static_cast<partial_slot>(best));
    }
    s_.complete[i % 2].arrive();
  }

  // Returns the row's result. The first warp that arrives here collects it for the block.
  __device__ result collect(int64_t i) {
    if (before_me(&s_.come_warps[i % 2]) == 0) {
      wait(s_.summed[i % 2], i);
      wait_for_partials(plan_.words + word(i), plan_.blocks,
                        [&](int block, partial_slot w) { s_.of_blocks[block] = unpack_partial<partial>(w); });
      const partial all = RowOp::combine(s_.of_blocks, plan_.blocks);
      if (argmax() && rank_ == 0) write_row_argmax(plan_, row(i), s_.of_blocks, all.maximum, RowOp::argmax(a_));
      if (lane() == 0) s_.of_row[i % 2] = result(all);
      s_.complete[i % 2].arrive();
    }
    wait(s_.complete[i % 2], i);
    return s_.of_row[i % 2];
  }

  // Moves row m to registers, which hold row m - 1, and writes that row. The code is small, because instructions that
  // are not in the cache yet cost more than a few tests.
  __device__ void turn(int64_t m) {
#pragma unroll
    for (int p = 0; p < k_pipeline_tiles; ++p) {
      const int64_t summed = m + (p + k_pipeline_lag) / k_pipeline_tiles,
                    copied = m + (p + k_pipeline_slots) / k_pipeline_tiles;
      if (summed >= 0 && summed < rows_) sum_up(summed, (p + k_pipeline_lag) % k_pipeline_tiles);
      if (m > 0) {
        if (p == 0) {
          result_ = collect(m - 1);
          if (m > 1) advance(written_);
        }
        with_tile(m - 1, written_, p, [&](auto ops, const auto& at) { ops.write(at, resident_[p], result_); });
      }
      if (m >= 0 && m < rows_) {
        with_tile(m, written_, p, [&](auto ops, const auto& at) { ops.take(at, slots_[moved_slot_], resident_[p]); });
        if (copied < rows_) copy(copied, (p + k_pipeline_slots) % k_pipeline_tiles, moved_slot_);
        simt::cp_async_commit();
        moved_slot_ = after(moved_slot_);
      }
    }
  }

  __device__ bool argmax() const { return Kind == tile_kind::any && RowOp::argmax(a_) != nullptr; }

  // The barrier of row i.
  __device__ static void wait(simt::mbarrier& barrier, int64_t i) { barrier.wait(static_cast<unsigned>(i / 2 % 2)); }

  // Returns the number of warps of the block that were here before this one. It orders no memory.
  __device__ static unsigned before_me(unsigned* count) {
    unsigned before = 0;
    if (lane() == 0) before = atomicAdd(count, 1u) % k_warps;
    return __shfl_sync(k_all_lanes, before, 0);
  }
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % k_warp_size; }
  __device__ static int warp() { return static_cast<int>(threadIdx.x) / k_warp_size; }

  const typename RowOp::template arguments<T>& a_;
  const team_plan& plan_;
  const pipeline_share& share_;
  slot* slots_;
  shared& s_;
  int team_, rank_, tiles_;
  int64_t rows_;  // of the team
  row_vector<T> resident_[k_pipeline_tiles][k_tile_vectors];
  result result_ = result(partial{0.0f, 1.0f});
  tile_argmax_key argmax_key_ = tile_argmax_key::none();
  tile_place<T> copied_, written_;  // the first tile of the row that is copied, and of the row that is written
  int summed_slot_ = 0, moved_slot_ = 0;
};

// Any: tiles of any kind. They have a separate kernel, so that they cost the others no registers.
template <class RowOp, class T, int Threads, bool Any>
__global__ void __launch_bounds__(Threads, 1)
    persistent_pipeline(typename RowOp::template arguments<T> a, team_plan plan, pipeline_share share) {
  if (!simt::is_sm_90()) return;
  using slot = tile_slot<T, Threads>;
  using shared = pipeline_shared<typename RowOp::partial, typename RowOp::template result<T>, Threads / k_warp_size>;
  SIMT_DYN_SHARED(slot, slots);
  SIMT_SHARED(s, shared);
  if (threadIdx.x < 2) {
    s.summed_warps[threadIdx.x] = s.come_warps[threadIdx.x] = 0;
    s.summed[threadIdx.x].init(Threads);
    s.complete[threadIdx.x].init(2 * k_warp_size);
  }
  __syncthreads();
  if constexpr (Any)
    pipeline_block<RowOp, T, Threads, tile_kind::any>(a, plan, share, slots, s).run();
  else if (static_cast<int>(blockIdx.x) % plan.blocks < share.of_whole)
    pipeline_block<RowOp, T, Threads, tile_kind::whole>(a, plan, share, slots, s).run();
  else
    pipeline_block<RowOp, T, Threads, tile_kind::end>(a, plan, share, slots, s).run();
}

// Returns the distribution for a team of at most `most` blocks, or of more if these cannot keep a row.
template <class RowOp, class T, int Threads>
pipeline_share share_pipeline(const typename RowOp::template arguments<T>& a, int64_t most) {
  const int64_t tiles = tiles_of_rows(a.x, a.ldx, a.rows, a.cols, tile_elements<T, Threads>);
  const whole_tiles whole = whole_tiles_of<T>(a, tile_elements<T, Threads>);
  const int64_t others = tiles - whole.count();
  const int64_t of_whole = ceil_div(whole.count(), k_pipeline_tiles);
  const int64_t blocks = of_whole + ceil_div(others, k_pipeline_ends);
  if (RowOp::argmax(a) == nullptr && blocks <= most && of_whole > 0 &&
      whole.count() >= (k_pipeline_tiles - 1) * of_whole)
    return {static_cast<int>(blocks), static_cast<int>(of_whole), whole, others};
  const int64_t of_any = ceil_div(tiles, k_pipeline_tiles);
  return {static_cast<int>(std::min(of_any, most + 1)), 0, {0, 0}, tiles};
}

// For teams of at most as many blocks as the device has multiprocessors, and at most k_max_team.
template <class RowOp, class T, int Threads>
void launch_persistent_pipeline(const typename RowOp::template arguments<T>& a, const pipeline_share& share,
                                simt::stream_t stream) {
  const int blocks = share.blocks;
  const int64_t teams = std::min<int64_t>(simt::device_properties(stream).sm_count / blocks, a.rows);
  const partial_slots words(a.rows * blocks, RowOp::argmax(a) != nullptr, stream);
  const team_plan plan{blocks, static_cast<int>(teams), words.words(), words.argmax_keys()};
  simt::launch_config config{static_cast<unsigned>(blocks * teams), Threads,
                             k_pipeline_slots * sizeof(tile_slot<T, Threads>), stream};
  config.cooperative = blocks > 1;
  config.programmatic_launch = true;
  if (share.of_whole > 0)
    simt::launch(config, persistent_pipeline<RowOp, T, Threads, false>, a, plan, share);
  else
    simt::launch(config, persistent_pipeline<RowOp, T, Threads, true>, a, plan, share);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
