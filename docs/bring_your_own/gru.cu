// A gated recurrent unit, forward only, as an entry: one thread for each unit of each row, one launch for each step.
//   warpcheck verify gru --source docs/bring_your_own/gru.cu --entry my_gru --device emulated
// Contract: kernels/gru/gru.hpp. One or two directions, rows of several lengths, any biases and first states.
#include <cuda_runtime.h>
#include <cstdint>

struct network {
  const float *x, *w_ih, *w_hh, *b_ih, *b_hh, *h0;
  const int64_t* lengths;
  float *y, *hn;
  int64_t time, batch, input, hidden, directions;
};

__device__ float logistic(float v) { return 1.f / (1.f + expf(-v)); }

__device__ float dot(const float* w, const float* v, int64_t n, const float* bias, int64_t row) {
  float sum = 0;
  for (int64_t i = 0; v && i < n; ++i) sum = fmaf(w[row * n + i], v[i], sum);
  return bias ? sum + bias[row] : sum;
}

// Step s of every row: direction 0 visits times 0, 1, ..., direction 1 the last time of the row first.
__global__ void step(network g, int64_t s) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x, H = g.hidden, width = g.directions * H;
  if (i >= g.directions * g.batch * H) return;
  const int64_t j = i % H, b = i / H % g.batch, d = i / H / g.batch;
  const int64_t length = !g.lengths ? g.time : g.lengths[b] < 0 ? 0 : min(g.lengths[b], g.time);
  const auto y = [&](int64_t t) { return g.y + (t * g.batch + b) * width + d * H; };
  if (s >= length) {  // padding
    y(s)[j] = 0;
    return;
  }
  const int64_t t = d == 0 ? s : length - 1 - s;
  const float* before = s > 0 ? y(d == 0 ? t - 1 : t + 1) : g.h0 ? g.h0 + (d * g.batch + b) * H : nullptr;
  const float* x = g.x + (t * g.batch + b) * g.input;
  float gi[3], gh[3];
  for (int q = 0; q < 3; ++q) {
    const int64_t row = d * 3 * H + q * H + j;
    gi[q] = dot(g.w_ih, x, g.input, g.b_ih, row);
    gh[q] = dot(g.w_hh, before, H, g.b_hh, row);
  }
  const float r = logistic(gi[0] + gh[0]), z = logistic(gi[1] + gh[1]), n = tanhf(fmaf(r, gh[2], gi[2]));
  y(t)[j] = fmaf(z, before ? before[j] : 0.f, fmaf(-z, n, n));
  if (g.hn) g.hn[i] = y(t)[j];
}

// hn of a row without steps.
__global__ void first_states(network g) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < g.directions * g.batch * g.hidden) g.hn[i] = g.h0 ? g.h0[i] : 0;
}

int my_gru(const float* x, const float* w_ih, const float* w_hh, const float* b_ih, const float* b_hh, const float* h0,
           const int64_t* lengths, float* y, float* hn, int64_t time, int64_t batch, int64_t input, int64_t hidden,
           int64_t directions, int pass, cudaStream_t stream) {
  if (pass != 0) return cudaErrorNotSupported;
  const network g = {x, w_ih, w_hh, b_ih, b_hh, h0, lengths, y, hn, time, batch, input, hidden, directions};
  const unsigned blocks = unsigned((directions * batch * hidden + 127) / 128);
  if (hn && blocks) first_states<<<blocks, 128, 0, stream>>>(g);
  for (int64_t s = 0; s < time && blocks; ++s) step<<<blocks, 128, 0, stream>>>(g, s);
  return cudaGetLastError();
}
