#include "properties/engine/cases/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <numeric>

#include "properties/engine/error.hpp"
#include "reference/numerics/float_value.hpp"

namespace warpcheck::engine {
namespace {

constexpr double k_infinity = std::numeric_limits<double>::infinity();

// The texts are the help of `warpcheck list --distributions`.
constexpr distribution_info k_distributions[] = {
    {"constant", "value", "ties everywhere; sums with a closed form"},
    {"integers", "seed,lo,hi", "exact sums"},
    {"dyadic", "seed,magnitude,bits", "k/2^bits with |k| <= magnitude: sums and shifts stay exact"},
    {"randn", "seed,mean?,deviation?", "the usual test, kept as a baseline"},
    {"uniform", "seed,lo,hi", "a range of exponents of the caller's choice"},
    {"bits", "seed", "uniform bit patterns: every exponent, subnormals, NaN, infinities, -0"},
    {"finite_bits", "seed", "uniform bit patterns of finite values"},
    {"log_uniform", "seed,lo,hi", "random sign, log2 of the magnitude uniform in [lo, hi]"},
    {"near_overflow", "seed", "+- the top binade of the type: naive exponentials and squares overflow"},
    {"near_underflow", "seed", "subnormals and the smallest normal numbers of the type"},
    {"cancellation", "seed,magnitude", "pairs v, -v in neighbouring columns with a small remainder"},
    {"ascending", "lo,hi", "a running maximum changes at every step"},
    {"descending", "lo,hi", "a running maximum never changes"},
    {"alternating", "a,b", "neighbours always differ"},
    {"sawtooth", "period,lo,hi", "ascending runs of one tile's length"},
    {"spike", "column,peak,rest", "one element carries the row: a dropped element shows"},
    {"diagonal", "first,step,peak,rest",
     "a spike that moves by `step` columns from row to row: every position in one case"},
    {"masked", "begin,end,seed", "columns [begin, end) are -Inf, the others normal"},
    {"unmasked", "begin,end,seed", "all but columns [begin, end) are -Inf"},
    {"duplicates", "seed,values", "few distinct values: ties"},
    {"one_hot", "seed,peak,rest", "one peak per row at a random column"},
    {"special", "seed", "NaN, infinities, both zeros, extremes of the type, beside normals"},
    {"nan_bits", "seed", "one element in six is a NaN of any payload and sign, quiet or signalling; normals beside"},
    {"stagnation", "column,rest,step?",
     "0 at one column, or at every `step`-th from there on, `rest` elsewhere: a long serial sum loses every term"},
    {"permutation", "seed,count",
     "the integers below `count`, each row in its own order: distinct keys, lists of rows"},
    {"late_rise", "column,peak,climb",
     "0 before the column, from there on `peak` and `climb` more at each: what was known of the row is worth nothing"},
    {"levels", "seed,lo,hi,spread?",
     "each row within `spread` (1) of a level of its own: what is left of another row shows"},
    {"half_ulp", "seed,bits,scale?",
     "in [1, 2), times `scale`, just below the middle of two numbers of `bits` digits: rounding to so many never "
     "averages out"},
    {"npy", "path,sha256,row?,column?", "a user's array, or a part of it that begins there"},
    {"derived", "", "what follows from the other inputs and the scalars, by the operator's description"},
};
// The index of a distribution; a name that there is none of does not compile.
consteval size_t index(std::string_view name) {
  size_t i = 0;
  while (k_distributions[i].name != name) ++i;
  return i;
}

size_t kind_of(std::string_view name) {
  for (size_t i = 0; i < std::size(k_distributions); ++i)
    if (k_distributions[i].name == name) return i;
  std::string known;
  for (const auto& d : k_distributions) known += (known.empty() ? "" : ", ") + std::string(d.name);
  throw usage_error(fmt::format("fill: unknown distribution '{}'; known are {}", name, known));
}

// The parts between commas; none for an empty text.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size() && !text.empty();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

struct arity {
  size_t least = 0;
  size_t most = 0;
};

arity arity_of(const distribution_info& d) {
  arity a;
  for (std::string_view name : split(d.parameters)) {
    ++a.most;
    if (!name.ends_with('?')) ++a.least;
  }
  return a;
}

// Uniform in [0, 1) with 53 bits.
double unit(uint64_t h) { return static_cast<double>(h >> 11) * 0x1p-53; }

double normal(uint64_t seed, uint64_t a, uint64_t b) {
  // Box-Muller; 1 - u avoids log(0).
  const double u = 1.0 - unit(hash64(seed, a, 2 * b));
  const double v = unit(hash64(seed, a, 2 * b + 1));
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

uint64_t bit_mask(dtype type) { return size_of(type) == 8 ? ~0ull : (1ull << (8 * size_of(type))) - 1; }

// For integer types, distributions that use a float format's limits use small integers.
double largest(dtype type) { return is_float(type) ? reference::max_finite(type) : 100.0; }
double smallest_normal(dtype type) { return is_float(type) ? reference::min_normal(type) : 1.0; }
double smallest_subnormal(dtype type) { return is_float(type) ? reference::min_subnormal(type) : 1.0; }

template <class T>
uint64_t saturate(double value) {
  if (std::isnan(value)) return 0;
  // 2^63 and 2^64 are exact doubles one past the largest value, hence >=.
  if (value >= static_cast<double>(std::numeric_limits<T>::max()))
    return static_cast<uint64_t>(std::numeric_limits<T>::max());
  if (value <= static_cast<double>(std::numeric_limits<T>::min()))
    return static_cast<uint64_t>(std::numeric_limits<T>::min());
  return static_cast<uint64_t>(static_cast<T>(std::nearbyint(value)));
}

}  // namespace

uint64_t hash64(uint64_t seed, uint64_t a, uint64_t b) {
  auto mix = [](uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  };
  uint64_t h = mix(seed + 0x9e3779b97f4a7c15ull);
  h = mix(h + a + 0x9e3779b97f4a7c15ull);
  return mix(h + b + 0x9e3779b97f4a7c15ull);
}

double decode(dtype type, uint64_t bits) {
  switch (type) {
    case dtype::i8: return static_cast<int8_t>(bits);
    case dtype::i32: return static_cast<int32_t>(bits);
    case dtype::i64: return static_cast<double>(static_cast<int64_t>(bits));
    case dtype::u8:
    case dtype::u16:
    case dtype::u32: return static_cast<double>(bits & bit_mask(type));
    case dtype::f32: return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case dtype::f64: return std::bit_cast<double>(bits);
    default: return reference::decode(type, bits);
  }
}

uint64_t encode(dtype type, double value) {
  switch (type) {
    case dtype::i8: return saturate<int8_t>(value) & bit_mask(type);
    case dtype::i32: return saturate<int32_t>(value) & bit_mask(type);
    case dtype::i64: return saturate<int64_t>(value);
    case dtype::u8: return saturate<uint8_t>(value);
    case dtype::u16: return saturate<uint16_t>(value);
    case dtype::u32: return saturate<uint32_t>(value);
    case dtype::f32: return std::bit_cast<uint32_t>(static_cast<float>(value));
    case dtype::f64: return std::bit_cast<uint64_t>(value);
    default: return reference::encode(type, value);
  }
}

uint64_t load_bits(dtype type, const void* element) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, size_of(type));  // little-endian host, as CUDA's
  return bits;
}

