// row_ring: a team of blocks keeps a row, each block alone on its multiprocessor, while the next rows are copied ahead.
//
// A block's pieces of a row, every n-th for a team of n blocks, come through a ring of slots in shared memory. So what
// all blocks read and write at a time lies together (parts in one piece take 1 to 2 % longer). A piece is summed up as
// soon as it has arrived, and k_ring_lag pieces later it moves to registers, to the place of the same piece of the row
// before, which is written. So a slot is free again at once, copies are always in flight, and the exchange between the
// blocks has the time of k_ring_lag pieces. In turn m (m.0 is the first piece of row m):
//
//   load       m+1.3        m+2.0   m+2.1   m+2.2    asynchronous copies, into the slots that hold frees
//   wait, compute  m.3      m+1.0   m+1.1   m+1.2    the maximum and the terms of a piece that has arrived
//   exchange   send row m, receive row m-1           a word a block; the row was sent a turn before it is received
//   hold       m.0          m.1     m.2     m.3      from a slot to registers
//   store      m-1.0        m-1.1   m-1.2   m-1.3    from these registers, before hold
//
// Pieces that are not whole, at the ends of a row, take much longer, and the team waits for each other: they have a
// block of their own.
//
// Cost per row: the row once in and out, each exponential twice; one word a block (row_team.hpp). Two rescales per
// term. Rule: see row_halves.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/primitives/grid.hpp"
#include "kernels/primitives/reduce.hpp"
#include "kernels/primitives/row_access.hpp"
#include "kernels/primitives/row_part.hpp"
#include "kernels/primitives/row_team.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_ring_pieces = 4;  // of a row in a block
constexpr int k_ring_slots = 7;   // what fits a multiprocessor's shared memory with k_ring_threads
constexpr int k_ring_lag = 3;     // < k_ring_pieces, < k_ring_slots
constexpr int k_ring_threads = 512;
constexpr int k_ring_ends = 2;  // pieces of a row that are not whole, beside blocks of whole ones

// What the warps of a block share. Of two neighbouring rows, which overlap.
template <class Partial, class Result, int Warps>
struct ring_shared {
  Partial of_pieces[2][k_ring_pieces * Warps];
  part_claim claims[2][Warps];
  Partial of_blocks[k_max_team];
  Result of_row[2];
  unsigned summed_warps[2], come_warps[2];  // warps that have summed a row up, and that have come to write it
  // Every lane arrives for itself: with a __syncwarp and an arrival of one lane, ptxas 13.0 writes the loop out twice,
  // which takes 7 % of the time of 2^22 columns.
  simt::mbarrier summed[2];    // of_pieces and claims are there, and nobody looks at of_row of the row before last
  simt::mbarrier complete[2];  // of_row is there, and nobody looks at of_pieces, claims and of_blocks any more
};

// How the tiles of a row, its pieces, are shared by the blocks of a team: the first blocks take those of `whole`, every
// n-th each of n blocks, and those after them the others likewise. Where there are blocks of whole pieces, up to two
// others are left for one block.
struct ring_share {
  int blocks;
  int of_whole;  // blocks
  whole_tiles whole;
  int64_t others;  // tiles
};

// Kind: that of the block's pieces.
template <class Rule, class T, int Threads, part_kind Kind>
class ring_block {
 public:
  using partial = typename Rule::partial;
  using result = typename Rule::template result<T>;
  using slot = part_slot<T, Threads>;
  static constexpr int k_warps = Threads / k_warp_size;
  static constexpr int k_piece = part_piece<T, Threads>;
  using shared = ring_shared<partial, result, k_warps>;

  __device__ ring_block(const typename Rule::template arguments<T>& a, const team_plan& plan, const ring_share& share,
                        slot* slots, shared& s)
      : a_(a),
        plan_(plan),
        share_(share),
        slots_(slots),
        s_(s),
        team_(static_cast<int>(blockIdx.x) / plan.blocks),
        rank_(static_cast<int>(blockIdx.x) % plan.blocks),
        pieces_(static_cast<int>(ceil_div((k_whole ? share.whole.count() : share.others) - sharer(), sharers()))),
        rows_((a.rows - team_ + plan.teams - 1) / plan.teams) {}

