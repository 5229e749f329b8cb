// Problems for tests of gated recurrent units, the same with every library: values are multiples of 2^-20, which f32
// holds.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "properties/gru/gru_differences.hpp"
#include "reference/gru/gru.hpp"

namespace warpcheck::self {

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
class gru_draw {
 public:
  explicit gru_draw(uint64_t seed) : state_(seed) {}
  uint64_t bits() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // In [-scale, scale].
  double uniform(double scale) {
    const double unit = static_cast<double>(bits() >> 11) * 0x1p-52 - 1;
    return std::nearbyint(unit * scale * 0x1p20) * 0x1p-20;
  }
  int sign() { return bits() >> 63 != 0 ? 1 : -1; }

 private:
  uint64_t state_;
};

// Lengths and marks are given; all tensors are there, and weights have `scale` / sqrt(hidden).
template <class S>
gru_case<S> random_gru(const reference::gru_shape& shape, std::vector<int64_t> lengths, std::vector<uint8_t> reset,
                       uint64_t seed, double scale = 2) {
  gru_draw draw(seed);
  const auto drawn = [&](int64_t size, double width) {
    std::vector<S> v;
    for (int64_t i = 0; i < size; ++i) v.push_back(S(draw.uniform(width)));
    return v;
  };
  const double weight = scale / std::sqrt(static_cast<double>(shape.hidden < 1 ? 1 : shape.hidden));
  gru_case<S> c;
  c.problem.shape = shape;
  c.problem.x = drawn(shape.x_size(), 1);
  c.problem.w_ih = drawn(shape.w_ih_size(), weight);
  c.problem.w_hh = drawn(shape.w_hh_size(), weight);
  c.problem.b_ih = drawn(shape.bias_size(), 0.5);
  c.problem.b_hh = drawn(shape.bias_size(), 0.5);
  c.problem.h0 = drawn(shape.state_size(), 1);
  c.problem.h_reset = drawn(shape.state_size(), 1);
  c.problem.lengths = std::move(lengths);
  c.problem.reset = std::move(reset);
  c.dy = drawn(shape.y_size(), 1);
  c.dhn = drawn(shape.state_size(), 1);
  return c;
}

}  // namespace warpcheck::self
