// Tensor cores of the emulated device: their arithmetic against a model that takes the definition word by word, and the
// places of elements against the PTX ISA's. (self.cuda.tensor_core asks a GPU the same.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "simt/emulation.hpp"
#include "tests/simt/async_world.hpp"
#include "tests/simt/tensor_cases.hpp"
#include "tests/simt/tensor_kernels.hpp"
#include "tests/simt/trial.hpp"

namespace warpcheck::self {
namespace {

using simt::tensor_rules;
using simt::tensor_sum;
using simt::tensor_type;
using simt::tensor_types;

uint32_t bits_of(float x) {
  uint32_t b;
  std::memcpy(&b, &x, sizeof b);
  return b;
}
float from_bits(uint32_t b) {
  float x;
  std::memcpy(&x, &b, sizeof x);
  return x;
}

double value_of(tensor_type type, uint32_t bits) {
  if (type == tensor_type::tf32) return static_cast<double>(from_bits(bits & ~0x1fffu));
  if (type == tensor_type::bf16) return static_cast<double>(from_bits(bits << 16));
  if (type == tensor_type::e4m3) {
    const int field = bits >> 3 & 15, fraction = bits & 7;
    const double magnitude = (bits & 127) == 127 ? std::nan("")
                             : field == 0        ? std::ldexp(fraction, -9)
                                                 : std::ldexp(8 + fraction, field - 10);
    return bits >> 7 & 1 ? -magnitude : magnitude;
  }
  if (type == tensor_type::e5m2) return value_of(tensor_type::f16, bits << 8);
  const int field = bits >> 10 & 31, fraction = bits & 1023;
  const double magnitude = field == 31  ? (fraction != 0 ? std::nan("") : HUGE_VAL)
                           : field == 0 ? std::ldexp(fraction, -24)
                                        : std::ldexp(1024 + fraction, field - 25);
  return bits >> 15 & 1 ? -magnitude : magnitude;
}

constexpr int k_none = -100000;
int exponent_of(double x, int least) { return x == 0 ? k_none : std::max(std::ilogb(x), least); }

// tensor_step.hpp's definition for `depth` products. An x87 number holds each aligned addend and their sum exactly.
float model(tensor_types types, const uint32_t* a, const uint32_t* b, int depth, float c, tensor_rules rules,
            tensor_sum sum_type = tensor_sum::f32) {
  const auto least = [](tensor_type type) {
    return type == tensor_type::f16 || type == tensor_type::e5m2 ? -14 : type == tensor_type::e4m3 ? -6 : -126;
  };
  const bool is_f16 = sum_type == tensor_sum::f16;
  long double ieee = c;
  int top = std::max(-133, exponent_of(static_cast<double>(c), is_f16 ? -14 : -126));
  for (int k = 0; k < depth; ++k) {
    const double x = value_of(types.a, a[k]), y = value_of(types.b, b[k]);
    if (!std::isfinite(x) || !std::isfinite(y)) ieee += x * y;  // a finite product decides nothing beside it
    if (x != 0 && y != 0) top = std::max(top, exponent_of(x, least(types.a)) + exponent_of(y, least(types.b)));
  }
  if (std::isnan(ieee)) return from_bits(0x7fffffff);
  if (std::isinf(ieee)) return static_cast<float>(ieee);
  const auto cut = [](long double x, int quantum) { return std::ldexp(std::trunc(std::ldexp(x, -quantum)), quantum); };
  long double sum = cut(c, top - rules.fraction_bits);
  for (int k = 0; k < depth; ++k)
    sum += cut(static_cast<long double>(value_of(types.a, a[k])) * static_cast<long double>(value_of(types.b, b[k])),
               top - rules.fraction_bits);
  if (sum == 0) return 0.0f;
  if (is_f16) {
    const int quantum = std::max(std::ilogb(sum), -14) - 10;
    const auto nearest = static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(sum, -quantum)), quantum));
    return nearest == 0 ? 0.0f : std::fabs(nearest) >= 65536 ? std::copysign(HUGE_VALF, nearest) : nearest;
  }
  const auto kept = static_cast<float>(cut(sum, std::max(std::ilogb(sum), -126) - rules.result_bits));
  return kept == 0 ? 0.0f : kept;
}

