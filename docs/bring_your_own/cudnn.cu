// cuDNN's gated recurrent unit, both passes, with its own reserve between them.
//   warpcheck verify gru --source docs/bring_your_own/cudnn.cu --entry my_gru --device cuda
#include <cuda_runtime.h>
#include <cudnn.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

struct unsupported {};
struct failed {};

void* library() {
  static void* const so = dlopen("libcudnn.so.9", RTLD_NOW);
  return so ? so : throw unsupported();
}

// Calls a function of the library, which is loaded by the first call.
template <class Function, class... T>
void call(Function*, const char* name, T... arguments) {
  const cudnnStatus_t status = reinterpret_cast<Function*>(dlsym(library(), name))(arguments...);
  if (status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000) throw unsupported();
  if (status != CUDNN_STATUS_SUCCESS) throw failed();
}
#define DNN(name, ...) call(&cudnn##name, "cudnn" #name, __VA_ARGS__)

struct memory {
  void* data = nullptr;
  cudaStream_t stream;
  memory(size_t bytes, cudaStream_t s) : stream(s) {
    if (cudaMallocAsync(&data, std::max<size_t>(1, bytes), s)) throw failed();
    cudaMemsetAsync(data, 0, std::max<size_t>(1, bytes), s);
  }
  ~memory() { cudaFreeAsync(data, stream); }
};

struct network {
  int T, B, I, H, D;
  cudnnHandle_t handle = nullptr;
  cudnnDropoutDescriptor_t dropout = nullptr;
  cudnnRNNDescriptor_t rnn = nullptr;
  cudnnRNNDataDescriptor_t of_x = nullptr, of_y = nullptr;
  cudnnTensorDescriptor_t of_h = nullptr, of_w = nullptr, of_b = nullptr;
  size_t weights = 0, work = 0, reserve = 0;

  network(int64_t t, int64_t b, int64_t i, int64_t h, int64_t d, bool trains, cudaStream_t stream)
      : T(int(t)), B(int(b)), I(int(i)), H(int(h)), D(int(d)) {
    static cudnnHandle_t made = nullptr;
    if (!made) DNN(Create, &made);
    handle = made;
    DNN(SetStream, handle, stream);
    DNN(CreateDropoutDescriptor, &dropout);
    DNN(SetDropoutDescriptor, dropout, handle, 0.f, nullptr, size_t{0}, 0ull);
    DNN(CreateRNNDescriptor, &rnn);
    DNN(SetRNNDescriptor_v8, rnn, CUDNN_RNN_ALGO_STANDARD, CUDNN_GRU, CUDNN_RNN_DOUBLE_BIAS,
        D == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT,
        CUDNN_FMA_MATH, I, H, H, 1, dropout, uint32_t(CUDNN_RNN_PADDED_IO_ENABLED));
    const std::vector<int> lengths(B, T);
    float padding = 0;
    for (auto* data : {&of_x, &of_y}) {
      DNN(CreateRNNDataDescriptor, data);
      DNN(SetRNNDataDescriptor, *data, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, T, B,
          data == &of_x ? I : D * H, lengths.data(), static_cast<void*>(&padding));
    }
    for (auto* tensor : {&of_h, &of_w, &of_b}) DNN(CreateTensorDescriptor, tensor);
    const int sizes[] = {D, B, H}, strides[] = {B * H, H, 1};
    DNN(SetTensorNdDescriptor, of_h, CUDNN_DATA_FLOAT, 3, sizes, strides);
    DNN(GetRNNWeightSpaceSize, handle, rnn, &weights);
    DNN(GetRNNTempSpaceSizes, handle, rnn, trains ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE, of_x, &work,
        &reserve);
  }
  ~network() {
    for (auto tensor : {of_h, of_w, of_b}) DNN(DestroyTensorDescriptor, tensor);
    for (auto data : {of_x, of_y}) DNN(DestroyRNNDataDescriptor, data);
    DNN(DestroyRNNDescriptor, rnn);
    DNN(DestroyDropoutDescriptor, dropout);
  }

