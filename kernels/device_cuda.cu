// The GPU's memory and streams, as candidate.h describes a device: the current CUDA device of the process.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/candidate.h"

namespace {

constexpr size_t k_guard_bytes = 4096;  // on each side of a buffer
constexpr int k_fill = 0xff;            // guard zones and fresh memory: a NaN in every float type

std::string& error_text() {
  static std::string text;
  return text;
}

const char* last_error() { return error_text().c_str(); }

void require(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(status) + ", " + cudaGetErrorString(status));
}

// Runs `body`; an exception becomes last_error() and `failed`.
template <class Result, class Body>
Result guarded(Result failed, Body&& body) {
  try {
    return body();
  } catch (const std::exception& e) {
    error_text() = e.what();
    return failed;
  }
}

struct allocation {
  char* base;
  size_t bytes;
};

// By the address that alloc gave out.
std::map<const void*, allocation>& allocations() {
  static std::map<const void*, allocation> table;
  return table;
}

const allocation& find_allocation(const void* p) {
  const auto found = allocations().find(p);
  if (found == allocations().end()) {
    std::fprintf(stderr, "%s:%d: %p is not an address from alloc\n", __FILE__, __LINE__, p);
    std::abort();
  }
  return found->second;
}

const char* describe() {
  static std::string text;
  return guarded(static_cast<const char*>(nullptr), [] {
    int device = 0;
    int driver = 0;
    int runtime = 0;
    cudaDeviceProp properties;
    require(cudaGetDevice(&device), "no CUDA device");
    require(cudaGetDeviceProperties(&properties, device), "no CUDA device");
    require(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    require(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    const auto version = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
    text = std::string(properties.name) + ", sm_" + std::to_string(properties.major) +
           std::to_string(properties.minor) + ", " + std::to_string(properties.multiProcessorCount) +
           " multiprocessors, driver " + version(driver) + ", runtime " + version(runtime);
    return text.c_str();
  });
}

void* alloc(size_t bytes, size_t misalign, size_t) {
  return guarded(static_cast<void*>(nullptr), [&]() -> void* {
    void* base = nullptr;
    const size_t total = k_guard_bytes + misalign % 256 + bytes + k_guard_bytes;
    require(cudaMalloc(&base, total), "cudaMalloc");
    require(cudaMemset(base, k_fill, total), "cudaMemset");
    char* const p = static_cast<char*>(base) + k_guard_bytes + misalign % 256;
    allocations()[p] = {static_cast<char*>(base), bytes};
    return p;
  });
}

void release(void* p) {
  if (p == nullptr) return;
  char* const base = find_allocation(p).base;
  allocations().erase(p);
  guarded(0, [&] {
    require(cudaFree(base), "cudaFree");
    return 0;
  });
}

// Offset in [from, from + bytes) of the first byte that is not k_fill, or -1.
int64_t first_change(const char* from, size_t bytes) {
  std::vector<unsigned char> zone(bytes);
  require(cudaMemcpy(zone.data(), from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy of a guard zone");
  const auto changed = std::find_if(zone.begin(), zone.end(), [](unsigned char byte) { return byte != k_fill; });
  return changed == zone.end() ? -1 : changed - zone.begin();
}

int64_t check_guards(const void* p) {
  const allocation& a = find_allocation(p);
  return guarded(INT64_MIN, [&] {
    const char* const begin = static_cast<const char*>(p);
    const int64_t before = first_change(a.base, static_cast<size_t>(begin - a.base));
    if (before >= 0) return a.base + before - begin;
    const int64_t after = first_change(begin + a.bytes, k_guard_bytes);
    return after >= 0 ? static_cast<int64_t>(a.bytes) + after : INT64_MIN;
  });
}

// The GPU detects nothing, so that a read of forgotten memory shows by its value.
void forget(void* p, size_t bytes) {
  guarded(0, [&] {
    require(cudaMemset(p, k_fill, bytes), "cudaMemset");
    return 0;
  });
}

int copy(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind) {
  return guarded(1, [&] {
    if (bytes > 0) require(cudaMemcpy(destination, source, bytes, kind), "cudaMemcpy");
    return 0;
  });
}
int copy_in(void* destination, const void* source, size_t bytes) {
  return copy(destination, source, bytes, cudaMemcpyHostToDevice);
}
int copy_out(void* destination, const void* source, size_t bytes) {
  return copy(destination, source, bytes, cudaMemcpyDeviceToHost);
}

int attribute(cudaDeviceAttr which) {
  int device = 0;
  int value = 0;
  require(cudaGetDevice(&device), "cudaGetDevice");
  require(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

// Leaves `pattern` in `words` words of a multiprocessor's shared memory, for the next kernel to find.
__global__ void fill_shared(uint32_t pattern, unsigned words) {
  extern __shared__ uint32_t memory[];
  volatile uint32_t* const kept = memory;  // nobody reads it here
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) kept[i] = pattern;
}

void dirty_shared_memory(cudaStream_t stream, uint32_t pattern) {
  static const int processors = attribute(cudaDevAttrMultiProcessorCount);
  static const int bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  static const cudaError_t allowed = cudaFuncSetAttribute(reinterpret_cast<const void*>(fill_shared),
                                                          cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  require(allowed, "cudaFuncSetAttribute");
  // A block takes all of a multiprocessor's shared memory, so that several blocks per processor reach every one.
  fill_shared<<<static_cast<unsigned>(2 * processors), 256, static_cast<size_t>(bytes), stream>>>(
      pattern, static_cast<unsigned>(bytes) / 4);
  require(cudaGetLastError(), "the kernel that fills shared memory");
}

// Keeps memory, caches, barriers and shared memory busy for `cycles` clock cycles.
__global__ void make_noise(uint32_t* buffer, size_t words, long long cycles) {
  __shared__ uint32_t exchange[256];
  const long long begin = clock64();
  size_t at = blockIdx.x * size_t{256} + threadIdx.x;
  while (clock64() - begin < cycles) {
    exchange[threadIdx.x] = buffer[at];
    __syncwarp();
    const uint32_t neighbour = exchange[threadIdx.x ^ 1u];
    __syncwarp();
    buffer[at] = neighbour + 1;
    at = (at + size_t{256} * gridDim.x * 17) % words;
  }
}

// A stream of its own in which work goes on beside the candidate's, half of the multiprocessors' worth of blocks for
// about a millisecond: it ends by itself, so a candidate that needs the whole device waits and does not hang.
cudaStream_t start_noise() {
  constexpr size_t k_words = size_t{8} << 20;
  static const cudaStream_t stream = [] {
    cudaStream_t s = nullptr;
    require(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    return s;
  }();
  static uint32_t* const buffer = [] {
    void* p = nullptr;
    require(cudaMalloc(&p, k_words * sizeof(uint32_t)), "cudaMalloc of the noise kernel's buffer");
    require(cudaMemset(p, 0, k_words * sizeof(uint32_t)), "cudaMemset");
    return static_cast<uint32_t*>(p);
  }();
  static const int processors = attribute(cudaDevAttrMultiProcessorCount);
  make_noise<<<static_cast<unsigned>(processors / 2 + 1), 256, 0, stream>>>(buffer, k_words, 2000000);
  require(cudaGetLastError(), "the noise kernel");
  return stream;
}

// The noise beside each stream that has some.
std::map<void*, cudaStream_t>& noises() {
  static std::map<void*, cudaStream_t> table;
  return table;
}

void* stream_create(const warpcheck_stream_options* options) {
  return guarded(static_cast<void*>(nullptr), [&]() -> void* {
    const std::string schedule = options->schedule == nullptr ? "" : options->schedule;
    cudaStream_t stream = nullptr;
    if (schedule == "nonblocking") {
      // It does not wait for fills and copies of the default stream, which may still be under way.
      require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    } else {
      require(cudaStreamCreate(&stream), "cudaStreamCreate");
    }
    if (options->shared_fill != 0) dirty_shared_memory(stream, options->shared_fill);
    if (schedule == "noise") noises()[stream] = start_noise();
    return stream;
  });
}

void stream_destroy(void* stream) {
  guarded(0, [&] {
    if (const auto noise = noises().find(stream); noise != noises().end()) {
      require(cudaStreamSynchronize(noise->second), "the noise kernel");
      noises().erase(noise);
    }
    require(cudaStreamDestroy(static_cast<cudaStream_t>(stream)), "cudaStreamDestroy");
    return 0;
  });
}

int stream_synchronize(void* stream, warpcheck_finding_fn, void*) {
  return guarded(1, [&] {
    require(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "cudaStreamSynchronize");
    require(cudaGetLastError(), "an earlier launch");
    return 0;
  });
}

int capture_begin(void* stream) {
  return guarded(1, [&] {
    require(cudaStreamBeginCapture(static_cast<cudaStream_t>(stream), cudaStreamCaptureModeThreadLocal),
            "cudaStreamBeginCapture");
    return 0;
  });
}

int capture_replay(void* stream, int32_t times) {
  return guarded(1, [&] {
    const auto on = static_cast<cudaStream_t>(stream);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    require(cudaStreamEndCapture(on, &graph), "cudaStreamEndCapture");
    cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
    for (int32_t i = 0; i < times && status == cudaSuccess; ++i) status = cudaGraphLaunch(executable, on);
    if (status == cudaSuccess) status = cudaStreamSynchronize(on);
    if (executable != nullptr) cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    require(status, "replay of a captured graph");
    return 0;
  });
}

}  // namespace

extern "C" const warpcheck_device_api* warpcheck_device_cuda(void);
extern "C" const warpcheck_device_api* warpcheck_device_cuda(void) {
  static const warpcheck_device_api api = {sizeof(warpcheck_device_api),
                                           WARPCHECK_DEVICE_CUDA,
                                           describe,
                                           last_error,
                                           alloc,
                                           release,
                                           check_guards,
                                           forget,
                                           copy_in,
                                           copy_out,
                                           stream_create,
                                           stream_destroy,
                                           stream_synchronize,
                                           capture_begin,
                                           capture_replay};
  return &api;
}