std::vector<float> model(tensor_type type, simt::tensor_rules rules, const step_operands& o, int rows, int cols) {
  std::vector<float> d = o.c;
  const int depth = simt::tensor_depth(type), share = depth / rules.parts;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j)
      for (int part = 0; part < rules.parts; ++part) {
        float& sum = d[static_cast<size_t>(i * cols + j)];
        sum = model(type, &o.a[static_cast<size_t>(i * depth + part * share)],
                    &o.b[static_cast<size_t>(j * depth + part * share)], share, sum, rules);
      }
  return d;
}

TEST(TensorStep, IsWhatItsDefinitionSays) {
  for (const tensor_type type : k_tensor_types)
    for (const unsigned arch : {80u, 86u, 89u, 90u, 100u})
      for (int kind = 0; kind < static_cast<int>(operand_kind::count); ++kind) {
        const step_operands o = make_operands(type, static_cast<operand_kind>(kind), 40, 72, arch);
        const std::vector<float> expected = model(type, simt::tensor_rules_of(arch), o, 40, 72);
        std::vector<float> actual(o.c.size());
        simt::tensor_step(type, simt::tensor_rules_of(arch), 40, 72, o.a.data(), o.b.data(), o.c.data(), actual.data());
        int wrong = 0;
        for (size_t i = 0; i < actual.size() && wrong < 3; ++i)
          if (bits_of(actual[i]) != bits_of(expected[i])) {
            ++wrong;
            ADD_FAILURE() << name_of(type) << ", " << name_of(static_cast<operand_kind>(kind)) << ", sm_arch " << arch
                          << ": " << std::hex << bits_of(actual[i]) << " for " << bits_of(expected[i]);
          }
      }
}

// Steps of 32 products of 8 bits: any bits, and operands of similar size, whose sums are cut.
TEST(TensorStep, OfEightBitsIsWhatItsDefinitionSays) {
  constexpr int k_rows = 40, k_cols = 72, k_depth = 32;
  bit_stream bits(3);
  for (const tensor_types types :
       {tensor_types(tensor_type::e4m3), tensor_types(tensor_type::e5m2),
        tensor_types(tensor_type::e4m3, tensor_type::e5m2), tensor_types(tensor_type::e5m2, tensor_type::e4m3)})
    for (const tensor_sum sum : {tensor_sum::f32, tensor_sum::f16})
      for (const bool any : {false, true}) {
        const auto element = [&](tensor_type type) {
          const uint32_t x = bits.next() & 0xff;
          if (any && x % 8 != 0) return x & 0xbf;  // few NaN, so that most sums are finite
          return any ? x : type == tensor_type::e4m3 ? (x & 0x87) | (x % 5 + 5) << 3 : (x & 0x83) | (x % 5 + 13) << 2;
        };
        std::vector<uint32_t> a(k_rows * k_depth), b(k_cols * k_depth);
        for (uint32_t& x : a) x = element(types.a);
        for (uint32_t& x : b) x = element(types.b);
        std::vector<float> c(k_rows * k_cols), actual(c.size());
        for (float& x : c) x = static_cast<float>(bits.between(-1000, 1000)) / (any ? 65536.0f : 8.0f);
        simt::tensor_step(types, simt::k_rules_of_8_bits, k_rows, k_cols, a.data(), b.data(), c.data(), actual.data(),
                          sum);
        size_t wrong = 0, finite = 0;
        for (size_t i = 0; i < actual.size(); ++i) {
          const float expected = model(types, &a[i / k_cols * k_depth], &b[i % k_cols * k_depth], k_depth, c[i],
                                       simt::k_rules_of_8_bits, sum);
          wrong += bits_of(actual[i]) != bits_of(expected);
          finite += std::isfinite(expected);
        }
        EXPECT_EQ(wrong, 0u) << static_cast<int>(types.a) << " " << static_cast<int>(types.b) << " any " << any;
        EXPECT_GT(finite, actual.size() / 4);
      }
}

