// Trains a perceptron of two layers twice: on a device, from the operators of kernels/ (perceptron_device.cu), and here
// by plain loops in double, which share nothing with them but the data. It learns which points lie inside a circle.
//
// Rounding errors of f32 grow from step to step, so the two are not the same to the bit: their losses must stay within
// a hundredth of each other, and both must have learnt.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <random>
#include <string>

#include "perceptron.hpp"
#include "simt/error.hpp"

namespace perceptron_example {

// perceptron_device.cu, compiled for either device.
namespace emulated {
predictions train_on_device(const dataset& data, const network& start, const settings& s);
}
#ifdef PERCEPTRON_CUDA
namespace cuda {
predictions train_on_device(const dataset& data, const network& start, const settings& s);
}
#endif

namespace {

// ---- data ----

class draws {
 public:
  explicit draws(uint64_t seed) : bits_(seed) {}
  float between(float lo, float hi) {
    return lo + (hi - lo) * static_cast<float>(static_cast<double>(bits_() >> 40) * 0x1p-24);
  }
  std::vector<float> list(int64_t n, float lo, float hi) {
    std::vector<float> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(between(lo, hi));
    return values;
  }

 private:
  std::mt19937_64 bits_;
};

// Points of the square from -1 to 1, of which the circle of radius 0.74 around 0 holds about 43 in 100.
dataset make_data(int64_t rows, uint64_t seed) {
  draws draw(seed);
  dataset data{rows, 2, draw.list(2 * rows, -1, 1), {}};
  for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
    const float x = data.x[2 * row], y = data.x[2 * row + 1];
    data.t.push_back(x * x + y * y < 0.55f ? 1.0f : 0.0f);
  }
  return data;
}

network make_network(int64_t inputs, int64_t hidden, uint64_t seed) {
  draws draw(seed);
  return {inputs, hidden, draw.list(inputs * hidden, -2, 2), draw.list(hidden, -1, 1), draw.list(hidden, -1, 1),
          {0.0f}};
}

// ---- the plain training ----

double logistic(double v) { return 1 / (1 + std::exp(-v)); }

class plain_training {
 public:
  plain_training(const dataset& data, const network& start)
      : data_(data),
        hidden_(static_cast<size_t>(start.hidden)),
        w1_(start.w1.begin(), start.w1.end()),
        b1_(start.b1.begin(), start.b1.end()),
        w2_(start.w2.begin(), start.w2.end()),
        b2_(static_cast<double>(start.b2[0])) {}

  predictions train(const settings& s) {
    predictions kept;
    for (int step = 0; step <= s.steps; ++step) {
      const bool keeps = step % s.report == 0 || step == s.steps;
      std::vector<float> y = pass(step < s.steps ? static_cast<double>(s.rate) : 0);
      if (keeps) kept.push_back(std::move(y));
    }
    return kept;
  }

 private:
  // The predictions, and a step along the gradient, which each row adds its part to.
  std::vector<float> pass(double rate) {
    std::vector<float> predicted;
    std::vector<double> dw1(w1_.size()), db1(hidden_), dw2(hidden_), h(hidden_);
    double db2 = 0;
    const auto inputs = static_cast<size_t>(data_.inputs);
    for (size_t row = 0; row < static_cast<size_t>(data_.rows); ++row) {
      const float* const x = &data_.x[row * inputs];
      double sum = b2_;
      for (size_t j = 0; j < hidden_; ++j) {
        double v = b1_[j];
        for (size_t i = 0; i < inputs; ++i) v += static_cast<double>(x[i]) * w1_[i * hidden_ + j];
        h[j] = logistic(v);
        sum += h[j] * w2_[j];
      }
      const double y = logistic(sum), d2 = (y - static_cast<double>(data_.t[row])) / static_cast<double>(data_.rows);
      predicted.push_back(static_cast<float>(y));
      db2 += d2;
      for (size_t j = 0; j < hidden_; ++j) {
        const double d1 = d2 * w2_[j] * h[j] * (1 - h[j]);
        dw2[j] += h[j] * d2;
        db1[j] += d1;
        for (size_t i = 0; i < inputs; ++i) dw1[i * hidden_ + j] += static_cast<double>(x[i]) * d1;
      }
    }
    b2_ -= rate * db2;
    for (size_t j = 0; j < hidden_; ++j) w2_[j] -= rate * dw2[j], b1_[j] -= rate * db1[j];
    for (size_t i = 0; i < w1_.size(); ++i) w1_[i] -= rate * dw1[i];
    return predicted;
  }

