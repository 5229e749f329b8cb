// Gated recurrent unit, variant reset_after: the exact model of its forward pass, and what both passes share.
//
//   gi = W_ih x_t + b_ih        gh = W_hh h_prev + b_hh
//   r = s(gi_r + gh_r)          z = s(gi_z + gh_z)        hn = gh_n        n = tanh(gi_n + r hn)
//   h_t = (1 - z) n + z h_prev
//
// Source: Cho et al., Learning phrase representations using RNN encoder-decoder, EMNLP 2014, in the variant of cuDNN
// (CUDNN_GRU) and ONNX (linear_before_reset = 1), whose bias b_hn is inside r (...). Gates are in the order r, z, n.
//
// Plain loops over a scalar: double, dual numbers or a multiprecision type, and no number is rounded on purpose.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace warpcheck::reference {

struct gru_shape {
  int64_t time = 0, batch = 0, input = 0, hidden = 0;
  int directions = 1;

  // Sizes and places of the tensors; all are row-major.
  int64_t x_size() const { return time * batch * input; }
  int64_t y_size() const { return time * batch * directions * hidden; }
  int64_t state_size() const { return directions * batch * hidden; }
  int64_t history_size() const { return directions * time * batch * 4 * hidden; }
  int64_t trace_size() const { return directions * time * batch * hidden; }
  int64_t w_ih_size() const { return directions * 3 * hidden * input; }
  int64_t w_hh_size() const { return directions * 3 * hidden * hidden; }
  int64_t bias_size() const { return directions * 3 * hidden; }

  size_t x(int64_t t, int64_t b, int64_t i) const { return index((t * batch + b) * input + i); }
  size_t y(int64_t t, int64_t b, int d, int64_t k) const {
    return index(((t * batch + b) * directions + d) * hidden + k);
  }
  size_t state(int d, int64_t b, int64_t k) const { return index((d * batch + b) * hidden + k); }
  size_t history(int d, int64_t t, int64_t b, int block, int64_t k) const {
    return index((((d * time + t) * batch + b) * 4 + block) * hidden + k);
  }
  size_t trace(int d, int64_t t, int64_t b, int64_t k) const {
    return index(((d * time + t) * batch + b) * hidden + k);
  }
  // Row k of a gate: 0 r, 1 z, 2 n.
  size_t w_ih(int d, int gate, int64_t k, int64_t i) const { return index(((d * 3 + gate) * hidden + k) * input + i); }
  size_t w_hh(int d, int gate, int64_t k, int64_t j) const { return index(((d * 3 + gate) * hidden + k) * hidden + j); }
  size_t bias(int d, int gate, int64_t k) const { return index((d * 3 + gate) * hidden + k); }

 private:
  static size_t index(int64_t i) { return static_cast<size_t>(i); }
};

// An empty vector is a null pointer of the contract and means zeros, all steps, or no marks.
template <class S>
struct gru_problem {
  gru_shape shape;
  std::vector<S> x, w_ih, w_hh, b_ih, b_hh, h0, h_reset;
  std::vector<int64_t> lengths;
  std::vector<uint8_t> reset;  // [time, batch]
};

template <class S>
struct gru_states {
  std::vector<S> y, hn, history;  // blocks of the history: r, z, n, hn
};

template <class S>
S element_or_zero(const std::vector<S>& v, size_t i) {
  return v.empty() ? S(0) : v[i];
}

enum class gru_entry : uint8_t { initial, reset, carried };  // source of the state that enters a step

// The steps of a row in one direction, in the order of its forward pass.
struct gru_walk {
  int64_t length;
  bool reverse;
  const uint8_t* marks;  // of the row, one every `stride`; may be null
  int64_t stride;

  template <class S>
  gru_walk(const gru_problem<S>& p, int d, int64_t b)
      : length(p.shape.time),
        reverse(d == 1),
        marks(p.reset.empty() ? nullptr : p.reset.data() + b),
        stride(p.shape.batch) {
    if (p.lengths.empty()) return;
    const int64_t wanted = p.lengths[static_cast<size_t>(b)];
    length = wanted < 0 ? 0 : wanted > p.shape.time ? p.shape.time : wanted;
  }
  int64_t time(int64_t step) const { return reverse ? length - 1 - step : step; }
  // A mark at t begins a segment at t. A forward walk starts the segment at t; a reverse walk leaves it from t to t -
  // 1.
  gru_entry entry(int64_t step) const {
    if (reverse) {
      if (step == 0) return gru_entry::initial;
      return marked(time(step - 1)) ? gru_entry::reset : gru_entry::carried;
    }
    if (marked(step)) return gru_entry::reset;
    return step == 0 ? gru_entry::initial : gru_entry::carried;
  }

