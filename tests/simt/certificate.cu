// The schedule certificate: one kernel keeps each condition of the theorem in docs/emulated_device.md and gets one,
// another breaks it and is told what denies it, and certified kernels give the same bits under random schedules, whose
// number for each kernel is the first argument.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "simt/emulated/notices.hpp"
#include "simt/emulated/vector_clock.hpp"
#include "simt/emulation.hpp"
#include "simt/simt.hpp"
#include "tests/simt/arguments.hpp"
#include "tests/simt/device_array.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {
namespace {

__device__ __forceinline__ int global_thread() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

// ---- program order, barriers, collectives

// Every round all threads read what one wrote, and another one overwrites it.
__global__ void broadcast(int* out) {
  SIMT_SHARED(word, int);
  SIMT_SHARED(halves, short[2]);
  int sum = 0;
  for (int round = 0; round < 5; ++round) {
    if (static_cast<int>(threadIdx.x) == 37 * round % static_cast<int>(blockDim.x)) word = sum + round + 1;
    if (threadIdx.x < 2) halves[threadIdx.x] = static_cast<short>(round);
    __syncthreads();
    sum += word * static_cast<int>(1 + threadIdx.x % 3) + halves[threadIdx.x % 2];
    __syncthreads();
  }
  out[global_thread()] = sum;
}

// The same in parts of a warp.
__global__ void broadcast_in_parts(int* out) {
  SIMT_SHARED(words, int[16]);
  const unsigned lane = threadIdx.x % 32, part = threadIdx.x / 8, mask = 0xffu << (lane & ~7u);
  int sum = 0;
  for (unsigned round = 0; round < 5; ++round) {
    if (lane % 8 == round) words[part] = sum + static_cast<int>(round);
    __syncwarp(mask);
    sum += words[part];
    __syncwarp(mask);
  }
  out[global_thread()] = sum + __shfl_xor_sync(~0u, sum, 1) + static_cast<int>(__ballot_sync(~0u, sum > 9));
}

// Warps 0 to 2 read a word that warp 3 then overwrites. Bug: one of the readers does not wait for that.
template <bool Bug>
__global__ void third_reader(int* out) {
  SIMT_SHARED(word, int);
  if (threadIdx.x == 0) word = 5;
  __syncthreads();
  const unsigned warp = threadIdx.x / 32;
  int seen = 0;
  if (warp < 3) seen = word;
  if (!Bug || warp != 2) simt::named_barrier<1>::sync(Bug ? 96 : 128);
  if (threadIdx.x == 127) word = 6;
  out[global_thread()] = seen;
}

// The same with a byte of a word, or a word of several, in device memory. Readers of its neighbour, all of whom the
// write waits for, share its summary.
template <class T, bool Bug>
__global__ void third_reader_of(int* out) {
  auto* const parts = reinterpret_cast<T*>(out + 900);
  const unsigned warp = threadIdx.x / 32;
  int seen = 0;
  if (warp < 6) seen = static_cast<int>(parts[warp / 3]);
  if (!Bug || warp != 2) simt::named_barrier<1>::sync(Bug ? 192 : 224);
  if (threadIdx.x == 192) parts[0] = 6;
  out[global_thread()] = seen;
}

// Block 0 writes what block 1 has read since they met, and two of its own warps, for which it waits.
__global__ void third_reader_of_grid(int* out) {
  const unsigned warp = threadIdx.x / 32;
  if (global_thread() == 0) out[700] = 5;
  simt::grid_sync();
  int seen = 0;
  if ((warp > 0) == (blockIdx.x == 0)) seen = out[700];
  __syncthreads();
  if (global_thread() == 0) out[700] = 6;
  out[global_thread()] = seen;
}

// Three parts of a block meet at one named barrier, which is for two. Whose phase is whose?
template <bool Bug>
__global__ void crowded_barrier(int* out) {
  const unsigned warp = threadIdx.x / 32;
  if (warp < 2 || Bug) simt::named_barrier<2>::sync(64);
  if (warp >= 2 && !Bug) simt::named_barrier<3>::sync(64);
  out[global_thread()] = static_cast<int>(warp);
}

// ---- copies and phases

struct stage_words {
  alignas(128) int words[32];
};

// A producer warp fills two stages by bulk copies; three consumer warps read every element and free the stage.
// Flaw 1, which is none: the consumers ask until the stage is full; 2: a thread takes a phase's parity for a value.
template <int Flaw>
__global__ void ring(const int* in, int* out, int tiles) {
  SIMT_SHARED(stages, stage_words[2]);
  SIMT_SHARED(full, simt::mbarrier[2]);
  SIMT_SHARED(drained, simt::mbarrier[2]);
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int s = 0; s < 2; ++s) {
      full[s].init(1);
      drained[s].init(96);
    }
  }
  __syncthreads();
  int sum = 0;
  if (warp == 3 && lane == 0) {
    for (int k = 0; k < tiles; ++k) {
      drained[k % 2].wait(static_cast<unsigned>(k / 2 + 1) & 1);
      simt::fence_proxy_async();
      full[k % 2].arrive_expect_tx(sizeof stages[0]);
      simt::bulk_copy(stages[k % 2].words, in + 32 * k, sizeof stages[0], &full[k % 2]);
    }
  }
  if (warp < 3) {
    for (int k = 0; k < tiles; ++k) {
      const unsigned parity = static_cast<unsigned>(k / 2) & 1;
      if (Flaw == 1)
        while (!full[k % 2].try_wait(parity)) {
        }
      else
        full[k % 2].wait(parity);
      for (int i = 0; i < 32; ++i) sum += stages[k % 2].words[i] * static_cast<int>(lane + warp);
      simt::fence_proxy_async();
      drained[k % 2].arrive();
    }
  }
  if (Flaw == 2 && threadIdx.x == 0) sum += static_cast<int>(full[0].state() & 1);
  __syncthreads();
  out[global_thread()] = sum;
}

