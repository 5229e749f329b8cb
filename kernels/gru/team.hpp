// Regimes `cluster` and `grid`: the blocks of a team share the hidden units of a group of rows. Each block keeps the
// weights of its units in registers. It sends the others its states, or in the backward pass its gradients of the
// gates, and a barrier of the team follows each step. Two buffers are used in turn: no block reads the values that a
// step writes before that barrier, and no block overwrites the values that it reads before the next barrier.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/gru/operand.hpp"
#include "kernels/gru/share.hpp"
#include "kernels/gru/steps.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

struct gru_team_memory {
  int64_t groups;   // of rows, of all directions
  float* exchange;  // of a grid: [2][rows of a group][1 or 3 segments][pitch], aligned to 16 bytes, zeros at first
};
// Segments, which are the states or the gradients of a gate, begin at vectors.
__device__ __host__ constexpr int64_t gru_exchange_pitch(int64_t hidden) { return (hidden + 3) / 4 * 4; }

// Calls multiply(number of rows as a type, row, its vector) for `count` rows from `first` on.
template <class Share, class Multiply>
__device__ void gru_for_rows(int first, int count, const float* from, const Multiply& multiply) {
  int row = 0;
  for (; row + Share::k_rows <= count; row += Share::k_rows)
    multiply(std::integral_constant<int, Share::k_rows>(), first + row, from + row * Share::k_inner);
  for (; row < count; ++row) multiply(std::integral_constant<int, 1>(), first + row, from + row * Share::k_inner);
}

// A cluster has a group of rows to itself. Values are written to the shared memory of each of its blocks.
template <class Share>
class gru_cluster_team {
 public:
  __device__ __host__ static constexpr int64_t shared_floats(int64_t rows) { return 2 * rows * Share::k_inner; }
  static constexpr bool k_is_grid = false;

  __device__ gru_cluster_team(float* shared, const gru_team_memory&, int64_t rows, int64_t hidden)
      : buffers_(shared), rows_(static_cast<int>(rows)) {
    for (int i = static_cast<int>(threadIdx.x); i < shared_floats(rows); i += Share::k_threads)
      if (i % Share::k_width >= hidden) shared[i] = 0.0f;
    sync();  // from here on every block of the cluster runs
  }
  __device__ static int64_t first_group() { return simt::cluster_id(); }
  __device__ static int64_t group_step() { return gridDim.x / simt::cluster_size(); }
  __device__ static int rank() { return static_cast<int>(simt::cluster_rank()); }
  // Between these two a block writes only data that no other block reads.
  __device__ static void arrive() { simt::cluster_arrive(); }
  __device__ static void wait() { simt::cluster_wait(); }
  __device__ static void sync() {
    arrive();
    wait();
  }

  __device__ void publish(int parity, int row, int segment, int64_t k, float value) const {
    float* const own = buffers_ + (parity * rows_ + row) * Share::k_inner + segment * Share::k_width + k;
    const unsigned size = simt::cluster_size();
    // A step waits for these stores: eight addresses at once are 2 to 9 % of one row's step faster than one by one.
    for (unsigned first = 0; first < size; first += 8) {
#pragma unroll
      for (unsigned i = 0; i < 8; ++i)
        if (first + i < size) *simt::map_shared_rank(own, first + i) = value;
    }
  }
  template <class Multiply>
  __device__ void multiply(int parity, int first, int count, const Multiply& multiply) const {
    gru_for_rows<Share>(0, count, buffers_ + (parity * rows_ + first) * Share::k_inner, multiply);
  }

 private:
  float* buffers_;
  int rows_;
};

// The whole grid takes one group of rows after another. Values go through device memory, past the L1 caches, and into
// shared memory in stages.
template <class Share>
class gru_grid_team {
 public:
  static constexpr int k_stages = 3;
  static_assert(Share::k_width <= 4 * Share::k_threads, "a thread copies a vector of each segment");
  __device__ __host__ static constexpr int64_t shared_floats(int64_t) {
    return k_stages * Share::k_rows * Share::k_inner;
  }
  static constexpr bool k_is_grid = true;

  __device__ gru_grid_team(float* shared, const gru_team_memory& memory, int64_t rows, int64_t hidden)
      : stages_(shared), exchange_(memory.exchange), rows_(rows), pitch_(static_cast<int>(gru_exchange_pitch(hidden))) {
    for (int i = static_cast<int>(threadIdx.x); i < shared_floats(rows); i += Share::k_threads)
      if (i % Share::k_width >= pitch_) shared[i] = 0.0f;
  }
  __device__ static int64_t first_group() { return 0; }
  __device__ static int64_t group_step() { return 1; }
  __device__ static int rank() { return static_cast<int>(blockIdx.x); }
  __device__ static void arrive() {}
  __device__ static void wait() { simt::grid_sync(); }
  __device__ static void sync() { wait(); }