void store_bits(dtype type, void* element, uint64_t bits) { std::memcpy(element, &bits, size_of(type)); }

std::span<const distribution_info> distributions() { return k_distributions; }

bool recipe::operator==(const recipe& o) const {
  // NaN arguments compare equal here: two recipes are the same if they make the same data.
  auto same = [](double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); };
  auto same_edit = [&](const edit& a, const edit& b) {
    return a.row == b.row && a.col == b.col && same(a.value, b.value);
  };
  return distribution == o.distribution && path == o.path && sha256 == o.sha256 &&
         std::equal(arguments.begin(), arguments.end(), o.arguments.begin(), o.arguments.end(), same) &&
         std::equal(edits.begin(), edits.end(), o.edits.begin(), o.edits.end(), same_edit);
}

std::string format_number(double value) {
  if (std::isnan(value)) return std::signbit(value) ? "-nan" : "nan";
  if (std::isinf(value)) return value > 0 ? "+inf" : "-inf";
  return fmt::format("{}", value);  // shortest decimal that reads back exactly
}

std::optional<double> parse_number(std::string_view text) {
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "-nan") return -std::numeric_limits<double>::quiet_NaN();
  if (text == "+inf" || text == "inf") return k_infinity;
  if (text == "-inf") return -k_infinity;
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const bool negative = !text.empty() && text[0] == '-';
  std::string_view digits = negative ? text.substr(1) : text;
  const bool hex = digits.starts_with("0x");
  if (hex) digits.remove_prefix(2);
  if (digits.empty() || !(std::isxdigit(static_cast<unsigned char>(digits[0])) || digits[0] == '.'))
    return std::nullopt;
  if (!hex && !(std::isdigit(static_cast<unsigned char>(digits[0])) || digits[0] == '.')) return std::nullopt;
  double value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value,
                                           hex ? std::chars_format::hex : std::chars_format::general);
  if (code != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value)) return std::nullopt;
  return negative ? -value : value;
}

