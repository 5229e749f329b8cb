// Tensors in the memory of others: rows in the gaps of another tensor, and two inputs that are one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/offer.hpp"
#include "properties/engine/shrinking/shrink_steps.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/run_case.hpp"

namespace warpcheck::engine {
namespace {

case_report run_beside(const std::string& variant, const std::string& shape, int ld) {
  return run_case(parse_case_line(
      fmt::format("v1 softmax/within-error-bound x=f32[{0}] ld={1} fill=randn(5) | y=f32[{0}] ld={1} beside=x | "
                  "candidate={2} device=cpu variant={3}",
                  shape, ld, TEST_CANDIDATE, variant)));
}

TEST(rows_beside, are_judged_between_the_rows_of_the_other_tensor) {
  for (const int ld : {74, 75, 80}) {
    const case_report r = run_beside("right", "3x37", ld);
    EXPECT_EQ(name_of(r.result), name_of(verdict::pass)) << describe(r);
    EXPECT_EQ(r.compared, 3 * 37);
  }
  EXPECT_EQ(run_beside("right", "1x37", 80).result, verdict::pass);
}

TEST(rows_beside, that_a_kernel_takes_for_overlapping_are_refused_wrongly) {
  const case_report r = run_beside("refuses_ranges", "3x37", 80);
  EXPECT_EQ(name_of(r.result), name_of(verdict::error_return)) << describe(r);
  EXPECT_EQ(run_beside("refuses_ranges", "1x37", 80).result, verdict::pass) << "one row is a range";
}

TEST(rows_beside, are_guarded_as_other_rows_are) {
  // Behind a row of y lies a gap, or a row of x.
  const case_report gap = run_beside("writes_gap", "3x37", 80);
  EXPECT_EQ(name_of(gap.result), name_of(verdict::out_of_bounds)) << describe(gap);
  EXPECT_NE(gap.message.find("tensor y was written at element 37"), std::string::npos) << gap.message;
  EXPECT_EQ(name_of(run_beside("writes_gap", "3x37", 74).result), name_of(verdict::input_modified));
  EXPECT_EQ(name_of(run_beside("writes_past_end", "3x37", 80).result), name_of(verdict::out_of_bounds));
  EXPECT_EQ(name_of(run_beside("changes_input", "3x37", 80).result), name_of(verdict::input_modified));
  EXPECT_EQ(name_of(run_beside("leaves_one_unwritten", "3x37", 80).result), name_of(verdict::violation));
}

TEST(rows_beside, may_be_far_apart) {
  EXPECT_EQ(run_beside("right", "2x37", 300'000'000).result, verdict::pass);
  const case_report r = run_beside("writes_gap", "2x37", 300'000'000);
  EXPECT_EQ(name_of(r.result), name_of(verdict::out_of_bounds)) << describe(r);
}

trial_case sums_case(const std::string& variant, const std::string& b, const std::string& sum = "ld=6") {
  return parse_case_line(
      fmt::format("v1 tensors_test/sums a=f32[2x3x4] ld=9 fill=integers(1,-9,9) edit=5,3:7 | {} | sum=f32[2x3x4] {} | "
                  "last=f32[2x1x1x1] | work=u8[64] offset=16 | candidate={} device=cpu variant={}",
                  b, sum, TEST_TENSORS, variant));
}

TEST(one_memory, is_that_of_both_inputs) {
  const trial_case c = sums_case("right", "b=f32[2x3x4] ld=9 same=a");
  EXPECT_EQ(parse_case_line(format(c)), c);
  EXPECT_TRUE(c.at("b").is_input);
  EXPECT_EQ(c.at("b").fill, c.at("a").fill);
  const case_report right = run_case(c);
  EXPECT_EQ(name_of(right.result), name_of(verdict::pass)) << describe(right);
  const case_report refused = run_case(sums_case("refuses_one_memory", "b=f32[2x3x4] ld=9 same=a"));
  EXPECT_EQ(name_of(refused.result), name_of(verdict::error_return)) << describe(refused);
  const std::string apart = "b=f32[2x3x4] ld=9 fill=integers(1,-9,9) edit=5,3:7";
  EXPECT_EQ(run_case(sums_case("refuses_one_memory", apart)).result, verdict::pass);
}

TEST(one_memory, and_rows_beside_it_go_together) {
  const case_report r = run_case(sums_case("right", "b=f32[2x3x4] ld=9 same=a", "ld=9 beside=a"));
  EXPECT_EQ(name_of(r.result), name_of(verdict::pass)) << describe(r);
  // Rows of an input beside those of another.
  EXPECT_EQ(run_case(sums_case("right", "b=f32[2x3x4] ld=9 beside=a fill=constant(3)")).result, verdict::pass);
}

TEST(one_memory, is_left_where_it_no_longer_fits) {
  trial_case c = sums_case("right", "b=f32[2x3x4] ld=9 same=a", "ld=9 beside=a");
  c.find("a")->fill.edits.clear();
  settle_memory(c);
  EXPECT_EQ(c.at("b").fill, c.at("a").fill) << "it follows the other input's values";
  set_layout(c, "a", 4, 3);
  EXPECT_EQ(c.at("a").ld, 8) << "room for the rows of sum stays";
  EXPECT_EQ(c.at("b").ld, 8);
  EXPECT_EQ(c.at("b").offset, 3);
  EXPECT_EQ(c.at("sum").ld, 8);
  c.find("a")->shape = {2, 2, 4};
  settle_memory(c);
  EXPECT_EQ(c.at("b").same, "");
  EXPECT_EQ(c.at("sum").beside, "");
}

TEST(one_memory, is_legal_where_the_description_says_so) {
  const auto line = [](const char* tensors) { return std::string("v1 matmul/shared-memory ") + tensors; };
  const std::string rest = "c_in=f32[0x0] fill=constant(0) | bias=f32[0] fill=constant(0) | c=f32[4x4] | work=u8[0] |";
  EXPECT_NO_THROW(parse_case_line(line("a=f32[4x4] fill=randn(1) | b=f32[4x4] same=a | ") + rest));
  try {
    parse_case_line(
        "v1 matmul/shared-memory a=f32[4x4] fill=randn(1) | b=f32[4x4] fill=randn(2) | c_in=f32[4x4] "
        "same=a | bias=f32[0] fill=constant(0) | c=f32[4x4] in_place=c_in | work=u8[0] | beta=1");
    FAIL() << "c_in is written";
  } catch (const std::exception& e) {
    EXPECT_NE(std::string(e.what()).find("tensor c_in: same=a is not allowed"), std::string::npos) << e.what();
  }
}

TEST(one_memory, may_be_lacked) {
  trial_case c = parse_case_line(
      "v1 matmul/shared-memory a=f32[4x4] fill=randn(1) | b=f32[4x4] same=a | c_in=f32[0x0] fill=constant(0) | "
      "bias=f32[0] fill=constant(0) | c=f32[4x4] | work=u8[0] |");
  const offer lacks_it = parse_offer("matmul", "b same a");
  ASSERT_NE(lacks_it.missing(c), nullptr);
  EXPECT_EQ(text_of(lacks_it), "b same a");
  std::vector<std::string> taken;
  EXPECT_TRUE(bring_within(lacks_it, c, taken));
  EXPECT_EQ(c.at("b").same, "");
  EXPECT_EQ(c.at("b").fill, c.at("a").fill);
}

TEST(rows_beside, may_be_lacked_as_gaps_may_be) {
  for (const char* lacked : {"y beside x", "ldx>cols", "ldy>cols"}) {
    trial_case c =
        parse_case_line("v1 softmax/interleaved-rows x=f32[3x37] ld=80 fill=randn(5) | y=f32[3x37] ld=80 beside=x |");
    const offer lacks_it = parse_offer("softmax", lacked);
    ASSERT_NE(lacks_it.missing(c), nullptr) << lacked;
    std::vector<std::string> taken;
    EXPECT_TRUE(bring_within(lacks_it, c, taken)) << lacked;
    EXPECT_EQ(c.at("y").beside, "") << lacked;
    EXPECT_EQ(c.at("y").ld, 37) << lacked;
  }
}

TEST(alignment, of_addresses_and_rows_may_be_lacked) {
  struct lack {
    const char* text;
    int64_t offset, ld;  // of x in the case without it
  };
  for (const auto& [text, offset, ld] :
       {lack{"x misaligned 16", 0, 39}, lack{"x misaligned 8", 2, 39}, lack{"ldx%4", 2, 40}}) {
    trial_case c = parse_case_line("v1 softmax/misalignment x=f32[3x37] ld=39 offset=2 fill=randn(5) | y=f32[3x37] |");
    const offer lacks_it = parse_offer("softmax", text);
    EXPECT_EQ(text_of(lacks_it), text);
    std::vector<std::string> taken;
    EXPECT_TRUE(bring_within(lacks_it, c, taken)) << text;
    EXPECT_EQ(c.at("x").offset, offset) << text;
    EXPECT_EQ(c.at("x").ld, ld) << text;
  }
  const offer lacks_it = parse_offer("softmax", "y misaligned 16");
  trial_case beside =
      parse_case_line("v1 softmax/interleaved-rows x=f32[3x37] ld=80 fill=randn(5) | y=f32[3x37] ld=80 beside=x |");
  EXPECT_NE(lacks_it.missing(beside), nullptr) << "y begins behind 37 elements of x";
}

}  // namespace
}  // namespace warpcheck::engine