  __device__ void publish(int parity, int row, int segment, int64_t k, float value) const {
    exchange_[((parity * rows_ + row) * Share::k_segments + segment) * pitch_ + k] = value;
  }
  template <class Multiply>
  __device__ void multiply(int parity, int first, int count, const Multiply& multiply) const {
    constexpr int k_rows = Share::k_rows, k_stage = k_rows * Share::k_inner;
    const float* const from = exchange_ + (parity * rows_ + first) * Share::k_segments * pitch_;
    const auto rows_of = [&](int stage) { return count - stage * k_rows < k_rows ? count - stage * k_rows : k_rows; };
    const int column = 4 * static_cast<int>(threadIdx.x);
    const auto copy = [&](int stage) {
      const int end = column < pitch_ ? rows_of(stage) * Share::k_segments : 0;
      const float* source = from + static_cast<int64_t>(stage) * k_rows * Share::k_segments * pitch_ + column;
      float* const to = stages_ + stage % k_stages * k_stage + column;
#pragma unroll
      for (int segment = 0; segment < k_rows * Share::k_segments; ++segment) {
        if (segment < end) simt::cp_async<16>(to + segment * Share::k_width, source);
        source += pitch_;
      }
      simt::cp_async_commit();
    };
    for (int stage = 0; stage < k_stages - 1; ++stage) copy(stage);
    for (int stage = 0; stage * k_rows < count; ++stage) {
      simt::cp_async_wait<k_stages - 2>();
      __syncthreads();  // this stage is there, and nobody reads the one before
      copy(stage + k_stages - 1);
      gru_for_rows<Share>(stage * k_rows, rows_of(stage), stages_ + stage % k_stages * k_stage, multiply);
    }
  }

 private:
  float* stages_;
  float* exchange_;
  int64_t rows_;
  int pitch_;
};

// Further shared memory of a block: partial sums of a tile of rows, and the values of its own units.
template <class Share, int OutputsOfUnit>
struct gru_team_shape {
  static constexpr int k_units = Share::k_outputs / OutputsOfUnit;  // of a block
  static constexpr int k_tile = Share::k_threads / k_units;         // rows: a thread has one unit of one of them
  static constexpr int k_partials = k_tile * Share::k_outputs;      // of a warp
  static_assert(Share::k_threads % k_units == 0, "every thread has a unit");
  // True if there are registers to keep a unit's place from step to step. With one tile the place then advances.
  static constexpr bool k_keeps_place = Share::k_threads <= 256;
  __device__ static bool moves_on(int rows) { return k_keeps_place && rows <= k_tile; }
  template <class Team>
  __device__ __host__ static constexpr int64_t shared_floats(int64_t rows) {
    return Team::shared_floats(rows) + Share::k_warps_inner * k_partials + rows * k_units;
  }

  // The sum of an output for a row of the tile: the warps' parts in their order.
  __device__ static float sum_of(const float* partials, int row, int output) {
    float sum = partials[row * Share::k_outputs + output];
#pragma unroll
    for (int warp = 1; warp < Share::k_warps_inner; ++warp)
      sum += partials[warp * k_partials + row * Share::k_outputs + output];
    return sum;
  }
};

// The addresses of the block's shared data in a thread, and the unit and the row of each tile that the thread has.
template <class Share, class Team, int OutputsOfUnit>
struct gru_team_thread {
  using shape = gru_team_shape<Share, OutputsOfUnit>;
  float* partials;
  float* values;          // [rows][k_units]: states, or dh
  float* of_warp;         // of the partial sums
  int row, unit;          // of a tile
  int64_t first_unit, k;  // of the block, of this thread

  __device__ gru_team_thread(float* shared, int64_t rows, int rank)
      : partials(shared + Team::shared_floats(rows)),
        values(partials + Share::k_warps_inner * shape::k_partials),
        of_warp(partials + Share::warp_inner() * shape::k_partials),
        row(static_cast<int>(threadIdx.x) / shape::k_units),
        unit(static_cast<int>(threadIdx.x) % shape::k_units),
        first_unit(static_cast<int64_t>(rank) * shape::k_units),
        k(first_unit + unit) {}

  __device__ float& value(int tile) const { return values[(tile + row) * shape::k_units + unit]; }
  // Makes the products of a tile; sum(i) is then the i-th sum of this thread's unit.
  __device__ void multiply(const Team& team, const float (&w)[Share::k_thread_outputs][Share::k_thread_inner],
                           int parity, int tile, int rows) const {
    team.multiply(parity, tile, rows - tile > shape::k_tile ? shape::k_tile : rows - tile,
                  [&](auto count, int first, const float* from) {
                    gru_multiply_rows<Share, decltype(count)::value>(w, from, of_warp + first * Share::k_outputs);
                  });
    __syncthreads();
  }
  __device__ float sum(int i) const { return shape::sum_of(partials, row, OutputsOfUnit * unit + i); }
};

