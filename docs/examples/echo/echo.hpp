// What echo.cpp and the device share: a net of gated recurrent units, a batch of sequences, gradients.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace echo {

// Parameters as kernels/gru/gru.hpp has them; gradients have the same form.
struct net {
  int64_t input, hidden;
  std::vector<float> w_ih, w_hh, b_ih, b_hh;
};

struct batch {
  int64_t time, rows;
  std::vector<float> x;       // [time, rows, input]
  std::vector<float> target;  // [rows]
};

// The gradient of the loss by the last states [rows, hidden].
using gradient_of_states = std::function<std::vector<float>(const std::vector<float>& states)>;

}  // namespace echo
