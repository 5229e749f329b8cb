// Memory and streams of the GPU by the device interface of candidate.h: the current CUDA device of the process.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "abi/candidate.h"
#include "simt/device_cuda/sparse_memory.hpp"

namespace {

using warpcheck::sparse_memory;
using warpcheck::sparse_pool;

constexpr size_t k_guard_bytes = 4096;               // on each side of a buffer
constexpr size_t k_most_filled = size_t{256} << 20;  // a larger buffer is sparse, filled where it is touched
constexpr int k_fill = 0xff;                         // guard zones and fresh memory: a NaN in every float type

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

// A sanitizer sees an access outside of an allocation, or a read of memory that nobody wrote, only if every buffer is
// an allocation of its own without guard zones or a fill.
bool under_sanitizer() {
  static const bool is = std::getenv("NV_SANITIZER_INJECTION_PORT_BASE") != nullptr;
  return is;
}

struct allocation {
  char* base;    // of the guard zone before it
  size_t bytes;  // that were asked for
  size_t guard;  // bytes of each guard zone
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

// Device memory for the small buffers of a call and the same bytes on the host. What the host writes is sent when a
// stream is made, and what a kernel wrote is fetched when the stream is waited for, each with one copy: allocations and
// copies of single buffers would take most of a small case's time (cudaMalloc and cudaFree 49 us, a copy 7 us on an
// H200).
class memory_image {
 public:
  static constexpr size_t k_bytes = size_t{4} << 20;

