// Gated recurrent units: see the contract in gru.hpp. A pass goes through the sequence in chunks of time. The forward
// pass makes the input's products of a chunk, then its steps. The backward pass makes the gates of a chunk if they were
// not saved, then its steps, then the gradients' products. Both directions share each launch of steps.
#include "kernels/gru/gru.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "kernels/gru/abi_adapter.hpp"
#include "kernels/gru/arguments.hpp"
#include "kernels/gru/bulk.hpp"
#include "kernels/gru/recurrence.hpp"
#include "kernels/gru/sequence.hpp"
#include "kernels/gru/steps.hpp"
#include "kernels/primitives/grid.hpp"
#include "kernels/rows/fill.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

constexpr int64_t k_float_bytes = sizeof(float);

int64_t state_size(const gru_config& c) { return c.D * c.B * c.H; }

// A workspace is cut into pieces aligned to 16 bytes; aligning the caller's pointer costs up to three floats.
constexpr int64_t k_alignment_floats = 3;
constexpr int64_t whole_vectors(int64_t floats) { return ceil_div(floats, 4) * 4; }
class pieces {
 public:
  explicit pieces(void* workspace)
      : next_(reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(workspace) + 15) / 16 * 16)) {}
  float* take(int64_t floats) { return std::exchange(next_, next_ + whole_vectors(floats)); }

 private:
  float* next_;
};

int64_t forward_panel(const gru_config& c, int64_t steps) {
  return c.history == gru_history::save ? 0 : 3 * steps * state_size(c);
}
// Products of all rows need a workspace on tensor cores only.
int64_t forward_work_bytes(const gru_config& c, int64_t steps) {
  const int64_t rows = std::min(steps * c.B, k_gru_rows_of_product);
  return std::max(gru_recurrent_work_bytes(c, false), gru_product_bytes(c, k_gru_chains, rows, 3 * c.H, c.I));
}
int64_t backward_work_bytes(const gru_config& c, int64_t steps) {
  const int64_t rows = std::min(steps * c.B, k_gru_rows_of_product);
  return std::max({gru_recurrent_work_bytes(c, true), gru_weight_sums::work_bytes(c, steps),
                   gru_product_bytes(c, k_gru_chains, rows, 3 * c.H, c.I),
                   gru_product_bytes(c, k_gru_chains, rows, c.I, 2 * c.H)});
}

// Floats of a workspace with a panel of this many steps. In the forward pass a saved history holds the chunk's sums.
int64_t forward_floats(const gru_config& c, int64_t steps) {
  return k_alignment_floats + whole_vectors(state_size(c)) + whole_vectors(gru_exchange_floats(c, false)) +
         whole_vectors(forward_work_bytes(c, steps) / k_float_bytes) + whole_vectors(forward_panel(c, steps));
}
int64_t backward_floats(const gru_config& c, int64_t steps) {
  return k_alignment_floats + whole_vectors(state_size(c)) + whole_vectors(gru_exchange_floats(c, true)) +
         whole_vectors(backward_work_bytes(c, steps) / k_float_bytes) + 4 * steps * state_size(c);
}

// The longest chunk whose workspace stays within the limit, or one step.
template <class Floats>
int64_t longest_chunk(const gru_config& c, Floats floats) {
  const int64_t all = std::clamp<int64_t>(c.T, 1, k_gru_most_steps);
  if (c.workspace_limit == 0 || floats(c, all) * k_float_bytes <= c.workspace_limit) return all;
  int64_t fits = 1, too_many = all;
  while (too_many - fits > 1) {
    const int64_t middle = fits + (too_many - fits) / 2;
    (floats(c, middle) * k_float_bytes <= c.workspace_limit ? fits : too_many) = middle;
  }
  return fits;
}

gru_plan plan_of(const gru_config& c, bool backward) {
  check_config(c);
  gru_plan plan;
  gru_plan_recurrence(c, backward, &plan);
  plan.chunk_steps = backward ? longest_chunk(c, backward_floats) : longest_chunk(c, forward_floats);
  const int64_t rows = std::max<int64_t>(1, plan.chunk_steps * c.B);
  const gru_chain_lengths of_gi = gru_chain_of(c, k_gru_chains, rows, 3 * c.H, c.I);
  plan.depth_i = of_gi.depth, plan.steps_i = of_gi.steps;
  if (c.precision == gru_precision::ieee) plan.depth_i = c.I;
  if (!backward) return plan;
  const gru_chain_lengths of_dx = gru_chain_of(c, k_gru_chains, rows, c.I, 2 * c.H);
  plan.depth_i = std::max(plan.depth_i, (c.precision == gru_precision::ieee ? 2 * c.H : of_dx.depth) + 2 * c.D - 1);
  plan.steps_i = std::max(plan.steps_i, of_dx.steps);
  if (c.history == gru_history::recompute) plan.depth_h = std::max(plan.depth_h, gru_product_depth(c.H));
  plan.depth_tb = gru_weight_sums::depth(c, plan.chunk_steps, ceil_div(c.T, plan.chunk_steps));
  plan.steps_tb = gru_weight_sums::tensor_steps(c, plan.chunk_steps);
  return plan;
}

