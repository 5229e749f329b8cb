// Exact values as the text of golden files, for the operators' own golden files.
#pragma once

#include <boost/multiprecision/cpp_dec_float.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace warpcheck::golden {

constexpr int k_answer_digits = 40;

// 100 digits and more: twice what a file keeps, so that the rounding to the file's digits is right unless the 60 digits
// behind it are all 0 or all 9.
using real = boost::multiprecision::cpp_dec_float_100;

// `digits` significant digits of an inexact value, none cut. 0 is what e^x became below the range of `real`.
std::string rounded(const real& value, int digits = k_answer_digits);
// ln(1 + v) for v >= 0, to as many digits relatively.
real log_of_one_plus(const real& v);
// The fraction p/q, q > 0: exact with its trailing zeros cut where its decimals end within `digits`.
std::string fraction(int64_t p, int64_t q, int digits = k_answer_digits);
// The same of a numerator that a double holds: an integer, NaN or an infinity.
std::string quotient(double p, int64_t q);

// True if the text of a reference with `reference_digits` significant digits says the same as the golden text of a file
// with `digits`: equal special values; else within one unit of the last place of each that is not exact. Zeros agree
// with zeros of either sign and with what golden files write as 0.
bool agrees(std::string_view golden, int digits, const std::string& reference, int reference_digits);

}  // namespace warpcheck::golden
