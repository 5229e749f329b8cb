// What a GPU computes for every f32 there is, against evaluations in f64 whose error is proven (sweeps.cu).
#pragma once

#include <cstdint>
#include <vector>

namespace warpcheck::self {

// The largest error among some arguments, rounded up, and the bits of the argument that has it.
struct worst_argument {
  float error = 0;
  uint32_t bits = 0;
};

// Errors of e^x. Relative ones are in units of u = 2^-24, where the exact result is normal; else they are absolute, in
// units of eta = 2^-149.
struct exp_errors {
  worst_argument not_positive, positive, subnormal_result;
  uint64_t wrong_special = 0;  // of NaN, +-Inf, +-0, and where the result must be infinite, or must not
};
enum class exp_function {
  accurate,  // expf, which the kernels call
  fast,      // __expf
  squared,   // squared_exp (kernels/softmax/arithmetic.hpp), for x <= 0; of a subnormal result, what is beyond 15u
};
exp_errors sweep_exp(exp_function which);

// Errors of quick_exp (kernels/primitives/reduce.hpp) for x <= 0: relative ones over what is assumed of them,
// (4 + 1.23 |x|) u, and the largest e^x that becomes 0.
struct quick_exp_errors {
  worst_argument error_ratio, flushed;
  uint64_t wrong_special = 0;  // of NaN, -Inf, +-0
};
// `moved`: results are moved by four floats before they are judged, to show that wrong ones are seen.
quick_exp_errors sweep_quick_exp(bool moved);

// Errors of ln(1 + x); of subnormal arguments in units of eta, else in units of u.
struct log1p_errors {
  worst_argument positive, negative, subnormal_argument;
  uint64_t wrong_special = 0;  // of NaN, +Inf, +-0, -1 and less
};
enum class log1p_function {
  accurate,  // log1pf, which the kernels call
  naive,     // logf(1 + x)
};
log1p_errors sweep_log1p(log1p_function which);

// What the kernel sigmoid (mu = 0, sigma = 1) gives for every x, against the contract's bound.
struct sigmoid_errors {
  worst_argument error_ratio;    // error / bound
  uint64_t wrong_special = 0;    // of NaN, +-Inf, +-0
  uint64_t undecided_count = 0;  // not accepted here: for the reference to decide; the first ones are listed
  struct element {
    float x, y;
  };
  std::vector<element> undecided;
  std::vector<element> sample;  // every 2^12-th element
};
// Before it is judged, each result is moved by `nudge` floats, to show that wrong ones are seen.
sigmoid_errors sweep_sigmoid(int nudge);

// The gate functions of gru: how many values break their bounds or special values, and the largest part of a bound that
// an error takes.
struct gate_errors {
  worst_argument logistic, tangent;
  uint64_t wrong = 0;
};
gate_errors sweep_gates();

}  // namespace warpcheck::self
