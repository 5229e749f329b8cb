// What the two trainings of perceptron.cpp share: the data, the network, the settings. Neither knows the other.
//
//   h = logistic(x W1 + b1)      y = logistic(h W2 + b2)      loss = mean of -t ln y - (1 - t) ln(1 - y)
//
// Gradient descent on all rows at once: with d2 = (y - t) / rows and d1 = (d2 W2^T) h (1 - h), elementwise,
//
//   W2 -= rate h^T d2      b2 -= rate 1^T d2      W1 -= rate x^T d1      b1 -= rate 1^T d1
#pragma once

#include <cstdint>
#include <vector>

namespace perceptron_example {

struct dataset {
  int64_t rows, inputs;
  std::vector<float> x;  // [rows][inputs]
  std::vector<float> t;  // [rows], 0 or 1
};

struct network {
  int64_t inputs, hidden;
  std::vector<float> w1, b1;  // [inputs][hidden], [hidden]
  std::vector<float> w2, b2;  // [hidden], [1]
};

struct settings {
  int steps;
  float rate;
  int report;  // every how many steps predictions are kept
};

// Of one training: the predictions of all rows before the first step, after every `report` steps, and at the end.
using predictions = std::vector<std::vector<float>>;

}  // namespace perceptron_example
