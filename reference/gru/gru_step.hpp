// A step of a gated recurrent unit as a kernel computes it, with every number as a ball around the exact value; only
// for gru_bound.cpp and its parts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "reference/gru/gru.hpp"
#include "reference/gru/gru_bound.hpp"
#include "reference/numerics/bound_term.hpp"
#include "reference/numerics/dot_bound.hpp"

namespace warpcheck::reference::gru_balls {

inline constexpr double k_u = 0x1p-24;
inline constexpr double k_inf = std::numeric_limits<double>::infinity();
inline constexpr double k_half_eta = 0x1p-150;
inline constexpr double k_largest = 0x1.fffffep127;
inline constexpr double k_gate_error = 8 * k_u;    // of s and tanh, relatively (contract)
inline constexpr double k_gate_least = 0x1p-126;   // and absolutely
inline constexpr double k_double_slack = 0x1p-48;  // of s and tanh in double, and of the few operations around them

// The parts of a radius, for explanations.
using parts = std::vector<bound_term>;

// The classes that a number may have.
using classes = uint8_t;
inline constexpr classes k_finite = 1, k_plus = 2, k_minus = 4, k_nan = 8, k_anything = 15;

inline classes class_of(double v) {
  return std::isfinite(v) ? k_finite : std::isnan(v) ? k_nan : v > 0 ? k_plus : k_minus;
}

// A number that lies within `radius` of `value` if it is finite, and has one of these classes. If it cannot be finite,
// `value` is the infinity, or NaN if several classes are possible.
struct ball {
  double value = 0, radius = 0;
  classes may_be = k_finite;

  double size() const { return std::fabs(value) + radius; }
  bool is_finite() const { return may_be == k_finite; }
  bool may_be_zero() const { return (may_be & k_finite) != 0 && std::fabs(value) <= radius; }
};

inline ball exactly(double v) { return {v, 0, class_of(v)}; }
// A number that cannot be finite.
inline ball nowhere(classes c) {
  return {c == k_plus ? k_inf : c == k_minus ? -k_inf : std::numeric_limits<double>::quiet_NaN(), 0, c};
}

// The product by the rules of IEEE 754, if an operand may be an infinity or NaN.
ball special_product(const ball& a, const ball& b);
ball special_sum(const ball& a, const ball& b);
classes sum_of_classes(classes a, classes b);

// Exact operations on numbers that are known to a radius, and the rounding to f32 (with double's own, a part of 2^-20
// of it).
inline ball operator*(const ball& a, const ball& b) {
  if ((a.may_be | b.may_be) != k_finite) return special_product(a, b);
  return {a.value * b.value, std::fabs(a.value) * b.radius + std::fabs(b.value) * a.radius + a.radius * b.radius};
}
inline ball operator+(const ball& a, const ball& b) {
  if ((a.may_be | b.may_be) != k_finite) return special_sum(a, b);
  return {a.value + b.value, a.radius + b.radius};
}
inline ball operator-(const ball& a, const ball& b) { return a + b * ball{-1, 0}; }
// Rounds to f32; a value beyond the largest number may be an infinity.
inline ball rounded(const ball& a) {
  if ((a.may_be & k_finite) == 0) return a;
  ball r{a.value, a.radius + k_u * (1 + 0x1p-20) * a.size() + k_half_eta, a.may_be};
  if (r.value + r.radius > k_largest) r.may_be |= k_plus;
  if (r.value - r.radius < -k_largest) r.may_be |= k_minus;
  return r;
}
inline ball product(const ball& a, const ball& b) { return rounded(a * b); }

// A sum of products as a kernel adds it: its exact value, and the radius of section "Sums of products".
class products {
 public:
  // At most `count` products, and one more addition with a bias.
  products(const gru_accuracy& a, const gru_chain& chain, int64_t count, bool bias)
      : arithmetic_(a.arithmetic), count_(count + (bias ? 1 : 0)) {
    const int64_t additions = std::min(count, chain.depth + 1) + (bias ? 1 : 0);
    relative_ = dot_error<double>(arithmetic_, {chain.steps, additions}).upper();
  }
  void add(double a, const ball& b) {
    if (!b.is_finite() || !std::isfinite(a)) return add_special(exactly(a), b);
    const ball both = ball{a, 0} * b;
    value_ += both.value;
    spread_ += both.radius;
    sizes_ += std::fabs(a) * b.size();
    small_ += small_operand_error(arithmetic_, a, b.value);
  }
  void add(const ball& a, const ball& b) {
    if (!a.is_finite() || !b.is_finite()) return add_special(a, b);
    const ball both = a * b;
    value_ += both.value;
    spread_ += both.radius;
    sizes_ += a.size() * b.size();
    small_ += small_operand_error(arithmetic_, a.value, b.value);
  }
  ball sum() const {
    if ((may_be_ & k_finite) == 0) return nowhere(may_be_);
    if (sizes_ == 0) return {value_, spread_, may_be_};
    // A partial sum may overflow in one order and not in another. A split of operands grows the sizes by 2^-7 at most.
    const bool overflows = sizes_ * (1 + 0x1p-6 + relative_) + spread_ > k_largest;
    return {value_, spread_ + relative_ * sizes_ + tiny() + own(), overflows ? k_anything : may_be_};
  }
  parts radius() const {
    return {{"what its factors may err by", spread_},
            {"additions of products in f32", relative_ * sizes_},
            {"underflow, and the judge's own additions in f64", sizes_ == 0 ? 0 : tiny() + own()}};
  }

