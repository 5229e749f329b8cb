// Checks of the arguments of gru_forward and gru_backward.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/gru/gru.hpp"
#include "kernels/primitives/arguments.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int64_t k_gru_widest_registers = 128, k_gru_widest_cluster = 512, k_gru_widest_grid = 1024;
constexpr int64_t k_gru_cluster_units = 32, k_gru_grid_units = 8;  // of a block
constexpr size_t k_gru_team_shared_bytes = 208 * 1024;             // of a block of a cluster or grid, at most

// The most hidden units of a regime on this device: as many as its blocks, which wait for each other, can hold.
inline int64_t gru_widest(gru_regime regime) {
  const simt::device_properties_t device = simt::device_properties(nullptr);
  const bool has_shared = device.shared_per_block_optin >= k_gru_team_shared_bytes;
  switch (regime) {
    case gru_regime::registers: return k_gru_widest_registers;
    case gru_regime::cluster:
      if (!has_shared || device.max_cluster == 1) return 0;
      return std::min(k_gru_widest_cluster, k_gru_cluster_units * device.max_cluster);
    case gru_regime::grid: return has_shared ? std::min(k_gru_widest_grid, k_gru_grid_units * device.sm_count) : 0;
    default: return std::numeric_limits<int64_t>::max();
  }
}

inline gru_regime gru_regime_of(const gru_config& c) {
  if (c.regime != gru_regime::automatic) return c.regime;
  for (const gru_regime regime : {gru_regime::registers, gru_regime::cluster, gru_regime::grid})
    if (c.H <= gru_widest(regime)) return regime;
  return gru_regime::product;
}

inline void check_config(const gru_config& c) {
  const auto check = [](const char* name, int64_t extent) {
    if (extent < 0) throw std::invalid_argument(std::string(name) + " is " + std::to_string(extent) + ", must be >= 0");
  };
  check("T", c.T);
  check("B", c.B);
  check("I", c.I);
  check("H", c.H);
  check("workspace_limit", c.workspace_limit);
  if (c.D != 1 && c.D != 2) throw std::invalid_argument("D is " + std::to_string(c.D) + ", must be 1 or 2");
  if (c.history > gru_history::recompute)
    throw std::invalid_argument("history is " + std::to_string(static_cast<int>(c.history)) +
                                ", must be 0 (none), 1 (save) or 2 (recompute)");
  if (c.regime > gru_regime::product)
    throw std::invalid_argument("regime is " + std::to_string(static_cast<int>(c.regime)) +
                                ", must be 0 (automatic), 1 (registers), 2 (cluster), 3 (grid) or 4 (product)");
  if (c.precision > gru_precision::bf16)
    throw std::invalid_argument("precision is " + std::to_string(static_cast<int>(c.precision)) +
                                ", must be 0 (ieee), 1 (tf32x3), 2 (tf32) or 3 (bf16)");
  if (c.H > gru_widest(gru_regime_of(c)))
    throw std::invalid_argument("H is " + std::to_string(c.H) + ", must be at most " +
                                std::to_string(gru_widest(c.regime)) + " in regime " +
                                std::to_string(static_cast<int>(c.regime)) + " on this device");
  // Every size in bytes stays below 2^62, including the history's 16 D T B H and the partial sums'.
  double bytes = 64;
  for (const int64_t extent : {c.T, c.B, c.H > c.I ? c.H : c.I}) bytes *= static_cast<double>(extent > 1 ? extent : 1);
  const auto widest = static_cast<double>(c.H > c.I ? c.H : c.I);
  if (bytes >= 0x1p62 || 96 * widest * static_cast<double>(c.H) >= 0x1p62)
    throw std::invalid_argument("T, B, I, H are " + std::to_string(c.T) + ", " + std::to_string(c.B) + ", " +
                                std::to_string(c.I) + ", " + std::to_string(c.H) +
                                ", their tensors must have fewer than 2^62 bytes");
}

