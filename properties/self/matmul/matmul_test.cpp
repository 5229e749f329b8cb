// The matrix product on the emulated device against the reference, in each flavour: a finding of the device (race,
// access out of bounds, read of what nobody wrote) is an exception here.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "properties/self/matmul/problem.hpp"

namespace warpcheck::self {
namespace {

#ifdef WARPCHECK_PLAIN
constexpr bool k_plain = true;
#else
constexpr bool k_plain = false;
#endif

constexpr matmul_variant k_tiled[] = {matmul_variant::small, matmul_variant::wide, matmul_variant::square};

void expect_right(const problem& p) {
  const answer result = run(p);
  EXPECT_TRUE(result.intact) << p.text();
  EXPECT_EQ(wrong_bits(p, result.c), 0) << p.text();
}

// Matches the reference.

TEST(matmul, ieee_bits) {
  std::mt19937_64 random(1);
  for (int layout = 0; layout < 4; ++layout) {
    for (const matmul_variant variant : k_tiled) {
      problem p = random_problem(70, 67, 37, random, layout);
      p.variant = variant;
      expect_right(p);
      p.alpha = -0.3f, p.beta = 1.7f;
      p.c = random_values(p.m * p.n, random);
      p.bias = random_values(p.n, random);
      expect_right(p);
    }
  }
  // More stages than are in flight, slices, and the shapes that the dispatch cuts.
  for (const auto& [m, n, k] : {std::array{64, 64, 129}, {3, 5, 1000}, {1, 300, 400}, {300, 1, 400}}) {
    problem p = random_problem(m, n, k, random);
    p.alpha = 1.1f;
    p.bias = random_values(n, random);
    expect_right(p);
  }
}

// A row or a column of C: slices of one block's warps and of several blocks', whole chunks and parts of them.
TEST(matmul, bits_of_vectors) {
  std::mt19937_64 random(18);
  int added = 0, partial = 0;
  for (const int64_t outer : {1, 31, 32, 33, 70})
    for (const int64_t k : {1, 31, 32, 33, 65, 321, 700, 1100})
      for (int layout = 0; layout < (k_plain ? 8 : 2); ++layout) {
        const bool is_row = (layout + outer + k) % 2 == 0;
        problem p = random_problem(is_row ? 1 : outer, is_row ? outer : 1, k, random, layout);
        const int64_t gaps[] = {0, 1, 3, 4};
        p.gap_a = gaps[random() % 4], p.gap_b = gaps[random() % 4], p.gap_c = gaps[random() % 4];
        p.offset = layout < 4 ? 0 : layout % 4;
        const answer result = run(p);
        EXPECT_TRUE(result.intact && wrong_bits(p, result.c) == 0) << p.text();
        EXPECT_EQ(result.variant, matmul_variant::vector) << p.text();
        added += p.plan().count > 1 && p.plan().count <= 8, partial += p.plan().count > 8;
        p.alpha = -0.3f, p.beta = 1.7f;
        p.c = random_values(p.m * p.n, random);
        p.bias = random_values(p.n, random);
        p.variant = layout % 2 == 0 ? matmul_variant::vector : matmul_variant::small;
        expect_right(p);
      }
  EXPECT_GE(added, 15);
  EXPECT_GE(partial, 5);
  // Elements enough that one block takes all slices, and more of them than it has warps for one that is alone.
  problem p = random_problem(4225, 1, k_plain ? 900 : 130, random);
  EXPECT_LE(p.plan().count, 8);
  expect_right(p);
  p = random_problem(3, 4, 5, random);
  p.variant = matmul_variant::vector;
  EXPECT_THROW(run(p), std::invalid_argument);
}

TEST(matmul, slices_of_one_more_than_their_length) {
  std::mt19937_64 random(2);
  problem p = random_problem(20, 30, 1, random);
  int cut = 0;
  for (int64_t k = 1; k <= 1300; ++k) {
    p.k = k;
    const matmul_slices s = p.plan();
    ASSERT_GE(s.count, 1);
    ASSERT_GE(s.count * s.length, k);
    ASSERT_LT((s.count - 1) * s.length, k);
    cut += s.count > 1;
  }
  EXPECT_GT(cut, 100);
  for (const int64_t k : {400, 700, 1000}) {
    p.k = k;
    const matmul_slices s = p.plan();
    ASSERT_GT(s.count, 1) << k;
    // A last slice of one element, where the plan makes one.
    for (int64_t more = k; more < k + 200; ++more) {
      p.k = more;
      if (p.plan().count < 2 || more % p.plan().length != 1) continue;
      p = random_problem(20, 30, more, random);
      expect_right(p);
      break;
    }
  }
}

TEST(matmul, integers_are_exact) {
  std::mt19937_64 random(3);
  for (const matmul_variant variant : k_tiled) {
    problem p = random_problem(66, 41, 150, random, static_cast<int>(random() % 4));
    for (auto* x : {&p.a, &p.b})
      for (float& v : *x) v = static_cast<float>(static_cast<int>(random() % 601) - 300);  // 150 * 300^2 < 2^24
    p.variant = variant;
    const answer result = run(p);
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        int64_t sum = 0;
        for (int64_t l = 0; l < p.k; ++l)
          sum += static_cast<int64_t>(p.op_a(i, l)) * static_cast<int64_t>(p.op_b(l, j));
        ASSERT_EQ(result.c[static_cast<size_t>(i * p.n + j)], static_cast<float>(sum)) << p.text();
      }
  }
}

TEST(matmul, component_bound_of_layers) {
  std::mt19937_64 random(4);
  for (const int64_t k : {0, 5, 70, 700}) {
    problem p = random_problem(33, 41, k, random, static_cast<int>(k) % 4);
    p.bias = random_values(p.n, random);
    p.alpha = 0.7f;
    p.sigmoid = true;
    p.mu = 0.5f, p.sigma = k > 100 ? 0.25f : -1.5f;
    const answer result = run(p);
    EXPECT_LE(worst_error_ratio(p, result.c), 1) << p.text();
    for (const float y : result.c) EXPECT_TRUE(y >= 0 && y <= 1);
  }
}

// Algebra.

TEST(matmul, transposes_agree) {
  std::mt19937_64 random(5);
  const problem plain = random_problem(45, 83, 50, random);
  const answer expected = run(plain);
  for (int layout = 1; layout < 4; ++layout) {
    problem p = plain;
    p.ta = (layout & 1) != 0, p.tb = (layout & 2) != 0;
    for (int64_t l = 0; l < p.k; ++l) {
      for (int64_t i = 0; i < p.m && p.ta; ++i) p.a[static_cast<size_t>(l * p.m + i)] = plain.op_a(i, l);
      for (int64_t j = 0; j < p.n && p.tb; ++j) p.b[static_cast<size_t>(j * p.k + l)] = plain.op_b(l, j);
    }
    EXPECT_EQ(different(run(p).c, expected.c), 0) << p.text();
  }
}

TEST(matmul, identity_and_permutation) {
  std::mt19937_64 random(6);
  problem p = random_problem(70, 65, 70, random);
  for (int64_t i = 0; i < 70; ++i)
    for (int64_t l = 0; l < 70; ++l) p.a[static_cast<size_t>(i * 70 + l)] = i == l ? 1.0f : 0.0f;
  EXPECT_EQ(run(p).c, p.b);
  const problem drawn = random_problem(70, 65, 40, random);
  problem permuted = drawn;
  std::vector<size_t> order(70);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  for (size_t i = 0; i < 70; ++i) std::copy_n(&drawn.a[order[i] * 40], 40, &permuted.a[i * 40]);
  const answer straight = run(drawn), other = run(permuted);
  for (size_t i = 0; i < 70; ++i)
    ASSERT_EQ(std::memcmp(&straight.c[order[i] * 65], &other.c[i * 65], 65 * sizeof(float)), 0) << i;
}

TEST(matmul, rows_alone) {
  std::mt19937_64 random(7);
  const matmul_options alone{matmul_mode::ieee, true};
  int followed = 0;  // plans that change with m where they may
  for (const int64_t n : {1, 64, 65, 500, 5000})
    for (const int64_t k : {1, 300, 4096, 100000})
      for (const int64_t m : {1, 64, 65, 300, 4000, 1000000}) {
        const matmul_slices one = matmul_plan<float, float>(alone, 1, n, k);
        const matmul_slices many = matmul_plan<float, float>(alone, m, n, k);
        ASSERT_EQ(many.count, one.count);
        ASSERT_EQ(many.length, one.length);
        followed += matmul_plan<float, float>({}, m, n, k).count != matmul_plan<float, float>({}, 1, n, k).count;
      }
  EXPECT_GT(followed, 10);
  for (const int64_t n : {50, 90}) {
    problem p = random_problem(80, n, 700, random);
    p.options.rows_alone = true;
    const answer whole = run(p);
    EXPECT_EQ(wrong_bits(p, whole.c), 0);
    for (const int64_t m : {1, 7, 65}) {
      problem part = p;
      part.m = m;
      for (int64_t i = 0; i < m; ++i)
        std::copy_n(&p.a[static_cast<size_t>((79 - i) * p.k)], p.k, &part.a[static_cast<size_t>(i * p.k)]);
      part.a.resize(static_cast<size_t>(m * p.k));
      EXPECT_EQ(part.plan().length, p.plan().length);
      const answer result = run(part);
      EXPECT_EQ(result.variant, whole.variant);
      for (int64_t i = 0; i < m; ++i)
        ASSERT_EQ(std::memcmp(&result.c[static_cast<size_t>(i * n)], &whole.c[static_cast<size_t>((79 - i) * n)],
                              static_cast<size_t>(n) * sizeof(float)),
                  0)
            << part.text() << " row " << i;
    }
  }
}

TEST(matmul, scaling_by_powers_of_two) {
  std::mt19937_64 random(8);
  problem p = random_problem(33, 34, 35, random);
  const answer plain = run(p);
  p.alpha = 0x1p-7f;
  const answer scaled = run(p);
  for (size_t i = 0; i < plain.c.size(); ++i) ASSERT_EQ(scaled.c[i], plain.c[i] * 0x1p-7f);
}

// Special values.

TEST(matmul, what_is_not_read_may_be_anything) {
  std::mt19937_64 random(9);
  const float nan = std::nanf("");
  problem p = random_problem(20, 70, 30, random);  // beta = 0: c is NaN
  p.bias = random_values(p.n, random);
  expect_right(p);
  p.beta = -0.0f;
  expect_right(p);
  p.beta = 0.5f;
  p.c = random_values(p.m * p.n, random);
  for (auto* x : {&p.a, &p.b})
    for (float& v : *x) v = nan;
  p.alpha = 0;
  expect_right(p);
  problem nothing = p;
  nothing.alpha = 3, nothing.k = 0;
  nothing.a.clear(), nothing.b.clear();
  expect_right(nothing);
  nothing.sigmoid = true, nothing.beta = 0, nothing.bias.clear();
  for (const float y : run(nothing).c) ASSERT_EQ(y, 0.5f);
  // Of an empty product nothing is written.
  for (const auto& [m, n] : {std::array{0, 5}, {5, 0}, {0, 0}}) {
    problem empty = random_problem(m, n, 3, random);
    const answer result = run(empty);
    EXPECT_TRUE(result.intact);
    EXPECT_EQ(result.variant, matmul_variant::automatic);
  }
}

TEST(matmul, one_special_element_reaches_its_row_or_column_alone) {
  std::mt19937_64 random(10);
  const float inf = std::numeric_limits<float>::infinity();
  const problem plain = random_problem(67, 35, 70, random);
  const answer before = run(plain);
  for (const float special : {inf, -inf, std::nanf("")}) {
    for (const bool in_a : {true, false}) {
      problem p = plain;
      const int64_t at = static_cast<int64_t>(random() % 67) % (in_a ? 67 : 35),
                    l = static_cast<int64_t>(random() % 70);
      (in_a ? p.a[static_cast<size_t>(at * 70 + l)] : p.b[static_cast<size_t>(l * 35 + at)]) = special;
      // Beside it zeros of both signs and the smallest numbers.
      const float beside[] = {0.0f, -0.0f, 0x1p-149f, -0x1p-149f, 0x1p-137f, 0x1p-126f, 1};
      for (size_t e = 0; e < std::size(beside); ++e)
        (in_a ? p.b[static_cast<size_t>(l) * 35 + e] : p.a[e * 70 + static_cast<size_t>(l)]) = beside[e];
      const answer result = run(p);
      EXPECT_EQ(wrong_bits(p, result.c), 0) << p.text();
      const reference::matmul_setting s = setting_of(p);
      for_each_element(p, [&](size_t e, const reference::matmul_operands& operands) {
        const bool reached = static_cast<int64_t>(in_a ? e / 35 : e % 35) == at;
        EXPECT_EQ(std::isfinite(result.c[e]), !reached);
        EXPECT_TRUE(reference::matmul_element(s, operands).judge(static_cast<double>(result.c[e])).accepted);
      });
      int64_t changed = 0;
      for (size_t e = 0; e < result.c.size(); ++e)
        changed +=
            (in_a ? e % 35 > 6 : e / 35 > 6) && std::isfinite(result.c[e]) && !same_bits(result.c[e], before.c[e]);
      EXPECT_EQ(changed, 0);
    }
  }
}

TEST(matmul, subnormals_and_the_sign_of_zero_are_those_of_the_chain) {
  std::mt19937_64 random(11);
  problem p = random_problem(40, 40, 21, random);
  for (float& v : p.a) v = std::ldexp(v, -static_cast<int>(random() % 150));
  for (float& v : p.b) v = std::ldexp(v, -static_cast<int>(random() % 100));
  for (size_t i = 0; i < p.b.size(); i += 3) p.b[i] = -0.0f;
  expect_right(p);
  problem zero = random_problem(3, 3, 1, random);
  zero.a.assign(3, -0x1p-100f);
  zero.b.assign(3, 0x1p-100f);
  EXPECT_TRUE(std::signbit(run(zero).c[0]));
  expect_right(zero);
}

// Shape, layout and aliasing.

TEST(matmul, shape_sweep) {
  std::mt19937_64 random(12);
  const int edges[] = {0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 128, 129, 130};
  const auto draw = [&] { return edges[random() % std::size(edges)]; };
  for (int round = 0; round < (k_plain ? 120 : 40); ++round) {
    problem p = random_problem(draw(), draw(), draw(), random, round);
    p.variant = round % 3 == 0 ? matmul_variant::automatic : k_tiled[random() % std::size(k_tiled)];
    const int64_t gaps[] = {0, 1, 3, 32};
    p.gap_a = gaps[random() % 4], p.gap_b = gaps[random() % 4], p.gap_c = gaps[random() % 4];
    p.offset = round % 4;
    if (round % 5 == 0) p.bias = random_values(p.n, random);
    if (round % 7 == 0) p.beta = 0.75f, p.c = random_values(p.m * p.n, random);
    expect_right(p);
  }
}

TEST(matmul, extents_beyond_one_tile) {
  std::mt19937_64 random(13);
  for (const auto& [m, n, variant] : {std::tuple{260, 70, matmul_variant::small},
                                      {140, 280, matmul_variant::square},
                                      {150, 520, matmul_variant::wide},
                                      {70, 300, matmul_variant::wide},
                                      {1100, 130, matmul_variant::square}}) {
    problem p = random_problem(m, n, k_plain ? 20 : 5, random, m % 4);
    p.variant = variant;
    // A power of two for each tile of 64 x 64: a misplaced one shows its number.
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t l = 0; l < p.k; ++l) {
        float& v = p.a[static_cast<size_t>(p.ta ? l * p.m + i : i * p.k + l)];
        v = std::ldexp(v, static_cast<int>(i / 64));
      }
    expect_right(p);
  }
}

