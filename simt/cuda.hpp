// The GPU under the names of simt.hpp: thin wrappers over the CUDA runtime, and over PTX where CUDA C++ has no name.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "simt/error.hpp"

#define SIMT_DEVICE_NS cuda

#define SIMT_SHARED(name, ...) __shared__ ::simt::identity_t<__VA_ARGS__> name
// 128 bytes: what the widest bulk copies want of their destination.
#define SIMT_DYN_SHARED(T, name)                                               \
  extern __shared__ __align__(128) unsigned char simt_dynamic_shared_memory[]; \
  T* const name = reinterpret_cast<T*>(simt_dynamic_shared_memory)

namespace simt {
inline namespace gpu {

using stream_t = cudaStream_t;
using device_properties_t = ::simt::device_properties_t;

struct launch_config {
  dim3 grid, block;
  size_t smem_bytes = 0;  // dynamic shared memory of a block
  stream_t stream = nullptr;
  dim3 cluster = 1;          // blocks of a cluster
  bool cooperative = false;  // grid_sync is allowed: all blocks are resident
  // may start while the launch before it runs: its threads call grid_dependency_wait first
  bool programmatic_launch = false;
};

namespace detail {

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw device_error(std::string(what) + ": " + cudaGetErrorName(status) + ": " + cudaGetErrorString(status));
}

inline int attribute(cudaDeviceAttr a) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&value, a, device), "cudaDeviceGetAttribute");
  return value;
}

inline bool captures(stream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

// Allows the kernel this much dynamic shared memory on the current device; throws device_error if that is impossible.
inline void allow_dynamic_shared(const void* kernel, size_t bytes) {
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
  // Limits, without opting in and with it, are of static and dynamic shared memory together.
  const size_t static_bytes = attributes.sharedSizeBytes;
  if (bytes + static_bytes <= machine_limits().static_shared_bytes) return;
  const size_t most = static_cast<size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)) - static_bytes;
  if (bytes > most)
    throw device_error("launch_limit: dynamic shared memory is " + std::to_string(bytes) +
                       " bytes, allowed are at most " + std::to_string(most) + " beside " +
                       std::to_string(static_bytes) + " static ones");
  // Always all that there is, not what this launch needs: a launch from another thread that needs more would fail if
  // this one came between its opting in and its start.
  if (static_cast<size_t>(attributes.maxDynamicSharedSizeBytes) != most)
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most)),
          "launch_limit: dynamic shared memory");
}

}  // namespace detail

inline device_properties_t device_properties(stream_t) {
  static const device_properties_t properties = [] {
    // The code that has clusters is of compute capability 9.0; later GPUs run what older ones do.
    const bool clusters = detail::attribute(cudaDevAttrComputeCapabilityMajor) == 9;
    return device_properties_t{detail::attribute(cudaDevAttrMultiProcessorCount),
                               static_cast<size_t>(detail::attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)),
                               static_cast<size_t>(detail::attribute(cudaDevAttrL2CacheSize)), clusters ? 16 : 1};
  }();
  return properties;
}

namespace detail {

// Checks the launch, and lets the kernel have the shared memory and the cluster that it asks for. Once for all kernels:
// inlined into each of their launches it made a library a tenth larger.
__attribute__((noinline)) inline void prepare_launch(const launch_config& config, const void* kernel) {
  machine_limits limits;
  const device_properties_t properties = device_properties(config.stream);
  limits.shared_bytes = properties.shared_per_block_optin;
  limits.cluster = static_cast<unsigned>(properties.max_cluster);
  const std::string broken = broken_launch_limit({config.grid.x, config.grid.y, config.grid.z},
                                                 {config.block.x, config.block.y, config.block.z}, config.smem_bytes,
                                                 {config.cluster.x, config.cluster.y, config.cluster.z}, limits);
  if (!broken.empty()) throw device_error("launch_limit: " + broken);
  if (config.smem_bytes > 0) allow_dynamic_shared(kernel, config.smem_bytes);
  if (config.cluster.x * config.cluster.y * config.cluster.z >
      8)  // larger clusters are not portable between GPUs and need an opt-in
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
          "launch_limit: cluster size");
}

}  // namespace detail

