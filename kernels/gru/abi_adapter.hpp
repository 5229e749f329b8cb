// The ABI adapter (candidate.h) of gated recurrent units: every call has all tensors of the contract, those without
// elements being null pointers, in this order.
//   inputs: x [T, B, I], w_ih [D, 3H, I], w_hh [D, 3H, H], b_ih [D, 3H], b_hh [D, 3H], h0 [D, B, H], h_reset [D, B, H],
//   lengths i64 [B], reset u8 [T, B], dy [T, B, D*H], dhn [D, B, H], y_in [T, B, D*H], history_in [D, T, B, 4H]
//   outputs: y, hn, history, dx, dh0, dh_reset, dw_ih, dw_hh, db_ih, db_hh, trace_e [D, T, B, H], work u8 [bytes]
// Scalars: pass (0 forward, 1 backward from y_in and history_in, 2 both, the history being what the forward pass
// wrote), history_mode (0 none, 1 save, 2 recompute), precision (0 ieee, 1 tf32x3, 2 tf32, 3 bf16),
// workspace_limit. Outputs of the pass that is not asked for must be null.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>

#include "kernels/candidate_support.hpp"
#include "kernels/gru/arguments.hpp"
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

inline int64_t gru_integer(const warpcheck_call* call, const char* name, double most) {
  const double value = scalar_argument(call, name);
  if (!(value >= 0 && value <= most && value == std::floor(value)))
    throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) + ", must be an integer from 0 to " +
                                std::to_string(static_cast<int64_t>(most)));
  return static_cast<int64_t>(value);
}

// The tensors of a call by place and name.
class gru_arguments {
 public:
  explicit gru_arguments(const warpcheck_call* call) : call_(call) {
    if (call->num_inputs < 3 || call->num_inputs > 13 || call->num_outputs < 1 || call->num_outputs > 12)
      throw std::invalid_argument("the call has " + std::to_string(call->num_inputs) + " inputs and " +
                                  std::to_string(call->num_outputs) +
                                  " outputs, must have 3 to 13 inputs and 1 to 12 outputs");
    const DLTensor &x = needed(0, "x", 3), &w_hh = needed(2, "w_hh", 3);
    c.T = x.shape[0];
    c.B = x.shape[1];
    c.I = x.shape[2];
    c.H = w_hh.shape[2];
    if (w_hh.shape[0] != 1 && w_hh.shape[0] != 2)
      throw std::invalid_argument("D is " + std::to_string(w_hh.shape[0]) + ", must be 1 or 2");
    c.D = static_cast<int>(w_hh.shape[0]);
    c.history = static_cast<gru_history>(gru_integer(call, "history_mode", 2));
    c.workspace_limit = gru_integer(call, "workspace_limit", 0x1p48);
    c.precision = static_cast<gru_precision>(gru_integer(call, "precision", 3));
    c.regime = static_cast<gru_regime>(find_variant(call, k_gru_variants, 0) + 1);
    if (c.regime != gru_regime::automatic && c.H > gru_widest(c.regime))
      throw unsupported_call("variant " + std::string(call->variant) + " does not take H = " + std::to_string(c.H));
    check_config(c);
  }

  template <class T>
  T* tensor(bool is_input, int i, const char* name, std::initializer_list<int64_t> shape,
            bool is_optional = true) const {
    const int count = is_input ? call_->num_inputs : call_->num_outputs;
    const DLTensor* const t = i >= count ? nullptr : is_input ? call_->inputs[i] : call_->outputs[i];
    if (t == nullptr && is_optional) return nullptr;
    if (t == nullptr) throw std::invalid_argument(std::string(name) + " is missing");
    if (is_optional && is_empty(*t, name)) return nullptr;
    check_shape(*t, name, shape);
    if (!has_type<T>(t->dtype)) throw std::invalid_argument(std::string(name) + " has the wrong element type");
    check_layout(*t, name);
    return static_cast<T*>(const_cast<void*>(data_of(*t)));
  }
  template <class T = float>
  const T* input(int i, const char* name, std::initializer_list<int64_t> shape, bool is_optional = true) const {
    return tensor<T>(true, i, name, shape, is_optional);
  }
  float* output(int i, const char* name, std::initializer_list<int64_t> shape) const {
    return tensor<float>(false, i, name, shape);
  }
  // The caller's workspace, and its bytes; null if there is none.
  void* work(int64_t* bytes) const {
    *bytes = 0;
    if (call_->num_outputs < 12 || call_->outputs[11] == nullptr || is_empty(*call_->outputs[11], "work"))
      return nullptr;
    *bytes = call_->outputs[11]->shape[0];
    return tensor<uint8_t>(false, 11, "work", {*bytes});
  }

