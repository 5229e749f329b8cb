// The C++ API of argsort, and the images of its keys.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include "kernels/argsort/argsort.hpp"
#include "kernels/primitives/sort_image.hpp"
#include "simt/emulation.hpp"

namespace warpcheck {
namespace {

// Floats from -Inf to +Inf in their order: number `i` of k_numbers.
constexpr uint32_t k_infinity = 0x7f800000;
constexpr uint64_t k_numbers = 2 * (uint64_t{k_infinity} + 1);
float number(uint64_t i) {
  const auto half = uint64_t{k_infinity} + 1;
  return std::bit_cast<float>(i < half ? 0x80000000u | static_cast<uint32_t>(half - 1 - i)
                                       : static_cast<uint32_t>(i - half));
}

// Images of all numbers from `first` on, each `step`-th.
void require_monotone(uint64_t first, uint64_t last, uint64_t step) {
  uint64_t wrong = 0;
  for (uint64_t i = first; i + step < last; i += step) {
    const float a = number(i), b = number(i + step);
    const uint32_t up = sort_image<float>::of(a, false), next_up = sort_image<float>::of(b, false);
    const uint32_t down = sort_image<float>::of(a, true), next_down = sort_image<float>::of(b, true);
    wrong += a == b ? up != next_up || down != next_down : up >= next_up || down <= next_down;
    wrong += up == ~0u || down == ~0u || next_up == ~0u || next_down == ~0u;
  }
  EXPECT_EQ(wrong, 0u);
}

void require_nan_last(uint32_t step) {
  uint64_t wrong = 0;
  for (uint64_t payload = k_infinity + 1; payload < 0x80000000; payload += step)
    for (const uint32_t sign : {0u, 0x80000000u})
      for (const bool descending : {false, true})
        wrong += sort_image<float>::of(std::bit_cast<float>(sign | static_cast<uint32_t>(payload)), descending) != ~0u;
  EXPECT_EQ(wrong, 0u);
}

TEST(argsort_api, images_are_monotone) {
  require_monotone(0, k_numbers, 9973);
  const auto zero = uint64_t{k_infinity} + 1;
  for (const uint64_t centre : {uint64_t{5000}, zero - 0x800000, zero, zero + 0x800000, k_numbers - 5000})
    require_monotone(centre - 5000, centre + 5000, 1);
  require_nan_last(997);
}

TEST(argsort_api, nightly_images_of_all_floats_are_monotone) {
  require_monotone(0, k_numbers, 1);
  require_nan_last(1);
}

TEST(argsort_api, images_of_doubles_and_integers) {
  const double doubles[] = {-INFINITY, -1e308, -1.5, -1, -5e-324, 0, 5e-324, 1, 1.5, 1e308, INFINITY};
  for (size_t i = 0; i + 1 < std::size(doubles); ++i) {
    EXPECT_LT(sort_image<double>::of(doubles[i], false), sort_image<double>::of(doubles[i + 1], false)) << doubles[i];
    EXPECT_GT(sort_image<double>::of(doubles[i], true), sort_image<double>::of(doubles[i + 1], true)) << doubles[i];
  }
  EXPECT_EQ(sort_image<double>::of(-0.0, false), sort_image<double>::of(0.0, false));
  EXPECT_EQ(sort_image<double>::of(-0.0, true), sort_image<double>::of(0.0, true));
  for (const bool descending : {false, true}) {
    EXPECT_EQ(sort_image<double>::of(-std::numeric_limits<double>::quiet_NaN(), descending), ~uint64_t{0});
    EXPECT_LT(sort_image<double>::of(INFINITY, descending), ~uint64_t{0});
    EXPECT_LT(sort_image<double>::of(-INFINITY, descending), ~uint64_t{0});
  }
  const int32_t integers[] = {INT32_MIN, -7, -1, 0, 1, 7, INT32_MAX};
  for (size_t i = 0; i + 1 < std::size(integers); ++i) {
    EXPECT_LT(sort_image<int32_t>::of(integers[i], false), sort_image<int32_t>::of(integers[i + 1], false));
    EXPECT_GT(sort_image<int32_t>::of(integers[i], true), sort_image<int32_t>::of(integers[i + 1], true));
  }
}

TEST(argsort_api, any_workspace_contents_give_the_same_result) {
  constexpr int64_t cols = 20000;
  std::vector<float> keys(cols);
  for (int64_t i = 0; i < cols; ++i) keys[static_cast<size_t>(i)] = static_cast<float>(i * 7919 % cols);
  const size_t bytes = argsort_workspace_bytes(1, cols, sizeof(int32_t));
  std::vector<uint64_t> ws(bytes / 8);
  simt::emulation stream;
  for (const int fill : {0x00, 0xff}) {
    std::memset(ws.data(), fill, bytes);
    std::vector<int32_t> index(cols);
    argsort(keys.data(), index.data(), 1, cols, sort_order::ascending, ws.data(), bytes, &stream);
    for (int64_t j = 0; j < cols; ++j)
      ASSERT_EQ(keys[static_cast<size_t>(index[static_cast<size_t>(j)])], static_cast<float>(j)) << fill;
  }
}

TEST(argsort_api, mistakes_are_refused) {
  constexpr int64_t cols = 20000;
  std::vector<float> keys(cols);
  std::vector<int64_t> index(cols);
  const size_t bytes = argsort_workspace_bytes(1, cols, sizeof(int64_t));
  std::vector<uint64_t> ws(bytes / 8 + 1);
  simt::emulation stream;
  const auto call = [&](const float* from, int64_t* to, sort_order order, void* space, size_t size) {
    argsort(from, to, 1, cols, order, space, size, &stream);
  };
  constexpr auto up = sort_order::ascending;
  EXPECT_NO_THROW(call(keys.data(), index.data(), up, ws.data(), bytes));
  EXPECT_THROW(call(keys.data(), index.data(), up, ws.data(), bytes - 1), std::invalid_argument);
  EXPECT_THROW(call(keys.data(), index.data(), up, nullptr, bytes), std::invalid_argument);
  EXPECT_THROW(call(keys.data(), index.data(), up, reinterpret_cast<char*>(ws.data()) + 4, bytes),
               std::invalid_argument);
  EXPECT_THROW(call(keys.data(), index.data(), up, index.data(), bytes), std::invalid_argument);
  EXPECT_THROW(call(keys.data(), index.data(), static_cast<sort_order>(2), ws.data(), bytes), std::invalid_argument);
  EXPECT_THROW(call(keys.data(), reinterpret_cast<int64_t*>(keys.data()), up, ws.data(), bytes), std::invalid_argument);
  int32_t narrow = 0;
  EXPECT_THROW(argsort(keys.data(), &narrow, 1, int64_t{1} << 31, up, ws.data(), bytes, &stream),
               std::invalid_argument);
  EXPECT_EQ(argsort_workspace_bytes(5, k_argsort_block_cols, 4), 0u);
  EXPECT_THROW(argsort_workspace_bytes(1, 20000, 2), std::invalid_argument);
  EXPECT_THROW(argsort_workspace_bytes(-1, 20000, 4), std::invalid_argument);
}

}  // namespace
}  // namespace warpcheck