// Warp 1 asks for a phase until warp 0 has arrived. A flaw makes the answers matter: 1, 2: the thread counts them in a
// register or on its stack; 3: it asks once; 4: or in shared memory; 5, 6: it learns something, or releases something;
// 7, 8: it begins a group, or asks a second barrier; 9: it stops after some.
template <int Flaw>
__global__ void asks(const int* in, int* out) {
  SIMT_SHARED(ready, simt::mbarrier[2]);
  SIMT_SHARED(values, int[64]);
  const unsigned t = threadIdx.x;
  if (t == 0) ready[0].init(32);
  if (t == 0) ready[1].init(32);
  values[t] = 0;
  __syncthreads();
  if (t < 32) {
    values[t] = static_cast<int>(t);
    ready[0].arrive();
    ready[1].arrive();
    return;
  }
  volatile int on_stack = 0;
  int answers = 0;
  if (Flaw == 5) simt::cp_async<4>(&values[t], in + t);
  if (Flaw == 3) answers = ready[0].try_wait(0) ? 1 : 0;
  if (Flaw == 9)
    while (!ready[0].try_wait(0) && answers < 5) ++answers;
  if (Flaw == 8)
    while (!ready[0].try_wait(0) && !ready[1].try_wait(0)) {
    }
  while (!ready[0].try_wait(0)) {
    if (Flaw == 1) ++answers;
    if (Flaw == 2) on_stack = on_stack + 1;
    if (Flaw == 4) values[t] = 1;
    if (Flaw == 5) simt::cp_async_wait<0>();
    if (Flaw == 6) __threadfence_block();
    if (Flaw == 7) simt::cp_async_commit();
  }
  out[global_thread()] = values[t - 32] + answers + on_stack;
}

// Four threads arrive at an mbarrier for two, twice over. Bug: nothing keeps them in pairs.
template <bool Bug>
__global__ void arrivals(int* out) {
  SIMT_SHARED(pairs, simt::mbarrier);
  if (threadIdx.x == 0) pairs.init(2);
  __syncthreads();
  const int pair = static_cast<int>(threadIdx.x) / 2;
  if (pair < 2 && (Bug || pair == 0)) pairs.arrive();
  if (!Bug) __syncthreads();
  if (!Bug) pairs.wait(0);
  if (!Bug) __syncthreads();
  if (pair == 1 && !Bug) pairs.arrive();
  __syncthreads();
  out[global_thread()] = pair;
}

// A thread expects a copy in the phase of 32 threads that arrive. Flaw 1: under another schedule the phase is complete
// before; flaw 2: the same by cp.async, with an arrival that the phase does not count.
template <int Flaw>
__global__ void outsider(const int* in, int* out) {
  SIMT_SHARED(words, stage_words);
  SIMT_SHARED(full, simt::mbarrier);
  const unsigned t = threadIdx.x;
  if (t == 0) full.init(32);
  __syncthreads();
  if (t == (Flaw == 0 ? 32u : 0u)) {
    if (Flaw == 2) {
      simt::cp_async<16>(words.words, in);
      full.arrive_when_copied(false);
    } else {
      full.expect(sizeof words);
      simt::bulk_copy(words.words, in, sizeof words, &full);
    }
  }
  if (t >= 32) full.arrive();
  if (t >= 32) full.wait(0);
  out[global_thread()] = t >= 32 ? words.words[t % 4] : 0;
}

