#include "reference/formula/evaluate.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "reference/formula/exact.hpp"
#include "reference/formula/walker.hpp"

namespace warpcheck::formula {

using reference::bounded_value, reference::judgement, reference::mp100, reference::mp50, reference::precision;

namespace {

// Called for each element. A type without memory gets f64, and no output has such a type.
dtype dtype_of(number_type t) {
  static constexpr auto k_types = [] {
    std::array<dtype, std::size(k_type_names)> types{};
    for (size_t i = 0; i < types.size(); ++i) types[i] = dtype_from_name(k_type_names[i]).value_or(dtype::f64);
    return types;
  }();
  return k_types[static_cast<size_t>(t)];
}

uint8_t special_of(double x) {
  if (std::isnan(x)) return not_a_number;
  return x == k_inf ? plus_infinity : x == -k_inf ? minus_infinity : 0;
}

}  // namespace

struct evaluation::parts {
  parts(const formula_operator& given, const call_data& call)
      : op(expanded(given)), code(op, call), bounds(code, bound_algebra(parse_contract(op.contract))) {}

  definition_code& find(std::string_view name) {
    definition_code* const d = code.find(name);
    if (!d) throw formula_error(std::string(name) + ": it is not a definition");
    return *d;
  }
  // Adds the rounding of an f32 output of a formula in f64.
  bounded with_rounding(const definition_code& d, bounded b) {
    const bool is_wide = d.output && !is_integer(d.output->type) && size_of(dtype_of(d.output->type)) > 2;
    return is_wide ? bounds.algebra().as_output(b, d.output->type) : b;
  }

  // The walker in more digits, made at its first use.
  template <class Real>
  walker<exact_algebra<Real>>& exactly(std::unique_ptr<walker<exact_algebra<Real>>>& kept) {
    if (!kept) kept = std::make_unique<walker<exact_algebra<Real>>>(code, exact_algebra<Real>());
    return *kept;
  }

  formula_operator op;
  program code;
  walker<bound_algebra> bounds;
  std::unique_ptr<walker<exact_algebra<mp50>>> exact50;
  std::unique_ptr<walker<exact_algebra<mp100>>> exact100;
};

evaluation::evaluation(const formula_operator& op, const call_data& call) : parts_(std::make_unique<parts>(op, call)) {}
evaluation::~evaluation() = default;

std::vector<int64_t> evaluation::shape_of(std::string_view output) const { return parts_->find(output).sizes; }

bounded evaluation::element(std::string_view output, int64_t i) {
  const definition_code& d = parts_->find(output);
  return parts_->with_rounding(d, parts_->bounds.element(d, i));
}

int64_t evaluation::operations() const { return parts_->bounds.operations(); }

namespace {

// The model for decide(): the exact value in the requested precision, and the bound in double.
struct element_model {
  const std::function<bounded_value<double>()>& in_double;
  const std::function<bounded_value<mp50>()>& in_50;
  const std::function<bounded_value<mp100>()>& in_100;

