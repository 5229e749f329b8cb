#include "bench/limits.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <stdexcept>

#include "simt/simt.hpp"

namespace warpcheck::bench {
namespace {

// Independent 16-byte loads per thread, one wave of blocks after another, with the hint of row_access.hpp's
// load_policy, which makes large copies 1 to 4 % faster on an H200.
template <int Loads>
__global__ void copy_tiles(const uint4* x, uint4* y, size_t count) {
  const size_t base = static_cast<size_t>(blockIdx.x) * blockDim.x * Loads + threadIdx.x;
  uint4 value[Loads];
#pragma unroll
  for (int k = 0; k < Loads; ++k)
    if (base + k * blockDim.x < count) value[k] = simt::load_keep_in_l2(x + base + k * blockDim.x);
#pragma unroll
  for (int k = 0; k < Loads; ++k)
    if (base + k * blockDim.x < count) __stcs(y + base + k * blockDim.x, value[k]);
}

// One load per thread and step, by a grid of persistent blocks.
__global__ void copy_strided(const uint4* x, uint4* y, size_t count) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride)
    __stcs(y + i, __ldcs(x + i));
}

__global__ void read_strided(const uint4* x, size_t count, unsigned* sink) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  unsigned mix = 0;
  for (; i + 3 * stride < count; i += 4 * stride) {
    uint4 value[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) value[k] = __ldcs(x + i + k * stride);
#pragma unroll
    for (int k = 0; k < 4; ++k) mix ^= value[k].x ^ value[k].y ^ value[k].z ^ value[k].w;
  }
  for (; i < count; i += stride) {
    const uint4 value = __ldcs(x + i);
    mix ^= value.x ^ value.y ^ value.z ^ value.w;
  }
  if (mix == 0x9e3779b9u) *sink = mix;
}

// See copy_tiles.
template <int Loads>
__global__ void read_tiles(const uint4* x, size_t count, unsigned* sink) {
  const size_t base = static_cast<size_t>(blockIdx.x) * blockDim.x * Loads + threadIdx.x;
  uint4 value[Loads] = {};
#pragma unroll
  for (int k = 0; k < Loads; ++k)
    if (base + k * blockDim.x < count) value[k] = __ldcs(x + base + k * blockDim.x);
  unsigned mix = 0;
#pragma unroll
  for (int k = 0; k < Loads; ++k) mix ^= value[k].x ^ value[k].y ^ value[k].z ^ value[k].w;
  if (mix == 0x9e3779b9u) *sink = mix;
}

__global__ void empty() {}

constexpr int k_waiting_threads = 512;

__global__ void __launch_bounds__(k_waiting_threads) wait(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) __nanosleep(1000);
}

unsigned sm_count() {
  int device = 0;
  int count = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
  return static_cast<unsigned>(count);
}

// So many waiting blocks fill the device: no kernel of another stream finds room beside them.
unsigned waiting_blocks() {
  int of_sm = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_sm, wait, k_waiting_threads, 0), "occupancy");
  return sm_count() * static_cast<unsigned>(of_sm);
}

constexpr size_t k_slot_alignment = 1024;

// Whole vectors: a slot has room for the last one.
size_t vectors_of(size_t bytes) { return (bytes + sizeof(uint4) - 1) / sizeof(uint4); }

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

std::string describe_gpu() {
  int device = 0;
  check(cudaGetDevice(&device), "no GPU");
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  int driver = 0;
  int runtime = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  const auto version = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
  return std::string(properties.name) + ", driver " + version(driver) + ", runtime " + version(runtime);
}

std::vector<double> time_each(cudaStream_t stream, int repeats, const std::function<void(int)>& run) {
  return time_in_turn(stream, repeats, {timed_run{run}})[0];
}

namespace {

// About 20 ms, in which the host enqueues the calls of a turn, because the host needs longer for a call than the device
// for a small array. torch_rows.py waits equally long: after a shorter pause the memory is up to 1 % slower.
constexpr long long k_head_start_cycles = 40'000'000;

float elapsed_us(cudaEvent_t from, cudaEvent_t to) {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, from, to), "cudaEventElapsedTime");
  return ms * 1e3f;
}

