// What surrounds a run: each way to misbehave gets its own verdict.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "properties/engine/error.hpp"
#include "tests/engine/softmax_case.hpp"

namespace warpcheck::engine {
namespace {

case_report run_both_outputs(const std::string& variant, const std::string& layout = "") {
  return run_softmax("x=f32[3x37] fill=randn(5) | y=f32[3x37] " + layout + " | index=i64[3]", variant);
}

struct misbehaviour {
  const char* variant;
  const char* layout;
  verdict expected;
};

class trial_verdict : public testing::TestWithParam<misbehaviour> {};

TEST_P(trial_verdict, is_the_one_of_the_misbehaviour) {
  const case_report r = run_both_outputs(GetParam().variant, GetParam().layout);
  EXPECT_EQ(name_of(r.result), name_of(GetParam().expected)) << describe(r);
  EXPECT_EQ(r.message.empty(), r.result == verdict::pass);
  // The line in the report reproduces the verdict.
  EXPECT_EQ(name_of(run_case(parse_case_line(r.line)).result), name_of(GetParam().expected));
}

INSTANTIATE_TEST_SUITE_P(all, trial_verdict,
                         testing::Values(misbehaviour{"right", "", verdict::pass},
                                         misbehaviour{"right", "ld=40 offset=3", verdict::pass},
                                         misbehaviour{"refuses", "", verdict::error_return},
                                         misbehaviour{"off_by_little", "", verdict::violation},
                                         misbehaviour{"not_a_number", "", verdict::violation},
                                         misbehaviour{"writes_past_end", "", verdict::out_of_bounds},
                                         misbehaviour{"writes_past_end", "ld=40 offset=1", verdict::out_of_bounds},
                                         misbehaviour{"writes_before_start", "", verdict::out_of_bounds},
                                         misbehaviour{"writes_before_start", "offset=3", verdict::out_of_bounds},
                                         misbehaviour{"writes_gap", "ld=38", verdict::out_of_bounds},
                                         misbehaviour{"changes_input", "", verdict::input_modified},
                                         misbehaviour{"different_each_time", "", verdict::nondeterministic},
                                         misbehaviour{"leaves_one_unwritten", "", verdict::violation}),
                         [](const auto& info) { return fmt::format("{}_{}", info.param.variant, info.index); });

case_report run_launched(const std::string& variant, const std::string& knobs) {
  return run_variant(variant, "", knobs);
}

TEST(trial, a_second_launch_into_the_same_buffers_gives_the_same_bits) {
  EXPECT_EQ(run_launched("right", "launch=again:3").result, verdict::pass);
  EXPECT_EQ(run_launched("right", "launch=again:3").launches, 1 + 3 + 1) << "the last flush with a page";
  EXPECT_EQ(run_launched("right", "launch=graph:2").launches, 1 + 2 + 1) << "without graphs as again:2";
  EXPECT_EQ(run_launched("trusts_old_output", "").result, verdict::pass) << "one launch does not show it";
  for (const char* launch : {"again:2", "graph:2"}) {
    const case_report r = run_launched("trusts_old_output", fmt::format("launch={}", launch));
    EXPECT_EQ(name_of(r.result), name_of(verdict::nondeterministic));
    EXPECT_NE(r.message.find(fmt::format("the second with launch={}", launch)), std::string::npos) << r.message;
    EXPECT_EQ(run_case(parse_case_line(r.line)).result, verdict::nondeterministic) << r.line;
  }
  // In place the second launch would get another input, so there is none.
  EXPECT_EQ(run_variant("right", "in_place=x", "launch=again:3").launches, 3);
}

TEST(trial, gaps_of_the_input_hold_other_bytes_in_another_run) {
  const auto run_gaps = [](const std::string& variant) {
    return run_softmax("x=f32[3x37] ld=40 fill=randn(5) | y=f32[3x37]", variant);
  };
  EXPECT_EQ(name_of(run_gaps("right").result), name_of(verdict::pass));
  EXPECT_EQ(name_of(run_gaps("looks_into_gap").result), name_of(verdict::nondeterministic));
}

TEST(trial, launches_may_differ_where_the_contract_leaves_the_order_open) {
  EXPECT_EQ(run_launched("different_each_time", "agree=bits").result, verdict::nondeterministic);
  EXPECT_EQ(run_launched("different_each_time", "agree=free").result, verdict::pass);
  EXPECT_EQ(run_launched("off_by_little", "agree=free").result, verdict::violation);
  EXPECT_EQ(run_launched("writes_past_end", "agree=free").result, verdict::out_of_bounds);
  EXPECT_THROW(run_launched("right", "agree=no"), usage_error);
}

TEST(trial, refuses_ways_to_launch_that_do_not_exist) {
  for (const char* launch : {"twice", "again:0", "again:101", "again:1.5", "again:", "graph:x"})
    EXPECT_THROW(run_launched("right", fmt::format("launch={}", launch)), usage_error) << launch;
  EXPECT_EQ(run_launched("right", "launch=legacy").result, verdict::pass);
}

TEST(trial, keeps_a_histogram_of_ratios_where_it_is_asked_for) {
  const trial_case c = softmax_case("x=f32[3x37] fill=randn(5) | y=f32[3x37]", "right");
  EXPECT_TRUE(run_case(c).error_ratios.thousandths.empty());
  const case_report r = run_case_with_ratios(c);
  EXPECT_EQ(r.error_ratios.elements(), r.compared);
  EXPECT_EQ(r.error_ratios.max, r.max_error_ratio);
  EXPECT_GE(r.error_ratios.quantile(1), r.error_ratios.max);
  EXPECT_LE(r.error_ratios.quantile(1), r.error_ratios.max + 0.001);
  EXPECT_LT(r.error_ratios.quantile(0.1), r.error_ratios.quantile(0.9));
  const case_report again = report_from_json(to_json(r));
  EXPECT_EQ(again.error_ratios.thousandths, r.error_ratios.thousandths);
  EXPECT_EQ(again.error_ratios.max, r.error_ratios.max);
  EXPECT_EQ(again.classes, r.classes);
}

TEST(trial, keeps_errors_in_bins_of_ulp_and_of_shares_of_the_bound) {
  error_histogram h;
  h.add(0, 0);
  h.add(0.05, 0.5);     // edges belong to their bins
  h.add(0.0501, 0.51);  // and what is above does not
  h.add(1, 1024);
  h.add(1.0001, 1025);
  h.add(NAN, NAN);
  h.add(1e-300, 1e-300);
  EXPECT_EQ(to_json(h).dump(), R"({"shares":[[0.0,1],[0.05,2],[0.1,1],[1.0,1],["+inf",2]],)"
                               R"("ulps":[[0.0,1],[0.00390625,1],[0.5,1],[1.0,1],[1024.0,1],["+inf",2]]})");
  const case_report r = run_both_outputs("right"), again = report_from_json(to_json(r));
  EXPECT_EQ(r.errors.elements(), r.compared);
  EXPECT_EQ(again.errors.shares, r.errors.shares);
  EXPECT_EQ(again.errors.ulps, r.errors.ulps);
  EXPECT_GT(run_both_outputs("off_by_little").errors.shares.back(), 0);
  EXPECT_THROW(
      report_from_json(std::string(to_json(r)).replace(to_json(r).find("\"shares\":[["), 11, "\"shares\":[[9")),
      usage_error);
}

TEST(trial, counts_every_compared_element) {
  const case_report r = run_both_outputs("right");
  EXPECT_EQ(r.compared, 3 * 37);
  EXPECT_GT(r.max_error_ratio, 0);
  EXPECT_LT(r.max_error_ratio, 1);
}

TEST(trial, reports_the_worst_element_of_a_violation) {
  const case_report r = run_both_outputs("off_by_little");
  ASSERT_TRUE(r.worst);
  EXPECT_EQ(r.worst->row, 2);
  EXPECT_EQ(r.worst->col, 36);
  EXPECT_GT(r.worst->error, r.worst->bound);
  EXPECT_FALSE(r.worst->expected_text.empty());
}

// A technique is asked for what it accepts and for nothing else.
TEST(trial, asks_a_technique_whether_it_takes_the_call) {
  const auto run = [](const char* property, int cols, const char* layout, const char* knobs) {
    return run_case(parse_case_line(
        fmt::format("v1 softmax/{} x=f32[3x{}] {} fill=randn(5) | y=f32[3x{}] | candidate={} device=cpu {}", property,
                    cols, layout, cols, TEST_ACCEPTS, knobs)));
  };
  const std::vector<std::string> own = {"right"}, forced = {"even_columns"}, both = {"right", "even_columns"};
  for (const auto& [cols, layout, variants] :
       {std::tuple{38, "", forced}, std::tuple{37, "", own}, std::tuple{38, "ld=41", own},
        std::tuple{38, "offset=1", own}, std::tuple{38, "ld=40 offset=2", forced}}) {
    const case_report r = run("within-error-bound", cols, layout, "variant=even_columns");
    EXPECT_EQ(r.result, verdict::pass) << describe(r);
    EXPECT_EQ(r.variants, variants) << r.line;
    EXPECT_EQ(r.line.find("variant=even_columns") != std::string::npos, variants == forced) << r.line;
  }
  EXPECT_EQ(run("dispatch-boundaries", 38, "", "").variants, both);
  const case_report odd = run("dispatch-boundaries", 37, "", "");
  EXPECT_EQ(odd.result, verdict::pass) << describe(odd);
  EXPECT_EQ(odd.variants, own);
}

TEST(trial, says_which_candidate_device_and_variant_do_not_exist) {
  const auto run = [](const char* knobs) {
    return run_case(parse_case_line(
        fmt::format("v1 softmax/within-error-bound x=f32[1x4] fill=constant(0) | y=f32[1x4] | {}", knobs)));
  };
  EXPECT_THROW(run("candidate=/nonexistent.so device=cpu"), environment_error);
  EXPECT_THROW(run("device=cpu"), environment_error);
  EXPECT_THROW(run("device=gpu"), usage_error);
  EXPECT_THROW(run(TEST_CANDIDATE[0] ? "candidate=" TEST_CANDIDATE " device=emulated" : ""), environment_error);
}

}  // namespace
}  // namespace warpcheck::engine
