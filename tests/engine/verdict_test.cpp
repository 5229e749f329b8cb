#include "properties/engine/trials/verdict.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "properties/engine/error.hpp"

namespace warpcheck::engine {
namespace {

case_report sample() {
  case_report r;
  r.line = "v1 softmax/within-error-bound x=f32[1x2] fill=constant(0) | y=f32[1x2] | device=emulated";
  r.result = verdict::violation;
  r.message = "1 of 2 compared elements lie outside their bound";
  r.neighbour = "fails at cols=33, passes at 32";
  r.compared = 2;
  r.launches = 7;
  r.is_every_schedule = true;
  r.max_error_ratio = std::numeric_limits<double>::infinity();
  r.max_ulp = 1e30;
  r.findings = {"race: write and read"};
  r.variants = {"softmax_warp"};
  r.worst = worst_element{"y", 0, 1, 0.5, std::nan(""), 0.25, "0.25000000000000000000", HUGE_VAL, 1e-8, HUGE_VAL};
  return r;
}

TEST(report, round_trips_through_json_with_nan_and_infinity) {
  const case_report r = sample(), again = report_from_json(to_json(r));
  EXPECT_EQ(to_json(again), to_json(r));
  EXPECT_EQ(again.result, r.result);
  ASSERT_TRUE(again.worst);
  EXPECT_TRUE(std::isnan(again.worst->actual));
  EXPECT_TRUE(std::isinf(again.max_error_ratio));
  EXPECT_TRUE(again.is_every_schedule);
}

TEST(report, survives_bytes_that_are_not_text) {
  case_report r = sample();
  r.message = "candidate says \xff\xfe";
  EXPECT_EQ(report_from_json(to_json(r)).result, verdict::violation);
}

TEST(report, anything_else_is_refused) {
  for (const char* text : {"", "{}", "[]", "null", "{\"case\": 1}", "{\"case\": \"x\", \"verdict\": \"fine\"}"})
    EXPECT_THROW(report_from_json(text), usage_error) << text;
}

TEST(report, description_holds_what_a_person_needs_and_ends_with_the_replay_line) {
  const std::string text = describe(sample());
  for (const char* part :
       {"softmax/within-error-bound: violation", "y[0,1]", "input 0.5", "(0x", "passes at 32", "race: write and read"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_TRUE(text.ends_with("device=emulated'\n")) << text;
}

// What failed is a relation between launches, say, and not the element that comes closest to its bound.
TEST(report, no_element_within_its_bound_is_shown_as_the_worst) {
  case_report r = sample();
  r.result = verdict::nondeterministic;
  r.message = "bits differ between launches";
  r.worst = worst_element{"y", 0, 1, 0.5, 0.25, 0.25, "", 1e-9, 4e-9, 0.5};
  const std::string text = describe(r);
  EXPECT_EQ(text.find("worst element"), std::string::npos) << text;
  EXPECT_NE(text.find("all of 2 compared elements lie within their bounds"), std::string::npos) << text;
  EXPECT_NE(text.find("y[0,1], at 0.25"), std::string::npos) << text;
  r.worst->error = 5e-9;
  EXPECT_NE(describe(r).find("worst element  y[0,1]"), std::string::npos) << describe(r);
}

TEST(verdict, names_round_trip_and_pass_is_the_mildest) {
  for (int v = 0; v <= static_cast<int>(verdict::crash); ++v)
    EXPECT_EQ(verdict_from_name(name_of(static_cast<verdict>(v))), static_cast<verdict>(v));
  EXPECT_FALSE(verdict_from_name("fine"));
  EXPECT_LT(verdict::pass, verdict::skipped);
  EXPECT_LT(verdict::skipped, verdict::violation);
}

}  // namespace
}  // namespace warpcheck::engine
