// A candidate library in plain C++: an argmax for the CPU behind the C ABI of abi/candidate.h.
//   c++ -std=c++17 -O2 -ffp-contract=off -shared -fPIC -I<warpcheck> argmax.cpp -o libmine.so
//   warpcheck verify argmax --candidate ./libmine.so --device cpu
#include <cstdint>

#include "call.hpp"

namespace {

using candidate::matrix;

// kernels/argmax/argmax.hpp is the contract: the first NaN, else the first of the largest.
int64_t argmax(const float* in, int64_t cols) {
  int64_t best = cols > 0 ? 0 : -1;
  for (int64_t i = 0; i < cols; ++i) {
    if (in[i] != in[i]) return i;
    if (in[i] > in[best]) best = i;
  }
  return best;
}

warpcheck_status run(warpcheck_call* call) {
  return candidate::answer(call, [&] {
    const matrix<float> x = candidate::input<float>(call, 0, 2);
    const matrix<int64_t> index = candidate::output<int64_t>(call, 0, 1);
    candidate::require(index.cols == x.rows, "index must have an element for each row");
    candidate::require_disjoint(x, index);
    for (int64_t r = 0; r < x.rows; ++r) index.data[r] = argmax(x.row(r), x.cols);
  });
}

}  // namespace

extern "C" const warpcheck_candidate* warpcheck_candidate_get(uint32_t abi_version) {
  return candidate::table<run>(abi_version, "argmax");
}