TEST(TensorStep, OfIntegersWrapsOrSaturates) {
  const std::vector<uint32_t> least(32, 0x80), most(8 * 32, 0x7f);
  const auto step = [&](tensor_types types, int32_t c, bool saturates) {
    std::vector<int32_t> sum(8, c);
    simt::tensor_step(types, 1, 8, least.data(), most.data(), sum.data(), sum.data(), saturates);
    return sum[7];
  };
  const tensor_types both(tensor_type::s8), left_without_sign(tensor_type::u8, tensor_type::s8);
  EXPECT_EQ(step(both, 5, false), 5 - 32 * 128 * 127);
  EXPECT_EQ(step(left_without_sign, 5, false), 5 + 32 * 128 * 127);
  EXPECT_EQ(step(both, INT32_MIN, true), INT32_MIN);
  EXPECT_EQ(step(both, INT32_MIN, false), INT32_MAX - 32 * 128 * 127 + 1);
  EXPECT_EQ(step(left_without_sign, INT32_MAX, true), INT32_MAX);
}

TEST(TensorStep, ArchitecturesDiffer) {
  const step_operands o = make_operands(tensor_type::bf16, operand_kind::near_one, 64, 64, 1);
  std::vector<float> d[2];
  for (int i = 0; i < 2; ++i) {
    d[i].resize(o.c.size());
    simt::tensor_step(tensor_type::bf16, simt::tensor_rules_of(i == 0 ? 80 : 90), 64, 64, o.a.data(), o.b.data(),
                      o.c.data(), d[i].data());
  }
  EXPECT_NE(d[0], d[1]);
}

TEST(TensorStep, RefusesAnArchitectureThatItDoesNotKnow) {
  try {
    simt::tensor_rules_of(75);
    FAIL() << "nothing was thrown";
  } catch (const simt::device_error& e) {
    EXPECT_STREQ(e.what(), "sm_arch is 75, allowed are 80, 86, 89, 90 and 100");
  }
}

TEST(EmulatedTensorCore, GivesEachLaneOfAWarpItsFragmentOfTheProduct) {
  for (const tensor_type type : k_tensor_types)
    for (const unsigned arch : {80u, 90u}) {
      const step_operands o = make_operands(type, operand_kind::near_one, 16, 8, 1);
      std::vector<uint32_t> a, b;
      std::vector<float> c;
      add_fragments(type, o, a, b, c);
      step_operands expected = o;
      expected.c = model(type, simt::tensor_rules_of(arch), o, 16, 8);
      std::vector<float> fragments;
      add_fragments(type, expected, a, b, fragments);
      a.resize(a.size() / 2);
      b.resize(b.size() / 2);
      EXPECT_EQ(emulated::tensor_core().mma(type, a, b, c, arch), fragments);
    }
}

TEST(EmulatedTensorCore, LdmatrixGivesEachLaneItsElements) {
  bit_stream bits(1);
  std::vector<uint8_t> bytes(512);
  for (uint8_t& x : bytes) x = static_cast<uint8_t>(bits.next());
  std::vector<uint32_t> row(32);
  for (uint32_t& r : row) r = bits.next() % 32;
  const auto element = [&](int matrix, int r, int c) {
    const size_t at = 16 * row[static_cast<size_t>(8 * matrix + r)] + 2 * static_cast<size_t>(c);
    return static_cast<uint32_t>(bytes[at] | bytes[at + 1] << 8);
  };
  for (const int count : {1, 2, 4})
    for (const bool transposed : {false, true}) {
      std::vector<uint32_t> expected;
      for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < count; ++i) {
          const int r = lane / 4, c = 2 * (lane % 4);
          expected.push_back(transposed ? element(i, c, r) | element(i, c + 1, r) << 16
                                        : element(i, r, c) | element(i, r, c + 1) << 16);
        }
      EXPECT_EQ(emulated::tensor_core().ldmatrix(count, transposed, bytes, row), expected);
    }
}

