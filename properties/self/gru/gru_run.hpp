// Both passes of the kernels of gated recurrent units on the emulated device, with outputs and workspaces that nothing
// has written yet.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/gru/gru.hpp"
#include "properties/self/gru/gru_problems.hpp"
#include "reference/gru.hpp"
#include "reference/gru_backward.hpp"
#include "simt/emulated_memory.hpp"
#include "simt/emulation.hpp"

namespace warpcheck::self {

using reference::gru_gradients;
using reference::gru_problem;
using reference::gru_shape;
using reference::gru_states;

inline constexpr float k_nan = std::numeric_limits<float>::quiet_NaN();

// Device memory that begins `offset` elements beside a boundary of 256 bytes and holds what it is given.
template <class T>
class device_vector {
 public:
  explicit device_vector(const std::vector<T>& values, size_t offset = 1)
      : size_(values.size()),
        data_(static_cast<T*>(simt::device_alloc(size_ * sizeof(T), offset * sizeof(T), sizeof(T)))) {
    if (size_ > 0) std::memcpy(data_, values.data(), size_ * sizeof(T));
  }
  ~device_vector() {
    EXPECT_EQ(simt::device_check(data_), INT64_MIN);
    simt::device_free(data_);
  }
  device_vector(const device_vector&) = delete;
  device_vector& operator=(const device_vector&) = delete;
  T* data() const { return data_; }
  std::vector<T> values() const { return std::vector<T>(data_, data_ + size_); }

 private:
  size_t size_;
  T* data_;
};
using output_vector = std::unique_ptr<device_vector<float>>;
// NaN, which nothing survives that is read before it is written; the race flavour reports the read itself.
inline output_vector poisoned(int64_t size) {
  auto v = std::make_unique<device_vector<float>>(std::vector<float>(static_cast<size_t>(size), k_nan));
  simt::mark_uninitialized(v->data(), static_cast<size_t>(size) * sizeof(float));
  return v;
}

struct gru_result {
  std::vector<float> y, hn, history, dx, dh0, dh_reset, dw_ih, dw_hh, db_ih, db_hh, trace_e;
  bool operator==(const gru_result&) const = default;
};

inline std::vector<uint32_t> bits(const std::vector<float>& v) {
  std::vector<uint32_t> all(v.size());
  for (size_t i = 0; i < v.size(); ++i) std::memcpy(&all[i], &v[i], sizeof v[i]);
  return all;
}
inline std::vector<double> widened(const std::vector<float>& v) { return {v.begin(), v.end()}; }
inline std::vector<float> narrowed(const std::vector<double>& v) { return {v.begin(), v.end()}; }

inline gru_states<double> states_of(const gru_result& r) { return {widened(r.y), widened(r.hn), widened(r.history)}; }
inline gru_gradients<double> gradients_of(const gru_result& r) {
  return {widened(r.dx),    widened(r.dh0),   widened(r.dh_reset), widened(r.dw_ih),
          widened(r.dw_hh), widened(r.db_ih), widened(r.db_hh),    widened(r.trace_e)};
}

// What of a configuration is no size.
struct gru_way {
  gru_way(gru_history history, gru_regime regime = gru_regime::automatic, gru_precision precision = gru_precision::ieee)
      : history(history), regime(regime), precision(precision) {}
  gru_history history;
  gru_regime regime;
  gru_precision precision;
};

inline gru_config config_of(const gru_shape& s, gru_way way, int64_t limit = 0) {
  return {s.time, s.batch, s.input, s.hidden, s.directions, way.history, limit, way.regime, way.precision};
}

// A null pointer where there are no elements and the contract allows one.
template <class T>
const T* pointer_or_null(const device_vector<T>& v) {
  return v.values().empty() ? nullptr : v.data();
}

// The tensors of a call that it reads.
struct gru_on_device {
  explicit gru_on_device(const gru_case<double>& c)
      : x(narrowed(c.problem.x)),
        w_ih(narrowed(c.problem.w_ih)),
        w_hh(narrowed(c.problem.w_hh), 3),
        b_ih(narrowed(c.problem.b_ih)),
        b_hh(narrowed(c.problem.b_hh)),
        h0(narrowed(c.problem.h0), 2),
        h_reset(narrowed(c.problem.h_reset)),
        dy(narrowed(c.dy)),
        dhn(narrowed(c.dhn)),
        lengths(c.problem.lengths, 1),
        reset(c.problem.reset, 1) {
    const gru_shape& s = c.problem.shape;
    for (int d = 0; d < s.directions; ++d) {
      params.w_ih[d] = w_ih.data() + d * s.w_ih_size() / s.directions;
      params.w_hh[d] = w_hh.data() + d * s.w_hh_size() / s.directions;
      params.b_ih[d] = c.problem.b_ih.empty() ? nullptr : b_ih.data() + d * 3 * s.hidden;
      params.b_hh[d] = c.problem.b_hh.empty() ? nullptr : b_hh.data() + d * 3 * s.hidden;
    }
    inputs = {x.data(), pointer_or_null(h0), pointer_or_null(h_reset), pointer_or_null(lengths),
              pointer_or_null(reset)};
  }