  __device__ void run() {
    copied_ = written_ = place(0, 0);
    if (lane() == 0) {
#pragma unroll
      for (int p = 0; p < k_ring_pieces; ++p)
        if (!has(p)) s_.of_pieces[0][p * k_warps + warp()] = s_.of_pieces[1][p * k_warps + warp()] = {-INFINITY, 0.0f};
    }
    // Unrolled: as a loop, nvcc 13.0 gives the copies addresses in a register that nobody sets.
#pragma unroll
    for (int s = 0; s < k_ring_slots; ++s) {
      if (s / k_ring_pieces < rows_) copy(s / k_ring_pieces, s % k_ring_pieces, s);
      simt::cp_async_commit();
    }
    simt::wait_for_previous();  // the words are cleared
#pragma unroll 1
    for (int64_t m = -1; m <= rows_; ++m) turn(m);
  }

 private:
  static constexpr bool k_whole = Kind == part_kind::whole;
  static constexpr int k_last = (Kind == part_kind::end ? k_ring_ends : k_ring_pieces) - 1;  // piece

  __device__ int64_t row(int64_t i) const { return team_ + i * plan_.teams; }
  __device__ int64_t word(int64_t i) const { return row(i) * plan_.blocks; }
  // Which of the blocks that share such tiles this is, and of how many.
  __device__ int sharer() const { return k_whole ? rank_ : rank_ - share_.of_whole; }
  __device__ int sharers() const { return k_whole ? share_.of_whole : plan_.blocks - share_.of_whole; }
  // Whether the block has a piece p. What share_ring sees to is known at compile time.
  __device__ bool has(int p) const {
    if (k_whole && p < k_ring_pieces - 1) return true;
    return (Kind != part_kind::end || p < k_ring_ends) && p < pieces_;
  }
  // The block's piece p of row i.
  __device__ tile_place<T> place(int64_t i, int p) const {
    const int64_t t = p * sharers() + sharer();
    return place_of<T>(a_, row(i), k_whole ? share_.whole.begin + t : share_.whole.other(t), k_piece);
  }
  // What is to be done with piece p of row i, if the block has it; `first` is the place of the first one. Whole pieces
  // lie at one distance from each other; where nothing is read or written, `first` may be of any row.
  template <class Visit>
  __device__ void with_piece(int64_t i, const tile_place<T>& first, int p, Visit&& visit) const {
    if (!has(p)) return;
    if constexpr (k_whole)
      visit(row_part<Rule, T, Threads, Kind>(),
            tile_place<T>{first.x, first.y, 0, k_piece, p * share_.of_whole * k_piece});
    else
      visit(row_part<Rule, T, Threads, Kind>(), place(i, p));
  }
  // From the first piece of a row to that of the next.
  __device__ void advance(tile_place<T>& first) const {
    first.x += plan_.teams * a_.ldx;
    first.y += plan_.teams * a_.ldy;
  }

  __device__ static int after(int slot) { return slot == k_ring_slots - 1 ? 0 : slot + 1; }

  __device__ void copy(int64_t i, int piece, int to) {
    if (piece == 0 && i > 0) advance(copied_);
    with_piece(i, copied_, piece,
               [&](auto part, const auto& at) { part.copy(at, slots_[to], written_row<T> == row_reuse::again); });
  }

  // Sums the next piece up: `piece` of row i.
  __device__ void sum_up(int64_t i, int piece) {
    simt::cp_async_wait<k_ring_slots - k_ring_lag - 1>();
    if (piece == 0) claim_ = part_claim::none();
    with_piece(i, written_, piece, [&](auto part, const auto& at) {
      const partial mine = part.sum_up(at, slots_[summed_slot_], argmax(), claim_);
      if (lane() == 0) s_.of_pieces[i % 2][piece * k_warps + warp()] = mine;
    });
    summed_slot_ = after(summed_slot_);
    if (piece == k_last) publish(i);
  }