recipe make_recipe(std::string distribution, std::vector<double> arguments) {
  recipe r;
  r.distribution = std::move(distribution);
  r.arguments = std::move(arguments);
  return r;
}

std::string format(const recipe& r) {
  if (r.distribution == "npy")
    return fmt::format("npy({},{}{})", r.path, r.sha256,
                       r.arguments.empty() ? "" : fmt::format(",{},{}", r.arguments[0], r.arguments[1]));
  std::string text = r.distribution + "(";
  for (size_t i = 0; i < r.arguments.size(); ++i) text += (i ? "," : "") + format_number(r.arguments[i]);
  return text + ")";
}

recipe parse_recipe(std::string_view text) {
  const size_t open = text.find('(');
  if (open == std::string_view::npos || text.back() != ')')
    throw usage_error(fmt::format("fill: '{}' is not of the form distribution(arguments)", text));
  recipe r;
  r.distribution = text.substr(0, open);
  const size_t kind = kind_of(r.distribution);
  const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  const std::vector<std::string_view> parts = split(inside);
  const auto [least, most] = arity_of(k_distributions[kind]);
  if (parts.size() < least || parts.size() > most)
    throw usage_error(fmt::format("fill: '{}' has {} arguments; {}({}) is allowed", text, parts.size(), r.distribution,
                                  k_distributions[kind].parameters));
  if (kind == index("npy")) {
    r.path = parts[0];
    r.sha256 = parts[1];
    if (r.sha256.size() != 64 || r.sha256.find_first_not_of("0123456789abcdef") != std::string::npos)
      throw usage_error(fmt::format("fill: '{}' is not a SHA-256 (64 lower-case hexadecimal digits)", r.sha256));
    if (parts.size() == 3) throw usage_error(fmt::format("fill: '{}' has a row, but no column where it begins", text));
    for (size_t i = 2; i < parts.size(); ++i) {
      const auto begin = parse_number(parts[i]);
      if (!begin || !(*begin >= 0 && *begin <= 0x1p53 && *begin == std::floor(*begin)))
        throw usage_error(fmt::format("fill: '{}' of '{}' is not an integer in [0, 2^53]", parts[i], text));
      r.arguments.push_back(*begin);
    }
    return r;
  }
  const std::vector<std::string_view> names = split(k_distributions[kind].parameters);
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto number = parse_number(parts[i]);
    if (!number) throw usage_error(fmt::format("fill: argument '{}' of '{}' is not a number", parts[i], text));
    // These become integers; beyond their range the conversion would be undefined.
    const double most = names[i] == "bits"                                                ? 1100
                        : names[i] == "count"                                             ? 0x1p32
                        : names[i] == "seed" || names[i] == "first" || names[i] == "step" ? 0x1p53
                                                                                          : k_infinity;
    if (std::isfinite(most) && !(*number >= 0 && *number <= most && *number == std::floor(*number)))
      throw usage_error(
          fmt::format("fill: {} = '{}' of '{}' is not an integer in [0, {}]", names[i], parts[i], text, most));
    r.arguments.push_back(*number);
  }
  return r;
}