// Throws device_error: a limit of the machine is exceeded (named with value and allowed range) or CUDA refuses the
// launch. What the kernel does wrong while running shows at the next synchronising call, as always with CUDA.
template <class... Parameters, class... Arguments>
void launch(const launch_config& config, void (*kernel)(Parameters...), Arguments&&... arguments) {
  detail::prepare_launch(config, reinterpret_cast<const void*>(kernel));
  cudaLaunchConfig_t c{};
  c.gridDim = config.grid;
  c.blockDim = config.block;
  c.dynamicSmemBytes = config.smem_bytes;
  c.stream = config.stream;
  cudaLaunchAttribute attributes[3];
  if (config.cluster.x * config.cluster.y * config.cluster.z > 1) {
    cudaLaunchAttribute& a = attributes[c.numAttrs++];
    a.id = cudaLaunchAttributeClusterDimension;
    a.val.clusterDim = {config.cluster.x, config.cluster.y, config.cluster.z};
  }
  if (config.cooperative) {
    cudaLaunchAttribute& a = attributes[c.numAttrs++];
    a.id = cudaLaunchAttributeCooperative;
    a.val.cooperative = 1;
  }
  // Came with clusters. While a graph is captured, launches stay one after another.
  if (config.programmatic_launch && device_properties(config.stream).max_cluster > 1 &&
      !detail::captures(config.stream)) {
    cudaLaunchAttribute& a = attributes[c.numAttrs++];
    a.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    a.val.programmaticStreamSerializationAllowed = 1;
  }
  c.attrs = attributes;
  detail::check(cudaLaunchKernelEx(&c, kernel, static_cast<Parameters>(std::forward<Arguments>(arguments))...),
                "launch");
}

inline void memset_async(void* destination, int byte, size_t bytes, stream_t stream) {
  detail::check(cudaMemsetAsync(destination, byte, bytes, stream), "memset_async");
}
inline void memcpy_async(void* destination, const void* source, size_t bytes, stream_t stream) {
  detail::check(cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDefault, stream), "memcpy_async");
}

// Exact-size workspace of n elements, allocated and freed in stream order.
template <class T>
class buffer {
 public:
  buffer(size_t n, stream_t stream) : size_(n), stream_(stream) {
    detail::check(cudaMallocAsync(reinterpret_cast<void**>(&data_), n * sizeof(T), stream), "buffer");
  }
  ~buffer() { cudaFreeAsync(data_, stream_); }
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  T* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  size_t size_;
  stream_t stream_;
};

namespace detail {

// Workspaces that streams keep. Every module that asks for one has its own memory; which of it is a stream's, all
// share. Each has its own lines: one stream must not bring into an L1 cache what another is about to write.
constexpr size_t k_stream_slot_bytes = 16384;
constexpr int k_stream_slots = 32;
[[maybe_unused]] static __device__ __align__(128) unsigned char stream_slots[k_stream_slots][k_stream_slot_bytes];

struct stream_slot_owners {
  std::mutex mutex;
  std::unordered_map<unsigned long long, int> of_stream;  // by an id that no other stream ever gets
  std::mutex in_use[k_stream_slots];
};
inline stream_slot_owners& owners_of_stream_slots() {
  static stream_slot_owners owners;
  return owners;
}

// -1 if other streams have them all.
inline int slot_of(stream_t stream) {
  unsigned long long id = 0;
  check(cudaStreamGetId(stream, &id), "cudaStreamGetId");
  stream_slot_owners& owners = owners_of_stream_slots();
  const std::lock_guard lock(owners.mutex);
  const auto found = owners.of_stream.find(id);
  if (found != owners.of_stream.end()) return found->second;
  const int next = static_cast<int>(owners.of_stream.size());
  if (next == k_stream_slots) return -1;
  owners.of_stream[id] = next;
  return next;
}

}  // namespace detail

// A small workspace for launches that follow each other on a stream: one that the stream keeps, for allocating and
// freeing take the device 0.65 us (H200). While it lives no other thread gets one for this stream, so that no other
// launches come between those of this call. A buffer where it is too large, while a graph is captured, which may run
// beside other work of the stream, and where there are more streams than slots.
template <class T>
class stream_workspace {
 public:
  stream_workspace(size_t n, stream_t stream) {
    const bool fits = n * sizeof(T) <= detail::k_stream_slot_bytes && !detail::captures(stream);
    const int slot = fits ? detail::slot_of(stream) : -1;
    if (slot < 0) {
      data_ = own_.emplace(n, stream).data();
      return;
    }
    in_use_ = std::unique_lock(detail::owners_of_stream_slots().in_use[slot]);
    void* slots = nullptr;
    detail::check(cudaGetSymbolAddress(&slots, detail::stream_slots), "stream_workspace");
    data_ = reinterpret_cast<T*>(static_cast<unsigned char*>(slots) + slot * detail::k_stream_slot_bytes);
  }
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
  std::optional<buffer<T>> own_;
  std::unique_lock<std::mutex> in_use_;
};

using f16 = __half;
using bf16 = __nv_bfloat16;

__host__ __device__ inline float to_float(float x) { return x; }
__host__ __device__ inline float to_float(f16 x) { return __half2float(x); }
__host__ __device__ inline float to_float(bf16 x) { return __bfloat162float(x); }

template <class T>
__host__ __device__ T from_float(float x);
template <>
__host__ __device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__host__ __device__ inline f16 from_float<f16>(float x) {
  return __float2half_rn(x);
}
template <>
__host__ __device__ inline bf16 from_float<bf16>(float x) {
  return __float2bfloat16_rn(x);
}

