// Gated recurrent units: see the contract in gru.hpp. A pass goes through the sequence in chunks of time. Forwards: the
// input's products of a chunk, then its steps. Backwards: the gates of a chunk where they were not saved, its steps,
// then the gradients' products. Both directions share each launch.
#include "kernels/gru.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "kernels/gru/arguments.hpp"
#include "kernels/gru/products.hpp"
#include "kernels/gru/registers.hpp"
#include "kernels/gru/sequence.hpp"
#include "kernels/gru/steps.hpp"
#include "kernels/gru/stream.hpp"
#include "kernels/primitives/arguments.hpp"
#include "kernels/primitives/fill.hpp"
#include "kernels/primitives/grid.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

constexpr int64_t k_float_bytes = sizeof(float);
constexpr int64_t k_widest_registers = 128;

int64_t state_size(const gru_config& c) { return c.D * c.B * c.H; }

bool in_registers(const gru_config& c) { return c.H <= k_widest_registers; }

// How a sum over the rows of a chunk is cut.
int64_t slice_length(const gru_config& c, int64_t steps) {
  return std::max(k_gru_slice, ceil_div(steps * c.B, k_gru_most_slices));
}
int64_t slices_of(const gru_config& c, int64_t steps) {
  return std::max<int64_t>(1, ceil_div(steps * c.B, slice_length(c, steps)));
}

// Floats of workspace beside a chunk, and with it. Forwards a saved history takes the chunk's sums.
int64_t forward_floats(const gru_config& c, int64_t steps) {
  const int64_t state = state_size(c);
  const int64_t panel = c.history == gru_history::save ? 0 : 3 * steps * state;
  return panel + state + (in_registers(c) ? 0 : 3 * state);
}
int64_t backward_floats(const gru_config& c, int64_t steps) {
  const int64_t state = state_size(c);
  const int64_t columns = std::max({c.I, c.H, int64_t{1}});
  return 4 * steps * state + state + c.D * slices_of(c, steps) * 3 * c.H * columns;
}

// The longest chunk whose workspace keeps to the limit, or one step.
template <class Floats>
int64_t longest_chunk(const gru_config& c, Floats floats) {
  const int64_t all = std::max<int64_t>(1, c.T);
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
  plan.regime = in_registers(c) ? gru_regime::registers : gru_regime::stream;
  const int64_t blocks = simt::device_properties(nullptr).sm_count;
  plan.rows_per_block = std::clamp<int64_t>(ceil_div(c.B, std::max<int64_t>(1, blocks / c.D)), 1, k_gru_most_rows);
  plan.blocks = c.D * ceil_div(c.B, plan.rows_per_block);
  plan.chunk_steps = backward ? longest_chunk(c, backward_floats) : longest_chunk(c, forward_floats);
  plan.depth_i = gru_product_depth(c.I);
  plan.depth_h = in_registers(c) ? gru_registers_depth(c.H, backward) : gru_stream_depth(c.H, backward);
  if (!backward) return plan;
  plan.depth_i = std::max(plan.depth_i, gru_product_depth(3 * c.H * c.D) + 1);
  plan.depth_h = std::max(plan.depth_h, gru_product_depth(c.H));
  const int64_t chunks = ceil_div(c.T, plan.chunk_steps);
  plan.depth_tb = gru_product_depth(std::min(slice_length(c, plan.chunk_steps), plan.chunk_steps * c.B)) +
                  chunks * slices_of(c, plan.chunk_steps);
  return plan;
}

gru_sequence sequence_of(const gru_config& c, const gru_inputs& in, const float* y) {
  return {c.T, c.B, c.H, c.D, in.lengths, in.reset, in.h0, in.h_reset, y};
}

// Chunk i of the pass. Forwards direction 0 goes from the first step on, direction 1 from the last; backwards the
// other way round.
gru_chunk chunk_of(const gru_config& c, int64_t steps, int64_t i, bool backward) {
  const int64_t begin = std::min(c.T, i * steps), end = std::min(c.T, begin + steps);
  gru_chunk chunk{{begin, c.T - end}, {end, c.T - begin}, i == 0, end == c.T};
  if (backward) {
    std::swap(chunk.begin[0], chunk.begin[1]);
    std::swap(chunk.end[0], chunk.end[1]);
  }
  return chunk;
}

