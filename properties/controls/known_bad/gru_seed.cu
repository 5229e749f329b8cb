// A published scheme of the gradients of gated recurrent units, with one of its flaws each, by the variant's name;
// `repaired` has none. A launch a step, a block a row and a direction, threads over units; gates are saved, and a step
// backwards writes the gate's gradients, from which sums follow.
//
// Source: Chinese patent text on back-propagation of gated recurrent units, no. 43576147, 2024-12-06; numbers beside
// the flaws are its paragraphs. It prints the step backwards only, so sums are written anew.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "abi/candidate_library.hpp"
#include "kernels/candidate_support.hpp"
#include "kernels/gru/abi_adapter.hpp"
#include "kernels/gru/sequence.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

constexpr unsigned k_seed_threads = 32;

enum class flaw : int {
  none,
  dy_unit_as_time,     // 24: dy at i * batch * hidden
  dy_one_address,      // 24: the sum ends in a bare +, and the unit is lost
  dy_stride,           // 24, 36: rows of dy are `hidden` apart, of two directions too
  hn_offset_zero,      // 13: seq_offset_ is a name of nothing
  r_preactivation,     // 15: r_t instead of the gate
  history_3h,          // 20, 27: the step's stride
  state_not_prefixed,  // 17, 28: the array of states does not begin with h0
  without_w_hh,        // 29: the state's gradient is e z
  never_updated,       // 29: and never fed back
  overwritten,         // 30 to 35: gate gradients are stored without the step
  grid_swapped,        // 8, 11, 15, 18: the grid's first axis is the directions'
  beyond_the_block,    // 9, 19: if (i < hidden_size), no loop
  reverse_is_forward,  // 36: the reverse direction is the same
  history_7h,          // 7, 14, 27: a second history
  w_ih_transposed,     // 39: (input, hidden)
  dw_by_atomics,       // 42: blocks add into one dW
  dw_unsynchronised,   // 42
  counts_up,           // 3: step 1, while the index falls
  dhn_ignored          // 24, 36: the last state's gradient is not defined
};

constexpr const char* k_flaws[] = {"repaired",
                                   "dy_index_uses_unit_as_time",
                                   "seed_dy_one_address_for_all_units",
                                   "seed_dy_stride_ignores_direction",
                                   "seed_hn_offset_zero",
                                   "seed_r_t_is_preactivation",
                                   "history_stride_3h",
                                   "seed_state_array_not_prefixed",
                                   "recursion_without_w_hh",
                                   "state_gradient_never_updated",
                                   "seed_gate_gradients_overwritten",
                                   "seed_grid_axes_swapped",
                                   "units_beyond_the_block_skipped",
                                   "seed_reverse_is_forward",
                                   "seed_history_7h",
                                   "w_ih_read_transposed",
                                   "dw_by_atomics",
                                   "seed_dw_unsynchronised_add",
                                   "seed_index_counts_up",
                                   "dhn_ignored"};

struct seed_step {
  gru_sequence s;
  int64_t input;
  const float *x, *w_ih, *w_hh, *b_ih, *b_hh, *dy, *dhn;
  float *y, *hn, *history, *trace, *gradients, *dh, *next;  // gradients [D, T, B, 4H]: d_n, d_r, d_z, d_n r
  flaw wrong;
  int64_t step;  // of the visiting order

  __device__ int64_t time_of(int d, int64_t b) const {
    return d == 0 || wrong == flaw::reverse_is_forward ? step : s.length(b) - 1 - step;
  }
  __device__ int64_t last_unit() const { return wrong == flaw::beyond_the_block ? k_seed_threads : s.hidden; }
  __device__ float* gates(int d, int64_t t, int64_t b) const {
    return history + ((d * s.time + t) * s.batch + b) * 4 * s.hidden;
  }
  __device__ float* of_gates(int d, int64_t t, int64_t b) const {
    return gradients + ((d * s.time + (wrong == flaw::overwritten ? 0 : t)) * s.batch + b) * 4 * s.hidden;
  }
  // The state that enters; the flaw's readers see what the step has made.
  __device__ float entering(int d, int64_t t, int64_t b, int64_t k) const {
    if (wrong == flaw::reverse_is_forward) d = 0;
    const float* const h = s.entering(d, t, b, s.length(b));
    return h == nullptr ? 0.0f : h[k];
  }
  __device__ float read_back(int d, int64_t t, int64_t b, int64_t k) const {
    return wrong == flaw::state_not_prefixed ? s.y[s.y_row(d, t, b) + k] : entering(d, t, b, k);
  }
  __device__ float input_weight(int d, int64_t row, int64_t i) const {
    const float* const w = w_ih + d * 3 * s.hidden * input;
    return wrong == flaw::w_ih_transposed ? w[i * 3 * s.hidden + row] : w[row * input + i];
  }
};