  device_vector<float> x, w_ih, w_hh, b_ih, b_hh, h0, h_reset, dy, dhn;
  device_vector<int64_t> lengths;
  device_vector<uint8_t> reset;
  gru_params params;
  gru_inputs inputs;
};

// Both passes of the case as `change` leaves it; an empty tensor is a null pointer, and `want` may take gradients away,
// which then stay NaN.
inline gru_result run(const gru_case<double>& c, gru_way way, simt::emulation* stream, int64_t limit = 0,
                      const std::function<void(gru_case<double>&)>& change = nullptr,
                      const std::function<void(gru_grads&)>& want = nullptr) {
  gru_case<double> changed = c;
  if (change) change(changed);
  const gru_problem<double>& p = changed.problem;
  const gru_shape& s = p.shape;
  const gru_config config = config_of(s, way, limit);
  const gru_on_device in(changed);
  const auto y = poisoned(s.y_size()), hn = poisoned(s.state_size());
  const auto saved = poisoned(gru_history_bytes(config) / 4);
  gru_result r;
  {
    const int64_t bytes = gru_forward_workspace_bytes(config);
    const auto workspace = poisoned(bytes / 4);
    gru_forward(config, in.params, in.inputs, {y->data(), hn->data(), saved->data()}, workspace->data(), bytes, stream);
  }
  r.y = y->values();
  r.hn = hn->values();
  r.history = saved->values();
  if (way.history == gru_history::none) return r;
  const auto dx = poisoned(s.x_size()), dh0 = poisoned(s.state_size()), dh_reset = poisoned(s.state_size());
  const auto dw_ih = poisoned(s.w_ih_size()), dw_hh = poisoned(s.w_hh_size());
  const auto db_ih = poisoned(p.b_ih.empty() ? 0 : s.bias_size()), db_hh = poisoned(p.b_hh.empty() ? 0 : s.bias_size());
  const auto trace = poisoned(s.trace_size());
  gru_grads grads{dx->data(), dh0->data(), dh_reset->data(), {}, {}, {}, {}, trace->data()};
  for (int d = 0; d < s.directions; ++d) {
    grads.dw_ih[d] = dw_ih->data() + d * s.w_ih_size() / s.directions;
    grads.dw_hh[d] = dw_hh->data() + d * s.w_hh_size() / s.directions;
    grads.db_ih[d] = p.b_ih.empty() ? nullptr : db_ih->data() + d * 3 * s.hidden;
    grads.db_hh[d] = p.b_hh.empty() ? nullptr : db_hh->data() + d * 3 * s.hidden;
  }
  if (want) want(grads);
  const int64_t bytes = gru_backward_workspace_bytes(config);
  const auto workspace = poisoned(bytes / 4);
  gru_backward(config, in.params, in.inputs, y->data(), saved->data(), pointer_or_null(in.dy), pointer_or_null(in.dhn),
               grads, workspace->data(), bytes, stream);
  EXPECT_EQ(bits(y->values()), bits(r.y));
  EXPECT_EQ(bits(saved->values()), bits(r.history));
  r.dx = dx->values();
  r.dh0 = dh0->values();
  r.dh_reset = dh_reset->values();
  r.dw_ih = dw_ih->values();
  r.dw_hh = dw_hh->values();
  r.db_ih = db_ih->values();
  r.db_hh = db_hh->values();
  r.trace_e = trace->values();
  return r;
}

}  // namespace warpcheck::self
