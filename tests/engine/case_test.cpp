// Case lines: exact round trip of every generated case, and one clear sentence for every malformed line.
#include "properties/engine/cases/case.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>
#include <string>

#include "properties/engine/cases/generate.hpp"
#include "properties/engine/error.hpp"

namespace warpcheck::engine {
namespace {

target emulated_target(dtype type) {
  target t;
  t.op = "softmax";
  t.device = "emulated";
  t.type = type;
  t.variants = {{"a", {{1, 64, 1, 64}}}, {"b", {{1, 2048, 65, 2048}}}, {"c", {{1, -1, 2049, -1}}}};
  t.boundaries = {{64, 512, 2048}};
  t.size = 1;
  return t;
}

TEST(case_line, round_trips_exactly_for_every_generated_case) {
  for (const property& p : all_properties())
    for (const dtype type : p.types) {
      target t = emulated_target(type);
      t.op = p.op;
      const bool holds = rc::check(p.op + "/" + p.name, [&](uint16_t index) {
        const trial_case c = *cases(p, t, index);
        const std::string line = format(c);
        const trial_case again = parse_case_line(line);
        RC_ASSERT(again == c);
        RC_ASSERT(format(again) == line);
      });
      EXPECT_TRUE(holds) << p.op << "/" << p.name;
    }
}

TEST(case_line, example_of_the_grammar_means_what_it_says) {
  const trial_case c = parse_case(
      "v1 softmax/within-error-bound x=f32[3x1025] ld=1028 offset=1 fill=randn(7) edit=1,1024:+inf | y=f32[3x1025] | "
      "variant=auto device=emulated schedule=pct_warp:42 candidate=builtin");
  EXPECT_EQ(c.op, "softmax");
  EXPECT_EQ(c.property, "within-error-bound");
  ASSERT_EQ(c.tensors.size(), 2u);
  const tensor_spec& x = c.at("x");
  EXPECT_TRUE(x.is_input);
  EXPECT_EQ(x.type, dtype::f32);
  EXPECT_EQ(x.rows(), 3);
  EXPECT_EQ(x.cols(), 1025);
  EXPECT_EQ(x.ld, 1028);
  EXPECT_EQ(x.offset, 1);
  EXPECT_EQ(x.fill.distribution, "randn");
  ASSERT_EQ(x.fill.edits.size(), 1u);
  EXPECT_EQ(x.fill.edits[0].col, 1024);
  EXPECT_FALSE(c.at("y").is_input);
  EXPECT_EQ(c.knob("schedule"), "pct_warp:42");
}

struct malformed {
  const char* line;
  const char* names;  // what the sentence must name
};

class malformed_line : public testing::TestWithParam<malformed> {};

TEST_P(malformed_line, is_refused_with_a_sentence_that_names_it) {
  try {
    parse_case(GetParam().line);
    FAIL() << "accepted: " << GetParam().line;
  } catch (const usage_error& e) {
    EXPECT_NE(std::string(e.what()).find(GetParam().names), std::string::npos) << e.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    all, malformed_line,
    testing::Values(
        malformed{"", "grammar version"}, malformed{"v2 softmax/a x=f32[1x1] fill=constant(0) |", "v2"},
        malformed{"v1 softmax x=f32[1x1] fill=constant(0) |", "operator/property"},
        malformed{"v1 softmax/a x=f32[1x1] fill=constant(0)", "'|'"},
        malformed{"v1 softmax/a x=f33[1x1] fill=constant(0) |", "f33"},
        malformed{"v1 softmax/a x=f32[1x1 fill=constant(0) |", "f32[1x1"},
        malformed{"v1 softmax/a x=f32[] fill=constant(0) |", "rank"},
        malformed{"v1 softmax/a x=f32[1x2x3x4x5x6x7x8x9] fill=constant(0) |", "rank"},
        malformed{"v1 softmax/a x=f32[70000x70000x70000] fill=constant(0) |", "2^48"},
        malformed{"v1 softmax/a x=f32[2x3x4] ld=3 fill=constant(0) |", "'3'"},
        malformed{"v1 softmax/a x=f32[2x3x4] fill=constant(0) edit=6,0:1 |", "6,0:1"},
        malformed{"v1 softmax/a x=f32[-1x2] fill=constant(0) |", "-1"},
        malformed{"v1 softmax/a x=f32[9223372036854775807x9223372036854775807] fill=constant(0) |",
                  "9223372036854775807"},
        malformed{"v1 softmax/a x=f32[99999999x99999999] fill=constant(0) |", "2^48"},
        malformed{"v1 softmax/a x=f32[2x4] ld=3 fill=constant(0) |", "'3'"},
        malformed{"v1 softmax/a x=f32[2x4] ld=999999999999999 fill=constant(0) |", "999999999999999"},
        malformed{"v1 softmax/a x=f32[2x4] offset=256 fill=constant(0) |", "256"},
        malformed{"v1 softmax/a x=f32[2x4] offset=1.5 fill=constant(0) |", "1.5"},
        malformed{"v1 softmax/a x=f32[2x4] fill=wat(0) |", "wat"},
        malformed{"v1 softmax/a x=f32[2x4] fill=randn |", "randn"},
        malformed{"v1 softmax/a x=f32[2x4] fill=randn() |", "arguments"},
        malformed{"v1 softmax/a x=f32[2x4] fill=randn(1,2,3,4) |", "4 arguments"},
        malformed{"v1 softmax/a x=f32[2x4] fill=randn(x) |", "'x'"},
        malformed{"v1 softmax/a x=f32[2x4] fill=randn(-3) |", "seed = '-3'"},
        malformed{"v1 softmax/a x=f32[2x4] fill=bits(3e53) |", "3e53"},
        malformed{"v1 softmax/a x=f32[2x4] fill=dyadic(1,2,4e88) |", "4e88"},
        malformed{"v1 softmax/a x=f32[2x4] fill=diagonal(nan,1,1,0) |", "first"},
        malformed{"v1 softmax/a x=f32[2x4] ld=5 ld=6 fill=constant(0) |", "twice"},
        malformed{"v1 softmax/a x=f32[2x4] fill=npy(a,b) |", "SHA-256"},
        malformed{"v1 softmax/a x=f32[2x4] fill=constant(0) edit=2,0:1 |", "2,0:1"},
        malformed{"v1 softmax/a x=f32[2x4] fill=constant(0) edit=0,0:one |", "one"},
        malformed{"v1 softmax/a x=f32[2x4] fill=constant(0) edit=00 |", "row,column:value"},
        malformed{"v1 softmax/a x=f32[2x4] edit=0,0:1 |", "without a fill"},
        malformed{"v1 softmax/a x=f32[2x4] fill=constant(0) colour=red |", "colour"},
        malformed{"v1 softmax/a x=f32[2x4] fill=constant(0) | | variant=auto", "empty group"},
        malformed{"v1 softmax/a x=f32[2x4] fill=constant(0) | x=f32[2x4] |", "two tensors"},
        malformed{"v1 softmax/a x=f32[2x4] fill=constant(0) | y=f32[2x4] in_place=z |", "in_place=z"},
        malformed{"v1 softmax/a x=f32[2x4] fill=constant(0) | y=f32[2x5] in_place=x |", "same dtype"},
        malformed{"v1 softmax/a x=f32[2x4] fill=constant(0) in_place=x |", "in_place"},
        malformed{"v1 softmax/a x=f32[2x4] fill=constant(0) | b=f32[2x4] same=z |", "same=z"},
        malformed{"v1 softmax/a b=f32[2x4] same=x | x=f32[2x4] fill=constant(0) |", "before it"},
        malformed{"v1 softmax/a x=f32[2x4] fill=constant(0) | b=f32[4x2] same=x |", "same dtype"},
        malformed{"v1 softmax/a x=f32[2x4] fill=constant(0) | b=f32[2x4] ld=5 same=x |", "same dtype"},
        malformed{"v1 softmax/a x=f32[2x4] fill=constant(0) | b=f32[2x4] fill=constant(0) same=x |",
                  "no fill of its own"},
        malformed{"v1 softmax/a x=f32[2x4] fill=constant(0) | b=f32[2x4] same=x edit=0,0:1 |", "edit"},
        malformed{"v1 softmax/a x=f32[2x4] ld=8 fill=constant(0) | y=f32[2x4] ld=8 beside=z |", "beside=z"},
        malformed{"v1 softmax/a x=f32[2x4] ld=8 fill=constant(0) | y=f32[2x5] ld=8 beside=x |", "at least 9"},
        malformed{"v1 softmax/a x=f32[2x4] ld=8 fill=constant(0) | y=f32[2x4] beside=x |", "the ld of x"},
        malformed{"v1 softmax/a x=f32[2x4] ld=8 fill=constant(0) | y=f32[2x4] ld=8 offset=1 beside=x |", "no offset"},
        malformed{"v1 softmax/a x=f32[2x4] ld=8 fill=constant(0) | y=f32[3x4] ld=8 beside=x |", "as many rows"},
        malformed{"v1 softmax/a x=f32[2x4] ld=8 fill=constant(0) | y=f16[2x4] ld=8 beside=x |", "one dtype"},
        malformed{"v1 softmax/a x=f32[2x4] ld=12 fill=constant(0) | y=f32[2x4] ld=12 beside=x | "
                  "z=f32[2x4] ld=12 beside=x |",
                  "beside=x takes"},
        malformed{"v1 softmax/a x=f32[2x4] fill=constant(0) | y=f32[2x4] | speed=fast", "speed"},
        malformed{"v1 softmax/a x=f32[2x4] fill=constant(0) | y=f32[2x4] | sm=1 sm=2", "twice"},
        malformed{"v1 softmax/a x=f32[2x4] fill=constant(0) | y=f32[2x4] | sm=0", "sm: '0'"},
        malformed{"v1 softmax/a x=f32[2x4] fill=constant(0) | y=f32[2x4] | sm=99999999999", "[1, 1024]"},
        malformed{"v1 softmax/a x=f32[2x4] fill=constant(0) | y=f32[2x4] | variant", "key=value"},
        malformed{"v1 softmax/a x=f32[2x4] fill=constant(0) |\n y=f32[2x4] |", "control character"}));

TEST(case_line, unknown_operators_and_properties_are_named) {
  EXPECT_THROW(parse_case_line("v1 nosuch/within-error-bound x=f32[1x1] fill=constant(0) | y=f32[1x1] |"), usage_error);
  EXPECT_THROW(parse_case_line("v1 softmax/nosuch x=f32[1x1] fill=constant(0) | y=f32[1x1] |"), usage_error);
}

TEST(generated_cases, are_a_function_of_seed_and_index_alone) {
  for (const property& p : all_properties()) {
    target t = emulated_target(dtype::f32);
    t.op = p.op;
    for (int64_t i = 0; i < 20; ++i) {
      EXPECT_EQ(format(generate_case(p, t, 1, i)), format(generate_case(p, t, 1, i)));
    }
    int differ = 0;
    std::set<std::string> cases;
    for (int64_t i = 0; i < 20; ++i) {
      const std::string line = format(generate_case(p, t, 1, i));
      cases.insert(line);
      differ += line != format(generate_case(p, t, 2, i));
    }
    // A property may have one case only (sigmoid's empty vector), or go through all there are, one an index.
    EXPECT_TRUE(differ > 0 || cases.size() == 1 || cases.size() == 20)
        << p.op << "/" << p.name << ": the seed changes nothing";
  }
}

}  // namespace
}  // namespace warpcheck::engine