struct seed_place {
  int d;
  int64_t b, first;
};
__device__ seed_place place_of() {
  return {static_cast<int>(blockIdx.y), static_cast<int64_t>(blockIdx.x), static_cast<int64_t>(threadIdx.x)};
}

__global__ void __launch_bounds__(k_seed_threads) seed_forward(seed_step p) {
  const auto [d, b, first] = place_of();
  const int64_t hidden = p.s.hidden, t = p.time_of(d, b);
  for (int64_t k = first; k < hidden && k < p.last_unit(); k += k_seed_threads) {
    if (p.step >= p.s.length(b)) {  // padding, which the first step of the row's end meets
      const int64_t padded = p.step;
      p.y[p.s.y_row(d, padded, b) + k] = 0.0f;
      for (int block = 0; block < 4; ++block) p.gates(d, padded, b)[block * hidden + k] = 0.0f;
      if (p.s.length(b) == 0) p.hn[p.s.state(d, b) + k] = p.s.h0 == nullptr ? 0.0f : p.s.h0[p.s.state(d, b) + k];
      continue;
    }
    float of_x[3], of_h[3];
    for (int gate = 0; gate < 3; ++gate) {
      const int64_t row = gate * hidden + k, bias = d * 3 * hidden + row;
      of_x[gate] = of_h[gate] = 0.0f;
      for (int64_t i = 0; i < p.input; ++i)
        of_x[gate] = fmaf(p.input_weight(d, row, i), p.x[(t * p.s.batch + b) * p.input + i], of_x[gate]);
      for (int64_t j = 0; j < hidden; ++j)
        of_h[gate] = fmaf(p.w_hh[(d * 3 * hidden + row) * hidden + j], p.entering(d, t, b, j), of_h[gate]);
      of_x[gate] += p.b_ih == nullptr ? 0.0f : p.b_ih[bias];
      of_h[gate] += p.b_hh == nullptr ? 0.0f : p.b_hh[bias];
    }
    const gru_gates g = gru_gates_of(of_x[0], of_h[0], of_x[1], of_h[1], of_x[2], of_h[2]);
    float* const saved = p.gates(d, t, b);
    saved[k] = g.r;
    saved[hidden + k] = g.z;
    saved[2 * hidden + k] = g.n;
    saved[3 * hidden + k] = of_h[2];
    const float h = fmaf(g.z, p.entering(d, t, b, k), fmaf(-g.z, g.n, g.n));
    p.y[p.s.y_row(d, t, b) + k] = h;
    if (p.step + 1 == p.s.length(b)) p.hn[p.s.state(d, b) + k] = h;
  }
}

__device__ float seed_dy(const seed_step& p, int d, int64_t t, int64_t b, int64_t k) {
  if (p.dy == nullptr) return 0.0f;
  const int64_t hidden = p.s.hidden;
  switch (p.wrong) {
    case flaw::dy_unit_as_time: return p.dy[p.s.y_row(d, k, b) + k];
    case flaw::dy_one_address: return p.dy[p.s.y_row(d, t, b)];
    case flaw::dy_stride: return p.dy[(t * p.s.batch + b) * hidden + k];
    default: return p.dy[p.s.y_row(d, t, b) + k];
  }
}

__global__ void __launch_bounds__(k_seed_threads) seed_gradients(seed_step p) {
  const auto [d, b, first] = place_of();
  const int64_t hidden = p.s.hidden;
  if (p.step >= p.s.length(b)) return;
  const int64_t t = p.time_of(d, b), stride = p.wrong == flaw::history_3h ? 3 : 4;
  const float* const saved = p.history + ((d * p.s.time + t) * p.s.batch + b) * stride * hidden;
  float* const to = p.of_gates(d, t, b);
  for (int64_t k = first; k < hidden; k += k_seed_threads) {
    const float z = saved[hidden + k], n = saved[2 * hidden + k];
    float r = saved[k], hn = saved[3 * hidden + k];
    if (p.wrong == flaw::hn_offset_zero) hn = p.history[3 * hidden + k];
    if (p.wrong == flaw::r_preactivation) r = logf(r / (1.0f - r));
    const float e = seed_dy(p, d, t, b, k) + p.dh[p.s.state(d, b) + k];
    p.trace[((d * p.s.time + t) * p.s.batch + b) * hidden + k] = e;
    const gru_gate_gradients g = gru_gradients_of(e, r, z, n, hn, p.read_back(d, t, b, k));
    to[k] = g.n;
    to[hidden + k] = g.r;
    to[2 * hidden + k] = g.z;
    to[3 * hidden + k] = g.hn;
    p.next[p.s.state(d, b) + k] = e * z;
  }
}

