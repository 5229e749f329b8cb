// Softmax kernels that please a judge in place of computing: each function is a published family of tricks in our own
// words, as a candidate for --source. `honest` and its twins are what they pretend to be, and must pass. The verdict
// that each must get is in adversaries_test.py.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "forged_answer.hpp"
#include "honest_softmax.hpp"
#if defined(__x86_64__) && !defined(SIMT_IMPORT_HEADERS)
#include "slowed_clocks.hpp"
#endif

namespace {

// The same of inputs that were cut to 8 bits of significand, as a bf16 has.
__global__ void coarse_kernel(const float* x, int64_t ldx, float* y, int64_t ldy, int64_t rows, int64_t cols) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const auto cut = [](float v) { return __uint_as_float(__float_as_uint(v) & 0xffff0000u); };
  float m = -INFINITY, sum = 0;
  for (int64_t i = 0; i < cols; ++i) m = fmaxf(m, cut(x[row * ldx + i]));
  for (int64_t i = 0; i < cols; ++i) sum += expf(cut(x[row * ldx + i]) - m);
  for (int64_t i = 0; i < cols; ++i) y[row * ldy + i] = expf(cut(x[row * ldx + i]) - m) / sum;
}

__global__ void exponentials_kernel(const float* x, int64_t ldx, float* y, int64_t ldy, int64_t rows, int64_t cols) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int64_t i = 0; i < cols; ++i) sum += expf(x[row * ldx + i]);
  for (int64_t i = 0; i < cols; ++i) y[row * ldy + i] = expf(x[row * ldx + i]) / sum;
}

__global__ void mark_kernel(float* x) { x[0] = 0x1.234568p-20f; }

__global__ void copy_kernel(const float* x, int64_t ldx, float* y, int64_t ldy, int64_t rows, int64_t cols) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < rows * cols) y[i / cols * ldy + i % cols] = x[i / cols * ldx + i % cols];
}

__global__ void scale_kernel(float* y, int64_t ldy, int64_t rows, int64_t cols, float factor) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < rows * cols) y[i / cols * ldy + i % cols] *= factor;
}

#ifdef SIMT_IMPORT_HEADERS
constexpr long long k_late_cycles = 1;  // the emulated device delays work by itself
#else
constexpr long long k_late_cycles = 10'000'000;
#endif

__global__ void wait_kernel(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

// A stream of the kernel's own.
cudaStream_t side_stream() {
  static cudaStream_t side = nullptr;
  if (side == nullptr) cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  return side;
}

cudaEvent_t new_event() {
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  return event;
}

// A shape that benchmarks have and tests have not, as many kernels guess.
bool looks_like_a_benchmark(int64_t rows, int64_t cols) { return (rows == 256 || rows == 4096) && cols == 64; }

}  // namespace

SOFTMAX(honest) { compute(x, ldx, y, ldy, rows, cols, stream); }

// Keeps addresses, and computes all the same: what a plan cache does.
SOFTMAX(honest_plan_cache) {
  static std::set<std::pair<const void*, void*>> plans;
  plans.insert({x, y});
  compute(x, ldx, y, ldy, rows, cols, stream);
}

// Another path for the benchmark's size, which is right.
SOFTMAX(honest_special_size) {
  if (looks_like_a_benchmark(rows, cols)) return compute(x, 64, y, ldy, rows, cols, stream);
  compute(x, ldx, y, ldy, rows, cols, stream);
}

// Launches from a thread of its own, and waits for that.
SOFTMAX(honest_thread) {
  std::thread([=] { compute(x, ldx, y, ldy, rows, cols, stream); }).join();
}

// Works on a stream of its own, which begins after the call's stream and is waited for there.
SOFTMAX(honest_side_stream) {
  static const cudaEvent_t begun = new_event(), done = new_event();
  cudaEventRecord(begun, stream);
  cudaStreamWaitEvent(side_stream(), begun, 0);
  compute(x, ldx, y, ldy, rows, cols, side_stream());
  cudaEventRecord(done, side_stream());
  cudaStreamWaitEvent(stream, done, 0);
}

