// The vocabulary of simt.hpp computes what CUDA documents, under every strategy.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "simt/emulated_memory.hpp"
#include "simt/emulation.hpp"
#include "tests/simt/basic_kernels.hpp"

namespace warpcheck::self {
namespace {

const char* const k_schedules[] = {"fair",     "greedy",    "reverse", "random:1",
                                   "random:2", "preempt:3", "pct:4",   "pct_warp:5"};

// Device memory with a host's view.
template <class T>
class device_array {
 public:
  explicit device_array(std::vector<T> values)
      : size_(values.size()), data_(static_cast<T*>(simt::device_alloc(size_ * sizeof(T), 0, sizeof(T)))) {
    for (size_t i = 0; i < size_; ++i) data_[i] = values[i];
  }
  ~device_array() {
    EXPECT_EQ(simt::device_check(data_), INT64_MIN);
    simt::device_free(data_);
  }
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;
  T* data() { return data_; }
  T& operator[](size_t i) { return data_[i]; }

 private:
  size_t size_;
  T* data_;
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
  device_array<float> in(values), out(std::vector<float>(4));
  run_block_sums(in.data(), out.data(), 1000, 4, &stream);
  for (size_t b = 0; b < 4; ++b) EXPECT_EQ(out[b], expected[b]);
}

TEST_P(basic, dynamic_shared_memory_reverses_blocks) {
  std::vector<float> values(250);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  device_array<float> in(values), out(std::vector<float>(250));
  run_reverse(in.data(), out.data(), 250, &stream);
  for (int i = 0; i < 250; ++i)
    EXPECT_EQ(out[static_cast<size_t>(i)], static_cast<float>(i < 200 ? i / 100 * 100 + 99 - i % 100 : 449 - i));
}

TEST_P(basic, shared_and_global_atomics_count_every_element) {
  std::vector<unsigned char> values(4096);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<unsigned char>(i * 7);
  device_array<unsigned char> in(values);
  device_array<unsigned> bins(std::vector<unsigned>(16));
  run_histogram(in.data(), bins.data(), 4096, &stream);
  for (size_t b = 0; b < 16; ++b) EXPECT_EQ(bins[b], 256u);
}

TEST_P(basic, votes_matches_reductions_and_shuffles) {
  device_array<unsigned> out(std::vector<unsigned>(256));
  run_vote(out.data(), &stream);
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
  device_array<float> in(values), out(std::vector<float>(400));
  run_copy_vectors(in.data(), out.data(), 100, &stream);
  for (size_t i = 0; i < 400; ++i) EXPECT_EQ(out[i], values[i]);
}

// PTX ISA: the most significant bit of a selector's nibble repeats the sign of its byte; float to integer saturates,
// and NaN gives 0.
TEST_P(basic, bytes_are_permuted_and_floats_converted) {
  device_array<unsigned> selectors({0x3210, 0x7654, 0x5140, 0x7351, 0xf210, 0x8421});
  device_array<float> values({2.75f, -2.75f, 0x1p31f, -0x1p31f, 3e38f, std::numeric_limits<float>::quiet_NaN()});
  const unsigned bytes[] = {0x33221100, 0xf7665544, 0x55114400, 0xf7335511, 0xff221100, 0x00442211};
  const int integers[] = {2, -2, INT32_MAX, INT32_MIN, INT32_MAX, 0};
  device_array<unsigned> permuted(std::vector<unsigned>(6));
  device_array<int> converted(std::vector<int>(6));
  run_permute_and_convert(selectors.data(), values.data(), permuted.data(), converted.data(), 6, &stream);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(permuted[i], bytes[i]) << std::hex << permuted[i];
    EXPECT_EQ(converted[i], integers[i]);
  }
}

template <class T>
void expect_min_and_max(simt::emulation& stream) {
  const std::vector<int> a = {1, 2, 3, -7, 0, 5, INT32_MIN}, b = {2, 1, 3, 7, -1, 5, INT32_MAX};
  device_array<int> first(a), second(b);
  device_array<double> least(std::vector<double>(a.size())), most(std::vector<double>(a.size()));
  run_min_and_max<T>(first.data(), second.data(), least.data(), most.data(), static_cast<unsigned>(a.size()), &stream);
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
  EXPECT_THROW(run_wait_in_vain(&stream), simt::device_error);
  ASSERT_FALSE(stream.findings.empty());
  EXPECT_EQ(stream.findings.front().kind, "deadlock");
  EXPECT_NE(stream.findings.front().text.find(": 48 threads in "), std::string::npos) << stream.findings.front().text;
}

TEST_P(basic, a_deadlock_leaves_nobody_at_the_barrier_of_the_next_launch) {
  EXPECT_THROW(run_meet(64, false, &stream), simt::device_error);
  stream.clear();
  run_meet(40, true, &stream);
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
  device_array<float> in(values), f16(std::vector<float>(values.size())), bf16(std::vector<float>(values.size()));
  simt::emulation stream;
  run_round_trip_f16(in.data(), f16.data(), n, &stream);
  run_round_trip_bf16(in.data(), bf16.data(), n, &stream);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(static_cast<double>(f16[i]), nearest(values[i], 11, -14, 65504.0)) << values[i];
    EXPECT_EQ(static_cast<double>(bf16[i]), nearest(values[i], 8, -126, 0x1.fep127)) << values[i];
    EXPECT_EQ(std::signbit(f16[i]), std::signbit(values[i]));
    EXPECT_EQ(std::signbit(bf16[i]), std::signbit(values[i]));
  }
  device_array<float> nan({std::numeric_limits<float>::quiet_NaN()}), out({0});
  run_round_trip_f16(nan.data(), out.data(), 1, &stream);
  EXPECT_TRUE(std::isnan(out[0]));
  run_round_trip_bf16(nan.data(), out.data(), 1, &stream);
  EXPECT_TRUE(std::isnan(out[0]));
}

}  // namespace
}  // namespace warpcheck::self
