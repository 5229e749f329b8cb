// Both passes of gated recurrent units as a benchmark calls them, on random data in device memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace warpcheck::bench {

struct gru_cell {
  int64_t time, batch, input, hidden;
  int directions;
  int precision = 0;  // as gru_precision

  std::string name() const {
    constexpr const char* k_precisions[] = {"ieee", "tf32x3", "tf32", "bf16"};
    return std::to_string(time) + "x" + std::to_string(batch) + "x" + std::to_string(input) + "x" +
           std::to_string(hidden) + "/" + (directions == 1 ? "uni" : "bi") + "/" + k_precisions[precision];
  }
  bool is_rounded() const { return precision >= 2; }
  // Floating-point operations of a forward pass; backwards there are twice as many.
  double flop() const { return 6.0 * static_cast<double>(time * batch * hidden * (input + hidden) * directions); }
};

// Tensors as in kernels/gru/gru.hpp, both directions in one.
struct gru_values {
  std::vector<float> x, w_ih, w_hh, b_ih, b_hh, h0, dy;
};
struct gru_results {
  std::vector<float> y, history, dx, dw_ih, trace_e;
};
gru_values draw_values(const gru_cell& c);

// Inputs lie in several places that together exceed `flush_bytes`, with the same values in each.
class gru_run {
 public:
  gru_run(const gru_cell& c, const gru_values& values, size_t flush_bytes);
  ~gru_run();
  gru_run(const gru_run&) = delete;
  gru_run& operator=(const gru_run&) = delete;

  void forward(int i, cudaStream_t stream);   // saves its history
  void backward(int i, cudaStream_t stream);  // of dx and all parameters
  // What the last calls left, and e of one backward pass more.
  gru_results results(cudaStream_t stream);
  // Of sums over 0 the input, 1 hidden units, 2 rows: the longest chains of additions and of tensor-core steps.
  struct chain {
    int64_t depth, steps;
  };
  chain chain_of(int kind, bool backwards) const;
  std::string regime() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace warpcheck::bench
