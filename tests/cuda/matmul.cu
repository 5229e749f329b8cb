#include "tests/cuda/matmul.hpp"

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <type_traits>

#include "kernels/matmul/matmul.hpp"

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

constexpr int k_fill = 0xff;  // bytes of a NaN that no operation makes
constexpr int64_t k_margin = 64;

float as_float(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// run(T{}, TC{}).
template <class Run>
auto with_types(matmul_types t, Run&& run) {
  switch (t) {
    case matmul_types::f16: return run(simt::f16{}, simt::f16{});
    case matmul_types::f16_to_f32: return run(simt::f16{}, 0.0f);
    case matmul_types::bf16: return run(simt::bf16{}, simt::bf16{});
    case matmul_types::bf16_to_f32: return run(simt::bf16{}, 0.0f);
    default: return run(0.0f, 0.0f);
  }
}

// A matrix with gaps on the device, NaN around it.
template <class T = float>
class guarded {
 public:
  guarded(const std::vector<float>& values, int64_t rows, int64_t cols, int64_t gap, int64_t offset)
      : rows_(rows),
        cols_(cols),
        ld_(cols + gap),
        begin_(k_margin + offset),
        host_(static_cast<size_t>(begin_ + rows * ld_ + k_margin)),
        device_(static_cast<int64_t>(host_.size())) {
    std::memset(static_cast<void*>(host_.data()), k_fill, host_.size() * sizeof(T));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols && !values.empty(); ++c)
        host_[at(r, c)] = simt::from_float<T>(values[static_cast<size_t>(r * cols + c)]);
    require(cudaMemcpy(device_.data(), host_.data(), host_.size() * sizeof(T), cudaMemcpyHostToDevice), "copy");
  }
  T* data() const { return device_.data() + begin_; }
  int64_t ld() const { return ld_; }

  // Reads the matrix back; returns how many elements around it changed.
  int64_t read(std::vector<float>& values) const {
    std::vector<T> after(host_.size());
    require(cudaMemcpy(after.data(), device_.data(), after.size() * sizeof(T), cudaMemcpyDeviceToHost), "copy");
    values.assign(static_cast<size_t>(rows_ * cols_), 0);
    for (int64_t r = 0; r < rows_; ++r)
      for (int64_t c = 0; c < cols_; ++c) {
        T& element = after[at(r, c)];
        values[static_cast<size_t>(r * cols_ + c)] = simt::to_float(element);
        element = host_[at(r, c)];
      }
    int64_t changed = 0;
    for (size_t i = 0; i < after.size(); ++i) changed += std::memcmp(&after[i], &host_[i], sizeof(T)) != 0;
    return changed;
  }

 private:
  size_t at(int64_t r, int64_t c) const { return static_cast<size_t>(begin_ + r * ld_ + c); }

  int64_t rows_, cols_, ld_, begin_;
  std::vector<T> host_;
  device_array<T> device_;
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

  // How it computes: in f32, in tf32, or with operands of a 16-bit type (C of f32).
  enum class arithmetic { f32, tf32, f16, bf16 };

  // C = op(A) op(B), row after row: its columns are our rows, so it computes C^T = op(B)^T op(A)^T.
  void multiply(arithmetic how, bool ta, bool tb, int64_t m, int64_t n, int64_t k, const void* a, const void* b,
                float* c) const {
    constexpr int k_f32 = 0, k_f16 = 2, k_bf16 = 14, k_compute_f32 = 68, k_compute_tf32 = 77, k_default_algorithm = -1;
    const int type = how == arithmetic::f16 ? k_f16 : how == arithmetic::bf16 ? k_bf16 : k_f32;
    const float one = 1, zero = 0;
    const auto extent = [](int64_t x) { return static_cast<int>(x); };
    if (gemm_(handle_, tb, ta, extent(n), extent(m), extent(k), &one, b, type, extent(tb ? k : n), a, type,
              extent(ta ? m : k), &zero, c, k_f32, extent(n), how == arithmetic::tf32 ? k_compute_tf32 : k_compute_f32,
              k_default_algorithm) != 0)
      throw std::runtime_error("cublasGemmEx failed");
  }

 private:
  using create_type = int(void**);
  using gemm_type = int(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
                        const void*, void*, int, int, int, int);
  bool load() {
    void* library = nullptr;
    for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"})
      if (library == nullptr) library = dlopen(name, RTLD_NOW);
    if (library == nullptr) return false;
    const auto create = reinterpret_cast<create_type*>(dlsym(library, "cublasCreate_v2"));
    gemm_ = reinterpret_cast<gemm_type*>(dlsym(library, "cublasGemmEx"));
    return create != nullptr && gemm_ != nullptr && create(&handle_) == 0;
  }

  void* handle_ = nullptr;
  gemm_type* gemm_ = nullptr;
};

