#include "golden/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace warpcheck::golden {
namespace {

template <class List>
auto find_tensor(const List& list, std::string_view tensor) {
  const auto i = std::ranges::find_if(list, [&](const auto& e) { return e.tensor == tensor; });
  return i == list.end() ? nullptr : &*i;
}

bool is_signed(dtype type) { return type == dtype::i8 || type == dtype::i32 || type == dtype::i64; }

bool is_special(std::string_view text) { return text == "nan" || text == "+inf" || text == "-inf"; }

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

const listed_input* golden_file::input(std::string_view tensor) const { return find_tensor(inputs, tensor); }
const expected_output* golden_file::output(std::string_view tensor) const { return find_tensor(outputs, tensor); }

std::string_view name_of(kind k) {
  constexpr std::array<std::string_view, 3> names = {"known_answer", "oracle", "regression"};
  return names[static_cast<size_t>(k)];
}

std::string format_element(dtype type, uint64_t bits) {
  if (!is_float(type)) {
    const uint64_t shift = 64 - 8 * size_of(type);
    return is_signed(type) ? fmt::format("{}", static_cast<int64_t>(bits << shift) >> shift)
                           : fmt::format("{}", bits << shift >> shift);
  }
  const double value = engine::decode(type, bits);
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "+inf" : "-inf";
  std::array<char, 32> digits;
  const auto [end, code] =
      std::to_chars(digits.data(), digits.data() + digits.size(), std::fabs(value), std::chars_format::hex);
  return fmt::format("{}0x{}", std::signbit(value) ? "-" : "", std::string_view(digits.data(), end));
}

std::optional<uint64_t> parse_element(dtype type, std::string_view text) {
  uint64_t bits = 0;
  if (is_float(type)) {
    const bool negative = text.starts_with('-');
    const std::string_view magnitude = text.substr(negative ? 1 : 0);
    double value = 0;
    if (text == "nan") {
      value = std::numeric_limits<double>::quiet_NaN();
    } else if (text == "+inf" || text == "-inf") {
      value = std::numeric_limits<double>::infinity();
    } else {
      if (!magnitude.starts_with("0x")) return std::nullopt;
      const char* last = text.data() + text.size();
      const auto [end, code] = std::from_chars(magnitude.data() + 2, last, value, std::chars_format::hex);
      if (code != std::errc() || end != last) return std::nullopt;
    }
    bits = engine::encode(type, negative ? -value : value);
  } else {
    const char* last = text.data() + text.size();
    int64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), last, value);
    if (code != std::errc() || end != last) return std::nullopt;
    bits = size_of(type) == 8 ? static_cast<uint64_t>(value)
                              : static_cast<uint64_t>(value) & ((uint64_t{1} << (8 * size_of(type))) - 1);
  }
  // Rounding, saturation and every second spelling show here.
  if (format_element(type, bits) != text) return std::nullopt;
  return bits;
}

bool is_canonical_decimal(std::string_view text, int digits) {
  if (is_special(text) || text == "0" || text == "-0") return true;
  if (text.starts_with('-')) text.remove_prefix(1);
  const size_t e = text.find('e');
  if (e == std::string_view::npos || e == 0 || text[0] < '1' || text[0] > '9') return false;
  size_t significant = 1;
  if (e > 1) {
    const std::string_view fraction = text.substr(2, e - 2);
    if (text[1] != '.' || !all_digits(fraction)) return false;
    significant += fraction.size();
    if (fraction.back() == '0' && significant != static_cast<size_t>(digits)) return false;
  }
  if (significant > static_cast<size_t>(digits)) return false;
  std::string_view exponent = text.substr(e + 1);
  if (exponent == "0") return true;
  if (exponent.starts_with('-')) exponent.remove_prefix(1);
  static_assert(k_max_exponent == 9999);
  return all_digits(exponent) && exponent[0] != '0' && exponent.size() <= 4;
}

bool is_canonical_integer(dtype type, std::string_view text) { return parse_element(type, text).has_value(); }

double nearest_double(std::string_view decimal) {
  if (decimal == "nan") return std::numeric_limits<double>::quiet_NaN();
  const bool negative = decimal.starts_with('-');
  const std::string_view magnitude = decimal.substr(negative || decimal.starts_with('+') ? 1 : 0);
  double value = 0;
  const auto [end, code] = std::from_chars(magnitude.data(), magnitude.data() + magnitude.size(), value);
  if (code == std::errc::result_out_of_range)
    value = magnitude.find("e-") == std::string_view::npos ? std::numeric_limits<double>::infinity() : 0.0;
  return negative ? -value : value;
}

engine::trial_case replay_case(const golden_file& file) {
  engine::trial_case c = file.the_case;
  for (const listed_input& listed : file.inputs) {
    engine::tensor_spec& t = *c.find(listed.tensor);
    const uint64_t zero = engine::encode(t.type, 0.0);
    for (size_t i = 0; i < listed.bits.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      if (listed.bits[i] != zero)
        t.fill.edits.push_back({at / t.cols(), at % t.cols(), engine::decode(t.type, listed.bits[i])});
    }
  }
  return c;
}

}  // namespace warpcheck::golden