template <class Left, class Right, class Out>
void multiply(const Left& left, const Right& right, const Out& out, int64_t m, int64_t n, int64_t inner, int64_t slices,
              int64_t slice_length, int directions, simt::stream_t stream) {
  if (m == 0 || n == 0) return;
  const int64_t tiles = ceil_div(m, k_gru_tile) * ceil_div(n, k_gru_tile);
  simt::launch({dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(slices), static_cast<unsigned>(directions)),
                k_gru_tile_threads, 0, stream},
               gru_product<Left, Right, Out>, left, right, out, m, n, inner, slice_length);
}

void add_inputs(const gru_config& c, const gru_params& p, const gru_chunk_rows& rows, const float* x,
                const gru_panel& panel, simt::stream_t stream) {
  const gru_transposed<gru_weights> weights{{{p.w_ih[0], p.w_ih[1]}, c.I}};
  multiply(gru_x_rows{rows, x, c.I}, weights, gru_input_sums{rows, panel, {p.b_ih[0], p.b_ih[1]}}, rows.count(),
           3 * c.H, c.I, 1, c.I, c.D, stream);
}

template <template <int> class Kernel, class Steps>
void launch_registers(const gru_config& c, const gru_plan& plan, const Steps& steps, bool backward,
                      simt::stream_t stream) {
  const auto run = [&](auto width) {
    constexpr int k_width = decltype(width)::value;
    const int64_t bytes = gru_registers_shared_floats(k_width, plan.rows_per_block, backward) * k_float_bytes;
    simt::launch({static_cast<unsigned>(plan.blocks), 3 * k_width, static_cast<size_t>(bytes), stream},
                 Kernel<k_width>::function, steps);
  };
  if (c.H <= 32) return run(std::integral_constant<int, 32>());
  if (c.H <= 64) return run(std::integral_constant<int, 64>());
  run(std::integral_constant<int, 128>());
}

template <int Width>
struct forward_registers {
  static constexpr auto function = gru_forward_registers<Width>;
};
template <int Width>
struct backward_registers {
  static constexpr auto function = gru_backward_registers<Width>;
};

// Weight gradients of a chunk: what a sum over its rows adds to `to`.
class weight_sums {
 public:
  weight_sums(const gru_config& c, const gru_chunk_rows& rows, float* partials, int64_t steps, simt::stream_t stream)
      : c_(c),
        rows_(rows),
        partials_(partials),
        slices_(slices_of(c, steps)),
        slice_length_(slice_length(c, steps)),
        stream_(stream) {}

  template <class Right>
  void add(const gru_gradient_rows& gradients, const Right& right, int64_t columns, float* const (&to)[2]) const {
    const int64_t elements = 3 * c_.H * columns;
    if (elements == 0 || (to[0] == nullptr && to[1] == nullptr)) return;
    const gru_partials partials{partials_, slices_, elements, columns};
    multiply(gru_transposed<gru_gradient_rows>{gradients}, right, partials, 3 * c_.H, columns, rows_.count(), slices_,
             slice_length_, c_.D, stream_);
    const unsigned blocks = grid_size(ceil_div(elements, k_gru_elements_threads), stream_);
    simt::launch({dim3(blocks, static_cast<unsigned>(c_.D)), k_gru_elements_threads, 0, stream_}, gru_add_slices,
                 partials, to[0], to[1], rows_.chunk.first);
  }

 private:
  const gru_config& c_;
  const gru_chunk_rows& rows_;
  float* partials_;
  int64_t slices_, slice_length_;
  simt::stream_t stream_;
};

