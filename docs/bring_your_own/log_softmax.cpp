// A candidate library in plain C++: a logarithm of softmax for the CPU behind the C ABI of abi/candidate.h.
//   c++ -std=c++17 -O2 -ffp-contract=off -shared -fPIC -I<warpcheck> log_softmax.cpp -o libmine.so
//   warpcheck verify log_softmax --candidate ./libmine.so --device cpu
#include <cmath>
#include <cstdint>

#include "call.hpp"

namespace {

using candidate::matrix;

// kernels/log_softmax/log_softmax.hpp is the contract. In double, and the largest element held out of the sum: log1p
// then keeps the tail of a row that it dominates.
void log_softmax(const float* in, float* out, int64_t cols) {
  int64_t top = 0;
  for (int64_t i = 0; i < cols; ++i)
    if (in[i] > in[top] || in[i] != in[i]) top = i;
  const double m = in[top];
  double rest = 0;
  for (int64_t i = 0; i < cols; ++i)
    if (i != top) rest += std::exp(in[i] - m);
  const double all = std::isfinite(m) ? std::log1p(rest) : NAN;
  for (int64_t i = 0; i < cols; ++i) out[i] = static_cast<float>((in[i] - m) - all);
}

warpcheck_status run(warpcheck_call* call) {
  return candidate::answer(call, [&] {
    const matrix<float> x = candidate::input<float>(call, 0, 2), y = candidate::output<float>(call, 0, 2);
    candidate::require(y.rows == x.rows && y.cols == x.cols, "y must have the shape of x");
    if (x.data != y.data || x.ld != y.ld) candidate::require_disjoint(x, y);
    if (x.empty()) return;
    for (int64_t r = 0; r < x.rows; ++r) log_softmax(x.row(r), y.row(r), x.cols);
  });
}

}  // namespace

extern "C" const warpcheck_candidate* warpcheck_candidate_get(uint32_t abi_version) {
  return candidate::table<run>(abi_version, "log_softmax");
}
