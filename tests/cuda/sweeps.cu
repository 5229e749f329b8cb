#include "tests/cuda/sweeps.hpp"

#include <cmath>
#include <cstring>

#include "kernels/gru/sequence.hpp"
#include "kernels/primitives/reduce.hpp"
#include "kernels/sigmoid/sigmoid.hpp"
#include "kernels/softmax/arithmetic.hpp"
#include "tests/cuda/gpu_array.hpp"

namespace warpcheck::self {
namespace {

constexpr unsigned k_blocks = 132 * 16;
constexpr unsigned k_threads = 256;
constexpr uint64_t k_patterns = uint64_t{1} << 32;

constexpr double k_unit = 0x1p-24;
constexpr double k_eta = 0x1p-149;
constexpr double k_ln2_high = 0x1.62e42fefap-1;  // 36 significant bits, so that small multiples are exact
constexpr double k_ln2_low = 0x1.cf79abc9e3b39p-40;

// e^x for -700 <= x <= 700, with a relative error below 2^-50. Of each step, relative to the result: the argument r is
// x - k ln 2 with two roundings of a number below 0.35, 2^-53; the remainder of the series r^14/14! e^r, 2^-57; the
// rounding of a coefficient, 2^-55 for all; Horner's rule, whose last step errs by 2^-53 and the ones before by less
// than 2^-53 together, since each is multiplied by r. Scaling is exact: k is above -1022.
__device__ double exact_exp(double x) {
  const double k = rint(x * 1.4426950408889634);
  const double r = fma(-k, k_ln2_low, fma(-k, k_ln2_high, x));
  double p = 1.0 / 6227020800.0;  // 13!
  const double coefficients[] = {1.0 / 479001600.0,
                                 1.0 / 39916800.0,
                                 1.0 / 3628800.0,
                                 1.0 / 362880.0,
                                 1.0 / 40320.0,
                                 1.0 / 5040.0,
                                 1.0 / 720.0,
                                 1.0 / 120.0,
                                 1.0 / 24.0,
                                 1.0 / 6.0,
                                 0.5,
                                 1.0,
                                 1.0};
#pragma unroll
  for (double c : coefficients) p = fma(p, r, c);
  return scalbn(p, static_cast<int>(k));
}

// ln(1 + x) for finite x > -1, a value of f32, with a relative error below 2^-48. 1 + x is high + low without error.
// With m = (high + low) / 2^k in [0.7, 1.42], f = m - 1 and s = f / (2 + f): ln m = 2 (s + s^3/3 + s^5/5 + ...), whose
// terms from s^25 on are below 2^-64 of it; f, s, z and the polynomial err by 2^-53 a few times. k ln 2 has the sign of
// the larger part, and what is left of it after adding ln m is at least half of it.
__device__ double exact_log1p(double x) {
  if (fabs(x) < 0x1p-12) return x * (1 - x * (0.5 - x * (1.0 / 3 - x * (0.25 - x * 0.2))));
  const double high = 1 + x;
  const double part = high - 1;
  const double low = (1 - (high - part)) + (x - part);
  int k = 0;
  double m = frexp(high, &k);  // in [0.5, 1)
  if (m < 0.70710678118654752) {
    m *= 2;
    --k;
  }
  const double f = (m - 1) + scalbn(low, -k);
  const double s = f / (2 + f);
  const double z = s * s;
  double p = 1.0 / 23;
#pragma unroll
  for (int i = 21; i >= 3; i -= 2) p = fma(p, z, 1.0 / i);
  const double ln_m = 2 * fma(s * z, p, s);
  return k * k_ln2_high + (k * k_ln2_low + ln_m);
}

// A float that is not below the error, above the bits of its argument: the larger of two such words has the larger
// error.
__device__ uint64_t word_of(double error, uint32_t bits) {
  return uint64_t{__float_as_uint(__double2float_ru(error))} << 32 | bits;
}

worst_argument argument_of(uint64_t word) {
  worst_argument worst;
  const auto error = static_cast<uint32_t>(word >> 32);
  static_assert(sizeof worst.error == sizeof error);
  std::memcpy(&worst.error, &error, sizeof error);
  worst.bits = static_cast<uint32_t>(word);
  return worst;
}

// Calls visit(bits, worst, wrong) for every pattern: worst are Count words of the thread, wrong a count. The largest
// words and the sum of the counts come to `result`, of Count + 1 elements.
template <int Count, class Visit>
__device__ void for_every_pattern(unsigned long long* result, Visit&& visit) {
  unsigned long long worst[Count] = {};
  unsigned long long wrong = 0;
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < k_patterns;
       i += uint64_t{gridDim.x} * blockDim.x)
    visit(static_cast<uint32_t>(i), worst, wrong);
  for (int c = 0; c < Count; ++c) atomicMax(&result[c], worst[c]);
  atomicAdd(&result[Count], wrong);
}

__device__ void take(unsigned long long& worst, double error, uint32_t bits) {
  const unsigned long long word = word_of(error, bits);
  if (word > worst) worst = word;
}

template <exp_function Which>
__global__ void judge_exp(unsigned long long* result) {
  for_every_pattern<3>(result, [](uint32_t bits, unsigned long long* worst, unsigned long long& wrong) {
    const float x = __uint_as_float(bits);
    if (Which == exp_function::squared && x > 0) return;
    const float actual = Which == exp_function::accurate ? expf(x)
                         : Which == exp_function::fast   ? __expf(x)
                                                         : squared_exp(x);
    if (isnan(x) || isinf(x) || x == 0) {
      const bool right = isnan(x) ? isnan(actual) : actual == (x == 0 ? 1.0f : x > 0 ? INFINITY : 0.0f);
      wrong += right ? 0 : 1;
      return;
    }
    const double exact = exact_exp(fmin(fmax(static_cast<double>(x), -700.0), 700.0));
    // 2^128 less half a spacing rounds to infinity; a few units beside it either answer is right.
    constexpr double k_beyond = 0x1.ffffffp127;
    if (isinf(actual) || isnan(actual) || exact > k_beyond * (1 + 5 * k_unit)) {
      wrong += isinf(actual) && exact > k_beyond * (1 - 5 * k_unit) ? 0 : 1;
    } else if (exact >= 0x1p-126) {
      take(worst[x > 0], fabs(actual - exact) / exact / k_unit, bits);
    } else {
      const double relative = Which == exp_function::squared ? 15 * k_unit * exact : 0;
      take(worst[2], fmax(fabs(actual - exact) - relative, 0.0) / k_eta, bits);
    }
  });
}

// Nudge: floats by which results are moved first.
template <int Nudge>
__global__ void judge_quick_exp(unsigned long long* result) {
  for_every_pattern<2>(result, [](uint32_t bits, unsigned long long* worst, unsigned long long& wrong) {
    const float x = __uint_as_float(bits);
    if (x > 0) return;
    float actual = quick_exp(x);
    if (isnan(x) || isinf(x) || x == 0) {
      const bool right = isnan(x) ? isnan(actual) : actual == (x == 0 ? 1.0f : 0.0f);
      wrong += right ? 0 : 1;
      return;
    }
    const double size = -static_cast<double>(x), exact = exact_exp(-fmin(size, 700.0));
    if (actual > 0) actual = __uint_as_float(__float_as_uint(actual) + Nudge);
    if (actual > 0)
      take(worst[0], fabs(actual - exact) / exact / k_unit / (4 + 1.23 * size), bits);
    else
      take(worst[1], isnan(actual) ? HUGE_VAL : exact, bits);
  });
}

template <log1p_function Which>
__global__ void judge_log1p(unsigned long long* result) {
  for_every_pattern<3>(result, [](uint32_t bits, unsigned long long* worst, unsigned long long& wrong) {
    const float x = __uint_as_float(bits);
    const float actual = Which == log1p_function::accurate ? log1pf(x) : logf(1 + x);
    if (isnan(x) || isinf(x) || x == 0 || x <= -1) {
      const bool right = isnan(x) || x < -1 ? isnan(actual) : actual == (x == -1 ? -INFINITY : x);
      wrong += right ? 0 : 1;
      return;
    }
    const double exact = exact_log1p(x);
    if (isnan(actual) || isinf(actual)) {
      ++wrong;
    } else if (fabsf(x) < 0x1p-126f) {
      take(worst[2], fabs(actual - exact) / k_eta, bits);
    } else {
      take(worst[x < 0], fabs(actual - exact) / fabs(exact) / k_unit, bits);
    }
  });
}

constexpr unsigned k_chunk = 1u << 28;  // elements of a call of sigmoid
constexpr unsigned k_listed = 1u << 12;
constexpr unsigned k_stride = 1u << 12;  // between elements of the sample

__global__ void fill_patterns(float* x, uint32_t first) {
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < k_chunk; i += uint64_t{gridDim.x} * blockDim.x)
    x[i] = __uint_as_float(first + static_cast<uint32_t>(i));
}

