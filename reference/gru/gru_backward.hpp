// Gradients of <dy, y> + <dhn, hn> of a gated recurrent unit (gru.hpp):
//
//   e = dy_t + dh      d_n = e (1 - z) (1 - n^2)      d_r = d_n hn r (1 - r)      d_z = e (h_prev - n) z (1 - z)
//   dgi = [d_r, d_z, d_n]      dgh = [d_r, d_z, d_n r]      dh := e z + W_hh^T dgh, from dh = dhn, steps backwards
//   dW_ih = sum dgi x^T      dW_hh = sum dgh h_prev^T      db_ih = sum dgi      db_hh = sum dgh      dx = sum W_ih^T
//   dgi
//
// Derived by the chain rule from the forward formulas; tested against differences of the forward pass.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/gru/gru.hpp"

namespace warpcheck::reference {

template <class S>
struct gru_gradients {
  std::vector<S> dx, dh0, dh_reset, dw_ih, dw_hh, db_ih, db_hh;
  std::vector<S> trace_e;  // e of every step
};

// A tensor with a gradient, and the gradient's place.
template <class S>
struct gru_tensor {
  const char *name, *gradient_name;
  std::vector<S> gru_problem<S>::*value;
  std::vector<S> gru_gradients<S>::*gradient;
  int64_t (gru_shape::*size)() const;
};
template <class S>
std::vector<gru_tensor<S>> gru_tensors() {
  using problem = gru_problem<S>;
  using gradients = gru_gradients<S>;
  return {{"x", "dx", &problem::x, &gradients::dx, &gru_shape::x_size},
          {"w_ih", "dw_ih", &problem::w_ih, &gradients::dw_ih, &gru_shape::w_ih_size},
          {"w_hh", "dw_hh", &problem::w_hh, &gradients::dw_hh, &gru_shape::w_hh_size},
          {"b_ih", "db_ih", &problem::b_ih, &gradients::db_ih, &gru_shape::bias_size},
          {"b_hh", "db_hh", &problem::b_hh, &gradients::db_hh, &gru_shape::bias_size},
          {"h0", "dh0", &problem::h0, &gradients::dh0, &gru_shape::state_size},
          {"h_reset", "dh_reset", &problem::h_reset, &gradients::dh_reset, &gru_shape::state_size}};
}

// `states` are those of the model's own forward pass (end to end), or y and the history that a kernel wrote (given
// history; hn is not read). Empty dy and dhn are zeros.
template <class S>
gru_gradients<S> gru_backward(const gru_problem<S>& p, const gru_states<S>& states, const std::vector<S>& dy,
                              const std::vector<S>& dhn) {
  const gru_shape& shape = p.shape;
  gru_gradients<S> out;
  for (const gru_tensor<S>& t : gru_tensors<S>())
    (out.*t.gradient).assign(static_cast<size_t>((shape.*t.size)()), S(0));
  out.trace_e.assign(static_cast<size_t>(shape.trace_size()), S(0));
  const auto hidden = static_cast<size_t>(shape.hidden);
  std::vector<S> h(hidden), dh(hidden), dgi[3], dgh[3];
  for (int gate = 0; gate < 3; ++gate) dgi[gate] = dgh[gate] = std::vector<S>(hidden);
  for (int d = 0; d < shape.directions; ++d)
    for (int64_t b = 0; b < shape.batch; ++b) {
      const gru_walk walk(p, d, b);
      for (size_t k = 0; k < hidden; ++k) dh[k] = element_or_zero(dhn, shape.state(d, b, static_cast<int64_t>(k)));
      for (int64_t step = walk.length - 1; step >= 0; --step) {
        const int64_t t = walk.time(step);
        for (size_t i = 0; i < hidden; ++i) {
          const auto k = static_cast<int64_t>(i);
          const S r = states.history[shape.history(d, t, b, 0, k)], z = states.history[shape.history(d, t, b, 1, k)];
          const S n = states.history[shape.history(d, t, b, 2, k)], hn = states.history[shape.history(d, t, b, 3, k)];
          h[i] = gru_entering(p, states.y, walk, d, b, step, k);
          const S e = element_or_zero(dy, shape.y(t, b, d, k)) + dh[i];
          const S d_n = e * (S(1) - z) * (S(1) - n * n);
          const S d_r = d_n * hn * r * (S(1) - r);
          const S d_z = e * (h[i] - n) * z * (S(1) - z);
          dgi[0][i] = d_r, dgi[1][i] = d_z, dgi[2][i] = d_n;
          dgh[0][i] = d_r, dgh[1][i] = d_z, dgh[2][i] = d_n * r;
          out.trace_e[shape.trace(d, t, b, k)] = e;
          dh[i] = e * z;
        }
        for (int gate = 0; gate < 3; ++gate)
          for (size_t i = 0; i < hidden; ++i) {
            const auto k = static_cast<int64_t>(i);
            for (size_t j = 0; j < hidden; ++j) {
              const size_t at = shape.w_hh(d, gate, k, static_cast<int64_t>(j));
              dh[j] += p.w_hh[at] * dgh[gate][i];
              out.dw_hh[at] += dgh[gate][i] * h[j];
            }
            for (int64_t j = 0; j < shape.input; ++j) {
              const size_t at = shape.w_ih(d, gate, k, j), of_x = shape.x(t, b, j);
              out.dx[of_x] += p.w_ih[at] * dgi[gate][i];
              out.dw_ih[at] += dgi[gate][i] * p.x[of_x];
            }
            out.db_ih[shape.bias(d, gate, k)] += dgi[gate][i];
            out.db_hh[shape.bias(d, gate, k)] += dgh[gate][i];
          }
        if (walk.entry(step) == gru_entry::reset)  // the gradient of the state that entered belongs to h_reset
          for (size_t i = 0; i < hidden; ++i) {
            out.dh_reset[shape.state(d, b, static_cast<int64_t>(i))] += dh[i];
            dh[i] = S(0);
          }
      }
      for (size_t k = 0; k < hidden; ++k) out.dh0[shape.state(d, b, static_cast<int64_t>(k))] = dh[k];
    }
  return out;
}

}  // namespace warpcheck::reference