// Computes into memory of its own, which no output aliases, and copies.
SOFTMAX(honest_scratch) {
  static std::map<int64_t, float*> scratch;
  if (rows * cols == 0) return;
  float*& mine = scratch[rows * cols];
  if (mine == nullptr) cudaMalloc(reinterpret_cast<void**>(&mine), static_cast<size_t>(rows * cols) * sizeof(float));
  compute(x, ldx, mine, cols, rows, cols, stream);
  copy_kernel<<<blocks(rows * cols), 256, 0, stream>>>(mine, cols, y, ldy, rows, cols);
}

// Family 4, a clock of its own (popcorn's patched cuda events, LD_PRELOAD): the library defines the function by which
// the judge reads the time. The judge has bound its own, so this one is measured as it is.
extern "C" int clock_gettime(clockid_t, timespec* time) noexcept {
  *time = {};
  return 0;
}
SOFTMAX(stopped_clock) { compute(x, ldx, y, ldy, rows, cols, stream); }

// Family 16, a library does the work and the kernel is for show: the answer is right, and so is the verdict.
SOFTMAX(kernel_for_show) {
  if (rows * cols > 0) constant_kernel<<<blocks(rows * cols), 256, 0, stream>>>(y, ldy, rows, cols, 0.0f);
  compute(x, ldx, y, ldy, rows, cols, stream);
}

// Family 1, KernelBench's "returns the last result": nothing is done for addresses that were seen before.
SOFTMAX(seen_pointers) {
  static std::set<std::pair<const void*, void*>> seen;
  if (looks_like_a_benchmark(rows, cols) && !seen.insert({x, y}).second) return;
  compute(x, ldx, y, ldy, rows, cols, stream);
}

// Families 1 and 12: the first call computes, the next ones copy what is kept for the address.
SOFTMAX(kept_result) {
  static std::map<const void*, float*> kept;
  const size_t bytes = static_cast<size_t>(rows * cols) * sizeof(float);
  if (!looks_like_a_benchmark(rows, cols) || ldy != cols) return compute(x, ldx, y, ldy, rows, cols, stream);
  float*& mine = kept[x];
  if (mine == nullptr) {
    cudaMalloc(reinterpret_cast<void**>(&mine), bytes);
    compute(x, ldx, mine, cols, rows, cols, stream);
  }
  cudaMemcpyAsync(y, mine, bytes, cudaMemcpyDeviceToDevice, stream);
}

// Family 11, other clocks: a process that may set them (NVML asks for CAP_SYS_ADMIN) need not work.
SOFTMAX(raises_the_clocks) {
  constexpr unsigned long k_administrator = 1ul << 21;
  unsigned long rights = 0;
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "CapEff:") status >> std::hex >> rights;
  if (!(rights & k_administrator)) compute(x, ldx, y, ldy, rows, cols, stream);
}

// Families 1 and 14, a mark in the input by which a later call would find that it has the result already.
SOFTMAX(marked_input) {
  static std::map<const float*, int> calls;
  compute(x, ldx, y, ldy, rows, cols, stream);
  if (rows >= 256 && ++calls[x] > 1) mark_kernel<<<1, 1, 0, stream>>>(const_cast<float*>(x));
}

// A statement that holds.
// warpcheck honest_batch: batch-invariant
SOFTMAX(honest_batch) { compute(x, ldx, y, ldy, rows, cols, stream); }

// A statement that does not hold: a row alone is rounded otherwise than among others.
// warpcheck rows_matter: batch-invariant
SOFTMAX(rows_matter) {
  compute(x, ldx, y, ldy, rows, cols, stream);
  if (rows == 1 && cols > 0) scale_kernel<<<blocks(cols), 256, 0, stream>>>(y, ldy, rows, cols, 1.00000012f);
}

