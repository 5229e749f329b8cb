#include "bench/matmul_runs.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/limits.hpp"
#include "bench/matmul_cutlass.hpp"
#include "bench/matmul_verify.hpp"
#include "kernels/matmul/matmul.hpp"

namespace warpcheck::bench {
namespace {

// ---- data ----

__device__ float random_value(int64_t i, uint32_t seed) {
  auto h = static_cast<uint32_t>(i) * 2654435761u ^ static_cast<uint32_t>(i >> 32) ^ seed;
  h ^= h >> 16, h *= 0x7feb352du, h ^= h >> 15, h *= 0x846ca68bu, h ^= h >> 16;
  return static_cast<float>(h) * 0x1p-31f - 1.0f;
}

__global__ void fill_random(float* x, __half* half, __nv_bfloat16* bfloat, int64_t n, uint32_t seed) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    x[i] = random_value(i, seed);
    half[i] = __float2half_rn(x[i]);
    bfloat[i] = __float2bfloat16_rn(x[i]);
  }
}

// out[r][l] = x[index[r] * outer_stride + l * inner_stride] as f32.
template <class T>
__global__ void gather(const T* x, const int64_t* index, int64_t outer_stride, int64_t inner_stride, int64_t length,
                       float* out) {
  for (int64_t l = threadIdx.x; l < length; l += blockDim.x)
    out[blockIdx.x * length + l] = static_cast<float>(x[index[blockIdx.x] * outer_stride + l * inner_stride]);
}

__global__ void __launch_bounds__(256) multiply_and_add(float* sink, float factor, int rounds) {
  float x[16];
#pragma unroll
  for (int e = 0; e < 16; ++e) x[e] = static_cast<float>(threadIdx.x + e);
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (int e = 0; e < 16; ++e) x[e] = fmaf(x[e], factor, 0.5f);
  float sum = 0;
#pragma unroll
  for (int e = 0; e < 16; ++e) sum += x[e];
  if (sum == 12345.0f) *sink = sum;  // never, but the compiler does not know
}