 private:
  double own() const { return static_cast<double>(count_ + 2) * k_double_unit * sizes_; }
  void add_special(const ball& a, const ball& b) {
    ball both = a * b;
    // A precision that rounds operands may turn the smallest ones into zeros.
    if (is_rounded_once(arithmetic_) && (rounds_to_zero(a) || rounds_to_zero(b)) && !both.is_finite())
      both.may_be |= k_nan;
    if ((both.may_be & k_finite) != 0) {
      value_ += both.value;
      spread_ += both.radius;
      sizes_ += a.size() * b.size();
      small_ += small_operand_error(arithmetic_, a.value, b.value);
    }
    may_be_ = sum_of_classes(may_be_, both.may_be);
  }
  static bool rounds_to_zero(const ball& a) { return a.is_finite() && std::fabs(a.value) - a.radius < 0x1p-126; }
  double tiny() const { return dot_absolute_error<double>(arithmetic_, 1, count_, enclosure(small_)).upper(); }

  dot_arithmetic arithmetic_;
  int64_t count_;
  double relative_ = 0, value_ = 0, spread_ = 0, sizes_ = 0, small_ = 0;
  classes may_be_ = k_finite;
};

// Returns the error that a gate function may have at a value.
inline double gate_error(const gru_accuracy& a, double value) {
  return std::max(k_gate_error * std::fabs(value) + k_gate_least, a.gates);
}

// Returns a monotone gate function of an argument in a ball, from the ball's ends.
template <class F>
ball gate(F f, const ball& a, const gru_accuracy& accuracy) {
  if (a.may_be == k_nan) return a;
  const bool finite = (a.may_be & k_finite) != 0;
  double low = finite ? f(a.value - a.radius) : k_inf, high = finite ? f(a.value + a.radius) : -k_inf;
  for (const auto& [is, end] : {std::pair{k_plus, k_inf}, std::pair{k_minus, -k_inf}})
    if ((a.may_be & is) != 0) low = std::min(low, f(end)), high = std::max(high, f(end));
  const double middle = finite ? f(a.value) : low + (high - low) / 2;
  const double size = std::max(std::fabs(low), std::fabs(high));
  return {middle, std::max(high - middle, middle - low) + gate_error(accuracy, size) + k_double_slack * size,
          static_cast<classes>(k_finite | (a.may_be & k_nan))};
}

// Unit k of a step.
struct unit_step {
  ball r, z, n, hn;
  double h_prev = 0;
  ball h;

  // The parts of the radius of h: fma(z, h, fma(-z, n, n)).
  parts h_radius() const {
    const double away = std::fabs(h_prev - n.value), open = 1 - z.value, grown = (1 + k_u) * (1 + 0x1p-20);
    const double of_z = grown * away * z.radius, of_n = grown * open * n.radius;
    return {{"gate z, times the way from n to the state", of_z},
            {"gate n, times 1 - z", of_n},
            {"two roundings", h.radius - of_z - of_n}};
  }
  // The parts of the radius of a gate: the allowance of its function, and the error of its argument.
  static parts gate_radius(const ball& g, const gru_accuracy& accuracy) {
    const double function = std::min(g.radius, gate_error(accuracy, g.value));
    return {{"the gate's argument: sums of products in f32", g.radius - function}, {"the gate's function", function}};
  }

