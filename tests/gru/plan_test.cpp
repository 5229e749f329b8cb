// Workspaces of gated recurrent units keep what the contract promises of them (kernels/gru/gru.hpp), for every
// shape; layers are calls of the layer below and above.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/gru/stack.hpp"
#include "properties/gru/gru_cases.hpp"
#include "reference/gru/gru_bound.hpp"
#include "simt/emulated_memory.hpp"
#include "simt/emulation.hpp"
#include "tests/gru/gru_problems.hpp"

namespace warpcheck::self {
namespace {

std::vector<gru_config> configurations() {
  std::vector<gru_config> all;
  for (const int64_t time : {0, 1, 3, 100, 4096})
    for (const int64_t batch : {0, 1, 8, 33, 2048})
      for (const int64_t input : {0, 1, 64, 1025})
        for (const int64_t hidden : {0, 1, 31, 32, 33, 127, 128, 129, 255, 257, 1024, 1025})
          for (const int directions : {1, 2})
            for (const int64_t limit : {int64_t{0}, int64_t{1}, int64_t{1} << 24})
              all.push_back({time, batch, input, hidden, directions, gru_history::recompute, limit});
  return all;
}

std::string text_of(const gru_config& c) {
  return std::to_string(c.T) + " x " + std::to_string(c.B) + " x " + std::to_string(c.I) + " x " + std::to_string(c.H) +
         " x " + std::to_string(c.D) + ", limit " + std::to_string(c.workspace_limit);
}

TEST(gru_plans, workspaces_are_no_larger_than_the_contract_allows) {
  int64_t number = 0;
  for (gru_config c : configurations())
    for (const gru_history history : {gru_history::none, gru_history::save, gru_history::recompute}) {
      c.history = history;
      c.precision = static_cast<gru_precision>(number++ / 3 % 4);
      const int64_t allowed =
          gru_work_bytes({c.T, c.B, c.I, c.H, c.D}, c.workspace_limit, c.precision == gru_precision::ieee);
      EXPECT_LE(gru_forward_workspace_bytes(c), allowed) << text_of(c);
      if (history != gru_history::none) {
        EXPECT_LE(gru_backward_workspace_bytes(c), allowed) << text_of(c);
      }
      EXPECT_EQ(gru_history_bytes(c), history == gru_history::save ? 16 * c.D * c.T * c.B * c.H : 0);
    }
}

std::vector<float> narrowed(const std::vector<double>& v) { return {v.begin(), v.end()}; }

// Memory of the emulated device, between guards that stay as they are.
template <class T>
class device_vector {
 public:
  explicit device_vector(const std::vector<T>& values)
      : data_(static_cast<T*>(simt::device_alloc(values.size() * sizeof(T), sizeof(T), sizeof(T)))) {
    std::copy(values.begin(), values.end(), data_);
  }
  ~device_vector() {
    EXPECT_EQ(simt::device_check(data_), INT64_MIN);
    simt::device_free(data_);
  }
  device_vector(const device_vector&) = delete;
  device_vector& operator=(const device_vector&) = delete;
  T* data() const { return data_; }

 private:
  T* data_;
};

// Two layers of two directions on the device, of which the upper one reads what the lower one wrote.
class two_layers {
 public:
  two_layers() {
    for (int l = 0; l < 2; ++l) place(l);
    const int64_t bytes =
        std::max(gru_stack_forward_workspace_bytes(layers, 2), gru_stack_backward_workspace_bytes(layers, 2));
    const float* const dy = put(above.dy);
    float* const work = room(bytes / 4);
    gru_stack_forward(layers, 2, work, bytes, &stream);
    gru_stack_backward(layers, 2, dy, work, bytes, &stream);
    EXPECT_TRUE(stream.ok());
  }

  const gru_case<double> below = random_gru<double>({3, 2, 4, 5, 2}, {3, 2}, {}, 7),
                         above = random_gru<double>({3, 2, 10, 3, 2}, {3, 2}, {}, 8);
  gru_layer layers[2];

