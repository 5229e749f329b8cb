#include "properties/self/cuda/matmul.hpp"

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "kernels/matmul.hpp"

namespace warpcheck::self {
namespace {

void require(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

template <class T>
class device_array {
 public:
  explicit device_array(int64_t n) {
    require(cudaMalloc(&data_, static_cast<size_t>(n) * sizeof(T) + 1), "cudaMalloc");
  }
  ~device_array() { cudaFree(data_); }
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

constexpr uint32_t k_fill = 0x7fc0dead;  // a NaN that no operation makes
constexpr int64_t k_margin = 64;

float as_float(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// A matrix with gaps on the device, NaN around it.
class guarded {
 public:
  guarded(const std::vector<float>& values, int64_t rows, int64_t cols, int64_t gap, int64_t offset)
      : rows_(rows),
        cols_(cols),
        ld_(cols + gap),
        begin_(k_margin + offset),
        host_(static_cast<size_t>(begin_ + rows * ld_ + k_margin), as_float(k_fill)),
        device_(static_cast<int64_t>(host_.size())) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols && !values.empty(); ++c) host_[at(r, c)] = values[static_cast<size_t>(r * cols + c)];
    require(cudaMemcpy(device_.data(), host_.data(), host_.size() * sizeof(float), cudaMemcpyHostToDevice), "copy");
  }
  float* data() const { return device_.data() + begin_; }
  int64_t ld() const { return ld_; }

  // Reads the matrix back; returns how many elements around it changed.
  int64_t read(std::vector<float>& values) const {
    std::vector<float> after(host_.size());
    require(cudaMemcpy(after.data(), device_.data(), after.size() * sizeof(float), cudaMemcpyDeviceToHost), "copy");
    values.assign(static_cast<size_t>(rows_ * cols_), 0);
    for (int64_t r = 0; r < rows_; ++r)
      for (int64_t c = 0; c < cols_; ++c) {
        float& element = after[at(r, c)];
        values[static_cast<size_t>(r * cols_ + c)] = element;
        element = host_[at(r, c)];
      }
    int64_t changed = 0;
    for (size_t i = 0; i < after.size(); ++i) changed += std::memcmp(&after[i], &host_[i], sizeof(float)) != 0;
    return changed;
  }

 private:
  size_t at(int64_t r, int64_t c) const { return static_cast<size_t>(begin_ + r * ld_ + c); }

  int64_t rows_, cols_, ld_, begin_;
  std::vector<float> host_;
  device_array<float> device_;
};

// cuBLAS as the machine has it: nothing of it is linked.
class cublas {
 public:
  static const cublas* get() {
    static const std::unique_ptr<const cublas> library = [] {
      std::unique_ptr<cublas> made(new cublas);
      return made->load() ? std::move(made) : nullptr;
    }();
    return library.get();
  }

  // C = op(A) op(B), row after row: its columns are our rows, so it computes C^T = op(B)^T op(A)^T.
  void multiply(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c) const {
    const float one = 1, zero = 0;
    const auto extent = [](int64_t x) { return static_cast<int>(x); };
    if (sgemm_(handle_, tb, ta, extent(n), extent(m), extent(k), &one, b, extent(tb ? k : n), a, extent(ta ? m : k),
               &zero, c, extent(n)) != 0)
      throw std::runtime_error("cublasSgemm failed");
  }

 private:
  using create_type = int(void**);
  using sgemm_type = int(void*, int, int, int, int, int, const float*, const float*, int, const float*, int,
                         const float*, float*, int);
  bool load() {
    void* library = nullptr;
    for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"})
      if (library == nullptr) library = dlopen(name, RTLD_NOW);
    if (library == nullptr) return false;
    const auto create = reinterpret_cast<create_type*>(dlsym(library, "cublasCreate_v2"));
    sgemm_ = reinterpret_cast<sgemm_type*>(dlsym(library, "cublasSgemm_v2"));
    return create != nullptr && sgemm_ != nullptr && create(&handle_) == 0;
  }

  void* handle_ = nullptr;
  sgemm_type* sgemm_ = nullptr;
};

__global__ void fill_random(float* x, int64_t n, uint32_t seed) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += step) {
    auto h = static_cast<uint32_t>(i) * 2654435761u ^ seed;
    h ^= h >> 16, h *= 0x7feb352du, h ^= h >> 15, h *= 0x846ca68bu, h ^= h >> 16;
    x[i] = static_cast<float>(h) * 0x1p-31f - 1.0f;
  }
}

// A value for each place, other for places 2^31 or 2^32 apart.
__device__ float value_at(int64_t i) { return static_cast<float>(i % 8388593); }

__global__ void fill_places(float* x, int64_t n) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += step) x[i] = value_at(i);
}
__global__ void count_wrong(const float* c, int64_t n, float factor, unsigned long long* wrong) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += step)
    if (!(c[i] == factor * value_at(i))) atomicAdd(wrong, 1ull);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