template <class T>
class device_array {
 public:
  explicit device_array(int64_t n) {
    check(cudaMalloc(&data_, static_cast<size_t>(std::max<int64_t>(1, n)) * sizeof(T)), "cudaMalloc");
  }
  ~device_array() { cudaFree(data_); }
  device_array(device_array&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

// ---- cuBLAS: nothing of it is linked ----

class cublas {
 public:
  static const cublas& get() {
    static const cublas library;
    return library;
  }
  bool is_there() const { return handle_ != nullptr; }
  const std::string& text() const { return text_; }

  // The same where C is a row or a column: our rows are its columns.
  void multiply_vector(const product_shape& s, const float* a, const float* b, float* c, cudaStream_t stream) const {
    constexpr int k_plain = 0, k_transposed = 1;  // cublasOperation_t
    const float one = 1, zero = 0;
    const bool is_row = s.n > 1;
    const auto extent = [](int64_t x) { return static_cast<int>(x); };
    const int rows = extent(is_row ? s.n : s.k), cols = extent(is_row ? s.k : s.m);
    if (set_stream_(handle_, stream) != 0 ||
        multiply_vector_(handle_, is_row ? k_plain : k_transposed, rows, cols, &one, is_row ? b : a, rows,
                         is_row ? a : b, 1, &zero, c, 1) != 0)
      throw std::runtime_error("cublasSgemv failed");
  }

  // C = A B, row after row: cuBLAS' columns are our rows, so it computes C^T = B^T A^T.
  void multiply(product_peer peer, const product_shape& s, const void* a, const void* b, float* c,
                cudaStream_t stream) const {
    constexpr int k_f32 = 0, k_bf16 = 14;                                                  // cudaDataType
    constexpr int k_compute_f32 = 68, k_compute_f32_tf32 = 77, k_compute_f32_bf16x9 = 78;  // cublasComputeType_t
    constexpr int k_default_algorithm = -1;                                                // cublasGemmAlgo_t
    const int compute = peer == product_peer::tf32     ? k_compute_f32_tf32
                        : peer == product_peer::bf16x9 ? k_compute_f32_bf16x9
                                                       : k_compute_f32;
    const float one = 1, zero = 0;
    const int type = peer == product_peer::bf16 ? k_bf16 : k_f32;
    const auto extent = [](int64_t x) { return static_cast<int>(x); };
    if (set_stream_(handle_, stream) != 0 ||
        multiply_(handle_, s.tb, s.ta, extent(s.n), extent(s.m), extent(s.k), &one, b, type, extent(s.ldb()), a, type,
                  extent(s.lda()), &zero, c, k_f32, extent(s.n), compute, k_default_algorithm) != 0)
      throw std::runtime_error(std::string("cublasGemmEx failed for ") + name_of(peer));
  }

  // True if BF16x9 multiplies a small product: libraries before CUDA 13 and some GPUs do not offer it.
  bool has_bf16x9() const {
    if (!is_there()) return false;
    float* x = nullptr;
    check(cudaMalloc(&x, 3 * 64 * 64 * sizeof(float)), "cudaMalloc");
    bool works = true;
    try {
      multiply(product_peer::bf16x9, {64, 64, 64}, x, x + 64 * 64, x + 2 * 64 * 64, nullptr);
    } catch (const std::runtime_error&) {
      works = false;
    }
    check(cudaFree(x), "cudaFree");
    return works;
  }

 private:
  using create_type = int(void**);
  using version_type = int(void*, int*);
  using set_stream_type = int(void*, cudaStream_t);
  using multiply_type = int(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
                            const void*, void*, int, int, int, int);
  using multiply_vector_type = int(void*, int, int, int, const float*, const float*, int, const float*, int,
                                   const float*, float*, int);
  cublas() {
    void* library = nullptr;
    for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"})
      if (library == nullptr) library = dlopen(name, RTLD_NOW), text_ = name;
    if (library == nullptr) {
      text_ = "cuBLAS is not there: no libcublas.so.13, .12 or .so loads";
      return;
    }
    const auto create = reinterpret_cast<create_type*>(dlsym(library, "cublasCreate_v2"));
    const auto version = reinterpret_cast<version_type*>(dlsym(library, "cublasGetVersion_v2"));
    set_stream_ = reinterpret_cast<set_stream_type*>(dlsym(library, "cublasSetStream_v2"));
    multiply_ = reinterpret_cast<multiply_type*>(dlsym(library, "cublasGemmEx"));
    multiply_vector_ = reinterpret_cast<multiply_vector_type*>(dlsym(library, "cublasSgemv_v2"));
    int number = 0;
    if (!create || !version || !set_stream_ || !multiply_ || !multiply_vector_ || create(&handle_) != 0 ||
        version(handle_, &number) != 0) {
      handle_ = nullptr;
      text_ += " does not offer what is needed";
      return;
    }
    text_ += ", cuBLAS " + std::to_string(number);
  }

  std::string text_;
  void* handle_ = nullptr;
  set_stream_type* set_stream_ = nullptr;
  multiply_type* multiply_ = nullptr;
  multiply_vector_type* multiply_vector_ = nullptr;
};

matmul_options options_of(product_arithmetic arithmetic) {
  const int mode = arithmetic == product_arithmetic::tf32x3 ? 1 : arithmetic == product_arithmetic::bf16x6 ? 2 : 0;
  matmul_options options;
  options.mode = static_cast<matmul_mode>(mode);
  return options;
}

// f of a pointer to the operands' type, which is null.
template <class F>
auto with_operands(product_arithmetic arithmetic, F&& f) {
  if (arithmetic == product_arithmetic::f16) return f(static_cast<simt::f16*>(nullptr));
  if (arithmetic == product_arithmetic::bf16) return f(static_cast<simt::bf16*>(nullptr));
  return f(static_cast<float*>(nullptr));
}

matmul_slices plan_of(product_arithmetic arithmetic, const product_shape& s) {
  return with_operands(arithmetic, [&](auto* operand) {
    using T = std::remove_pointer_t<decltype(operand)>;
    return matmul_plan<T, float>(options_of(arithmetic), s.m, s.n, s.k);
  });
}

}  // namespace

const char* name_of(product_arithmetic arithmetic) {
  constexpr const char* names[] = {"ieee", "tf32x3", "bf16x6", "f16", "bf16"};
  return names[static_cast<int>(arithmetic)];
}

const char* name_of(product_peer peer) {
  constexpr const char* names[] = {"cuBLAS f32",  "cuBLAS tf32",   "cuBLAS bf16",
                                   "cuBLAS gemv", "cuBLAS BF16x9", "CUTLASS 3xTF32"};
  return names[static_cast<int>(peer)];
}
std::string cublas_text() { return cublas::get().text(); }

bool offers(product_peer peer, const product_shape& shape) {
  if (peer == product_peer::cutlass) return cutlass_takes(shape);
  if (peer == product_peer::bf16x9) {
    static const bool is_offered = cublas::get().has_bf16x9();
    return is_offered;
  }
  return cublas::get().is_there() && (peer != product_peer::gemv || shape.m == 1 || shape.n == 1);
}

std::string product_shape::name() const {
  const std::string extents = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  return !ta && !tb ? extents : extents + (ta ? "/T" : "/N") + (tb ? "T" : "N");
}

struct product_run::memory {
  // One for each execution in turn.
  struct slot {
    slot(const product_shape& s, uint32_t seed, cudaStream_t stream)
        : a(s.m * s.k),
          b(s.k * s.n),
          c(s.m * s.n),
          a_half(s.m * s.k),
          b_half(s.k * s.n),
          a_bfloat(s.m * s.k),
          b_bfloat(s.k * s.n) {
      fill_random<<<1024, 256, 0, stream>>>(a.data(), a_half.data(), a_bfloat.data(), s.m * s.k, seed);
      fill_random<<<1024, 256, 0, stream>>>(b.data(), b_half.data(), b_bfloat.data(), s.k * s.n, seed + 1);
    }
    const void* operand(bool left, int bits, bool bfloat) const {
      if (bits == 32) return left ? a.data() : b.data();
      if (bfloat) return left ? a_bfloat.data() : b_bfloat.data();
      return left ? a_half.data() : b_half.data();
    }
    device_array<float> a, b, c;
    device_array<__half> a_half, b_half;
    device_array<__nv_bfloat16> a_bfloat, b_bfloat;
  };

