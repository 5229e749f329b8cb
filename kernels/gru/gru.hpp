// Gated recurrent unit, forward and backward. One layer, one or two directions, variant reset_after (torch.nn.GRU,
// cuDNN CUDNN_GRU, ONNX linear_before_reset = 1). Gates are in the order r, z, n everywhere.
//
// Contract (the reference, properties and golden data refer to this comment)
//   For each direction and row, h_prev the state that enters step t, s the logistic function:
//     gi = W_ih x_t + b_ih                gh = W_hh h_prev + b_hh
//     r = s(gi_r + gh_r)                  z = s(gi_z + gh_z)
//     hn = gh_n                           n = tanh(gi_n + r hn)
//     h_t = fma(z, h_prev, fma(-z, n, n))
//   Direction 0 visits t = 0 .. L-1, direction 1 visits t = L-1 .. 0, L the length of the row. y = 0 at t >= L.
//   A mark reset[t, b] != 0 begins a segment at t: h_reset replaces the carried state that enters step t (direction
//   0), or the one that enters step t-1 from step t (direction 1). A mark at t = 0 replaces h0; marks at t >= L have no
//   effect.
//
//   Backward, from dh = dhn, each direction against its order:
//     e = dy_t + dh     d_n = e (1-z) (1-n^2)     d_r = d_n hn r (1-r)     d_z = e (h_prev-n) z (1-z)
//     dgi = [d_r, d_z, d_n]     dgh = [d_r, d_z, d_n r]     dh := e z + W_hh^T dgh, for the state that entered
//     dW_ih = sum dgi x^T     dW_hh = sum dgh h_prev^T     db_ih = sum dgi     db_hh = sum dgh
//     dx_t = sum W_ih^T dgi
//   At a step that h_reset entered, dh is added to dh_reset and set to 0. dh after the last step is dh0.
//
// Arguments. Device memory, row-major, aligned to their elements.
//   x, dx            f32 [T, B, I]
//   y, dy            f32 [T, B, D*H], direction d in columns d*H .. d*H+H-1
//   h0, hn, h_reset  f32 [D, B, H], and their gradients; hn is the state after the last visited step
//   w_ih, w_hh       f32 [3H, I], [3H, H], per direction, and their gradients; rows r, z, n
//   b_ih, b_hh       f32 [3H], per direction, and their gradients
//   lengths          i64 [B], clamped to 0..T; null: T
//   reset            u8 [T, B]; null: no marks
//   history          f32 [D, T, B, 4H], blocks r, z, n, hn, +0 at t >= L; written by a forward pass with
//                    gru_history::save, read by its backward pass. recompute: the backward pass computes the gates
//                    again from y. none: no backward pass.
//   trace_e          f32 [D, T, B, H]: e, +0 at t >= L
//   workspace        aligned to 4 bytes, with the size that the query returns; any contents
//   Null h0, h_reset, biases, dy and dhn are zeros. A null output is not computed; y and a saved history must not be
//   null. The values of x, dy and y at t >= L have no effect.
//   Outputs and workspace overlap nothing. A backward pass does not change inputs, y and history.
//
// Special values. L = 0: hn = h0, dh0 = dhn. NaN and infinities follow IEEE rules and stay in their row, from their
// step on; weight gradients sum over all rows. An operand below 2^-126 that its precision rounds to zero counts as a
// zero, also as the factor of an infinity. Gates err by at most 8 u |value| + 2^-126, 0 <= s <= 1, |tanh| <= 1.
//
// Precision. ieee: sums of products are f32, each product fused with its addition, in any order, so a product of a sum
// of n passes through at most n roundings. The other precisions determine the rounding of operands, and allow tensor
// cores for their products. tf32x3 splits an operand into two tf32 and errs as f32 does (kernels/matmul/matmul.hpp),
// tf32 rounds it to the nearest number of 11 bits, bf16 to the nearest of 8 bits (towards zero if that would be
// infinity). Sums, biases, gates, states and all stored values stay f32. Products of many rows run on tensor cores, and
// so do those of a step in regime product. The other regimes multiply the same operands in f32; in tf32x3 these are the
// unsplit operands.
//
// Error. docs/numerics.md, "Gated recurrent units". The plan declares the lengths of the chains.
//
// Workspace. Without a limit neither pass takes more than 4 w(T) bytes, w(T) = (4 T + 11) S + 6 B (H + 3) +
// 4 D H W ceil((T B + 1) / 2048) + 3 H (W + 3) p(T B) + 3 B (H + 1) p(3 H) + 256, with S = D B H, W = max(I, H, 1) and
// p(k) = min(64, ceil(k / 64)), at least 1. With a limit it takes at most the larger of the limit and 4 w(1). A
// precision other than ieee adds v(T) = 2 (R + 3 W + 126) (3 W + 63) + 2 (4 W + 126) (R + 63) + R + 4 W + 257 to w(T),
// with R = min(max(T, 1) B, 8192).
//
// Regimes. A step waits for W_hh and for the step before it; a regime is the place of W_hh. registers: the registers of
// one block, for hidden <= 128. cluster: the registers of the blocks of a cluster, for hidden <= 512, which exchange
// states through distributed shared memory. grid: the registers of all blocks of the launch, for hidden <= 1024.
// product: device memory, with a product of matrices for each step, for any hidden. Automatic is the first of these
// that supports this many hidden units on the device. Blocks that wait for each other all fit on the device at once.
//
// Order. Every sum has a fixed order: same arguments, same bits. The order of a recurrent sum depends on H and the
// regime alone, so a row of y, hn, dx and dh0 does not depend on B, T, D or its place.
//   gi          one chain over the inputs. On tensor cores as in matmul, uncut.
//   dx          one chain over the gates r and z, then n; direction 0 before 1, or in chunks of time first the one that
//               comes to the step first. On tensor cores as in matmul, uncut.
//   registers   a chain over every fourth vector of four units, then four lanes by a tree; backwards over every eighth
//               vector (sixteenth for more than 64 units) of the gates r, z, n in a row, then as many lanes.
//   cluster, grid  a thread's chain over every k-th vector of four units (backwards of the gates r, z, n in a row), the
//               32 lanes of a warp by a tree, then warps in their order; gru/team.hpp has the numbers for each size.
//   product     as in matmul, for rows alone.
//
// Source: Cho et al., Learning phrase representations using RNN encoder-decoder, EMNLP 2014.
//
// Throws std::invalid_argument (negative extent, directions not 1 or 2, null or misaligned pointer with a non-zero
// size, overlap, workspace too small, history none in a backward pass, gradient of a null bias, a regime that does not
// support this many hidden units) and simt::device_error (failed launch). The ABI adapter also refuses an output of the
// pass that is not requested, and a history that is not saved. Work is ordered on the stream; no call allocates or
// waits.
#pragma once

