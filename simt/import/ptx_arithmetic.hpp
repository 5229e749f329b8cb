// Operands and arithmetic of inline PTX (ptx_arithmetic.cpp): registers hold bits, and an instruction's type
// gives them their meaning.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "simt/import/fp8_values.hpp"
#include "simt/import/half_arithmetic.hpp"
#include "simt/import/intrinsics.hpp"

namespace simt::import::ptx {

template <size_t Bytes>
using bits_of =
    std::conditional_t<Bytes == 1, uint8_t,
                       std::conditional_t<Bytes == 2, uint16_t, std::conditional_t<Bytes == 4, uint32_t, uint64_t>>>;

// The value of an operand as a T: an integer is cut or extended, all else keeps its bits.
template <class T, class Operand>
SIMT_INLINE T get(const Operand& operand) {
  if constexpr (std::is_same_v<T, bool>) {
    return operand != 0;
  } else if constexpr (std::is_integral_v<T> && (std::is_integral_v<Operand> || std::is_enum_v<Operand>)) {
    return static_cast<T>(operand);
  } else if constexpr (std::is_pointer_v<Operand>) {
    return static_cast<T>(reinterpret_cast<uintptr_t>(operand));
  } else {
    bits_of<sizeof(Operand)> bits;
    __builtin_memcpy(&bits, &operand, sizeof bits);
    const auto wanted = static_cast<bits_of<sizeof(T)>>(bits);
    T value;
    __builtin_memcpy(&value, &wanted, sizeof value);
    return value;
  }
}

// Stores the bits of a value.
template <class Operand, class T>
SIMT_INLINE void put(Operand& operand, T value) {
  using plain = std::remove_cv_t<Operand>;
  if constexpr (std::is_pointer_v<plain>)
    operand = reinterpret_cast<plain>(get<uintptr_t>(value));
  else
    operand = get<plain>(value);
}

// PTX's 16-bit numbers, and two of them in a register.
using f16 = half_float<::simt::f16>;
using bf16 = half_float<::simt::bf16>;
using f16x2 = half_pair<f16>;
using bf16x2 = half_pair<bf16>;
template <class T>
constexpr bool is_half = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
template <class T>
constexpr bool is_two = std::is_same_v<T, f16x2> || std::is_same_v<T, bf16x2>;

// cvt of two numbers of 8 bits; the second source is the lower one.
inline uint16_t fp8_pair(bool is_e5m2, bool cuts_negative, float high, float low) {
  const auto one = [&](float x) { return fp8_from(cuts_negative && x < 0 ? 0 : x, true, is_e5m2); };
  return static_cast<uint16_t>(one(low) | one(high) << 8);
}
inline f16x2 pair_of_fp8(bool is_e5m2, bool cuts_negative, uint16_t bits) {
  const auto one = [&](unsigned char b) {
    const float x = fp8_to_float(b, is_e5m2);
    return f16(cuts_negative && x < 0 ? 0.0f : x);
  };
  return {one(static_cast<unsigned char>(bits)), one(static_cast<unsigned char>(bits >> 8))};
}

// ---- integers and reals

template <class T>
using wider =
    std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
                       std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                                          std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;
// Integers wrap.
template <class T>
using wrapping = typename std::conditional_t<
    std::is_integral_v<T>, std::make_unsigned<std::conditional_t<std::is_integral_v<T>, T, int>>, identity<T>>::type;

template <class T>
SIMT_INLINE T move(T a) {
  return a;
}
template <class T>
SIMT_INLINE T add(T a, T b) {
  return static_cast<T>(static_cast<wrapping<T>>(a) + static_cast<wrapping<T>>(b));
}
template <class T>
SIMT_INLINE T subtract(T a, T b) {
  return static_cast<T>(static_cast<wrapping<T>>(a) - static_cast<wrapping<T>>(b));
}
template <class T>
SIMT_INLINE T product(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return a * b;
}
template <class T>
SIMT_INLINE T high_product(T a, T b) {
  return static_cast<T>((static_cast<wider<T>>(a) * static_cast<wider<T>>(b)) >> (8 * sizeof(T)));
}
template <class T>
SIMT_INLINE wider<T> wide_product(T a, T b) {
  return static_cast<wider<T>>(a) * static_cast<wider<T>>(b);
}
template <class T>
SIMT_INLINE T mad(T a, T b, T c) {
  return add<T>(product<T>(a, b), c);
}
template <class T>
SIMT_INLINE T high_mad(T a, T b, T c) {
  return add<T>(high_product<T>(a, b), c);
}
template <class T>
SIMT_INLINE wider<T> wide_mad(T a, T b, wider<T> c) {
  return add<wider<T>>(wide_product<T>(a, b), c);
}
template <class T>
SIMT_INLINE T fused(T a, T b, T c) {
  if constexpr (is_two<T>)
    return {fused(a.x, b.x, c.x), fused(a.y, b.y, c.y)};
  else if constexpr (is_half<T>)
    return fused(a, b, c);  // the type's own
  else
    return std::fma(a, b, c);
}
template <class T>
SIMT_INLINE T quotient(T a, T b) {
  return a / b;
}
template <class T>
SIMT_INLINE T remainder(T a, T b) {
  return a % b;
}
template <class T>
SIMT_INLINE T negate(T a) {
  if constexpr (std::is_integral_v<T>)
    return subtract<T>(0, a);
  else
    return -a;
}
template <class T>
SIMT_INLINE T absolute(T a) {
  if constexpr (is_two<T>)
    return {absolute(a.x), absolute(a.y)};
  else if constexpr (std::is_integral_v<T>)
    return a < 0 ? negate<T>(a) : a;
  else
    return T(std::fabs(a));
}
template <class T>
SIMT_INLINE T least(T a, T b) {
  if constexpr (is_two<T>)
    return {least(a.x, b.x), least(a.y, b.y)};
  else if constexpr (std::is_integral_v<T>)
    return b < a ? b : a;
  else if constexpr (is_half<T>)
    return std::fmin(float(a), float(b));
  else
    return std::fmin(a, b);
}
template <class T>
SIMT_INLINE T greatest(T a, T b) {
  if constexpr (is_two<T>)
    return {greatest(a.x, b.x), greatest(a.y, b.y)};
  else if constexpr (std::is_integral_v<T>)
    return a < b ? b : a;
  else if constexpr (is_half<T>)
    return std::fmax(float(a), float(b));
  else
    return std::fmax(a, b);
}
// min.NaN and max.NaN.
template <class T>
SIMT_INLINE T least_or_nan(T a, T b) {
  if constexpr (is_two<T>)
    return {least_or_nan(a.x, b.x), least_or_nan(a.y, b.y)};
  else
    return a != a ? a : b != b ? b : least<T>(a, b);
}
template <class T>
SIMT_INLINE T greatest_or_nan(T a, T b) {
  if constexpr (is_two<T>)
    return {greatest_or_nan(a.x, b.x), greatest_or_nan(a.y, b.y)};
  else
    return a != a ? a : b != b ? b : greatest<T>(a, b);
}
template <class T>
SIMT_INLINE T with_sign_of(T a, T b) {
  return std::copysign(b, a);
}
template <class T>
SIMT_INLINE T chosen_by_sign(T a, T b, bool negative) {
  return negative ? b : a;
}

// Into [0, 1]; a NaN becomes 0.
template <class T>
SIMT_INLINE T saturated(T a) {
  return a > T(0) ? (a < T(1) ? a : T(1)) : T(0);
}
// A subnormal becomes a zero of its sign.
SIMT_INLINE float flushed(float a) { return std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.0f, a) : a; }
// a * b + c of f32, rounded in a direction. The product is exact in double, and so is the error of a sum of doubles.
SIMT_INLINE float directed_fused(float a, float b, float c, direction to) {
  const double product = double{a} * double{b}, sum = product + double{c}, c_in_it = sum - product;
  const double lost = (product - (sum - c_in_it)) + (double{c} - c_in_it);
  const float nearest = std::fma(a, b, c);
  return directed(nearest, (sum - double{nearest}) + lost, to);
}