template <class T>
__global__ void fill_random(T* x, int64_t n, uint32_t seed) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += step) {
    auto h = static_cast<uint32_t>(i) * 2654435761u ^ seed;
    h ^= h >> 16, h *= 0x7feb352du, h ^= h >> 15, h *= 0x846ca68bu, h ^= h >> 16;
    x[i] = simt::from_float<T>(static_cast<float>(h) * 0x1p-31f - 1.0f);
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

template <class T, class TC>
matmul_answer run_typed(const matmul_call& call) {
  const guarded<T> a(call.a, call.ta ? call.k : call.m, call.ta ? call.m : call.k, call.gap_a, call.offset);
  const guarded<T> b(call.b, call.tb ? call.n : call.k, call.tb ? call.k : call.n, call.gap_b, call.offset);
  const guarded<TC> c(call.c, call.m, call.n, call.gap_c, call.offset);
  const guarded<> bias(call.bias, 1, call.n, 0, call.offset);
  const matmul_options options{static_cast<matmul_mode>(call.mode), call.rows_alone};
  const matmul_slices slices = matmul_plan<T, TC>(options, call.m, call.n, call.k);
  const int64_t bytes = matmul_work_bytes<T, TC>(options, call.m, call.n, call.k);
  const guarded<> work(std::vector<float>(static_cast<size_t>(bytes / 4), as_float(call.work_pattern)), 1, bytes / 4, 0,
                       0);
  perceptron epilogue;
  epilogue.bias = call.bias.empty() ? nullptr : bias.data();
  epilogue.sigmoid = call.sigmoid;
  epilogue.mu = call.mu;
  epilogue.sigma = call.sigma;
  matmul_answer answer;
  answer.slices = slices.count;
  answer.length = slices.length;
  answer.variant = static_cast<int>(matmul_with<T, TC>(
      static_cast<matmul_variant>(call.variant), call.ta ? trans::yes : trans::none, call.tb ? trans::yes : trans::none,
      call.m, call.n, call.k, call.alpha, a.data(), a.ld(), b.data(), b.ld(), call.beta, c.data(), c.ld(), epilogue,
      options, work.data(), bytes, nullptr));
  require(cudaDeviceSynchronize(), "matmul");
  std::vector<float> unused;
  answer.damaged = c.read(answer.c) + work.read(unused);
  return answer;
}

template <class T, class TC>
matmul_times time_typed(const matmul_timing& t) {
  const device_array<T> a(t.m * t.k), b(t.k * t.n);
  const device_array<TC> c(t.m * t.n);
  const device_array<float> peers(t.m * t.n), bias(t.n);
  constexpr int64_t k_flush = int64_t{256} << 20;
  const device_array<char> flush(k_flush);
  fill_random<<<1024, 256>>>(a.data(), t.m * t.k, 1);
  fill_random<<<1024, 256>>>(b.data(), t.k * t.n, 2);
  fill_random<<<16, 256>>>(bias.data(), t.n, 3);
  const matmul_options options{static_cast<matmul_mode>(t.mode), false};
  const int64_t bytes = matmul_work_bytes<T, TC>(options, t.m, t.n, t.k);
  const device_array<char> work(bytes);
  perceptron epilogue;
  if (t.layer) epilogue.bias = bias.data(), epilogue.sigmoid = true;
  matmul_times times;
  times.slices = matmul_plan<T, TC>(options, t.m, t.n, t.k).count;
  const auto ours = [&] {
    times.variant = static_cast<int>(
        matmul_with<T, TC>(static_cast<matmul_variant>(t.variant), t.ta ? trans::yes : trans::none,
                           t.tb ? trans::yes : trans::none, t.m, t.n, t.k, 1.0f, a.data(), t.ta ? t.m : t.k, b.data(),
                           t.tb ? t.k : t.n, 0.0f, c.data(), t.n, epilogue, options, work.data(), bytes, nullptr));
  };
  const cublas* const peer = cublas::get();
  using arithmetic = cublas::arithmetic;
  constexpr bool k_halves = !std::is_same_v<T, float>;
  const auto theirs = [&](arithmetic how) {
    peer->multiply(how, t.ta, t.tb, t.m, t.n, t.k, a.data(), b.data(), peers.data());
  };
  constexpr arithmetic k_same = std::is_same_v<T, simt::f16>    ? arithmetic::f16
                                : std::is_same_v<T, simt::bf16> ? arithmetic::bf16
                                                                : arithmetic::tf32;
  cudaEvent_t start, stop;
  require(cudaEventCreate(&start), "cudaEventCreate");
  require(cudaEventCreate(&stop), "cudaEventCreate");
  std::vector<double> us[3];
  for (int i = -2; i < t.repeats; ++i) {
    for (const int who : {0, 1, 2}) {
      if ((who > 0 && peer == nullptr) || (who == 1 && k_halves)) continue;
      require(cudaMemsetAsync(flush.data(), i, k_flush), "cudaMemset");
      require(cudaEventRecord(start), "cudaEventRecord");
      who == 0 ? ours() : theirs(who == 1 ? arithmetic::f32 : k_same);
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
  if (!us[1].empty()) times.cublas_us = median(us[1]);
  if (!us[2].empty()) times.same_us = median(us[2]);
  return times;
}

}  // namespace

matmul_answer run_matmul(const matmul_call& call) {
  return with_types(call.types, [&](auto t, auto tc) { return run_typed<decltype(t), decltype(tc)>(call); });
}

matmul_times time_matmul(const matmul_timing& timing) {
  return with_types(timing.types, [&](auto t, auto tc) { return time_typed<decltype(t), decltype(tc)>(timing); });
}

void round_to_type(matmul_types types, bool of_c, std::vector<float>& x) {
  with_types(types, [&](auto t, auto tc) {
    for (float& v : x)
      v = of_c ? simt::to_float(simt::from_float<decltype(tc)>(v)) : simt::to_float(simt::from_float<decltype(t)>(v));
  });
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

const char* matmul_variant_name(int variant) {
  constexpr const char* names[] = {"automatic", "epilogue", "vector",    "small",     "wide",
                                   "square",    "warps",    "warpgroup", "warpgroups"};
  return names[variant];
}

std::string gpu_name() {
  cudaDeviceProp properties;
  require(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  return properties.name;
}

}  // namespace warpcheck::self