value_source::value_source(const recipe& r, dtype type, int64_t cols)
    : recipe_(r), type_(type), cols_(cols), kind_(kind_of(r.distribution)) {
  // Optional arguments get their defaults once, here.
  if (r.distribution == "randn") {
    if (recipe_.arguments.size() < 2) recipe_.arguments.push_back(0.0);
    if (recipe_.arguments.size() < 3) recipe_.arguments.push_back(1.0);
  }
}

uint64_t value_source::bits(int64_t row, int64_t col) const {
  for (auto e = recipe_.edits.rbegin(); e != recipe_.edits.rend(); ++e)
    if (e->row == row && e->col == col) return encode(type_, e->value);
  if (kind_ == index("bits") || kind_ == index("finite_bits")) {
    const uint64_t h =
        hash64(static_cast<uint64_t>(recipe_.arguments[0]), static_cast<uint64_t>(row), static_cast<uint64_t>(col));
    uint64_t b = h & bit_mask(type_);
    if (kind_ == index("finite_bits") && is_float(type_) && !std::isfinite(decode(type_, b))) {
      // Clear the exponent's top bit: finite, and every other pattern keeps its probability.
      b &= ~(1ull << (8 * size_of(type_) - 2));
    }
    return b;
  }
  if (kind_ == index("nan_bits") && is_float(type_)) {
    const uint64_t h =
        hash64(static_cast<uint64_t>(recipe_.arguments[0]), static_cast<uint64_t>(row), static_cast<uint64_t>(col));
    const uint64_t infinity = encode(type_, k_infinity), pattern = infinity | (hash64(h, 1) & bit_mask(type_));
    if (h % 6 == 0) return (pattern & bit_mask(type_) >> 1) == infinity ? pattern + 1 : pattern;
  }
  return encode(type_, value(row, col));
}

// Distributions whose elements are drawn.
std::optional<double> value_source::drawn_value(int64_t row, int64_t col) const {
  const auto& a = recipe_.arguments;
  const auto r = static_cast<uint64_t>(row), c = static_cast<uint64_t>(col);
  const auto seed = [&](size_t i) { return static_cast<uint64_t>(a[i]); };
  const auto draw = [&](size_t i) { return hash64(seed(i), r, c); };
  const auto sign = [](uint64_t h) { return h & 1 ? -1.0 : 1.0; };
  if (kind_ == index("integers")) return std::floor(a[1] + unit(draw(0)) * (a[2] - a[1] + 1));
  if (kind_ == index("dyadic"))
    return std::ldexp(std::floor((2 * unit(draw(0)) - 1) * a[1] + 0.5), -static_cast<int>(a[2]));
  if (kind_ == index("randn")) return a[1] + a[2] * normal(seed(0), r, c);
  if (kind_ == index("nan_bits")) return normal(seed(0), r, c);
  if (kind_ == index("uniform")) return a[1] + unit(draw(0)) * (a[2] - a[1]);
  if (kind_ == index("levels")) {
    const double level = a[1] + unit(hash64(seed(0), r)) * (a[2] - a[1]), spread = a.size() > 3 ? a[3] : 1;
    return level + (2 * unit(hash64(seed(0), r, c + 1)) - 1) * spread;
  }
  if (kind_ == index("log_uniform")) return sign(draw(0)) * std::exp2(a[1] + unit(draw(0)) * (a[2] - a[1]));
  if (kind_ == index("near_overflow")) return sign(draw(0)) * largest(type_) * (0.5 + 0.5 * unit(draw(0)));
  if (kind_ == index("near_underflow")) {
    const double top = 4 * smallest_normal(type_) / smallest_subnormal(type_);
    return sign(draw(0)) * smallest_subnormal(type_) * std::floor(std::exp2(unit(draw(0)) * std::log2(top)));
  }
  if (kind_ == index("cancellation")) {
    const double pair = a[1] * (1 + unit(hash64(seed(0), r, c / 2)));
    return col % 2 == 0 ? pair : -pair + unit(draw(0));
  }
  if (kind_ == index("duplicates")) return std::floor(unit(draw(0)) * std::max(1.0, a[1]));
  if (kind_ == index("one_hot")) {
    const auto peak = hash64(seed(0), r) % static_cast<uint64_t>(std::max<int64_t>(1, cols_));
    return c == peak ? a[1] : a[2];
  }
  if (kind_ == index("special")) {
    const uint64_t h = draw(0);
    const double values[] = {std::numeric_limits<double>::quiet_NaN(),
                             k_infinity,
                             -k_infinity,
                             0.0,
                             -0.0,
                             largest(type_),
                             -largest(type_),
                             smallest_normal(type_),
                             smallest_subnormal(type_),
                             1.0};
    // One element in sixteen is special, so that rows with none, one and several kinds all occur.
    return h % 16 == 0 ? values[(h >> 8) % std::size(values)] : normal(seed(0), r, c);
  }
  if (kind_ == index("half_ulp")) {
    // Below the middle by 2^-7 of half a step, which for up to 16 digits is still a separate number in f32.
    const double step = std::exp2(1 - std::min(a[1], 52.0)), place = std::floor(unit(draw(0)) / step);
    return (1 + place * step + step / 2 * (1 - 0x1p-7)) * (a.size() > 2 ? a[2] : 1);
  }
  if (kind_ == index("permutation")) {
    // c -> start + c step, a bijection modulo `count` if step and count have no common divisor.
    const uint64_t count = std::max<uint64_t>(1, seed(1)), start = hash64(seed(0), r, 0) % count;
    uint64_t step = 1 + hash64(seed(0), r, 1) % count;
    while (std::gcd(step, count) != 1) ++step;
    return static_cast<double>((start + c % count * (step % count)) % count);
  }
  return std::nullopt;
}

