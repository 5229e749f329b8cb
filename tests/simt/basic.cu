// The vocabulary of simt.hpp computes what CUDA documents, under every strategy; nvcc compiles the kernels, too.
#include "simt/simt.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {

template <class T>
__device__ __forceinline__ T warp_sum(T value) {
#pragma unroll
  for (int delta = 16; delta > 0; delta >>= 1) value += __shfl_xor_sync(0xffffffffu, value, delta);
  return value;
}

template <class T>
__global__ void __launch_bounds__(256) block_sums(const T* __restrict__ in, T* __restrict__ out, int n) {
  SIMT_SHARED(partial, T[32]);
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), lane = threadIdx.x & 31,
            warp = threadIdx.x >> 5;
  const T sum = warp_sum(i < n ? in[i] : T(0));
  if (lane == 0) partial[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    const int warps = static_cast<int>(blockDim.x + 31) / 32;
    const T total = warp_sum(lane < warps ? partial[lane] : T(0));
    if (lane == 0) out[blockIdx.x] = total;
  }
}

// Reverses each block's elements through dynamic shared memory.
__global__ void reverse(const float* in, float* out, int n) {
  SIMT_DYN_SHARED(float, tile);
  const int first = static_cast<int>(blockIdx.x * blockDim.x), t = static_cast<int>(threadIdx.x);
  const int count = min(n - first, static_cast<int>(blockDim.x));
  if (t < count) tile[t] = in[first + t];
  __syncthreads();
  if (t < count) out[first + t] = tile[count - 1 - t];
}

__global__ void histogram(const unsigned char* in, unsigned* bins, int n) {
  SIMT_SHARED(local, unsigned[16]);
  if (threadIdx.x < 16) local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n;
       i += static_cast<int>(gridDim.x * blockDim.x))
    atomicAdd(&local[in[i] & 15], 1u);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

// out[8 * t ...]: what each lane sees of votes, matches and reductions.
__global__ void vote(unsigned* out) {
  const int t = static_cast<int>(threadIdx.x);
  unsigned* mine = out + 8 * t;
  mine[0] = __ballot_sync(0xffffffffu, t % 3 == 0);
  mine[1] = static_cast<unsigned>(__any_sync(0xffffffffu, t == 31)) +
            2 * static_cast<unsigned>(__all_sync(0xffffffffu, t < 31));
  mine[2] = __match_any_sync(0xffffffffu, t % 4);
  int same = 0;
  mine[3] = __match_all_sync(0xffffffffu, 7, &same) + static_cast<unsigned>(same);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  mine[4] = static_cast<unsigned>(__reduce_add_sync(0xffffffffu, t));
  mine[5] = static_cast<unsigned>(__reduce_min_sync(0xffffffffu, -t));
#endif
  mine[6] = static_cast<unsigned>(__shfl_up_sync(0xffffffffu, t, 1)) +
            100 * static_cast<unsigned>(__shfl_down_sync(0xffffffffu, t, 2, 8));
  mine[7] = static_cast<unsigned>(__syncthreads_count(t < 5)) + 100 * static_cast<unsigned>(__syncthreads_or(t == 3)) +
            1000 * static_cast<unsigned>(__syncthreads_and(t < 32));
}

__global__ void permute_and_convert(const unsigned* selectors, const float* values, unsigned* bytes, int* integers) {
  const unsigned t = threadIdx.x;
  bytes[t] = __byte_perm(0x33221100u, 0xf7665544u, selectors[t]);
  integers[t] = __float2int_rz(values[t]);
}

// least[t] and most[t]: of the pair as T, as a double.
template <class T>
__global__ void min_and_max(const int* a, const int* b, double* least, double* most) {
  const unsigned t = threadIdx.x;
  least[t] = static_cast<double>(min(static_cast<T>(a[t]), static_cast<T>(b[t])));
  most[t] = static_cast<double>(max(static_cast<T>(a[t]), static_cast<T>(b[t])));
}

// The phase wants one arrival more than there are threads.
__global__ void wait_in_vain() {
  SIMT_SHARED(gate, simt::mbarrier);
  if (threadIdx.x == 0) gate.init(49);
  __syncthreads();
  gate.arrive();
  gate.wait(0);
}

// Unless all meet, the first thread waits for a phase that nobody completes, and the others for it.
__global__ void meet(bool all) {
  SIMT_SHARED(gate, simt::mbarrier);
  if (threadIdx.x == 0) gate.init(1);
  if (threadIdx.x == 0 && !all) gate.wait(0);
  __syncthreads();
}

template <class T>
__global__ void round_trip(const float* in, float* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = simt::to_float(simt::from_float<T>(in[i]));
}

// Vector loads and stores, then an asynchronous tail of scalars.
__global__ void copy_vectors(const float4* in, float4* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) __stcs(out + i, __ldcs(in + i));
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self

#ifndef __CUDACC__

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "simt/emulation.hpp"
#include "tests/simt/device_array.hpp"