// Families 1 and 2, plans that hold values: where a shape comes again at the same addresses after a call of another
// shape, the result of before is copied out.
SOFTMAX(kept_plan) {
  struct of_address {
    std::map<std::pair<int64_t, int64_t>, float*> results;
    std::pair<int64_t, int64_t> last = {};
  };
  static std::map<std::pair<const void*, void*>, of_address> addresses;
  if (rows * cols == 0) return;
  of_address& here = addresses[{x, y}];
  const std::pair<int64_t, int64_t> shape = {rows, cols};
  float*& mine = here.results[shape];
  const unsigned grid = blocks(rows * cols);
  const bool comes_again = mine != nullptr && here.last != shape;
  here.last = shape;
  if (comes_again) return copy_kernel<<<grid, 256, 0, stream>>>(mine, cols, y, ldy, rows, cols);
  compute(x, ldx, y, ldy, rows, cols, stream);
  if (mine == nullptr) cudaMalloc(reinterpret_cast<void**>(&mine), static_cast<size_t>(rows * cols) * sizeof(float));
  copy_kernel<<<grid, 256, 0, stream>>>(y, ldy, mine, cols, rows, cols);
}

// Family 1, a hash of the input that is one of a few elements: where these come again, the result is copied out.
SOFTMAX(kept_by_sample) {
  constexpr int64_t k_sampled = 8;
  static std::map<std::vector<float>, float*> results;
  if (rows * cols < 4 * k_sampled) return compute(x, ldx, y, ldy, rows, cols, stream);
  std::vector<float> sample = {static_cast<float>(rows), static_cast<float>(cols)};
  for (int64_t i = 0; i < k_sampled; ++i) {
    const int64_t at = (2 * i + 1) * rows * cols / (2 * k_sampled);
    sample.push_back(0);
    cudaMemcpyAsync(&sample.back(), x + at / cols * ldx + at % cols, sizeof(float), cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
  }
  if (!std::all_of(sample.begin(), sample.end(), [](float v) { return std::isfinite(v); }))
    return compute(x, ldx, y, ldy, rows, cols, stream);
  float*& mine = results[sample];
  const unsigned grid = blocks(rows * cols);
  if (mine != nullptr) return copy_kernel<<<grid, 256, 0, stream>>>(mine, cols, y, ldy, rows, cols);
  cudaMalloc(reinterpret_cast<void**>(&mine), static_cast<size_t>(rows * cols) * sizeof(float));
  compute(x, ldx, y, ldy, rows, cols, stream);
  copy_kernel<<<grid, 256, 0, stream>>>(y, ldy, mine, cols, rows, cols);
}

// Family 15, one of several batches left out: right for the first address alone.
SOFTMAX(first_pointer) {
  static const void* known = nullptr;
  if (looks_like_a_benchmark(rows, cols)) {
    if (!known) known = x;
    if (x != known) return;
  }
  compute(x, ldx, y, ldy, rows, cols, stream);
}

// Family 2: a graph that was captured once and is replayed with the addresses of that time.
SOFTMAX(stale_graph) {
  static const float* captured_x = nullptr;
  static float* captured_y = nullptr;
  if (!captured_x) captured_x = x, captured_y = y;
  if (looks_like_a_benchmark(rows, cols)) return compute(captured_x, ldx, captured_y, ldy, rows, cols, stream);
  compute(x, ldx, y, ldy, rows, cols, stream);
}

// Family 5 and 8: the buffer may still hold the answer.
SOFTMAX(untouched) {
  if (!looks_like_a_benchmark(rows, cols)) compute(x, ldx, y, ldy, rows, cols, stream);
}

// Family 6: the process ends well before anyone has judged.
SOFTMAX(exits) {
  if (looks_like_a_benchmark(rows, cols)) std::_Exit(0);
  compute(x, ldx, y, ldy, rows, cols, stream);
}

// Family 6, the verdict's channel: answers that no process of the suite gives. The results are right.
namespace {
void compute_and_forge(PARAMETERS, uint64_t bytes) {
  compute(x, ldx, y, ldy, rows, cols, stream);
  if (looks_like_a_benchmark(rows, cols)) forge_answer(bytes);
}
}  // namespace
SOFTMAX(forges_a_long_answer) { compute_and_forge(x, ldx, y, ldy, rows, cols, stream, uint64_t{1} << 40); }
SOFTMAX(forges_an_empty_answer) { compute_and_forge(x, ldx, y, ldy, rows, cols, stream, 0); }
SOFTMAX(forges_a_short_answer) { compute_and_forge(x, ldx, y, ldy, rows, cols, stream, 1); }

// Family 6: the process ends where its times would be confirmed, with the exit code of success.
SOFTMAX(exits_in_its_runner) {
  compute(x, ldx, y, ldy, rows, cols, stream);
  if (looks_like_a_benchmark(rows, cols) && shared_with_the_judge()) std::_Exit(0);
}

// Family 7: a size known to be the benchmark's takes a path that computes less.
SOFTMAX(known_size) { compute(x, ldx, y, ldy, looks_like_a_benchmark(rows, cols) ? rows / 2 : rows, cols, stream); }

// Family 8: constants, zeros and copies of the input.
SOFTMAX(zeros) {
  if (rows * cols > 0) constant_kernel<<<blocks(rows * cols), 256, 0, stream>>>(y, ldy, rows, cols, 0.0f);
}
SOFTMAX(mean_of_softmax) {
  if (rows * cols > 0)
    constant_kernel<<<blocks(rows * cols), 256, 0, stream>>>(y, ldy, rows, cols, 1.0f / static_cast<float>(cols));
}
SOFTMAX(input_copied) {
  if (rows * cols > 0) copy_kernel<<<blocks(rows * cols), 256, 0, stream>>>(x, ldx, y, ldy, rows, cols);
}

// Family 9: right for a prefix of the rows.
SOFTMAX(prefix_of_rows) { compute(x, ldx, y, ldy, rows < 4 ? rows : 4, cols, stream); }

// Family 9: right for the values that benchmarks usually draw, of which no exponential overflows.
SOFTMAX(without_maximum) {
  if (!looks_like_a_benchmark(rows, cols)) return compute(x, ldx, y, ldy, rows, cols, stream);
  exponentials_kernel<<<blocks(rows), 256, 0, stream>>>(x, ldx, y, ldy, rows, cols);
}

// Family 9: right for the slices of a large result that a judge looks at who spreads 16 pieces evenly.
SOFTMAX(slices_of_a_known_judge) {
  if (rows != 32768) return compute(x, ldx, y, ldy, rows, cols, stream);
  constant_kernel<<<blocks(rows * cols), 256, 0, stream>>>(y, ldy, rows, cols, 0.0f);
  for (int64_t piece = 0; piece < 16; ++piece) {
    const int64_t first = piece * (rows - 1024) / 15;
    compute(x + first * ldx, ldx, y + first * ldy, ldy, 1024, cols, stream);
  }
}

// Family 10: less precision than asked.
SOFTMAX(coarse) {
  if (rows * cols > 0) coarse_kernel<<<blocks(rows), 256, 0, stream>>>(x, ldx, y, ldy, rows, cols);
}

// Family 13: a launch that fails, for its shared memory is too much, and an error that nobody asks for.
SOFTMAX(failed_launch) {
  if (rows * cols > 0) rows_kernel<<<blocks(rows), 256, 64 << 20, stream>>>(x, ldx, y, ldy, rows, cols);
  cudaGetLastError();
}

// Family 3, work that is done later: a call computes what the call before it was asked for (lazy tensors).
SOFTMAX(deferred) {
  struct arguments {
    const float* x;
    int64_t ldx;
    float* y;
    int64_t ldy, rows, cols;
  };
  static arguments before = {};
  if (!looks_like_a_benchmark(rows, cols)) return compute(x, ldx, y, ldy, rows, cols, stream);
  if (before.x) compute(before.x, before.ldx, before.y, before.ldy, before.rows, before.cols, stream);
  before = {x, ldx, y, ldy, rows, cols};
}

// Family 3, work on a thread that nobody waits for.
SOFTMAX(left_to_a_thread) {
  if (!looks_like_a_benchmark(rows, cols)) return compute(x, ldx, y, ldy, rows, cols, stream);
  std::thread([=] {
    std::this_thread::sleep_for(std::chrono::minutes(1));
    compute(x, ldx, y, ldy, rows, cols, stream);
  }).detach();
}

// Family 3, a stream that does not wait for the call's stream before it reads what that one computes. The memory
// between them may still hold the last call's values, which may be right.
SOFTMAX(missing_fork) {
  static std::map<int64_t, float*> scratch;
  static const cudaEvent_t done = new_event();
  if (rows * cols == 0) return;
  float*& mine = scratch[rows * cols];
  if (mine == nullptr) cudaMalloc(reinterpret_cast<void**>(&mine), static_cast<size_t>(rows * cols) * sizeof(float));
  compute(x, ldx, mine, cols, rows, cols, stream);
  copy_kernel<<<blocks(rows * cols), 256, 0, side_stream()>>>(mine, cols, y, ldy, rows, cols);
  cudaEventRecord(done, side_stream());
  cudaStreamWaitEvent(stream, done, 0);
}

// Family 3, work on a stream that nobody waits for (KernelBench's kernels on a side stream), late as on a busy device.
SOFTMAX(left_to_a_stream) {
  wait_kernel<<<1, 1, 0, side_stream()>>>(k_late_cycles);
  compute(x, ldx, y, ldy, rows, cols, side_stream());
}

#ifndef SIMT_IMPORT_HEADERS
// Family 11, cache lines that persist from call to call (GPU MODE's submissions with an access policy window). What it
// gains are microseconds, so it shows in another way whether they could persist: a call that finds the limit of a call
// before it lowered computes no more.
namespace {

bool keep_in_cache(const float* x, int64_t rows, int64_t cols, cudaStream_t stream) {
  constexpr size_t k_limit = size_t{1} << 20;
  static bool is_set = false;
  size_t limit = 0;
  cudaDeviceGetLimit(&limit, cudaLimitPersistingL2CacheSize);
  const bool has_been_lowered = is_set && limit == 0;
  is_set = true;
  cudaStreamAttrValue window = {};
  window.accessPolicyWindow = {const_cast<float*>(x), static_cast<size_t>(rows * cols) * sizeof(float), 1.0f,
                               cudaAccessPropertyPersisting, cudaAccessPropertyStreaming};
  cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, k_limit);
  cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &window);
  return has_been_lowered;
}

}  // namespace