// In one piece both directions are one sum. In chunks each adds to what the other has written, the first to come
// writes; where both come at once, direction 0 is first.
void add_dx(const gru_config& c, const gru_params& p, const gru_chunk_rows& rows, const gru_panel& panel, float* dx,
            simt::stream_t stream) {
  const gru_gradient_rows gradients{rows, panel, false};
  const gru_weights weights{{p.w_ih[0], p.w_ih[1]}, c.I};
  const auto add = [&](int first, int directions, int64_t add_from, int64_t add_to) {
    const int64_t inner = 3 * c.H * directions;
    multiply(gru_joined<gru_gradient_rows>{gradients, 3 * c.H, first, false},
             gru_joined<gru_weights>{weights, 3 * c.H, first, true}, gru_dx{rows, dx, c.I, first, {add_from, add_to}},
             rows.count(), c.I, inner, 1, inner, 1, stream);
  };
  if (c.D == 1 || (rows.chunk.first && rows.chunk.last)) return add(0, c.D, 0, 0);
  // Backwards direction 0 comes from the end and has seen [end[0], T), direction 1 has seen [0, begin[1]).
  add(0, 1, 0, rows.chunk.begin[1]);
  add(1, 1, rows.chunk.begin[0], c.T);
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
  tensors.output("y", outputs.y, k_float_bytes, c.T * state_size(c), true);
  tensors.output("hn", outputs.hn, k_float_bytes, state_size(c), false);
  if (saves) tensors.output("history", outputs.history, k_float_bytes, 4 * c.T * state_size(c), true);
  check_gru_workspace(tensors, workspace, workspace_bytes, gru_forward_workspace_bytes(c));
  tensors.check_overlaps();
  if (state_size(c) == 0) return;

  float* const carry = static_cast<float*>(workspace);
  float* const sums = carry + state_size(c);
  float* const panel_data =
      saves ? static_cast<float*>(outputs.history) : sums + (in_registers(c) ? 0 : 3 * state_size(c));
  const gru_sequence sequence = sequence_of(c, inputs, outputs.y);
  for (int64_t i = 0; i == 0 || i * plan.chunk_steps < c.T; ++i) {
    const gru_chunk chunk = chunk_of(c, plan.chunk_steps, i, false);
    const gru_chunk_rows rows{sequence, chunk};
    const gru_panel panel{panel_data,    saves ? c.T : plan.chunk_steps,
                          c.B,           c.H,
                          saves ? 4 : 3, {saves ? 0 : chunk.begin[0], saves ? 0 : chunk.begin[1]}};
    add_inputs(c, params, rows, inputs.x, panel, stream);
    const gru_forward_steps steps{sequence,
                                  chunk,
                                  {params.w_hh[0], params.w_hh[1]},
                                  {params.b_hh[0], params.b_hh[1]},
                                  panel,
                                  outputs.y,
                                  outputs.hn,
                                  carry,
                                  sums,
                                  plan.rows_per_block};
    if (in_registers(c))
      launch_registers<forward_registers>(c, plan, steps, false, stream);
    else
      simt::launch({static_cast<unsigned>(plan.blocks), k_gru_stream_threads, 0, stream}, gru_forward_stream, steps);
  }
}

