// A candidate library in plain C++: the matrix product for the CPU behind the C ABI of abi/candidate.h, in f32.
//   c++ -std=c++17 -O2 -ffp-contract=off -shared -fPIC -I<warpcheck> matmul.cpp -o libmine.so
//   warpcheck verify matmul --candidate ./libmine.so --device cpu
// Sums are in double, more accurate than any mode requires. The library does not state `plan`, so `ieee-bits` and
// `thin-bits`, which need the order of our sums, are not asked.
#include <cmath>
#include <cstdint>

#include "call.hpp"

namespace {

using candidate::matrix;

// kernels/matmul/matmul.hpp is the contract.
struct product {
  matrix<float> a, b, c;
  const float* bias;  // of each column, or null
  bool ta, tb, sigmoid;
  float alpha, beta, mu, sigma;

  int64_t k() const { return ta ? a.rows : a.cols; }
  // If alpha is 0, the sum has no products: neither a nor b is read.
  double sum(int64_t i, int64_t j) const {
    double all = 0;
    for (int64_t l = 0; l < k() && alpha != 0; ++l)
      all += double{ta ? a.row(l)[i] : a.row(i)[l]} * double{tb ? b.row(j)[l] : b.row(l)[j]};
    return all;
  }
  float value(int64_t i, int64_t j) const {
    double v = double{alpha} * sum(i, j);
    if (beta != 0) v += double{beta} * double{c.row(i)[j]};
    if (bias) v += double{bias[j]};
    return static_cast<float>(sigmoid ? 1 / (1 + std::exp(-(v - double{mu}) * double{sigma})) : v);
  }
};

bool code(const warpcheck_call* call, const char* name, double most) {
  const double value = candidate::scalar(call, name);
  candidate::require(value >= 0 && value <= most && value == std::floor(value), "a scalar is none of its codes");
  return value == 1;
}

// c_in is c if beta is non-zero, and has no elements otherwise.
void check_before(const warpcheck_call* call, const product& p) {
  const matrix<float> before = candidate::input<float>(call, 2, 2);
  if (p.beta == 0 || p.c.empty()) return candidate::require(before.empty(), "c_in must have no elements");
  candidate::require(before.data == p.c.data && before.rows == p.c.rows && before.cols == p.c.cols &&
                         (p.c.rows == 1 || before.ld == p.c.ld),
                     "c_in must be c");
}

// The contract has no call in which b has another type than a, or bias another than f32.
void check_types(const warpcheck_call* call) {
  candidate::require(call->num_inputs == 4, "a call has four inputs");
  const DLDataType a = call->inputs[0]->dtype, b = call->inputs[1]->dtype, bias = call->inputs[3]->dtype;
  candidate::require(a.code == b.code && a.bits == b.bits, "b must have the element type of a");
  candidate::require(bias.code == kDLFloat && bias.bits == 32, "bias must be f32");
}

warpcheck_status run(warpcheck_call* call) {
  return candidate::answer(call, [&] {
    check_types(call);
    product p = {};
    p.ta = code(call, "ta", 1);
    p.tb = code(call, "tb", 1);
    p.sigmoid = code(call, "sigmoid", 1);
    code(call, "mode", 2);  // double serves all three
    code(call, "rows_alone", 1);
    p.alpha = static_cast<float>(candidate::scalar(call, "alpha"));
    p.beta = static_cast<float>(candidate::scalar(call, "beta"));
    p.mu = static_cast<float>(candidate::scalar(call, "mu"));
    p.sigma = static_cast<float>(candidate::scalar(call, "sigma"));
    p.a = candidate::input<float>(call, 0, 2);
    p.b = candidate::input<float>(call, 1, 2);
    p.c = candidate::output<float>(call, 0, 2);
    const matrix<float> bias = candidate::input<float>(call, 3, 1);
    candidate::require(p.c.rows == (p.ta ? p.a.cols : p.a.rows), "c must have a row for each of op(A)");
    candidate::require(p.c.cols == (p.tb ? p.b.rows : p.b.cols), "c must have a column for each of op(B)");
    candidate::require(p.k() == (p.tb ? p.b.cols : p.b.rows), "op(B) must have a row for each column of op(A)");
    candidate::require(bias.cols == 0 || bias.cols == p.c.cols, "bias must have an element for each column, or none");
    check_before(call, p);
    candidate::require_disjoint(p.a, p.c);
    candidate::require_disjoint(p.b, p.c);
    candidate::require_disjoint(bias, p.c);
    p.bias = bias.empty() ? nullptr : bias.data;
    for (int64_t i = 0; i < p.c.rows; ++i)
      for (int64_t j = 0; j < p.c.cols; ++j) p.c.row(i)[j] = p.value(i, j);
  });
}

}  // namespace

extern "C" const warpcheck_candidate* warpcheck_candidate_get(uint32_t abi_version) {
  static constexpr const char* k_extents[] = {"m", "n", "k"};
  return candidate::table<run>(abi_version, "matmul", k_extents);
}