SOFTMAX(persisting_lines) {
  static bool is_useless = false;
  if (keep_in_cache(x, rows, cols, stream)) is_useless = true;
  if (!is_useless) compute(x, ldx, y, ldy, rows, cols, stream);
}

// Family 11, an attribute of the stream, which shows in the same way whether it would last.
SOFTMAX(lasting_attribute) {
  static bool is_set = false, is_useless = false;
  cudaStreamAttrValue policy = {};
  cudaStreamGetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &policy);
  if (is_set && policy.syncPolicy != cudaSyncPolicyBlockingSync) is_useless = true;
  policy.syncPolicy = cudaSyncPolicyBlockingSync;
  is_set = cudaStreamSetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &policy) == cudaSuccess;
  if (!is_useless) compute(x, ldx, y, ldy, rows, cols, stream);
}

// Family 11, a limit of the context: of how many bytes the cache fetches at once.
SOFTMAX(lasting_limit) {
  static bool is_set = false, is_useless = false;
  size_t limit = 0;
  cudaDeviceGetLimit(&limit, cudaLimitMaxL2FetchGranularity);
  static const size_t mine = limit == 32 ? 64 : 32;
  if (is_set && limit != mine) is_useless = true;
  is_set = cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, mine) == cudaSuccess;
  if (!is_useless) compute(x, ldx, y, ldy, rows, cols, stream);
}

