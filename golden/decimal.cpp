#include "golden/decimal.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "golden/format.hpp"

namespace warpcheck::golden {
namespace {

// d.ddd with `digits` digits and the exponent, from Boost's scientific text.
std::string scientific(const real& value, int digits) {
  const std::string text = value.str(digits - 1, std::ios_base::scientific);
  const size_t e = text.find('e');
  const size_t sign = text[e + 1] == '+' ? 1 : 0;
  int exponent = 0;
  std::from_chars(text.data() + e + 1 + sign, text.data() + text.size(), exponent);
  if (exponent < -k_max_exponent) return "0";
  return fmt::format("{}e{}", text.substr(0, e), exponent);
}

// One unit in the last of `digits` digits; 0 for an exact value.
real last_place(const real& value, int digits, bool exact) {
  if (exact || value == 0) return 0;
  const std::string text = value.str(0, std::ios_base::scientific);
  return real("1" + text.substr(text.find('e'))) * pow(real(10), 1 - digits);
}

}  // namespace

std::string rounded(const real& value, int digits) { return value == 0 ? "0" : scientific(value, digits); }

real log_of_one_plus(const real& v) {
  if (v > real("1e-20")) return log(1 + v);
  // The sum would lose v's digits; eight terms leave 10^-160.
  real sum = 0, power = v;
  for (int k = 1; k <= 8; ++k, power *= -v) sum += power / k;
  return sum;
}

std::string fraction(int64_t p, int64_t q, int digits) {
  if (p == 0) return "0";
  // The decimals of a reduced fraction end if and only if q has no prime factors but 2 and 5, and then multiplying by
  // 10 often enough makes it an integer.
  const real value = real(p) / real(q);
  std::string text = scientific(value, digits);
  const size_t e = text.find('e');
  std::string mantissa = text.substr(0, e);
  if (real(text) * q != real(p)) return text;  // the product has fewer than 100 digits: no rounding hides a difference
  mantissa.erase(mantissa.find_last_not_of('0') + 1);
  if (mantissa.back() == '.') mantissa.pop_back();
  return mantissa + text.substr(e);
}

std::string quotient(double p, int64_t q) {
  if (std::isnan(p)) return "nan";
  if (std::isinf(p)) return p > 0 ? "+inf" : "-inf";
  return fraction(static_cast<int64_t>(p), q);
}

bool agrees(std::string_view golden, int digits, const std::string& reference, int reference_digits) {
  const auto is_special = [](std::string_view text) { return text == "nan" || text == "+inf" || text == "-inf"; };
  if (is_special(golden) || is_special(reference) || reference == "inf")
    return golden == (reference == "inf" ? "+inf" : reference);
  const real a{std::string(golden)}, b{reference};
  if (a == 0) return abs(b) < pow(real(10), -k_max_exponent);
  const size_t significant = golden.find('e') - (golden[0] == '-') - (golden.find('.') != std::string_view::npos);
  return abs(a - b) <=
         last_place(a, digits, significant < static_cast<size_t>(digits)) + last_place(b, reference_digits, false);
}

}  // namespace warpcheck::golden