// Integers that stop at the ends of their type.
template <class T, class Wide>
SIMT_INLINE T clamped(Wide value) {
  constexpr auto low = static_cast<__int128>(std::numeric_limits<T>::min());
  constexpr auto high = static_cast<__int128>(std::numeric_limits<T>::max());
  const auto exact = static_cast<__int128>(value);
  return static_cast<T>(exact < low ? low : exact > high ? high : exact);
}
template <class T>
SIMT_INLINE T clamped_sum(T a, T b) {
  return clamped<T>(static_cast<__int128>(a) + b);
}
template <class T>
SIMT_INLINE T clamped_difference(T a, T b) {
  return clamped<T>(static_cast<__int128>(a) - b);
}

// a + b + carry; the carry out goes where `out` points, if anywhere. Of a difference it is a borrow.
template <class T>
SIMT_INLINE T sum_with_carry(T a, T b, bool carry, bool* out) {
  const auto sum = static_cast<unsigned __int128>(a) + b + carry;
  if (out != nullptr) *out = (sum >> (8 * sizeof(T))) != 0;
  return static_cast<T>(sum);
}
template <class T>
SIMT_INLINE T difference_with_borrow(T a, T b, bool borrow, bool* out) {
  const auto right = static_cast<unsigned __int128>(b) + borrow;
  if (out != nullptr) *out = right > a;
  return static_cast<T>(a - right);
}