__global__ void async_tile(const int* in, int* out) {
  SIMT_SHARED(tile, int[2][64]);
  const int t = static_cast<int>(threadIdx.x);
  int sum = 0;
  simt::cp_async<4>(&tile[0][t], in + t);
  simt::cp_async_commit();
  for (int k = 0; k < 4; ++k) {
    if (k < 3) simt::cp_async<4>(&tile[(k + 1) % 2][t], in + 64 * (k + 1) + t);
    simt::cp_async_commit();
    simt::cp_async_wait<1>();
    __syncthreads();
    for (int i = 0; i < 64; ++i) sum += tile[k % 2][i] ^ t;
    __syncthreads();
  }
  out[global_thread()] = sum;
}

// ---- clusters and grids

__global__ void cluster_broadcast(int* out) {
  SIMT_SHARED(word, int);
  int sum = 0;
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x == 0) word = static_cast<int>(blockIdx.x) + sum;
    simt::cluster_sync();
    for (unsigned r = 0; r < simt::cluster_size(); ++r) sum += *simt::map_shared_rank(&word, r);
    simt::cluster_sync();
  }
  out[global_thread()] = sum;
}

// Half of each block arrives without a release, which the first thread's word does not need.
__global__ void cluster_of_relaxed(int* out) {
  SIMT_SHARED(word, int);
  if (threadIdx.x == 0) word = static_cast<int>(blockIdx.x) + 5;
  if (threadIdx.x < 32)
    simt::cluster_arrive();
  else
    simt::cluster_arrive_relaxed();
  simt::cluster_wait();
  out[global_thread()] = *simt::map_shared_rank(&word, simt::cluster_rank() ^ 1u);
  simt::cluster_sync();
}

__global__ void grid_broadcast(int* out) {
  int sum = 0;
  for (int round = 0; round < 3; ++round) {
    if (global_thread() == 7 * round) out[500] = sum + round;
    simt::grid_sync();
    sum += out[500];
    simt::grid_sync();
  }
  out[global_thread()] = sum;
}

// ---- atomics that commute

// Every operation on words of its own, in shared and in device memory, read behind a barrier or after the launch.
__global__ void commuting_atomics(int* out) {
  SIMT_SHARED(bins, unsigned[8]);
  SIMT_SHARED(largest, unsigned long long);
  const int i = global_thread();
  const unsigned bit = 1u << i % 32, last = blockDim.x - 1;
  if (threadIdx.x < 8) bins[threadIdx.x] = 0;
  if (threadIdx.x == 8) largest = 0;
  __syncthreads();
  atomicAdd(&bins[i * 5 % 8], 1u);
  atomicMax(&largest, static_cast<unsigned long long>(i) << 20);
  atomicAdd(out + 512, i);
  atomicSub(out + 512, 3);
  atomicMin(out + 513, -i);
  atomicMax(reinterpret_cast<unsigned*>(out + 514), bit);
  atomicOr(out + 515, 1 << i % 32);
  atomicXor(reinterpret_cast<unsigned*>(out + 516), bit);
  atomicAnd(reinterpret_cast<unsigned*>(out + 517), ~bit);
  atomicAdd(reinterpret_cast<unsigned long long*>(out + 518), 1ull << i % 50);
  __syncthreads();
  out[i] = static_cast<int>(bins[(last - threadIdx.x) & 7] + static_cast<unsigned>(largest >> 20));
}

// As often as a loop that waits would ask.
__global__ void patient_maximum(int* out) {
  for (int i = 0; i < 200; ++i) atomicMax(out + 512, i % 100);
  out[global_thread()] = 1;
}

