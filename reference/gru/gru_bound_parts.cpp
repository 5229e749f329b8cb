#include "reference/gru/gru_bound_parts.hpp"

#include <cmath>

#include "reference/gru/gru_step.hpp"

namespace warpcheck::reference {
namespace {

float plain_logistic(float a) { return 1 / (1 + std::exp(-a)); }

}  // namespace

std::vector<model_step> gru_steps(const gru_problem<double>& p, const gru_states<double>& actual,
                                  const gru_accuracy& accuracy, int d, int64_t b, int64_t step, int64_t k) {
  const gru_balls::row_model row(p, accuracy, d, b);
  const std::vector<double> h = row.entering(actual.y, step);
  const gru_balls::unit_step u = row.forward(h, step)[static_cast<size_t>(k)];
  const int64_t t = row.walk().time(step);
  float of_x[3], of_h[3];
  for (const int gate : {0, 1, 2}) {
    of_x[gate] = static_cast<float>(gru_input_sum(p, d, t, b, gate, k));
    of_h[gate] = static_cast<float>(gru_hidden_sum(p, d, h, gate, k));
  }
  const float r = plain_logistic(of_x[0] + of_h[0]), z = plain_logistic(of_x[1] + of_h[1]),
              n = std::tanh(of_x[2] + r * of_h[2]), before = static_cast<float>(u.h_prev);
  const auto written = [&](int block) {
    return actual.history.empty() ? std::nan("") : actual.history[p.shape.history(d, t, b, block, k)];
  };
  return {{"state before", u.h_prev, before},
          {"W_ih x + b of n", gru_input_sum(p, d, t, b, 2, k), of_x[2]},
          {k_gru_blocks[3], u.hn.value, of_h[2], written(3)},
          {k_gru_blocks[0], u.r.value, r, written(0)},
          {k_gru_blocks[1], u.z.value, z, written(1)},
          {k_gru_blocks[2], u.n.value, n, written(2)},
          {"state h", u.h.value, (1 - z) * n + z * before,
           actual.y.empty() ? std::nan("") : actual.y[p.shape.y(t, b, d, k)]}};
}

}  // namespace warpcheck::reference