// A unit's biases; zeros beyond `hidden` and without biases.
__device__ inline void gru_load_bias(float (&bias)[3], const float* b_hh, int64_t hidden, int64_t k) {
  for (int gate = 0; gate < 3; ++gate) bias[gate] = k < hidden && b_hh != nullptr ? b_hh[gate * hidden + k] : 0.0f;
}
// A block's weights: of the gates of its units in the forward pass, of their columns in the backward pass.
template <class Share, class Operand>
__device__ void gru_load_team_gates(float (&w)[Share::k_thread_outputs][Share::k_thread_inner], const float* w_hh,
                                    int64_t hidden, int64_t first_unit, const Operand& operand) {
  gru_load_share<Share>(w, hidden, operand, [&](int output) -> gru_weight_row {
    const int64_t of_unit = first_unit + output / 3;
    return {of_unit < hidden ? w_hh + (output % 3 * hidden + of_unit) * hidden : nullptr, 0, 1};
  });
}
template <class Share, class Operand>
__device__ void gru_load_team_columns(float (&w)[Share::k_thread_outputs][Share::k_thread_inner], const float* w_hh,
                                      int64_t hidden, int64_t first_unit, const Operand& operand) {
  gru_load_share<Share>(w, hidden, operand, [&](int output) -> gru_weight_row {
    const int64_t of_unit = first_unit + output;
    return {of_unit < hidden ? w_hh + of_unit : nullptr, hidden * hidden, hidden};
  });
}

template <class Share, class Team, class Operand>
__global__ void __launch_bounds__(Share::k_threads, 1)
    gru_forward_team(gru_forward_steps p, gru_team_memory memory, Operand operand) {
  using shape = gru_team_shape<Share, 3>;
  if (!Team::k_is_grid && !simt::is_sm_90()) return;
  SIMT_DYN_SHARED(float, shared);
  const int64_t hidden = p.s.hidden, steps = p.chunk.steps();
  const Team team(shared, memory, p.rows_per_block, hidden);
  const gru_team_thread<Share, Team, 3> own(shared, p.rows_per_block, team.rank());
  const int64_t k = own.k;

  float w[Share::k_thread_outputs][Share::k_thread_inner];
  for (int64_t group = team.first_group(); group < memory.groups; group += team.group_step()) {
    const gru_rows rows(p.s.batch, p.rows_per_block, group);
    const int d = rows.d;
    gru_load_team_gates<Share>(w, p.w_hh[d], hidden, own.first_unit, operand);
    float bias[3];
    gru_load_bias(bias, p.b_hh[d], hidden, k);
    const auto is_own = [&](int tile) { return tile + own.row < rows.count && k < hidden; };
    for (int tile = 0; tile < rows.count; tile += shape::k_tile) {
      if (!is_own(tile)) continue;
      own.value(tile) = p.initial(d, rows.begin + tile + own.row, k);
      team.publish(0, tile + own.row, 0, k, operand(own.value(tile)));
    }
    gru_forward_place place = {};
    gru_forward_inputs in = {};
    const auto read_inputs = [&](int64_t step, int tile) {
      if (step == steps || !is_own(tile)) return;
      if (shape::moves_on(rows.count) && step > 0)
        p.move_on(p.strides(d), &place);
      else
        place = p.place(d, p.time(d, step), rows.begin + tile + own.row, k);
      in = p.inputs(p.time(d, step), place);
    };
    read_inputs(0, 0);
    team.sync();
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t t = p.time(d, step);
      const int parity = static_cast<int>(step % 2);
      for (int tile = 0; tile < rows.count; tile += shape::k_tile) {
        const bool last = tile + shape::k_tile >= rows.count;
        const int64_t b = rows.begin + tile + own.row;
        own.multiply(team, w, parity, tile, rows.count);
        gru_forward_result result = {};
        if (!shape::k_keeps_place && is_own(tile)) place = p.place(d, t, b, k);
        if (is_own(tile)) {
          float& state = own.value(tile);
          result = p.advance(in, own.sum(0) + bias[0], own.sum(1) + bias[1], own.sum(2) + bias[2], state);
          state = p.next_state(d, t, b, k, place.length, result.y, state);
          team.publish(1 - parity, tile + own.row, 0, k, operand(state));
        }
        if (last) team.arrive();
        if (is_own(tile)) p.write(d, t, b, k, place, result);
        read_inputs(last ? step + 1 : step, last ? 0 : tile + shape::k_tile);
        if (!last) __syncthreads();
      }
      team.wait();
    }
    for (int tile = 0; !p.chunk.last && tile < rows.count; tile += shape::k_tile)
      if (is_own(tile)) p.carry[p.s.state(d, rows.begin + tile + own.row) + k] = own.value(tile);
  }
}

