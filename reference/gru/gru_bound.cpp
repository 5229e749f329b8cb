#include "reference/gru/gru_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "reference/gru/gru_bound_parts.hpp"
#include "reference/gru/gru_step.hpp"

namespace warpcheck::reference {
namespace {

using gru_balls::ball;
using gru_balls::exactly;
using gru_balls::products;
using gru_balls::rounded;
using gru_balls::row_model;
using gru_balls::unit_step;

using gradients_of_step = std::vector<row_model::gradient>;

// Sums over the steps of all rows: the gradients of weights, biases and inputs.
class gradient_sums {
 public:
  gradient_sums(const gru_problem<double>& p, const gru_accuracy& a) : p_(p), shape_(p.shape) {
    const auto assign = [](std::vector<products>& sums, int64_t size, const products& empty) {
      sums.assign(static_cast<size_t>(size), empty);
    };
    assign(sums_.dx, shape_.x_size(), {a, a.input, 3 * shape_.hidden * shape_.directions, false});
    const products over_rows(a, a.rows, shape_.time * shape_.batch, false);
    assign(sums_.dw_ih, shape_.w_ih_size(), over_rows);
    assign(sums_.dw_hh, shape_.w_hh_size(), over_rows);
    // Sums for biases have no products, so they are f32 in every precision.
    const gru_accuracy plain{dot_arithmetic::ieee, {}, {}, {a.rows.depth, 0}};
    const products alone(plain, plain.rows, shape_.time * shape_.batch, false);
    assign(sums_.db_ih, shape_.bias_size(), alone);
    assign(sums_.db_hh, shape_.bias_size(), alone);
  }

  void add(int d, int64_t t, int64_t b, const gradients_of_step& step, const std::vector<ball>& h_prev) {
    for (int g = 0; g < 3; ++g)
      for (int64_t k = 0; k < shape_.hidden; ++k) {
        const ball &dgi = step[static_cast<size_t>(k)].dgi(g), &dgh = step[static_cast<size_t>(k)].dgh(g);
        for (int64_t i = 0; i < shape_.input; ++i) {
          const size_t at = shape_.w_ih(d, g, k, i), of_x = shape_.x(t, b, i);
          sums_.dx[of_x].add(p_.w_ih[at], dgi);
          sums_.dw_ih[at].add(p_.x[of_x], dgi);
        }
        for (int64_t j = 0; j < shape_.hidden; ++j)
          sums_.dw_hh[shape_.w_hh(d, g, k, j)].add(h_prev[static_cast<size_t>(j)], dgh);
        sums_.db_ih[shape_.bias(d, g, k)].add(1, dgi);
        sums_.db_hh[shape_.bias(d, g, k)].add(1, dgh);
      }
  }

  template <class See>
  void for_each(See see) const {
    const auto of = gru_tensors<products>();
    const auto to = gru_tensors<double>();
    for (size_t k = 0; k < of.size(); ++k) {
      const std::vector<products>& sums = sums_.*of[k].gradient;
      for (size_t i = 0; i < sums.size(); ++i) see(to[k].gradient_name, to[k].gradient, i, sums[i]);
    }
  }

 private:
  const gru_problem<double>& p_;
  const gru_shape& shape_;
  gru_gradients<products> sums_;  // those of states stay empty
};

// The gradient of h_reset: one addition for each segment after the first.
class reset_sum {
 public:
  void add(const ball& dh) { sum_ = count_++ == 0 ? dh : rounded(sum_ + dh); }
  const ball& sum() const { return sum_; }

 private:
  ball sum_;
  int64_t count_ = 0;
};

std::vector<ball> exact_balls(const std::vector<double>& values) {
  std::vector<ball> balls;
  for (const double v : values) balls.push_back(exactly(v));
  return balls;
}

// Radii that propagate from step to step: radius_s = sum over s' <= s of |M_s ... M_(s'+1)| local_s'. Absolute values
// are taken between blocks of steps; a block is long enough for its products to contract, or all there is. jacobians[s]
// leads from step s - 1 to s (empty: no dependence).
class flow {
 public:
  flow(const std::vector<std::vector<double>>& jacobians, const std::vector<std::vector<double>>& locals, size_t size)
      : jacobians_(jacobians), locals_(locals), size_(size) {}

