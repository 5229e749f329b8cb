// The matrix product on tensor cores, on the emulated device, in each flavour: every element within its bound, the same
// bits of every variant, special values as in f32.
#include <gtest/gtest.h>

#include <algorithm>

#include "properties/self/matmul/problem.hpp"

namespace warpcheck::self {
namespace {

#ifdef WARPCHECK_PLAIN
constexpr bool k_plain = true;
#else
constexpr bool k_plain = false;
#endif

struct kind {
  self::types types;
  matmul_mode mode;
};
constexpr kind k_kinds[] = {{types::f32, matmul_mode::bf16x6}, {types::f32, matmul_mode::tf32x3},
                            {types::f16, matmul_mode::ieee},   {types::f16_to_f32, matmul_mode::ieee},
                            {types::bf16, matmul_mode::ieee},  {types::bf16_to_f32, matmul_mode::ieee}};
constexpr kind k_splits[] = {k_kinds[0], k_kinds[1]};
constexpr matmul_variant k_small_tiles[] = {matmul_variant::warps, matmul_variant::warpgroup};

problem of_kind(const kind& k, int64_t m, int64_t n, int64_t depth, std::mt19937_64& random, int layout = 0) {
  problem p = random_problem(m, n, depth, random, layout);
  p.types = k.types;
  p.options.mode = k.mode;
  round_operands(p);
  return p;
}

void expect_within(const problem& p) {
  const answer result = run(p);
  EXPECT_TRUE(result.intact) << p.text();
  EXPECT_LE(worst_error_ratio(p, result.c), 1) << p.text();
}

// Matches the reference.

TEST(matmul_tensor, component_bound) {
  std::mt19937_64 random(1);
  for (const kind& k : k_kinds) {
    for (int layout = 0; layout < 4; ++layout) {
      for (const matmul_variant variant : k_small_tiles) {
        problem p = of_kind(k, 67, 70, 85, random, layout);
        p.variant = variant;
        expect_within(p);
        if (!k_plain && layout % 3 != 0) continue;
        p.alpha = -0.3f, p.beta = 1.7f;
        p.c = random_values(p.m * p.n, random);
        p.bias = random_values(p.n, random);
        round_operands(p);
        expect_within(p);
        p.sigmoid = true, p.mu = 0.25f, p.sigma = -0.5f;
        expect_within(p);
      }
    }
  }
}

TEST(matmul_tensor, large_tiles) {
  std::mt19937_64 random(2);
  for (const kind& k : k_kinds) {
    // More rows than a tile, and columns that end in its second half.
    problem p = of_kind(k, k_plain ? 140 : 70, 200, k_plain ? 85 : 33, random, static_cast<int>(random() % 4));
    p.variant = matmul_variant::warpgroups;
    const answer large = run(p);
    EXPECT_TRUE(large.intact) << p.text();
    EXPECT_EQ(large.variant, matmul_variant::warpgroups);
    EXPECT_LE(worst_error_ratio(p, large.c), 1) << p.text();
    p.variant = matmul_variant::warps;
    EXPECT_EQ(different(run(p).c, large.c), 0) << p.text();
  }
}

TEST(matmul_tensor, variants_have_the_same_bits) {
  std::mt19937_64 random(3);
  for (const kind& k : k_kinds) {
    for (const int64_t depth : {1, 16, 63, 64, 65, 200, 700}) {
      if (!k_plain && depth == 200) continue;
      problem p = of_kind(k, 70, 40, depth, random, static_cast<int>(random() % 4));
      p.variant = matmul_variant::warps;
      const answer warps = run(p);
      p.variant = matmul_variant::warpgroup;
      const answer warpgroup = run(p);
      EXPECT_EQ(warpgroup.variant, matmul_variant::warpgroup);
      EXPECT_EQ(different(warps.c, warpgroup.c), 0) << p.text();
    }
  }
}

TEST(matmul_tensor, long_sums_of_one_sign) {
  // Cut sums are biased.
  std::mt19937_64 random(4);
  for (const kind& k : k_kinds) {
    for (const matmul_variant variant : k_small_tiles) {
      problem p = of_kind(k, 9, 12, k_plain ? 3000 : 600, random);
      for (auto* x : {&p.a, &p.b})
        for (float& v : *x) v = std::fabs(v);
      p.variant = variant;
      expect_within(p);
    }
  }
}

TEST(matmul_tensor, accumulators_are_promoted) {
  // Beside a product of 1 in its accumulator a step loses products just below 2^-25; beside none it keeps them.
  for (const kind& k : k_kinds) {
    if (k.types != types::f16_to_f32 && k.types != types::bf16_to_f32) continue;
    for (const matmul_variant variant : k_small_tiles) {
      problem p;
      p.types = k.types;
      p.m = p.n = 3, p.k = 900;
      p.variant = variant;
      ASSERT_EQ(p.plan().count, 1);
      for (int64_t i = 0; i < 3 * p.k; ++i) {
        p.a.push_back(i % p.k == 0 ? 1.0f : 0x1p-13f);
        p.b.push_back(i < 3 ? 1.0f : 0x1.f8p-13f);
      }
      expect_within(p);
    }
  }
}

TEST(matmul_tensor, slices_and_what_is_left) {
  std::mt19937_64 random(5);
  for (const kind& k : k_kinds) {
    problem p = of_kind(k, 20, 30, 1, random);
    int64_t cut = 0;
    for (p.k = 1; p.k <= 3000; ++p.k) {
      const matmul_slices s = p.plan();
      ASSERT_GE(s.count * s.length, p.k);
      ASSERT_LT((s.count - 1) * s.length, p.k);
      ASSERT_TRUE(s.count == 1 || s.length % 64 == 0);
      if (s.count > 1 && p.k % s.length == 1) cut = p.k;
    }
    ASSERT_GT(cut, 0);
    p = of_kind(k, 20, 30, cut, random);
    p.alpha = 1.1f, p.beta = -0.7f;
    p.c = random_values(p.m * p.n, random);
    p.bias = random_values(p.n, random);
    round_operands(p);
    expect_within(p);
  }
}

TEST(matmul_tensor, integers_are_exact) {
  std::mt19937_64 random(6);
  for (const kind& k : k_kinds) {
    if (k.types == types::f16 || k.types == types::bf16) continue;
    const int most = k.types == types::f16_to_f32 || k.mode == matmul_mode::tf32x3 ? 300 : 256;
    problem p = of_kind(k, 66, 41, 150, random, static_cast<int>(random() % 4));
    for (auto* x : {&p.a, &p.b})
      for (float& v : *x) v = static_cast<float>(static_cast<int>(random() % (2 * most + 1)) - most);
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

// A bit far below the first part is in another part; each product of parts brings one.
TEST(matmul_tensor, low_parts) {
  for (const kind& k : k_splits) {
    for (const matmul_variant variant : k_small_tiles) {
      problem p;
      p.types = k.types, p.options.mode = k.mode;
      p.m = p.n = 23, p.k = 1;
      p.variant = variant;
      for (int i = 0; i < 23; ++i) p.a.push_back(1 + std::ldexp(1.0f, -i - 1));
      p.b = p.a;
      const answer result = run(p);
      EXPECT_LE(worst_error_ratio(p, result.c), 1) << p.text();
      // Against 1 the parts bring back the number itself.
      p.n = 1;
      p.b = {1};
      const int bits = k.mode == matmul_mode::tf32x3 ? 22 : 23;
      const std::vector<float> same = run(p).c;
      for (int i = 0; i < bits; ++i)
        EXPECT_EQ(same[static_cast<size_t>(i)], p.a[static_cast<size_t>(i)]) << p.text() << i;
    }
  }
}

// Special values.

TEST(matmul_tensor, what_is_not_read_may_be_anything) {
  std::mt19937_64 random(7);
  for (const kind& k : k_kinds) {
    problem p = of_kind(k, 20, 70, 30, random);
    p.bias = random_values(p.n, random);
    p.beta = 0.5f;
    p.c = random_values(p.m * p.n, random);
    for (auto* x : {&p.a, &p.b})
      for (float& v : *x) v = std::nanf("");
    p.alpha = 0;
    round_operands(p);
    expect_within(p);
    p.alpha = 3, p.k = 0;
    p.a.clear(), p.b.clear();
    expect_within(p);
    EXPECT_EQ(run(p).variant, matmul_variant::epilogue);
    p.m = 0;
    p.c.clear();
    EXPECT_TRUE(run(p).intact);
  }
}

TEST(matmul_tensor, one_special_element_reaches_its_row_or_column_alone) {
  std::mt19937_64 random(8);
  for (const kind& k : k_kinds) {
    const problem plain = of_kind(k, 67, 35, 70, random);
    const answer before = run(plain);
    for (const float special : {INFINITY, -INFINITY, std::nanf("")}) {
      for (const bool in_a : {true, false}) {
        problem p = plain;
        const int64_t at = static_cast<int64_t>(random() % 67) % (in_a ? 67 : 35),
                      l = static_cast<int64_t>(random() % 70);
        (in_a ? p.a[static_cast<size_t>(at * 70 + l)] : p.b[static_cast<size_t>(l * 35 + at)]) = special;
        // Beside it zeros of both signs and the smallest numbers.
        const float beside[] = {0.0f, -0.0f, 0x1p-149f, -0x1p-149f, 0x1p-137f, 0x1p-126f, 1};
        for (size_t e = 0; e < std::size(beside); ++e)
          (in_a ? p.b[static_cast<size_t>(l) * 35 + e] : p.a[e * 70 + static_cast<size_t>(l)]) = beside[e];
        round_operands(p);
        p.variant = k_small_tiles[random() % 2];
        const answer result = run(p);
        EXPECT_TRUE(result.intact);
        EXPECT_LE(worst_error_ratio(p, result.c), 1) << p.text();
        for (size_t e = 0; e < result.c.size(); ++e) {
          const bool reached = static_cast<int64_t>(in_a ? e / 35 : e % 35) == at;
          ASSERT_EQ(std::isfinite(result.c[e]), !reached) << p.text() << " at " << e;
          const bool changed = in_a ? e % 35 <= 6 : e / 35 <= 6;
          ASSERT_TRUE(reached || changed || same_bits(result.c[e], before.c[e])) << p.text() << " at " << e;
        }
      }
    }
  }
}

TEST(matmul_tensor, flagged_rows_and_columns_keep_the_epilogue) {
  std::mt19937_64 random(9);
  for (const kind& k : k_splits) {
    for (const int64_t depth : {40, 700}) {  // uncut, and in slices
      problem p = of_kind(k, 70, 66, depth, random, 1);
      p.alpha = -2, p.beta = 0.5f;
      p.c = random_values(p.m * p.n, random);
      p.c[5 * 66 + 3] = INFINITY;  // not an operand's: no flag
      p.bias = random_values(p.n, random);
      p.a[0] = INFINITY;                              // row 0
      p.b[static_cast<size_t>(p.n) - 1] = -INFINITY;  // the last column
      p.b[static_cast<size_t>(p.n) + 7] = std::nanf("");
      expect_within(p);
      p.sigmoid = true, p.sigma = 0.25f;
      expect_within(p);
    }
  }
}

TEST(matmul_tensor, no_infinity_below_the_largest_number) {
  // Where a first part rounded to nearest would be infinite; against small and exactly representable partners.
  for (const kind& k : k_splits) {
    for (const float big :
         {0x1.fffffep+127f, 0x1.ff8p+127f, 0x1.ffp+127f, 0x1.fefffep+127f, 0x1.ffep+127f, 0x1.fffp+127f}) {
      problem p;
      p.types = k.types, p.options.mode = k.mode;
      p.m = p.n = 2, p.k = 3;
      p.a = {big, 0, 0, 0, -big, 0x1p-20f};
      p.b = {0.5f, 0x1p-30f, 1.25f, 0.3f, 0, -1};
      const answer result = run(p);
      for (const float y : result.c) EXPECT_TRUE(std::isfinite(y) || std::fabs(y) > 0x1p+127f) << big;
      EXPECT_TRUE(std::isfinite(result.c[0]) && std::isfinite(result.c[1])) << p.text() << ' ' << big;
      EXPECT_LE(worst_error_ratio(p, result.c), 1) << p.text() << ' ' << big;
    }
  }
}

TEST(matmul_tensor, range_sweep) {
  std::mt19937_64 random(10);
  for (const kind& k : k_kinds) {
    const bool half = k.types == types::f16 || k.types == types::f16_to_f32;
    for (int round = 0; round < (k_plain ? 30 : 6); ++round) {
      problem p = of_kind(k, 13, 10, 40, random);
      // Each row and column has its power of two; their products stay below the largest number.
      const auto scale = [&](std::vector<float>& x, int64_t rows, int64_t cols, bool by_row) {
        for (int64_t line = 0; line < (by_row ? rows : cols); ++line) {
          const int e = half ? static_cast<int>(random() % 20) - 18 : static_cast<int>(random() % 205) - 148;
          for (int64_t other = 0; other < (by_row ? cols : rows); ++other) {
            float& v = x[static_cast<size_t>(by_row ? line * cols + other : other * cols + line)];
            v = random() % 7 == 0 ? 0.0f : std::ldexp(v, e);
          }
        }
      };
      scale(p.a, p.m, p.k, true);
      scale(p.b, p.k, p.n, false);
      round_operands(p);
      expect_within(p);
    }
  }
}

// Shape, layout and aliasing.

TEST(matmul_tensor, shape_sweep) {
  std::mt19937_64 random(11);
  const int edges[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 128, 129, 130};
  const auto draw = [&] { return edges[random() % std::size(edges)]; };
  for (int round = 0; round < (k_plain ? 90 : 24); ++round) {
    problem p =
        of_kind(k_kinds[round % std::size(k_kinds)], draw(), draw(), draw(), random, static_cast<int>(random() % 4));
    p.variant = round % 3 == 0 ? matmul_variant::automatic : k_small_tiles[random() % 2];
    const int64_t gaps[] = {0, 1, 3, 8, 32};
    p.gap_a = gaps[random() % 5], p.gap_b = gaps[random() % 5], p.gap_c = gaps[random() % 5];
    p.offset = static_cast<int64_t>(random() % 4);
    if (round % 5 == 0) p.bias = random_values(p.n, random);
    if (round % 7 == 0) p.beta = 0.75f, p.c = random_values(p.m * p.n, random);
    round_operands(p);
    expect_within(p);
  }
}

TEST(matmul_tensor, dispatch_is_that_of_the_regions) {
  int tried = 0;
  for (const kind& k : {k_kinds[0], k_kinds[3]})
    for (const bool alone : {false, true}) {
      const matmul_options options{k.mode, alone};
      const auto regions =
          k.types == types::f32 ? matmul_regions<float, float>(options) : matmul_regions<simt::f16, float>(options);
      const auto inside = [](const int64_t* range, int64_t x) {
        return x >= range[0] && (range[1] < 0 || x <= range[1]);
      };
      for (const matmul_region& r : regions)
        for (const int64_t m : {r.m[0], r.m[1], r.m[1] + 1})
          for (const int64_t n : {r.n[0], r.n[1], r.n[1] + 1}) {
            if (m < 1 || n < 1 || m * n > (k_plain ? 300'000 : 70'000)) continue;
            problem p;
            p.types = k.types, p.options = options;
            p.m = m, p.n = n, p.k = r.k[0];
            p.a.assign(static_cast<size_t>(m * p.k), 3.0f);
            p.b.assign(static_cast<size_t>(n * p.k), 5.0f);
            const auto holds = [&](const matmul_region& one) {
              return inside(one.m, m) && inside(one.n, n) && inside(one.k, p.k);
            };
            ASSERT_EQ(std::count_if(regions.begin(), regions.end(), holds), 1) << p.text();
            const answer result = run(p);
            EXPECT_EQ(result.variant, std::find_if(regions.begin(), regions.end(), holds)->variant) << p.text();
            EXPECT_TRUE(
                std::all_of(result.c.begin(), result.c.end(), [&](float y) { return y == (p.k == 0 ? 0 : 15); }));
            ++tried;
          }
    }
  EXPECT_GE(tried, k_plain ? 40 : 20);
}

TEST(matmul_tensor, rows_alone) {
  std::mt19937_64 random(12);
  for (const kind& k : {k_kinds[0], k_kinds[2]}) {
    problem p = of_kind(k, 80, 50, 700, random);
    p.options.rows_alone = true;
    const answer whole = run(p);
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
        for (int64_t j = 0; j < p.n; ++j)
          ASSERT_TRUE(
              same_bits(result.c[static_cast<size_t>(i * p.n + j)], whole.c[static_cast<size_t>((79 - i) * p.n + j)]));
    }
  }
}

TEST(matmul_tensor, other_compute_capabilities_take_single_warps) {
  std::mt19937_64 random(13);
  for (const kind& k : k_kinds) {
    problem p = of_kind(k, 30, 70, 90, random);
    for (const unsigned arch : {80u, 89u, 100u}) {
      p.sm_arch = arch;
      p.variant = matmul_variant::warpgroups;
      const answer result = run(p);
      EXPECT_EQ(result.variant, matmul_variant::warps);
      EXPECT_LE(worst_error_ratio(p, result.c), 1) << p.text();
    }
  }
}

TEST(matmul_tensor, mistakes_are_refused) {
  std::mt19937_64 random(14);
  const auto message = [](const problem& p) -> std::string {
    try {
      run(p);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  problem p = of_kind(k_kinds[3], 4, 5, 6, random);
  p.options.mode = matmul_mode::tf32x3;
  EXPECT_EQ(message(p), "mode is 1, must be 0 (ieee) for 16-bit inputs");
  p.options.mode = matmul_mode::ieee;
  p.variant = matmul_variant::small;
  EXPECT_EQ(message(p), "variant is 3, must be 0 (automatic) or 6 to 8 for these types and this mode");
  p = of_kind(k_kinds[0], 4, 5, 6, random);
  p.options.mode = matmul_mode::ieee;
  p.variant = matmul_variant::warps;
  EXPECT_EQ(message(p), "variant is 6, must be 0 (automatic) or 2 to 5 for these types and this mode");
  const matmul_options split{matmul_mode::bf16x6, false};
  EXPECT_THROW((matmul_work_bytes<float, float>(split, int64_t{1} << 40, 5, int64_t{1} << 40)), std::invalid_argument);
  EXPECT_GT((matmul_work_bytes<float, float>(split, 1 << 20, 1 << 20, 1 << 20)), int64_t{1} << 42);
}

// Determinism and hazards.

TEST(matmul_tensor, work_may_hold_anything) {
  std::mt19937_64 random(15);
  for (const kind& k : k_kinds) {
    problem p = of_kind(k, 30, 21, k.mode == matmul_mode::ieee ? 4000 : 900, random);
    ASSERT_GT(p.plan().count, 1);
    const answer expected = run(p);
    for (const uint32_t pattern : {0x7f7fffffu, 0x0u, 0xffffffffu}) {
      p.work_pattern = pattern;
      EXPECT_EQ(different(run(p).c, expected.c), 0) << p.text();
    }
  }
}

TEST(matmul_tensor, every_schedule_gives_the_same_bits) {
  std::mt19937_64 random(16);
  for (const kind& k : k_kinds) {
    for (const matmul_variant variant : k_small_tiles) {
      problem p = of_kind(k, 70, 66, 150, random, static_cast<int>(random() % 4));
      p.variant = variant;
      const answer expected = run(p);
      for (const char* schedule : {"greedy", "reverse", "random:1", "pct:3", "pct_warp:4", "preempt:5"}) {
        if (!k_plain && random() % 3 != 0) continue;
        p.schedule = schedule;
        EXPECT_EQ(different(run(p).c, expected.c), 0) << p.text();
      }
    }
  }
}

}  // namespace
}  // namespace warpcheck::self
