// A candidate library in plain C++: a logsumexp for the CPU behind the C ABI of abi/candidate.h.
//   c++ -std=c++17 -O2 -ffp-contract=off -shared -fPIC -I<warpcheck> logsumexp.cpp -o libmine.so
//   warpcheck verify logsumexp --candidate ./libmine.so --device cpu
#include <cmath>
#include <cstdint>

#include "call.hpp"

namespace {

using candidate::matrix;

// kernels/logsumexp/logsumexp.hpp is the contract. In double, and the largest element held out of the sum: log1p then
// keeps the tail of a row that it dominates.
float logsumexp(const float* in, int64_t cols) {
  if (cols == 0) return -INFINITY;
  int64_t top = 0;
  for (int64_t i = 0; i < cols; ++i)
    if (in[i] > in[top] || in[i] != in[i]) top = i;
  const double m = in[top];
  if (!std::isfinite(m)) return in[top];
  double rest = 0;
  for (int64_t i = 0; i < cols; ++i)
    if (i != top) rest += std::exp(in[i] - m);
  return static_cast<float>(m + std::log1p(rest));
}

warpcheck_status run(warpcheck_call* call) {
  return candidate::answer(call, [&] {
    const matrix<float> x = candidate::input<float>(call, 0, 2);
    const matrix<float> y = candidate::output<float>(call, 0, 1);
    candidate::require(y.cols == x.rows, "y must have an element for each row");
    candidate::require_disjoint(x, y);
    for (int64_t r = 0; r < x.rows; ++r) y.data[r] = logsumexp(x.row(r), x.cols);
  });
}

}  // namespace

extern "C" const warpcheck_candidate* warpcheck_candidate_get(uint32_t abi_version) {
  return candidate::table<run>(abi_version, "logsumexp");
}