// ---- bits

template <class T>
SIMT_INLINE T bit_and(T a, T b) {
  return a & b;
}
template <class T>
SIMT_INLINE T bit_or(T a, T b) {
  return a | b;
}
template <class T>
SIMT_INLINE T bit_xor(T a, T b) {
  return a ^ b;
}
template <class T>
SIMT_INLINE T bit_not(T a) {
  return static_cast<T>(std::is_same_v<T, bool> ? !a : ~a);
}
template <class T>
SIMT_INLINE T is_zero(T a) {  // cnot
  return a == 0;
}
// Shifts by more than the width give what is left: zeros, or signs.
template <class T>
SIMT_INLINE T shift_left(T a, uint32_t by) {
  return by >= 8 * sizeof(T) ? T(0) : static_cast<T>(static_cast<wrapping<T>>(a) << by);
}
template <class T>
SIMT_INLINE T shift_right(T a, uint32_t by) {
  if (by >= 8 * sizeof(T)) return a < 0 ? static_cast<T>(-1) : T(0);
  return static_cast<T>(a >> by);
}
// The funnel shifts of {b, a}: by at most 32 bits, or by the lowest five bits of `by`.
SIMT_INLINE uint32_t funnel_left(uint32_t a, uint32_t b, uint32_t by, bool wraps) {
  by = wraps ? by & 31 : by > 32 ? 32 : by;
  return static_cast<uint32_t>(((uint64_t{b} << 32 | a) << by) >> 32);
}
SIMT_INLINE uint32_t funnel_right(uint32_t a, uint32_t b, uint32_t by, bool wraps) {
  by = wraps ? by & 31 : by > 32 ? 32 : by;
  return static_cast<uint32_t>((uint64_t{b} << 32 | a) >> by);
}
template <class T>
SIMT_INLINE uint32_t ones(T a) {
  return static_cast<uint32_t>(__builtin_popcountll(static_cast<wrapping<T>>(a)));
}
template <class T>
SIMT_INLINE uint32_t zeros(T a) {
  const auto bits = static_cast<wrapping<T>>(a);
  return static_cast<uint32_t>(bits == 0 ? 8 * sizeof(T) : __builtin_clzll(bits) - (64 - 8 * sizeof(T)));
}
template <class T>
SIMT_INLINE T reversed(T a) {
  T r = 0;
  for (size_t i = 0; i < 8 * sizeof(T); ++i) r = static_cast<T>(r << 1 | (a >> i & 1));
  return r;
}
// The place of the highest bit that is not the sign's, or of the highest 1, counted from bit 0 or from the top; all
// ones where there is none.
template <class T>
SIMT_INLINE uint32_t highest_bit(T a, bool from_top) {
  const uint32_t before = zeros(static_cast<wrapping<T>>(a < 0 ? ~a : a));
  constexpr uint32_t k_width = 8 * sizeof(T);
  if (before == k_width) return ~0u;
  return from_top ? before : k_width - 1 - before;
}
// `length` bits from bit `first`, extended by their sign where T has one.
template <class T>
SIMT_INLINE T field(T a, uint32_t first, uint32_t length) {
  first &= 255, length &= 255;
  constexpr uint32_t k_width = 8 * sizeof(T);
  if (length == 0) return 0;
  const T moved = shift_right<T>(a, first);
  if (length >= k_width) return moved;
  const auto high = static_cast<wrapping<T>>(moved) << (k_width - length);
  return shift_right<T>(static_cast<T>(high), k_width - length);
}
// `length` ones from bit `first` on.
template <class T>
SIMT_INLINE T ones_from(uint32_t first, uint32_t length) {
  const T low = length >= 8 * sizeof(T) ? static_cast<T>(~T(0)) : static_cast<T>((T(1) << length) - 1);
  return shift_left<T>(low, first);
}
// b with its bits [first, first + length) taken from a.
template <class T>
SIMT_INLINE T inserted(T a, T b, uint32_t first, uint32_t length) {
  const T mask = ones_from<T>(first & 255, length & 255);
  return static_cast<T>((shift_left<T>(a, first & 255) & mask) | (b & ~mask));
}
SIMT_INLINE uint32_t bit_mask(uint32_t first, uint32_t length, bool wraps) {
  return wraps ? ones_from<uint32_t>(first & 31, length & 31) : ones_from<uint32_t>(first, length);
}
template <class T>
SIMT_INLINE T extended(T a, uint32_t length, bool wraps) {
  if (wraps) length &= 31;
  return length > 32 ? a : field<T>(a, 0, length);
}
// The place of the offset-th 1 of `mask` from bit `base` on: upwards, or downwards where it is negative.
SIMT_INLINE uint32_t nth_one(uint32_t mask, uint32_t base, int offset) {
  if (offset == 0) return base < 32 && (mask >> base & 1) ? base : ~0u;
  int left = offset < 0 ? -offset : offset;
  for (int64_t at = base; at >= 0 && at < 32; at += offset < 0 ? -1 : 1)
    if ((mask >> at & 1) && --left == 0) return static_cast<uint32_t>(at);
  return ~0u;
}
template <class T>
SIMT_INLINE T permuted(T a, T b, T selector) {
  return static_cast<T>(__byte_perm(a, b, selector));
}
// prmt with a mode: which byte of {b, a} each place gets follows from the two lowest bits of the selector.
SIMT_INLINE uint32_t permuted_by(const char* mode, uint32_t a, uint32_t b, uint32_t selector) {
  const uint32_t at = selector & 3;
  uint32_t nibbles = 0;
  for (uint32_t place = 0; place < 4; ++place) {
    const uint32_t from = mode[0] == 'f'   ? at + place                                          // f4e
                          : mode[0] == 'b' ? (at - place) & 7                                    // b4e
                          : mode[0] == 'r' ? (mode[2] == '8' ? at : 2 * (at & 1) + (place & 1))  // rc8, rc16
                          : mode[2] == 'l' ? (place < at ? at : place)                           // ecl
                                           : (place > at ? at : place);                          // ecr
    nibbles |= from << 4 * place;
  }
  return __byte_perm(a, b, nibbles);
}
template <class T>
SIMT_INLINE T any_of_three(T a, T b, T c, T table) {
  T r = 0;
  for (unsigned k = 0; k < 8; ++k)
    if (table >> k & 1) r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
  return r;
}