namespace warpcheck::self {
namespace {

const char* const k_schedules[] = {"fair",     "greedy",    "reverse", "random:1",
                                   "random:2", "preempt:3", "pct:4",   "pct_warp:5"};

// Nothing has written beside it.
template <class T>
class checked_array : public device_array<T> {
 public:
  using device_array<T>::device_array;
  ~checked_array() { EXPECT_EQ(simt::device_check(this->data()), INT64_MIN); }
};

class basic : public testing::TestWithParam<const char*> {
 protected:
  basic() { stream.schedule = simt::schedule::parse(GetParam()); }
  simt::emulation stream;
};

TEST_P(basic, block_sums_of_small_integers_are_exact) {
  std::vector<float> values(1000);
  std::vector<float> expected(4);
  for (size_t i = 0; i < values.size(); ++i) expected[i / 256] += values[i] = static_cast<float>(i % 13);
  checked_array<float> in(values), out(4);
  simt::launch({4, 256, 0, &stream}, block_sums<float>, in.data(), out.data(), 1000);
  for (size_t b = 0; b < 4; ++b) EXPECT_EQ(out[b], expected[b]);
}

TEST_P(basic, dynamic_shared_memory_reverses_blocks) {
  std::vector<float> values(250);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  checked_array<float> in(values), out(250);
  simt::launch({3, 100, 400, &stream}, reverse, in.data(), out.data(), 250);
  for (int i = 0; i < 250; ++i)
    EXPECT_EQ(out[static_cast<size_t>(i)], static_cast<float>(i < 200 ? i / 100 * 100 + 99 - i % 100 : 449 - i));
}

TEST_P(basic, shared_and_global_atomics_count_every_element) {
  std::vector<unsigned char> values(4096);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<unsigned char>(i * 7);
  checked_array<unsigned char> in(values);
  checked_array<unsigned> bins(16);
  simt::launch({4, 128, 0, &stream}, histogram, in.data(), bins.data(), 4096);
  for (size_t b = 0; b < 16; ++b) EXPECT_EQ(bins[b], 256u);
}

TEST_P(basic, votes_matches_reductions_and_shuffles) {
  checked_array<unsigned> out(256);
  simt::launch({1, 32, 0, &stream}, vote, out.data());
  for (unsigned t = 0; t < 32; ++t) {
    EXPECT_EQ(out[8 * t + 0], 0x49249249u);
    EXPECT_EQ(out[8 * t + 1], 1u);
    EXPECT_EQ(out[8 * t + 2], 0x11111111u << (t % 4));
    EXPECT_EQ(out[8 * t + 3], 0u);  // all lanes (0xffffffff) plus 1
    EXPECT_EQ(out[8 * t + 4], 496u);
    EXPECT_EQ(out[8 * t + 5], static_cast<unsigned>(-31));
    EXPECT_EQ(out[8 * t + 6], (t == 0 ? 0 : t - 1) + 100 * (t % 8 < 6 ? t + 2 : t));
    EXPECT_EQ(out[8 * t + 7], 1105u);
  }
}

TEST_P(basic, vectors_are_copied_whole) {
  std::vector<float> values(400);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  checked_array<float> in(values), out(400);
  simt::launch({2, 64, 0, &stream}, copy_vectors, reinterpret_cast<float4*>(in.data()),
               reinterpret_cast<float4*>(out.data()), 100);
  for (size_t i = 0; i < 400; ++i) EXPECT_EQ(out[i], values[i]);
}

// PTX ISA: the most significant bit of a selector's nibble repeats the sign of its byte; float to integer saturates,
// and NaN gives 0.
TEST_P(basic, bytes_are_permuted_and_floats_converted) {
  checked_array<unsigned> selectors({0x3210, 0x7654, 0x5140, 0x7351, 0xf210, 0x8421});
  checked_array<float> values({2.75f, -2.75f, 0x1p31f, -0x1p31f, 3e38f, std::numeric_limits<float>::quiet_NaN()});
  const unsigned bytes[] = {0x33221100, 0xf7665544, 0x55114400, 0xf7335511, 0xff221100, 0x00442211};
  const int integers[] = {2, -2, INT32_MAX, INT32_MIN, INT32_MAX, 0};
  checked_array<unsigned> permuted(6);
  checked_array<int> converted(6);
  simt::launch({1, 6, 0, &stream}, permute_and_convert, selectors.data(), values.data(), permuted.data(),
               converted.data());
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(permuted[i], bytes[i]) << std::hex << permuted[i];
    EXPECT_EQ(converted[i], integers[i]);
  }
}

template <class T>
void expect_min_and_max(simt::emulation& stream) {
  const std::vector<int> a = {1, 2, 3, -7, 0, 5, INT32_MIN}, b = {2, 1, 3, 7, -1, 5, INT32_MAX};
  checked_array<int> first(a), second(b);
  checked_array<double> least(a.size()), most(a.size());
  simt::launch({1, static_cast<unsigned>(a.size()), 0, &stream}, min_and_max<T>, first.data(), second.data(),
               least.data(), most.data());
  for (size_t i = 0; i < a.size(); ++i) {
    const T x = static_cast<T>(a[i]), y = static_cast<T>(b[i]);
    EXPECT_EQ(least[i], static_cast<double>(x < y ? x : y)) << a[i] << ' ' << b[i];
    EXPECT_EQ(most[i], static_cast<double>(x < y ? y : x)) << a[i] << ' ' << b[i];
  }
}

TEST_P(basic, min_and_max_of_all_types) {
  expect_min_and_max<int>(stream);
  expect_min_and_max<unsigned>(stream);
  expect_min_and_max<long>(stream);
  expect_min_and_max<unsigned long>(stream);
  expect_min_and_max<long long>(stream);
  expect_min_and_max<unsigned long long>(stream);
  expect_min_and_max<float>(stream);
  expect_min_and_max<double>(stream);
}

TEST_P(basic, a_deadlock_counts_its_threads) {
  EXPECT_THROW(simt::launch({1, 48, 0, &stream}, wait_in_vain), simt::device_error);
  ASSERT_FALSE(stream.findings.empty());
  EXPECT_EQ(stream.findings.front().kind, "deadlock");
  EXPECT_NE(stream.findings.front().text.find(": 48 threads in "), std::string::npos) << stream.findings.front().text;
}

TEST_P(basic, a_deadlock_leaves_nobody_at_the_barrier_of_the_next_launch) {
  EXPECT_THROW(simt::launch({1, 64, 0, &stream}, meet, false), simt::device_error);
  stream.clear();
  simt::launch({1, 40, 0, &stream}, meet, true);
  EXPECT_TRUE(stream.ok());
}

INSTANTIATE_TEST_SUITE_P(every_schedule, basic, testing::ValuesIn(k_schedules),
                         [](const auto& info) { return "schedule_" + std::to_string(info.index); });

// Nearest value of a format with `precision` significant bits and least exponent `least`, ties to even, by arithmetic
// in double (exact here).
double nearest(float x, int precision, int least, double greatest) {
  if (x == 0 || !std::isfinite(x)) return static_cast<double>(x);
  const int exponent = std::max(std::ilogb(x), least);
  const double quantum = std::ldexp(1.0, exponent - precision + 1);
  const double rounded = std::nearbyint(static_cast<double>(x) / quantum) * quantum;
  return std::fabs(rounded) > greatest ? std::copysign(INFINITY, static_cast<double>(x)) : rounded;
}

TEST(half_types, conversions_round_to_nearest_even) {
  std::vector<float> values = {0.0f,         -0.0f,    1.0f,      65504.0f,     65519.996f,  65520.0f,
                               -65536.0f,    0x1p-24f, 0x1p-25f,  0x1.8p-25f,   0x1.002p0f,  0x1.006p0f,
                               0x1.ffep-15f, 3.4e38f,  0x1.01p0f, 0x1.03p0f,    0x1p-133f,   0x1p-134f,
                               0x1.8p-134f,  INFINITY, -INFINITY, 0x1.ffcp-15f, 0x1.fffp-15f};
  uint32_t state = 1;
  for (int i = 0; i < 20000; ++i) {  // bit patterns of every exponent
    state = state * 1664525u + 1013904223u;
    float x;
    __builtin_memcpy(&x, &state, sizeof x);
    if (x == x) values.push_back(x);
  }
  const auto n = static_cast<int>(values.size());
  checked_array<float> in(values), f16(values.size()), bf16(values.size());
  simt::emulation stream;
  const dim3 blocks(static_cast<unsigned>(n + 255) / 256);
  simt::launch({blocks, 256, 0, &stream}, round_trip<simt::f16>, in.data(), f16.data(), n);
  simt::launch({blocks, 256, 0, &stream}, round_trip<simt::bf16>, in.data(), bf16.data(), n);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(static_cast<double>(f16[i]), nearest(values[i], 11, -14, 65504.0)) << values[i];
    EXPECT_EQ(static_cast<double>(bf16[i]), nearest(values[i], 8, -126, 0x1.fep127)) << values[i];
    EXPECT_EQ(std::signbit(f16[i]), std::signbit(values[i]));
    EXPECT_EQ(std::signbit(bf16[i]), std::signbit(values[i]));
  }
  checked_array<float> nan(std::vector{std::numeric_limits<float>::quiet_NaN()}), out(1);
  simt::launch({1, 256, 0, &stream}, round_trip<simt::f16>, nan.data(), out.data(), 1);
  EXPECT_TRUE(std::isnan(out[0]));
  simt::launch({1, 256, 0, &stream}, round_trip<simt::bf16>, nan.data(), out.data(), 1);
  EXPECT_TRUE(std::isnan(out[0]));
}

}  // namespace
}  // namespace warpcheck::self

#endif