  gru_config c;

 private:
  template <class T>
  static bool has_type(const DLDataType& type) {
    if constexpr (std::is_same_v<T, uint8_t>)
      return dtype_bit(type) == WARPCHECK_U8;
    else
      return dtype_bit(type) == dtype_bit_of<T>();
  }
  static void check_dimensions(const DLTensor& t, const char* name) {
    for (int32_t k = 0; k < t.ndim; ++k)
      if (t.shape[k] < 0)
        throw std::invalid_argument("dimension " + std::to_string(k) + " of " + name + " is " +
                                    std::to_string(t.shape[k]) + ", must be >= 0");
  }
  static bool is_empty(const DLTensor& t, const char* name) {
    check_dimensions(t, name);
    return std::any_of(t.shape, t.shape + t.ndim, [](int64_t n) { return n == 0; });
  }
  const DLTensor& needed(int i, const char* name, int rank) const {
    const DLTensor* const t = call_->inputs[i];
    if (t == nullptr) throw std::invalid_argument(std::string(name) + " is missing");
    if (t->ndim != rank)
      throw std::invalid_argument(std::string(name) + " has " + std::to_string(t->ndim) + " dimensions, must have " +
                                  std::to_string(rank));
    check_dimensions(*t, name);
    return *t;
  }
  static void check_shape(const DLTensor& t, const char* name, std::initializer_list<int64_t> shape) {
    if (t.ndim == static_cast<int32_t>(shape.size()) && std::equal(shape.begin(), shape.end(), t.shape)) return;
    const auto text = [](const int64_t* begin, const int64_t* end) {
      std::string all;
      for (; begin != end; ++begin) all += (all.empty() ? "" : " x ") + std::to_string(*begin);
      return all;
    };
    throw std::invalid_argument(std::string(name) + " is " + text(t.shape, t.shape + t.ndim) + ", must be " +
                                text(shape.begin(), shape.end()));
  }
  static void check_layout(const DLTensor& t, const char* name) {
    if (t.strides == nullptr) return;
    const int64_t cols = t.shape[t.ndim - 1];
    if (cols > 1 && t.strides[t.ndim - 1] != 1)
      throw unsupported_call(std::string(name) + " has column stride " + std::to_string(t.strides[t.ndim - 1]) +
                             ", must be 1");
    if (t.ndim < 2) return;
    const int64_t ld = t.strides[t.ndim - 2];
    int64_t rows = 1;
    for (int32_t k = 0; k + 1 < t.ndim; ++k) rows *= t.shape[k];
    if (ld < cols || (rows > 1 && ld != cols))
      throw std::invalid_argument("the leading dimension of " + std::string(name) + " is " + std::to_string(ld) +
                                  ", must be " + std::to_string(cols));
  }

  const warpcheck_call* call_;
};

enum class gru_pass : uint8_t { forward, backward, both };

struct gru_call {
  gru_config c;
  gru_pass pass;
  gru_params params;
  gru_inputs inputs;
  const float *dy, *dhn, *y_in, *history_in;
  gru_outputs out;
  gru_grads grads;
  void* work;
  int64_t work_bytes;