  std::vector<std::vector<double>> radii() const {
    const size_t steps = locals_.size();
    for (size_t length = 8;; length *= 2) {
      bool contracts = true;
      const auto found = with_blocks(length, &contracts);
      if (contracts || length >= steps) return found;
    }
  }

 private:
  using matrix = std::vector<double>;

  std::vector<std::vector<double>> with_blocks(size_t length, bool* contracts) const {
    const size_t steps = locals_.size();
    std::vector<std::vector<double>> out;
    for (size_t begin = 0; begin < steps; begin += length) {
      const size_t end = std::min(steps, begin + length);
      // The radius that enters the block, then that of each step of it, with the products that lead to the current
      // step.
      std::vector<std::vector<double>> sources;
      std::vector<matrix> ways;
      if (begin > 0) {
        sources.push_back(out.back());
        ways.push_back(identity());
      }
      for (size_t s = begin; s < end; ++s) {
        for (matrix& way : ways) way = times(jacobians_[s], way);
        sources.push_back(locals_[s]);
        ways.push_back(identity());
        std::vector<double> radius(size_, 0);
        for (size_t i = 0; i < ways.size(); ++i)
          for (size_t k = 0; k < size_; ++k)
            for (size_t j = 0; j < size_; ++j) radius[k] += std::fabs(ways[i][k * size_ + j]) * sources[i][j];
        out.push_back(radius);
      }
      if (begin > 0 && end < steps && norm(ways.front()) >= 1) *contracts = false;
    }
    return out;
  }
  matrix identity() const {
    matrix m(size_ * size_, 0);
    for (size_t k = 0; k < size_; ++k) m[k * size_ + k] = 1;
    return m;
  }
  matrix times(const matrix& a, const matrix& b) const {
    matrix c(size_ * size_, 0);
    if (a.empty()) return c;
    for (size_t i = 0; i < size_; ++i)
      for (size_t k = 0; k < size_; ++k)
        for (size_t j = 0; j < size_; ++j) c[i * size_ + j] += a[i * size_ + k] * b[k * size_ + j];
    return c;
  }
  double norm(const matrix& m) const {
    double largest = 0;
    for (size_t i = 0; i < size_; ++i) {
      double row = 0;
      for (size_t j = 0; j < size_; ++j) row += std::fabs(m[i * size_ + j]);
      largest = std::max(largest, row);
    }
    return largest;
  }

  const std::vector<std::vector<double>>& jacobians_;
  const std::vector<std::vector<double>>& locals_;
  size_t size_;
};

std::vector<double> transposed(const std::vector<double>& m, size_t size) {
  std::vector<double> t(m.size());
  for (size_t i = 0; i < size && !m.empty(); ++i)
    for (size_t j = 0; j < size; ++j) t[j * size + i] = m[i * size + j];
  return t;
}

double row_sum_norm(const gru_problem<double>& p) {
  double largest = 0;
  const auto row = static_cast<size_t>(p.shape.hidden);
  for (size_t begin = 0; begin < p.w_hh.size(); begin += row) {
    double sum = 0;
    for (size_t i = begin; i < begin + row; ++i) sum += std::fabs(p.w_hh[i]);
    largest = std::max(largest, sum);
  }
  return largest;
}

// A row of one direction, step by step: radii of states forwards, of e backwards.
class row_trajectory {
 public:
  row_trajectory(const gru_problem<double>& p, const gru_states<double>& exact, const gru_accuracy& forward,
                 const gru_accuracy& backward, int d, int64_t b)
      : shape_(p.shape),
        exact_(exact),
        row_(p, forward, d, b),
        back_(p, backward, d, b),
        d_(d),
        b_(b),
        hidden_(static_cast<size_t>(p.shape.hidden)),
        steps_(static_cast<size_t>(row_.walk().length)),
        jacobians_(steps_),
        states_(steps_),
        h_prev_(steps_),
        units_(steps_) {
    std::vector<std::vector<double>> locals(steps_);
    for (size_t s = 0; s < steps_; ++s) {
      states_[s] = row_.entering(exact.y, static_cast<int64_t>(s));
      units_[s] = row_.forward(states_[s], static_cast<int64_t>(s));
      if (entry(s) == gru_entry::carried) jacobians_[s] = row_.jacobian(units_[s]);
      for (const unit_step& u : units_[s]) locals[s].push_back(u.h.radius);
    }
    beta_ = flow(jacobians_, locals, hidden_).radii();
  }