// Events of a stream, which first works for a while, so that the host can send all calls.
class event_clock : public turn_clock {
 public:
  event_clock(cudaStream_t stream, size_t most) : stream_(stream), events_(most) {
    for (cudaEvent_t& event : events_) check(cudaEventCreate(&event), "cudaEventCreate");
  }
  ~event_clock() override {
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
  }
  void begin() override { marks_ = 0; }
  void mark() override {
    if (marks_ == 0) wait<<<waiting_blocks(), k_waiting_threads, 0, stream_>>>(head_start() * k_head_start_cycles);
    check(cudaEventRecord(events_[marks_++], stream_), "cudaEventRecord");
  }
  std::vector<double> finish(double* host_us) override {
    using clock = std::chrono::steady_clock;
    const bool is_over = cudaEventQuery(events_[0]) == cudaSuccess;
    if (!is_over) cudaGetLastError();  // that it is not over
    note_host(is_over);
    check(cudaEventSynchronize(events_[0]), "head start");
    const auto begin = clock::now();
    check(cudaDeviceSynchronize(), "timed executions");  // of other streams, too
    *host_us = std::chrono::duration<double, std::micro>(clock::now() - begin).count();
    std::vector<double> us;
    for (size_t i = 1; i < marks_; ++i) us.push_back(elapsed_us(events_[i - 1], events_[i]));
    return us;
  }

 private:
  cudaStream_t stream_;
  std::vector<cudaEvent_t> events_;
  size_t marks_ = 0;
};

// Returns the times of a turn's timed executions: not of the first ones, after which no cache line of another callee is
// left to be written back, nor of the judged one. The callee is called ahead of the device and cannot tell which it is.
std::vector<double> time_turn(turn_clock& clock, const timed_run& of, size_t timed, size_t judged, int* execution) {
  enum class part { copy, untimed, timed };
  std::vector<part> parts;
  const auto mark = [&](part since_the_last) {
    parts.push_back(since_the_last);
    clock.mark();
  };
  const size_t count = k_warmup_calls + timed + (of.prepare ? 1 : 0);
  if (of.begin) of.begin(*execution, static_cast<int>(count));
  clock.begin();
  clock.mark();
  for (size_t i = 0; i < count; ++i, ++*execution) {
    const bool is_judged = of.prepare && i == k_warmup_calls + judged;
    if (is_judged) {
      of.prepare(*execution);
      mark(part::copy);
    }
    of.run(*execution);
    mark(is_judged || i < k_warmup_calls ? part::untimed : part::timed);
    if (is_judged) {
      of.keep(*execution);
      mark(part::copy);
    }
  }
  turn_times times;
  times.executions = static_cast<int>(count);
  std::vector<double> of_timed;
  double host_us = 0;
  const std::vector<double> us = clock.finish(&host_us);
  for (size_t i = 0; i < us.size(); ++i) {
    if (parts[i] == part::timed) of_timed.push_back(us[i]);
    if (parts[i] == part::copy) times.copies += us[i];
  }
  times.median = median(of_timed);
  times.whole = std::max(host_us, std::accumulate(us.begin(), us.end(), 0.0));
  if (of.end) of.end(times);
  return of_timed;
}

}  // namespace

std::vector<std::vector<double>> time_in_turn(cudaStream_t stream, int repeats, const std::vector<timed_run>& runs) {
  constexpr size_t k_marks_around_judged = 2;
  const int turns = runs.size() > 1 ? k_turns_of_run : 1;
  const size_t of_turn = static_cast<size_t>((repeats + turns - 1) / turns);
  std::vector<std::vector<double>> us(runs.size());
  event_clock events(stream, 1 + k_warmup_calls + of_turn + 1 + k_marks_around_judged);
  std::random_device random;
  static int execution = 0;
  for (const timed_run& each : runs) each.run(execution);  // loads kernels, which may wait for the device
  for (int turn = 0; turn < turns; ++turn)
    for (size_t k = 0; k < runs.size(); ++k) {
      turn_clock& clock = runs[k].clock ? *runs[k].clock : events;
      std::vector<double> some;
      do some = time_turn(clock, runs[k], of_turn, random() % (of_turn + 1), &execution);
      while (clock.was_late());
      us[k].insert(us[k].end(), some.begin(), some.end());
    }
  for (std::vector<double>& each : us) each.resize(static_cast<size_t>(repeats));
  return us;
}