// ---- sums of products of 24, 16 and 8 bits

template <class T>
SIMT_INLINE T low_24(T a) {
  return field<T>(a, 0, 24);
}
template <class T>
SIMT_INLINE T product_24(T a, T b) {
  return static_cast<T>(wide_product<T>(low_24(a), low_24(b)));
}
template <class T>
SIMT_INLINE T high_product_24(T a, T b) {  // bits 16 to 47
  return static_cast<T>(wide_product<T>(low_24(a), low_24(b)) >> 16);
}
template <class T>
SIMT_INLINE T distance_and(T a, T b, T c) {
  return add<T>(a < b ? subtract<T>(b, a) : subtract<T>(a, b), c);
}
// A and B say which operand's bytes have signs.
template <class A, class B>
SIMT_INLINE uint32_t dot_of_4(uint32_t a, uint32_t b, uint32_t c) {
  for (uint32_t at = 0; at < 32; at += 8)
    c += static_cast<uint32_t>(static_cast<int32_t>(field<A>(static_cast<A>(a), at, 8)) *
                               static_cast<int32_t>(field<B>(static_cast<B>(b), at, 8)));
  return c;
}
// The same of elements of 4 bits, and of bits: how many differ, or are both set.
template <class A, class B>
SIMT_INLINE uint32_t dot_of_8(uint32_t a, uint32_t b, uint32_t c) {
  for (uint32_t at = 0; at < 32; at += 4)
    c += static_cast<uint32_t>(static_cast<int32_t>(field<A>(static_cast<A>(a), at, 4)) *
                               static_cast<int32_t>(field<B>(static_cast<B>(b), at, 4)));
  return c;
}
inline uint32_t ones_of_xor(uint32_t a, uint32_t b, uint32_t c) {
  return c + static_cast<uint32_t>(__builtin_popcount(a ^ b));
}
inline uint32_t ones_of_and(uint32_t a, uint32_t b, uint32_t c) {
  return c + static_cast<uint32_t>(__builtin_popcount(a & b));
}
// A function of each half of two words.
template <class T, T (*F)(T, T)>
SIMT_INLINE uint32_t in_halves(uint32_t a, uint32_t b) {
  const auto one = [&](int at) { return static_cast<uint16_t>(F(static_cast<T>(a >> at), static_cast<T>(b >> at))); };
  return one(0) | static_cast<uint32_t>(one(16)) << 16;
}
// x as a tf32, to the nearest with ties to even, or cut.
inline float even_tf32(float x, bool cuts) {
  const auto b = get<uint32_t>(x);
  const bool is_finite = (b & 0x7f800000u) != 0x7f800000u;
  return get<float>((is_finite && !cuts ? b + 0xfffu + (b >> 13 & 1) : b) & ~0x1fffu);
}
// The two halves of a by the two lower, or upper, bytes of b.
template <class A, class B>
SIMT_INLINE uint32_t dot_of_2(uint32_t a, uint32_t b, uint32_t c, bool upper) {
  for (uint32_t k = 0; k < 2; ++k)
    c += static_cast<uint32_t>(static_cast<int64_t>(field<A>(static_cast<A>(a), 16 * k, 16)) *
                               static_cast<int64_t>(field<B>(static_cast<B>(b), 8 * k + (upper ? 16 : 0), 8)));
  return c;
}