  void write_states(gru_radii& out) const {
    for (size_t s = 0; s < steps_; ++s) {
      const auto wide = row_.widened(units_[s], entering_radius(s));
      for (size_t k = 0; k < hidden_; ++k) {
        const auto unit = static_cast<int64_t>(k);
        out.y[shape_.y(time(s), b_, d_, unit)] = beta_[s][k];
        if (s + 1 == steps_) out.hn[shape_.state(d_, b_, unit)] = beta_[s][k];
        const ball blocks[] = {wide[k].r, wide[k].z, wide[k].n, wide[k].hn};
        for (int i = 0; i < 4; ++i) out.history[shape_.history(d_, time(s), b_, i, unit)] = blocks[i].radius;
      }
    }
  }

  // Gives the gates the radii that they have when the backward pass reads them.
  void take_gates(gru_gates gates) {
    for (size_t s = 0; s < steps_; ++s) {
      h_prev_[s] = exact_balls(states_[s]);
      if (gates == gru_gates::given_history) {
        units_[s] = row_.saved(exact_.history, states_[s], static_cast<int64_t>(s));
        continue;
      }
      const auto beta = entering_radius(s);
      if (gates == gru_gates::recomputed) units_[s] = back_.forward(states_[s], static_cast<int64_t>(s));
      units_[s] = row_.widened(units_[s], beta);
      for (size_t k = 0; k < hidden_; ++k) h_prev_[s][k].radius = beta[k];
    }
  }

  // In the order of the backward pass: index i is step steps - 1 - i. First come each step's own radii, without
  // contributions of later steps.
  std::vector<std::vector<double>> radii_of_e(const std::vector<double>& dy, const std::vector<double>& dhn,
                                              const std::vector<double>& trace_e) const {
    std::vector<std::vector<double>> turned(steps_), arriving(steps_);
    std::vector<ball> dh = last(dhn);
    for (size_t i = 0; i < steps_; ++i) {
      const size_t s = steps_ - 1 - i;
      for (size_t k = 0; k < hidden_; ++k)
        arriving[i].push_back(back_.arriving(dy, static_cast<int64_t>(s), static_cast<int64_t>(k), dh[k]).radius);
      if (i > 0 && !jacobians_[s + 1].empty()) turned[i] = transposed(jacobians_[s + 1], hidden_);
      const auto e = exact_e(trace_e, s);
      dh = back_.carried(units_[s], gradients_at(s, e), e);
      if (entry(s) == gru_entry::reset) dh.assign(hidden_, {});
    }
    return flow(turned, arriving, hidden_).radii();
  }

  void write_gradients(const std::vector<std::vector<double>>& e_radius, const std::vector<double>& dhn,
                       const std::vector<double>& trace_e, gradient_sums& sums, gru_radii& out) const {
    std::vector<reset_sum> of_resets(hidden_);
    std::vector<ball> dh = last(dhn);
    for (size_t i = 0; i < steps_; ++i) {
      const size_t s = steps_ - 1 - i;
      auto e = exact_e(trace_e, s);
      for (size_t k = 0; k < hidden_; ++k) {
        e[k].radius = e_radius[i][k];
        out.gradients.trace_e[shape_.trace(d_, time(s), b_, static_cast<int64_t>(k))] = e[k].radius;
      }
      const auto g = gradients_at(s, e);
      sums.add(d_, time(s), b_, g, h_prev_[s]);
      dh = back_.carried(units_[s], g, e);
      if (entry(s) != gru_entry::reset) continue;
      for (size_t k = 0; k < hidden_; ++k) {
        of_resets[k].add(dh[k]);
        dh[k] = {};
      }
    }
    for (size_t k = 0; k < hidden_; ++k) {
      const size_t at = shape_.state(d_, b_, static_cast<int64_t>(k));
      out.gradients.dh0[at] = dh[k].radius;
      out.gradients.dh_reset[at] = of_resets[k].sum().radius;
    }
  }