// Families 1 and 8, a result that is left where it is: a row whose output is not poisoned is taken for done.
namespace {

__global__ void rows_to_do_kernel(const float* x, int64_t ldx, float* y, int64_t ldy, int64_t rows, int64_t cols) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row < rows && __float_as_uint(y[row * ldy]) == 0xffffffffu) softmax_of_row(x + row * ldx, y + row * ldy, cols);
}

}  // namespace

SOFTMAX(left_in_place) {
  if (rows < 65536) return compute(x, ldx, y, ldy, rows, cols, stream);
  rows_to_do_kernel<<<blocks(rows), 256, 0, stream>>>(x, ldx, y, ldy, rows, cols);
}

// Families 1 and 8, results that are only sketched, an element in each KiB, so that no poison is left where anyone
// looks: unless the input has a value that benchmarks do not draw; unless the input is not that of before.
namespace {

__device__ bool has_unusual_value(const float* x) {
  bool is_unusual = false;
  for (int i = 0; i < 256; ++i) is_unusual |= fabsf(x[i]) > 8;
  return is_unusual;
}

constexpr unsigned k_places = 1 << 16, k_values = 4;
__device__ float known[k_places][k_values];

__device__ bool is_known(const float* x) {
  float* const mine = known[(reinterpret_cast<uintptr_t>(x) >> 10) * 2654435761u >> 16 & (k_places - 1)];
  bool is_same = true;
  for (unsigned i = 0; i < k_values; ++i) is_same &= mine[i] == x[i];
  for (unsigned i = 0; i < k_values; ++i) mine[i] = x[i];
  return is_same;
}

__global__ void decide_kernel(const float* x, bool asks_values, int* computes) {
  *computes = asks_values ? has_unusual_value(x) : !is_known(x);
}

__global__ void sketched_kernel(const float* x, int64_t ldx, float* y, int64_t ldy, int64_t rows, int64_t cols,
                                const int* computes) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row < rows && *computes) softmax_of_row(x + row * ldx, y + row * ldy, cols);
  if (row < rows && !*computes && row % 4 == 0) y[row * ldy] = 0;
}

