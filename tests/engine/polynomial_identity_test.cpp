// Property polynomial-identity: how many exact runs a case gets.
#include "properties/engine/trials/polynomial_identity.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "properties/engine/cases/case.hpp"

namespace warpcheck::engine {
namespace {

int runs_of(const std::string& fill, int degree) {
  return identity_runs(
      parse_case_line(fmt::format("v1 reduce/integer-sum x=f32[3x5] fill={} | y=f32[3] | device=emulated", fill)),
      degree);
}

TEST(polynomial_identity, takes_the_smallest_number_of_runs_below_the_probability) {
  for (const double most : {1.0, 4.0, 100.0, 1000.0})
    for (const int degree : {1, 2}) {
      const double wrong = degree / (2 * most + 1);
      const int runs = runs_of(fmt::format("integers(7,{},{})", -most, most), degree);
      if (runs == 0) {
        EXPECT_GT(std::pow(wrong, 20), 1e-9) << most << " " << degree;
        continue;
      }
      EXPECT_LE(std::pow(wrong, runs), 1e-9) << most << " " << degree;
      EXPECT_GT(std::pow(wrong, runs - 1), 1e-9) << most << " " << degree;
    }
  EXPECT_EQ(runs_of("integers(7,-1000,1000)", 1), 3);
}

TEST(polynomial_identity, has_no_run_where_the_values_are_of_no_set_large_enough) {
  EXPECT_EQ(runs_of("integers(7,0,0)", 1), 0);
  EXPECT_EQ(runs_of("integers(7,0,1)", 2), 0);
  EXPECT_EQ(runs_of("uniform(7,-1000,1000)", 1), 0);
  EXPECT_EQ(runs_of("integers(7,-1000,1000) edit=0,0:0.5", 1), 0);
}

}  // namespace
}  // namespace warpcheck::engine
