// Gated recurrent units learn to add: of a sequence of numbers in [0, 1) two are marked, and the net says their sum at
// the end (Hochreiter and Schmidhuber, Long short-term memory, Neural Computation 9, 1997, section 5.4). Both passes
// run on a device (echo_device.cu); the layer behind the last state and Adam (Kingma and Ba, ICLR 2015) are plain code,
// and so is a second backward pass, in double, which the first step's gradients are held to.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <numeric>
#include <string>
#include <vector>

#include "echo.hpp"
#include "simt/simt.hpp"

namespace echo {

// echo_device.cu, compiled for either device.
namespace emulated {
net train_step(const net& n, const batch& b, const gradient_of_states& gradient);
}
#ifdef ECHO_CUDA
namespace cuda {
net train_step(const net& n, const batch& b, const gradient_of_states& gradient);
}
#endif

namespace {

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
class random_numbers {
 public:
  explicit random_numbers(uint64_t seed) : state_(seed) {}
  double unit() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(unit() * static_cast<double>(n)); }

 private:
  uint64_t state_;
};

struct settings {
  int64_t time = 100, rows = 64, hidden = 64, steps = 2000;
  uint64_t seed = 1;
  double rate = 0.003;
};

// Input 0 is a number, input 1 its mark; one is in each half of the sequence.
batch draw_batch(const settings& s, random_numbers& random) {
  batch b{s.time, s.rows, std::vector<float>(static_cast<size_t>(s.time * s.rows * 2)),
          std::vector<float>(static_cast<size_t>(s.rows))};
  for (size_t i = 0; i < b.x.size(); i += 2) b.x[i] = static_cast<float>(random.unit());
  const int64_t half = s.time / 2;
  for (int64_t row = 0; row < s.rows; ++row)
    for (const int64_t at : {random.below(half), half + random.below(s.time - half)}) {
      const auto i = static_cast<size_t>(2 * (at * s.rows + row));
      b.x[i + 1] = 1;
      b.target[static_cast<size_t>(row)] += b.x[i];
    }
  return b;
}

// Every parameter of the model in one list, for Adam.
struct model {
  net n;
  std::vector<float> out;  // of the last state, and a bias

  template <class F>
  void each(F&& f) {
    for (std::vector<float>* v : {&n.w_ih, &n.w_hh, &n.b_ih, &n.b_hh, &out}) f(*v);
  }
};

model make_model(const settings& s, random_numbers& random) {
  const int64_t h = s.hidden;
  model m{{2, h, std::vector<float>(static_cast<size_t>(6 * h)), std::vector<float>(static_cast<size_t>(3 * h * h)),
           std::vector<float>(static_cast<size_t>(3 * h)), std::vector<float>(static_cast<size_t>(3 * h))},
          std::vector<float>(static_cast<size_t>(h + 1))};
  const double scale = 1 / std::sqrt(static_cast<double>(h));
  m.each([&](std::vector<float>& v) {
    for (float& p : v) p = static_cast<float>((2 * random.unit() - 1) * scale);
  });
  // A gate that begins open lets gradients through: z near 1 keeps what is there.
  for (int64_t k = h; k < 2 * h; ++k) m.n.b_ih[static_cast<size_t>(k)] += 2;
  return m;
}

struct loss_and_gradient {
  double loss = 0;
  std::vector<float> of_states, of_out;
};

// The mean of (prediction - target)^2 over rows.
loss_and_gradient read_out(const model& m, const batch& b, const std::vector<float>& states) {
  const auto h = static_cast<size_t>(m.n.hidden);
  loss_and_gradient r{0, std::vector<float>(states.size()), std::vector<float>(m.out.size())};
  for (size_t row = 0; row < b.target.size(); ++row) {
    double prediction = m.out[h];
    for (size_t k = 0; k < h; ++k) prediction += static_cast<double>(m.out[k]) * states[row * h + k];
    const double off = prediction - b.target[row], slope = 2 * off / static_cast<double>(b.rows);
    r.loss += off * off / static_cast<double>(b.rows);
    for (size_t k = 0; k < h; ++k) {
      r.of_states[row * h + k] = static_cast<float>(slope * m.out[k]);
      r.of_out[k] += static_cast<float>(slope * states[row * h + k]);
    }
    r.of_out[h] += static_cast<float>(slope);
  }
  return r;
}

class adam {
 public:
  explicit adam(double rate) : rate_(rate) {}
  void update(model& m, model& gradients) {
    ++count_;
    size_t at = 0;
    std::vector<std::vector<float>*> of_gradients;
    gradients.each([&](std::vector<float>& v) { of_gradients.push_back(&v); });
    double size = 0;
    for (const auto* v : of_gradients)
      for (const float g : *v) size += static_cast<double>(g) * g;
    const double clip = std::min(1.0, 1 / std::sqrt(size));  // norms above 1 are cut
    m.each([&](std::vector<float>& v) {
      const std::vector<float>& g = *of_gradients[at];
      if (first_.size() <= at) first_.emplace_back(v.size()), second_.emplace_back(v.size());
      for (size_t i = 0; i < v.size(); ++i) {
        const double slope = clip * g[i];
        double &a = first_[at][i], &b = second_[at][i];
        a = 0.9 * a + 0.1 * slope;
        b = 0.999 * b + 0.001 * slope * slope;
        const double mean = a / (1 - std::pow(0.9, count_)), square = b / (1 - std::pow(0.999, count_));
        v[i] -= static_cast<float>(rate_ * mean / (std::sqrt(square) + 1e-8));
      }
      ++at;
    });
  }

