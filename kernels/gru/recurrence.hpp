// The steps of a chunk, one after another: the blocks that take them, their memory, and their launches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/gru/arguments.hpp"
#include "kernels/gru/bulk.hpp"
#include "kernels/gru/gru.hpp"
#include "kernels/gru/registers.hpp"
#include "kernels/gru/separate.hpp"
#include "kernels/gru/team.hpp"
#include "kernels/primitives/grid.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// Calls run(sizes of the team) in regimes `cluster` and `grid`.
template <class Run>
auto gru_with_team(const gru_config& c, const Run& run) {
  if (gru_regime_of(c) == gru_regime::grid) return run(gru_whole_grid());
  if (c.H <= gru_small_cluster::k_widest) return run(gru_small_cluster());
  return run(gru_large_cluster());
}

inline gru_chain_lengths gru_recurrent_chains(const gru_config& c, bool backward) {
  switch (gru_regime_of(c)) {
    case gru_regime::registers:
      return gru_with_width(c.H, [&](auto width) -> gru_chain_lengths {
        constexpr int k_width = decltype(width)::value;
        return {backward ? gru_backward_share<k_width>::k_depth : gru_forward_share<k_width>::k_depth, 0};
      });
    case gru_regime::product:
      return backward ? gru_chain_of(c, k_gru_rows_alone, 1, c.H, 3 * c.H)
                      : gru_chain_of(c, k_gru_rows_alone, 1, 3 * c.H, c.H);
    default:
      return gru_with_team(c, [&](auto team) -> gru_chain_lengths {
        return {backward ? decltype(team)::backward::k_depth : decltype(team)::forward::k_depth, 0};
      });
  }
}

// Clusters that run at the same time if a block fills a multiprocessor; one more would make all of them wait for a
// second round. A cluster lies in one part of the device. The count assumes 16 multiprocessors a part, and some parts
// have fewer: an H100 holds 7 clusters of 16 blocks, 15 of 8, 39 of 3.
inline int64_t gru_clusters_at_a_time(int64_t blocks) {
  const int64_t sms = simt::device_properties(nullptr).sm_count;
  if (blocks == 1) return sms;
  return std::max<int64_t>(1, 16 / blocks * (sms / 16) - 1);
}

// Fills in the grid of the steps.
inline void gru_plan_recurrence(const gru_config& c, bool backward, gru_plan* plan) {
  plan->regime = gru_regime_of(c);
  const gru_chain_lengths chains = gru_recurrent_chains(c, backward);
  plan->depth_h = chains.depth, plan->steps_h = chains.steps;
  if (plan->regime == gru_regime::product) return;
  int64_t most_rows = k_gru_most_rows;
  if (plan->regime != gru_regime::registers)
    most_rows = gru_with_team(c, [&](auto team) -> int64_t {
      return backward ? decltype(team)::k_most_rows_backward : decltype(team)::k_most_rows_forward;
    });
  if (plan->regime == gru_regime::grid) {
    const int64_t groups = std::max<int64_t>(1, ceil_div(c.B, most_rows));
    plan->rows_per_block = std::max<int64_t>(1, ceil_div(c.B, groups));
    plan->blocks = plan->coresident_blocks = ceil_div(c.H, k_gru_grid_units);
    return;
  }
  if (plan->regime == gru_regime::cluster)
    plan->blocks_per_cluster = plan->coresident_blocks = std::max<int64_t>(1, ceil_div(c.H, k_gru_cluster_units));
  int64_t clusters = gru_clusters_at_a_time(plan->blocks_per_cluster);
  if (plan->regime == gru_regime::registers)
    clusters *= gru_with_width(c.H, [](auto width) { return gru_registers_residents(decltype(width)::value); });
  clusters = std::max<int64_t>(1, clusters / c.D);
  plan->rows_per_block = std::clamp<int64_t>(ceil_div(c.B, clusters), 1, most_rows);
  plan->blocks = c.D * ceil_div(c.B, plan->rows_per_block) * plan->blocks_per_cluster;
}

// Further floats that the steps of a pass need.
inline int64_t gru_exchange_floats(const gru_config& c, bool backward) {
  gru_plan plan;
  gru_plan_recurrence(c, backward, &plan);
  if (plan.regime == gru_regime::grid) return 2 * plan.rows_per_block * (backward ? 3 : 1) * gru_exchange_pitch(c.H);
  return plan.regime == gru_regime::product ? (backward ? 1 : 3) * c.D * c.B * c.H : 0;
}
inline int64_t gru_recurrent_work_bytes(const gru_config& c, bool backward) {
  if (gru_regime_of(c) != gru_regime::product) return 0;
  const int64_t rows = c.precision == gru_precision::ieee ? c.B : std::min(c.B, k_gru_rows_of_product);
  return backward ? gru_product_bytes(c, k_gru_rows_alone, rows, c.H, 3 * c.H)
                  : gru_product_bytes(c, k_gru_rows_alone, rows, 3 * c.H, c.H);
}