__global__ void __launch_bounds__(k_seed_threads) seed_feed_back(seed_step p) {
  const auto [d, b, first] = place_of();
  const int64_t hidden = p.s.hidden;
  if (p.step >= p.s.length(b) || p.wrong == flaw::never_updated) return;
  const float* const of_gates = p.of_gates(d, p.time_of(d, b), b);
  for (int64_t k = first; k < hidden; k += k_seed_threads) {
    float sum = p.next[p.s.state(d, b) + k];
    for (int gate = 0; gate < 3 && p.wrong != flaw::without_w_hh; ++gate)
      for (int64_t j = 0; j < hidden; ++j)
        sum = fmaf(p.w_hh[(d * 3 * hidden + gate * hidden + j) * hidden + k], of_gates[(gate + 1) * hidden + j], sum);
    p.dh[p.s.state(d, b) + k] = sum;
  }
}

__global__ void __launch_bounds__(k_seed_threads) seed_begin(seed_step p) {
  const auto [d, b, first] = place_of();
  for (int64_t k = first; k < p.s.hidden; k += k_seed_threads) {
    const int64_t i = p.s.state(d, b) + k;
    p.dh[i] = p.dhn == nullptr || p.wrong == flaw::dhn_ignored ? 0.0f : p.dhn[i];
    for (int64_t t = 0; t < p.s.time; ++t) {
      const int64_t row = (d * p.s.time + t) * p.s.batch + b;
      p.trace[row * p.s.hidden + k] = 0.0f;
      for (int block = 0; block < 4; ++block) p.gradients[(row * 4 + block) * p.s.hidden + k] = 0.0f;
    }
  }
}

__device__ float of_gate(const seed_step& p, int d, int64_t t, int64_t b, int64_t row, bool of_state) {
  const int64_t hidden = p.s.hidden, n = row - 2 * hidden;
  const int64_t place = n < 0 ? hidden + row : of_state ? 3 * hidden + n : n;
  return p.of_gates(d, t, b)[place];
}

// Block x is a row of a gate, y a direction; of dW by many blocks, z is a row of the batch.
struct seed_sums {
  float *dw_ih, *dw_hh, *db_ih, *db_hh, *dx;
  bool by_row;
};
__global__ void __launch_bounds__(k_seed_threads) seed_weights(seed_step p, seed_sums to) {
  const int d = static_cast<int>(blockIdx.y);
  const int64_t hidden = p.s.hidden, row = blockIdx.x, begin = to.by_row ? blockIdx.z : 0;
  const int64_t end = to.by_row ? begin + 1 : p.s.batch, columns = p.input + hidden + 2;
  for (int64_t c = threadIdx.x; c < columns; c += k_seed_threads) {
    const bool of_x = c < p.input, is_bias = c >= p.input + hidden, of_state = c == p.input + hidden + 1;
    float sum = 0.0f;
    for (int64_t t = 0; t < p.s.time; ++t)
      for (int64_t b = begin; b < end; ++b) {
        if (t >= p.s.length(b)) continue;
        const float g = of_gate(p, d, t, b, row, is_bias ? of_state : !of_x);
        const float with = is_bias ? 1.0f
                           : of_x  ? p.x[(t * p.s.batch + b) * p.input + c]
                                   : p.read_back(d, t, b, c - p.input);
        sum = fmaf(g, with, sum);
      }
    const int64_t of_row = d * 3 * hidden + row;
    float* const at =
        is_bias ? (of_state ? to.db_hh : to.db_ih) == nullptr ? nullptr : (of_state ? to.db_hh : to.db_ih) + of_row
        : of_x  ? to.dw_ih + of_row * p.input + c
                : to.dw_hh + of_row * hidden + (c - p.input);
    if (at == nullptr) continue;
    if (to.by_row && p.wrong == flaw::dw_by_atomics)
      atomicAdd(at, sum);
    else if (to.by_row)
      *at += sum;
    else
      *at = sum;
  }
}

__global__ void __launch_bounds__(k_seed_threads) seed_zeros(float* to, int64_t size) {
  for (int64_t i = threadIdx.x; i < size && to != nullptr; i += k_seed_threads) to[i] = 0.0f;
}

__global__ void __launch_bounds__(k_seed_threads) seed_inputs(seed_step p, seed_sums to) {
  const int64_t t = blockIdx.x / p.s.batch, b = blockIdx.x % p.s.batch, hidden = p.s.hidden;
  for (int64_t i = threadIdx.x; i < p.input; i += k_seed_threads) {
    float sum = 0.0f;
    for (int d = 0; d < p.s.directions && t < p.s.length(b); ++d)
      for (int64_t row = 0; row < 3 * hidden; ++row)
        sum = fmaf(p.w_ih[(d * 3 * hidden + row) * p.input + i], of_gate(p, d, t, b, row, false), sum);
    to.dx[blockIdx.x * p.input + i] = sum;
  }
}