  // The warp that is the last to have summed row i up publishes the block's words.
  __device__ void publish(int64_t i) {
    if (argmax() && lane() == 0) s_.claims[i % 2][warp()] = claim_;
    s_.summed[i % 2].arrive();
    if (before_me(&s_.summed_warps[i % 2]) != k_warps - 1) return;
    wait(s_.summed[i % 2], i);
    const partial all = Rule::combine(s_.of_pieces[i % 2], k_ring_pieces * k_warps);
    int64_t best = k_no_claim<int64_t>;
    if (argmax())
      best = best_claim([&](int w) { return w < k_warps ? s_.claims[i % 2][w].against(all.maximum) : best; });
    if (lane() == 0) {
      simt::store_relaxed(plan_.words + word(i) + rank_, word_of(all));
      if (argmax()) simt::store_relaxed(plan_.claims + word(i) + rank_, static_cast<team_word>(best));
    }
    s_.complete[i % 2].arrive();
  }

  // The row's result. The warp that is the first to come here collects it for the block.
  __device__ result collect(int64_t i) {
    if (before_me(&s_.come_warps[i % 2]) == 0) {
      wait(s_.summed[i % 2], i);
      gather_words(plan_.words + word(i), plan_.blocks,
                   [&](int block, team_word w) { s_.of_blocks[block] = partial_of<partial>(w); });
      const partial all = Rule::combine(s_.of_blocks, plan_.blocks);
      if (argmax() && rank_ == 0) write_row_argmax(plan_, row(i), s_.of_blocks, all.maximum, Rule::argmax(a_));
      if (lane() == 0) s_.of_row[i % 2] = result(all);
      s_.complete[i % 2].arrive();
    }
    wait(s_.complete[i % 2], i);
    return s_.of_row[i % 2];
  }

  // Moves row m to registers, which hold row m - 1, and writes that one. Small code: what is not in the instruction
  // cache yet costs more than a few tests.
  __device__ void turn(int64_t m) {
#pragma unroll
    for (int p = 0; p < k_ring_pieces; ++p) {
      const int64_t summed = m + (p + k_ring_lag) / k_ring_pieces, copied = m + (p + k_ring_slots) / k_ring_pieces;
      if (summed >= 0 && summed < rows_) sum_up(summed, (p + k_ring_lag) % k_ring_pieces);
      if (m > 0) {
        if (p == 0) {
          result_ = collect(m - 1);
          if (m > 1) advance(written_);
        }
        with_piece(m - 1, written_, p, [&](auto part, const auto& at) { part.write(at, held_[p], result_); });
      }
      if (m >= 0 && m < rows_) {
        with_piece(m, written_, p, [&](auto part, const auto& at) { part.take(at, slots_[moved_slot_], held_[p]); });
        if (copied < rows_) copy(copied, (p + k_ring_slots) % k_ring_pieces, moved_slot_);
        simt::cp_async_commit();
        moved_slot_ = after(moved_slot_);
      }
    }
  }

  __device__ bool argmax() const { return Kind == part_kind::any && Rule::argmax(a_) != nullptr; }

  // The barrier of row i.
  __device__ static void wait(simt::mbarrier& barrier, int64_t i) { barrier.wait(static_cast<unsigned>(i / 2 % 2)); }

