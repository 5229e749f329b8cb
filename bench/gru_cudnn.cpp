#include "bench/gru_cudnn.hpp"

#if __has_include(<cudnn.h>)
#include <cudnn.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "bench/limits.hpp"

namespace warpcheck::bench {
namespace {

// What is called of cuDNN, without the prefix of its names.
#define WARPCHECK_CUDNN_FUNCTIONS(X) \
  X(Create)                          \
  X(Destroy)                         \
  X(SetStream)                       \
  X(GetVersion)                      \
  X(GetErrorString)                  \
  X(CreateTensorDescriptor)          \
  X(DestroyTensorDescriptor)         \
  X(SetTensorNdDescriptor)           \
  X(CreateDropoutDescriptor)         \
  X(DestroyDropoutDescriptor)        \
  X(SetDropoutDescriptor)            \
  X(CreateRNNDescriptor)             \
  X(DestroyRNNDescriptor)            \
  X(SetRNNDescriptor_v8)             \
  X(CreateRNNDataDescriptor)         \
  X(DestroyRNNDataDescriptor)        \
  X(SetRNNDataDescriptor)            \
  X(GetRNNWeightSpaceSize)           \
  X(GetRNNWeightParams)              \
  X(GetRNNTempSpaceSizes)            \
  X(RNNForward)                      \
  X(RNNBackwardData_v8)              \
  X(RNNBackwardWeights_v8)

struct functions {
// By its own declaration.
#define WARPCHECK_CUDNN(name) decltype(&::cudnn##name) name = nullptr;
  WARPCHECK_CUDNN_FUNCTIONS(WARPCHECK_CUDNN)
#undef WARPCHECK_CUDNN
};

class bytes {
 public:
  explicit bytes(size_t size) : size_(size) { check(cudaMalloc(&data_, std::max<size_t>(1, size)), "cuDNN's memory"); }
  explicit bytes(const std::vector<float>& v) : bytes(v.size() * sizeof(float)) {
    check(cudaMemcpy(data_, v.data(), size_, cudaMemcpyHostToDevice), "cuDNN's data");
  }
  ~bytes() { cudaFree(data_); }
  bytes(const bytes&) = delete;
  bytes& operator=(const bytes&) = delete;
  void* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  size_t size_;
  void* data_ = nullptr;
};

}  // namespace

struct gru_cudnn::library {
  functions f;
  cudnnHandle_t handle = nullptr;

  void require(cudnnStatus_t status, const char* what) const {
    if (status != CUDNN_STATUS_SUCCESS) throw std::runtime_error(std::string(what) + ": " + f.GetErrorString(status));
  }
};

namespace {

// A net of one algorithm with its memory.
template <class Library>
class net {
 public:
  net(const Library& l, const gru_cell& c, const gru_values& v, cudnnRNNAlgo_t algorithm, cudnnMathType_t math,
      cudaStream_t stream)
      : l_(l), c_(c), x_(v.x), h0_(v.h0), dy_(v.dy), y_(v.dy.size() * 4), dx_(v.x.size() * 4) {
    const auto narrow = [](int64_t n) { return static_cast<int>(n); };
    l.require(l.f.SetStream(l.handle, stream), "cudnnSetStream");
    l.require(l.f.CreateDropoutDescriptor(&dropout_), "dropout");
    l.require(l.f.SetDropoutDescriptor(dropout_, l.handle, 0, nullptr, 0, 0), "dropout");
    l.require(l.f.CreateRNNDescriptor(&rnn_), "cudnnCreateRNNDescriptor");
    l.require(l.f.SetRNNDescriptor_v8(rnn_, algorithm, CUDNN_GRU, CUDNN_RNN_DOUBLE_BIAS,
                                      c.directions == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL,
                                      CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, math, narrow(c.input),
                                      narrow(c.hidden), narrow(c.hidden), 1, dropout_, CUDNN_RNN_PADDED_IO_ENABLED),
              "cudnnSetRNNDescriptor_v8");
    const std::vector<int> lengths(static_cast<size_t>(c.batch), narrow(c.time));
    float padding = 0;
    for (auto* d : {&of_x_, &of_y_}) l.require(l.f.CreateRNNDataDescriptor(d), "cudnnCreateRNNDataDescriptor");
    for (const auto& [d, width] : {std::pair{of_x_, c.input}, std::pair{of_y_, c.hidden * c.directions}})
      l.require(l.f.SetRNNDataDescriptor(d, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, narrow(c.time),
                                         narrow(c.batch), narrow(width), lengths.data(), &padding),
                "cudnnSetRNNDataDescriptor");
    const int sizes[] = {c.directions, narrow(c.batch), narrow(c.hidden)};
    const int strides[] = {sizes[1] * sizes[2], sizes[2], 1};
    l.require(l.f.CreateTensorDescriptor(&of_h_), "cudnnCreateTensorDescriptor");
    l.require(l.f.SetTensorNdDescriptor(of_h_, CUDNN_DATA_FLOAT, 3, sizes, strides), "cudnnSetTensorNdDescriptor");
    size_t weights = 0, work = 0, reserve = 0;
    l.require(l.f.GetRNNWeightSpaceSize(l.handle, rnn_, &weights), "cudnnGetRNNWeightSpaceSize");
    l.require(l.f.GetRNNTempSpaceSizes(l.handle, rnn_, CUDNN_FWD_MODE_TRAINING, of_x_, &work, &reserve),
              "cudnnGetRNNTempSpaceSizes");
    weights_ = std::make_unique<bytes>(weights);
    gradients_ = std::make_unique<bytes>(weights);
    work_ = std::make_unique<bytes>(work);
    reserve_ = std::make_unique<bytes>(reserve);
    check(cudaMemset(weights_->data(), 0, weights), "cuDNN's weights");
    set_weights(v);
  }
  ~net() {
    if (rnn_) l_.f.DestroyRNNDescriptor(rnn_);
    if (dropout_) l_.f.DestroyDropoutDescriptor(dropout_);
    if (of_x_) l_.f.DestroyRNNDataDescriptor(of_x_);
    if (of_y_) l_.f.DestroyRNNDataDescriptor(of_y_);
    if (of_h_) l_.f.DestroyTensorDescriptor(of_h_);
  }
  net(const net&) = delete;
  net& operator=(const net&) = delete;

