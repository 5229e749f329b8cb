// A candidate library in plain C++: row sums, minima and maxima for the CPU behind the C ABI of
// abi/candidate.h.
//   c++ -std=c++17 -O2 -ffp-contract=off -shared -fPIC -I<warpcheck> reduce.cpp -o libmine.so
//   warpcheck verify reduce --candidate ./libmine.so --device cpu
#include <cmath>
#include <cstdint>

#include "call.hpp"

namespace {

using candidate::matrix;

// kernels/reduce/reduce.hpp is the contract. The sum is in double, so that its error is far below the bound.
float sum(const float* in, int64_t cols) {
  double all = 0;
  for (int64_t i = 0; i < cols; ++i) all += in[i];
  return static_cast<float>(all);
}

// -0 is less than +0, and NaN wins.
bool less(float a, float b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); }

float extremum(bool greatest, const float* in, int64_t cols) {
  float best = greatest ? -INFINITY : INFINITY;
  for (int64_t i = 0; i < cols; ++i) {
    if (in[i] != in[i]) return in[i];
    if (greatest ? less(best, in[i]) : less(in[i], best)) best = in[i];
  }
  return best;
}

warpcheck_status run(warpcheck_call* call) {
  return candidate::answer(call, [&] {
    const matrix<float> x = candidate::input<float>(call, 0, 2);
    const matrix<float> y = candidate::output<float>(call, 0, 1);
    candidate::require(y.cols == x.rows, "y must have an element for each row");
    candidate::require_disjoint(x, y);
    const double op = candidate::scalar(call, "op");
    candidate::require(op == 0 || op == 1 || op == 2, "op must be 0 (sum), 1 (minimum) or 2 (maximum)");
    for (int64_t r = 0; r < x.rows; ++r)
      y.data[r] = op == 0 ? sum(x.row(r), x.cols) : extremum(op == 2, x.row(r), x.cols);
  });
}

}  // namespace

extern "C" const warpcheck_candidate* warpcheck_candidate_get(uint32_t abi_version) {
  return candidate::table<run>(abi_version, "reduce");
}
