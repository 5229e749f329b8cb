// Training on a device, from the operators of kernels/.
//
//   matmul    the layers, forwards with bias and sigmoid; backwards h^T d, d W^T and x^T d by its transposes; and the
//             steps themselves: W - rate h^T d is alpha A B + beta C with alpha = -rate and beta = 1
//   sigmoid   of the second layer, whose sums matmul leaves as they are
//
// Everything here but the two small kernels is host code that any CUDA program could hold; `simt` stands for the CUDA
// runtime, so that the file also compiles for the emulated device. One stream, and simt::memcpy_async with
// std::vector's memory, which is pageable: a copy to the host has arrived when the call returns.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/matmul/matmul.hpp"
#include "kernels/sigmoid/sigmoid.hpp"
#include "perceptron.hpp"

namespace perceptron_example {
inline namespace SIMT_DEVICE_NS {  // cuda or emulated: both fit into one program
namespace {

using namespace warpcheck;

constexpr unsigned k_threads = 256;
const simt::stream_t k_stream = nullptr;  // the default one

simt::launch_config threads_for(int64_t n) {
  return {dim3(static_cast<unsigned>((n + k_threads - 1) / k_threads)), dim3(k_threads), 0, k_stream};
}

// d[i] = (y[i] - t[i]) / n, the derivative of the loss by the sums before the last sigmoid.
__global__ void output_error(const float* y, const float* t, int64_t n, float* d) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) d[i] = (y[i] - t[i]) / static_cast<float>(n);
}

// d[i] *= h[i] (1 - h[i]), the derivative through a sigmoid whose value is h.
__global__ void through_sigmoid(const float* h, int64_t n, float* d) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) d[i] *= h[i] * (1.0f - h[i]);
}

// A dense matrix of the device.
struct matrix {
  simt::buffer<float> values;
  int64_t rows, cols;

  matrix(int64_t r, int64_t c) : values(static_cast<size_t>(r * c), k_stream), rows(r), cols(c) {}
  matrix(int64_t r, int64_t c, const std::vector<float>& from) : matrix(r, c) {
    simt::memcpy_async(values.data(), from.data(), from.size() * sizeof(float), k_stream);
  }
  float* data() const { return values.data(); }
  int64_t size() const { return rows * cols; }
};

class training {
 public:
  training(const dataset& data, const network& start)
      : x_(data.rows, data.inputs, data.x),
        t_(data.rows, 1, data.t),
        ones_(1, data.rows, std::vector<float>(static_cast<size_t>(data.rows), 1.0f)),
        w1_(start.inputs, start.hidden, start.w1),
        b1_(1, start.hidden, start.b1),
        w2_(start.hidden, 1, start.w2),
        b2_(1, 1, start.b2),
        h_(data.rows, start.hidden),
        y_(data.rows, 1),
        d1_(data.rows, start.hidden),
        d2_(data.rows, 1) {}

  void forwards() {
    multiply(trans::none, trans::none, 1, x_, w1_, 0, h_, {b1_.data(), true, 0, 1});
    multiply(trans::none, trans::none, 1, h_, w2_, 0, y_, {b2_.data(), false, 0, 1});
    sigmoid(y_.data(), y_.data(), y_.size(), 0, 1, k_stream);
  }

  // After forwards().
  void step(float rate) {
    simt::launch(threads_for(y_.size()), output_error, static_cast<const float*>(y_.data()),
                 static_cast<const float*>(t_.data()), y_.size(), d2_.data());
    multiply(trans::none, trans::yes, 1, d2_, w2_, 0, d1_);
    simt::launch(threads_for(h_.size()), through_sigmoid, static_cast<const float*>(h_.data()), h_.size(), d1_.data());
    multiply(trans::yes, trans::none, -rate, h_, d2_, 1, w2_);
    multiply(trans::none, trans::none, -rate, ones_, d2_, 1, b2_);
    multiply(trans::yes, trans::none, -rate, x_, d1_, 1, w1_);
    multiply(trans::none, trans::none, -rate, ones_, d1_, 1, b1_);
  }

  std::vector<float> output() const {
    std::vector<float> y(static_cast<size_t>(y_.size()));
    simt::memcpy_async(y.data(), y_.data(), y.size() * sizeof(float), k_stream);
    return y;
  }

 private:
  // c = alpha op(a) op(b) + beta c, and what follows.
  void multiply(trans ta, trans tb, float alpha, const matrix& a, const matrix& b, float beta, const matrix& c,
                perceptron epilogue = {}) {
    const int64_t k = ta == trans::yes ? a.rows : a.cols;
    const int64_t bytes = matmul_work_bytes<float, float>({}, c.rows, c.cols, k);
    const simt::buffer<float4> work(static_cast<size_t>(std::max<int64_t>(bytes / 16, 1)), k_stream);
    matmul<float, float>(ta, tb, c.rows, c.cols, k, alpha, a.data(), a.cols, b.data(), b.cols, beta, c.data(), c.cols,
                         epilogue, {}, work.data(), bytes, k_stream);
  }

  const matrix x_, t_, ones_;
  const matrix w1_, b1_, w2_, b2_;
  const matrix h_, y_, d1_, d2_;
};

}  // namespace

// Throws std::invalid_argument and simt::device_error.
predictions train_on_device(const dataset& data, const network& start, const settings& s);
predictions train_on_device(const dataset& data, const network& start, const settings& s) {
  training run(data, start);
  predictions kept;
  for (int step = 0; step <= s.steps; ++step) {
    run.forwards();
    if (step % s.report == 0 || step == s.steps) kept.push_back(run.output());
    if (step < s.steps) run.step(s.rate);
  }
  return kept;
}

}  // namespace SIMT_DEVICE_NS
}  // namespace perceptron_example