// The tensors of a call: whatever is written is disjoint from everything else.
class gru_tensors {
 public:
  void input(const char* name, const void* data, size_t element_bytes, int64_t size, bool needed) {
    add(inputs_, name, data, element_bytes, size, needed);
  }
  void output(const char* name, const void* data, size_t element_bytes, int64_t size, bool needed) {
    add(outputs_, name, data, element_bytes, size, needed);
  }
  void check_overlaps() const {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      for (const row_block& input : inputs_) check_disjoint(input, outputs_[i]);
      for (size_t j = 0; j < i; ++j) check_disjoint(outputs_[j], outputs_[i]);
    }
  }

 private:
  static void add(std::vector<row_block>& to, const char* name, const void* data, size_t element_bytes, int64_t size,
                  bool needed) {
    if (data == nullptr && !needed) return;
    const row_block block{name, data, element_bytes, 1, size, size, nullptr};
    check_rows(block);
    to.push_back(block);
  }
  std::vector<row_block> inputs_, outputs_;
};

inline void check_gru_workspace(gru_tensors& tensors, const void* workspace, int64_t bytes, int64_t needed) {
  if (bytes < needed)
    throw std::invalid_argument("workspace_bytes is " + std::to_string(bytes) + ", must be at least " +
                                std::to_string(needed));
  tensors.output("workspace", workspace, sizeof(float), needed / static_cast<int64_t>(sizeof(float)), needed > 0);
}

inline void list_inputs(gru_tensors& tensors, const gru_config& c, const gru_params& p, const gru_inputs& in) {
  const int64_t state = c.D * c.B * c.H;
  tensors.input("x", in.x, sizeof(float), c.T * c.B * c.I, true);
  for (int d = 0; d < c.D; ++d) {
    tensors.input("w_ih", p.w_ih[d], sizeof(float), 3 * c.H * c.I, true);
    tensors.input("w_hh", p.w_hh[d], sizeof(float), 3 * c.H * c.H, true);
    tensors.input("b_ih", p.b_ih[d], sizeof(float), 3 * c.H, false);
    tensors.input("b_hh", p.b_hh[d], sizeof(float), 3 * c.H, false);
  }
  tensors.input("h0", in.h0, sizeof(float), state, false);
  tensors.input("h_reset", in.h_reset, sizeof(float), state, false);
  tensors.input("lengths", in.lengths, sizeof(int64_t), c.B, false);
  tensors.input("reset", in.reset, sizeof(uint8_t), c.T * c.B, false);
}

inline void list_outputs(gru_tensors& tensors, const gru_config& c, const gru_outputs& out) {
  const int64_t state = c.D * c.B * c.H;
  tensors.output("y", out.y, sizeof(float), c.T * state, true);
  tensors.output("hn", out.hn, sizeof(float), state, false);
  if (c.history == gru_history::save) tensors.output("history", out.history, sizeof(float), 4 * c.T * state, true);
}

inline void list_gradients(gru_tensors& tensors, const gru_config& c, const gru_params& p, const gru_grads& g) {
  if (c.history == gru_history::none)
    throw std::invalid_argument("history is 0 (none), a backward pass needs 1 (save) or 2 (recompute)");
  const int64_t state = c.D * c.B * c.H;
  tensors.output("dx", g.dx, sizeof(float), c.T * c.B * c.I, false);
  tensors.output("dh0", g.dh0, sizeof(float), state, false);
  tensors.output("dh_reset", g.dh_reset, sizeof(float), state, false);
  tensors.output("trace_e", g.trace_e, sizeof(float), c.T * state, false);
  const auto check_bias = [](const char* gradient, const float* wanted, const char* name, const float* bias) {
    if (wanted != nullptr && bias == nullptr)
      throw std::invalid_argument(std::string(gradient) + " is wanted and " + name + " is null, must be null too");
  };
  for (int d = 0; d < c.D; ++d) {
    check_bias("db_ih", g.db_ih[d], "b_ih", p.b_ih[d]);
    check_bias("db_hh", g.db_hh[d], "b_hh", p.b_hh[d]);
    tensors.output("dw_ih", g.dw_ih[d], sizeof(float), 3 * c.H * c.I, false);
    tensors.output("dw_hh", g.dw_hh[d], sizeof(float), 3 * c.H * c.H, false);
    tensors.output("db_ih", g.db_ih[d], sizeof(float), 3 * c.H, false);
    tensors.output("db_hh", g.db_hh[d], sizeof(float), 3 * c.H, false);
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
