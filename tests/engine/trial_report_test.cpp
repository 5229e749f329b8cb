// What a trial keeps and says, number by number, and what cases and recipes say as text.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "properties/engine/cases/generate.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/trials/trial.hpp"
#include "tests/engine/softmax_case.hpp"

namespace warpcheck::engine {
namespace {

TEST(trial_report, names_an_element_that_nobody_wrote) {
  EXPECT_NE(run_variant("leaves_one_unwritten").message.find("y[0,0] was not written"), std::string::npos);
}

TEST(trial_report, keeps_the_largest_error_and_the_sum_of_squares) {
  const case_report r = run_variant("right");
  EXPECT_GT(r.max_ulp, 0);
  EXPECT_LT(r.max_ulp, 16);
  EXPECT_GE(r.sum_squared_ulp, r.max_ulp * r.max_ulp);
  EXPECT_LE(r.sum_squared_ulp, r.max_ulp * r.max_ulp * static_cast<double>(r.compared));
  EXPECT_EQ(r.launches, 3) << "behind a page, before one, and flush with one";
  EXPECT_EQ(r.needed_multiprecision, 0);
  ASSERT_EQ(r.variants.size(), 1u);
  EXPECT_EQ(r.variants[0], "right");
}

TEST(trial_report, says_where_the_guards_and_gaps_were_written) {
  EXPECT_NE(run_variant("writes_past_end").message.find("tensor y was written at byte 444 of a buffer of 444 bytes"),
            std::string::npos)
      << run_variant("writes_past_end").message;
  EXPECT_NE(run_variant("writes_before_start")
                .message.find("the call touches memory at byte -4 of a buffer of 444 bytes, tensor y"),
            std::string::npos)
      << run_variant("writes_before_start").message;
  EXPECT_NE(run_variant("writes_gap", "ld=40").message.find("tensor y was written at element 37"), std::string::npos)
      << run_variant("writes_gap", "ld=40").message;
}

// Beyond 256 MiB a tensor is looked at row by row.
TEST(trial_report, sees_the_gaps_of_rows_that_are_far_apart) {
  const std::string far = "ld=67108864";
  EXPECT_EQ(run_variant("right", far).result, verdict::pass) << describe(run_variant("right", far));
  EXPECT_EQ(run_variant("writes_gap", far).result, verdict::out_of_bounds);
  EXPECT_EQ(run_variant("off_by_little", far).result, verdict::violation);
  const auto with_far_input = [](const char* variant) {
    return run_softmax("x=f32[2x37] ld=67108865 fill=randn(5) | y=f32[2x37]", variant);
  };
  EXPECT_EQ(with_far_input("right").result, verdict::pass) << describe(with_far_input("right"));
  EXPECT_EQ(with_far_input("changes_input").result, verdict::input_modified);
}

// Up to 256 MiB the whole of a gap is looked at, beyond that its first 256 bytes.
TEST(trial_report, sees_all_of_the_gaps_of_256_MiB) {
  const auto run = [](int64_t ld) {
    return run_softmax(fmt::format("x=f32[2x37] fill=randn(5) | y=f32[2x37] ld={}", ld), "writes_far_into_gap");
  };
  const int64_t most = (int64_t{1} << 26) - 37;
  EXPECT_NE(run(most).message.find("tensor y was written at element 1037"), std::string::npos) << run(most).message;
  EXPECT_EQ(run(most + 1).result, verdict::pass);
}

// Of a larger tensor a row at a time is held, however long it is; both rows start poisoned.
TEST(trial_report, poisons_long_rows_that_are_far_apart) {
  // Which no case line may ask for.
  trial t(parse_case(fmt::format(
      "v1 softmax/within-error-bound x=f32[1x4] fill=randn(5) | y=f32[2x8388608] ld=67108864 | candidate={} "
      "device=cpu variant=right agree=free",
      TEST_CANDIDATE)));
  const run_result r = t.run();
  const host_tensor& y = r.at("y");
  EXPECT_TRUE(std::isfinite(y.value(0, 3)));
  for (const auto& [row, col] : {std::pair<int64_t, int64_t>{0, 4}, {0, 8388607}, {1, 0}, {1, 8388607}})
    EXPECT_TRUE(std::isnan(y.value(row, col))) << row << ' ' << col;
}

TEST(trial_report, of_a_nondeterministic_element_shows_both_values) {
  const case_report r = run_variant("different_each_time");
  EXPECT_NE(r.message.find("y[0,0] is "), std::string::npos) << r.message;
  EXPECT_NE(r.message.find("under two launches"), std::string::npos) << r.message;
}

TEST(trial_report, takes_one_nan_for_another_unless_a_contract_keeps_them) {
  const trial_case c = softmax_case("x=f32[3x37] fill=randn(5) edit=1,4:nan | y=f32[3x37]", "another_nan_each_time");
  EXPECT_EQ(run_case(c).result, verdict::pass);
  trial t(c);
  t.keep_nan_bits();
  EXPECT_THROW(t.run(), trial_over);
  EXPECT_EQ(t.finish().result, verdict::nondeterministic);
}

TEST(trial_report, finds_the_place_of_a_difference) {
  const case_report r = run_variant("different_at_the_end", "ld=41");
  EXPECT_NE(r.message.find("y[2,36] is "), std::string::npos) << r.message;
}

TEST(trial_report, takes_no_candidates_word_for_a_failed_device) {
  const case_report r = run_variant("blames_the_device");
  EXPECT_EQ(r.result, verdict::error_return);
  EXPECT_FALSE(may_be_the_device(r)) << r.message;
}

TEST(trial_report, cuts_a_message_without_end) {
  const case_report r = run_variant("fills_message");
  EXPECT_EQ(r.result, verdict::error_return);
  EXPECT_LE(r.message.size(), std::string_view("internal error: ").size() + 200) << r.message;
  EXPECT_TRUE(r.message.ends_with("x...")) << r.message;
}

TEST(trial_report, shows_control_characters_of_a_candidate_as_text) {
  EXPECT_NE(run_variant("colours_message").message.find("a \\x1b[31mred\\x7f message"), std::string::npos);
  EXPECT_NE(run_variant("colours_variant").message.find("'\\x1b[2J', which it does not list"), std::string::npos);
}

// From one launch to the next, so that an output that is left as it was found differs between them.
TEST(trial_report, fills_outputs_with_other_bytes_each_time) {
  const case_report r = run_variant("wants_other_bytes", "", "repeat=5");
  EXPECT_EQ(r.result, verdict::pass) << describe(r);
  EXPECT_GE(r.launches, 5);
}

case_report run_refusal(const std::string& variant) {
  return run_softmax("x=f32[2x5] fill=randn(5) | y=f32[2x5] | index=i64[2]", variant, "", "rejects-invalid-calls");
}

// A letter is a sentence to the trial, and what is refused has its input, like any call.
TEST(trial_report, takes_a_short_refusal_and_one_that_looked_at_the_input) {
  for (const char* variant : {"refuses_briefly", "refuses_after_looking"}) {
    const case_report r = run_refusal(variant);
    EXPECT_EQ(r.result, verdict::pass) << describe(r);
  }
}

// Whatever its first byte: an umlaut's is negative where char is.
TEST(trial_report, a_refusal_says_why_in_any_language) {
  EXPECT_EQ(run_refusal("refuses_with_umlaut").result, verdict::pass) << describe(run_refusal("refuses_with_umlaut"));
  EXPECT_EQ(run_refusal("refuses_silently").result, verdict::error_return);
  EXPECT_NE(run_refusal("refuses_silently").message.find("refused without a message"), std::string::npos);
}

TEST(trial_report, an_output_without_elements_has_no_byte_to_write) {
  const std::string empty = "x=f32[3x0] fill=constant(0) | y=f32[3x0]";
  EXPECT_EQ(run_softmax(empty, "right").result, verdict::pass);
  EXPECT_EQ(run_softmax(empty, "writes_into_nothing").result, verdict::out_of_bounds);
}

TEST(trial_report, has_a_worst_element_though_all_are_exact) {
  const case_report r = run_softmax("x=f32[2x1] fill=randn(5) | y=f32[2x1]", "right");
  EXPECT_EQ(r.max_error_ratio, 0);
  ASSERT_TRUE(r.worst);
  EXPECT_EQ(r.worst->row, 0);
  EXPECT_EQ(r.worst->actual, 1);
}

TEST(ratio_histogram, puts_each_ratio_into_its_thousandth) {
  ratio_histogram h;
  for (const double ratio : {0.0, 0.0004, 0.5, 1.0, 1.0000001, 40.0, std::nan("")}) h.add(ratio);
  EXPECT_EQ(h.thousandths, (std::map<int, int64_t>{{0, 1}, {1, 1}, {500, 1}, {1000, 1}, {1001, 3}}));
  EXPECT_EQ(h.elements(), 7);
  EXPECT_EQ(h.max, HUGE_VAL);
}

TEST(numbers, may_have_a_sign) {
  EXPECT_EQ(parse_number("+1.5"), 1.5);
  EXPECT_EQ(parse_number("-1.5"), -1.5);
  EXPECT_EQ(parse_number("+0x1p-3"), 0.125);
  for (const char* text : {"inf", "+inf"}) EXPECT_EQ(parse_number(text), HUGE_VAL);
  EXPECT_EQ(parse_number("-inf"), -HUGE_VAL);
}

TEST(recipes, of_a_file_round_trip_and_need_their_parentheses) {
  const std::string text = "npy(a/b.npy," + std::string(64, 'a') + ")";
  EXPECT_EQ(format(parse_recipe(text)), text);
  for (const char* bad : {"constant(1", "constant(12", "constant1)", "constant", "(", ")"})
    EXPECT_THROW(parse_recipe(bad), usage_error) << bad;
}

// Who chose a schedule or repetitions has a reason; nothing is drawn on top.
TEST(generated_cases, keep_the_launch_that_their_property_chose) {
  property p;
  p.op = "recorded";
  p.name = "launch";
  target t;
  t.op = "recorded";
  t.device = "emulated";
  const auto launched = [&](const char* knob, const char* value) {
    p.generate = [=](const target& of, draw&) {
      trial_case c;
      c.op = "recorded";
      c.tensors = {input_matrix("x", of.type, 1, 1, make_recipe("constant", {0})), output_matrix("y", of.type, 1, 1)};
      c.knobs["device"] = of.device;
      if (*knob) c.knobs[knob] = value;
      return c;
    };
    int64_t count = 0;
    for (int64_t i = 0; i < 200; ++i) count += generate_case(p, t, 1, i).knobs.count("launch") > 0;
    return count;
  };
  EXPECT_EQ(launched("repeat", "3"), 0);
  EXPECT_EQ(launched("schedule", "fair"), 0);
  EXPECT_GT(launched("", ""), 0);
  EXPECT_LT(launched("", ""), 40);
}

TEST(host_tensors, hold_rows_packed) {
  tensor_spec spec = input_matrix("x", dtype::f32, 2, 3, make_recipe("ascending", {0, 2}));
  spec.fill.edits = {{1, 0, 7}};
  host_tensor t = materialize(spec);
  EXPECT_EQ(t.row(0), (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(t.row(1), (std::vector<double>{7, 1, 2}));
  t.set_bits(1, 2, encode(dtype::f32, -5));
  EXPECT_EQ(t.row(1), (std::vector<double>{7, 1, -5}));
  EXPECT_EQ(t.row(0), (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(decode(dtype::f32, t.bits(1, 2)), -5);
}

}  // namespace
}  // namespace warpcheck::engine