  explicit gru_call(const warpcheck_call* call) {
    const gru_arguments a(call);
    c = a.c;
    pass = static_cast<gru_pass>(gru_integer(call, "pass", 2));
    const int64_t gates = 3 * c.H, width = c.D * c.H;
    const float* const w_ih = a.input(1, "w_ih", {c.D, gates, c.I}, false);
    const float* const w_hh = a.input(2, "w_hh", {c.D, gates, c.H}, false);
    const float *const b_ih = a.input(3, "b_ih", {c.D, gates}), *const b_hh = a.input(4, "b_hh", {c.D, gates});
    inputs.x = a.input(0, "x", {c.T, c.B, c.I}, false);
    inputs.h0 = a.input(5, "h0", {c.D, c.B, c.H});
    inputs.h_reset = a.input(6, "h_reset", {c.D, c.B, c.H});
    inputs.lengths = a.input<int64_t>(7, "lengths", {c.B});
    inputs.reset = a.input<uint8_t>(8, "reset", {c.T, c.B});
    dy = a.input(9, "dy", {c.T, c.B, width});
    dhn = a.input(10, "dhn", {c.D, c.B, c.H});
    y_in = a.input(11, "y_in", {c.T, c.B, width});
    history_in = a.input(12, "history_in", {c.D, c.T, c.B, 4 * c.H});
    out.y = a.output(0, "y", {c.T, c.B, width});
    out.hn = a.output(1, "hn", {c.D, c.B, c.H});
    out.history = a.output(2, "history", {c.D, c.T, c.B, 4 * c.H});
    grads.dx = a.output(3, "dx", {c.T, c.B, c.I});
    grads.dh0 = a.output(4, "dh0", {c.D, c.B, c.H});
    grads.dh_reset = a.output(5, "dh_reset", {c.D, c.B, c.H});
    float* const dw_ih = a.output(6, "dw_ih", {c.D, gates, c.I});
    float* const dw_hh = a.output(7, "dw_hh", {c.D, gates, c.H});
    float *const db_ih = a.output(8, "db_ih", {c.D, gates}), *const db_hh = a.output(9, "db_hh", {c.D, gates});
    grads.trace_e = a.output(10, "trace_e", {c.D, c.T, c.B, c.H});
    work = a.work(&work_bytes);
    const auto of = [](auto* data, int d, int64_t size) { return data == nullptr ? nullptr : data + d * size; };
    for (int d = 0; d < c.D; ++d) {
      params.w_ih[d] = of(w_ih, d, gates * c.I);
      params.w_hh[d] = of(w_hh, d, gates * c.H);
      params.b_ih[d] = of(b_ih, d, gates);
      params.b_hh[d] = of(b_hh, d, gates);
      grads.dw_ih[d] = of(dw_ih, d, gates * c.I);
      grads.dw_hh[d] = of(dw_hh, d, gates * c.H);
      grads.db_ih[d] = of(db_ih, d, gates);
      grads.db_hh[d] = of(db_hh, d, gates);
    }
  }

  bool goes_forward() const { return pass != gru_pass::backward; }
  bool goes_backward() const { return pass != gru_pass::forward; }

  // Makes the checks of both API functions before the first one starts.
  void check() const {
    const auto unwanted = [](const char* name, bool wanted, const char* of) {
      if (wanted) throw std::invalid_argument(std::string(name) + " is wanted of a pass that is " + of + " only");
    };
    gru_tensors tensors;
    list_inputs(tensors, c, params, inputs);
    const int64_t state = c.D * c.B * c.H;
    tensors.input("dy", dy, sizeof(float), c.T * state, false);
    tensors.input("dhn", dhn, sizeof(float), state, false);
    const bool reads = pass == gru_pass::backward;
    tensors.input("y_in", y_in, sizeof(float), c.T * state, reads);
    tensors.input("history_in", history_in, sizeof(float), 4 * c.T * state, reads && c.history == gru_history::save);
    if (goes_forward()) {
      list_outputs(tensors, c, out);
      if (c.history != gru_history::save) unwanted("history", out.history != nullptr, "not of history save");
    } else {
      unwanted("y", out.y != nullptr, "backward");
      unwanted("hn", out.hn != nullptr, "backward");
      unwanted("history", out.history != nullptr, "backward");
    }
    if (goes_backward()) {
      list_gradients(tensors, c, params, grads);
    } else {
      const gru_grads& g = grads;
      for (const float* gradient : {g.dx, g.dh0, g.dh_reset, g.dw_ih[0], g.dw_hh[0], g.db_ih[0], g.db_hh[0], g.trace_e})
        unwanted("a gradient", gradient != nullptr, "forward");
    }
    if (work != nullptr) check_gru_workspace(tensors, work, work_bytes, workspace_bytes());
    tensors.check_overlaps();
  }
  int64_t workspace_bytes() const {
    return std::max(goes_forward() ? gru_forward_workspace_bytes(c) : 0,
                    goes_backward() ? gru_backward_workspace_bytes(c) : 0);
  }
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
