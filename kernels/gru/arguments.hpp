// What gru_forward and gru_backward refuse.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/gru.hpp"
#include "kernels/primitives/arguments.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

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
  // Every size in bytes stays below 2^62, the history's 16 D T B H and the partial sums' included.
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

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