// 1 / x to within a unit in the last place, for 1 <= x <= 2; NaN for NaN (PTX ISA 9.0, rcp.approx.ftz.f32).
__device__ __forceinline__ float reciprocal_approx(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// 2^x to within 4/2^24 of itself (tests/cuda takes every x); 0 where that is below 2^-126.
__device__ __forceinline__ float exp2_approx(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// The larger of two; NaN if either is.
__device__ __forceinline__ float max_nan(float a, float b) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}

// Keeps a value of 16 bytes, but makes the compiler forget what it knows about it: values that were computed from it or
// read from memory do not stay in registers.
template <class T>
__device__ __forceinline__ void compiler_barrier(T& value) {
  static_assert(sizeof(T) == 16, "16 bytes");
  uint4 bits;
  memcpy(&bits, &value, sizeof bits);
  asm volatile("" : "+r"(bits.x), "+r"(bits.y), "+r"(bits.z), "+r"(bits.w)::"memory");
  memcpy(&value, &bits, sizeof bits);
}

namespace detail {
// Returns the cache policy of lines that L2 evicts last.
__device__ __forceinline__ uint64_t evict_last() {
  uint64_t policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
}  // namespace detail

// Reads 4 or 16 bytes that the L2 cache should evict last.
template <class T>
__device__ __forceinline__ T load_keep_in_l2(const T* address) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 16, "4 or 16 bytes");
  const uint64_t policy = detail::evict_last();
  unsigned word[sizeof(T) / 4];
  if constexpr (sizeof(T) == 4)
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.u32 %0, [%1], %2;"
                 : "=r"(word[0])
                 : "l"(address), "l"(policy)
                 : "memory");
  else
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
                 : "l"(address), "l"(policy)
                 : "memory");
  T value;
  memcpy(&value, word, sizeof value);
  return value;
}

// Has the L2 cache read the line of an address.
__device__ __forceinline__ void prefetch(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address) : "memory");
}

// Relaxed and acquire/release accesses at device scope, for flags.
template <class T>
__device__ __forceinline__ T load_relaxed(const T* address) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "4 or 8 bytes");
  if constexpr (sizeof(T) == 4) {
    unsigned bits;
    asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(bits) : "l"(address) : "memory");
    return static_cast<T>(bits);
  } else {
    unsigned long long bits;
    asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(bits) : "l"(address) : "memory");
    return static_cast<T>(bits);
  }
}
template <class T>
__device__ __forceinline__ void store_relaxed(T* address, T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "4 or 8 bytes");
  if constexpr (sizeof(T) == 4) {
    asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(address), "r"(static_cast<unsigned>(value)) : "memory");
  } else {
    asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(address), "l"(static_cast<unsigned long long>(value)) : "memory");
  }
}
template <class T>
__device__ __forceinline__ T load_acquire(const T* address) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "4 or 8 bytes");
  if constexpr (sizeof(T) == 4) {
    unsigned bits;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(bits) : "l"(address) : "memory");
    return static_cast<T>(bits);
  } else {
    unsigned long long bits;
    asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(bits) : "l"(address) : "memory");
    return static_cast<T>(bits);
  }
}
template <class T>
__device__ __forceinline__ void store_release(T* address, T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "4 or 8 bytes");
  if constexpr (sizeof(T) == 4) {
    asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(address), "r"(static_cast<unsigned>(value)) : "memory");
  } else {
    asm volatile("st.release.gpu.u64 [%0], %1;" ::"l"(address), "l"(static_cast<unsigned long long>(value)) : "memory");
  }
}
// The lanes of the warp, all of which take part, whose values agree in the `Bits` bits from `First` on. A vote for each
// bit: for eight of them faster than __match_any_sync.
template <int First, int Bits>
__device__ __forceinline__ unsigned match_bits(unsigned value) {
  unsigned lanes = ~0u;
#pragma unroll
  for (int bit = First; bit < First + Bits; ++bit) {
    unsigned alike;
    asm volatile(
        "{.reg .pred is_set; .reg .b32 bit; and.b32 bit, %1, %2; setp.ne.u32 is_set, bit, 0; "
        "vote.sync.ballot.b32 %0, is_set, 0xffffffff; @!is_set not.b32 %0, %0;}"
        : "=r"(alike)
        : "r"(value), "r"(1u << bit));
    lanes &= alike;
  }
  return lanes;
}

// Adds; acquires and releases. Returns the value before.
__device__ __forceinline__ unsigned fetch_add(unsigned* address, unsigned value) {
  unsigned old;
  asm volatile("atom.acq_rel.gpu.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(address), "r"(value) : "memory");
  return old;
}

}  // namespace gpu
}  // namespace simt

#include "simt/cuda_async.hpp"

#include "simt/cuda_tensor.hpp"