buffer_ring::buffer_ring(size_t input_bytes, size_t output_bytes, size_t flush_bytes, size_t wanted_slots)
    : input_bytes_(input_bytes), output_bytes_(output_bytes) {
  input_stride_ = (input_bytes + k_slot_alignment - 1) / k_slot_alignment * k_slot_alignment;
  output_stride_ = (output_bytes + k_slot_alignment - 1) / k_slot_alignment * k_slot_alignment;
  const size_t set = std::max<size_t>(1, input_stride_ + output_stride_);
  size_t free_bytes = 0, all_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
  const size_t fitting_slots = std::min(wanted_slots, free_bytes / 4 / set);
  slots_ = static_cast<int>(std::max({size_t{2}, flush_bytes / set + 1, fitting_slots}));
  check(cudaMalloc(&input_, input_stride_ * static_cast<size_t>(slots_) + k_slot_alignment), "input buffers");
  check(cudaMalloc(&output_, output_stride_ * static_cast<size_t>(slots_) + k_slot_alignment), "output buffers");
}

buffer_ring::~buffer_ring() {
  cudaFree(input_);
  cudaFree(output_);
}

limit fastest_copy(const buffer_ring& ring, size_t bytes, int repeats, cudaStream_t stream) {
  limit_search search(ring, repeats, stream);
  const size_t count = vectors_of(bytes);
  search.offer("cudaMemcpyAsync", [=](const buffer_ring& r, int i) {
    check(cudaMemcpyAsync(r.output(i), r.input(i), bytes, cudaMemcpyDeviceToDevice, stream), "copy");
  });
  const auto offer_kernel = [&](const std::string& by, auto kernel, unsigned blocks, unsigned threads) {
    search.offer(by, [=](const buffer_ring& r, int i) {
      kernel<<<blocks, threads, 0, stream>>>(static_cast<const uint4*>(r.input(i)), static_cast<uint4*>(r.output(i)),
                                             count);
    });
  };
  const auto offer_tiles = [&](auto kernel, unsigned loads) {
    for (const unsigned threads : {128u, 256u, 512u, 1024u})
      offer_kernel("copy_tiles<" + std::to_string(loads) + ">(" + std::to_string(threads) + ")", kernel,
                   static_cast<unsigned>((count + threads * loads - 1) / (threads * loads)), threads);
  };
  offer_tiles(copy_tiles<1>, 1);
  offer_tiles(copy_tiles<4>, 4);
  for (const unsigned per_sm : {8u, 32u})
    offer_kernel("copy_strided<" + std::to_string(per_sm) + ">", copy_strided, sm_count() * per_sm, 512);
  check(cudaGetLastError(), "copy kernels");
  return search.best();
}

limit fastest_read(const buffer_ring& ring, size_t bytes, int repeats, cudaStream_t stream) {
  limit_search search(ring, repeats, stream);
  const size_t count = vectors_of(bytes);
  const auto offer_kernel = [&](const std::string& by, auto kernel, unsigned blocks, unsigned threads) {
    search.offer(by, [=](const buffer_ring& r, int i) {
      kernel<<<blocks, threads, 0, stream>>>(static_cast<const uint4*>(r.input(i)), count,
                                             static_cast<unsigned*>(r.output(i)));
    });
  };
  const auto offer_tiles = [&](auto kernel, unsigned loads) {
    for (const unsigned threads : {128u, 256u, 512u})
      offer_kernel("read_tiles<" + std::to_string(loads) + ">(" + std::to_string(threads) + ")", kernel,
                   static_cast<unsigned>((count + threads * loads - 1) / (threads * loads)), threads);
  };
  offer_tiles(read_tiles<4>, 4);
  offer_tiles(read_tiles<8>, 8);
  for (const unsigned per_sm : {4u, 8u, 16u})
    offer_kernel("read_strided<" + std::to_string(per_sm) + ">", read_strided, sm_count() * per_sm, 512);
  check(cudaGetLastError(), "read kernels");
  return search.best();
}

double launch_us(int repeats, cudaStream_t stream) {
  constexpr int k_batch = 100;
  return median(time_each(stream, repeats,
                          [&](int) {
                            for (int k = 0; k < k_batch; ++k) empty<<<1, 32, 0, stream>>>();
                          })) /
         k_batch;
}

}  // namespace warpcheck::bench
