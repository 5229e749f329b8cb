// The C++ API of the matrix product: plans, boxes of the dispatch, refusals; what no case can bring about, another
// device; and rows that are not finite in a product whose k is cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/matmul/matmul.hpp"
#include "kernels/matmul/parts.hpp"
#include "simt/emulation.hpp"

namespace warpcheck {
namespace {

constexpr matmul_mode k_modes[] = {matmul_mode::ieee, matmul_mode::tf32x3, matmul_mode::bf16x6};
constexpr matmul_mode k_splits[] = {matmul_mode::tf32x3, matmul_mode::bf16x6};

// A m x k, B k x n and C m x n of small integers, whose product is exact in every mode.
struct matmul_call {
  matmul_call(int64_t m, int64_t n, int64_t k) : m(m), n(n), k(k) {
    for (int64_t i = 0; i < m * k; ++i) a.push_back(static_cast<float>(i * 7 % 5 - 2));
    for (int64_t i = 0; i < k * n; ++i) b.push_back(static_cast<float>(i * 11 % 7 - 3));
  }
  // C, and in `ran` the variant that made it.
  std::vector<float> run(matmul_options options, matmul_variant variant = matmul_variant::automatic) {
    std::vector<float> c(static_cast<size_t>(m * n), std::nanf(""));
    const int64_t bytes = matmul_work_bytes<float, float>(options, m, n, k);
    std::vector<float> work(static_cast<size_t>(bytes / 4) + 4, std::nanf(""));
    const auto misaligned = static_cast<int64_t>(reinterpret_cast<uintptr_t>(work.data()) % 16);
    ran = matmul_with<float, float>(variant, trans::none, trans::none, m, n, k, 1, a.data(), k, b.data(), n, 0,
                                    c.data(), n, {}, options, work.data() + (16 - misaligned) % 16 / 4, bytes, &stream);
    EXPECT_TRUE(stream.ok());
    return c;
  }
  double exactly(int64_t i, int64_t j) const {
    double sum = 0;
    for (int64_t l = 0; l < k; ++l)
      sum += static_cast<double>(a[static_cast<size_t>(i * k + l)]) *
             static_cast<double>(b[static_cast<size_t>(l * n + j)]);
    return sum;
  }