// Flaw 1: an operation of another kind; 2: another type compares otherwise; 3: half of a longer word; 4: the result is
// used now and then; 5: one result is used in an address, and the sum commutes; 6: the minimum of half a sum.
template <int Flaw>
__global__ void mixed_atomics(int* out) {
  const int i = global_thread();
  atomicMax(out + 512, i);
  if (Flaw == 1 && i == 20) atomicAdd(out + 512, 100);
  if (Flaw == 2 && i == 20) atomicMax(reinterpret_cast<unsigned*>(out + 512), 7u);
  if (Flaw == 3 && i == 20) atomicMax(reinterpret_cast<unsigned long long*>(out + 512), 7ull);
  if (Flaw == 4) {
    const int before = atomicAdd(out + 514, 1);
    if (i == 20) out[i] = before;
  }
  if (Flaw == 5) atomicAdd(out + 600 + (atomicAdd(out + 514, 1) & 1), 1);
  if (Flaw == 6) atomicAdd(reinterpret_cast<unsigned long long*>(out + 516), 1ull << 30);
  if (Flaw == 6 && i == 20) atomicMin(out + 516, -5);
}

__global__ void host_atomic(int* out, int* host) {
  atomicAdd(host, 1);
  out[global_thread()] = 1;
}

// Warp 0 adds and does not wait for the others. Under fair it is the first, so that the reader sees its sum.
__global__ void early_read(int* out) {
  SIMT_SHARED(sum, int);
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, 1);
  if (threadIdx.x >= 32) simt::named_barrier<1>::sync(96);
  if (threadIdx.x == 32) out[0] = sum;
}

// ---- what leaves a choice

__global__ void ticket(int* out) { out[1 + atomicAdd(out, 1)] = 1; }
__global__ void float_sum(int* out) {
  atomicAdd(reinterpret_cast<float*>(out), 0.1f * static_cast<float>(threadIdx.x));
}
__global__ void flag(int* out) {
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    out[1] = 9;
    simt::store_release(out, 1);
  }
  if (threadIdx.x == 0 && blockIdx.x == 1) {
    while (simt::load_acquire(out) == 0) {
    }
    out[2] = out[1];
  }
}
__global__ void last_block(int* out) {
  if (threadIdx.x != 0) return;
  out[10 + blockIdx.x] = static_cast<int>(blockIdx.x);
  __threadfence();
  if (atomicAdd(out, 1) == static_cast<int>(gridDim.x) - 1) {
    __threadfence();
    for (unsigned b = 0; b < gridDim.x; ++b) out[1] += out[10 + b];
  }
}
__global__ void volatile_write(int* out) { *const_cast<volatile int*>(out + global_thread()) = 1; }
__global__ void active_lanes(int* out) { out[global_thread()] = static_cast<int>(__activemask()); }
__global__ void nap(int* out) {
  __nanosleep(10);
  out[global_thread()] = 1;
}
__global__ void same_value(int* out) { out[0] = 1; }
__global__ void host_write(int* out, int* host) {
  if (global_thread() == 0) *host = 1;
  out[global_thread()] = 1;
}
__global__ void plain(int* out) { out[global_thread()] = global_thread(); }

// ---- how they are launched

template <void (*Kernel)(int*), unsigned Blocks, unsigned Threads>
void simple(int* out, simt::emulation* stream) {
  simt::launch({Blocks, Threads, 0, stream}, Kernel, out);
}

// The input lies in the second half of `out`.
template <int Flaw>
void run_ring(int* out, simt::emulation* stream) {
  for (int i = 512; i < 768; ++i) out[i] = i * i;
  simt::launch({2, 128, 0, stream}, ring<Flaw>, out + 512, out, 7);
}
template <void (*Kernel)(const int*, int*)>
void with_input(int* out, simt::emulation* stream) {
  for (int i = 512; i < 768; ++i) out[i] = i * i;
  simt::launch({2, 64, 0, stream}, Kernel, out + 512, out);
}
void run_cluster(int* out, simt::emulation* stream) { simt::launch({4, 64, 0, stream, 2}, cluster_broadcast, out); }
void run_relaxed(int* out, simt::emulation* stream) { simt::launch({4, 64, 0, stream, 2}, cluster_of_relaxed, out); }
void run_grid(int* out, simt::emulation* stream) { simt::launch({3, 64, 0, stream, 1, true}, grid_broadcast, out); }
void run_third_reader_of_grid(int* out, simt::emulation* stream) {
  simt::launch({2, 96, 0, stream, 1, true}, third_reader_of_grid, out);
}
template <void (*Kernel)(int*, int*)>
void on_host(int* out, simt::emulation* stream) {
  static int of_host;
  simt::launch({2, 32, 0, stream}, Kernel, out, &of_host);
}
// A launch that may overlap one without a certificate, whose accesses it cannot know.
void run_overlapping(int* out, simt::emulation* stream) {
  simt::launch({2, 32, 0, stream}, ticket, out);
  simt::launch({2, 32, 0, stream, 1, false, true}, plain, out + 512);
}