// ---- comparisons

// The relations of PTX, by name; with a "u" at the end a comparison of reals holds for NaN, too.
enum class relation { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
template <class T>
SIMT_INLINE bool compare(relation r, T a, T b) {
  const bool less = a<b, more = a> b, same = a == b;
  switch (r) {
    case relation::eq: return same;
    case relation::ne: return less || more;
    case relation::lt: return less;
    case relation::le: return less || same;
    case relation::gt: return more;
    case relation::ge: return more || same;
    case relation::equ: return !(less || more);
    case relation::neu: return !same;
    case relation::ltu: return !(more || same);
    case relation::leu: return !more;
    case relation::gtu: return !(less || same);
    case relation::geu: return !less;
    case relation::num: return a == a && b == b;
    case relation::nan: return a != a || b != b;
  }
  return false;
}
// set: all ones, or 1 of a real.
template <class T>
SIMT_INLINE T all_ones_or_one(bool b) {
  if constexpr (std::is_integral_v<T>)
    return b ? static_cast<T>(~T(0)) : T(0);
  else
    return b ? T(1) : T(0);
}
template <class T>
SIMT_INLINE bool is_of_class(const char* name, T a) {
  const int kind = std::fpclassify(a);
  switch (name[0] == 'n' ? name[2] : name[0]) {
    case 'f': return kind != FP_NAN && kind != FP_INFINITE;
    case 'i': return kind == FP_INFINITE;
    case 'm': return kind != FP_NAN;     // number
    case 't': return kind == FP_NAN;     // notanumber
    case 'r': return kind == FP_NORMAL;  // normal
    default: return kind == FP_SUBNORMAL;
  }
}

// ---- the accurate functions in the place of the approximations

#define SIMT_IMPORT_PTX_FUNCTION(name, expression)           \
  template <class T>                                         \
  SIMT_INLINE T name(T a) {                                  \
    if constexpr (is_two<T>) {                               \
      return {name(a.x), name(a.y)};                         \
    } else {                                                 \
      using real = std::conditional_t<is_half<T>, float, T>; \
      const auto x = static_cast<real>(a);                   \
      return T(static_cast<real>(expression));               \
    }                                                        \
  }
SIMT_IMPORT_PTX_FUNCTION(power_of_2, std::exp2(x))
SIMT_IMPORT_PTX_FUNCTION(logarithm, std::log2(x))
SIMT_IMPORT_PTX_FUNCTION(reciprocal, 1 / x)
SIMT_IMPORT_PTX_FUNCTION(reciprocal_root, 1 / std::sqrt(static_cast<double>(x)))
SIMT_IMPORT_PTX_FUNCTION(root, std::sqrt(x))
SIMT_IMPORT_PTX_FUNCTION(sine, std::sin(x))
SIMT_IMPORT_PTX_FUNCTION(cosine, std::cos(x))
SIMT_IMPORT_PTX_FUNCTION(tangent, std::tanh(x))
#undef SIMT_IMPORT_PTX_FUNCTION

// ---- conversions

enum class rounding { nearest, zero, down, up, whole_nearest, whole_zero, whole_down, whole_up };

template <class Real>
SIMT_INLINE Real whole(Real x, rounding mode) {
  switch (mode) {
    case rounding::whole_nearest: return std::nearbyint(x);
    case rounding::whole_zero: return std::trunc(x);
    case rounding::whole_down: return std::floor(x);
    case rounding::whole_up: return std::ceil(x);
    default: return x;
  }
}
constexpr direction direction_of(rounding mode) {
  return mode == rounding::up ? direction::up : mode == rounding::down ? direction::down : direction::zero;
}
// A real as a 16-bit one; only towards zero or to the nearest.
template <class Half>
SIMT_INLINE Half half_of(double x, rounding mode) {
  Half h = x;
  if (mode == rounding::zero && std::fabs(double(float(h))) > std::fabs(x)) --h.bits;
  return h;
}
template <class Real, class From>
SIMT_INLINE Real real_of(From x, rounding mode) {
  if constexpr (is_half<Real>) {
    if constexpr (std::is_same_v<From, Real>)
      return Real(whole(float(x), mode));
    else
      return half_of<Real>(static_cast<double>(x), mode);
  } else if constexpr (is_half<From>) {
    return static_cast<Real>(float(x));
  } else if constexpr (std::is_integral_v<From>) {
    if (mode == rounding::nearest) return static_cast<Real>(x);
    return directed_integer<Real>(x, direction_of(mode));
  } else {
    const From kept = whole(x, mode);
    const auto nearest = static_cast<Real>(kept);
    if (mode == rounding::nearest || mode >= rounding::whole_nearest) return nearest;
    return directed(nearest, static_cast<double>(kept) - static_cast<double>(nearest), direction_of(mode));
  }
}
// cvt, without .sat of reals.
template <class To, class From>
SIMT_INLINE To converted(From x, rounding mode, bool saturates) {
  if constexpr (!std::is_integral_v<To>) {
    const To real = real_of<To>(x, mode);
    return saturates ? saturated<To>(real) : real;
  } else if constexpr (std::is_integral_v<From>) {
    return saturates ? clamped<To>(x) : static_cast<To>(x);
  } else {
    using real = std::conditional_t<is_half<From>, float, From>;
    return detail::saturating_cast<To>(whole(static_cast<real>(x), mode));
  }
}
template <class Half>
SIMT_INLINE uint32_t pair(float high, float low, rounding mode) {
  return half_of<Half>(low, mode).bits | static_cast<uint32_t>(half_of<Half>(high, mode).bits) << 16;
}
// cvt.pack: two saturated integers of 16 bits, or of fewer with the low bits of c above them.
template <class T, int Width>
SIMT_INLINE uint32_t packed(int32_t a, int32_t b, uint32_t c) {
  constexpr int32_t k_lowest = std::is_signed_v<T> ? -(1 << (Width - 1)) : 0, k_highest = k_lowest + (1 << Width) - 1;
  const auto saturated = [](int32_t x) {
    return static_cast<uint32_t>(x < k_lowest ? k_lowest : x > k_highest ? k_highest : x) & ((1u << Width) - 1);
  };
  const uint32_t low = saturated(a) << Width | saturated(b);
  return Width == 16 ? low : c << 2 * Width | low;
}

}  // namespace simt::import::ptx
