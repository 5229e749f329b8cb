// A gated recurrent unit with both passes as an entry: one block for each row of a direction, one thread for each unit.
//   warpcheck verify gru --source docs/bring_your_own/gru_training.cu --entry my_gru --device emulated
// Contract: kernels/gru/gru.hpp. The reserve holds the gates and hn of every step in f64, then the gradients of the
// gates and of the states, in a layout of its own. Values that a step passes to the next one are rounded to f32.
#include <cuda_runtime.h>
#include <cstdint>

struct network {
  const float *x, *w_ih, *w_hh, *b_ih, *b_hh, *h0, *dy, *dhn, *y_in;
  float *y, *hn, *dx, *dh0, *dw_ih, *dw_hh, *db_ih, *db_hh;
  int64_t T, B, I, H, D;
  double* reserve;

  // For each step of a row: r, z, n and hn. After those of all steps: d_r, d_z, d_n and d_n r.
  __host__ __device__ int64_t values() const { return 4 * D * T * B * H; }
  __host__ __device__ int64_t bytes() const { return 8 * (2 * values() + D * B * H); }
  __device__ double* gates(int64_t d, int64_t t, int64_t b) const { return reserve + 4 * ((d * T + t) * B + b) * H; }
  __device__ double* gradients(int64_t d, int64_t t, int64_t b) const { return gates(d, t, b) + values(); }
  __device__ double* state_gradient(int64_t row) const { return reserve + 2 * values() + row * H; }
  __device__ double before(const float* states, int64_t d, int64_t t, int64_t b, int64_t j) const {
    const int64_t last = d == 0 ? t - 1 : t + 1;
    if (last >= 0 && last < T) return states[((last * B + b) * D + d) * H + j];
    return h0 ? h0[(d * B + b) * H + j] : 0;
  }
};

__device__ double logistic(double v) { return 1 / (1 + exp(-v)); }

__device__ void step_forward(const network& g, int64_t d, int64_t t, int64_t b, double* kept) {
  for (int64_t j = threadIdx.x; j < g.H; j += blockDim.x) {
    double gi[3], gh[3];
    for (int q = 0; q < 3; ++q) {
      const int64_t row = (d * 3 + q) * g.H + j;
      gi[q] = g.b_ih ? g.b_ih[row] : 0;
      gh[q] = g.b_hh ? g.b_hh[row] : 0;
      for (int64_t i = 0; i < g.I; ++i) gi[q] += double(g.w_ih[row * g.I + i]) * g.x[(t * g.B + b) * g.I + i];
      for (int64_t i = 0; i < g.H; ++i) gh[q] += g.w_hh[row * g.H + i] * g.before(g.y, d, t, b, i);
    }
    const double r = logistic(gi[0] + gh[0]), z = logistic(gi[1] + gh[1]), n = tanh(gi[2] + r * gh[2]);
    const float state = float(z * g.before(g.y, d, t, b, j) + (1 - z) * n);
    g.y[((t * g.B + b) * g.D + d) * g.H + j] = state;
    if (g.hn) g.hn[(d * g.B + b) * g.H + j] = state;
    const double values[] = {r, z, n, gh[2]};
    for (int q = 0; q < 4 && kept; ++q) kept[q * g.H + j] = values[q];
  }
}

__global__ void forward(network g) {
  for (int64_t row = blockIdx.x; row < g.D * g.B; row += gridDim.x) {
    const int64_t d = row / g.B, b = row % g.B;
    for (int64_t j = threadIdx.x; j < g.H && g.hn; j += blockDim.x)
      g.hn[row * g.H + j] = g.h0 ? g.h0[row * g.H + j] : 0;
    for (int64_t s = 0; s < g.T; ++s) {
      const int64_t t = d == 0 ? s : g.T - 1 - s;
      step_forward(g, d, t, b, g.reserve ? g.gates(d, t, b) : nullptr);
      __syncthreads();
    }
  }
}