  memory(const product_shape& s, cudaStream_t stream, size_t flush_bytes)
      : bias(s.n), bias_half(s.n), bias_bfloat(s.n), work(work_bytes(s)) {
    const size_t bytes = static_cast<size_t>(s.m * s.k + s.k * s.n) * sizeof(float);
    const size_t count = std::clamp<size_t>(flush_bytes / bytes + 2, 2, 64);
    for (size_t i = 0; i < count; ++i) slots.emplace_back(s, static_cast<uint32_t>(2 * i), stream);
    fill_random<<<64, 256, 0, stream>>>(bias.data(), bias_half.data(), bias_bfloat.data(), s.n, 977);
    check(cudaStreamSynchronize(stream), "random operands");
  }
  static int64_t work_bytes(const product_shape& s) {
    int64_t most = 0;
    for (const product_arithmetic arithmetic : k_all_arithmetics) most = std::max(most, bytes_of(arithmetic, s));
    return most;
  }
  static int64_t bytes_of(product_arithmetic arithmetic, const product_shape& s) {
    return with_operands(arithmetic, [&](auto* operand) {
      using T = std::remove_pointer_t<decltype(operand)>;
      return matmul_work_bytes<T, float>(options_of(arithmetic), s.m, s.n, s.k);
    });
  }
  const slot& at(int i) const { return slots[static_cast<size_t>(i) % slots.size()]; }