// The exact y has a relative error below 2^-48 here, the bound one below 2^-40.
__device__ double sigmoid_error_ratio(float x, float actual) {
  const double size = fmin(fabs(static_cast<double>(x)), 700.0);
  const double e = exact_exp(-size);
  const double smaller = e / (1 + e);
  const double larger = 1 / (1 + e);
  const double y = x > 0 ? larger : smaller;
  const double rest = x > 0 ? smaller : larger;
  constexpr double k_exp_error = 5 * k_unit;
  constexpr double k_gamma = 2 * k_unit / (1 - 2 * k_unit);
  const double w = k_gamma * fmin(size, 104.0);
  const double t = k_exp_error + (1 + k_exp_error) * (w + w * w / 2 + w * w * w / 6);
  constexpr double k_quotient = 2 * k_unit / (1 - k_unit);
  const double spread = rest * t / (1 - t);
  const double bound = y * (k_quotient + spread + k_quotient * spread) + 4 * k_eta;
  return (fabs(actual - y) + y * 0x1p-48) / bound;
}

struct sigmoid_results {
  unsigned long long worst, wrong, undecided;
  sigmoid_errors::element listed[k_listed];
};

__global__ void judge_sigmoid(const float* x, const float* y, int nudge, sigmoid_results* results,
                              sigmoid_errors::element* sample) {
  unsigned long long worst = 0;
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < k_chunk;
       i += uint64_t{gridDim.x} * blockDim.x) {
    float actual = y[i];
    if (nudge != 0 && actual > 0 && actual < 0.9f)
      actual = __uint_as_float(__float_as_uint(actual) + static_cast<uint32_t>(nudge));
    if (i % k_stride == 0) sample[i / k_stride] = {x[i], actual};
    if (isnan(x[i]) || isinf(x[i]) || x[i] == 0) {
      const bool right = isnan(x[i]) ? isnan(actual) : actual == (x[i] == 0 ? 0.5f : x[i] > 0 ? 1.0f : 0.0f);
      if (!right) atomicAdd(&results->wrong, 1ull);
      continue;
    }
    const double ratio = isnan(actual) ? HUGE_VAL : sigmoid_error_ratio(x[i], actual);
    take(worst, ratio, __float_as_uint(x[i]));
    // What lies this close to the bound, or beyond it, is for exact arithmetic.
    if (ratio <= 1 - 0x1p-20) continue;
    const unsigned long long place = atomicAdd(&results->undecided, 1ull);
    if (place < k_listed) results->listed[place] = {x[i], actual};
  }
  atomicMax(&results->worst, worst);
}