gru_sequence sequence_of(const gru_config& c, const gru_inputs& in, const float* y) {
  return {c.T, c.B, c.H, c.D, in.lengths, in.reset, in.h0, in.h_reset, y};
}

// Chunk i of the pass. In the forward pass direction 0 begins at the first step, direction 1 at the last; in the
// backward pass the other way round.
gru_chunk chunk_of(const gru_config& c, int64_t steps, int64_t i, bool backward) {
  const int64_t begin = std::min(c.T, i * steps), end = std::min(c.T, begin + steps);
  gru_chunk chunk{{begin, c.T - end}, {end, c.T - begin}, i == 0, end == c.T};
  if (backward) {
    std::swap(chunk.begin[0], chunk.begin[1]);
    std::swap(chunk.end[0], chunk.end[1]);
  }
  return chunk;
}

}  // namespace

int64_t gru_history_bytes(const gru_config& config) {
  check_config(config);
  return config.history == gru_history::save ? 4 * k_float_bytes * config.T * state_size(config) : 0;
}

gru_plan gru_forward_plan(const gru_config& config) { return plan_of(config, false); }
gru_plan gru_backward_plan(const gru_config& config) { return plan_of(config, true); }

int64_t gru_forward_workspace_bytes(const gru_config& config) {
  return forward_floats(config, gru_forward_plan(config).chunk_steps) * k_float_bytes;
}
int64_t gru_backward_workspace_bytes(const gru_config& config) {
  return backward_floats(config, gru_backward_plan(config).chunk_steps) * k_float_bytes;
}

void gru_forward(const gru_config& config, const gru_params& params, const gru_inputs& inputs,
                 const gru_outputs& outputs, void* workspace, int64_t workspace_bytes, simt::stream_t stream) {
  const gru_config& c = config;
  const gru_plan plan = gru_forward_plan(c);
  const bool saves = c.history == gru_history::save;
  gru_tensors tensors;
  list_inputs(tensors, c, params, inputs);
  list_outputs(tensors, c, outputs);
  check_gru_workspace(tensors, workspace, workspace_bytes, gru_forward_workspace_bytes(c));
  tensors.check_overlaps();
  if (state_size(c) == 0) return;

  pieces pieces(workspace);
  float* const carry = pieces.take(state_size(c));
  float* const exchange = pieces.take(gru_exchange_floats(c, false));
  const int64_t work_bytes = forward_work_bytes(c, plan.chunk_steps);
  const gru_products products{pieces.take(work_bytes / k_float_bytes), work_bytes, stream, c.precision};
  float* const panel_data =
      saves ? static_cast<float*>(outputs.history) : pieces.take(forward_panel(c, plan.chunk_steps));
  const gru_sequence sequence = sequence_of(c, inputs, outputs.y);
  for (int64_t i = 0; i == 0 || i * plan.chunk_steps < c.T; ++i) {
    const gru_chunk chunk = chunk_of(c, plan.chunk_steps, i, false);
    const gru_chunk_rows rows{sequence, chunk};
    const gru_panel panel{panel_data,    saves ? c.T : plan.chunk_steps,
                          c.B,           c.H,
                          saves ? 4 : 3, {saves ? 0 : chunk.begin[0], saves ? 0 : chunk.begin[1]}};
    gru_add_inputs(c, params, rows, inputs.x, panel, products);
    const gru_forward_steps steps{sequence,
                                  chunk,
                                  {params.w_hh[0], params.w_hh[1]},
                                  {params.b_hh[0], params.b_hh[1]},
                                  panel,
                                  outputs.y,
                                  outputs.hn,
                                  carry,
                                  plan.rows_per_block};
    gru_run_steps(c, plan, steps, exchange, products);
  }
}

