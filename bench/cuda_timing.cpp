#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <map>
#include <string>

#include "bench/device_lock.hpp"
#include "bench/device_timing.hpp"
#include "bench/limits.hpp"
#include "bench/memory_floor.hpp"
#include "bench/own_runs.hpp"
#include "bench/product_limits.hpp"
#include "properties/engine/cases/description.hpp"

namespace warpcheck::bench {
namespace {

// All bytes that pass between the memory and the cache do so at most at the rate of the memory's clock: two transfers a
// cycle. There are at least two slots, which hold at least `flush_bytes`.
double memory_floor_us(const traffic& t, size_t l2_bytes, size_t flush_bytes) {
  int khz = 0, bits = 0;
  check(cudaDeviceGetAttribute(&khz, cudaDevAttrMemoryClockRate, 0), "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, 0), "cudaDeviceGetAttribute");
  const double bytes_of_us = 2.0 * khz * 1e-3 * bits / 8;
  const size_t slot_bytes = std::max(2 * (t.in + t.out), flush_bytes);
  const double bytes = least_bytes(t, slot_bytes, l2_bytes, k_cuda_repeats / k_turns_of_run);
  return bytes_of_us > 0 ? bytes / bytes_of_us : 0;
}

std::string bus_id() {
  char text[32] = {};
  check(cudaDeviceGetPCIBusId(text, sizeof text, 0), "cudaDeviceGetPCIBusId");
  return text;
}

// The lock of the GPU, which is this process's unless it yields it.
device_lock& gpu_lock() {
  static device_lock lock(bus_id(), [](const std::string& text) { fmt::print(stderr, "{}\n", text); });
  static const bool is_first = (lock.take(), true);
  static_cast<void>(is_first);
  return lock;
}

std::shared_ptr<void> yield_gpu(cudaStream_t stream) {
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  gpu_lock().release();
  return {nullptr, [](void*) { gpu_lock().take(); }};
}

size_t distance(void* first, void* second) {
  return static_cast<size_t>(static_cast<char*>(second) - static_cast<char*>(first));
}

void read_lines(std::byte* to, const char* from, size_t own, size_t apart, size_t lines) {
  check(cudaMemcpy2D(to, own, from, apart, own, lines, cudaMemcpyDeviceToHost), "cudaMemcpy2D");
}

// Has the attributes of a new stream.
cudaStream_t unused_stream() {
  static cudaStream_t stream = nullptr;
  if (!stream) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return stream;
}

// Bytes that the cache fetches at once, at first.
size_t first_granularity() {
  static const size_t found = [] {
    size_t bytes = 0;
    check(cudaDeviceGetLimit(&bytes, cudaLimitMaxL2FetchGranularity), "cudaDeviceGetLimit");
    return bytes;
  }();
  return found;
}

void reset_policies(cudaStream_t stream) {
  check(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, first_granularity()), "cudaDeviceSetLimit");
  check(cudaDeviceSetCacheConfig(cudaFuncCachePreferNone), "cudaDeviceSetCacheConfig");
  if (cudaStreamCopyAttributes(stream, unused_stream()) != cudaSuccess) cudaGetLastError();  // not in each driver
  int persisting = 0;
  check(cudaDeviceGetAttribute(&persisting, cudaDevAttrMaxPersistingL2CacheSize, 0), "cudaDeviceGetAttribute");
  if (persisting == 0) return;
  cudaStreamAttrValue none = {};  // a window of no bytes
  check(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &none), "cudaStreamSetAttribute");
  check(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0), "cudaDeviceSetLimit");
  check(cudaCtxResetPersistingL2Cache(), "cudaCtxResetPersistingL2Cache");
}

// True if slices of so small a tensor are large enough that blocks must share one to keep the device busy; the exchange
// between these blocks is then visible in the time.
bool has_exchange(const traffic& t) {
  constexpr size_t k_of_block = 4096 * sizeof(float);  // 1024 threads with a vector each
  return t.slice > k_of_block && t.in <= size_t{1} << 20 && std::has_single_bit(t.in) && std::has_single_bit(t.slice);
}