TEST(matmul, k_padding) {
  std::mt19937_64 random(14);
  const problem p = random_problem(40, 50, 33, random);
  problem padded = p;
  padded.k = 48;
  ASSERT_EQ(p.plan().count, 1);
  ASSERT_EQ(padded.plan().count, 1);
  padded.a.assign(static_cast<size_t>(40 * 48), 0.0f);
  for (size_t i = 0; i < 40; ++i) std::copy_n(&p.a[i * 33], 33, &padded.a[i * 48]);
  padded.b.resize(static_cast<size_t>(48 * 50), 0.0f);
  const answer one = run(p), other = run(padded);
  for (size_t i = 0; i < one.c.size(); ++i) ASSERT_EQ(one.c[i], other.c[i]);  // zeros of both signs are equal
}

TEST(matmul, regions_cover_everything_once) {
  std::vector<int64_t> marks = {1, 2, 1000000, int64_t{1} << 40};
  for (const bool alone : {false, true}) {
    const auto regions = matmul_regions<float, float>({matmul_mode::ieee, alone});
    for (const matmul_region& r : regions)
      for (const auto* range : {r.m, r.n, r.k})
        for (const int64_t edge : {range[0], range[1]})
          for (const int64_t near : {edge - 1, edge, edge + 1})
            if (near >= 0) marks.push_back(near);
    std::sort(marks.begin(), marks.end());
    marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
    const auto within = [](const int64_t* range, int64_t x) {
      return x >= range[0] && (range[1] < 0 || x <= range[1]);
    };
    for (const int64_t m : marks)
      for (const int64_t n : marks)
        for (const int64_t k : marks) {
          const auto holds = [&](const matmul_region& r) { return within(r.m, m) && within(r.n, n) && within(r.k, k); };
          ASSERT_EQ(std::count_if(regions.begin(), regions.end(), holds), m > 0 && n > 0 ? 1 : 0)
              << m << ' ' << n << ' ' << k;
        }
  }
}