__device__ double part_of_gate_bound(double actual, double exact) {
  const double part = fabs(actual - exact) / (8 * k_unit * fabs(exact) + 0x1p-126);
  return isnan(part) || fabs(actual) > 1 ? HUGE_VAL : part;
}

__global__ void judge_gates(unsigned long long* result) {
  for_every_pattern<2>(result, [](uint32_t bits, unsigned long long* worst, unsigned long long& wrong) {
    const float a = __uint_as_float(bits), logistic = gru_logistic(a), tangent = gru_tanh(a);
    if (isnan(a)) {
      wrong += isnan(logistic) && isnan(tangent) ? 0 : 1;
      return;
    }
    const double x = a, of_logistic = part_of_gate_bound(logistic, 1 / (1 + exp(-x)));
    const double of_tangent = part_of_gate_bound(tangent, tanh(x));
    take(worst[0], of_logistic, bits);
    take(worst[1], of_tangent, bits);
    const bool right = of_logistic <= 1 && of_tangent <= 1 && logistic >= 0 && (a > -104 || logistic == 0) &&
                       (a < 18 || logistic == 1) && (a != 0 || logistic == 0.5f) &&
                       __float_as_uint(gru_tanh(-a)) == (__float_as_uint(tangent) ^ 0x80000000u);
    wrong += right ? 0 : 1;
  });
}

