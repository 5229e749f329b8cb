// The matrix product on a GPU against the reference: the bits of mode ieee, guards around everything. With --time it
// measures instead, beside cuBLAS in f32.
#include "properties/self/cuda/matmul.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

#include "reference/matmul.hpp"

namespace warpcheck::self {
namespace {

using reference::ieee_value;
using reference::matmul_element;
using reference::matmul_operands;
using reference::matmul_setting;

std::vector<float> random_values(int64_t n, std::mt19937_64& random) {
  std::vector<float> x(static_cast<size_t>(n));
  for (float& v : x) v = std::uniform_real_distribution<float>(-2, 2)(random);
  return x;
}

// Up to `samples` elements of C, the corners among them, against the reference.
void check(const matmul_call& call, int samples = 400) {
  const matmul_answer answer = run_matmul(call);
  const std::string text = std::to_string(call.m) + " x " + std::to_string(call.n) + " x " + std::to_string(call.k) +
                           (call.ta ? " T" : " N") + (call.tb ? "T" : "N") + ", " +
                           matmul_variant_name(answer.variant) + ", " + std::to_string(answer.slices) + " slices";
  ASSERT_EQ(answer.damaged, 0) << text;
  matmul_setting setting;
  setting.slices = {answer.slices, answer.length};
  setting.alpha = call.alpha;
  setting.beta = call.beta;
  setting.has_bias = !call.bias.empty();
  std::mt19937_64 random(7);
  const int64_t elements = call.m * call.n;
  std::vector<double> a(static_cast<size_t>(call.k)), b(a);
  for (int64_t s = 0; s < std::min<int64_t>(samples, elements); ++s) {
    const int64_t corners[] = {0, elements - 1, call.n - 1, elements - call.n};
    const int64_t at = elements <= samples ? s : s < 4 ? corners[s] : static_cast<int64_t>(random() % elements);
    const int64_t i = at / call.n, j = at % call.n;
    for (int64_t l = 0; l < call.k; ++l) {
      a[l] = static_cast<double>(call.a[call.ta ? l * call.m + i : i * call.k + l]);
      b[l] = static_cast<double>(call.b[call.tb ? j * call.k + l : l * call.n + j]);
    }
    matmul_operands operands{a, b};
    if (!call.c.empty()) operands.c = static_cast<double>(call.c[at]);
    if (!call.bias.empty()) operands.bias = static_cast<double>(call.bias[j]);
    const float actual = answer.c[at];
    if (call.sigmoid) {
      setting.sigmoid = true;
      setting.mu = call.mu;
      setting.sigma = call.sigma;
      const auto verdict = matmul_element(setting, operands).judge(static_cast<double>(actual));
      ASSERT_TRUE(verdict.accepted) << text << " at " << i << ", " << j << ": " << verdict.budget();
      continue;
    }
    const float expected = ieee_value(setting, operands);
    ASSERT_EQ(std::bit_cast<uint32_t>(actual), std::bit_cast<uint32_t>(expected))
        << text << " at " << i << ", " << j << ": " << actual << ", expected " << expected;
  }
}

matmul_call make_call(int64_t m, int64_t n, int64_t k, int layout, std::mt19937_64& random) {
  matmul_call call;
  call.m = m, call.n = n, call.k = k;
  call.ta = (layout & 1) != 0, call.tb = (layout & 2) != 0;
  call.a = random_values(m * k, random);
  call.b = random_values(k * n, random);
  return call;
}

struct shape {
  int64_t m, n, k;
};

TEST(Matmul, BitsOfEveryVariantAndLayout) {
  std::mt19937_64 random(1);
  for (const shape s : {shape{1, 1, 1}, {5, 3, 7}, {64, 64, 64}, {65, 63, 33}, {130, 259, 100}, {300, 70, 513}}) {
    for (int layout = 0; layout < 4; ++layout) {
      for (const int variant : {0, 2, 3, 4}) {
        matmul_call call = make_call(s.m, s.n, s.k, layout, random);
        call.variant = variant;
        call.offset = variant % 4;
        call.gap_a = layout, call.gap_b = variant, call.gap_c = 2 * variant % 3;
        check(call, 100);
        call.offset = call.gap_a = call.gap_b = call.gap_c = 0;
        call.alpha = 0.3f, call.beta = -1.7f;
        call.c = random_values(s.m * s.n, random);
        call.bias = random_values(s.n, random);
        check(call, 100);
        call.sigmoid = true;
        call.mu = 0.25f, call.sigma = 0.125f;
        check(call, 20);
      }
    }
  }
}

TEST(Matmul, BitsOfDispatchedShapes) {
  std::mt19937_64 random(2);
  for (const shape s : {shape{512, 512, 512},
                        {1024, 1024, 1024},
                        {2048, 2048, 300},
                        {4097, 1601, 93},
                        {64, 4096, 4096},
                        {3000, 64, 4096},
                        {1, 5000, 3000},
                        {5000, 1, 3000},
                        {1, 1, 100000},
                        {700, 513, 40}})
    for (int layout = 0; layout < 4; ++layout) check(make_call(s.m, s.n, s.k, layout, random), 64);
}

TEST(Matmul, NothingToMultiply) {
  std::mt19937_64 random(3);
  matmul_call call = make_call(70, 130, 0, 0, random);
  call.bias = random_values(130, random);
  check(call);
  call.c = random_values(70 * 130, random);
  call.beta = 0.5f;
  check(call);
  matmul_call scaled = make_call(70, 130, 20, 0, random);
  scaled.alpha = 0;
  for (float& v : scaled.a) v = std::nanf("");
  check(scaled);
}

TEST(Matmul, RowsAloneHaveTheSameBits) {
  std::mt19937_64 random(4);
  matmul_call call = make_call(200, 300, 2000, 0, random);
  call.rows_alone = true;
  check(call, 64);
  const matmul_answer whole = run_matmul(call);
  matmul_call one = call;
  one.m = 1;
  one.a.assign(call.a.begin() + 137 * 2000, call.a.begin() + 138 * 2000);
  const matmul_answer row = run_matmul(one);
  EXPECT_EQ(row.variant, whole.variant);
  EXPECT_EQ(std::memcmp(row.c.data(), whole.c.data() + 137 * 300, 300 * sizeof(float)), 0);
}

TEST(Matmul, ReachesBeyond32Bits) {
  EXPECT_EQ(wrong_beyond_32_bits(true), 0);
  EXPECT_EQ(wrong_beyond_32_bits(false), 0);
}

int time_all(int repeats) {
  std::printf("%s; median us, TFLOP/s, times cuBLAS f32\n", gpu_name().c_str());
  struct timed {
    shape extents;
    std::vector<int> variants;
  };
  const timed table[] = {{{512, 512, 512}, {0, 3}},    {{768, 768, 768}, {0, 3}},    {{1024, 1024, 1024}, {0, 2, 4}},
                         {{1536, 1536, 1536}, {0, 4}}, {{2048, 2048, 2048}, {0, 3}}, {{4096, 4096, 4096}, {0}},
                         {{8192, 8192, 8192}, {0}},    {{4097, 4095, 4093}, {0}},    {{64, 4096, 4096}, {0, 2}},
                         {{8192, 64, 8192}, {0, 3}},   {{8192, 8192, 64}, {0, 4}},   {{4096, 64, 4096}, {0}},
                         {{1, 4096, 4096}, {0, 2}},    {{16, 4096, 4096}, {0, 2}}};
  for (const timed& row : table) {
    const shape& s = row.extents;
    for (int layout = 0; layout < 4; ++layout) {
      if (layout != 0 && s.m * s.n > int64_t{1} << 25) continue;
      for (const int variant : row.variants) {
        const matmul_times t =
            time_matmul((layout & 1) != 0, (layout & 2) != 0, s.m, s.n, s.k, variant, false, repeats);
        const double flops = 2e-6 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
        std::printf("%5lld %5lld %5lld %c%c %-7s %2lld slices  ours %9.1f us %5.1f   cuBLAS %9.1f us %5.1f   %.3f\n",
                    static_cast<long long>(s.m), static_cast<long long>(s.n), static_cast<long long>(s.k),
                    "NT"[layout & 1], "NT"[layout >> 1], matmul_variant_name(t.variant),
                    static_cast<long long>(t.slices), t.ours_us, flops / t.ours_us, t.cublas_us,
                    t.cublas_us > 0 ? flops / t.cublas_us : 0, t.cublas_us / t.ours_us);
        std::fflush(stdout);
      }
    }
  }
  for (const int64_t e : {2048, 4096}) {
    const matmul_times plain = time_matmul(false, false, e, e, e, 0, false, repeats);
    const matmul_times layer = time_matmul(false, false, e, e, e, 0, true, repeats);
    std::printf("%lld^3 with bias and sigmoid: %.1f us, %.3f of the plain product's %.1f us\n",
                static_cast<long long>(e), layer.ours_us, layer.ours_us / plain.ours_us, plain.ours_us);
  }
  return 0;
}

}  // namespace
}  // namespace warpcheck::self

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc == 2 && std::strcmp(argv[1], "--time") == 0) return warpcheck::self::time_all(21);
  if (argc > 1) {
    std::fprintf(stderr, "'%s' is not an option; --time is, and those of GoogleTest are\n", argv[1]);
    return 2;
  }
  return RUN_ALL_TESTS();
}