  // The start of `bytes` bytes, filled with k_fill; null if they do not fit.
  char* take(size_t bytes) {
    if (bytes > k_bytes || used_ > k_bytes - bytes) return nullptr;
    if (device_ == nullptr) {
      void* p = nullptr;
      require(cudaMallocHost(&p, k_bytes), "cudaMallocHost");
      host_ = static_cast<char*>(p);
      require(cudaMalloc(&p, k_bytes), "cudaMalloc");
      device_ = static_cast<char*>(p);
    }
    char* const p = device_ + used_;
    fetch();
    used_ += (bytes + 255) / 256 * 256;
    ++live_;
    write(p, bytes, [&](char* to) { std::memset(to, k_fill, bytes); });
    return p;
  }
  void give_back() {
    if (--live_ == 0) used_ = 0;
  }
  bool contains(const void* p) const {
    return device_ != nullptr && p >= device_ && static_cast<const char*>(p) < device_ + k_bytes;
  }
  // The host's copy of p, as the device has it.
  const char* read(const void* p) {
    fetch();
    return host_ + (static_cast<const char*>(p) - device_);
  }
  // The device has worked since: its bytes count.
  void work_is_done() {
    if (streams_ > 0) is_current_ = false;
  }
  // Changes `bytes` bytes at p: `change` gets the host's copy.
  template <class Change>
  void write(const void* p, size_t bytes, Change&& change) {
    if (bytes == 0) return;
    fetch();
    const size_t at = static_cast<size_t>(static_cast<const char*>(p) - device_);
    change(host_ + at);
    unsent_begin_ = std::min(unsent_begin_, at);
    unsent_end_ = std::max(unsent_end_, at + bytes);
    if (streams_ == 0) return;
    // Whoever has a stream may launch next.
    send();
    require(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }
  void work_begins() {
    ++streams_;
    send();
  }
  void work_ends() { --streams_; }
  // Waits for the stream with a copy of everything behind its work.
  void wait(cudaStream_t stream) {
    if (used_ > 0) require(cudaMemcpyAsync(host_, device_, used_, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    is_current_ = true;
  }

 private:
  // Sends what was written, on the default stream: from here on the device's bytes count.
  void send() {
    is_current_ = false;
    if (unsent_begin_ >= unsent_end_) return;
    require(cudaMemcpyAsync(device_ + unsent_begin_, host_ + unsent_begin_, unsent_end_ - unsent_begin_,
                            cudaMemcpyHostToDevice, nullptr),
            "cudaMemcpyAsync");
    unsent_begin_ = k_bytes;
    unsent_end_ = 0;
  }
  void fetch() {
    if (!is_current_ && used_ > 0) require(cudaMemcpy(host_, device_, used_, cudaMemcpyDeviceToHost), "cudaMemcpy");
    is_current_ = true;
  }

  char* device_ = nullptr;
  char* host_ = nullptr;
  size_t used_ = 0;
  int live_ = 0;
  int streams_ = 0;         // made and not destroyed
  bool is_current_ = true;  // the host's copy holds what the device does, or newer bytes, which are unsent
  size_t unsent_begin_ = k_bytes;
  size_t unsent_end_ = 0;
};

memory_image& image() {
  static memory_image one;
  return one;
}

// Never destroyed: by then the driver may be gone.
sparse_pool& sparse() {
  static sparse_pool& one = *new sparse_pool;
  return one;
}

void* alloc(size_t bytes, size_t misalign, size_t) {
  return guarded(static_cast<void*>(nullptr), [&]() -> void* {
    const size_t guard = under_sanitizer() ? 0 : k_guard_bytes;
    const size_t total = guard + misalign % 256 + bytes + guard;
    char* base = under_sanitizer() ? nullptr : image().take(total);
    const size_t front = guard + misalign % 256;
    if (base == nullptr && bytes > k_most_filled && !under_sanitizer()) {
      sparse_memory& memory = sparse().take(total);
      base = memory.begin();
      for (const auto& [zone, size] : {std::pair(base, front), std::pair(base + front + bytes, guard)}) {
        memory.touch(zone, size, k_fill);
        require(cudaMemset(zone, k_fill, size), "cudaMemset");
      }
    } else if (base == nullptr) {
      void* memory = nullptr;
      require(cudaMalloc(&memory, std::max(total, size_t{1})), "cudaMalloc");
      base = static_cast<char*>(memory);
      if (!under_sanitizer()) {
        require(cudaMemset(base, k_fill, total), "cudaMemset");
      }
    }
    char* const p = base + front;
    allocations()[p] = {base, bytes, guard};
    return p;
  });
}

void release(void* p) {
  if (p == nullptr) return;
  const allocation a = find_allocation(p);
  allocations().erase(p);
  if (image().contains(a.base)) return image().give_back();
  guarded(0, [&] {
    if (sparse().find(a.base) != nullptr) {
      // As cudaFree would: nobody still uses it when it is given out again.
      require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      sparse().give_back(a.base);
      return 0;
    }
    require(cudaFree(a.base), "cudaFree");
    return 0;
  });
}

// Offset in [from, from + bytes) of the first byte that is not k_fill, or -1.
int64_t first_change(const char* from, size_t bytes) {
  std::vector<char> fetched;
  const char* zone = nullptr;
  if (image().contains(from)) {
    zone = image().read(from);
  } else if (bytes > 0) {
    fetched.resize(bytes);
    require(cudaMemcpy(fetched.data(), from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy of a guard zone");
    zone = fetched.data();
  }
  static const std::vector<char> untouched(k_guard_bytes + 256, static_cast<char>(k_fill));
  if (bytes == 0 || std::memcmp(zone, untouched.data(), bytes) == 0) return -1;
  return std::mismatch(zone, zone + bytes, untouched.begin()).first - zone;
}

int64_t check_guards(const void* p) {
  const allocation& a = find_allocation(p);
  if (a.guard == 0) return INT64_MIN;
  return guarded(INT64_MIN, [&] {
    const char* const begin = static_cast<const char*>(p);
    const int64_t before = first_change(a.base, static_cast<size_t>(begin - a.base));
    if (before >= 0) return a.base + before - begin;
    const int64_t after = first_change(begin + a.bytes, a.guard);
    return after >= 0 ? static_cast<int64_t>(a.bytes) + after : INT64_MIN;
  });
}

// No detector runs on a GPU. The memory keeps what the suite filled it with, whose gaps and poison are checked.
void forget(void*, size_t) {}

int copy_in(void* destination, const void* source, size_t bytes) {
  return guarded(1, [&] {
    if (image().contains(destination)) {
      image().write(destination, bytes, [&](char* to) { std::memcpy(to, source, bytes); });
    } else if (bytes > 0) {
      if (sparse_memory* const range = sparse().find(destination)) range->touch(destination, bytes, k_fill);
      require(cudaMemcpy(destination, source, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    return 0;
  });
}

int copy_out(void* destination, const void* source, size_t bytes) {
  return guarded(1, [&] {
    if (image().contains(source))
      std::memcpy(destination, image().read(source), bytes);
    else if (bytes > 0)
      require(cudaMemcpy(destination, source, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return 0;
  });
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
  // A block takes all of a multiprocessor's shared memory, so that one block per processor reaches every one.
  fill_shared<<<static_cast<unsigned>(processors), 1024, static_cast<size_t>(bytes), stream>>>(
      pattern, static_cast<unsigned>(bytes) / 4);
  require(cudaGetLastError(), "the kernel that fills shared memory");
}

// Keeps memory, caches, barriers and shared memory busy until `stop` is not 0, but for at most `cycles` clock cycles.
__global__ void make_noise(uint32_t* buffer, size_t words, long long cycles, const volatile int* stop) {
  __shared__ uint32_t exchange[256];
  const long long begin = clock64();
  size_t at = blockIdx.x * size_t{256} + threadIdx.x;
  while (clock64() - begin < cycles && *stop == 0) {
    exchange[threadIdx.x] = buffer[at];
    __syncwarp();
    const uint32_t neighbour = exchange[threadIdx.x ^ 1u];
    __syncwarp();
    buffer[at] = neighbour + 1;
    at = (at + size_t{256} * gridDim.x * 17) % words;
  }
}

// Work that goes on beside the candidate's, in a stream of its own: half of the multiprocessors' worth of blocks, for
// about a millisecond if nobody ends it, so that a candidate that needs the whole device waits and does not hang.
class noise {
 public:
  noise() {
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    require(cudaStreamCreateWithFlags(&signals_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    void* p = nullptr;
    require(cudaMalloc(&p, k_words * sizeof(uint32_t) + sizeof(int)), "cudaMalloc of the noise kernel's buffer");
    require(cudaMemset(p, 0, k_words * sizeof(uint32_t) + sizeof(int)), "cudaMemset");
    buffer_ = static_cast<uint32_t*>(p);
    stop_ = reinterpret_cast<int*>(buffer_ + k_words);
  }
  void begin() {
    static const int processors = attribute(cudaDevAttrMultiProcessorCount);
    require(cudaMemsetAsync(stop_, 0, sizeof(int), stream_), "cudaMemsetAsync");
    make_noise<<<static_cast<unsigned>(processors / 2 + 1), 256, 0, stream_>>>(buffer_, k_words, 2000000, stop_);
    require(cudaGetLastError(), "the noise kernel");
  }
  void end() {
    require(cudaMemsetAsync(stop_, 1, sizeof(int), signals_), "cudaMemsetAsync");
    require(cudaStreamSynchronize(stream_), "the noise kernel");
  }

 private:
  static constexpr size_t k_words = size_t{8} << 20;
  cudaStream_t stream_ = nullptr;
  cudaStream_t signals_ = nullptr;
  uint32_t* buffer_ = nullptr;
  int* stop_ = nullptr;
};

noise& the_noise() {
  static noise one;
  return one;
}

// Streams that have noise beside them.
std::set<void*>& noisy_streams() {
  static std::set<void*> streams;
  return streams;
}

// A stream is made for each call: what a candidate does to it (an attribute, a capture left open) must not reach the
// next one.
void* stream_create(const warpcheck_stream_options* options) {
  return guarded(static_cast<void*>(nullptr), [&]() -> void* {
    const std::string schedule = options->schedule == nullptr ? "" : options->schedule;
    image().work_begins();
    cudaStream_t stream = nullptr;
    if (schedule == "nonblocking") {
      // It does not wait for fills and copies of the default stream, which may still be under way.
      require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    } else {
      require(cudaStreamCreate(&stream), "cudaStreamCreate");
    }
    // Fills of ours would hide from a sanitizer what a kernel forgets to write, and cost it minutes.
    if (options->shared_fill != 0 && !under_sanitizer()) dirty_shared_memory(stream, options->shared_fill);
    if (schedule == "noise") {
      the_noise().begin();
      noisy_streams().insert(stream);
    }
    return stream;
  });
}

int stream_renew(void* stream, const warpcheck_stream_options* options) {
  return guarded(1, [&] {
    if (options->shared_fill != 0 && !under_sanitizer())
      dirty_shared_memory(static_cast<cudaStream_t>(stream), options->shared_fill);
    return 0;
  });
}

void stream_destroy(void* stream) {
  image().work_ends();
  guarded(0, [&] {
    if (noisy_streams().erase(stream) > 0) the_noise().end();
    require(cudaStreamDestroy(static_cast<cudaStream_t>(stream)), "cudaStreamDestroy");
    return 0;
  });
}

int stream_synchronize(void* stream, warpcheck_finding_fn, void*) {
  return guarded(1, [&] {
    image().wait(static_cast<cudaStream_t>(stream));
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

int usable() {
  cudaGetLastError();  // forgets an error that does not stay
  image().work_is_done();
  return cudaDeviceSynchronize() == cudaSuccess ? 1 : 0;
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
                                           capture_replay,
                                           usable,
                                           stream_renew};
  return &api;
}