std::vector<unsigned long long> run(void (*kernel)(unsigned long long*), size_t words) {
  const gpu_array<unsigned long long> result(words);
  result.fill_bytes(0);
  kernel<<<k_blocks, k_threads>>>(result.data());
  require(cudaGetLastError(), "a sweep");
  return result.read();
}

}  // namespace

exp_errors sweep_exp(exp_function which) {
  const auto words = run(which == exp_function::accurate ? judge_exp<exp_function::accurate>
                         : which == exp_function::fast   ? judge_exp<exp_function::fast>
                                                         : judge_exp<exp_function::squared>,
                         4);
  return {argument_of(words[0]), argument_of(words[1]), argument_of(words[2]), words[3]};
}

quick_exp_errors sweep_quick_exp(bool moved) {
  const auto words = run(moved ? judge_quick_exp<4> : judge_quick_exp<0>, 3);
  return {argument_of(words[0]), argument_of(words[1]), words[2]};
}

log1p_errors sweep_log1p(log1p_function which) {
  const auto words = run(
      which == log1p_function::accurate ? judge_log1p<log1p_function::accurate> : judge_log1p<log1p_function::naive>,
      4);
  return {argument_of(words[0]), argument_of(words[1]), argument_of(words[2]), words[3]};
}

gate_errors sweep_gates() {
  const auto words = run(judge_gates, 3);
  return {argument_of(words[0]), argument_of(words[1]), words[2]};
}

sigmoid_errors sweep_sigmoid(int nudge) {
  const gpu_array<float> x(k_chunk), y(k_chunk);
  const gpu_array<sigmoid_results> results(1);
  const gpu_array<sigmoid_errors::element> sample(k_chunk / k_stride);
  results.fill_bytes(0);
  sigmoid_errors errors;
  for (uint64_t first = 0; first < k_patterns; first += k_chunk) {
    fill_patterns<<<k_blocks, k_threads>>>(x.data(), static_cast<uint32_t>(first));
    sigmoid(x.data(), y.data(), k_chunk, 0.0f, 1.0f, nullptr);
    judge_sigmoid<<<k_blocks, k_threads>>>(x.data(), y.data(), nudge, results.data(), sample.data());
    require(cudaGetLastError(), "a sweep");
    const auto part = sample.read();
    errors.sample.insert(errors.sample.end(), part.begin(), part.end());
  }
  const sigmoid_results all = results.read()[0];
  errors.error_ratio = argument_of(all.worst);
  errors.wrong_special = all.wrong;
  errors.undecided_count = all.undecided;
  errors.undecided.assign(all.listed, all.listed + (all.undecided < k_listed ? all.undecided : k_listed));
  return errors;
}

}  // namespace warpcheck::self
