// Calls of the matrix product on the emulated device: operands between guards, gaps of NaN between rows, and the
// reference's answer for every element.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/matmul/matmul.hpp"
#include "reference/matmul.hpp"
#include "simt/emulated_memory.hpp"
#include "simt/emulation.hpp"

namespace warpcheck::self {

// A matrix of exactly its size on the device; what lies between rows is a NaN of all bits.
template <class T = float>
class device_matrix {
 public:
  // values: row after row without gaps, or empty for NaN everywhere. offset: elements past a multiple of 256 bytes.
  device_matrix(const std::vector<float>& values, int64_t rows, int64_t cols, int64_t gap, int64_t offset)
      : rows_(rows), cols_(cols), ld_(cols + gap), elements_(rows > 0 ? (rows - 1) * ld_ + cols : 0) {
    data_ = static_cast<T*>(simt::device_alloc(bytes(), static_cast<size_t>(offset) * sizeof(T), sizeof(T)));
    for (int64_t i = 0; i < elements_; ++i) std::memset(static_cast<void*>(data_ + i), 0xff, sizeof(T));
    for (int64_t r = 0; r < rows && !values.empty(); ++r)
      for (int64_t c = 0; c < cols; ++c)
        data_[r * ld_ + c] = simt::from_float<T>(values[static_cast<size_t>(r * cols + c)]);
    before_.assign(data_, data_ + elements_);
  }
  ~device_matrix() { simt::device_free(data_); }
  device_matrix(const device_matrix&) = delete;
  device_matrix& operator=(const device_matrix&) = delete;

  T* data() const { return data_; }
  int64_t ld() const { return ld_; }
  size_t bytes() const { return static_cast<size_t>(elements_) * sizeof(T); }

  std::vector<float> values() const {
    std::vector<float> result;
    for (int64_t r = 0; r < rows_; ++r)
      for (int64_t c = 0; c < cols_; ++c) result.push_back(simt::to_float(data_[r * ld_ + c]));
    return result;
  }
  // Neither what lies around it nor its gaps were written; nor, of an input, anything.
  bool intact(bool is_input) const {
    if (simt::device_check(data_) != INT64_MIN) return false;
    for (int64_t i = 0; i < elements_; ++i)
      if ((is_input || i % ld_ >= cols_) && std::memcmp(data_ + i, &before_[static_cast<size_t>(i)], sizeof(T)) != 0)
        return false;
    return true;
  }

 private:
  int64_t rows_, cols_, ld_, elements_;
  T* data_;
  std::vector<T> before_;
};

// Types of A and B, and of C.
enum class types : uint8_t { f32, f16, f16_to_f32, bf16, bf16_to_f32 };

// run(T{}, TC{}).
template <class Run>
auto with_types(types t, Run&& run) {
  switch (t) {
    case types::f16: return run(simt::f16{}, simt::f16{});
    case types::f16_to_f32: return run(simt::f16{}, 0.0f);
    case types::bf16: return run(simt::bf16{}, simt::bf16{});
    case types::bf16_to_f32: return run(simt::bf16{}, 0.0f);
    default: return run(0.0f, 0.0f);
  }
}

struct problem {
  bool ta = false, tb = false;
  int64_t m = 0, n = 0, k = 0;
  float alpha = 1, beta = 0;
  self::types types = self::types::f32;
  std::vector<float> a, b, c, bias;  // as stored, values of their types; empty: c NaN, no bias
  bool sigmoid = false;
  float mu = 0, sigma = 1;
  int64_t gap_a = 0, gap_b = 0, gap_c = 0, offset = 0;
  matmul_options options;
  matmul_variant variant = matmul_variant::automatic;
  uint32_t work_pattern = 0x7fc00000;
  std::string schedule = "fair";
  unsigned sm_arch = 90;

