#include "reference/histogram/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "reference/histogram/histogram_parts.hpp"
#include "reference/numerics/multiprecision.hpp"

namespace warpcheck::reference {
namespace {

using integer = exact_sum::integer;

constexpr int64_t k_tile_rows = 16384;

// gamma_m(2^-p) = m / (2^p - m).
struct gamma {
  integer weight, scale;
  gamma(int64_t m, int p) : weight(m), scale((integer(1) << p) - m) {}
  double value() const { return static_cast<double>(weight) / static_cast<double>(scale); }
};

}  // namespace

int fixed_exponent(std::span<const double> x, int64_t max_rows) {
  double largest = 0;
  for (const double v : x)
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  if (largest == 0) return 0;
  const int row_bits = max_rows > 1 ? std::bit_width(static_cast<uint64_t>(max_rows - 1)) : 0;
  return 53 - row_bits - (std::ilogb(largest) + 1);
}

int64_t on_grid(double x, int e) { return static_cast<int64_t>(std::nearbyint(std::ldexp(x, e))); }

std::vector<double> fixed_histogram(std::span<const histogram_update> updates, std::span<const double> x,
                                    int64_t total_bins, int e) {
  std::vector<int64_t> sums(static_cast<size_t>(total_bins));
  std::vector<bool> poisoned(static_cast<size_t>(total_bins));
  for (const histogram_update& u : updates) {
    const double v = x[static_cast<size_t>(u.row)];
    if (std::isfinite(v))
      sums[static_cast<size_t>(u.slot)] += on_grid(v, e);
    else
      poisoned[static_cast<size_t>(u.slot)] = true;
  }
  std::vector<double> values(sums.size());
  for (size_t i = 0; i < sums.size(); ++i)
    values[i] = poisoned[i] ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(static_cast<double>(sums[i]), -e);
  return values;
}

std::vector<int64_t> integer_histogram(std::span<const histogram_update> updates, std::span<const int64_t> x,
                                       int64_t total_bins) {
  std::vector<int64_t> sums(static_cast<size_t>(total_bins));
  for (const histogram_update& u : updates) sums[static_cast<size_t>(u.slot)] += x[static_cast<size_t>(u.row)];
  return sums;
}

void judged_sum::add(double x) {
  ++count_;
  if (!std::isfinite(x)) {
    ++nonfinite_;
    return;
  }
  sum_.add(x);
  sizes_.add(std::fabs(x));
}

judgement judged_sum::judge_within(double actual, const integer& allowed, const integer& scale) const {
  judgement j{.expected = expected()};
  // In units of 2^-1074, rounded up; then the double above the nearest.
  j.bound = allowed == 0 ? 0 : std::nextafter(nearest_double(integer((allowed + scale - 1) / scale)), k_infinity);
  j.error = j.error_ulp = k_infinity;
  if (!std::isfinite(actual)) return j;
  exact_sum term;
  term.add(actual);
  const integer error = abs(integer(term.units() - sum_.units()));
  j.accepted = error * scale <= allowed;
  j.error = nearest_double(error);
  // Converted to doubles that agree with the verdict.
  if (j.accepted) j.error = std::min(j.error, j.bound);
  if (!j.accepted && j.error <= j.bound) j.error = std::nextafter(j.bound, k_infinity);
  j.error_ulp = j.error / ulp(dtype::f64, j.expected);
  return j;
}

judgement judged_sum::judge(double actual, const integer& weight, const integer& scale, bool may_overflow) const {
  if (!std::isfinite(actual) && (nonfinite_ > 0 || may_overflow)) return {.accepted = true, .expected = expected()};
  if (nonfinite_ > 0) {
    judgement j{.expected = std::numeric_limits<double>::quiet_NaN()};
    j.error = j.error_ulp = k_infinity;
    return j;
  }
  return judge_within(actual, sizes_.units() * weight, scale);
}

judgement judged_sum::judge_float32(double actual) const {
  const gamma tile(std::min(count_, k_tile_rows), 24), all(count_, 53);
  // A partial sum of f32 additions may reach 2^128 (1 - 2^-25), as for the row sums.
  const bool may_overflow = sizes_.units() * (tile.scale + tile.weight) >= (integer(1) << (128 + 1074)) * tile.scale;
  return judge(actual, tile.weight * all.scale + all.weight * tile.scale, tile.scale * all.scale, may_overflow);
}

judgement judged_sum::judge_float64(double actual) const {
  const gamma all(count_, 53);
  return judge(actual, all.weight, all.scale, false);
}

judgement judged_sum::judge_fix(double actual) const {
  const gamma all(48, 53);
  return judge(actual, all.weight, all.scale, false);
}

judgement judged_sum::judge_fixed64(double actual, int e) const {
  if (nonfinite_ > 0) return judge_fixed(dtype::f64, actual, std::numeric_limits<double>::quiet_NaN());
  return judge_within(actual, integer(count_) << (1074 - e - 1), 1);
}

std::vector<bound_term> float32_terms(int64_t count, double sizes) {
  const gamma tile(std::min(count, k_tile_rows), 24), all(count, 53);
  return {{"additions in f32, of tiles of 16384 rows", tile.value() * sizes},
          {"additions of the tiles in f64", all.value() * sizes}};
}

std::vector<bound_term> float64_terms(int64_t count, double sizes) {
  return {{"additions in f64, one after another", gamma(count, 53).value() * sizes}};
}

std::vector<bound_term> fix_terms(double sizes) {
  return {{"additions in f64, in chains of 48", gamma(48, 53).value() * sizes}};
}

double judged_sum::expected() const { return nearest_double(sum_.units()); }

std::string judged_sum::expected_text() const { return mp50(mp50(sum_.units().str()) * pow(mp50(2), -1074)).str(20); }

}  // namespace warpcheck::reference