TEST(matmul, dispatch_is_that_of_the_regions) {
  const int64_t most = k_plain ? 3'000'000 : 100'000;
  int tried = 0;
  for (const bool alone : {false, true}) {
    for (const matmul_region& r : matmul_regions<float, float>({matmul_mode::ieee, alone})) {
      for (const int64_t m : {r.m[0], r.m[1]})
        for (const int64_t n : {r.n[0], r.n[1]}) {
          if (m < 0 || n < 0 || m * n > most) continue;
          problem p;
          p.m = m, p.n = n, p.k = r.k[0];
          p.options.rows_alone = alone;
          p.a.assign(static_cast<size_t>(m * p.k), 3.0f);
          p.b.assign(static_cast<size_t>(n * p.k), 5.0f);
          const answer result = run(p);
          EXPECT_EQ(result.variant, r.variant) << p.text();
          EXPECT_TRUE(std::all_of(result.c.begin(), result.c.end(), [&](float y) { return y == (p.k == 0 ? 0 : 15); }));
          ++tried;
        }
    }
  }
  EXPECT_GE(tried, k_plain ? 14 : 10);
}

TEST(matmul, mistakes_are_refused) {
  const auto message = [](const std::function<void(problem&, perceptron&)>& change, int64_t less = 0,
                          float* in_c = nullptr, int64_t lda = 4) -> std::string {
    static std::vector<float> a(64, 1.0f), b(64, 1.0f), c(64);
    problem p;
    p.m = 3, p.n = 5, p.k = 4;
    perceptron epilogue;
    change(p, epilogue);
    simt::emulation stream;
    try {
      matmul<float, float>(p.ta ? trans::yes : trans::none, trans::none, p.m, p.n, p.k, 1, a.data(), lda, b.data(), 5,
                           0, in_c != nullptr ? b.data() : c.data(), 5 - less, epilogue, p.options, nullptr, 0,
                           &stream);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  const auto nothing = [](problem&, perceptron&) {};
  EXPECT_EQ(message(nothing), "");
  EXPECT_EQ(message([](problem& p, perceptron&) { p.m = -1; }), "m is -1, must be >= 0");
  EXPECT_EQ(message([](problem& p, perceptron&) { p.k = -7; }), "k is -7, must be >= 0");
  EXPECT_EQ(message(nothing, 1), "ldc is 4, must be >= n = 5");
  EXPECT_EQ(message(nothing, 0, nullptr, 3), "lda is 3, must be >= k = 4");
  EXPECT_EQ(message([](problem& p, perceptron&) { p.ta = true; }, 0, nullptr, 2), "lda is 2, must be >= m = 3");
  EXPECT_EQ(message([](problem& p, perceptron&) { p.options.mode = static_cast<matmul_mode>(7); }),
            "mode is 7, must be 0 (ieee), 1 (tf32x3), 2 (bf16x6), 3 (tf32x1) or 4 (bf16x1)");
  float here = 0;
  EXPECT_NE(message(nothing, 0, &here).find("c overlaps b"), std::string::npos);
  // A workspace that is too small, or not aligned.
  std::mt19937_64 random(15);
  const problem p = random_problem(20, 30, 700, random);
  const int64_t bytes = matmul_work_bytes<float, float>({}, p.m, p.n, p.k);
  ASSERT_GT(bytes, 0);
  std::vector<float> c(600), work(static_cast<size_t>(bytes / 4) + 4);
  simt::emulation stream;
  const auto call = [&](void* space, int64_t size) {
    matmul<float, float>(trans::none, trans::none, p.m, p.n, p.k, 1, p.a.data(), p.k, p.b.data(), p.n, 0, c.data(), p.n,
                         {}, {}, space, size, &stream);
  };
  EXPECT_THROW(call(work.data(), bytes - 1), std::invalid_argument);
  EXPECT_THROW(call(nullptr, bytes), std::invalid_argument);
  EXPECT_THROW(call(work.data() + (reinterpret_cast<uintptr_t>(work.data()) % 16 == 0 ? 1 : 0), bytes),
               std::invalid_argument);
}

// Determinism and hazards.

TEST(matmul, work_may_hold_anything) {
  std::mt19937_64 random(16);
  problem p = random_problem(30, 21, 900, random);
  ASSERT_GT(p.plan().count, 1);
  ASSERT_TRUE(std::isnan(std::bit_cast<float>(uint32_t{0x7fc00000})));
  for (const uint32_t pattern : {0x7fc00000u, 0x7f7fffffu, 0x0u, 0xffffffffu}) {
    p.work_pattern = pattern;
    expect_right(p);
  }
}

TEST(matmul, every_schedule_gives_the_same_bits) {
  std::mt19937_64 random(17);
  for (const auto& [m, n, k] : {std::array{70, 66, 90}, {10, 70, 700}}) {
    problem p = random_problem(m, n, k, random, m % 4);
    for (const char* schedule :
         {"fair", "greedy", "reverse", "random:1", "random:2", "pct:3", "pct_warp:4", "preempt:5"}) {
      p.schedule = schedule;
      expect_right(p);
    }
  }
}

}  // namespace
}  // namespace warpcheck::self
