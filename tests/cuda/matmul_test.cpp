// The matrix product on a GPU against the reference: the bits of f32 in mode ieee, elsewhere every element within its
// bound; guards around everything. With --time it measures instead, beside cuBLAS.
#include "tests/cuda/matmul.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

#include "reference/matmul/matmul.hpp"

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

reference::dot_arithmetic arithmetic_of(const matmul_call& call) {
  using reference::dot_arithmetic;
  switch (call.types) {
    case matmul_types::f16:
    case matmul_types::f16_to_f32: return dot_arithmetic::f16;
    case matmul_types::bf16:
    case matmul_types::bf16_to_f32: return dot_arithmetic::bf16;
    default: break;
  }
  return call.mode == 0 ? dot_arithmetic::ieee : call.mode == 1 ? dot_arithmetic::tf32x3 : dot_arithmetic::bf16x6;
}

// Up to `samples` elements of C, the corners among them, against the reference.
// worst: the largest part of its bound that one uses.
void check(const matmul_call& call, int samples = 400, double* worst = nullptr) {
  const matmul_answer answer = run_matmul(call);
  const std::string text = std::to_string(call.m) + " x " + std::to_string(call.n) + " x " + std::to_string(call.k) +
                           (call.ta ? " T" : " N") + (call.tb ? "T" : "N") + ", types " +
                           std::to_string(static_cast<int>(call.types)) + ", mode " + std::to_string(call.mode) + ", " +
                           matmul_variant_name(answer.variant) + ", " + std::to_string(answer.slices) + " slices";
  ASSERT_EQ(answer.damaged, 0) << text;
  matmul_setting setting;
  setting.arithmetic = arithmetic_of(call);
  setting.output = call.types == matmul_types::f16    ? dtype::f16
                   : call.types == matmul_types::bf16 ? dtype::bf16
                                                      : dtype::f32;
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
    if (call.sigmoid || setting.arithmetic != reference::dot_arithmetic::ieee) {
      setting.sigmoid = call.sigmoid;
      setting.mu = call.mu;
      setting.sigma = call.sigma;
      const auto verdict = matmul_element(setting, operands).judge(static_cast<double>(actual));
      ASSERT_TRUE(verdict.accepted) << text << " at " << i << ", " << j << ": " << actual << ", expected "
                                    << verdict.expected << ", of the bound " << verdict.budget();
      if (worst != nullptr) *worst = std::max(*worst, verdict.budget());
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

// What multiplies on tensor cores.
struct kind {
  const char* name;
  matmul_types types;
  int mode;
};
constexpr kind k_kinds[] = {{"bf16x6", matmul_types::f32, 2}, {"tf32x3", matmul_types::f32, 1},
                            {"f16", matmul_types::f16, 0},    {"f16 to f32", matmul_types::f16_to_f32, 0},
                            {"bf16", matmul_types::bf16, 0},  {"bf16 to f32", matmul_types::bf16_to_f32, 0}};

matmul_call make_call(const kind& of, const shape& s, int layout, std::mt19937_64& random) {
  matmul_call call = make_call(s.m, s.n, s.k, layout, random);
  call.types = of.types;
  call.mode = of.mode;
  round_to_type(call.types, false, call.a);
  round_to_type(call.types, false, call.b);
  return call;
}

TEST(Matmul, BitsOfEveryVariantAndLayout) {
  std::mt19937_64 random(1);
  for (const shape s : {shape{1, 1, 1},
                        {1, 67, 33},
                        {67, 1, 33},
                        {1, 300, 700},
                        {2200, 1, 513},
                        {5, 3, 7},
                        {64, 64, 64},
                        {65, 63, 33},
                        {130, 259, 100},
                        {300, 70, 513}}) {
    for (int layout = 0; layout < 4; ++layout) {
      for (const int variant : {0, 2, 3, 4, 5}) {
        if (variant == 2 && s.m > 1 && s.n > 1) continue;
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

TEST(MatmulTensor, EveryVariantAndLayoutIsWithinBound) {
  std::mt19937_64 random(5);
  for (const kind& of : k_kinds)
    for (const shape s : {shape{1, 1, 1}, {5, 3, 7}, {64, 64, 64}, {65, 63, 33}, {130, 259, 100}, {300, 70, 1000}})
      for (int layout = 0; layout < 4; ++layout)
        for (const int variant : {0, 6, 7, 8}) {
          matmul_call call = make_call(of, s, layout, random);
          call.variant = variant;
          call.offset = variant % 4;
          call.gap_a = layout, call.gap_b = variant, call.gap_c = 2 * variant % 3;
          check(call, 100);
          call.offset = call.gap_a = call.gap_b = call.gap_c = 0;
          call.alpha = 0.3f, call.beta = -1.7f;
          call.c = random_values(s.m * s.n, random);
          round_to_type(call.types, true, call.c);
          call.bias = random_values(s.n, random);
          check(call, 100);
          call.sigmoid = true;
          call.mu = 0.25f, call.sigma = 0.125f;
          check(call, 20);
        }
}

TEST(MatmulTensor, VariantsHaveTheSameBits) {
  std::mt19937_64 random(6);
  for (const kind& of : k_kinds)
    for (const shape s : {shape{200, 300, 65}, {129, 257, 1000}, {40, 520, 3000}}) {
      matmul_call call = make_call(of, s, static_cast<int>(random() % 4), random);
      call.variant = 6;
      const matmul_answer warps = run_matmul(call);
      for (const int variant : {7, 8}) {
        call.variant = variant;
        const matmul_answer other = run_matmul(call);
        ASSERT_EQ(other.variant, variant);
        ASSERT_EQ(std::memcmp(other.c.data(), warps.c.data(), warps.c.size() * sizeof(float)), 0) << of.name << s.k;
      }
    }
}

TEST(MatmulTensor, DispatchedShapesAreWithinBound) {
  std::mt19937_64 random(7);
  for (const kind& of : k_kinds)
    for (const shape s : {shape{512, 512, 512},
                          {1024, 1024, 1024},
                          {2048, 2048, 300},
                          {1601, 2097, 93},
                          {64, 4096, 2048},
                          {3000, 64, 2048},
                          {1, 5000, 3000},
                          {5000, 1, 3000},
                          {1, 1, 100000}})
      check(make_call(of, s, static_cast<int>(random() % 4), random), 64);
}

TEST(MatmulTensor, SpecialElementsReachTheirRowOrColumnAlone) {
  std::mt19937_64 random(8);
  const float inf = INFINITY;
  for (const kind& of : k_kinds)
    for (const shape s : {shape{150, 270, 90}, {70, 40, 2000}}) {
      const matmul_call plain = make_call(of, s, 0, random);
      const matmul_answer before = run_matmul(plain);
      for (const float special : {inf, -inf, std::nanf("")})
        for (const int variant : {6, 7, 8}) {
          matmul_call call = plain;
          call.variant = variant;
          const auto i = static_cast<int64_t>(random() % static_cast<uint64_t>(s.m));
          const auto j = static_cast<int64_t>(random() % static_cast<uint64_t>(s.n));
          const auto l = static_cast<int64_t>(random() % static_cast<uint64_t>(s.k));
          call.a[static_cast<size_t>(i * s.k + l)] = special;
          call.b[static_cast<size_t>((s.k - 1 - l) * s.n + j)] = -special;
          const matmul_answer answer = run_matmul(call);
          for (int64_t at = 0; at < s.m * s.n; ++at) {
            const bool reached = at / s.n == i || at % s.n == j;
            const float x = answer.c[static_cast<size_t>(at)], y = before.c[static_cast<size_t>(at)];
            ASSERT_EQ(std::isfinite(x), !reached) << of.name << " at " << at;
            ASSERT_TRUE(reached || x == y) << of.name << " at " << at;
          }
          check(call, 400);
        }
    }
}

TEST(MatmulTensor, RangesAreWithinBound) {
  std::mt19937_64 random(9);
  for (const kind& of : k_kinds) {
    const bool half = of.types == matmul_types::f16 || of.types == matmul_types::f16_to_f32;
    for (int round = 0; round < 20; ++round) {
      matmul_call call = make_call(of, {70, 130, 40}, 0, random);
      for (auto* x : {&call.a, &call.b}) {
        const int base = half ? -static_cast<int>(random() % 18) : static_cast<int>(random() % 190) - 140;
        for (float& v : *x) v = random() % 9 == 0 ? 0 : std::ldexp(v, base - static_cast<int>(random() % 10));
        round_to_type(call.types, false, *x);
      }
      check(call, 300);
    }
  }
}

TEST(MatmulTensor, RowsAloneHaveTheSameBits) {
  std::mt19937_64 random(10);
  for (const kind& of : k_kinds)
    for (const int64_t n : {300, 700}) {
      matmul_call call = make_call(of, {200, n, 2000}, 0, random);
      call.rows_alone = true;
      check(call, 64);
      const matmul_answer whole = run_matmul(call);
      matmul_call one = call;
      one.m = 1;
      one.a.assign(call.a.begin() + 137 * 2000, call.a.begin() + 138 * 2000);
      const matmul_answer row = run_matmul(one);
      EXPECT_EQ(row.variant, whole.variant);
      EXPECT_EQ(std::memcmp(row.c.data(), whole.c.data() + 137 * n, static_cast<size_t>(n) * sizeof(float)), 0);
    }
}

const char* layout_name(int layout) {
  constexpr const char* names[] = {"NN", "TN", "NT", "TT"};
  return names[layout];
}

// One line; certified: the largest part of its bound that one of 64 elements uses, in another run of the same shape.
void time_row(const char* name, const matmul_timing& timing, int layout, bool certify) {
  const matmul_times t = time_matmul(timing);
  const double flops =
      2e-6 * static_cast<double>(timing.m) * static_cast<double>(timing.n) * static_cast<double>(timing.k);
  const auto rate = [&](double us) { return us > 0 ? flops / us : 0; };
  std::printf("%-11s %5lld %5lld %5lld %s %-10s %2lld slices  ours %9.1f us %6.1f", name,
              static_cast<long long>(timing.m), static_cast<long long>(timing.n), static_cast<long long>(timing.k),
              layout_name(layout), matmul_variant_name(t.variant), static_cast<long long>(t.slices), t.ours_us,
              rate(t.ours_us));
  if (t.cublas_us > 0)
    std::printf("   cuBLAS f32 %9.1f us %5.1f, %.3f of it", t.cublas_us, rate(t.cublas_us), t.cublas_us / t.ours_us);
  if (t.same_us > 0)
    std::printf("   cuBLAS %s %6.1f", timing.types == matmul_types::f32 ? "tf32" : "same types", rate(t.same_us));
  if (certify) {
    std::mt19937_64 random(11);
    double worst = 0;
    check(make_call({name, timing.types, timing.mode}, {timing.m, timing.n, timing.k}, layout, random), 64, &worst);
    std::printf("   of the bound %.4f", worst);
  }
  std::printf("\n");
  std::fflush(stdout);
}

// `of`: ieee (in f32), tensor (the other modes and types) or all.
int time_all(const std::string& of, int repeats) {
  std::printf("%s; median us, TFLOP/s, times cuBLAS\n", gpu_name().c_str());
  const shape shapes[] = {{512, 512, 512},    {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096},
                          {8192, 8192, 8192}, {4097, 4095, 4093}, {64, 4096, 4096},   {8192, 64, 8192},
                          {8192, 8192, 64},   {1, 4096, 4096},    {16, 4096, 4096}};
  matmul_timing t;
  t.repeats = repeats;
  for (const shape& s : shapes) {
    t.m = s.m, t.n = s.n, t.k = s.k;
    for (int layout = 0; layout < 4; ++layout) {
      if (layout != 0 && (s.m * s.n > int64_t{1} << 25 || s.m == 16)) continue;
      t.ta = (layout & 1) != 0, t.tb = (layout & 2) != 0;
      t.types = matmul_types::f32, t.mode = 0;
      if (of != "tensor") time_row("ieee", t, layout, false);
      if (of == "ieee") continue;
      const bool square = s.m >= 2048 && s.n >= 2048 && s.k >= 2048;
      for (const kind& k : k_kinds) {
        t.types = k.types, t.mode = k.mode;
        if (layout == 0 || (square && k.mode != 0)) time_row(k.name, t, layout, square && layout == 0 && s.m < 8192);
      }
    }
  }
  t.ta = t.tb = false;
  t.types = matmul_types::f32;
  for (const int mode : {0, 1, 2})
    for (const int64_t e : {2048, 4096}) {
      if (mode == 0 ? of == "tensor" : of == "ieee") continue;
      t.mode = mode, t.m = t.n = t.k = e;
      t.layer = false;
      const double plain = time_matmul(t).ours_us;
      t.layer = true;
      const double layer = time_matmul(t).ours_us;
      std::printf("mode %d, %lld^3 with bias and sigmoid: %.1f us, %.3f of the plain product's %.1f us\n", mode,
                  static_cast<long long>(e), layer, layer / plain, plain);
    }
  return 0;
}

}  // namespace
}  // namespace warpcheck::self

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::string of = argc > 2 ? argv[2] : "all";
  if (argc >= 2 && argc <= 3 && std::strcmp(argv[1], "--time") == 0 && (of == "all" || of == "ieee" || of == "tensor"))
    return warpcheck::self::time_all(of, 21);
  if (argc > 1) {
    std::fprintf(stderr, "'%s' is not an option; --time [ieee|tensor|all] is, and those of GoogleTest are\n", argv[1]);
    return 2;
  }
  return RUN_ALL_TESTS();
}
