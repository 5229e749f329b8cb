// Error bounds of a kernel in f32 against the exact values of gru.hpp and gru_backward.hpp. Derivation:
// docs/numerics.md, "Gated recurrent units".
//
// Two verdicts. By steps: the results of a step are judged from the kernel's results of the previous step; rigorous at
// any size, without growth in time. By trajectory: a bound of the whole result's error, to first order: local radii and
// their sensitivities (Linnainmaa, Taylor expansion of the accumulated rounding error, BIT 16, 1976).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reference/gru/gru.hpp"
#include "reference/gru/gru_backward.hpp"
#include "reference/numerics/dot_bound.hpp"

namespace warpcheck::reference {

// The declaration of a plan about its sums of products: the longest chain of f32 additions, and of tensor-core steps.
struct gru_chain {
  int64_t depth = 0, steps = 0;
};
// Sums over the input (and, backwards, of dx), over the hidden units, over rows of the sequence.
struct gru_accuracy {
  dot_arithmetic arithmetic = dot_arithmetic::ieee;
  gru_chain input, hidden, rows;
};

// The longest chains that sums of a problem of this shape can have in any order of additions, and on tensor cores those
// of an accumulator that in tf32x3 is added to an f32 at least every k_promotion products.
// Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed. 2002, section 4.2.
gru_accuracy gru_allowed_chains(const gru_shape& shape, dot_arithmetic arithmetic = dot_arithmetic::ieee);

// Sees every element that is judged.
using gru_observer = std::function<void(const char* tensor, size_t i, double actual, double expected, double bound)>;

struct gru_verdict {
  double worst = 0;   // the largest error relative to its bound; infinite for a NaN
  std::string where;  // that element
  gru_observer see = nullptr;

  bool accepted() const { return worst <= 1; }
  void take(const char* tensor, size_t i, double actual, double expected, double bound);
};

// y, hn and, where there is one, the history. What is not finite has to be what IEEE 754 makes of it.
gru_verdict judge_gru_steps(const gru_problem<double>& p, const gru_states<double>& actual,
                            const gru_accuracy& accuracy, gru_observer see = nullptr);

// Every gradient that is there; trace_e must be. y and history are those that the kernel read; without a history it
// rebuilt the gates itself (recompute).
gru_verdict judge_gru_gradient_steps(const gru_problem<double>& p, const gru_states<double>& given,
                                     const std::vector<double>& dy, const std::vector<double>& dhn,
                                     const gru_gradients<double>& actual, const gru_accuracy& accuracy,
                                     gru_observer see = nullptr);

// True if every input of the forward pass is finite.
bool is_finite(const gru_problem<double>& p);

// Radii of the trajectory; not usable where an input is not finite. A result is right if it is within bound() of the
// exact one, while `usable`.
struct gru_radii {
  std::vector<double> y, hn, history;
  gru_gradients<double> gradients;
  double largest = 0;  // of y, times 1 + the row-sum norm of W_hh

  bool usable() const { return largest <= 0x1p-4; }
  static double bound(double radius) { return 1.1 * radius + 0x1p-126; }
};

// given_history: y and history are data of the backward pass. recompute: the backward pass rebuilds the gates.
enum class gru_gates : uint8_t { given_history, saved, recomputed };
gru_radii gru_trajectory(const gru_problem<double>& p, const std::vector<double>& dy, const std::vector<double>& dhn,
                         const gru_accuracy& forward, const gru_accuracy& backward, gru_gates gates);

}  // namespace warpcheck::reference