// The byte of a tile at which element (row, k) lies, from the layouts in tensor_types.hpp, coordinate by coordinate.
size_t byte_of(const tile& t, unsigned size, unsigned row, unsigned k) {
  const unsigned piece = 16 / size;  // elements
  const unsigned line = t.pattern == 0 ? 16 : t.pattern == 3 ? 32 : t.pattern == 2 ? 64 : 128;
  unsigned at;
  if (!t.mn_major)
    at = t.pattern == 0 ? row % 8 * 16 + row / 8 * t.stride + k % piece * size + k / piece * t.leading
                        : row % 8 * line + row / 8 * t.stride + k * size;
  else
    at = t.pattern == 0 ? row % 8 * 2 + row / 8 * t.stride + k % 8 * 16 + k / 8 * t.leading
                        : row % (line / 2) * 2 + row / (line / 2) * t.leading + k % 8 * line + k / 8 * t.stride;
  at += t.start;
  // Of the address's bits, those of the pattern's rows are added to those of its columns.
  return at ^ (at / 128 % (line / 16)) * 16;
}

uint32_t small_integer(tensor_type type, int x) {  // -8 to 8
  if (x == 0) return 0;
  const float f = static_cast<float>(x);
  if (type == tensor_type::tf32) return bits_of(f);
  if (type == tensor_type::bf16) return bits_of(f) >> 16;
  return (bits_of(f) >> 16 & 0x8000u) | ((bits_of(f) & 0x7fffffffu) - (112u << 23)) >> 13;
}

TEST(EmulatedTensorCore, FindsTheOperandsOfAWarpgroupInEveryLayout) {
  bit_stream bits(1);
  int runs = 0;
  for (const tensor_type type : k_tensor_types)
    for (const int n : {8, 64, 96, 256})
      for (const bool a_mn : {false, true})
        for (const bool b_mn : {false, true}) {
          if ((a_mn || b_mn) && (type == tensor_type::tf32 || (n != 64 && n != 256))) continue;
          const std::vector<tile> of_a = places(a_mn, type), of_b = places(b_mn, type);
          for (size_t i = 0; i < std::max(of_a.size(), of_b.size()); ++i) {
            const bool registers = !a_mn && i % 3 == 2;
            warpgroup_run r = {type, n, 1, of_a[i % of_a.size()], of_b[i % of_b.size()], {}, {}, i % 4 != 3};
            const unsigned size = type == tensor_type::tf32 ? 4 : 2;
            const auto depth = static_cast<unsigned>(simt::tensor_depth(type));
            r.a.bytes.resize(k_tile_a_bytes);
            r.b.bytes.resize(k_tile_b_bytes);
            std::vector<int> a(64 * depth), b(static_cast<unsigned>(n) * depth);
            for (int& x : a) x = bits.between(-8, 8);
            for (int& x : b) x = bits.between(-8, 8);
            const auto place = [&](tile& t, const std::vector<int>& from) {
              for (unsigned row = 0; row < from.size() / depth; ++row)
                for (unsigned k = 0; k < depth; ++k) {
                  const uint32_t element = small_integer(type, from[row * depth + k]);
                  std::memcpy(&t.bytes[byte_of(t, size, row, k)], &element, size);
                }
            };
            place(r.a, a);
            place(r.b, b);
            std::vector<float> expected;
            for (unsigned t = 0; t < 128; ++t) {
              const unsigned group = t % 32 / 4, pair = t % 4;
              for (int j = 0; j < n / 2; ++j) {
                const auto at = static_cast<unsigned>(j);
                const unsigned row = 16 * (t / 32) + group + 8 * (at / 2 % 2), col = 8 * (at / 4) + 2 * pair + at % 2;
                const int c = bits.between(-8, 8);
                r.c.push_back(static_cast<float>(c));
                int sum = r.accumulate ? c : 0;
                for (unsigned k = 0; k < depth; ++k) sum += a[row * depth + k] * b[col * depth + k];
                expected.push_back(static_cast<float>(sum));
              }
              for (unsigned j = 0; registers && j < 4; ++j) {
                const unsigned row = 16 * (t / 32) + group + 8 * (j % 2);
                const auto of = [&](unsigned k) { return small_integer(type, a[row * depth + k]); };
                r.a_registers.push_back(type == tensor_type::tf32
                                            ? of(pair + 4 * (j / 2))
                                            : of(2 * pair + 8 * (j / 2)) | of(2 * pair + 8 * (j / 2) + 1) << 16);
              }
            }
            EXPECT_EQ(emulated::tensor_core().wgmma(r), expected)
                << name_of(type) << " n" << n << " a " << r.a.pattern << a_mn << " b " << r.b.pattern << b_mn;
            ++runs;
          }
        }
  EXPECT_GT(runs, 150);
}

