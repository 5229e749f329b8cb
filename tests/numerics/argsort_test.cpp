// The exact order of argsort.
#include "reference/argsort/argsort.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/numerics/special_values.hpp"

namespace warpcheck::reference {
namespace {

using row = std::vector<double>;

TEST(argsort_reference, orders_by_class_key_and_column) {
  const row x = {2, k_nan, -0.0, k_inf, 0.0, -k_inf, 2, -k_nan};
  EXPECT_EQ(argsort(x, false), (std::vector<int64_t>{5, 2, 4, 0, 6, 3, 1, 7}));
  EXPECT_EQ(argsort(x, true), (std::vector<int64_t>{3, 0, 6, 2, 4, 5, 1, 7}));
  EXPECT_TRUE(argsort(row{}, false).empty());
}

}  // namespace
}  // namespace warpcheck::reference