  void forward() const {
    l_.require(l_.f.RNNForward(l_.handle, rnn_, CUDNN_FWD_MODE_TRAINING, nullptr, of_x_, x_.data(), of_y_, y_.data(),
                               of_h_, h0_.data(), nullptr, nullptr, nullptr, nullptr, weights_->size(),
                               weights_->data(), work_->size(), work_->data(), reserve_->size(), reserve_->data()),
               "cudnnRNNForward");
  }
  void backward() const {
    l_.require(
        l_.f.RNNBackwardData_v8(l_.handle, rnn_, nullptr, of_y_, y_.data(), dy_.data(), of_x_, dx_.data(), of_h_,
                                h0_.data(), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, weights_->size(),
                                weights_->data(), work_->size(), work_->data(), reserve_->size(), reserve_->data()),
        "cudnnRNNBackwardData_v8");
    check(cudaMemsetAsync(gradients_->data(), 0, gradients_->size(), stream()), "cuDNN's gradients");
    l_.require(l_.f.RNNBackwardWeights_v8(l_.handle, rnn_, CUDNN_WGRAD_MODE_ADD, nullptr, of_x_, x_.data(), of_h_,
                                          h0_.data(), of_y_, y_.data(), gradients_->size(), gradients_->data(),
                                          work_->size(), work_->data(), reserve_->size(), reserve_->data()),
               "cudnnRNNBackwardWeights_v8");
  }
  void set_stream(cudaStream_t stream) { stream_ = stream; }
  cudaStream_t stream() const { return stream_; }

  std::vector<float> y() const { return read(y_); }
  std::vector<float> dx() const { return read(dx_); }

 private:
  static std::vector<float> read(const bytes& from) {
    std::vector<float> values(from.size() / sizeof(float));
    check(cudaMemcpy(values.data(), from.data(), from.size(), cudaMemcpyDeviceToHost), "cuDNN's results");
    return values;
  }
  // Matrices 0 to 2 are W_ir, W_iz, W_in, 3 to 5 those of the state.
  void set_weights(const gru_values& v) {
    cudnnTensorDescriptor_t of_w = nullptr, of_b = nullptr;
    l_.require(l_.f.CreateTensorDescriptor(&of_w), "cudnnCreateTensorDescriptor");
    l_.require(l_.f.CreateTensorDescriptor(&of_b), "cudnnCreateTensorDescriptor");
    for (int d = 0; d < c_.directions; ++d)
      for (int i = 0; i < 6; ++i) {
        void *w = nullptr, *b = nullptr;
        l_.require(
            l_.f.GetRNNWeightParams(l_.handle, rnn_, d, weights_->size(), weights_->data(), i, of_w, &w, of_b, &b),
            "cudnnGetRNNWeightParams");
        const std::vector<float>& matrix = i < 3 ? v.w_ih : v.w_hh;
        const std::vector<float>& bias = i < 3 ? v.b_ih : v.b_hh;
        const int64_t columns = i < 3 ? c_.input : c_.hidden, row = (3 * d + i % 3) * c_.hidden;
        const auto copy = [](void* to, const float* from, int64_t size) {
          check(cudaMemcpy(to, from, static_cast<size_t>(size) * 4, cudaMemcpyHostToDevice), "cuDNN's weights");
        };
        copy(w, matrix.data() + row * columns, c_.hidden * columns);
        copy(b, bias.data() + row, c_.hidden);
      }
    l_.f.DestroyTensorDescriptor(of_w);
    l_.f.DestroyTensorDescriptor(of_b);
  }