  const dataset& data_;
  const size_t hidden_;
  std::vector<double> w1_, b1_, w2_;
  double b2_;
};

// ---- what was learnt ----

double loss(const dataset& data, const std::vector<float>& y) {
  double sum = 0;
  for (size_t row = 0; row < y.size(); ++row)
    sum -= std::log(data.t[row] > 0.5f ? static_cast<double>(y[row]) : 1 - static_cast<double>(y[row]));
  return sum / static_cast<double>(y.size());
}

double accuracy(const dataset& data, const std::vector<float>& y) {
  int64_t right = 0;
  for (size_t row = 0; row < y.size(); ++row) right += (y[row] > 0.5f) == (data.t[row] > 0.5f);
  return static_cast<double>(right) / static_cast<double>(y.size());
}

constexpr double k_closeness = 0.01;  // of two losses, relative
constexpr double k_learnt = 0.95;     // accuracy

int compare(const dataset& data, const predictions& device, const predictions& plain, const settings& s, bool quiet) {
  int code = 0;
  for (size_t i = 0; i < plain.size(); ++i) {
    const double on_device = loss(data, device[i]), expected = loss(data, plain[i]);
    if (!quiet)
      std::printf("step %4d: loss %.6f (plain %.6f), accuracy %.4f (plain %.4f)\n",
                  std::min(static_cast<int>(i) * s.report, s.steps), on_device, expected, accuracy(data, device[i]),
                  accuracy(data, plain[i]));
    if (std::fabs(on_device - expected) <= k_closeness * expected) continue;
    std::fprintf(stderr, "perceptron: the device's loss is %.9g, the plain one %.9g\n", on_device, expected);
    code = 1;
  }
  const double learnt = accuracy(data, device.back());
  if (!(learnt >= k_learnt)) {
    std::fprintf(stderr, "perceptron: the accuracy is %.4f, expected at least %.2f\n", learnt, k_learnt);
    code = 1;
  }
  return code;
}

int run(const dataset& data, const network& start, const settings& s, const std::string& device, bool quiet) {
  predictions (*train_on_device)(const dataset&, const network&, const settings&) = emulated::train_on_device;
  if (device == "cuda") {
#ifdef PERCEPTRON_CUDA
    train_on_device = cuda::train_on_device;
#else
    std::fprintf(stderr, "perceptron: device cuda was not built in; emulated is\n");
    return 3;
#endif
  }
  const predictions on_device = train_on_device(data, start, s);
  const predictions plain = plain_training(data, start).train(s);
  const int code = compare(data, on_device, plain, s, quiet);
  std::printf("%s: %d steps over %lld rows, loss %.6f from %.6f, accuracy %.4f; the plain training: %.6f and %.4f\n",
              device.c_str(), s.steps, static_cast<long long>(data.rows), loss(data, on_device.back()),
              loss(data, on_device.front()), accuracy(data, on_device.back()), loss(data, plain.back()),
              accuracy(data, plain.back()));
  return code;
}

}  // namespace
}  // namespace perceptron_example

int main(int argc, char** argv) {
  CLI::App app{"Trains a perceptron of two layers on a device from matmul and sigmoid, and beside it by plain loops.",
               "perceptron"};
  int64_t rows = 400, hidden = 16;
  uint64_t seed = 1;
  std::string device = "emulated";
  bool quiet = false;
  perceptron_example::settings s{300, 4, 50};
  app.add_option("--device", device, "emulated or cuda")
      ->check(CLI::IsMember({"emulated", "cuda"}))
      ->capture_default_str();
  app.add_option("--rows", rows, "Points to learn from")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 22))
      ->capture_default_str();
  app.add_option("--hidden", hidden, "Neurons of the first layer")
      ->check(CLI::Range(int64_t{1}, int64_t{4096}))
      ->capture_default_str();
  app.add_option("--steps", s.steps, "Steps along the gradient")->check(CLI::Range(1, 100000))->capture_default_str();
  app.add_option("--rate", s.rate, "Length of a step")->check(CLI::Range(1e-6f, 100.0f))->capture_default_str();
  app.add_option("--seed", seed, "Of data and network")->capture_default_str();
  app.add_flag("--quiet", quiet, "Print the last line alone");
  app.footer("Exit codes: 0 learnt, and as the plain training did; 1 not; 2 usage; 3 the device is missing or fails.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    const perceptron_example::dataset data = perceptron_example::make_data(rows, seed);
    return perceptron_example::run(data, perceptron_example::make_network(data.inputs, hidden, seed + 1), s, device,
                                   quiet);
  } catch (const simt::device_error& e) {
    std::fprintf(stderr, "perceptron: device %s: %s\n", device.c_str(), e.what());
    return 3;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "perceptron: %s\n", e.what());
    return 3;
  }
}