  int64_t m, n, k;
  std::vector<float> a, b;
  matmul_variant ran = matmul_variant::automatic;
  simt::emulation stream;
};

template <class Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// Every element of k is in one slice, and no slice is empty.
TEST(matmul_api, slices_cover_k) {
  for (const matmul_mode mode : k_modes) {
    int64_t cut = 0, of_one = 0;
    for (int64_t k = 1; k <= 3000; ++k) {
      const matmul_slices s = matmul_plan<float, float>({mode, false}, 20, 30, k);
      ASSERT_GE(s.count * s.length, k);
      ASSERT_LT((s.count - 1) * s.length, k);
      ASSERT_TRUE(mode == matmul_mode::ieee || s.count == 1 || s.length % 64 == 0) << k;
      cut += s.count > 1;
      of_one += s.count > 1 && k % s.length == 1;
    }
    EXPECT_GT(cut, 100);
    EXPECT_GT(of_one, 0);
  }
}

TEST(matmul_api, plans_of_rows_alone_are_those_of_one_row) {
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
}

TEST(matmul_api, boxes_of_the_dispatch_cover_every_product_once) {
  std::vector<int64_t> marks = {1, 2, 1000000, int64_t{1} << 40};
  const auto within = [](const int64_t* range, int64_t x) { return x >= range[0] && (range[1] < 0 || x <= range[1]); };
  for (const bool alone : {false, true}) {
    const auto boxes = matmul_regions<float, float>({matmul_mode::ieee, alone});
    for (const matmul_region& r : boxes)
      for (const auto* range : {r.m, r.n, r.k})
        for (const int64_t edge : {range[0], range[1]})
          for (const int64_t near : {edge - 1, edge, edge + 1})
            if (near >= 0) marks.push_back(near);
    std::ranges::sort(marks);
    marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
    for (const int64_t m : marks)
      for (const int64_t n : marks)
        for (const int64_t k : marks) {
          const auto holds = [&](const matmul_region& r) { return within(r.m, m) && within(r.n, n) && within(r.k, k); };
          ASSERT_EQ(std::ranges::count_if(boxes, holds), m > 0 && n > 0 ? 1 : 0) << m << ' ' << n << ' ' << k;
        }
  }
}

// A split leaves rows and columns that are not finite as they were: they are multiplied apart, whole.
TEST(matmul_api, rows_that_are_not_finite_are_whole_where_k_is_cut) {
  for (const matmul_mode mode : k_splits) {
    const matmul_options options{mode, false};
    matmul_call call(20, 30, 700);
    ASSERT_GT((matmul_plan<float, float>(options, call.m, call.n, call.k).count), 1);
    call.a[5 * 700 + 699] = std::numeric_limits<float>::infinity();
    call.b[7] = std::nanf("");
    const std::vector<float> c = call.run(options);
    for (int64_t i = 0; i < call.m; ++i)
      for (int64_t j = 0; j < call.n; ++j) {
        const auto actual = static_cast<double>(c[static_cast<size_t>(i * call.n + j)]), exact = call.exactly(i, j);
        if (std::isnan(exact))
          EXPECT_TRUE(std::isnan(actual)) << i << ' ' << j;
        else
          EXPECT_EQ(actual, exact) << i << ' ' << j;
      }
  }
}

TEST(matmul_api, other_compute_capabilities_take_single_warps) {
  for (const matmul_mode mode : k_splits)
    for (const unsigned arch : {80u, 89u, 100u}) {
      matmul_call call(30, 70, 90);
      call.stream.sm_arch = arch;
      const std::vector<float> c = call.run({mode, false}, matmul_variant::warpgroups);
      EXPECT_EQ(call.ran, matmul_variant::warps) << arch;
      for (int64_t i = 0; i < call.m; ++i)
        for (int64_t j = 0; j < call.n; ++j)
          ASSERT_EQ(c[static_cast<size_t>(i * call.n + j)], static_cast<float>(call.exactly(i, j))) << i << ' ' << j;
    }
}

TEST(matmul_api, huge_operands_are_cut_towards_zero) {
  for (const float sign : {1.0f, -1.0f}) {
    const volatile float huge = sign * std::numeric_limits<float>::max();
    const volatile float infinite = sign * std::numeric_limits<float>::infinity();
    EXPECT_EQ(simt::to_float(matmul_nearest_bf16(huge)), sign * 0x1.fep+127f);
    EXPECT_EQ(matmul_nearest_tf32(huge), sign * 0x1.ffcp+127f);
    EXPECT_EQ(simt::to_float(matmul_nearest_bf16(infinite)), infinite);
  }
}

TEST(matmul_api, mistakes_are_refused_in_a_sentence) {
  std::vector<float> a(64, 1.0f), b(64, 1.0f), c(64);
  simt::emulation stream;
  const auto message = [&](int64_t m, int64_t k, int64_t lda, int64_t ldc, float* to, trans ta = trans::none,
                           matmul_options options = {}) {
    return refusal_of([&] {
      matmul<float, float>(ta, trans::none, m, 5, k, 1, a.data(), lda, b.data(), 5, 0, to, ldc, {}, options, nullptr, 0,
                           &stream);
    });
  };
  EXPECT_EQ(message(3, 4, 4, 5, c.data()), "nothing was thrown");
  EXPECT_EQ(message(-1, 4, 4, 5, c.data()), "m is -1, must be >= 0");
  EXPECT_EQ(message(3, -7, 4, 5, c.data()), "k is -7, must be >= 0");
  EXPECT_EQ(message(3, 4, 4, 4, c.data()), "ldc is 4, must be >= n = 5");
  EXPECT_EQ(message(3, 4, 3, 5, c.data()), "lda is 3, must be >= k = 4");
  EXPECT_EQ(message(3, 4, 2, 5, c.data(), trans::yes), "lda is 2, must be >= m = 3");
  EXPECT_EQ(message(3, 4, 4, 5, c.data(), trans::none, {static_cast<matmul_mode>(7), false}),
            "mode is 7, must be 0 (ieee), 1 (tf32x3), 2 (bf16x6), 3 (tf32x1) or 4 (bf16x1)");
  EXPECT_NE(message(3, 4, 4, 5, b.data()).find("c overlaps b"), std::string::npos);
  const auto forced = [](matmul_mode mode, matmul_variant variant) {
    return refusal_of([&] { matmul_call(4, 5, 6).run({mode, false}, variant); });
  };
  EXPECT_EQ(forced(matmul_mode::ieee, matmul_variant::warps),
            "variant is 6, must be 0 (automatic) or 2 to 5 for these types and this mode");
  EXPECT_EQ(forced(matmul_mode::tf32x3, matmul_variant::wide),
            "variant is 4, must be 0 (automatic), 2, 3 or 6 to 8 for these types and this mode");
  EXPECT_EQ(forced(matmul_mode::tf32x1, matmul_variant::small),
            "variant is 3, must be 0 (automatic) or 6 to 8 for these types and this mode");
  EXPECT_EQ(refusal_of([] {
              matmul_work_bytes<simt::f16, float>({matmul_mode::tf32x3, false}, 4, 5, 6);
            }),
            "mode is 1, must be 0 (ieee) for 16-bit inputs");
  const matmul_options split{matmul_mode::bf16x6, false};
  EXPECT_THROW((matmul_work_bytes<float, float>(split, int64_t{1} << 40, 5, int64_t{1} << 40)), std::invalid_argument);
  EXPECT_GT((matmul_work_bytes<float, float>(split, 1 << 20, 1 << 20, 1 << 20)), int64_t{1} << 42);
}

}  // namespace
}  // namespace warpcheck