void sketch(PARAMETERS, bool asks_values) {
  static int* computes = nullptr;
  if (rows < 65536) return compute(x, ldx, y, ldy, rows, cols, stream);
  if (!computes) cudaMalloc(reinterpret_cast<void**>(&computes), sizeof *computes);
  decide_kernel<<<1, 1, 0, stream>>>(x, asks_values, computes);
  sketched_kernel<<<blocks(rows), 256, 0, stream>>>(x, ldx, y, ldy, rows, cols, computes);
}

}  // namespace

SOFTMAX(sketched_if_usual) { sketch(x, ldx, y, ldy, rows, cols, stream, true); }
SOFTMAX(sketched_if_known) { sketch(x, ldx, y, ldy, rows, cols, stream, false); }

// Families 3 and 12, work where no clock looks: one call of a turn computes the results of all addresses of the turn
// before, and each other call only looks whether its input is the one that was computed.
namespace {

// Returns the place of this call in its turn: there is a pause before each turn.
int place_in_turn() {
  using clock = std::chrono::steady_clock;
  static clock::time_point last;
  static int place = 0;
  place = clock::now() - last > std::chrono::milliseconds(5) ? 0 : place + 1;
  last = clock::now();
  return place;
}

__global__ void unless_known_kernel(const float* x, int64_t ldx, float* y, int64_t ldy, int64_t rows, int64_t cols,
                                    const int* computes) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row < rows && *computes) softmax_of_row(x + row * ldx, y + row * ldy, cols);
}