// The host allocates between the two, as kernels may not.
void run_overlapping_proven(int* out, simt::emulation* stream) {
  simt::launch({2, 32, 0, stream}, plain, out);
  static int* volatile of_host;
  of_host = new int;
  delete of_host;
  simt::launch({2, 32, 0, stream, 1, false, true}, plain, out + 512);
}

struct certificate_trial {
  const char* name;
  // A part of the choice that denies the certificate, or "": the launch has one.
  const char* choice;
  // Launches the kernel over zeroed `out`, k_words of device memory.
  void (*run)(int* out, simt::emulation* stream);
};
constexpr int k_words = 1024;

const char* const question = "question for a barrier";
const char* const readers = "too many to tell apart";
const char* const phases = "phases others may complete";
const char* const atomic = "an atomic whose";

const certificate_trial k_trials[] = {
    {"asks", "", with_input<asks<0>>},
    {"asks_and_counts", question, with_input<asks<1>>},
    {"asks_and_counts_on_stack", question, with_input<asks<2>>},
    {"asks_once", question, with_input<asks<3>>},
    {"asks_and_writes", question, with_input<asks<4>>},
    {"asks_and_waits_for_copies", question, with_input<asks<5>>},
    {"asks_and_fences", question, with_input<asks<6>>},
    {"asks_and_commits", question, with_input<asks<7>>},
    {"asks_two", question, with_input<asks<8>>},
    {"asks_a_few_times", question, with_input<asks<9>>},
    {"plain", "", simple<plain, 3, 40>},
    {"broadcast", "", simple<broadcast, 3, 160>},
    {"broadcast_in_parts", "", simple<broadcast_in_parts, 2, 128>},
    {"third_reader", "", simple<third_reader<false>, 1, 128>},
    {"third_reader_unordered", readers, simple<third_reader<true>, 1, 128>},
    {"third_reader_of_byte", "", simple<third_reader_of<unsigned char, false>, 1, 224>},
    {"third_reader_of_byte_unordered", readers, simple<third_reader_of<unsigned char, true>, 1, 224>},
    {"third_reader_of_word", "", simple<third_reader_of<int, false>, 1, 224>},
    {"third_reader_of_word_unordered", readers, simple<third_reader_of<int, true>, 1, 224>},
    {"third_reader_of_grid", readers, run_third_reader_of_grid},
    {"named_barriers", "", simple<crowded_barrier<false>, 2, 128>},
    {"crowded_barrier", phases, simple<crowded_barrier<true>, 1, 128>},
    {"ring", "", run_ring<0>},
    {"ring_try_wait", "", run_ring<1>},
    {"ring_parity", question, run_ring<2>},
    {"arrivals", "", simple<arrivals<false>, 1, 32>},
    {"arrivals_unpaired", phases, simple<arrivals<true>, 1, 32>},
    {"expects_and_arrives", "", with_input<outsider<0>>},
    {"outsider_expects", phases, with_input<outsider<1>>},
    {"outsider_copies", phases, with_input<outsider<2>>},
    {"async_tile", "", with_input<async_tile>},
    {"cluster", "", run_cluster},
    {"cluster_of_relaxed", "", run_relaxed},
    {"grid", "", run_grid},
    {"commuting_atomics", "", simple<commuting_atomics, 3, 64>},
    {"patient_maximum", "", simple<patient_maximum, 2, 32>},
    {"mixed_kinds", atomic, simple<mixed_atomics<1>, 2, 32>},
    {"mixed_signs", atomic, simple<mixed_atomics<2>, 2, 32>},
    {"mixed_sizes", atomic, simple<mixed_atomics<3>, 2, 32>},
    {"result_used_once", atomic, simple<mixed_atomics<4>, 2, 32>},
    {"result_as_address", atomic, simple<mixed_atomics<5>, 2, 32>},
    {"mixed_halves", atomic, simple<mixed_atomics<6>, 2, 32>},
    {"host_atomic", "does not follow", on_host<host_atomic>},
    {"early_read", readers, simple<early_read, 1, 128>},
    {"ticket", atomic, simple<ticket, 2, 32>},
    {"float_sum", atomic, simple<float_sum, 2, 32>},
    {"flag", "an atomic load or store", simple<flag, 2, 32>},
    {"last_block", "a fence that acquires", simple<last_block, 4, 32>},
    {"volatile_write", "volatile", simple<volatile_write, 2, 32>},
    {"active_lanes", "__activemask", simple<active_lanes, 1, 32>},
    {"nap", "a loop that waits", simple<nap, 2, 32>},
    {"same_value", "a race", simple<same_value, 2, 32>},
    {"host_write", "does not follow", on_host<host_write>},
    {"overlapping", "may overlap", run_overlapping},
    {"overlapping_proven", "", run_overlapping_proven},
};

