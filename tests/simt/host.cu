// What surrounds a launch: device memory and its canaries, limits, streams that failed, shared memory's initial
// content.
#include "simt/simt.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {

__global__ void count(int* counter) { atomicAdd(counter, 1); }

__global__ void set(unsigned char* p, int64_t at, unsigned char value) { p[at] = value; }

__global__ void touch_dynamic(int* out, int last) {
  SIMT_DYN_SHARED(char, s);
  s[last] = 3;
  out[0] = s[last];
}

__global__ void static_and_dynamic(int* out) {
  SIMT_SHARED(s, int[1024]);
  SIMT_DYN_SHARED(int, d);
  s[threadIdx.x] = d[threadIdx.x] = 1;
  out[threadIdx.x] = s[threadIdx.x] + d[threadIdx.x];
}

__global__ void local_array(int* out, int index) {
  int values[8];
  for (int i = 0; i < 8; ++i) values[i] = i;
  __syncthreads();
  const int* first = values;
  out[threadIdx.x] = first[index];
}

// Recursion that the compiler cannot flatten.
__device__ __attribute__((noinline)) int descend(int depth, volatile char* above) {
  volatile char frame[512];
  frame[0] = above[0];
  if (depth == 0) {
    __syncthreads();
    return frame[0];
  }
  return descend(depth - 1, frame) + frame[0];
}
__global__ void deep(int* out, int depth) {
  volatile char top = 1;
  out[threadIdx.x] = descend(threadIdx.x == 1 ? depth : 0, &top);
}

__global__ void shared_pattern(unsigned* out) {
  SIMT_SHARED(s, unsigned[4]);
  // Reads what a real block would find there: whatever the last one left.
  out[threadIdx.x] = *const_cast<volatile unsigned*>(&s[threadIdx.x]);
}

__global__ void shared_at(int* out, int at) {
  SIMT_SHARED(s, int[8]);
  s[threadIdx.x] = 1;
  int* first = s;
  first[at] = 2;
  out[threadIdx.x] = s[threadIdx.x];
}

// Thousands of threads at a time, each with its own on its stack and in shared memory; counts what has changed.
__global__ void keep_own(int* changed, int per_thread) {
  SIMT_DYN_SHARED(int, shared);
  const int t = static_cast<int>(threadIdx.x), own = static_cast<int>(blockIdx.x * blockDim.x) + t + 1;
  volatile int local[64];
  for (int i = 0; i < 64; ++i) local[i] = own;
  for (int i = 0; i < per_thread; ++i) shared[i * static_cast<int>(blockDim.x) + t] = own;
  simt::grid_sync();
  int wrong = 0;
  for (int i = 0; i < 64; ++i) wrong += local[i] != own;
  for (int i = 0; i < per_thread; ++i) wrong += shared[i * static_cast<int>(blockDim.x) + t] != own;
  if (wrong != 0) atomicAdd(changed, wrong);
}

// Lane 31 leaves first if it may.
__global__ void shuffle_xor(int* out, int mask, bool last_leaves) {
  const int t = static_cast<int>(threadIdx.x);
  if (last_leaves && t == 31) return;
  out[t] = __shfl_xor_sync(0xffffffffu, t, mask);
}

// Two blocks that are not ordered write to one place.
__global__ void two_write(int* out) {
  const bool first = blockIdx.x == 2 && blockIdx.y == 1 && blockIdx.z == 1;
  const bool second = blockIdx.x == 1 && blockIdx.y == 0 && blockIdx.z == 2;
  if (threadIdx.x == 5 && (first || second)) out[0] = 1;
}

// Block 1 fetches three tiles and waits for none.
__global__ void fetch_three(const float* in, float* out) {
  SIMT_SHARED(full, simt::mbarrier);
  SIMT_DYN_SHARED(float, tiles);
  if (blockIdx.x != 1) return;
  if (threadIdx.x == 0) {
    full.init(1);
    full.arrive_expect_tx(3 * 64);
    for (int k = 0; k < 3; ++k) simt::bulk_copy(tiles + 16 * k, in + 16 * k, 64, &full);
    out[0] = tiles[0];
  }
  __syncthreads();
  full.wait(0);
}