  // Copies matrices and biases into the weight space, or out of it. Its matrices 0 to 2 are r, z, n of the input.
  template <class Space, class W>
  void copy(Space* space, W* w_ih, W* w_hh, W* b_ih, W* b_hh, cudaStream_t stream) const {
    for (int d = 0; d < D; ++d)
      for (int i = 0; i < 6; ++i) {
        void *matrix = nullptr, *bias = nullptr;
        DNN(GetRNNWeightParams, handle, rnn, d, weights, static_cast<const void*>(space), i, of_w, &matrix, of_b,
            &bias);
        const int64_t row = (3 * d + i % 3) * int64_t(H), width = i < 3 ? I : H;
        W *const own = i < 3 ? w_ih : w_hh, *const own_bias = i < 3 ? b_ih : b_hh;
        if (own) move(matrix, own + row * width, H * width, stream);
        if (own_bias) move(bias, own_bias + row, H, stream);
      }
  }
  template <class W>
  static void move(void* space, W* own, int64_t size, cudaStream_t stream) {
    if constexpr (std::is_const<W>::value)
      cudaMemcpyAsync(space, own, 4 * size, cudaMemcpyDeviceToDevice, stream);
    else
      cudaMemcpyAsync(own, space, 4 * size, cudaMemcpyDeviceToDevice, stream);
  }
};

int my_gru(const float* x, const float* w_ih, const float* w_hh, const float* b_ih, const float* b_hh, const float* h0,
           const float* dy, const float* dhn, const float* y_in, float* y, float* hn, float* dx, float* dh0,
           float* dw_ih, float* dw_hh, float* db_ih, float* db_hh, int64_t time, int64_t batch, int64_t input,
           int64_t hidden, int64_t directions, int pass, void* reserve, int64_t* reserve_bytes, cudaStream_t stream) {
  try {
    if (time * batch * input * hidden == 0 || (pass != 0 && !reserve && !reserve_bytes)) return cudaErrorNotSupported;
    const int32_t* const all_steps = nullptr;
    const network g(time, batch, input, hidden, directions, reserve || reserve_bytes, stream);
    if (reserve_bytes) {  // asked for its size alone
      *reserve_bytes = int64_t(g.reserve);
      return cudaSuccess;
    }
    const memory weights(g.weights, stream), work(g.work, stream);
    const void *const no_cell = nullptr, *const space = weights.data;
    const cudnnTensorDescriptor_t no_cells = nullptr;
    g.copy(weights.data, w_ih, w_hh, b_ih, b_hh, stream);
    if (pass == 0) {
      DNN(RNNForward, g.handle, g.rnn, reserve ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE, all_steps, g.of_x,
          (const void*)x, g.of_y, (void*)y, g.of_h, (const void*)h0, (void*)hn, no_cells, no_cell, (void*)nullptr,
          g.weights, space, g.work, work.data, g.reserve, reserve);
      return cudaSuccess;
    }
    const memory no_dy(dy ? 0 : 4 * time * batch * directions * hidden, stream),
        no_dx(4 * time * batch * input, stream), gradients(g.weights, stream);
    DNN(RNNBackwardData_v8, g.handle, g.rnn, all_steps, g.of_y, (const void*)y_in, dy ? (const void*)dy : no_dy.data,
        g.of_x, dx ? (void*)dx : no_dx.data, g.of_h, (const void*)h0, (const void*)dhn, (void*)dh0, no_cells, no_cell,
        no_cell, (void*)nullptr, g.weights, space, g.work, work.data, g.reserve, reserve);
    DNN(RNNBackwardWeights_v8, g.handle, g.rnn, CUDNN_WGRAD_MODE_ADD, all_steps, g.of_x, (const void*)x, g.of_h,
        (const void*)h0, g.of_y, (const void*)y_in, g.weights, gradients.data, g.work, work.data, g.reserve, reserve);
    g.copy(static_cast<const void*>(gradients.data), dw_ih, dw_hh, db_ih, db_hh, stream);
    return cudaSuccess;
  } catch (const unsupported&) {
    return cudaErrorNotSupported;
  } catch (const failed&) {
    return cudaErrorUnknown;
  }
}