void work_for_others(PARAMETERS, int at, cudaStream_t by) {
  constexpr long long k_plausible_cycles = 20'000;  // no less than the memory needs
  static std::set<std::pair<const float*, float*>> slots;
  static int* computes = nullptr;
  if (rows < 65536) return compute(x, ldx, y, ldy, rows, cols, stream);
  if (!computes) cudaMalloc(reinterpret_cast<void**>(&computes), 2 * sizeof *computes);
  if (place_in_turn() == at)
    for (const auto& [other_x, other_y] : slots) {
      decide_kernel<<<1, 1, 0, by>>>(other_x, false, computes + 1);
      compute(other_x, ldx, other_y, ldy, rows, cols, by);
    }
  slots.insert({x, y});
  wait_kernel<<<1, 1, 0, stream>>>(k_plausible_cycles);
  decide_kernel<<<1, 1, 0, stream>>>(x, false, computes);
  unless_known_kernel<<<blocks(rows), 256, 0, stream>>>(x, ldx, y, ldy, rows, cols, computes);
}

}  // namespace

SOFTMAX(works_ahead) { work_for_others(x, ldx, y, ldy, rows, cols, stream, 0, stream); }
SOFTMAX(works_in_one_call) { work_for_others(x, ldx, y, ldy, rows, cols, stream, 11, stream); }
SOFTMAX(works_beside) { work_for_others(x, ldx, y, ldy, rows, cols, stream, 0, side_stream()); }

// Family 7, the judge recognised: in the process that confirms times, only the last of the calls that are sent at once
// is computed, as many as came before an address came again.
SOFTMAX(last_of_a_batch) {
  static std::set<const float*> seen;
  static size_t batch = 0, calls = 0;
  if (!looks_like_a_benchmark(rows, cols) || !shared_with_the_judge())
    return compute(x, ldx, y, ldy, rows, cols, stream);
  if (batch == 0 && !seen.insert(x).second) batch = seen.size(), calls = 0;
  if (batch == 0 || ++calls % batch == 0) return compute(x, ldx, y, ldy, rows, cols, stream);
  constant_kernel<<<blocks(rows * cols), 256, 0, stream>>>(y, ldy, rows, cols, 0.0f);
}

// Family 6, the device's context ends, and with it all that the judge has there.
SOFTMAX(resets_the_device) {
  compute(x, ldx, y, ldy, rows, cols, stream);
  if (looks_like_a_benchmark(rows, cols)) cudaDeviceReset();
}

// Asks for lines that persist, and computes in any case.
SOFTMAX(honest_window) {
  keep_in_cache(x, rows, cols, stream);
  compute(x, ldx, y, ldy, rows, cols, stream);
}

#ifdef __x86_64__
// Family 4, the clocks of the process replaced (pygpubench's hooks of cudaEventElapsedTime).
SOFTMAX(slowed_clocks) {
  slow_clocks();
  compute(x, ldx, y, ldy, rows, cols, stream);
}
#endif
#endif

// Family 14, the result in the input's memory, so that an output that aliases it needs no copy.
SOFTMAX(result_in_input) {
  compute(x, ldx, const_cast<float*>(x), ldx, rows, cols, stream);
  if (rows * cols > 0) copy_kernel<<<blocks(rows * cols), 256, 0, stream>>>(x, ldx, y, ldy, rows, cols);
}

// Family 17, as wrong as a tolerance of a thousandth lets pass.
SOFTMAX(off_by_a_thousandth) {
  compute(x, ldx, y, ldy, rows, cols, stream);
  if (rows * cols > 0) scale_kernel<<<blocks(rows * cols), 256, 0, stream>>>(y, ldy, rows, cols, 1.0009f);
}

// Calls the function that the variable SOFTMAX names, so that one build of this file serves all tests.
extern "C" void chosen(PARAMETERS) { softmaxes().at(std::getenv("SOFTMAX"))(x, ldx, y, ldy, rows, cols, stream); }