 private:
  float* put(const std::vector<double>& v) {
    memory.push_back(std::make_unique<device_vector<float>>(narrowed(v)));
    return memory.back()->data();
  }
  float* room(int64_t size) {
    const std::vector<float> poison(static_cast<size_t>(size), std::numeric_limits<float>::quiet_NaN());
    memory.push_back(std::make_unique<device_vector<float>>(poison));
    return memory.back()->data();
  }
  void place(int l) {
    const gru_case<double>& c = l == 0 ? below : above;
    const auto& p = c.problem;
    const reference::gru_shape& s = p.shape;
    gru_layer& layer = layers[l];
    layer.config = {s.time, s.batch, s.input, s.hidden, s.directions, gru_history::save};
    float* const w_ih = put(p.w_ih);
    float* const w_hh = put(p.w_hh);
    float* const b_ih = put(p.b_ih);
    float* const b_hh = put(p.b_hh);
    float* const dw_ih = room(s.w_ih_size());
    for (int d = 0; d < 2; ++d) {
      layer.params.w_ih[d] = w_ih + d * s.w_ih_size() / 2;
      layer.params.w_hh[d] = w_hh + d * s.w_hh_size() / 2;
      layer.params.b_ih[d] = b_ih + d * s.bias_size() / 2;
      layer.params.b_hh[d] = b_hh + d * s.bias_size() / 2;
      layer.grads.dw_ih[d] = dw_ih + d * s.w_ih_size() / 2;
    }
    layer.inputs = {l == 0 ? put(p.x) : nullptr, put(p.h0), nullptr, lengths.data(), nullptr};
    layer.outputs = {room(s.y_size()), room(s.state_size()), room(s.history_size())};
    layer.dhn = put(c.dhn);
    layer.grads.dx = room(s.x_size());
  }

  simt::emulation stream;
  std::vector<std::unique_ptr<device_vector<float>>> memory;
  const device_vector<int64_t> lengths{std::vector<int64_t>{3, 2}};
};

// A hundred roundings of the largest element; a layer that is skipped is off by as much as there is.
void expect_near(const std::vector<double>& expected, const float* actual, const char* what) {
  double size = 0;
  for (const double e : expected) size = std::max(size, std::fabs(e));
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 100 * 0x1p-24 * size) << what << i;
}

// Against the reference, layer by layer.
TEST(gru_stack, a_layer_reads_the_one_below_and_hands_back_to_it) {
  const two_layers on_device;
  auto first = on_device.below.problem, second = on_device.above.problem;
  first.h_reset.clear();
  second.h_reset.clear();
  const auto lower_states = reference::gru_forward(first);
  second.x = lower_states.y;
  const auto upper_states = reference::gru_forward(second);
  const auto of_upper = reference::gru_backward(second, upper_states, on_device.above.dy, on_device.above.dhn);
  const auto of_lower = reference::gru_backward(first, lower_states, of_upper.dx, on_device.below.dhn);
  const gru_layer& lower = on_device.layers[0];
  const gru_layer& upper = on_device.layers[1];
  expect_near(upper_states.y, upper.outputs.y, "y");
  expect_near(of_upper.dx, upper.grads.dx, "dx of the upper layer");
  expect_near(of_lower.dx, lower.grads.dx, "dx");
  expect_near(of_lower.dw_ih, lower.grads.dw_ih[0], "dw_ih");
}

TEST(gru_stack, layers_that_do_not_fit_are_refused) {
  const auto message = [](gru_layer upper, bool backward) -> std::string {
    gru_layer layers[2];
    layers[0].config = {3, 2, 4, 5, 2};
    layers[1] = upper;
    try {
      detail::check_gru_stack(layers, 2, backward);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  };
  gru_layer upper;
  upper.config = {3, 2, 10, 3};
  EXPECT_EQ(message(upper, false), "");
  EXPECT_EQ(message(upper, true), "dx of layer 1 is null, must not be: it is dy of the layer below");
  upper.config.I = 5;
  EXPECT_EQ(message(upper, false), "I of layer 1 is 5, must be 10 by the layer below");
  upper.config.T = 4;
  EXPECT_EQ(message(upper, false), "T of layer 1 is 4, must be 3 by the layer below");
}

}  // namespace
}  // namespace warpcheck::self
