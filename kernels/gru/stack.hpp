// Layers of gated recurrent units, one on top of the other: the input of a layer is y of the one below, dy of a layer
// is dx of the one above. The caller adds dropout between layers, if any.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/gru/gru.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// The arguments of one layer as in gru.hpp. inputs.x is read for the first layer only and replaced for the others;
// grads.dx of all layers but the first must not be null in a backward pass. lengths and marks apply to every layer.
struct gru_layer {
  gru_config config;
  gru_params params;
  gru_inputs inputs;
  gru_outputs outputs;
  const float* dhn = nullptr;  // null: zeros
  gru_grads grads;
};

namespace detail {

// Throws std::invalid_argument if a layer does not fit the one below it.
inline void check_gru_stack(const gru_layer* layers, int count, bool backward) {
  if (count < 1 || layers == nullptr)
    throw std::invalid_argument("count is " + std::to_string(count) +
                                ", must be at least 1 of layers that are not null");
  for (int l = 1; l < count; ++l) {
    const gru_config &c = layers[l].config, &below = layers[l - 1].config;
    const auto fit = [l](const char* name, int64_t value, int64_t wanted) {
      if (value != wanted)
        throw std::invalid_argument(std::string(name) + " of layer " + std::to_string(l) + " is " +
                                    std::to_string(value) + ", must be " + std::to_string(wanted) +
                                    " by the layer below");
    };
    fit("T", c.T, below.T);
    fit("B", c.B, below.B);
    fit("I", c.I, below.D * below.H);
    if (backward && layers[l].grads.dx == nullptr && c.T * c.B * c.I > 0)
      throw std::invalid_argument("dx of layer " + std::to_string(l) +
                                  " is null, must not be: it is dy of the layer below");
  }
}

}  // namespace detail

// Returns the size for the layer that needs most; all layers use one workspace in turn.
inline int64_t gru_stack_forward_workspace_bytes(const gru_layer* layers, int count) {
  int64_t bytes = 0;
  for (int l = 0; l < count; ++l) bytes = std::max(bytes, gru_forward_workspace_bytes(layers[l].config));
  return bytes;
}
inline int64_t gru_stack_backward_workspace_bytes(const gru_layer* layers, int count) {
  int64_t bytes = 0;
  for (int l = 0; l < count; ++l) bytes = std::max(bytes, gru_backward_workspace_bytes(layers[l].config));
  return bytes;
}

inline void gru_stack_forward(const gru_layer* layers, int count, void* workspace, int64_t workspace_bytes,
                              simt::stream_t stream) {
  detail::check_gru_stack(layers, count, false);
  for (int l = 0; l < count; ++l) {
    gru_inputs inputs = layers[l].inputs;
    if (l > 0) inputs.x = layers[l - 1].outputs.y;
    gru_forward(layers[l].config, layers[l].params, inputs, layers[l].outputs, workspace, workspace_bytes, stream);
  }
}

// dy belongs to the last layer's y; null: zeros.
inline void gru_stack_backward(const gru_layer* layers, int count, const float* dy, void* workspace,
                               int64_t workspace_bytes, simt::stream_t stream) {
  detail::check_gru_stack(layers, count, true);
  for (int l = count - 1; l >= 0; --l) {
    gru_inputs inputs = layers[l].inputs;
    if (l > 0) inputs.x = layers[l - 1].outputs.y;
    gru_backward(layers[l].config, layers[l].params, inputs, layers[l].outputs.y, layers[l].outputs.history,
                 l + 1 == count ? dy : layers[l + 1].grads.dx, layers[l].dhn, layers[l].grads, workspace,
                 workspace_bytes, stream);
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