 private:
  int64_t time(size_t s) const { return row_.walk().time(static_cast<int64_t>(s)); }
  gru_entry entry(size_t s) const { return row_.walk().entry(static_cast<int64_t>(s)); }

  std::vector<double> entering_radius(size_t s) const {
    return entry(s) == gru_entry::carried ? beta_[s - 1] : std::vector<double>(hidden_, 0);
  }

  std::vector<ball> last(const std::vector<double>& dhn) const {
    std::vector<ball> dh(hidden_);
    for (size_t k = 0; k < hidden_; ++k)
      dh[k] = exactly(element_or_zero(dhn, shape_.state(d_, b_, static_cast<int64_t>(k))));
    return dh;
  }

  std::vector<ball> exact_e(const std::vector<double>& trace_e, size_t s) const {
    std::vector<ball> e(hidden_);
    for (size_t k = 0; k < hidden_; ++k) e[k].value = trace_e[shape_.trace(d_, time(s), b_, static_cast<int64_t>(k))];
    return e;
  }

  gradients_of_step gradients_at(size_t s, const std::vector<ball>& e) const {
    gradients_of_step g;
    for (size_t k = 0; k < hidden_; ++k) g.push_back(row_model::gradients_of(units_[s][k], h_prev_[s][k], e[k]));
    return g;
  }

