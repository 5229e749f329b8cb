// A candidate library in plain C++: a sigmoid for the CPU behind the C ABI of abi/candidate.h.
//   c++ -std=c++17 -O2 -ffp-contract=off -shared -fPIC -I<warpcheck> sigmoid.cpp -o libmine.so
//   warpcheck verify sigmoid --candidate ./libmine.so --device cpu
#include <cmath>
#include <cstdint>

#include "call.hpp"

namespace {

using candidate::matrix;

// kernels/sigmoid/sigmoid.hpp is the contract: the difference is rounded to f32, so that it may become infinite.
float sigmoid(float x, float mu, float sigma) {
  const float shifted = x - mu;
  const double z = static_cast<double>(shifted) * sigma;
  return static_cast<float>(1 / (1 + std::exp(-z)));
}

warpcheck_status run(warpcheck_call* call) {
  return candidate::answer(call, [&] {
    const matrix<float> x = candidate::input<float>(call, 0, 1), y = candidate::output<float>(call, 0, 1);
    candidate::require(y.cols == x.cols, "y must have the length of x");
    if (x.data != y.data) candidate::require_disjoint(x, y);
    const auto mu = static_cast<float>(candidate::scalar(call, "mu"));
    const auto sigma = static_cast<float>(candidate::scalar(call, "sigma"));
    for (int64_t i = 0; i < x.cols; ++i) y.data[i] = sigmoid(x.data[i], mu, sigma);
  });
}

}  // namespace

extern "C" const warpcheck_candidate* warpcheck_candidate_get(uint32_t abi_version) {
  return candidate::table<run>(abi_version, "sigmoid");
}
