// Entries for seven operators, correct by the contracts in kernels/<op>/<op>.hpp, and slow:
//   warpcheck verify reduce --source operators.cu --entry my_reduce --device emulated
// The name of a parameter determines its value (source.md). Replace a kernel by yours and keep the names that it needs.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

constexpr int k_threads = 128;

static unsigned blocks_for(int64_t threads) {
  const int64_t blocks = (threads + k_threads - 1) / k_threads;
  return static_cast<unsigned>(blocks < 65535 ? blocks : 65535);
}

__device__ int64_t first_thread() { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ int64_t all_threads() { return int64_t{gridDim.x} * blockDim.x; }

// The first maximum of a row, a NaN counting as the largest; -1 of an empty row.
__device__ int64_t first_maximum(const float* x, int64_t cols) {
  int64_t best = cols > 0 ? 0 : -1;
  for (int64_t j = 1; j < cols; ++j)
    if (x[best] == x[best] && (x[j] > x[best] || x[j] != x[j])) best = j;
  return best;
}

__global__ void argmax_rows(const float* x, int64_t ldx, int64_t* index, int64_t rows, int64_t cols) {
  for (int64_t r = first_thread(); r < rows; r += all_threads()) index[r] = first_maximum(x + r * ldx, cols);
}
extern "C" void my_argmax(const float* x, int64_t ldx, int64_t* index, int64_t rows, int64_t cols,
                          cudaStream_t stream) {
  argmax_rows<<<blocks_for(rows), k_threads, 0, stream>>>(x, ldx, index, rows, cols);
}

__global__ void logsumexp_rows(const float* x, int64_t ldx, float* y, int64_t rows, int64_t cols) {
  for (int64_t r = first_thread(); r < rows; r += all_threads()) {
    const float* row = x + r * ldx;
    const int64_t best = first_maximum(row, cols);
    const double largest = best < 0 ? -INFINITY : row[best];
    double others = 0;  // their exponentials; that of the maximum is 1
    for (int64_t j = 0; j < cols; ++j)
      if (j != best) others += exp(row[j] - largest);
    y[r] = static_cast<float>(isinf(largest) ? largest : largest + log1p(others));
  }
}
extern "C" void my_logsumexp(const float* x, int64_t ldx, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {
  logsumexp_rows<<<blocks_for(rows), k_threads, 0, stream>>>(x, ldx, y, rows, cols);
}

__global__ void sigmoid_elements(const float* x, float* y, int64_t cols, float mu, float sigma) {
  for (int64_t j = first_thread(); j < cols; j += all_threads())
    y[j] = static_cast<float>(1 / (1 + exp(-static_cast<double>(x[j] - mu) * sigma)));
}
extern "C" void my_sigmoid(const float* x, float* y, int64_t cols, float mu, float sigma, cudaStream_t stream) {
  sigmoid_elements<<<blocks_for(cols), k_threads, 0, stream>>>(x, y, cols, mu, sigma);
}

// The smaller of two values; a NaN is smaller than every number, -0 smaller than +0.
__device__ float lesser(float a, float b) {
  if (a != a || b != b) return a != a ? a : b;
  return a < b || (a == b && signbit(a)) ? a : b;
}

__global__ void reduce_rows(const float* x, int64_t ldx, float* y, int64_t rows, int64_t cols, int op) {
  for (int64_t r = first_thread(); r < rows; r += all_threads()) {
    double sum = 0;
    float least = INFINITY;  // of the negated, for the maximum
    for (int64_t j = 0; j < cols; ++j) {
      sum += x[r * ldx + j];
      least = lesser(least, op == 2 ? -x[r * ldx + j] : x[r * ldx + j]);
    }
    y[r] = op == 0 ? static_cast<float>(sum) : op == 1 ? least : -least;
  }
}
extern "C" void my_reduce(const float* x, int64_t ldx, float* y, int64_t rows, int64_t cols, int op,
                          cudaStream_t stream) {
  reduce_rows<<<blocks_for(rows), k_threads, 0, stream>>>(x, ldx, y, rows, cols, op);
}

__global__ void scan_rows(const float* x, int64_t ldx, float* y, int64_t ldy, int64_t rows, int64_t cols, int kind) {
  for (int64_t r = first_thread(); r < rows; r += all_threads()) {
    double sum = 0;
    for (int64_t j = 0; j < cols; ++j) {
      const float value = x[r * ldx + j];  // read first: y may be x
      if (kind == 1) y[r * ldy + j] = static_cast<float>(sum);
      sum += value;
      if (kind == 0) y[r * ldy + j] = static_cast<float>(sum);
    }
  }
}
extern "C" void my_scan(const float* x, int64_t ldx, float* y, int64_t ldy, int64_t rows, int64_t cols, int kind,
                        cudaStream_t stream) {
  scan_rows<<<blocks_for(rows), k_threads, 0, stream>>>(x, ldx, y, ldy, rows, cols, kind);
}

// An element's place is the number of those that come before it: NaN comes last, equal ones stay in order.
__global__ void argsort_rows(const float* x, int64_t ldx, int32_t* index, int64_t ldindex, int64_t rows, int64_t cols,
                             int order) {
  for (int64_t e = first_thread(); e < rows * cols; e += all_threads()) {
    const float* row = x + e / cols * ldx;
    const int64_t own = e % cols;
    int64_t place = 0;
    for (int64_t j = 0; j < cols; ++j) {
      const float a = order == 1 ? -row[j] : row[j], b = order == 1 ? -row[own] : row[own];
      const bool alike = a == b || (a != a && b != b);
      place += alike ? j < own : a < b || (b != b && a == a);
    }
    index[e / cols * ldindex + place] = static_cast<int32_t>(own);
  }
}
extern "C" void my_argsort(const float* x, int64_t ldx, int32_t* index, int64_t ldindex, int64_t rows, int64_t cols,
                           int order, cudaStream_t stream) {
  argsort_rows<<<blocks_for(rows * cols), k_threads, 0, stream>>>(x, ldx, index, ldindex, rows, cols, order);
}

struct perceptron {
  const float *a, *b, *c_in, *bias;
  float* c;
  int64_t lda, ldb, ldc, m, n, k;
  bool ta, tb, sigmoid;
  float alpha, beta, mu, sigma;
};

__global__ void matmul_elements(perceptron p) {
  for (int64_t e = first_thread(); e < p.m * p.n; e += all_threads()) {
    const int64_t i = e / p.n, j = e % p.n;
    double sum = 0;
    for (int64_t l = 0; l < p.k && p.alpha != 0; ++l)
      sum += static_cast<double>(p.ta ? p.a[l * p.lda + i] : p.a[i * p.lda + l]) *
             (p.tb ? p.b[j * p.ldb + l] : p.b[l * p.ldb + j]);
    double result = p.alpha * sum;
    if (p.beta != 0) result += static_cast<double>(p.beta) * p.c_in[i * p.ldc + j];
    if (p.bias) result += p.bias[j];
    if (p.sigmoid) result = 1 / (1 + exp(-(result - p.mu) * p.sigma));
    p.c[i * p.ldc + j] = static_cast<float>(result);
  }
}
// A contract demands more than shapes and ranges: cudaErrorInvalidValue refuses a call that breaks it, before anything
// is written; cudaErrorNotSupported answers a legal one that is not offered.
extern "C" cudaError_t my_matmul(const float* a, int64_t lda, const float* b, int64_t ldb, const float* c_in,
                                 const float* bias, float* c, int64_t ldc, int64_t m, int64_t n, int64_t k, int ta,
                                 int tb, float alpha, float beta, int sigmoid, float mu, float sigma, int mode,
                                 int rows_alone, cudaStream_t stream) {
  if ((beta != 0) != (c_in != nullptr) || (c_in && c_in != c)) return cudaErrorInvalidValue;
  (void)mode, (void)rows_alone;  // doubles are exact enough for every mode, and rows do not know of each other
  matmul_elements<<<blocks_for(m * n), k_threads, 0, stream>>>(
      {a, b, c_in, bias, c, lda, ldb, ldc, m, n, k, ta == 1, tb == 1, sigmoid == 1, alpha, beta, mu, sigma});
  return cudaGetLastError();
}