  matmul_slices plan() const {
    return with_types(types, [&](auto t, auto tc) { return matmul_plan<decltype(t), decltype(tc)>(options, m, n, k); });
  }
  float op_a(int64_t i, int64_t l) const { return a[static_cast<size_t>(ta ? l * m + i : i * k + l)]; }
  float op_b(int64_t l, int64_t j) const { return b[static_cast<size_t>(tb ? j * k + l : l * n + j)]; }
  std::string text() const {
    const auto number = [](int64_t x) { return std::to_string(x); };
    return "types " + number(static_cast<int>(types)) + ", mode " + number(static_cast<int>(options.mode)) + ", " +
           number(m) + " x " + number(n) + " x " + number(k) + (ta ? " T" : " N") + (tb ? "T" : "N") + ", variant " +
           number(static_cast<int>(variant)) + ", slices " + number(plan().count) + ", gaps " + number(gap_a) + ' ' +
           number(gap_b) + ' ' + number(gap_c) + ", offset " + number(offset) + ", " + schedule;
  }
};

inline std::vector<float> random_values(int64_t n, std::mt19937_64& random, float size = 2) {
  std::vector<float> x(static_cast<size_t>(n));
  for (float& v : x) v = std::uniform_real_distribution<float>(-size, size)(random);
  return x;
}

inline problem random_problem(int64_t m, int64_t n, int64_t k, std::mt19937_64& random, int layout = 0) {
  problem p;
  p.m = m, p.n = n, p.k = k;
  p.ta = (layout & 1) != 0, p.tb = (layout & 2) != 0;
  p.a = random_values(m * k, random);
  p.b = random_values(k * n, random);
  return p;
}

// As the types hold them: A and B, and C before the call.
inline void round_operands(problem& p) {
  with_types(p.types, [&](auto t, auto tc) {
    for (auto* x : {&p.a, &p.b})
      for (float& v : *x) v = simt::to_float(simt::from_float<decltype(t)>(v));
    for (float& v : p.c) v = simt::to_float(simt::from_float<decltype(tc)>(v));
  });
}

struct answer {
  std::vector<float> c;
  matmul_variant variant = matmul_variant::automatic;
  bool intact = false;
};

template <class T, class TC>
answer run_typed(const problem& p) {
  const device_matrix<T> a(p.a, p.ta ? p.k : p.m, p.ta ? p.m : p.k, p.gap_a, p.offset);
  const device_matrix<T> b(p.b, p.tb ? p.n : p.k, p.tb ? p.k : p.n, p.gap_b, p.offset);
  const device_matrix<TC> c(p.c, p.m, p.n, p.gap_c, p.offset);
  // What nobody wrote must not be read: the race flavour sees it.
  if (p.c.empty()) simt::mark_uninitialized(c.data(), c.bytes());
  const device_matrix<> bias(p.bias, 1, p.bias.empty() ? 0 : p.n, 0, p.offset);
  const int64_t bytes = matmul_work_bytes<T, TC>(p.options, p.m, p.n, p.k);
  const device_matrix<> work(std::vector<float>(static_cast<size_t>(bytes / 4), std::bit_cast<float>(p.work_pattern)),
                             1, bytes / 4, 0, 0);
  simt::mark_uninitialized(work.data(), work.bytes());
  perceptron epilogue;
  if (!p.bias.empty()) epilogue.bias = bias.data();
  epilogue.sigmoid = p.sigmoid;
  epilogue.mu = p.mu;
  epilogue.sigma = p.sigma;
  simt::emulation stream;
  stream.schedule = simt::schedule::parse(p.schedule);
  stream.sm_arch = p.sm_arch;
  answer result;
  result.variant = matmul_with<T, TC>(p.variant, p.ta ? trans::yes : trans::none, p.tb ? trans::yes : trans::none, p.m,
                                      p.n, p.k, p.alpha, a.data(), a.ld(), b.data(), b.ld(), p.beta, c.data(), c.ld(),
                                      epilogue, p.options, work.data(), bytes, &stream);
  result.c = c.values();
  result.intact = a.intact(true) && b.intact(true) && bias.intact(true) && c.intact(false) && work.intact(false);
  return result;
}

// Throws what the call throws: on the emulated device also findings.
inline answer run(const problem& p) {
  return with_types(p.types, [&](auto t, auto tc) { return run_typed<decltype(t), decltype(tc)>(p); });
}

inline reference::dot_arithmetic arithmetic_of(const problem& p) {
  switch (p.types) {
    case types::f16:
    case types::f16_to_f32: return reference::dot_arithmetic::f16;
    case types::bf16:
    case types::bf16_to_f32: return reference::dot_arithmetic::bf16;
    default: break;
  }
  switch (p.options.mode) {
    case matmul_mode::ieee: return reference::dot_arithmetic::ieee;
    case matmul_mode::tf32x3: return reference::dot_arithmetic::tf32x3;
    case matmul_mode::tf32x1: return reference::dot_arithmetic::tf32x1;
    case matmul_mode::bf16x1: return reference::dot_arithmetic::bf16x1;
    default: return reference::dot_arithmetic::bf16x6;
  }
}

inline reference::matmul_setting setting_of(const problem& p) {
  reference::matmul_setting s;
  const matmul_slices plan = p.plan();
  s.arithmetic = arithmetic_of(p);
  s.output = p.types == types::f16 ? dtype::f16 : p.types == types::bf16 ? dtype::bf16 : dtype::f32;
  s.halves = p.sm_arch < 90;
  s.slices = {plan.count, plan.length};
  s.alpha = static_cast<double>(p.alpha);
  s.beta = static_cast<double>(p.beta);
  s.has_bias = !p.bias.empty();
  s.sigmoid = p.sigmoid;
  s.mu = static_cast<double>(p.mu);
  s.sigma = static_cast<double>(p.sigma);
  return s;
}

// judge(element's index, operands) for every element of C, or for those of row `only` alone.
template <class Judge>
void for_each_element(const problem& p, Judge&& judge) {
  std::vector<std::vector<double>> columns(static_cast<size_t>(p.n), std::vector<double>(static_cast<size_t>(p.k)));
  for (int64_t l = 0; l < p.k; ++l)
    for (int64_t j = 0; j < p.n; ++j)
      columns[static_cast<size_t>(j)][static_cast<size_t>(l)] = static_cast<double>(p.op_b(l, j));
  std::vector<double> row(static_cast<size_t>(p.k));
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t l = 0; l < p.k; ++l) row[static_cast<size_t>(l)] = static_cast<double>(p.op_a(i, l));
    for (int64_t j = 0; j < p.n; ++j) {
      reference::matmul_operands operands{row, columns[static_cast<size_t>(j)]};
      const auto at = static_cast<size_t>(i * p.n + j);
      operands.c = p.c.empty() ? std::nan("") : static_cast<double>(p.c[at]);
      if (!p.bias.empty()) operands.bias = static_cast<double>(p.bias[static_cast<size_t>(j)]);
      judge(at, operands);
    }
  }
}