// The gradients of the gates of all steps, and of the first states.
__global__ void backward_states(network g) {
  for (int64_t row = blockIdx.x; row < g.D * g.B; row += gridDim.x) {
    const int64_t d = row / g.B, b = row % g.B;
    double* const dh = g.state_gradient(row);
    for (int64_t j = threadIdx.x; j < g.H; j += blockDim.x) dh[j] = g.dhn ? g.dhn[row * g.H + j] : 0;
    for (int64_t s = 0; s < g.T; ++s) {
      const int64_t t = d == 1 ? s : g.T - 1 - s;
      const double* k = g.gates(d, t, b);
      double* v = g.gradients(d, t, b);
      for (int64_t j = threadIdx.x; j < g.H; j += blockDim.x) {
        const double r = k[j], z = k[g.H + j], n = k[2 * g.H + j], hn = k[3 * g.H + j];
        const double e = float(dh[j] + (g.dy ? g.dy[((t * g.B + b) * g.D + d) * g.H + j] : 0));
        v[2 * g.H + j] = e * (1 - z) * (1 - n * n);
        v[j] = v[2 * g.H + j] * hn * r * (1 - r);
        v[g.H + j] = e * (g.before(g.y_in, d, t, b, j) - n) * z * (1 - z);
        v[3 * g.H + j] = v[2 * g.H + j] * r;
        dh[j] = e * z;
      }
      __syncthreads();  // every thread reads the gradients of all gates
      for (int64_t i = threadIdx.x; i < g.H; i += blockDim.x) {
        double sum = dh[i];
        for (int64_t j = 0; j < 3 * g.H; ++j) sum += g.w_hh[(d * 3 * g.H + j) * g.H + i] * v[j < 2 * g.H ? j : j + g.H];
        dh[i] = float(sum);
      }
    }
    for (int64_t j = threadIdx.x; j < g.H && g.dh0; j += blockDim.x) g.dh0[row * g.H + j] = float(dh[j]);
  }
}

__global__ void backward_weights(network g) {
  for (int64_t row = blockIdx.x; row < g.D * 3 * g.H; row += gridDim.x) {
    const int64_t d = row / (3 * g.H), j = row % (3 * g.H), of_state = j < 2 * g.H ? j : j + g.H;
    for (int64_t i = int64_t(threadIdx.x) - 1; i < g.I + g.H; i += blockDim.x) {
      double sum = 0, other = 0;  // i < 0: of both biases
      for (int64_t t = 0; t < g.T; ++t)
        for (int64_t b = 0; b < g.B; ++b) {
          const double* v = g.gradients(d, t, b);
          sum += i < 0     ? v[j]
                 : i < g.I ? v[j] * g.x[(t * g.B + b) * g.I + i]
                           : v[of_state] * g.before(g.y_in, d, t, b, i - g.I);
          other += v[of_state];
        }
      if (i < 0 && g.db_ih) g.db_ih[row] = float(sum);
      if (i < 0 && g.db_hh) g.db_hh[row] = float(other);
      if (i >= 0 && i < g.I && g.dw_ih) g.dw_ih[row * g.I + i] = float(sum);
      if (i >= g.I && g.dw_hh) g.dw_hh[row * g.H + i - g.I] = float(sum);
    }
  }
}

__global__ void backward_input(network g) {
  for (int64_t step = blockIdx.x; step < g.T * g.B && g.dx; step += gridDim.x)
    for (int64_t i = threadIdx.x; i < g.I; i += blockDim.x) {
      double sum = 0;
      for (int64_t row = 0; row < g.D * 3 * g.H; ++row)
        sum += g.w_ih[row * g.I + i] * g.gradients(row / (3 * g.H), step / g.B, step % g.B)[row % (3 * g.H)];
      g.dx[step * g.I + i] = float(sum);
    }
}

int my_gru(const float* x, const float* w_ih, const float* w_hh, const float* b_ih, const float* b_hh, const float* h0,
           const float* dy, const float* dhn, const float* y_in, float* y, float* hn, float* dx, float* dh0,
           float* dw_ih, float* dw_hh, float* db_ih, float* db_hh, int64_t time, int64_t batch, int64_t input,
           int64_t hidden, int64_t directions, int pass, double* reserve, int64_t* reserve_bytes, cudaStream_t stream) {
  const network g = {x,   w_ih,  w_hh,  b_ih,  b_hh,  h0,   dy,    dhn,   y_in,   y,          hn,     dx,
                     dh0, dw_ih, dw_hh, db_ih, db_hh, time, batch, input, hidden, directions, reserve};
  if (reserve_bytes) {  // asked for its size alone
    *reserve_bytes = g.bytes();
    return cudaSuccess;
  }
  constexpr unsigned k_blocks = 16, k_threads = 32;
  if (pass == 0) forward<<<k_blocks, k_threads, 0, stream>>>(g);
  if (pass != 0 && !reserve) return cudaErrorNotSupported;
  if (pass == 1) backward_states<<<k_blocks, k_threads, 0, stream>>>(g);
  if (pass == 1) backward_weights<<<k_blocks, k_threads, 0, stream>>>(g);
  if (pass == 1) backward_input<<<k_blocks, k_threads, 0, stream>>>(g);
  return cudaGetLastError();
}
