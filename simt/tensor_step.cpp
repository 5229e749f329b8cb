// Eight columns at a time: 32-bit integers hold every aligned product, and sums of eight of them.
#include "simt/tensor_step.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "simt/error.hpp"

// A vector of 32 bytes is passed to no function.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace simt {
namespace {

using ints = int32_t __attribute__((vector_size(32)));
using four_ints = int32_t __attribute__((vector_size(16)));
using longs = int64_t __attribute__((vector_size(32)));
using doubles = double __attribute__((vector_size(32)));
using floats = float __attribute__((vector_size(16)));
constexpr int k_lanes = 8;
constexpr int k_most_rows = 64, k_most_cols = 64, k_most_depth = 32;  // of what is computed at once
constexpr int k_no_exponent = -4096;
constexpr int k_least_top = -133;  // nothing is aligned to a lesser exponent
constexpr uint32_t k_nan = 0x7fffffff;

struct format {
  int exponent_bits, fraction_bits, unused_bits;
  bool has_infinity = true;  // else only the largest of all patterns is no number
  constexpr int least_exponent() const { return 2 - (1 << (exponent_bits - 1)); }
};
constexpr format format_of(tensor_type type) {
  switch (type) {
    case tensor_type::f16: return {5, 10, 0};
    case tensor_type::bf16: return {8, 7, 0};
    case tensor_type::e4m3: return {4, 3, 0, false};
    case tensor_type::e5m2: return {5, 2, 0};
    default: return {8, 10, 13};
  }
}

// significand / 2^fraction_bits * 2^exponent; sign is 0 or -1.
struct number {
  int32_t significand, exponent, sign;
  bool is_finite;
};

number split(uint32_t bits, const format& f) {
  bits >>= f.unused_bits;
  const uint32_t fraction = bits & ((1u << f.fraction_bits) - 1);
  const uint32_t field = bits >> f.fraction_bits & ((1u << f.exponent_bits) - 1);
  number n;
  n.sign = bits >> (f.fraction_bits + f.exponent_bits) & 1 ? -1 : 0;
  n.is_finite = field != (1u << f.exponent_bits) - 1 || (!f.has_infinity && fraction + 1 != 1u << f.fraction_bits);
  n.significand = static_cast<int32_t>(field == 0 ? fraction : fraction | 1u << f.fraction_bits);
  n.exponent = n.significand == 0 ? k_no_exponent : f.least_exponent() + static_cast<int>(field) - (field == 0 ? 0 : 1);
  return n;
}

uint32_t bits_of(float x) {
  uint32_t b;
  std::memcpy(&b, &x, sizeof b);
  return b;
}
float float_of(uint32_t b) {
  float x;
  std::memcpy(&x, &b, sizeof x);
  return x;
}

// Decoded operands, as the steps of one part use them.
struct operands {
  int rows, cols, depth;
  int32_t a_significand[k_most_rows][k_most_depth];  // shifted: a product has rules.fraction_bits behind the point
  int32_t a_exponent[k_most_rows][k_most_depth], a_sign[k_most_rows][k_most_depth];
  alignas(32) int32_t b_significand[k_most_depth][k_most_cols];
  alignas(32) int32_t b_exponent[k_most_depth][k_most_cols];
  alignas(32) int32_t b_sign[k_most_depth][k_most_cols];
  bool a_is_finite[k_most_rows], b_is_finite[k_most_cols];
};

float cut_subnormal(double x, int result_bits) {
  const auto kept = static_cast<float>(std::ldexp(std::trunc(std::ldexp(x, 126 + result_bits)), -126 - result_bits));
  return kept == 0 ? 0.0f : kept;  // what vanishes has lost its sign
}

// The nearest f16, ties to even, as a float; beyond the largest one infinity.
float nearest_f16(double x) {
  if (x == 0) return 0.0f;
  const double quantum = std::ldexp(1.0, std::max(std::ilogb(x), -14) - 10);
  const double kept = std::nearbyint(x / quantum) * quantum;
  if (kept == 0) return 0.0f;  // what vanishes has lost its sign
  return std::fabs(kept) >= 65536 ? std::copysign(INFINITY, static_cast<float>(x)) : static_cast<float>(kept);
}

// The result if an operand or c is not finite: NaN and Inf by IEEE's rules.
float special(const uint32_t* a, const uint32_t* b, int depth, const format& of_a, const format& of_b, float c) {
  bool is_nan = c != c, is_inf[2] = {};
  if ((bits_of(c) & 0x7fffffffu) == 0x7f800000u) is_inf[bits_of(c) >> 31] = true;
  const int32_t one_of_a = 1 << of_a.fraction_bits, one_of_b = 1 << of_b.fraction_bits;  // significands of infinities
  for (int k = 0; k < depth; ++k) {
    const number x = split(a[k], of_a), y = split(b[k], of_b);
    if (x.is_finite && y.is_finite) continue;
    if ((!x.is_finite && x.significand != one_of_a) || (!y.is_finite && y.significand != one_of_b) ||
        x.significand == 0 || y.significand == 0)
      is_nan = true;
    else
      is_inf[x.sign != y.sign] = true;
  }
  return float_of(is_nan || (is_inf[0] && is_inf[1]) ? k_nan : is_inf[0] ? 0x7f800000u : 0xff800000u);
}

__attribute__((always_inline)) inline ints load(const int32_t* p) {
  ints v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

__attribute__((always_inline)) inline void blend(ints& to, const ints& where, const ints& from) {
  to = (from & where) | (to & ~where);
}

// Adds the products of [begin, end), aligned to `top`: at most 8, so that 32 bits hold the sum.
template <int Depth>
__attribute__((always_inline)) inline void add_products(const operands& x, int row, int col, int begin, int end,
                                                        const ints (&exponent)[Depth], const ints& top, ints& sum) {
  const ints most = ints{} + 31;
  for (int k = begin; k < end; ++k) {
    const ints product = load(&x.b_significand[k][col]) * x.a_significand[row][k];
    const ints sign = load(&x.b_sign[k][col]) ^ x.a_sign[row][k];
    ints shift = top - exponent[k];
    blend(shift, shift > most, most);
    sum += ((product >> shift) ^ sign) - sign;
  }
}

// A row of results, but for those of which an operand is not finite: the sums of eight columns at a time, exact as
// doubles, of which f32 gets the upper 24 bits.
template <int Depth, tensor_sum Sum>
__attribute__((always_inline)) inline void row_results(const operands& x, int row, const tensor_rules& rules,
                                                       const float* c, float* d) {
  const ints zero = {}, most = zero + 31;
  const int fraction_bits = rules.fraction_bits, unkept_bits = 52 - rules.result_bits;
  for (int col = 0; col < x.cols; col += k_lanes) {
    ints bits;
    std::memcpy(&bits, c + col, sizeof bits);
    const ints field = bits >> 23 & 255, sign = bits >> 31;
    ints significand = bits & 0x7fffff;
    significand |= 0x800000 & (field != zero);
    significand = fraction_bits < 23 ? significand >> (23 - fraction_bits) : significand << (fraction_bits - 23);
    ints c_exponent = field - 127;
    blend(c_exponent, field == zero, zero - 126);
    blend(c_exponent, (bits & 0x7fffffff) == zero, zero + k_no_exponent);
    ints exponent[Depth], top = zero + k_least_top;
    if constexpr (Sum == tensor_sum::f16) {
      ints field_exponent = c_exponent;
      blend(field_exponent, (c_exponent < zero - 14) & ((bits & 0x7fffffff) != zero), zero - 14);
      blend(top, field_exponent > top, field_exponent);
    } else {
      blend(top, c_exponent > top, c_exponent);
    }
    for (int k = 0; k < Depth; ++k) {
      exponent[k] = load(&x.b_exponent[k][col]) + x.a_exponent[row][k];
      blend(top, exponent[k] > top, exponent[k]);
    }
    ints sum[2] = {}, shift = top - c_exponent;  // 24 products of 8 bits are short enough for one
    blend(shift, shift > most, most);
    add_products(x, row, col, 0, Depth < 8 ? Depth : 8, exponent, top, sum[0]);
    if constexpr (Depth > 8) add_products(x, row, col, 8, Depth, exponent, top, sum[1]);
    const ints addend = ((significand >> shift) ^ sign) - sign;
    int32_t parts[3][k_lanes], tops[k_lanes];
    std::memcpy(parts[0], &sum[0], sizeof sum[0]);
    std::memcpy(parts[1], &sum[1], sizeof sum[1]);
    std::memcpy(parts[2], &addend, sizeof addend);
    std::memcpy(tops, &top, sizeof top);
    for (int i = 0; i < k_lanes; i += 4) {
      four_ints quarter[3], four_tops;
      for (int part = 0; part < 3; ++part) std::memcpy(&quarter[part], parts[part] + i, sizeof quarter[part]);
      std::memcpy(&four_tops, tops + i, sizeof four_tops);
      const doubles total = __builtin_convertvector(quarter[0], doubles) +
                            __builtin_convertvector(quarter[1], doubles) + __builtin_convertvector(quarter[2], doubles);
      const longs power = (__builtin_convertvector(four_tops, longs) + (1023 - fraction_bits)) << 52;
      const doubles value = total * reinterpret_cast<doubles>(power);
      if constexpr (Sum == tensor_sum::f16) {
        for (int lane = 0; lane < 4; ++lane) d[col + i + lane] = nearest_f16(value[lane]);
        continue;
      }
      const longs kept = reinterpret_cast<longs>(value) & ~((int64_t{1} << unkept_bits) - 1);
      const floats rounded = __builtin_convertvector(reinterpret_cast<doubles>(kept), floats);
      std::memcpy(d + col + i, &rounded, sizeof rounded);
      // Below 2^-126 fewer bits are kept.
      for (int lane = 0; lane < 4; ++lane)
        if (std::fabs(value[lane]) < 0x1p-126 && value[lane] != 0)
          d[col + i + lane] = cut_subnormal(value[lane], rules.result_bits);
    }
  }
}

template <int Depth, tensor_sum Sum>
void portable_row(const operands& x, int row, const tensor_rules& rules, const float* c, float* d) {
  row_results<Depth, Sum>(x, row, rules, c, d);
}
using row_function = void (*)(const operands&, int, const tensor_rules&, const float*, float*);
#ifdef __x86_64__
template <int Depth, tensor_sum Sum>
__attribute__((target("avx2"))) void avx2_row(const operands& x, int row, const tensor_rules& rules, const float* c,
                                              float* d) {
  row_results<Depth, Sum>(x, row, rules, c, d);
}
template <int Depth, tensor_sum Sum>
row_function row_for() {
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  return has_avx2 ? avx2_row<Depth, Sum> : portable_row<Depth, Sum>;
}
#else
template <int Depth, tensor_sum Sum>
row_function row_for() {
  return portable_row<Depth, Sum>;
}
#endif
template <tensor_sum Sum>
row_function row_of_depth(int depth) {
  switch (depth) {
    case 4: return row_for<4, Sum>();
    case 8: return row_for<8, Sum>();
    case 16: return row_for<16, Sum>();
    default: return row_for<32, Sum>();
  }
}

// At most k_most_cols columns.
void step(tensor_types types, tensor_rules rules, int rows, int cols, int stride, const uint32_t* a, const uint32_t* b,
          const float* c, float* d, tensor_sum sum) {
  const format of_a = format_of(types.a), of_b = format_of(types.b);
  const int depth = tensor_depth(types.a), share = depth / rules.parts;
  operands x;
  x.rows = rows;
  x.cols = cols;
  x.depth = share;
  for (int part = 0; part < rules.parts; ++part) {
    for (int row = 0; row < rows; ++row) {
      x.a_is_finite[row] = true;
      for (int k = 0; k < share; ++k) {
        const number n = split(a[row * depth + part * share + k], of_a);
        x.a_significand[row][k] = n.significand << (rules.fraction_bits - of_a.fraction_bits - of_b.fraction_bits);
        x.a_exponent[row][k] = n.exponent;
        x.a_sign[row][k] = n.sign;
        x.a_is_finite[row] &= n.is_finite;
      }
    }
    for (int col = 0; col < cols; ++col) {
      x.b_is_finite[col] = true;
      for (int k = 0; k < share; ++k) {
        const number n = split(b[col * depth + part * share + k], of_b);
        x.b_significand[k][col] = n.significand;
        x.b_exponent[k][col] = n.exponent;
        x.b_sign[k][col] = n.sign;
        x.b_is_finite[col] &= n.is_finite;
      }
    }
    const float* from = part == 0 ? c : d;
    const row_function row_of =
        sum == tensor_sum::f16 ? row_of_depth<tensor_sum::f16>(share) : row_of_depth<tensor_sum::f32>(share);
    for (int row = 0; row < rows; ++row) {
      float addends[k_most_cols], results[k_most_cols];
      std::memcpy(addends, from + row * stride, static_cast<size_t>(cols) * sizeof(float));
      row_of(x, row, rules, addends, results);
      for (int col = 0; col < cols; ++col)
        if (!x.a_is_finite[row] || !x.b_is_finite[col] || (bits_of(addends[col]) & 0x7f800000u) == 0x7f800000u)
          results[col] =
              special(a + row * depth + part * share, b + col * depth + part * share, share, of_a, of_b, addends[col]);
      std::memcpy(d + row * stride, results, static_cast<size_t>(cols) * sizeof(float));
    }
  }
}

}  // namespace

tensor_rules tensor_rules_of(unsigned sm_arch) {
  switch (sm_arch) {
    case 80:
    case 86:
    case 89: return {24, 2};
    case 90:
    case 100: return {25, 1};
    default: throw device_error("sm_arch is " + std::to_string(sm_arch) + ", allowed are 80, 86, 89, 90 and 100");
  }
}

void tensor_step(tensor_types types, tensor_rules rules, int rows, int cols, const uint32_t* a, const uint32_t* b,
                 const float* c, float* d, tensor_sum sum) {
  const int depth = tensor_depth(types.a);
  for (int col = 0; col < cols; col += k_most_cols)
    step(types, rules, rows, std::min(k_most_cols, cols - col), cols, a, b + col * depth, c + col, d + col, sum);
}

void tensor_step(tensor_types types, int rows, int cols, const uint32_t* a, const uint32_t* b, const int32_t* c,
                 int32_t* d, bool saturates) {
  const int depth = tensor_depth(types.a);
  const auto value = [](tensor_type type, uint32_t bits) {
    return type == tensor_type::s8 ? int32_t{static_cast<int8_t>(bits)} : int32_t{static_cast<uint8_t>(bits)};
  };
  for (int row = 0; row < rows; ++row)
    for (int col = 0; col < cols; ++col) {
      int64_t sum = c[row * cols + col];
      for (int k = 0; k < depth; ++k)
        sum += int64_t{value(types.a, a[row * depth + k])} * value(types.b, b[col * depth + k]);
      d[row * cols + col] = static_cast<int32_t>(
          saturates ? std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max())
                    : sum);
    }
}

}  // namespace simt