 private:
  bool marked(int64_t t) const { return marks != nullptr && marks[t * stride] != 0; }
};

// Unit k of the state that enters a step.
template <class S>
S gru_entering(const gru_problem<S>& p, const std::vector<S>& y, const gru_walk& walk, int d, int64_t b, int64_t step,
               int64_t k) {
  switch (walk.entry(step)) {
    case gru_entry::initial: return element_or_zero(p.h0, p.shape.state(d, b, k));
    case gru_entry::reset: return element_or_zero(p.h_reset, p.shape.state(d, b, k));
    case gru_entry::carried: break;
  }
  return y[p.shape.y(walk.time(step - 1), b, d, k)];
}

// W_ih x_t + b_ih for a gate's unit k; then W_hh h + b_hh.
template <class S>
S gru_input_sum(const gru_problem<S>& p, int d, int64_t t, int64_t b, int gate, int64_t k) {
  S sum = element_or_zero(p.b_ih, p.shape.bias(d, gate, k));
  for (int64_t i = 0; i < p.shape.input; ++i) sum += p.w_ih[p.shape.w_ih(d, gate, k, i)] * p.x[p.shape.x(t, b, i)];
  return sum;
}
template <class S>
S gru_hidden_sum(const gru_problem<S>& p, int d, const std::vector<S>& h, int gate, int64_t k) {
  S sum = element_or_zero(p.b_hh, p.shape.bias(d, gate, k));
  for (int64_t j = 0; j < p.shape.hidden; ++j) sum += p.w_hh[p.shape.w_hh(d, gate, k, j)] * h[static_cast<size_t>(j)];
  return sum;
}

template <class S>
S logistic(const S& a) {
  using std::exp;
  return S(1) / (S(1) + exp(S(-a)));
}

template <class S>
gru_states<S> gru_forward(const gru_problem<S>& p) {
  using std::tanh;
  const gru_shape& shape = p.shape;
  gru_states<S> out;
  out.y.assign(static_cast<size_t>(shape.y_size()), S(0));
  out.hn.assign(static_cast<size_t>(shape.state_size()), S(0));
  out.history.assign(static_cast<size_t>(shape.history_size()), S(0));
  std::vector<S> h(static_cast<size_t>(shape.hidden));
  for (int d = 0; d < shape.directions; ++d)
    for (int64_t b = 0; b < shape.batch; ++b) {
      const gru_walk walk(p, d, b);
      for (int64_t step = 0; step < walk.length; ++step) {
        const int64_t t = walk.time(step);
        for (int64_t k = 0; k < shape.hidden; ++k)
          h[static_cast<size_t>(k)] = gru_entering(p, out.y, walk, d, b, step, k);
        for (int64_t k = 0; k < shape.hidden; ++k) {
          const S r = logistic(S(gru_input_sum(p, d, t, b, 0, k) + gru_hidden_sum(p, d, h, 0, k)));
          const S z = logistic(S(gru_input_sum(p, d, t, b, 1, k) + gru_hidden_sum(p, d, h, 1, k)));
          const S hn = gru_hidden_sum(p, d, h, 2, k);
          const S n = tanh(S(gru_input_sum(p, d, t, b, 2, k) + r * hn));
          const S blocks[] = {r, z, n, hn};
          for (int i = 0; i < 4; ++i) out.history[shape.history(d, t, b, i, k)] = blocks[i];
          out.y[shape.y(t, b, d, k)] = (S(1) - z) * n + z * h[static_cast<size_t>(k)];
        }
      }
      for (int64_t k = 0; k < shape.hidden; ++k)
        out.hn[shape.state(d, b, k)] = walk.length == 0 ? element_or_zero(p.h0, shape.state(d, b, k))
                                                        : out.y[shape.y(walk.time(walk.length - 1), b, d, k)];
    }
  return out;
}

}  // namespace warpcheck::reference