void gru_backward(const gru_config& config, const gru_params& params, const gru_inputs& inputs, const float* y,
                  const void* history, const float* dy, const float* dhn, const gru_grads& grads, void* workspace,
                  int64_t workspace_bytes, simt::stream_t stream) {
  const gru_config& c = config;
  const gru_plan plan = gru_backward_plan(c);
  if (c.history == gru_history::none)
    throw std::invalid_argument("history is 0 (none), a backward pass needs 1 (save) or 2 (recompute)");
  const bool saved = c.history == gru_history::save;
  const int64_t state = state_size(c);
  gru_tensors tensors;
  list_inputs(tensors, c, params, inputs);
  tensors.input("y", y, k_float_bytes, c.T * state, true);
  if (saved) tensors.input("history", history, k_float_bytes, 4 * c.T * state, true);
  tensors.input("dy", dy, k_float_bytes, c.T * state, false);
  tensors.input("dhn", dhn, k_float_bytes, state, false);
  tensors.output("dx", grads.dx, k_float_bytes, c.T * c.B * c.I, false);
  tensors.output("dh0", grads.dh0, k_float_bytes, state, false);
  tensors.output("dh_reset", grads.dh_reset, k_float_bytes, state, false);
  tensors.output("trace_e", grads.trace_e, k_float_bytes, c.T * state, false);
  for (int d = 0; d < c.D; ++d) {
    const auto check_bias = [](const char* gradient, const float* wanted, const char* name, const float* bias) {
      if (wanted != nullptr && bias == nullptr)
        throw std::invalid_argument(std::string(gradient) + " is wanted and " + name + " is null, must be null too");
    };
    check_bias("db_ih", grads.db_ih[d], "b_ih", params.b_ih[d]);
    check_bias("db_hh", grads.db_hh[d], "b_hh", params.b_hh[d]);
    tensors.output("dw_ih", grads.dw_ih[d], k_float_bytes, 3 * c.H * c.I, false);
    tensors.output("dw_hh", grads.dw_hh[d], k_float_bytes, 3 * c.H * c.H, false);
    tensors.output("db_ih", grads.db_ih[d], k_float_bytes, 3 * c.H, false);
    tensors.output("db_hh", grads.db_hh[d], k_float_bytes, 3 * c.H, false);
  }
  check_gru_workspace(tensors, workspace, workspace_bytes, gru_backward_workspace_bytes(c));
  tensors.check_overlaps();
  if (c.H == 0 && grads.dx != nullptr) fill(grads.dx, c.T * c.B * c.I, 0.0f, stream);
  if (c.H == 0) return;

  float* const carry = static_cast<float*>(workspace);
  float* const panel_data = carry + state;
  float* const partials = panel_data + 4 * plan.chunk_steps * state;
  const gru_sequence sequence = sequence_of(c, inputs, y);
  for (int64_t i = 0; i == 0 || i * plan.chunk_steps < c.T; ++i) {
    const gru_chunk chunk = chunk_of(c, plan.chunk_steps, i, true);
    const gru_chunk_rows rows{sequence, chunk};
    const gru_panel panel{panel_data, plan.chunk_steps, c.B, c.H, 4, {chunk.begin[0], chunk.begin[1]}};
    gru_panel gates = panel;
    if (saved) gates = {static_cast<float*>(const_cast<void*>(history)), c.T, c.B, c.H, 4, {0, 0}};
    if (!saved && rows.count() > 0) {
      add_inputs(c, params, rows, inputs.x, panel, stream);
      multiply(gru_entering_rows{rows}, gru_transposed<gru_weights>{{{params.w_hh[0], params.w_hh[1]}, c.H}},
               gru_state_sums{rows, panel, {params.b_hh[0], params.b_hh[1]}}, rows.count(), 3 * c.H, c.H, 1, c.H, c.D,
               stream);
      const int64_t panel_rows = c.D * plan.chunk_steps * c.B;
      simt::launch(
          {grid_size(ceil_div(panel_rows * c.H, k_gru_elements_threads), stream), k_gru_elements_threads, 0, stream},
          gru_open_gates, panel, panel_rows);
    }
    const gru_backward_steps steps{sequence,      chunk,     {params.w_hh[0], params.w_hh[1]},
                                   gates,         panel,     dy,
                                   dhn,           grads.dh0, grads.dh_reset,
                                   grads.trace_e, carry,     plan.rows_per_block};
    if (plan.blocks > 0 && in_registers(c))
      launch_registers<backward_registers>(c, plan, steps, true, stream);
    else if (plan.blocks > 0)
      simt::launch({static_cast<unsigned>(plan.blocks), k_gru_stream_threads, 0, stream}, gru_backward_stream, steps);
    const weight_sums weights(c, rows, partials, plan.chunk_steps, stream);
    const gru_gradient_rows dgi{rows, panel, false}, dgh{rows, panel, true};
    weights.add(dgi, gru_x_rows{rows, inputs.x, c.I}, c.I, grads.dw_ih);
    weights.add(dgh, gru_entering_rows{rows}, c.H, grads.dw_hh);
    weights.add(dgi, gru_ones{}, 1, grads.db_ih);
    weights.add(dgh, gru_ones{}, 1, grads.db_hh);
    if (grads.dx != nullptr && rows.count() > 0) add_dx(c, params, rows, panel, grads.dx, stream);
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