std::optional<device_limit> limit_of_product(const engine::product_work& work, size_t flush_bytes,
                                             cudaStream_t stream) {
  if (work.rate == engine::product_rate::f32) {
    const auto [run, of_run] = multiply_adds(stream);
    return device_limit{"FMAs", run, work.flop() * work.parts / of_run};
  }
  const bool is_tf32 = work.rate == engine::product_rate::tf32;
  const auto run = tensor_product(is_tf32 ? product_operand::tf32 : product_operand::bf16, work.m, work.n, work.k,
                                  flush_bytes, stream);
  if (!run) return std::nullopt;
  return device_limit{is_tf32 ? "cuBLAS tf32" : "cuBLAS bf16", run, work.products * work.parts};
}

}  // namespace

void note_settings() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return;  // the first call says that there is none
  unused_stream();
  first_granularity();
}

device_timing cuda_timing(void* given) {
  gpu_lock();
  const auto stream = static_cast<cudaStream_t>(given);
  int l2_bytes = 0;
  check(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0), "cudaDeviceGetAttribute");
  const size_t flush_bytes = 4 * static_cast<size_t>(l2_bytes);
  device_timing timing;
  timing.flush_bytes = flush_bytes;
  timing.allocate = [=](size_t input_bytes, size_t output_bytes) {
    const auto ring = std::make_shared<buffer_ring>(input_bytes, output_bytes, flush_bytes, k_cuda_calls_of_turn);
    return slots{ring->slots(),
                 static_cast<char*>(ring->input(0)),
                 static_cast<char*>(ring->output(0)),
                 distance(ring->input(0), ring->input(1)),
                 distance(ring->output(0), ring->output(1)),
                 ring};
  };
  timing.reserve = [](size_t bytes) {
    void* area = nullptr;
    check(cudaMalloc(&area, std::max<size_t>(1, bytes)), "buffers of judged executions");
    return std::shared_ptr<char>(static_cast<char*>(area), [](char* p) { cudaFree(p); });
  };
  timing.copy = [=](char* to, const char* from, size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "cudaMemcpyAsync");
  };
  timing.fill = [=](char* to, char byte, size_t bytes) {
    check(cudaMemsetAsync(to, static_cast<unsigned char>(byte), bytes, stream), "cudaMemsetAsync");
  };
  timing.read_lines = read_lines;
  timing.in_turn = [=](const std::vector<timed_run>& runs) { return time_in_turn(stream, k_cuda_repeats, runs); };
  timing.floor_us = [=](const traffic& t) { return memory_floor_us(t, static_cast<size_t>(l2_bytes), flush_bytes); };
  timing.yield = [=] { return yield_gpu(stream); };
  timing.reset = [=] { reset_policies(stream); };
  const auto known = std::make_shared<std::map<std::pair<bool, size_t>, limit>>();  // by copies() and bytes
  timing.limit = [=](const slots& memory, const traffic& t) -> std::optional<device_limit> {
    auto ring = std::static_pointer_cast<buffer_ring>(memory.owner);
    const size_t bytes = t.of_limit();
    if (bytes == 0) return std::nullopt;
    // Most of the bytes that a selection's call reads lie outside the slots.
    if (!ring || ring->input_bytes() < bytes)
      ring = std::make_shared<buffer_ring>(bytes, t.copies() ? bytes : sizeof(uint4), flush_bytes);
    const bool exchanges = has_exchange(t);
    limit of_row;
    limit& found = exchanges ? of_row : (*known)[{t.copies(), bytes}];
    if (found.us == 0)
      found = exchanges    ? fastest_exchange(*ring, bytes, t.slice, t.copies(), k_cuda_repeats / 2, stream)
              : t.copies() ? fastest_copy(*ring, bytes, k_cuda_repeats / 2, stream)
                           : fastest_read(*ring, bytes, k_cuda_repeats / 2, stream);
    return device_limit{found.by, [found, ring](int i) { found.run(*ring, i); }, t.share()};
  };
  timing.product_limit = [=](const engine::product_work& work) { return limit_of_product(work, flush_bytes, stream); };
  timing.own = [=](const std::string& op, const std::vector<const warpcheck_call*>& calls) {
    return op == "histogram"    ? histogram_runs(calls, stream)
           : op == "best_split" ? best_split_runs(calls, stream)
                                : std::vector<own_run>();
  };
  timing.launch_us = [=] { return std::optional(bench::launch_us(11, stream)); };
  return timing;
}

}  // namespace warpcheck::bench