  const gru_shape& shape_;
  const gru_states<double>& exact_;
  const row_model row_, back_;  // by the accuracy of either pass
  const int d_;
  const int64_t b_;
  const size_t hidden_, steps_;
  std::vector<std::vector<double>> jacobians_, states_, beta_;
  std::vector<std::vector<ball>> h_prev_;
  std::vector<std::vector<unit_step>> units_;
};

}  // namespace

gru_accuracy gru_allowed_chains(const gru_shape& shape, dot_arithmetic arithmetic, bool halves) {
  const auto longest = [&](int64_t products) -> gru_chain {
    if (!on_tensor_cores(arithmetic)) return {products, 0};
    const int64_t promotion = is_rounded_once(arithmetic) ? std::max<int64_t>(1, products) : k_promotion;
    return {products, chains_of(arithmetic, products, {1, products}, promotion, halves).steps};
  };
  return {arithmetic, longest(std::max(shape.input, 3 * shape.hidden * shape.directions)), longest(3 * shape.hidden),
          longest(shape.time * shape.batch)};
}

void gru_verdict::take(const char* tensor, size_t i, double actual, double expected, double bound) {
  if (see) see(tensor, i, actual, expected, bound);
  const bool same = actual == expected || (std::isnan(actual) && std::isnan(expected));
  const double error = same ? 0 : std::fabs(actual - expected);
  double ratio = error == 0 ? 0 : error / bound;
  if (std::isnan(ratio)) ratio = std::numeric_limits<double>::infinity();
  if (ratio <= worst) return;
  worst = ratio;
  where = std::string(tensor) + "[" + std::to_string(i) + "] is " + std::to_string(actual) + ", exactly " +
          std::to_string(expected) + ", off by " + std::to_string(ratio) + " of its bound";
}

namespace {

// An infinity or NaN passes if its class is possible, a finite number if it lies within the ball.
void take(gru_verdict& verdict, const char* tensor, size_t i, double actual, const ball& expected) {
  const gru_balls::classes is = gru_balls::class_of(actual);
  if (is != gru_balls::k_finite && (expected.may_be & is) != 0)
    verdict.take(tensor, i, actual, actual, 0);
  else if ((expected.may_be & gru_balls::k_finite) != 0)
    verdict.take(tensor, i, actual, expected.value, expected.radius);
  else
    verdict.take(tensor, i, actual, expected.value, 0);
}

}  // namespace

gru_verdict judge_gru_steps(const gru_problem<double>& p, const gru_states<double>& actual,
                            const gru_accuracy& accuracy, gru_observer see_element, const gru_parts_observer& parts) {
  const gru_shape& shape = p.shape;
  gru_verdict verdict;
  verdict.see = std::move(see_element);
  for (int d = 0; d < shape.directions; ++d)
    for (int64_t b = 0; b < shape.batch; ++b) {
      const row_model row(p, accuracy, d, b);
      const auto see = [&](int64_t t, int64_t k, const unit_step& u) {
        const size_t i = shape.y(t, b, d, k);
        take(verdict, "y", i, actual.y[i], u.h);
        if (parts) parts("y", i, u.h_radius());
        if (actual.history.empty()) return;
        const ball blocks[] = {u.r, u.z, u.n, u.hn};
        for (int block = 0; block < 4; ++block) {
          const size_t at = shape.history(d, t, b, block, k);
          take(verdict, "history", at, actual.history[at], blocks[block]);
          if (!parts) continue;
          parts("history", at,
                block == 3 ? gru_balls::parts{{"additions of products in f32", u.hn.radius}}
                           : unit_step::gate_radius(blocks[block], accuracy));
        }
      };
      for (int64_t step = 0; step < row.walk().length; ++step) {
        const auto units = row.forward(row.entering(actual.y, step), step);
        for (int64_t k = 0; k < shape.hidden; ++k) see(row.walk().time(step), k, units[static_cast<size_t>(k)]);
      }
      for (int64_t t = row.walk().length; t < shape.time; ++t)  // padding: zeros without an error
        for (int64_t k = 0; k < shape.hidden; ++k) see(t, k, {});
      for (int64_t k = 0; k < shape.hidden && !actual.hn.empty(); ++k) {
        const size_t i = shape.state(d, b, k);
        const double last = row.walk().length == 0 ? element_or_zero(p.h0, i)
                                                   : actual.y[shape.y(row.walk().time(row.walk().length - 1), b, d, k)];
        verdict.take("hn", i, actual.hn[i], last, 0);
      }
    }
  return verdict;
}

gru_verdict judge_gru_steps(const gru_problem<double>& p, const gru_states<double>& actual,
                            const gru_accuracy& accuracy, gru_observer see) {
  return judge_gru_steps(p, actual, accuracy, std::move(see), nullptr);
}

gru_verdict judge_gru_gradient_steps(const gru_problem<double>& p, const gru_states<double>& given,
                                     const std::vector<double>& dy, const std::vector<double>& dhn,
                                     const gru_gradients<double>& actual, const gru_accuracy& accuracy,
                                     gru_observer see_element, const gru_parts_observer& parts) {
  const gru_shape& shape = p.shape;
  const auto hidden = static_cast<size_t>(shape.hidden);
  gru_verdict verdict;
  verdict.see = std::move(see_element);
  gradient_sums sums(p, accuracy);
  for (int d = 0; d < shape.directions; ++d)
    for (int64_t b = 0; b < shape.batch; ++b) {
      const row_model row(p, accuracy, d, b);
      const gru_walk& walk = row.walk();
      std::vector<ball> dh(hidden);
      std::vector<reset_sum> of_resets(hidden);
      for (size_t k = 0; k < hidden; ++k)
        dh[k] = exactly(element_or_zero(dhn, shape.state(d, b, static_cast<int64_t>(k))));
      for (int64_t step = walk.length - 1; step >= 0; --step) {
        const std::vector<double> h = row.entering(given.y, step);
        const auto units = given.history.empty() ? row.forward(h, step) : row.saved(given.history, h, step);
        std::vector<ball> e(hidden);
        gradients_of_step g;
        for (size_t k = 0; k < hidden; ++k) {
          const ball expected = row.arriving(dy, step, static_cast<int64_t>(k), dh[k]);
          const size_t at = shape.trace(d, walk.time(step), b, static_cast<int64_t>(k));
          take(verdict, "trace_e", at, actual.trace_e[at], expected);
          e[k] = exactly(actual.trace_e[at]);
          g.push_back(row_model::gradients_of(units[k], exactly(h[k]), e[k]));
        }
        sums.add(d, walk.time(step), b, g, exact_balls(h));
        dh = row.carried(units, g, e);
        if (walk.entry(step) != gru_entry::reset) continue;
        for (size_t k = 0; k < hidden; ++k) {
          of_resets[k].add(dh[k]);
          dh[k] = {};
        }
      }
      for (int64_t t = walk.length; t < shape.time; ++t)
        for (int64_t k = 0; k < shape.hidden; ++k) {
          const size_t at = shape.trace(d, t, b, k);
          verdict.take("trace_e", at, actual.trace_e[at], 0, 0);
        }
      for (size_t k = 0; k < hidden; ++k) {
        const size_t at = shape.state(d, b, static_cast<int64_t>(k));
        if (!actual.dh0.empty()) take(verdict, "dh0", at, actual.dh0[at], dh[k]);
        if (!actual.dh_reset.empty()) take(verdict, "dh_reset", at, actual.dh_reset[at], of_resets[k].sum());
      }
    }
  sums.for_each([&](const char* name, std::vector<double> gru_gradients<double>::*to, size_t i, const products& sum) {
    if ((actual.*to).empty()) return;
    take(verdict, name, i, (actual.*to)[i], sum.sum());
    if (parts) parts(name, i, sum.radius());
  });
  return verdict;
}

gru_verdict judge_gru_gradient_steps(const gru_problem<double>& p, const gru_states<double>& given,
                                     const std::vector<double>& dy, const std::vector<double>& dhn,
                                     const gru_gradients<double>& actual, const gru_accuracy& accuracy,
                                     gru_observer see) {
  return judge_gru_gradient_steps(p, given, dy, dhn, actual, accuracy, std::move(see), nullptr);
}

bool is_finite(const gru_problem<double>& p) {
  const auto tensors = gru_tensors<double>();
  return std::ranges::all_of(tensors, [&](const auto& t) {
    return std::all_of((p.*t.value).begin(), (p.*t.value).end(), [](double e) { return std::isfinite(e); });
  });
}

gru_radii gru_trajectory(const gru_problem<double>& p, const std::vector<double>& dy, const std::vector<double>& dhn,
                         const gru_accuracy& forward, const gru_accuracy& backward, gru_gates gates) {
  const gru_shape& shape = p.shape;
  const gru_states<double> exact = gru_forward(p);
  const gru_gradients<double> exact_gradients = gru_backward(p, exact, dy, dhn);
  gru_radii out;
  const auto zeros = [](std::vector<double>& v, int64_t size) { v.assign(static_cast<size_t>(size), 0); };
  zeros(out.y, shape.y_size());
  zeros(out.hn, shape.state_size());
  zeros(out.history, shape.history_size());
  out.gradients = exact_gradients;  // for the sizes; every element is overwritten or zero
  zeros(out.gradients.trace_e, shape.trace_size());
  gradient_sums sums(p, backward);
  for (int d = 0; d < shape.directions; ++d)
    for (int64_t b = 0; b < shape.batch; ++b) {
      row_trajectory row(p, exact, forward, backward, d, b);
      row.write_states(out);
      row.take_gates(gates);
      const auto e_radius = row.radii_of_e(dy, dhn, exact_gradients.trace_e);
      row.write_gradients(e_radius, dhn, exact_gradients.trace_e, sums, out);
    }
  sums.for_each([&](const char*, std::vector<double> gru_gradients<double>::*to, size_t i, const products& sum) {
    (out.gradients.*to)[i] = sum.sum().radius;
  });
  for (const double r : out.y) out.largest = std::max(out.largest, r);
  out.largest *= 1 + row_sum_norm(p);
  if (!is_finite(p)) out.largest = std::numeric_limits<double>::infinity();
  return out;
}

}  // namespace warpcheck::reference
