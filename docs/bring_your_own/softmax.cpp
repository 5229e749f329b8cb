// A candidate library in plain C++: a softmax for the CPU behind the C ABI of abi/candidate.h.
//   c++ -std=c++17 -O2 -ffp-contract=off -shared -fPIC -I<warpcheck> softmax.cpp -o libmine.so
//   warpcheck verify softmax --candidate ./libmine.so --device cpu
#include <cmath>
#include <cstdint>

#include "call.hpp"

namespace {

using candidate::matrix;

// kernels/softmax/softmax.hpp is the contract. The sum is in double, so that its error is far below the bound.
void softmax(const float* in, float* out, int64_t cols) {
  float m = -INFINITY;
  for (int64_t i = 0; i < cols; ++i) m = in[i] > m || in[i] != in[i] ? in[i] : m;
  double sum = 0;
  for (int64_t i = 0; i < cols; ++i) sum += std::exp(in[i] - m);
  for (int64_t i = 0; i < cols; ++i) out[i] = static_cast<float>(std::exp(in[i] - m) / sum);
}

warpcheck_status run(warpcheck_call* call) {
  return candidate::answer(call, [&] {
    const matrix<float> x = candidate::input<float>(call, 0, 2), y = candidate::output<float>(call, 0, 2);
    candidate::require(y.rows == x.rows && y.cols == x.cols, "y must have the shape of x");
    if (x.data != y.data || x.ld != y.ld) candidate::require_disjoint(x, y);
    if (call->num_outputs > 1 && call->outputs[1]) {
      const matrix<int64_t> index = candidate::output<int64_t>(call, 1, 1);
      candidate::require_disjoint(index, x);
      candidate::require_disjoint(index, y);
      candidate::offer(false, "this candidate has no argmax");
    }
    for (int64_t r = 0; r < x.rows; ++r) softmax(x.row(r), y.row(r), x.cols);
  });
}

}  // namespace

extern "C" const warpcheck_candidate* warpcheck_candidate_get(uint32_t abi_version) {
  return candidate::table<run>(abi_version, "softmax");
}