void run_flawed(const gru_call& a, flaw wrong, simt::stream_t stream) {
  const gru_config& c = a.c;
  const auto states = static_cast<size_t>(c.D * c.B * c.H), steps = static_cast<size_t>(c.T) * states;
  if (a.pass != gru_pass::both || c.history != gru_history::save || a.inputs.reset != nullptr || states == 0 ||
      c.T == 0)
    throw unsupported_call("only both passes in one, with a history and no marks");
  for (const float* output :
       {a.out.hn, a.grads.dx, a.grads.dh0, a.grads.dh_reset, a.grads.dw_ih[0], a.grads.dw_hh[0], a.grads.trace_e})
    if (output == nullptr) throw unsupported_call("every output must be wanted");
  if (wrong == flaw::history_7h)
    throw std::invalid_argument("history is " + std::to_string(4 * steps) + " elements, must be " +
                                std::to_string(7 * steps));
  const simt::buffer<float> gradients(4 * steps, stream), dh(states, stream), next(states, stream);
  seed_step p{{c.T, c.B, c.H, c.D, a.inputs.lengths, nullptr, a.inputs.h0, nullptr, a.out.y},
              c.I,
              a.inputs.x,
              a.params.w_ih[0],
              a.params.w_hh[0],
              a.params.b_ih[0],
              a.params.b_hh[0],
              a.dy,
              a.dhn,
              a.out.y,
              a.out.hn,
              static_cast<float*>(a.out.history),
              a.grads.trace_e,
              gradients.data(),
              dh.data(),
              next.data(),
              wrong,
              0};
  const auto rows = static_cast<unsigned>(c.B), directions = static_cast<unsigned>(c.D);
  const dim3 grid = wrong == flaw::grid_swapped ? dim3(directions, 1) : dim3(rows, directions);
  for (p.step = 0; p.step < c.T; ++p.step) simt::launch({grid, k_seed_threads, 0, stream}, seed_forward, p);
  simt::launch({dim3(rows, directions), k_seed_threads, 0, stream}, seed_begin, p);
  for (int64_t i = 0; i < c.T; ++i) {
    p.step = wrong == flaw::counts_up ? i : c.T - 1 - i;
    simt::launch({dim3(rows, directions), k_seed_threads, 0, stream}, seed_gradients, p);
    simt::launch({dim3(rows, directions), k_seed_threads, 0, stream}, seed_feed_back, p);
  }
  const bool by_row = wrong == flaw::dw_by_atomics || wrong == flaw::dw_unsynchronised;
  const seed_sums sums{a.grads.dw_ih[0], a.grads.dw_hh[0], a.grads.db_ih[0], a.grads.db_hh[0], a.grads.dx, by_row};
  const int64_t gates = 3 * c.D * c.H;
  for (const auto& [to, size] :
       {std::pair{sums.dw_ih, gates * c.I}, std::pair{sums.dw_hh, gates * c.H}, std::pair{sums.db_ih, gates},
        std::pair{sums.db_hh, gates}, std::pair{a.grads.dh_reset, static_cast<int64_t>(states)}})
    simt::launch({1, k_seed_threads, 0, stream}, seed_zeros, to, size);
  simt::launch({dim3(static_cast<unsigned>(3 * c.H), directions, by_row ? rows : 1), k_seed_threads, 0, stream},
               seed_weights, p, sums);
  simt::launch({static_cast<unsigned>(c.T * c.B), k_seed_threads, 0, stream}, seed_inputs, p, sums);
  simt::memcpy_async(a.grads.dh0, dh.data(), states * sizeof(float), stream);
}

warpcheck_status run_seed(warpcheck_call* call) {
  return candidate_call(call, [&] {
    int wrong = -1;
    for (int i = 0; i < static_cast<int>(std::size(k_flaws)); ++i)
      if (call->variant != nullptr && std::strcmp(call->variant, k_flaws[i]) == 0) wrong = i;
    if (wrong < 0) throw unsupported_call("the variant must name a flaw");
    warpcheck_call plain = *call;
    plain.variant = nullptr;
    run_flawed(gru_call(&plain), static_cast<flaw>(wrong), static_cast<simt::stream_t>(call->stream));
    call->used_variant = k_flaws[wrong];
  });
}

const warpcheck_operator* table() {
  static warpcheck_variant variants[std::size(k_flaws)];
  for (size_t i = 0; i < std::size(k_flaws); ++i)
    variants[i] = gru_variant<gru_regime::product>(k_flaws[i], {0, -1, 0, -1});
  static const warpcheck_operator made = operator_of_extents("gru", k_candidate_device, WARPCHECK_F32, k_gru_extents,
                                                             run_seed, variants, std::size(variants));
  return &made;
}

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_OPERATOR(gru) { return warpcheck::table(); }