 private:
  double rate_;
  int count_ = 0;
  std::vector<std::vector<double>> first_, second_;
};

// Both passes once more, row by row in double: what a step leaves behind, and each row's last state.
struct plain_run {
  struct step {
    std::vector<double> before, r, z, n, hn;
  };
  std::vector<std::vector<step>> steps;  // rows x time
  std::vector<float> states;
};

double x_of(const batch& b, size_t t, size_t row, size_t i) {
  return static_cast<double>(b.x[2 * (t * static_cast<size_t>(b.rows) + row) + i]);
}

plain_run plain_forward(const net& n, const batch& b) {
  const auto h = static_cast<size_t>(n.hidden), time = static_cast<size_t>(b.time), rows = static_cast<size_t>(b.rows);
  plain_run run{std::vector<std::vector<plain_run::step>>(rows), std::vector<float>(rows * h)};
  const auto logistic = [](double a) { return 1 / (1 + std::exp(-a)); };
  for (size_t row = 0; row < rows; ++row) {
    std::vector<double> state(h);
    for (size_t t = 0; t < time; ++t) {
      const std::vector<double> none(h);
      plain_run::step s{state, none, none, none, none};
      for (size_t k = 0; k < h; ++k) {
        double of_x[3], of_h[3];
        for (size_t gate = 0; gate < 3; ++gate) {
          const size_t at = gate * h + k;
          of_x[gate] = n.b_ih[at] + n.w_ih[2 * at] * x_of(b, t, row, 0) + n.w_ih[2 * at + 1] * x_of(b, t, row, 1);
          of_h[gate] = n.b_hh[at];
          for (size_t j = 0; j < h; ++j) of_h[gate] += n.w_hh[at * h + j] * s.before[j];
        }
        s.r[k] = logistic(of_x[0] + of_h[0]);
        s.z[k] = logistic(of_x[1] + of_h[1]);
        s.hn[k] = of_h[2];
        s.n[k] = std::tanh(of_x[2] + s.r[k] * of_h[2]);
        state[k] = (1 - s.z[k]) * s.n[k] + s.z[k] * s.before[k];
      }
      run.steps[row].push_back(std::move(s));
    }
    for (size_t k = 0; k < h; ++k) run.states[row * h + k] = static_cast<float>(state[k]);
  }
  return run;
}

net plain_step(const net& n, const batch& b, const gradient_of_states& gradient) {
  const auto h = static_cast<size_t>(n.hidden), time = static_cast<size_t>(b.time), rows = static_cast<size_t>(b.rows);
  const plain_run run = plain_forward(n, b);
  const std::vector<float> from_above = gradient(run.states);
  std::vector<double> dw_ih(n.w_ih.size()), dw_hh(n.w_hh.size()), db_ih(3 * h), db_hh(3 * h);
  for (size_t row = 0; row < rows; ++row) {
    std::vector<double> dh(from_above.begin() + static_cast<ptrdiff_t>(row * h),
                           from_above.begin() + static_cast<ptrdiff_t>((row + 1) * h));
    for (size_t t = time; t-- > 0;) {
      const plain_run::step& s = run.steps[row][t];
      std::vector<double> next(h);
      for (size_t k = 0; k < h; ++k) {
        const double d_n = dh[k] * (1 - s.z[k]) * (1 - s.n[k] * s.n[k]);
        const double of_x[] = {d_n * s.hn[k] * s.r[k] * (1 - s.r[k]),
                               dh[k] * (s.before[k] - s.n[k]) * s.z[k] * (1 - s.z[k]), d_n};
        next[k] += dh[k] * s.z[k];
        for (size_t gate = 0; gate < 3; ++gate) {
          const size_t at = gate * h + k;
          const double of_h = gate == 2 ? d_n * s.r[k] : of_x[gate];
          for (size_t i = 0; i < 2; ++i) dw_ih[2 * at + i] += of_x[gate] * x_of(b, t, row, i);
          for (size_t j = 0; j < h; ++j) {
            dw_hh[at * h + j] += of_h * s.before[j];
            next[j] += n.w_hh[at * h + j] * of_h;
          }
          db_ih[at] += of_x[gate];
          db_hh[at] += of_h;
        }
      }
      dh = next;
    }
  }
  const auto narrow = [](const std::vector<double>& v) { return std::vector<float>(v.begin(), v.end()); };
  return {n.input, n.hidden, narrow(dw_ih), narrow(dw_hh), narrow(db_ih), narrow(db_hh)};
}

// The largest difference of a tensor, over its largest element.
double distance(const net& a, const net& b) {
  double worst = 0;
  const auto compare = [&](const std::vector<float>& v, const std::vector<float>& w) {
    double most = 0, size = 0;
    for (size_t i = 0; i < v.size(); ++i) {
      const double off = std::fabs(static_cast<double>(v[i]) - w[i]);
      most = off <= most ? most : off;
      size = std::max(size, std::fabs(static_cast<double>(w[i])));
    }
    worst = most / size <= worst ? worst : most / size;
  };
  compare(a.w_ih, b.w_ih);
  compare(a.w_hh, b.w_hh);
  compare(a.b_ih, b.b_ih);
  compare(a.b_hh, b.b_hh);
  return worst;
}

constexpr double k_gradient_gate = 1e-5;  // of weights and biases in f32, over the largest of the tensor

int run(const settings& s, const std::string& device) {
  net (*train_step)(const net&, const batch&, const gradient_of_states&) = emulated::train_step;
  if (device == "cuda") {
#ifdef ECHO_CUDA
    train_step = cuda::train_step;
#else
    std::fprintf(stderr, "echo: device cuda was not built in; emulated is\n");
    return 3;
#endif
  }
  random_numbers random(s.seed);
  model m = make_model(s, random);
  adam optimiser(s.rate);
  std::vector<double> losses;
  double off = 0;
  for (int64_t step = 0; step < s.steps; ++step) {
    const batch b = draw_batch(s, random);
    loss_and_gradient above;
    const gradient_of_states gradient = [&](const std::vector<float>& states) {
      above = read_out(m, b, states);
      return above.of_states;
    };
    model gradients{train_step(m.n, b, gradient), above.of_out};
    losses.push_back(above.loss);
    if (step == 0) off = distance(gradients.n, plain_step(m.n, b, gradient));
    gradients.out = above.of_out;
    optimiser.update(m, gradients);
    if (step % std::max<int64_t>(1, s.steps / 20) == 0)
      std::printf("step %6lld  loss %.6f\n", static_cast<long long>(step), losses.back());
  }
  const size_t tenth = std::max<size_t>(1, losses.size() / 10);
  const double first = std::accumulate(losses.begin(), losses.begin() + static_cast<ptrdiff_t>(tenth), 0.0) / tenth;
  const double last = std::accumulate(losses.end() - static_cast<ptrdiff_t>(tenth), losses.end(), 0.0) / tenth;
  std::printf(
      "device %s: gradients within %.2e of a plain backward pass in double; mean loss %.6f of the first tenth of "
      "%zu steps, %.6f of the last\n",
      device.c_str(), off, first, losses.size(), last);
  return off <= k_gradient_gate && last < first / 2 ? 0 : 1;
}

}  // namespace
}  // namespace echo

int main(int argc, char** argv) {
  CLI::App app{"Gated recurrent units learn to add two marked numbers of a sequence."};
  echo::settings s;
  std::string device = "emulated";
  app.add_option("--device", device, "emulated or cuda")->check(CLI::IsMember({"emulated", "cuda"}));
  app.add_option("--time", s.time, "numbers of a sequence")->check(CLI::Range(2, 100000))->capture_default_str();
  app.add_option("--rows", s.rows, "sequences of a batch")->check(CLI::Range(1, 100000))->capture_default_str();
  app.add_option("--hidden", s.hidden, "units")->check(CLI::Range(1, 4096))->capture_default_str();
  app.add_option("--steps", s.steps, "batches")->check(CLI::Range(1, 10000000))->capture_default_str();
  app.add_option("--rate", s.rate, "of Adam")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seed", s.seed, "of parameters and sequences")->capture_default_str();
  app.footer(
      "Exit codes: 0 the loss fell to less than half and gradients agree, 1 not so, 2 usage, 3 the device is missing.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    return echo::run(s, device);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "echo: device %s: %s\n", device.c_str(), e.what());
    return 3;
  }
}