  template <class Real>
  bounded_value<Real> evaluate(int64_t) const {
    if constexpr (std::is_same_v<Real, double>) {
      return in_double();
    } else if constexpr (std::is_same_v<Real, mp50>) {
      return in_50();
    } else {
      return in_100();
    }
  }
};

// Accepts the value, because every other finite number would be accepted, too.
judgement free_verdict(judgement j) {
  j.bound = k_inf;
  return j;
}

judgement verdict(bool accepted, double actual, double expected, dtype type) {
  if (accepted) {
    judgement j;
    j.accepted = true;
    j.expected = expected;
    return j;
  }
  judgement j = reference::judge_fixed(type, actual, expected);
  j.accepted = false;
  if (!(j.error > 0)) j.error = k_inf;
  return j;
}

// A float of 8 bits is the rounding of a value that the bound admits. Beyond the range a conversion saturates in one
// mode of the OCP specification and gives Inf, or NaN of e4m3, in the other; both are accepted.
judgement judge_8_bits(dtype type, double actual, const bounded& b) {
  const double most = reference::max_finite(type), omega = reference::overflow_threshold(type);
  double low = b.is_finite() ? b.lower() : b.v, high = b.is_finite() ? b.upper() : b.v;
  if (b.s & plus_infinity) high = k_inf;
  if (b.s & minus_infinity) low = -k_inf;
  const auto held = [&](double x) { return std::clamp(reference::round_to(type, x), -most, most); };
  const bool is_over = high >= omega, is_under = low <= -omega;
  judgement j;
  j.expected = b.v;
  if (std::isnan(actual)) {
    j.accepted = std::isnan(b.v) || (b.s & not_a_number) || (type == dtype::e4m3 && (is_over || is_under));
  } else if (std::isinf(actual)) {
    j.accepted = actual > 0 ? is_over : is_under;
  } else {
    j.accepted = actual >= held(low) && actual <= held(high);  // false where the exact value is NaN
  }
  if (!j.accepted || !std::isfinite(actual) || !std::isfinite(b.v)) return verdict(j.accepted, actual, b.v, type);
  j.error = std::fabs(actual - b.v);
  j.bound = std::max({j.error, held(high) - b.v, b.v - held(low)});
  j.error_ulp = j.error / reference::ulp(type, b.v);
  return held(low) == -most && held(high) == most ? free_verdict(j) : j;
}

// A whole number is correct if the bound admits it, such as both neighbours of a midpoint under `round`.
judgement judge_whole(double actual, const bounded& b) {
  const bool is_free = b.e == k_inf || b.s != 0 || !b.is_finite();  // NaN as an integer is not specified
  const bool accepted = is_free || actual == b.v || (actual >= b.lower() && actual <= b.upper());
  const judgement j = verdict(accepted, actual, b.v, dtype::f64);
  return is_free ? free_verdict(j) : j;
}

}  // namespace

judgement evaluation::judge(std::string_view output, int64_t i, double actual, precision policy) {
  const definition_code& d = parts_->find(output);
  const bounded b = element(output, i);
  const dtype type = d.output ? dtype_of(d.output->type) : dtype::f32;
  const code::form form = d.value->what;
  const bool chooses =
      form == code::form::reduce && (d.value->by == reduction::argmax || d.value->by == reduction::argmin);
  if (chooses && b.e > 0) {
    // Accepts any index whose value may be the largest.
    const double sign = d.value->by == reduction::argmax ? 1 : -1;
    double best = -k_inf, mine = -k_inf;
    parts_->bounds.terms(d, i, [&](const bounded& t, int64_t index) {
      const bool is_plain = t.is_finite() && t.s == 0;
      best = std::fmax(best, is_plain ? (sign > 0 ? t.lower() : -t.upper()) : -k_inf);
      if (static_cast<double>(index) == actual)
        mine = t.s != 0 || std::isnan(t.v) ? k_inf : sign > 0 ? t.upper() : -t.lower();
    });
    return verdict(mine >= best && mine > -k_inf, actual, b.v, dtype::f64);
  }
  if (d.output && is_integer(d.output->type)) return judge_whole(actual, b);
  if (b.e == k_inf) return free_verdict(verdict(true, actual, b.v, type));
  if (d.output && has_8_bits(d.output->type)) return judge_8_bits(type, actual, b);
  const uint8_t kind_of_actual = special_of(actual);
  if (kind_of_actual != 0 && (kind_of_actual & b.s)) return verdict(true, actual, b.v, type);
  if (b.is_special()) return verdict(kind_of_actual == special_of(b.v), actual, b.v, type);
  if (b.is_beyond())
    return verdict(std::signbit(actual) == std::signbit(b.v) && std::fabs(actual) >= b.r, actual, b.v, type);
  const reference::enclosure bound(b.e);
  const auto exact = [&]<class Real>(std::unique_ptr<walker<exact_algebra<Real>>>& kept) {
    const auto v = parts_->exactly(kept).element(d, i);
    // If the value of more digits lies outside the double enclosure, which holds the exact value, the digits took
    // another branch of a tie.
    const bool agrees =
        v.special == 0 && v.x.radius < k_inf &&
        std::fabs(static_cast<double>(Real(v.x.value - Real(b.v)))) <= (b.r + v.x.radius) * (1 + 0x1p-40);
    return bounded_value<Real>{agrees ? v.x : basic_enclosure<Real>(Real(b.v), b.r), basic_enclosure<Real>(b.e)};
  };
  const std::function<bounded_value<double>()> in_double = [&] { return bounded_value<double>{{b.v, b.r}, bound}; };
  const std::function<bounded_value<mp50>()> in_50 = [&] { return exact(parts_->exact50); };
  const std::function<bounded_value<mp100>()> in_100 = [&] { return exact(parts_->exact100); };
  const judgement j = reference::decide<mp50, mp100>(type, actual, policy, element_model{in_double, in_50, in_100}, i);
  const bool is_free =
      j.accepted && std::isfinite(actual) && j.bound > reference::overflow_threshold(type) + std::fabs(b.v);
  return is_free ? free_verdict(j) : j;
}

demand evaluation::demand_of(std::string_view output, int64_t i) {
  const definition_code& d = parts_->find(output);
  const bounded b = element(output, i);
  demand y{b.v, b.e, b.s, b.e == k_inf};
  const bool is_float = d.output && !is_integer(d.output->type);
  if (is_float && b.is_finite() && size_of(dtype_of(d.output->type)) <= 2)
    y.bound =
        reference::output_bound(dtype_of(d.output->type), bounded_value<double>{{b.v, b.r}, reference::enclosure(b.e)})
            .upper();
  return y;
}

namespace {

std::string special_text(double x) { return std::isnan(x) ? "nan" : x > 0 ? "+inf" : "-inf"; }

}  // namespace

std::string evaluation::text(std::string_view output, int64_t i) {
  const auto v = parts_->exactly(parts_->exact50).element(parts_->find(output), i);
  return v.special != 0 ? special_text(v.special) : v.x.value.str(20);
}

std::string evaluation::long_text(std::string_view output, int64_t i) {
  const auto v = parts_->exactly(parts_->exact100).element(parts_->find(output), i);
  if (v.special != 0) return special_text(v.special);
  const bool is_certain = v.x.radius == 0 || mp100(v.x.radius) <= abs(v.x.value) * mp100("1e-50");
  return is_certain ? v.x.value.str() : "";
}

}  // namespace warpcheck::formula
