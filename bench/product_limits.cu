#include "bench/product_limits.hpp"

#include <cuda_bf16.h>
#include <dlfcn.h>

#include <memory>
#include <stdexcept>

#include "bench/limits.hpp"

namespace warpcheck::bench {
namespace {

constexpr int k_chains = 16, k_rounds = 4096, k_threads = 256, k_blocks_per_sm = 8;

__global__ void __launch_bounds__(k_threads) multiply_and_add(float* sink, float factor, int rounds) {
  float x[k_chains];
#pragma unroll
  for (int e = 0; e < k_chains; ++e) x[e] = static_cast<float>(threadIdx.x + e);
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (int e = 0; e < k_chains; ++e) x[e] = fmaf(x[e], factor, 0.5f);
  float sum = 0;
#pragma unroll
  for (int e = 0; e < k_chains; ++e) sum += x[e];
  if (sum == 12345.0f) *sink = sum;  // never true, but the compiler does not know that
}

// Uniform in [-8, 8), like the operands of a row.
template <class T>
__global__ void fill_random(T* x, int64_t n, uint32_t seed) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    auto h = static_cast<uint32_t>(i) * 2654435761u ^ static_cast<uint32_t>(i >> 32) ^ seed;
    h ^= h >> 16, h *= 0x7feb352du, h ^= h >> 15, h *= 0x846ca68bu, h ^= h >> 16;
    x[i] = static_cast<T>(static_cast<float>(h) * 0x1p-28f - 8.0f);
  }
}

class cublas {
 public:
  // Null if there is none.
  static const cublas* get() {
    static const cublas library;
    return library.handle_ == nullptr ? nullptr : &library;
  }

  // C = A B by rows: cuBLAS' columns are our rows, so it computes C^T = B^T A^T.
  void multiply(product_operand type, int64_t m, int64_t n, int64_t k, const void* a, const void* b, float* c,
                cudaStream_t stream) const {
    constexpr int k_f32 = 0, k_bf16 = 14;                       // cudaDataType
    constexpr int k_compute_f32 = 68, k_compute_f32_tf32 = 77;  // cublasComputeType_t
    constexpr int k_none = 0, k_default_algorithm = -1;         // cublasOperation_t, cublasGemmAlgo_t
    const float one = 1, zero = 0;
    const bool is_tf32 = type == product_operand::tf32;
    const int data = is_tf32 ? k_f32 : k_bf16;
    const auto extent = [](int64_t x) { return static_cast<int>(x); };
    if (set_stream_(handle_, stream) != 0 ||
        multiply_(handle_, k_none, k_none, extent(n), extent(m), extent(k), &one, b, data, extent(n), a, data,
                  extent(k), &zero, c, k_f32, extent(n), is_tf32 ? k_compute_f32_tf32 : k_compute_f32,
                  k_default_algorithm) != 0)
      throw std::runtime_error("cublasGemmEx failed");
  }

 private:
  using create_type = int(void**);
  using set_stream_type = int(void*, cudaStream_t);
  using multiply_type = int(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
                            const void*, void*, int, int, int, int);
  cublas() {
    void* library = nullptr;
    for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"})
      if (library == nullptr) library = dlopen(name, RTLD_NOW);
    if (library == nullptr) return;
    const auto create = reinterpret_cast<create_type*>(dlsym(library, "cublasCreate_v2"));
    set_stream_ = reinterpret_cast<set_stream_type*>(dlsym(library, "cublasSetStream_v2"));
    multiply_ = reinterpret_cast<multiply_type*>(dlsym(library, "cublasGemmEx"));
    if (!create || !set_stream_ || !multiply_ || create(&handle_) != 0) handle_ = nullptr;
  }

  void* handle_ = nullptr;
  set_stream_type* set_stream_ = nullptr;
  multiply_type* multiply_ = nullptr;
};

template <class T>
void fill_slots(const buffer_ring& ring, int64_t elements, cudaStream_t stream) {
  for (int i = 0; i < ring.slots(); ++i)
    fill_random<<<1024, 256, 0, stream>>>(static_cast<T*>(ring.input(i)), elements, static_cast<uint32_t>(i));
  check(cudaStreamSynchronize(stream), "random operands");
}

}  // namespace

std::pair<std::function<void(int i)>, double> multiply_adds(cudaStream_t stream) {
  int sms = 0;
  check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
  float* sink = nullptr;
  check(cudaMalloc(&sink, sizeof(float)), "cudaMalloc");
  const std::shared_ptr<float> owned(sink, cudaFree);
  const int blocks = k_blocks_per_sm * sms;
  return {[=](int) { multiply_and_add<<<blocks, k_threads, 0, stream>>>(owned.get(), 0.999f, k_rounds); },
          2.0 * k_chains * k_rounds * k_threads * blocks};
}

std::function<void(int i)> tensor_product(product_operand type, int64_t m, int64_t n, int64_t k, size_t flush_bytes,
                                          cudaStream_t stream) {
  const cublas* const library = cublas::get();
  if (library == nullptr) return nullptr;
  const size_t size = type == product_operand::tf32 ? sizeof(float) : sizeof(__nv_bfloat16);
  constexpr int64_t k_aligned = 128;  // elements
  const int64_t before_b = (m * k + k_aligned - 1) / k_aligned * k_aligned, elements = before_b + k * n;
  const auto ring = std::make_shared<buffer_ring>(static_cast<size_t>(elements) * size,
                                                  static_cast<size_t>(m * n) * sizeof(float), flush_bytes);
  type == product_operand::tf32 ? fill_slots<float>(*ring, elements, stream)
                                : fill_slots<__nv_bfloat16>(*ring, elements, stream);
  return [=](int i) {
    const char* const a = static_cast<const char*>(ring->input(i));
    library->multiply(type, m, n, k, a, a + static_cast<size_t>(before_b) * size, static_cast<float*>(ring->output(i)),
                      stream);
  };
}

}  // namespace warpcheck::bench