matmul_answer run_matmul(const matmul_call& call) {
  const guarded a(call.a, call.ta ? call.k : call.m, call.ta ? call.m : call.k, call.gap_a, call.offset);
  const guarded b(call.b, call.tb ? call.n : call.k, call.tb ? call.k : call.n, call.gap_b, call.offset);
  const guarded c(call.c, call.m, call.n, call.gap_c, call.offset);
  const guarded bias(call.bias, 1, call.n, 0, call.offset);
  matmul_options options;
  options.rows_alone = call.rows_alone;
  const matmul_slices slices = matmul_plan<float, float>(options, call.m, call.n, call.k);
  const int64_t bytes = matmul_work_bytes<float, float>(options, call.m, call.n, call.k);
  const guarded work(std::vector<float>(static_cast<size_t>(bytes / 4), as_float(call.work_pattern)), 1, bytes / 4, 0,
                     0);
  perceptron epilogue;
  epilogue.bias = call.bias.empty() ? nullptr : bias.data();
  epilogue.sigmoid = call.sigmoid;
  epilogue.mu = call.mu;
  epilogue.sigma = call.sigma;
  matmul_answer answer;
  answer.slices = slices.count;
  answer.length = slices.length;
  answer.variant = static_cast<int>(matmul_with<float, float>(
      static_cast<matmul_variant>(call.variant), call.ta ? trans::yes : trans::none, call.tb ? trans::yes : trans::none,
      call.m, call.n, call.k, call.alpha, a.data(), a.ld(), b.data(), b.ld(), call.beta, c.data(), c.ld(), epilogue,
      options, work.data(), bytes, nullptr));
  require(cudaDeviceSynchronize(), "matmul");
  std::vector<float> unused;
  answer.damaged = c.read(answer.c) + work.read(unused);
  return answer;
}

int64_t wrong_beyond_32_bits(bool row) {
  constexpr int64_t n = (int64_t{1} << 31) + 12345;
  const device_array<float> x(n), c(n), one(1);
  const device_array<unsigned long long> wrong(1);
  const float factor = -2;
  require(cudaMemcpy(one.data(), &factor, sizeof factor, cudaMemcpyHostToDevice), "copy");
  require(cudaMemset(c.data(), 0xff, static_cast<size_t>(n) * sizeof(float)), "cudaMemset");
  require(cudaMemset(wrong.data(), 0, sizeof(unsigned long long)), "cudaMemset");
  fill_places<<<1024, 256>>>(x.data(), n);
  matmul<float, float>(trans::none, trans::none, row ? 1 : n, row ? n : 1, 1, 1.0f, row ? one.data() : x.data(), 1,
                       row ? x.data() : one.data(), row ? n : 1, 0.0f, c.data(), row ? n : 1, {}, {}, nullptr, 0,
                       nullptr);
  count_wrong<<<1024, 256>>>(c.data(), n, factor, wrong.data());
  unsigned long long count = 0;
  require(cudaMemcpy(&count, wrong.data(), sizeof count, cudaMemcpyDeviceToHost), "matmul");
  return static_cast<int64_t>(count);
}

matmul_times time_matmul(bool ta, bool tb, int64_t m, int64_t n, int64_t k, int variant, bool layer, int repeats) {
  const device_array<float> a(m * k), b(k * n), c(m * n), bias(n);
  constexpr int64_t k_flush = int64_t{256} << 20;
  const device_array<char> flush(k_flush);
  fill_random<<<1024, 256>>>(a.data(), m * k, 1);
  fill_random<<<1024, 256>>>(b.data(), k * n, 2);
  fill_random<<<16, 256>>>(bias.data(), n, 3);
  const int64_t bytes = matmul_work_bytes<float, float>({}, m, n, k);
  const device_array<char> work(bytes);
  perceptron epilogue;
  if (layer) epilogue.bias = bias.data(), epilogue.sigmoid = true;
  matmul_times times;
  times.slices = matmul_plan<float, float>({}, m, n, k).count;
  const auto ours = [&] {
    times.variant = static_cast<int>(
        matmul_with<float, float>(static_cast<matmul_variant>(variant), ta ? trans::yes : trans::none,
                                  tb ? trans::yes : trans::none, m, n, k, 1.0f, a.data(), ta ? m : k, b.data(),
                                  tb ? k : n, 0.0f, c.data(), n, epilogue, {}, work.data(), bytes, nullptr));
  };
  const cublas* const peer = cublas::get();
  const auto theirs = [&] { peer->multiply(ta, tb, m, n, k, a.data(), b.data(), c.data()); };
  cudaEvent_t start, stop;
  require(cudaEventCreate(&start), "cudaEventCreate");
  require(cudaEventCreate(&stop), "cudaEventCreate");
  std::vector<double> us[2];
  for (int i = -2; i < repeats; ++i) {
    for (const int who : {0, 1}) {
      if (who == 1 && peer == nullptr) continue;
      require(cudaMemsetAsync(flush.data(), i, k_flush), "cudaMemset");
      require(cudaEventRecord(start), "cudaEventRecord");
      who == 0 ? ours() : theirs();
      require(cudaEventRecord(stop), "cudaEventRecord");
      require(cudaEventSynchronize(stop), "matmul");
      float ms = 0;
      require(cudaEventElapsedTime(&ms, start, stop), "cudaEventElapsedTime");
      if (i >= 0) us[who].push_back(1e3 * ms);
    }
  }
  require(cudaEventDestroy(start), "cudaEventDestroy");
  require(cudaEventDestroy(stop), "cudaEventDestroy");
  times.ours_us = median(us[0]);
  if (peer != nullptr) times.cublas_us = median(us[1]);
  return times;
}

const char* matmul_variant_name(int variant) {
  constexpr const char* names[] = {"automatic", "epilogue", "small", "wide", "square"};
  return names[variant];
}

std::string gpu_name() {
  cudaDeviceProp properties;
  require(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  return properties.name;
}

}  // namespace warpcheck::self