  const Library& l_;
  gru_cell c_;
  bytes x_, h0_, dy_, y_, dx_;
  std::unique_ptr<bytes> weights_, gradients_, work_, reserve_;
  cudnnDropoutDescriptor_t dropout_ = nullptr;
  cudnnRNNDescriptor_t rnn_ = nullptr;
  cudnnRNNDataDescriptor_t of_x_ = nullptr, of_y_ = nullptr;
  cudnnTensorDescriptor_t of_h_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

}  // namespace

gru_cudnn::gru_cudnn() : library_(new library) {
  void* const so = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
  if (so == nullptr) {
    problem_ = std::string("cuDNN absent: ") + dlerror();
    return;
  }
  functions& f = library_->f;
  const auto load = [&](auto& function, const char* name) {
    void* const symbol = dlsym(so, name);
    if (symbol == nullptr) problem_ = std::string("cuDNN absent: it has no ") + name;
    std::memcpy(&function, &symbol, sizeof symbol);
  };
#define WARPCHECK_CUDNN(name) load(f.name, "cudnn" #name);
  WARPCHECK_CUDNN_FUNCTIONS(WARPCHECK_CUDNN)
#undef WARPCHECK_CUDNN
#undef WARPCHECK_CUDNN_FUNCTIONS
  if (problem_.empty()) library_->require(f.Create(&library_->handle), "cudnnCreate");
}

gru_cudnn::~gru_cudnn() {
  if (library_->handle != nullptr) library_->f.Destroy(library_->handle);
}

std::string gru_cudnn::name() const {
  if (!problem_.empty()) return problem_;
  const size_t v = library_->f.GetVersion();
  return "cuDNN " + std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." + std::to_string(v % 100);
}

std::vector<cudnn_result> gru_cudnn::run_all(const gru_cell& c, const gru_values& v, bool backward, int repeats,
                                             cudaStream_t stream) {
  std::vector<cudnn_result> results;
  if (!problem_.empty()) return results;
  struct way {
    cudnnRNNAlgo_t algorithm;
    cudnnMathType_t math;
    const char* by;
  };
  const way ways[] = {{CUDNN_RNN_ALGO_STANDARD, CUDNN_FMA_MATH, "standard"},
                      {CUDNN_RNN_ALGO_PERSIST_STATIC, CUDNN_FMA_MATH, "persistent"},
                      {CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H, CUDNN_FMA_MATH, "persistent, small hidden"},
                      {CUDNN_RNN_ALGO_STANDARD, CUDNN_DEFAULT_MATH, "standard, tf32"},
                      {CUDNN_RNN_ALGO_PERSIST_STATIC, CUDNN_DEFAULT_MATH, "persistent, tf32"},
                      {CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H, CUDNN_DEFAULT_MATH, "persistent, small hidden, tf32"}};
  for (const auto& [algorithm, math, by] : ways) {
    const bool is_tf32 = math != CUDNN_FMA_MATH;
    if (is_tf32 && !c.is_rounded()) continue;
    try {
      net<library> n(*library_, c, v, algorithm, math, stream);
      n.set_stream(stream);
      n.forward();
      if (backward) n.backward();
      check(cudaStreamSynchronize(stream), by);
      cudnn_result result{by, 0, is_tf32, n.y(), backward ? n.dx() : std::vector<float>()};
      result.us = median(time_each(stream, repeats, [&](int) { backward ? n.backward() : n.forward(); }));
      results.push_back(std::move(result));
    } catch (const std::runtime_error&) {
      // It does not take this shape.
    }
  }
  return results;
}

}  // namespace warpcheck::bench

#else

namespace warpcheck::bench {

struct gru_cudnn::library {};
gru_cudnn::gru_cudnn() : problem_("cuDNN absent: built without its header") {}
gru_cudnn::~gru_cudnn() = default;
std::string gru_cudnn::name() const { return problem_; }
std::vector<cudnn_result> gru_cudnn::run_all(const gru_cell&, const gru_values&, bool, int, cudaStream_t) { return {}; }

}  // namespace warpcheck::bench

#endif