std::vector<int> outcome(const certificate_trial& trial, const std::string& schedule, simt::emulation& stream) {
  device_array<int> out(k_words);
  stream.schedule = simt::schedule::parse(schedule);
  try {
    trial.run(out.data(), &stream);
  } catch (const simt::device_error&) {  // the stream has the finding
  }
  return {out.data(), out.data() + out.size()};
}

std::string text_of(const simt::emulation& stream) {
  std::string text;
  for (const simt::schedule_choice& c : stream.choices) text += c.what + "; ";
  return text;
}

class certificates : public testing::TestWithParam<certificate_trial> {
 protected:
  void SetUp() override { simt::tolerate(simt::tolerance::benign); }
  void TearDown() override {
    simt::take_notices();
    simt::tolerate(simt::tolerance::none);
  }
};

TEST_P(certificates, are_given_and_denied) {
  for (const char* schedule : {"fair", "greedy", "reverse", "random:1", "pct_warp:1", "preempt:1"}) {
    simt::emulation stream;
    outcome(GetParam(), schedule, stream);
    const bool is_first = std::string(schedule) == "fair";
    const std::string choice = GetParam().choice;
    // Another schedule than the first may show a flaw.
    if (is_first || choice.empty()) {
      EXPECT_TRUE(stream.ok()) << stream.findings.front().text;
    }
    if (choice.empty()) {
      EXPECT_EQ(stream.certified, stream.launches) << schedule << ": " << text_of(stream);
      EXPECT_TRUE(stream.choices.empty()) << text_of(stream);
    } else {
      EXPECT_EQ(stream.certified, 0u) << schedule;
      EXPECT_TRUE(!stream.ok() || text_of(stream).find(choice) != std::string::npos)
          << schedule << ": " << text_of(stream);
    }
    stream.clear();
    EXPECT_EQ(stream.certified, 0u);
    EXPECT_TRUE(stream.choices.empty());
  }
}

// The certificate counts, not the trial's list: a kernel that gets one wrongly shows it by its bits.
TEST_P(certificates, promise_the_same_bits_under_every_schedule) {
  simt::emulation first;
  const std::vector<int> expected = outcome(GetParam(), "fair", first);
  if (first.certified < first.launches) return;
  const unsigned long schedules = std::stoul(arguments.at(0));
  for (unsigned seed = 0; seed < schedules; ++seed) {
    const char* const strategies[] = {"random:", "pct_warp:", "preempt:", "pct:"};
    simt::emulation stream;
    stream.resident_blocks = 1 + seed % 5;
    const std::string schedule = strategies[seed % 4] + std::to_string(seed);
    ASSERT_EQ(outcome(GetParam(), schedule, stream), expected) << schedule;
    ASSERT_TRUE(stream.ok()) << schedule << ": " << stream.findings.front().text;
    ASSERT_EQ(stream.certified, stream.launches) << schedule << ": " << text_of(stream);
  }
}

INSTANTIATE_TEST_SUITE_P(kernels, certificates, testing::ValuesIn(k_trials),
                         [](const auto& info) { return std::string(info.param.name); });

constexpr certificate_trial k_plain = {"plain", "", simple<plain, 3, 40>};

TEST(certificate, needs_the_detector) {
  simt::emulation stream;
  stream.detect = false;
  outcome(k_plain, "fair", stream);
  EXPECT_EQ(stream.certified, 0u);
}

// What was forgotten cannot be compared with what comes.
TEST(certificate, is_lost_with_the_launchs_history) {
  simt::limit_names(1);
  simt::emulation stream;
  stream.resident_blocks = 1;
  outcome(k_plain, "fair", stream);
  simt::limit_names(simt::k_max_instance / 2);
  EXPECT_EQ(stream.certified, 0u);
  EXPECT_NE(text_of(stream).find("too large to remember"), std::string::npos) << text_of(stream);
}

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self
