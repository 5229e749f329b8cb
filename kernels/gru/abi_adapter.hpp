// The ABI adapter (candidate.h) of gated recurrent units: a call (contract.hpp) as arguments of the C++ API. A pass 2
// (both) goes backward from its own y and history.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <string>

#include "kernels/candidate_support.hpp"
#include "kernels/gru/arguments.hpp"
#include "kernels/gru/contract.hpp"
#include "kernels/gru/gru.hpp"
#include "kernels/gru/registers.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr const char* k_gru_extents[] = {"time", "batch", "input", "hidden", "directions"};
constexpr int32_t k_gru_num_extents = static_cast<int32_t>(std::size(k_gru_extents));

// True if the device holds the weights of this many units in this regime.
template <gru_regime Regime>
int32_t gru_accepts(const warpcheck_call* call) {
  return call->num_inputs > 2 && call->inputs[2] != nullptr && call->inputs[2]->ndim == 3 &&
                 call->inputs[2]->shape[2] <= gru_widest(Regime)
             ? 1
             : 0;
}
template <gru_regime Regime>
constexpr warpcheck_variant gru_variant(const char* name, warpcheck_range hidden) {
  constexpr warpcheck_range any = {0, -1, 0, -1};
  return {sizeof(warpcheck_variant), name, WARPCHECK_F32, {any, any, any, hidden, {1, 2, 1, 2}}, gru_accepts<Regime>};
}
// In the order of gru_regime, without `automatic`. On the emulated device a grid of four multiprocessors holds 32
// units, so it is never picked there.
constexpr bool k_gru_picks_grid = k_candidate_device == WARPCHECK_DEVICE_CUDA;
constexpr warpcheck_range k_gru_grid_hiddens =
    k_gru_picks_grid ? warpcheck_range{0, k_gru_widest_grid, k_gru_widest_cluster + 1, k_gru_widest_grid}
                     : warpcheck_range{0, 32, 1, 0};
constexpr warpcheck_variant k_gru_variants[] = {
    gru_variant<gru_regime::registers>("gru_registers", {0, k_gru_widest_registers, 0, k_gru_widest_registers}),
    gru_variant<gru_regime::cluster>("gru_cluster",
                                     {0, k_gru_widest_cluster, k_gru_widest_registers + 1, k_gru_widest_cluster}),
    gru_variant<gru_regime::grid>("gru_grid", k_gru_grid_hiddens),
    gru_variant<gru_regime::product>("gru_product",
                                     {0, -1, (k_gru_picks_grid ? k_gru_widest_grid : k_gru_widest_cluster) + 1, -1}),
};

// Time and directions have no boundaries: neither changes a path.
constexpr int64_t k_gru_batches[] = {k_gru_most_rows, 16};  // rows of a block; the number of blocks
constexpr int64_t k_gru_inputs[] = {32, 64};                // tiles of the bulk products
constexpr int64_t k_gru_hiddens[] = {32, 64, 128, 192,
                                     256};  // widths of registers, a part of a chain, a block's threads

enum class gru_pass : uint8_t { forward, backward, both };

struct gru_call {
  checked_call checked;
  gru_config c;
  gru_pass pass;
  gru_params params;
  gru_inputs inputs;
  const float *dy, *dhn, *y_in, *history_in;
  gru_outputs out;
  gru_grads grads;
  void* work;
  int64_t work_bytes;

  explicit gru_call(const warpcheck_call* call) : checked(check_call(gru_contract(), *call)) {
    const checked_call& a = checked;
    set_config(a, call);
    pass = static_cast<gru_pass>(static_cast<int>(a.scalar("pass")));
    const auto data = [&](const char* name) { return a.data<float>(name); };
    inputs = {data("x"), data("h0"), data("h_reset"), a.data<int64_t>("lengths"), a.data<uint8_t>("reset")};
    dy = data("dy");
    dhn = data("dhn");
    y_in = data("y_in");
    history_in = data("history_in");
    out = {data("y"), data("hn"), data("history")};
    grads.dx = data("dx");
    grads.dh0 = data("dh0");
    grads.dh_reset = data("dh_reset");
    grads.trace_e = data("trace_e");
    work = a.data<uint8_t>("work");
    work_bytes = a.at("work").cols;
    const int64_t gates = 3 * c.H;
    const auto of = [](auto* all, int d, int64_t size) { return all == nullptr ? nullptr : all + d * size; };
    for (int d = 0; d < c.D; ++d) {
      params.w_ih[d] = of(data("w_ih"), d, gates * c.I);
      params.w_hh[d] = of(data("w_hh"), d, gates * c.H);
      params.b_ih[d] = of(data("b_ih"), d, gates);
      params.b_hh[d] = of(data("b_hh"), d, gates);
      grads.dw_ih[d] = of(data("dw_ih"), d, gates * c.I);
      grads.dw_hh[d] = of(data("dw_hh"), d, gates * c.H);
      grads.db_ih[d] = of(data("db_ih"), d, gates);
      grads.db_hh[d] = of(data("db_hh"), d, gates);
    }
  }

  bool goes_forward() const { return pass != gru_pass::backward; }
  bool goes_backward() const { return pass != gru_pass::forward; }

  // Makes the checks of both API functions before the first one starts.
  void check() const {
    gru_tensors tensors;
    list_inputs(tensors, c, params, inputs);
    const int64_t state = c.D * c.B * c.H;
    tensors.input("dy", dy, sizeof(float), c.T * state, false);
    tensors.input("dhn", dhn, sizeof(float), state, false);
    const bool reads = pass == gru_pass::backward;
    tensors.input("y_in", y_in, sizeof(float), c.T * state, reads);
    tensors.input("history_in", history_in, sizeof(float), 4 * c.T * state, reads && c.history == gru_history::save);
    if (goes_forward()) list_outputs(tensors, c, out);
    if (goes_backward()) list_gradients(tensors, c, params, grads);
    if (work != nullptr) check_gru_workspace(tensors, work, work_bytes, workspace_bytes());
    tensors.check_overlaps();
    for (const tensor_view& v : checked.tensors) require_dense(v);
  }
  int64_t workspace_bytes() const {
    return std::max(goes_forward() ? gru_forward_workspace_bytes(c) : 0,
                    goes_backward() ? gru_backward_workspace_bytes(c) : 0);
  }

 private:
  void set_config(const checked_call& a, const warpcheck_call* call) {
    const int64_t directions = a.extent("directions");
    if (directions != 1 && directions != 2)
      throw std::invalid_argument("D is " + std::to_string(directions) + ", must be 1 or 2");
    c = {a.extent("time"), a.extent("batch"), a.extent("input"), a.extent("hidden"), static_cast<int>(directions)};
    c.history = static_cast<gru_history>(static_cast<int>(a.scalar("history_mode")));
    c.workspace_limit = static_cast<int64_t>(a.scalar("workspace_limit"));
    c.precision = static_cast<gru_precision>(static_cast<int>(a.scalar("precision")));
    c.regime = static_cast<gru_regime>(find_variant(call, k_gru_variants, 0) + 1);
    if (c.regime != gru_regime::automatic && c.H > gru_widest(c.regime))
      throw unsupported_call("variant " + std::string(call->variant) + " does not take H = " + std::to_string(c.H));
    check_config(c);
  }
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