TEST(EmulatedTensorCore, RoundsToTf32AwayFromZeroAtTies) {
  const std::vector<float> x = {1.0f,      from_bits(0x3f801000), from_bits(0xbf801000), from_bits(0x3f800fff),
                                HUGE_VALF, from_bits(0x7f7fffff), from_bits(0x00001000), -0.0f};
  const std::vector<float> expected = {
      1.0f, from_bits(0x3f802000), from_bits(0xbf802000), 1.0f, HUGE_VALF, HUGE_VALF, from_bits(0x00002000), -0.0f};
  EXPECT_EQ(emulated::tensor_core().round_tf32(x), expected);
}

TEST(EmulatedTensorCore, IsOfTheArchitectureThatTheStreamNames) {
  try {
    emulated::tensor_core().mma(tensor_type::bf16, std::vector<uint32_t>(128), std::vector<uint32_t>(64),
                                std::vector<float>(128), 75);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const simt::device_error& e) {
    EXPECT_STREQ(e.what(), "launch_limit: sm_arch is 75, allowed are 80, 86, 89, 90 and 100");
  }
  simt::emulation stream;
  stream.sm_arch = 80;
  EXPECT_THROW(async_world_trials().front().run(&stream), simt::device_error);
  ASSERT_FALSE(stream.ok());
  EXPECT_EQ(stream.findings.front().kind, "launch_limit");
  EXPECT_NE(stream.findings.front().text.find("which sm_arch 80 does not have; 90 does"), std::string::npos);
}

// As an H100 and an H200 give it: a negative sum that rounds to zero in f16 is +0.
TEST(EmulatedTensorCore, OfHalfAccumulatorsLosesTheSignOfWhatVanishes) {
  const uint32_t a[16] = {0x8001}, b[8 * 16] = {0x0001};  // -2^-24 and 2^-24: a product of -2^-48
  const float c[8] = {};
  float d[8];
  simt::tensor_step(tensor_type::f16, simt::tensor_rules_of(90), 1, 8, a, b, c, d, simt::tensor_sum::f16);
  EXPECT_EQ(bits_of(d[0]), 0u);
  const float least[8] = {-0x1p-24f};
  simt::tensor_step(tensor_type::f16, simt::tensor_rules_of(90), 1, 8, a, b, least, d, simt::tensor_sum::f16);
  EXPECT_EQ(d[0], -0x1p-24f);
}

// What the flavours without a detector see of the asynchronous world's defects. (simt_trials_* tries the race flavour.)
#ifndef SIMT_TEST_RACE

// A finding's kind, "wrong" for wrong results, "right", or "" where chance decides.
std::string seen_without_detector(const std::string& name, const std::string& verdict) {
  if (verdict.empty()) return "right";
  if (verdict.substr(0, 4) != "race") return verdict;
  if (name == "read_before_wait" || name == "wait_too_few" || name == "early_read") return "wrong";
  return "";
}

std::string outcome_of(const trial& t, const std::string& schedule) {
  simt::emulation stream;
  stream.schedule = simt::schedule::parse(schedule);
  bool right = false;
  try {
    right = t.run(&stream);
  } catch (const simt::device_error&) {
    return stream.findings.front().kind;
  }
  return right ? "right" : "wrong";
}

TEST(AsyncWorld, ValuesAndHangsShowWithoutADetector) {
  for (const trial& t : async_world_trials()) {
    const std::string expected = seen_without_detector(t.name, t.verdict);
    if (expected.empty()) continue;
    for (const char* schedule : {"fair", "reverse", "random:1", "preempt:1", "pct:1", "pct_warp:1"}) {
      const bool by_chance = expected == "wrong" && schedule != std::string("fair");
      if (by_chance) continue;
      EXPECT_EQ(outcome_of(t, schedule), expected) << t.name << " under " << schedule;
    }
    if (expected != "right") continue;
    EXPECT_EQ(outcome_of(t, "greedy"), expected) << t.name;
  }
}

#endif

}  // namespace
}  // namespace warpcheck::self