inline bool same_bits(float x, float y) {
  return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y) || (std::isnan(x) && std::isnan(y));
}
inline int64_t different(const std::vector<float>& x, const std::vector<float>& y) {
  int64_t count = x.size() != y.size();
  for (size_t i = 0; i < x.size() && i < y.size(); ++i) count += !same_bits(x[i], y[i]);
  return count;
}

// The largest part of its bound that an element of c uses; above 1, or infinite where one is refused otherwise.
inline double worst_error_ratio(const problem& p, const std::vector<float>& c) {
  double worst = static_cast<int64_t>(c.size()) == p.m * p.n ? 0 : INFINITY;
  const reference::matmul_setting s = setting_of(p);
  for_each_element(p, [&](size_t at, const reference::matmul_operands& operands) {
    const auto verdict = reference::matmul_element(s, operands).judge(static_cast<double>(c[at]));
    worst = std::max(worst, verdict.accepted ? verdict.budget() : INFINITY);
  });
  return worst;
}

// How many elements differ from the chains of the plan; without a sigmoid.
inline int64_t wrong_bits(const problem& p, const std::vector<float>& c) {
  int64_t wrong = static_cast<int64_t>(c.size()) != p.m * p.n;
  const reference::matmul_setting s = setting_of(p);
  for_each_element(p, [&](size_t at, const reference::matmul_operands& operands) {
    wrong += !same_bits(c[at], reference::ieee_value(s, operands));
  });
  return wrong;
}

}  // namespace warpcheck::self