  // Derivatives of the gates and of h by the unit's dot products with the state.
  double r_slope() const { return r.value * (1 - r.value); }
  double z_slope() const { return z.value * (1 - z.value); }
  double n_slope() const { return 1 - n.value * n.value; }
};

// Data of one row in one direction that both verdicts need.
class row_model {
 public:
  row_model(const gru_problem<double>& p, const gru_accuracy& a, int d, int64_t b)
      : p_(p), shape_(p.shape), accuracy_(a), d_(d), b_(b), walk_(p, d, b) {}

  const gru_walk& walk() const { return walk_; }

  std::vector<double> entering(const std::vector<double>& y, int64_t step) const {
    std::vector<double> h;
    for (int64_t k = 0; k < shape_.hidden; ++k) h.push_back(gru_entering(p_, y, walk_, d_, b_, step, k));
    return h;
  }

  // The step that a kernel computes from a state that it holds exactly.
  std::vector<unit_step> forward(const std::vector<double>& h, int64_t step) const {
    const int64_t t = walk_.time(step);
    std::vector<unit_step> units;
    for (int64_t k = 0; k < shape_.hidden; ++k) {
      ball of_x[3], of_h[3];
      for (int g = 0; g < 3; ++g) {
        of_x[g] = input_sum(t, g, k);
        of_h[g] = hidden_sum(h, g, k);
      }
      unit_step u;
      const auto sigmoid = [](double a) { return logistic(a); };
      u.r = gate(sigmoid, rounded(of_x[0] + of_h[0]), accuracy_);
      u.z = gate(sigmoid, rounded(of_x[1] + of_h[1]), accuracy_);
      u.hn = of_h[2];
      u.n = gate([](double a) { return std::tanh(a); }, rounded(of_x[2] + product(u.r, u.hn)), accuracy_);
      u.h_prev = h[static_cast<size_t>(k)];
      u.h = blend(u);
      units.push_back(u);
    }
    return units;
  }

  // The gates that a kernel wrote, as data.
  std::vector<unit_step> saved(const std::vector<double>& history, const std::vector<double>& h, int64_t step) const {
    std::vector<unit_step> units;
    for (int64_t k = 0; k < shape_.hidden; ++k) {
      const auto block = [&](int i) { return exactly(history[shape_.history(d_, walk_.time(step), b_, i, k)]); };
      units.push_back({block(0), block(1), block(2), block(3), h[static_cast<size_t>(k)], {}});
    }
    return units;
  }

  // d_r, d_z, d_n, d_n r of a unit, in the contract's order of products.
  struct gradient {
    ball of_gate[3], of_hn;
    const ball& dgi(int g) const { return of_gate[g]; }
    const ball& dgh(int g) const { return g == 2 ? of_hn : of_gate[g]; }
  };
  static gradient gradients_of(const unit_step& u, const ball& h_prev, const ball& e) {
    const ball one{1, 0};
    const ball open = rounded(one - u.z);
    const ball curve = rounded(one - u.n * u.n);
    gradient g;
    g.of_gate[2] = product(product(e, open), curve);
    g.of_gate[0] = product(product(product(g.of_gate[2], u.hn), u.r), rounded(one - u.r));
    g.of_gate[1] = product(product(product(e, rounded(h_prev - u.n)), u.z), open);
    g.of_hn = product(g.of_gate[2], u.r);
    return g;
  }

  // e z + W_hh^T dgh for every unit.
  std::vector<ball> carried(const std::vector<unit_step>& units, const std::vector<gradient>& g,
                            const std::vector<ball>& e) const {
    std::vector<ball> dh;
    for (int64_t j = 0; j < shape_.hidden; ++j) {
      products sum(accuracy_, accuracy_.hidden, 3 * shape_.hidden, false);
      for (int gate = 0; gate < 3; ++gate)
        for (int64_t k = 0; k < shape_.hidden; ++k)
          sum.add(p_.w_hh[shape_.w_hh(d_, gate, k, j)], g[static_cast<size_t>(k)].dgh(gate));
      const auto i = static_cast<size_t>(j);
      dh.push_back(rounded(product(e[i], units[i].z) + sum.sum()));
    }
    return dh;
  }