// Block 0 learns what block 1 did, then reads what the last block wrote, whose coming it sees in a counter: in order
// with that block's write only if the counter is read with acquire.
__global__ void meet_first_and_last(int* data, int* flag, int* counter, int* out, bool acquires) {
  const int last = static_cast<int>(gridDim.x) - 1;
  if (blockIdx.x == 0) {
    while (simt::load_acquire(flag) == 0) continue;
    out[0] = data[0];
    while ((acquires ? simt::load_acquire(counter) : atomicAdd(counter, 0)) < last - 1) continue;
    out[1] = data[1];
  } else if (blockIdx.x == 1) {
    data[0] = 1;
    simt::store_release(flag, 1);
  } else {
    if (static_cast<int>(blockIdx.x) == last) data[1] = 2;
    __threadfence();
    atomicAdd(counter, 1);
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self

#ifndef __CUDACC__

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "simt/emulated/vector_clock.hpp"
#include "simt/emulated_memory.hpp"
#include "simt/emulation.hpp"
#include "tests/simt/device_array.hpp"

#ifdef SIMT_FLAVOUR_ASAN
constexpr bool k_asan = true;
#else
constexpr bool k_asan = false;
#endif
#ifdef SIMT_FLAVOUR_RACE
constexpr bool k_race = true;
#else
constexpr bool k_race = false;
#endif

namespace warpcheck::self {
namespace {

struct verdict {
  std::string kind;  // of the finding that the launch ended with, "" for none
  std::string text;
};

// Launches on a stream of its own if the configuration has none.
template <class... Parameters, class... Arguments>
verdict verdict_of(simt::launch_config config, void (*kernel)(Parameters...), Arguments... arguments) {
  simt::emulation own;
  if (config.stream == nullptr) config.stream = &own;
  std::string text;
  try {
    simt::launch(config, kernel, arguments...);
  } catch (const simt::device_error& e) {
    text = e.what();
    EXPECT_FALSE(config.stream->ok()) << text;
  }
  return {config.stream->ok() ? "" : config.stream->findings.front().kind, text};
}

size_t resident_bytes() {
  size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}

TEST(device_memory, starts_at_every_misalignment) {
  std::vector<void*> live;
  for (size_t misalign = 0; misalign < 256; ++misalign) {
    live.push_back(simt::device_alloc(100 + misalign, misalign, 1));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(live.back()) % 256, misalign);
  }
  for (void* p : live) {
    EXPECT_EQ(simt::device_check(p), INT64_MIN);
    simt::device_free(p);
  }
}

TEST(device_memory, canaries_name_the_first_damaged_byte) {
  auto* p = static_cast<unsigned char*>(simt::device_alloc(1001, 3, 1));
  if (k_asan) {  // there the neighbourhood may not even be read
    simt::device_free(p);
    return;
  }
  for (const int64_t at : {-1, -4096, 1001, 1001 + 4095}) {
    const unsigned char before = p[at];
    p[at] = static_cast<unsigned char>(before ^ 1);
    EXPECT_EQ(simt::device_check(p), at);
    p[at] = before;
    EXPECT_EQ(simt::device_check(p), INT64_MIN);
  }
  simt::device_free(p);
}

TEST(device_memory, rejects_what_it_does_not_know) {
  EXPECT_THROW(simt::device_alloc(16, 256, 4), simt::device_error);
  EXPECT_THROW(simt::device_alloc(16, 0, 0), simt::device_error);
  EXPECT_THROW(simt::device_alloc(simt::k_device_memory_bytes + 1, 0, 1), simt::device_error);
  EXPECT_THROW(simt::device_alloc(simt::k_device_memory_bytes, 0, 1), simt::device_error);
  int host = 0;
  EXPECT_THROW(simt::device_free(&host), simt::device_error);
  EXPECT_THROW(simt::device_check(&host), simt::device_error);
  void* p = simt::device_alloc(16, 0, 4);
  simt::device_free(p);
  EXPECT_THROW(simt::device_free(p), simt::device_error);
  EXPECT_NO_THROW(simt::device_free(nullptr));
}

TEST(device_memory, an_empty_allocation_has_an_address_and_no_bytes) {
  auto* p = static_cast<unsigned char*>(simt::device_alloc(0, 0, 4));
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(simt::device_check(p), INT64_MIN);
  if (k_race) {
    EXPECT_EQ(verdict_of({1, 1}, set, p, 0, 1).kind, "out_of_bounds");
  }
  simt::device_free(p);
}

TEST(device_memory, a_huge_sparse_allocation_costs_what_is_touched) {
  const size_t before = resident_bytes();
  constexpr size_t k_bytes = size_t{12} << 30;
  auto* p = static_cast<unsigned char*>(simt::device_alloc(k_bytes, 2, 2));
  simt::mark_uninitialized(p, k_bytes);
  for (const int64_t at : {int64_t{0}, int64_t{1} << 31, static_cast<int64_t>(k_bytes) - 1})
    EXPECT_EQ(verdict_of({1, 1}, set, p, at, 1).kind, "");
  if (k_race || k_asan) {
    EXPECT_EQ(verdict_of({1, 1}, set, p, k_bytes, 1).kind, "out_of_bounds");
  }
  simt::device_free(p);
  EXPECT_LT(resident_bytes(), before + (size_t{64} << 20));
}

TEST(device_memory, is_reused) {
  if (k_asan) GTEST_SKIP() << "ASan's quarantine of the host's own allocations hides what this counts";
  std::vector<size_t> sizes = {16, 4000, 70000, 3 << 20};
  size_t settled = 0;
  for (int round = 0; round < 20000; ++round) {
    void* p = simt::device_alloc(sizes[static_cast<size_t>(round) % 4] + static_cast<size_t>(round % 7), 0, 4);
    void* q = simt::device_alloc(sizes[static_cast<size_t>(round / 4) % 4], 4, 4);
    simt::device_free(p);
    simt::device_free(q);
    if (round == 2000) settled = resident_bytes();
  }
  EXPECT_LT(resident_bytes(), settled + (size_t{2} << 20));
}

TEST(device_memory, out_of_bounds_writes_are_found) {
  auto* p = static_cast<unsigned char*>(simt::device_alloc(1000, 0, 1));
  for (const int64_t at : {-1, 1000, 1007}) {
    const auto [found, text] = verdict_of({1, 1}, set, p, at, 1);
    if (k_race || k_asan) {
      EXPECT_EQ(found, "out_of_bounds");
      EXPECT_NE(text.find("host.cu:"), std::string::npos) << text;
    } else {
      EXPECT_EQ(found, "");
      EXPECT_EQ(simt::device_check(p), at);
      simt::device_free(p);
      p = static_cast<unsigned char*>(simt::device_alloc(1000, 0, 1));
    }
  }
  simt::device_free(p);
}

TEST(shared_memory, starts_with_the_streams_pattern) {
  device_array<unsigned> out(4);
  simt::emulation stream;
  stream.shared_pattern = 0x12345678;
  try {
    simt::launch({1, 4, 0, &stream}, shared_pattern, out.data());
  } catch (const simt::device_error&) {
    ASSERT_EQ(stream.findings.front().kind, "uninitialized");
  }
  EXPECT_EQ(stream.ok(), !k_race);
  EXPECT_EQ(out[3], 0x12345678u);
}

TEST(shared_memory, ends_before_its_first_array) {
  device_array<int> out(8);
  EXPECT_EQ(verdict_of({1, 8}, shared_at, out.data(), 7).kind, k_race ? "race" : "");
  if (!k_race && !k_asan) return;
  const auto [found, text] = verdict_of({1, 8}, shared_at, out.data(), -1);
  EXPECT_EQ(found, "out_of_bounds");
  EXPECT_NE(text.find("host.cu:"), std::string::npos) << text;
}

// More threads at a time than one piece of address space has stacks for.
TEST(stack, of_thousands_of_threads_lie_apart_from_all_else) {
  device_array<int> changed(1);
  simt::launch_config config{12, 256, 72 * 256 * sizeof(int)};
  config.cooperative = true;
  EXPECT_EQ(verdict_of(config, keep_own, changed.data(), 72).kind, "");
  EXPECT_EQ(changed[0], 0);
}

TEST(local_memory, bounds_are_checked_by_asan) {
  device_array<int> out(32);
  EXPECT_EQ(verdict_of({1, 32}, local_array, out.data(), 7).kind, "");
  if (!k_asan) return;
  const auto [found, text] = verdict_of({1, 32}, local_array, out.data(), 9);
  EXPECT_EQ(found, "out_of_bounds");
  EXPECT_NE(text.find("stack-buffer-overflow"), std::string::npos) << text;
}

TEST(stack, is_deep_enough_and_its_end_is_noticed) {
  device_array<int> out(2);
  EXPECT_EQ(verdict_of({1, 2}, deep, out.data(), 60).kind, "");  // 60 frames of half a KiB
  EXPECT_EQ(out[1], 61);
  if (k_asan) return;  // its frames and stacks have other sizes
  const auto [found, text] = verdict_of({1, 2}, deep, out.data(), 232);
  EXPECT_EQ(found, "out_of_bounds");
  EXPECT_NE(text.find("overflowed its stack"), std::string::npos) << text;
}

TEST(shuffles, name_the_lane_that_gives_nothing) {
  device_array<int> out(32);
  EXPECT_EQ(verdict_of({1, 32}, shuffle_xor, out.data(), 1, false).kind, "");
  EXPECT_EQ(out[6], 7);
  const verdict beyond = verdict_of({1, 32}, shuffle_xor, out.data(), -1, false);
  EXPECT_EQ(beyond.kind, "divergence");
  EXPECT_NE(beyond.text.find("shuffles from lane -1, which the mask does not name"), std::string::npos) << beyond.text;
  const verdict gone = verdict_of({1, 32}, shuffle_xor, out.data(), 31, true);
  EXPECT_EQ(gone.kind, "divergence");
  EXPECT_NE(gone.text.find("31"), std::string::npos) << gone.text;
}

struct shape {
  dim3 grid, block;
  const char* named;  // the limit, "" where the launch is fine
};

class limits : public testing::TestWithParam<shape> {};

TEST_P(limits, are_enforced_exactly) {
  const shape& s = GetParam();
  device_array<int> counter(1);
  const auto [found, text] = verdict_of({s.grid, s.block}, count, counter.data());
  if (*s.named == '\0') {
    EXPECT_EQ(found, "") << text;
    EXPECT_EQ(static_cast<unsigned>(counter[0]), s.grid.x * s.grid.y * s.grid.z * s.block.x * s.block.y * s.block.z);
  } else {
    EXPECT_EQ(found, "launch_limit");
    EXPECT_NE(text.find(s.named), std::string::npos) << text;
    EXPECT_EQ(counter[0], 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    shapes, limits,
    testing::Values(shape{{1, 1, 1}, {1024, 1, 1}, ""}, shape{{1, 1, 1}, {1025, 1, 1}, "block.x is 1025"},
                    shape{{1, 1, 1}, {32, 32, 1}, ""}, shape{{1, 1, 1}, {33, 32, 1}, "threads per block is 1056"},
                    shape{{1, 1, 1}, {1, 1, 64}, ""}, shape{{1, 1, 1}, {1, 1, 65}, "block.z is 65"},
                    shape{{1, 1, 1}, {1, 1025, 1}, "block.y is 1025"}, shape{{0, 1, 1}, {32, 1, 1}, "grid.x is 0"},
                    shape{{1, 1, 1}, {0, 1, 1}, "block.x is 0"}, shape{{2, 65535, 1}, {1, 1, 1}, ""},
                    shape{{1, 65536, 1}, {1, 1, 1}, "grid.y is 65536"},
                    shape{{1, 1, 65536}, {1, 1, 1}, "grid.z is 65536"},
                    shape{{2147483648u, 1, 1}, {1, 1, 1}, "grid.x is 2147483648"}));

TEST(limits, shared_memory_is_exact) {
  device_array<int> out(32);
  constexpr size_t k_most = 227 * 1024;
  EXPECT_EQ(verdict_of({1, 1, k_most}, touch_dynamic, out.data(), k_most - 1).kind, "");
  EXPECT_EQ(out[0], 3);
  const auto [found, text] = verdict_of({1, 1, k_most + 1}, touch_dynamic, out.data(), k_most);
  EXPECT_EQ(found, "launch_limit");
  EXPECT_NE(text.find("dynamic shared memory is 232449"), std::string::npos) << text;
  EXPECT_EQ(verdict_of({1, 32, k_most - 4096}, static_and_dynamic, out.data()).kind, "");
  EXPECT_EQ(out[31], 2);
  EXPECT_EQ(verdict_of({1, 32, k_most - 4095}, static_and_dynamic, out.data()).kind, "launch_limit");
}

TEST(stream, a_null_stream_and_buffers_work) {
  device_array<int> counter(1);
  simt::launch({3, 40}, count, counter.data());
  EXPECT_EQ(counter[0], 120);
  const simt::buffer<double> workspace(17, nullptr);
  EXPECT_NE(workspace.data(), nullptr);
  EXPECT_EQ(workspace.size(), 17u);
}

#ifdef SIMT_FLAVOUR_RACE
TEST(findings, name_blocks_by_their_three_indices) {
  device_array<int> out(1);
  const auto [found, text] = verdict_of({{3, 2, 3}, 32}, two_write, out.data());
  EXPECT_EQ(found, "race");
  for (const char* name : {"block (2,1,1) thread 5", "block (1,0,2) thread 5"})
    EXPECT_NE(text.find(name), std::string::npos) << text;
}

TEST(findings, name_the_block_of_an_asynchronous_copy) {
  device_array<float> in(48), out(1);
  for (size_t i = 0; i < in.size(); ++i) in[i] = 1;
  const auto [found, text] = verdict_of({2, 32, 192}, fetch_three, in.data(), out.data());
  EXPECT_EQ(found, "race");
  EXPECT_NE(text.find("an asynchronous copy of block (1,0,0) thread 0"), std::string::npos) << text;
}

// The program's own path may be relative to a folder that it has left.
TEST(findings, name_their_lines_from_any_folder) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const size_t name = program.rfind('/');
  const std::string command = "cd '" + program.substr(0, name) + "' && '." + program.substr(name) +
                              "' --gtest_also_run_disabled_tests --gtest_filter=findings.DISABLED_from_the_root 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string output;
  char buffer[256];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) output += buffer;
  EXPECT_EQ(pclose(pipe), 0) << output;
  EXPECT_NE(output.find("[  PASSED  ] 1 test."), std::string::npos) << output;
}
TEST(findings, DISABLED_from_the_root) {
  ASSERT_EQ(chdir("/"), 0);
  device_array<int> out(1);
  const auto [found, text] = verdict_of({{3, 2, 3}, 32}, two_write, out.data());
  EXPECT_EQ(found, "race");
  EXPECT_NE(text.find("host.cu:"), std::string::npos) << text;
}

// A launch of more blocks than the detector has names deals them out again. In some of these the last block bears the
// name that block 1 had, of which block 0 still knows something.
TEST(names_of_blocks, mean_their_present_bearer) {
  for (const uint32_t spare : {1u, 2u, 3u, 1000u}) {
    for (const unsigned blocks : {4u, 5u, 6u, 40u}) {
      for (const bool acquires : {false, true}) {
        simt::limit_names(spare);
        device_array<int> data(2), flag(1), counter(1), out(2);
        simt::emulation stream;
        stream.resident_blocks = 2;
        const verdict found = verdict_of({blocks, 1, 0, &stream}, meet_first_and_last, data.data(), flag.data(),
                                         counter.data(), out.data(), acquires);
        EXPECT_EQ(found.kind, acquires ? "" : "race") << spare << " spare names, " << blocks << " blocks";
      }
    }
  }
  simt::limit_names(simt::k_max_instance / 2);
}
#endif

}  // namespace
}  // namespace warpcheck::self

#endif