template <int Width>
struct gru_forward_registers_of {
  using share = gru_forward_share<Width>;
  template <class Operand>
  static constexpr auto function = gru_forward_registers<share, Operand>;
};
template <int Width>
struct gru_backward_registers_of {
  using share = gru_backward_share<Width>;
  template <class Operand>
  static constexpr auto function = gru_backward_registers<share, Operand>;
};
template <template <int> class Kernel, class Steps>
void gru_launch_registers(const gru_config& c, const gru_plan& plan, const Steps& steps, bool backward,
                          simt::stream_t stream) {
  gru_with_width(c.H, [&](auto width) {
    using kernel = Kernel<decltype(width)::value>;
    const int64_t floats = gru_registers_shared_floats(decltype(width)::value, backward);
    const simt::launch_config config{static_cast<unsigned>(plan.blocks), kernel::share::k_threads,
                                     static_cast<size_t>(floats) * sizeof(float), stream};
    gru_with_operand(c.precision, [&](auto operand) {
      simt::launch(config, kernel::template function<decltype(operand)>, steps, operand);
    });
  });
}

template <class Share, class Team>
struct gru_forward_team_of {
  using shape = gru_team_shape<Share, 3>;
  template <class Operand>
  static constexpr auto function = gru_forward_team<Share, Team, Operand>;
};
template <class Share, class Team>
struct gru_backward_team_of {
  using shape = gru_team_shape<Share, 1>;
  template <class Operand>
  static constexpr auto function = gru_backward_team<Share, Team, Operand>;
};
template <class Kernel, class Team, class Steps>
void gru_launch_team(const gru_config& c, const gru_plan& plan, const Steps& steps, int threads, float* exchange,
                     int64_t exchange_floats, simt::stream_t stream) {
  const int64_t floats = Kernel::shape::template shared_floats<Team>(plan.rows_per_block);
  simt::launch_config config{static_cast<unsigned>(plan.blocks), static_cast<unsigned>(threads),
                             static_cast<size_t>(floats) * sizeof(float), stream};
  config.cluster = static_cast<unsigned>(plan.blocks_per_cluster);
  config.cooperative = Team::k_is_grid;
  if (Team::k_is_grid) simt::memset_async(exchange, 0, static_cast<size_t>(exchange_floats) * sizeof(float), stream);
  const gru_team_memory memory{c.D * ceil_div(c.B, plan.rows_per_block), exchange};
  gru_with_operand(c.precision, [&](auto operand) {
    simt::launch(config, Kernel::template function<decltype(operand)>, steps, memory, operand);
  });
}

inline unsigned gru_separate_blocks(const gru_config& c, simt::stream_t stream) {
  return grid_size(ceil_div(c.D * c.B * c.H, k_gru_separate_threads), stream);
}

// `exchange` has gru_exchange_floats elements.
inline void gru_run_steps(const gru_config& c, const gru_plan& plan, const gru_forward_steps& p, float* exchange,
                          const gru_products& products) {
  const simt::stream_t stream = products.stream;
  const int64_t floats = gru_exchange_floats(c, false);
  if (plan.regime == gru_regime::registers)
    return gru_launch_registers<gru_forward_registers_of>(c, plan, p, false, stream);
  if (plan.regime != gru_regime::product)
    return gru_with_team(c, [&](auto team) {
      using share = typename decltype(team)::forward;
      using blocks = typename decltype(team)::template team<share>;
      gru_launch_team<gru_forward_team_of<share, blocks>, blocks>(c, plan, p, share::k_threads, exchange, floats,
                                                                  stream);
    });
  const simt::launch_config config{gru_separate_blocks(c, stream), k_gru_separate_threads, 0, stream};
  simt::launch(config, gru_forward_begin, p);
  const int64_t rows = c.B * c.H;
  for (int64_t step = 0; step < p.chunk.steps(); ++step) {
    for (int d = 0; d < c.D; ++d)
      products(trans::none, trans::yes, c.B, 3 * c.H, c.H, {p.carry + d * rows, c.H}, {p.w_hh[d], c.H}, false,
               exchange + 3 * d * rows, 3 * c.H, p.b_hh[d], k_gru_rows_alone);
    simt::launch(config, gru_forward_step, p, exchange, step);
  }
}

inline void gru_run_steps(const gru_config& c, const gru_plan& plan, const gru_backward_steps& p, float* exchange,
                          const gru_products& products) {
  const simt::stream_t stream = products.stream;
  const int64_t floats = gru_exchange_floats(c, true);
  if (plan.regime == gru_regime::registers)
    return gru_launch_registers<gru_backward_registers_of>(c, plan, p, true, stream);
  if (plan.regime != gru_regime::product)
    return gru_with_team(c, [&](auto team) {
      using share = typename decltype(team)::backward;
      using blocks = typename decltype(team)::template team<share>;
      gru_launch_team<gru_backward_team_of<share, blocks>, blocks>(c, plan, p, share::k_threads, exchange, floats,
                                                                   stream);
    });
  const simt::launch_config config{gru_separate_blocks(c, stream), k_gru_separate_threads, 0, stream};
  const int64_t rows = c.B * c.H, steps = p.chunk.steps();
  for (int64_t step = 0; step <= steps; ++step) {
    simt::launch(config, gru_backward_step, p, exchange, step);
    for (int d = 0; d < c.D && step < steps; ++d)
      products(trans::none, trans::none, c.B, c.H, 3 * c.H, {p.panel.row(d, p.time(d, step), 0) + c.H, 4 * c.H},
               {p.w_hh[d], c.H}, false, exchange + d * rows, c.H, nullptr, k_gru_rows_alone);
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