#include <cstdint>

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

enum class gru_history : uint8_t { none, save, recompute };
enum class gru_regime : uint8_t { automatic, registers, cluster, grid, product };
enum class gru_precision : uint8_t { ieee, tf32x3, tf32, bf16 };  // of the operands of products

struct gru_config {
  int64_t T = 0, B = 0, I = 0, H = 0;
  int D = 1;
  gru_history history = gru_history::save;
  // Bytes of workspace; 0: as much as one pass over the sequence takes. With less, a pass goes by chunks of time of at
  // least one step.
  int64_t workspace_limit = 0;
  gru_regime regime = gru_regime::automatic;
  gru_precision precision = gru_precision::ieee;
};

struct gru_params {
  const float* w_ih[2] = {};
  const float* w_hh[2] = {};
  const float* b_ih[2] = {};
  const float* b_hh[2] = {};
};
struct gru_inputs {
  const float* x = nullptr;
  const float* h0 = nullptr;
  const float* h_reset = nullptr;
  const int64_t* lengths = nullptr;
  const uint8_t* reset = nullptr;
};
struct gru_outputs {
  float* y = nullptr;
  float* hn = nullptr;
  void* history = nullptr;
};
struct gru_grads {
  float* dx = nullptr;
  float* dh0 = nullptr;
  float* dh_reset = nullptr;
  float* dw_ih[2] = {};
  float* dw_hh[2] = {};
  float* db_ih[2] = {};
  float* db_hh[2] = {};
  float* trace_e = nullptr;
};

// The plan of a pass, a function of the configuration and the device. depth_*: the longest chain of f32 additions of a
// sum over the input (backwards also of dx), over the hidden units, over rows of the sequence; a bias adds one.
// steps_*: the longest chain of tensor-core steps of such a sum before it is added to an f32; 0 if there are none.
struct gru_plan {
  gru_regime regime = gru_regime::registers;
  // The grid of the recurrent part; 0 in regime product. Blocks of a cluster share rows and exchange their states.
  // coresident_blocks wait for each other, so a device must hold that many at a time.
  int64_t blocks = 0, blocks_per_cluster = 1, coresident_blocks = 1, rows_per_block = 0;
  int64_t chunk_steps = 0;  // time steps between two visits of the bulk products
  int64_t depth_i = 0, depth_h = 0, depth_tb = 0;
  int64_t steps_i = 0, steps_h = 0, steps_tb = 0;
};

int64_t gru_history_bytes(const gru_config& config);  // save: 16 D T B H; none, recompute: 0
int64_t gru_forward_workspace_bytes(const gru_config& config);
int64_t gru_backward_workspace_bytes(const gru_config& config);
gru_plan gru_forward_plan(const gru_config& config);
gru_plan gru_backward_plan(const gru_config& config);

void gru_forward(const gru_config& config, const gru_params& params, const gru_inputs& inputs,
                 const gru_outputs& outputs, void* workspace, int64_t workspace_bytes, simt::stream_t stream);

void gru_backward(const gru_config& config, const gru_params& params, const gru_inputs& inputs, const float* y,
                  const void* history, const float* dy, const float* dhn, const gru_grads& grads, void* workspace,
                  int64_t workspace_bytes, simt::stream_t stream);

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