// Distributions whose elements follow from their position.
std::optional<double> value_source::placed_value(int64_t row, int64_t col) const {
  const auto& a = recipe_.arguments;
  const double position = cols_ > 1 ? static_cast<double>(col) / static_cast<double>(cols_ - 1) : 0.0;
  if (kind_ == index("constant")) return a[0];
  if (kind_ == index("ascending")) return a[0] + position * (a[1] - a[0]);
  if (kind_ == index("descending")) return a[1] - position * (a[1] - a[0]);
  if (kind_ == index("alternating")) return col % 2 == 0 ? a[0] : a[1];
  if (kind_ == index("sawtooth")) {
    const double period = std::max(1.0, a[0]);
    return a[1] + (a[2] - a[1]) * std::fmod(static_cast<double>(col), period) / period;
  }
  if (kind_ == index("spike")) return static_cast<double>(col) == a[0] ? a[1] : a[2];
  if (kind_ == index("diagonal")) {
    const auto peak = static_cast<int64_t>(a[0]) + row * static_cast<int64_t>(a[1]);
    return col == peak % std::max<int64_t>(1, cols_) ? a[2] : a[3];
  }
  if (kind_ == index("masked") || kind_ == index("unmasked")) {
    const bool inside = static_cast<double>(col) >= a[0] && static_cast<double>(col) < a[1];
    if (inside == (kind_ == index("masked"))) return -k_infinity;
    return normal(static_cast<uint64_t>(a[2]), static_cast<uint64_t>(row), static_cast<uint64_t>(col));
  }
  if (kind_ == index("stagnation")) {
    const double after = static_cast<double>(col) - a[0];
    const bool again = a.size() > 2 && after > 0 && std::fmod(after, std::max(1.0, a[2])) == 0;
    return after == 0 || again ? 0.0 : a[1];
  }
  if (kind_ == index("late_rise")) {
    const double after = static_cast<double>(col) - a[0];
    return after < 0 ? 0.0 : a[1] + after * a[2];
  }
  return std::nullopt;
}

double value_source::value(int64_t row, int64_t col) const {
  if (const std::optional<double> placed = placed_value(row, col)) return *placed;
  if (const std::optional<double> drawn = drawn_value(row, col)) return *drawn;
  throw usage_error(fmt::format("fill: {} has no element formula", recipe_.distribution));
}

}  // namespace warpcheck::engine