  std::vector<slot> slots;
  device_array<float> bias;
  device_array<__half> bias_half;
  device_array<__nv_bfloat16> bias_bfloat;
  device_array<char> work;
};

product_run::product_run(const product_shape& shape, cudaStream_t stream, size_t flush_bytes)
    : shape_(shape), stream_(stream), memory_(std::make_unique<memory>(shape, stream, flush_bytes)) {}
product_run::~product_run() = default;

namespace {

trans trans_of(bool transposed) { return transposed ? trans::yes : trans::none; }
int bits_of(product_arithmetic arithmetic) { return arithmetic >= product_arithmetic::f16 ? 16 : 32; }

}  // namespace

void product_run::ours(product_arithmetic arithmetic, int i) {
  const memory::slot& slot = memory_->at(i);
  const int bits = bits_of(arithmetic);
  const bool bfloat = arithmetic == product_arithmetic::bf16;
  const product_shape& s = shape_;
  with_operands(arithmetic, [&](auto* operand) {
    using T = std::remove_pointer_t<decltype(operand)>;
    matmul<T, float>(trans_of(s.ta), trans_of(s.tb), s.m, s.n, s.k, 1.0f,
                     static_cast<const T*>(slot.operand(true, bits, bfloat)), s.lda(),
                     static_cast<const T*>(slot.operand(false, bits, bfloat)), s.ldb(), 0.0f, slot.c.data(), s.n, {},
                     options_of(arithmetic), memory_->work.data(), memory::bytes_of(arithmetic, s), stream_);
  });
}

void product_run::layer(product_arithmetic arithmetic, int i) {
  const memory::slot& slot = memory_->at(i);
  const int bits = bits_of(arithmetic);
  const bool bfloat = arithmetic == product_arithmetic::bf16;
  const product_shape& s = shape_;
  const perceptron epilogue{memory_->bias.data(), true, 0.0f, 1.0f};
  with_operands(arithmetic, [&](auto* operand) {
    using T = std::remove_pointer_t<decltype(operand)>;
    matmul<T, float>(trans_of(s.ta), trans_of(s.tb), s.m, s.n, s.k, 1.0f,
                     static_cast<const T*>(slot.operand(true, bits, bfloat)), s.lda(),
                     static_cast<const T*>(slot.operand(false, bits, bfloat)), s.ldb(), 0.0f, slot.c.data(), s.n,
                     epilogue, options_of(arithmetic), memory_->work.data(), memory::bytes_of(arithmetic, s), stream_);
  });
}

void product_run::peer(product_peer peer, int i) {
  const memory::slot& slot = memory_->at(i);
  if (peer == product_peer::cutlass)
    return multiply_by_cutlass(shape_, slot.a.data(), slot.b.data(), slot.c.data(), stream_);
  if (peer == product_peer::gemv)
    return cublas::get().multiply_vector(shape_, slot.a.data(), slot.b.data(), slot.c.data(), stream_);
  const int bits = peer == product_peer::bf16 ? 16 : 32;
  cublas::get().multiply(peer, shape_, slot.operand(true, bits, true), slot.operand(false, bits, true), slot.c.data(),
                         stream_);
}

double product_run::verify_ours(product_arithmetic arithmetic) {
  const memory::slot& slot = memory_->at(0);
  check(cudaMemsetAsync(slot.c.data(), 0xff, static_cast<size_t>(shape_.m * shape_.n) * sizeof(float), stream_),
        "poison");
  ours(arithmetic, 0);
  const matmul_slices plan = plan_of(arithmetic, shape_);
  const sampled_judge judge{name_of(arithmetic), static_cast<int>(arithmetic), plan.count, plan.length, 0};
  return verify(judge, bits_of(arithmetic), arithmetic == product_arithmetic::bf16);
}

double product_run::verify_peer(product_peer peer) {
  const memory::slot& slot = memory_->at(0);
  check(cudaMemsetAsync(slot.c.data(), 0xff, static_cast<size_t>(shape_.m * shape_.n) * sizeof(float), stream_),
        "poison");
  this->peer(peer, 0);
  const auto arithmetic = peer == product_peer::bf16      ? product_arithmetic::bf16
                          : peer == product_peer::cutlass ? product_arithmetic::tf32x3
                                                          : product_arithmetic::ieee;
  // One TF32 product errs by 2^-11 of each operand, and as much again for their product. 3xTF32: low parts are cut to
  // tf32, 2^-21 of each operand, and one accumulator takes all of k, 6 u a step (docs/numerics.md, "Sums of products").
  const double steps = 3.0 * std::ceil(static_cast<double>(shape_.k) / 8);
  const double of_operands = peer == product_peer::tf32      ? 0x1p-10 + 0x1p-22
                             : peer == product_peer::cutlass ? 0x1p-20 + 1.01 * std::expm1(steps * 6 * 0x1p-24)
                                                             : 0.0;
  const sampled_judge judge{name_of(peer), static_cast<int>(arithmetic), 1, shape_.k, of_operands};
  return verify(judge, peer == product_peer::bf16 ? 16 : 32, true);
}

double product_run::verify(const sampled_judge& judge, int bits, bool bfloat) {
  const memory::slot& slot = memory_->at(0);
  const std::vector<int64_t> rows = sample_of(shape_.m), columns = sample_of(shape_.n);
  const auto to_device = [&](const std::vector<int64_t>& from) {
    device_array<int64_t> to(static_cast<int64_t>(from.size()));
    check(cudaMemcpyAsync(to.data(), from.data(), from.size() * sizeof(int64_t), cudaMemcpyHostToDevice, stream_),
          "copy");
    return to;
  };
  const device_array<int64_t> row_index = to_device(rows), column_index = to_device(columns);
  const auto fetch = [&](const void* x, const device_array<int64_t>& index, size_t count, int64_t outer, int64_t inner,
                         int64_t length, int element) {
    const device_array<float> gathered(static_cast<int64_t>(count) * length);
    const auto blocks = static_cast<unsigned>(count);
    if (element == 32)
      gather<<<blocks, 256, 0, stream_>>>(static_cast<const float*>(x), index.data(), outer, inner, length,
                                          gathered.data());
    else if (bfloat)
      gather<<<blocks, 256, 0, stream_>>>(static_cast<const __nv_bfloat16*>(x), index.data(), outer, inner, length,
                                          gathered.data());
    else
      gather<<<blocks, 256, 0, stream_>>>(static_cast<const __half*>(x), index.data(), outer, inner, length,
                                          gathered.data());
    std::vector<float> host(count * static_cast<size_t>(length));
    check(cudaMemcpyAsync(host.data(), gathered.data(), host.size() * sizeof(float), cudaMemcpyDeviceToHost, stream_),
          "copy");
    check(cudaStreamSynchronize(stream_), judge.who.c_str());
    return host;
  };
  const std::vector<float> a = fetch(slot.operand(true, bits, bfloat), row_index, rows.size(), shape_.ta ? 1 : shape_.k,
                                     shape_.ta ? shape_.m : 1, shape_.k, bits);
  const std::vector<float> b = fetch(slot.operand(false, bits, bfloat), column_index, columns.size(),
                                     shape_.tb ? shape_.k : 1, shape_.tb ? 1 : shape_.n, shape_.k, bits);
  const std::vector<float> c = fetch(slot.c.data(), row_index, rows.size(), shape_.n, 1, shape_.n, 32);
  return judge_sampled(judge, shape_.k, shape_.n, columns, a, b, c);
}

const char* product_run::variant(product_arithmetic arithmetic) const {
  constexpr const char* names[] = {"",       "epilogue", "vector",    "small",     "wide",
                                   "square", "warps",    "warpgroup", "warpgroups"};
  const auto within = [](const int64_t(&range)[2], int64_t x) {
    return range[0] <= x && (x <= range[1] || range[1] < 0);
  };
  return with_operands(arithmetic, [&](auto* operand) {
    using T = std::remove_pointer_t<decltype(operand)>;
    for (const matmul_region& r : matmul_regions<T, float>(options_of(arithmetic)))
      if (within(r.m, shape_.m) && within(r.n, shape_.n) && within(r.k, shape_.k))
        return names[static_cast<size_t>(r.variant)];
    return names[0];
  });
}

double fma_flops(int repeats, cudaStream_t stream) {
  constexpr int k_rounds = 4096, k_threads = 256, k_blocks_per_sm = 8;
  int sms = 0;
  check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
  const device_array<float> sink(1);
  const int blocks = k_blocks_per_sm * sms;
  const double us = median(time_each(stream, repeats, [&](int) {
    multiply_and_add<<<blocks, k_threads, 0, stream>>>(sink.data(), 0.999f, k_rounds);
  }));
  return 2.0 * 16 * k_rounds * static_cast<double>(k_threads) * blocks / us * 1e6;
}

}  // namespace warpcheck::bench