template <class Share, class Team, class Operand>
__global__ void __launch_bounds__(Share::k_threads, 1)
    gru_backward_team(gru_backward_steps p, gru_team_memory memory, Operand operand) {
  using shape = gru_team_shape<Share, 1>;
  if (!Team::k_is_grid && !simt::is_sm_90()) return;
  SIMT_DYN_SHARED(float, shared);
  const int64_t hidden = p.s.hidden, steps = p.chunk.steps();
  const Team team(shared, memory, p.rows_per_block, hidden);
  const gru_team_thread<Share, Team, 1> own(shared, p.rows_per_block, team.rank());
  const int64_t k = own.k;

  float w[Share::k_thread_outputs][Share::k_thread_inner];
  for (int64_t group = team.first_group(); group < memory.groups; group += team.group_step()) {
    const gru_rows rows(p.s.batch, p.rows_per_block, group);
    const int d = rows.d;
    gru_load_team_columns<Share>(w, p.w_hh[d], hidden, own.first_unit, operand);
    const auto is_own = [&](int tile) { return tile + own.row < rows.count && k < hidden; };
    for (int tile = 0; tile < rows.count; tile += shape::k_tile)
      if (is_own(tile)) own.value(tile) = p.initial(d, rows.begin + tile + own.row, k);

    gru_backward_place place = {};
    gru_backward_inputs in = {};
    const auto read_inputs = [&](int64_t step, int tile) {
      if (step == steps || !is_own(tile)) return;
      if (shape::moves_on(rows.count) && step > 0)
        p.move_on(p.strides(d), &place);
      else
        place = p.place(d, p.time(d, step), rows.begin + tile + own.row, k);
      in = p.inputs(d, p.time(d, step), rows.begin + tile + own.row, k, place);
    };
    read_inputs(0, 0);
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t t = p.time(d, step);
      const int parity = static_cast<int>(step % 2);
      for (int tile = 0; tile < rows.count; tile += shape::k_tile) {
        const bool last = tile + shape::k_tile >= rows.count;
        gru_backward_result result = {};
        if (!shape::k_keeps_place && is_own(tile)) place = p.place(d, t, rows.begin + tile + own.row, k);
        if (is_own(tile)) {
          result = p.gradients(t, place, in, &own.value(tile));
          team.publish(parity, tile + own.row, 0, k, operand(result.g.r));
          team.publish(parity, tile + own.row, 1, k, operand(result.g.z));
          team.publish(parity, tile + own.row, 2, k, operand(result.g.hn));
        }
        if (last) team.arrive();
        if (is_own(tile)) p.write(place, result);
        read_inputs(last ? step + 1 : step, last ? 0 : tile + shape::k_tile);
      }
      team.wait();
      for (int tile = 0; tile < rows.count; tile += shape::k_tile) {
        own.multiply(team, w, parity, tile, rows.count);
        if (is_own(tile)) p.hand_over(d, t, rows.begin + tile + own.row, k, own.sum(0), &own.value(tile));
        if (tile + shape::k_tile < rows.count) __syncthreads();
      }
    }
    for (int tile = 0; tile < rows.count; tile += shape::k_tile)
      if (is_own(tile)) p.finish(d, rows.begin + tile + own.row, k, own.value(tile));
    // The last step reads values of other blocks; the next group, or the end of the block, must not change them before.
    team.sync();
  }
}

// Block and thread sizes by number of units. A block has 32 units in a cluster, 8 in a grid.
struct gru_small_cluster {
  static constexpr int64_t k_widest = 256, k_most_rows_forward = 64, k_most_rows_backward = 32;
  template <class Share>
  using team = gru_cluster_team<Share>;
  using forward = gru_share<256, 1, 1, 12, 8, 4>;
  using backward = gru_share<256, 3, 2, 8, 12, 4>;
};
struct gru_large_cluster {
  static constexpr int64_t k_widest = 512, k_most_rows_forward = 48, k_most_rows_backward = 12;
  template <class Share>
  using team = gru_cluster_team<Share>;
  using forward = gru_share<384, 1, 1, 8, 16, 1>;
  using backward = gru_share<384, 3, 3, 8, 16, 1>;
};
struct gru_whole_grid {
  static constexpr int64_t k_most_rows_forward = 512, k_most_rows_backward = 512;
  template <class Share>
  using team = gru_grid_team<Share>;
  using forward = gru_share<256, 1, 4, 12, 8, 4>;
  using backward = gru_share<256, 3, 8, 8, 12, 4>;
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