  // How many warps have been here before this one, of as many as the block has. Orders nothing.
  __device__ static unsigned before_me(unsigned* count) {
    unsigned before = 0;
    if (lane() == 0) before = atomicAdd(count, 1u) % k_warps;
    return __shfl_sync(k_all_lanes, before, 0);
  }
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % k_warp_size; }
  __device__ static int warp() { return static_cast<int>(threadIdx.x) / k_warp_size; }

  const typename Rule::template arguments<T>& a_;
  const team_plan& plan_;
  const ring_share& share_;
  slot* slots_;
  shared& s_;
  int team_, rank_, pieces_;
  int64_t rows_;  // of the team
  row_vector<T> held_[k_ring_pieces][k_part_vectors];
  result result_ = result(partial{0.0f, 1.0f});
  part_claim claim_ = part_claim::none();
  tile_place<T> copied_, written_;  // the first piece of the rows that are at it
  int summed_slot_ = 0, moved_slot_ = 0;
};

// Any: the pieces may be any. Those have a kernel of their own, lest they cost the others registers.
template <class Rule, class T, int Threads, bool Any>
__global__ void __launch_bounds__(Threads, 1)
    row_ring(typename Rule::template arguments<T> a, team_plan plan, ring_share share) {
  if (!simt::is_sm_90()) return;
  using slot = part_slot<T, Threads>;
  using shared = ring_shared<typename Rule::partial, typename Rule::template result<T>, Threads / k_warp_size>;
  SIMT_DYN_SHARED(slot, slots);
  SIMT_SHARED(s, shared);
  if (threadIdx.x < 2) {
    s.summed_warps[threadIdx.x] = s.come_warps[threadIdx.x] = 0;
    s.summed[threadIdx.x].init(Threads);
    s.complete[threadIdx.x].init(2 * k_warp_size);
  }
  __syncthreads();
  if constexpr (Any)
    ring_block<Rule, T, Threads, part_kind::any>(a, plan, share, slots, s).run();
  else if (static_cast<int>(blockIdx.x) % plan.blocks < share.of_whole)
    ring_block<Rule, T, Threads, part_kind::whole>(a, plan, share, slots, s).run();
  else
    ring_block<Rule, T, Threads, part_kind::end>(a, plan, share, slots, s).run();
}

// How a team of at most `most` blocks shares a row; of more blocks if they cannot.
template <class Rule, class T, int Threads>
ring_share share_ring(const typename Rule::template arguments<T>& a, int64_t most) {
  const int64_t tiles = tiles_of_rows(a.x, a.ldx, a.rows, a.cols, part_piece<T, Threads>);
  const whole_tiles whole = whole_tiles_of<T>(a, part_piece<T, Threads>);
  const int64_t others = tiles - whole.count();
  const int64_t of_whole = ceil_div(whole.count(), k_ring_pieces);
  const int64_t blocks = of_whole + ceil_div(others, k_ring_ends);
  if (Rule::argmax(a) == nullptr && blocks <= most && of_whole > 0 && whole.count() >= (k_ring_pieces - 1) * of_whole)
    return {static_cast<int>(blocks), static_cast<int>(of_whole), whole, others};
  const int64_t of_any = ceil_div(tiles, k_ring_pieces);
  return {static_cast<int>(std::min(of_any, most + 1)), 0, {0, 0}, tiles};
}

// For teams of at most as many blocks as the device has multiprocessors, and k_max_team.
template <class Rule, class T, int Threads>
void launch_row_ring(const typename Rule::template arguments<T>& a, const ring_share& share, simt::stream_t stream) {
  const int blocks = share.blocks;
  const int64_t teams = std::min<int64_t>(simt::device_properties(stream).sm_count / blocks, a.rows);
  const team_words words(a.rows * blocks, Rule::argmax(a) != nullptr, stream);
  const team_plan plan{blocks, static_cast<int>(teams), words.words(), words.claims()};
  simt::launch_config config{static_cast<unsigned>(blocks * teams), Threads,
                             k_ring_slots * sizeof(part_slot<T, Threads>), stream};
  config.cooperative = blocks > 1;
  config.overlaps = true;
  if (share.of_whole > 0)
    simt::launch(config, row_ring<Rule, T, Threads, false>, a, plan, share);
  else
    simt::launch(config, row_ring<Rule, T, Threads, true>, a, plan, share);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