void gru_backward(const gru_config& config, const gru_params& params, const gru_inputs& inputs, const float* y,
                  const void* history, const float* dy, const float* dhn, const gru_grads& grads, void* workspace,
                  int64_t workspace_bytes, simt::stream_t stream) {
  const gru_config& c = config;
  const gru_plan plan = gru_backward_plan(c);
  const bool saved = c.history == gru_history::save;
  const int64_t state = state_size(c);
  gru_tensors tensors;
  list_inputs(tensors, c, params, inputs);
  list_gradients(tensors, c, params, grads);
  tensors.input("y", y, k_float_bytes, c.T * state, true);
  if (saved) tensors.input("history", history, k_float_bytes, 4 * c.T * state, true);
  tensors.input("dy", dy, k_float_bytes, c.T * state, false);
  tensors.input("dhn", dhn, k_float_bytes, state, false);
  check_gru_workspace(tensors, workspace, workspace_bytes, gru_backward_workspace_bytes(c));
  tensors.check_overlaps();
  if (c.H == 0 && grads.dx != nullptr) fill(grads.dx, c.T * c.B * c.I, 0.0f, stream);
  if (c.H == 0) return;

  pieces pieces(workspace);
  float* const carry = pieces.take(state);
  float* const exchange = pieces.take(gru_exchange_floats(c, true));
  const int64_t work_bytes = backward_work_bytes(c, plan.chunk_steps);
  float* const work = pieces.take(work_bytes / k_float_bytes);
  float* const panel_data = pieces.take(4 * plan.chunk_steps * state);
  const gru_products products{work, work_bytes, stream, c.precision};
  const gru_sequence sequence = sequence_of(c, inputs, y);
  for (int64_t i = 0; i == 0 || i * plan.chunk_steps < c.T; ++i) {
    const gru_chunk chunk = chunk_of(c, plan.chunk_steps, i, true);
    const gru_chunk_rows rows{sequence, chunk};
    const gru_panel panel{panel_data, plan.chunk_steps, c.B, c.H, 4, {chunk.begin[0], chunk.begin[1]}};
    gru_panel gates = panel;
    if (saved) gates = {static_cast<float*>(const_cast<void*>(history)), c.T, c.B, c.H, 4, {0, 0}};
    if (!saved && rows.count() > 0) {
      gru_add_inputs(c, params, rows, inputs.x, panel, products);
      gru_multiply_in(c.precision, gru_entering_rows{rows},
                      gru_transposed<gru_weights>{{{params.w_hh[0], params.w_hh[1]}, c.H}},
                      gru_state_sums{rows, panel, {params.b_hh[0], params.b_hh[1]}}, rows.count(), 3 * c.H, c.H, 1, c.H,
                      c.D, stream);
      const int64_t panel_rows = c.D * plan.chunk_steps * c.B;
      simt::launch(
          {grid_size(ceil_div(panel_rows * c.H, k_gru_elements_threads), stream), k_gru_elements_threads, 0, stream},
          gru_open_gates, panel, panel_rows);
    }
    const gru_backward_steps steps{sequence,      chunk,     {params.w_hh[0], params.w_hh[1]},
                                   gates,         panel,     dy,
                                   dhn,           grads.dh0, grads.dh_reset,
                                   grads.trace_e, carry,     plan.rows_per_block};
    if (state > 0) gru_run_steps(c, plan, steps, exchange, products);
    const gru_weight_sums weights(c, rows, panel, work, plan.chunk_steps, products);
    weights.add_w_ih(inputs.x, grads.dw_ih);
    weights.add_w_hh(grads.dw_hh);
    weights.add_biases(grads.db_ih, grads.db_hh);
    if (grads.dx != nullptr && rows.count() > 0) gru_add_dx(c, params, rows, panel, grads.dx, products);
  }
  const int64_t x_size = c.T * c.B * c.I;
  if (grads.dx != nullptr && inputs.lengths != nullptr && x_size > 0)
    simt::launch({grid_size(ceil_div(x_size, k_gru_elements_threads), stream), k_gru_elements_threads, 0, stream},
                 gru_clear_padding, sequence, grads.dx, c.I);
}

namespace {

warpcheck_status run_gru(warpcheck_call* call) {
  return candidate_call(call, [&] {
    const gru_call a(call);
    a.check();
    const auto stream = static_cast<simt::stream_t>(call->stream);
    call->used_variant = k_gru_variants[static_cast<int>(gru_regime_of(a.c)) - 1].name;
    const int64_t bytes = a.workspace_bytes();
    std::optional<simt::buffer<float>> own;
    if (a.work == nullptr && bytes > 0) own.emplace(static_cast<size_t>(bytes) / sizeof(float), stream);
    void* const work = a.work != nullptr ? a.work : own ? own->data() : nullptr;
    if (a.goes_forward()) gru_forward(a.c, a.params, a.inputs, a.out, work, bytes, stream);
    if (!a.goes_backward()) return;
    const bool both = a.pass == gru_pass::both;
    gru_backward(a.c, a.params, a.inputs, both ? a.out.y : a.y_in, both ? a.out.history : a.history_in, a.dy, a.dhn,
                 a.grads, work, bytes, stream);
  });
}

const char* pick_gru(const warpcheck_call* call) {
  return candidate_pick(call, k_gru_variants, [&](simt::stream_t) { return gru_regime_of(gru_call(call).c); });
}

constexpr warpcheck_operator k_gru_operator = {sizeof(warpcheck_operator),
                                               "gru",
                                               k_candidate_device,
                                               WARPCHECK_F32,
                                               k_gru_num_extents,
                                               k_gru_extents,
                                               k_gru_variants,
                                               static_cast<int32_t>(std::size(k_gru_variants)),
                                               {{nullptr, 0},
                                                {k_gru_batches, static_cast<int32_t>(std::size(k_gru_batches))},
                                                {k_gru_inputs, static_cast<int32_t>(std::size(k_gru_inputs))},
                                                {k_gru_hiddens, static_cast<int32_t>(std::size(k_gru_hiddens))},
                                                {nullptr, 0}},
                                               run_gru,
                                               pick_gru};

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_OPERATOR(gru) { return &warpcheck::k_gru_operator; }
