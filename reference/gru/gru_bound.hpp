// Error bounds of a kernel in f32 against the exact values of gru.hpp and gru_backward.hpp. Derivation:
// docs/numerics.md, "Gated recurrent units".
//
// Two verdicts. By steps: the results of a step are judged from the kernel's results of the previous step; rigorous at
// any size, without growth in time. By trajectory: a first-order bound of the error of the whole result, from local
// radii and their sensitivities (Linnainmaa, Taylor expansion of the accumulated rounding error, BIT 16, 1976).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reference/gru/gru.hpp"
#include "reference/gru/gru_backward.hpp"
#include "reference/numerics/dot_bound.hpp"

namespace warpcheck::reference {

// A plan's declaration about its sums of products: the longest chain of f32 additions, and of tensor-core steps.
struct gru_chain {
  int64_t depth = 0, steps = 0;
};
// Chains of the sums over the input (in the backward pass also of dx), over the hidden units, and over rows of the
// sequence.
struct gru_accuracy {
  dot_arithmetic arithmetic = dot_arithmetic::ieee;
  gru_chain input, hidden, rows;
  double gates = 0;  // an error that s and tanh may have, if it is larger than the contract's
};

// The longest chains that sums of a problem of this shape can have in any order of additions. On tensor cores a tf32x3
// accumulator is added to an f32 at least every k_promotion products. halves: adds_in_halves() of the machine.
// Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed. 2002, section 4.2.
gru_accuracy gru_allowed_chains(const gru_shape& shape, dot_arithmetic arithmetic = dot_arithmetic::ieee,
                                bool halves = false);

// Called for every element that is judged.
using gru_observer = std::function<void(const char* tensor, size_t i, double actual, double expected, double bound)>;

struct gru_verdict {
  double worst = 0;   // the largest error relative to its bound; infinite for a NaN
  std::string where;  // the element with this error
  gru_observer see = nullptr;

  bool accepted() const { return worst <= 1; }
  void take(const char* tensor, size_t i, double actual, double expected, double bound);
};

// Judges y, hn and, if there is one, the history. A value that is not finite must be the one that IEEE 754 gives.
gru_verdict judge_gru_steps(const gru_problem<double>& p, const gru_states<double>& actual,
                            const gru_accuracy& accuracy, gru_observer see = nullptr);

// Judges every gradient that is present; trace_e must be. y and history are those that the kernel read; without a
// history it rebuilt the gates itself (recompute).
gru_verdict judge_gru_gradient_steps(const gru_problem<double>& p, const gru_states<double>& given,
                                     const std::vector<double>& dy, const std::vector<double>& dhn,
                                     const gru_gradients<double>& actual, const gru_accuracy& accuracy,
                                     gru_observer see = nullptr);

// True if every input of the forward pass is finite.
bool is_finite(const gru_problem<double>& p);

// Radii of the trajectory; not usable if an input is not finite. A result is right if it is within bound() of the exact
// one, as long as usable().
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