  // dy + dh; adding a zero rounds nothing.
  ball arriving(const std::vector<double>& dy, int64_t step, int64_t k, const ball& dh) const {
    const ball above = exactly(element_or_zero(dy, shape_.y(walk_.time(step), b_, d_, k)));
    return above.value == 0 ? dh : dh.size() == 0 ? above : rounded(above + dh);
  }

  // The Jacobian of a step, row-major.
  std::vector<double> jacobian(const std::vector<unit_step>& units) const {
    std::vector<double> a;
    for (int64_t k = 0; k < shape_.hidden; ++k) {
      const unit_step& u = units[static_cast<size_t>(k)];
      const double by_z = (u.h_prev - u.n.value) * u.z_slope(), by_n = (1 - u.z.value) * u.n_slope();
      for (int64_t j = 0; j < shape_.hidden; ++j)
        a.push_back((j == k ? u.z.value : 0) + by_z * w_hh(1, k, j) + by_n * n_by_state(u, k, j));
    }
    return a;
  }

  // The radii of the gates if the state is known to `beta` only.
  std::vector<unit_step> widened(std::vector<unit_step> units, const std::vector<double>& beta) const {
    for (int64_t k = 0; k < shape_.hidden; ++k) {
      unit_step& u = units[static_cast<size_t>(k)];
      for (int64_t j = 0; j < shape_.hidden; ++j) {
        const double by = beta[static_cast<size_t>(j)];
        const double n = std::fabs(u.n_slope() * n_by_state(u, k, j)) * by;
        u.r.radius += u.r_slope() * std::fabs(w_hh(0, k, j)) * by;
        u.z.radius += u.z_slope() * std::fabs(w_hh(1, k, j)) * by;
        u.n.radius += n;
        u.hn.radius += std::fabs(w_hh(2, k, j)) * by;
      }
    }
    return units;
  }

 private:
  double w_hh(int gate, int64_t k, int64_t j) const { return p_.w_hh[shape_.w_hh(d_, gate, k, j)]; }
  double n_by_state(const unit_step& u, int64_t k, int64_t j) const {
    return u.r.value * w_hh(2, k, j) + u.hn.value * u.r_slope() * w_hh(0, k, j);
  }
  ball input_sum(int64_t t, int g, int64_t k) const {
    products sum(accuracy_, accuracy_.input, shape_.input, !p_.b_ih.empty());
    for (int64_t i = 0; i < shape_.input; ++i)
      sum.add(p_.w_ih[shape_.w_ih(d_, g, k, i)], exactly(p_.x[shape_.x(t, b_, i)]));
    if (!p_.b_ih.empty()) sum.add(1, exactly(p_.b_ih[shape_.bias(d_, g, k)]));
    return sum.sum();
  }
  ball hidden_sum(const std::vector<double>& h, int g, int64_t k) const {
    products sum(accuracy_, accuracy_.hidden, shape_.hidden, !p_.b_hh.empty());
    for (int64_t j = 0; j < shape_.hidden; ++j) sum.add(w_hh(g, k, j), exactly(h[static_cast<size_t>(j)]));
    if (!p_.b_hh.empty()) sum.add(1, exactly(p_.b_hh[shape_.bias(d_, g, k)]));
    return sum.sum();
  }
  // fma(z, h, fma(-z, n, n)).
  static ball blend(const unit_step& u) {
    if (!u.z.is_finite() || !u.n.is_finite() || !std::isfinite(u.h_prev))
      return rounded(u.z * exactly(u.h_prev) + rounded(u.n - u.z * u.n));
    const double h = u.h_prev, z = u.z.value, n = u.n.value, open = 1 - z;
    const double inner = std::fabs(h - n) * u.z.radius + open * u.n.radius + u.z.radius * u.n.radius +
                         k_u * (open + u.z.radius) * (std::fabs(n) + u.n.radius);
    const double exact = open * n + z * h;
    const double radius = ((1 + k_u) * inner + k_u * std::fabs(exact)) * (1 + 0x1p-20) + 0x1p-148;
    return {exact, radius, std::fabs(exact) + radius > k_largest ? k_anything : k_finite};
  }

  const gru_problem<double>& p_;
  const gru_shape& shape_;
  const gru_accuracy& accuracy_;
  int d_;
  int64_t b_;
  gru_walk walk_;
};

}  // namespace warpcheck::reference::gru_balls
