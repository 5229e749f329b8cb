// The published tiled product and layer: each flaw must be rejected with its own report, and the kernel without it must
// pass the same case.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>
#include <utility>

#include "properties/controls/known_bad/known_bad_test.hpp"

namespace warpcheck {
namespace {

struct call {
  int64_t m, n, k;
  bool layer = false;
  std::string knobs = "detect=off schedule=fair";
  std::string layout_of_c = "";
  std::string property = "within-error-bound";
};

case_report judge(const std::string& variant, const call& c) {
  const std::string none = "fill=constant(0)";
  const std::string line = fmt::format(
      "v1 matmul/{} a=f32[{}x{}] fill=uniform(1,1,2) | b=f32[{}x{}] fill=uniform(2,1,2) | c_in=f32[0x0] {} | "
      "bias=f32[{}] fill=uniform(3,-2,2) | c=f32[{}x{}] {} | work=u8[0] | candidate={} "
      "device=emulated "
      "variant={} {}",
      c.property, c.m, c.k, c.k, c.n, none, c.layer ? c.n : 0, c.m, c.n, c.layout_of_c,
      known_bad_library("matmul_tile16"), variant, c.knobs);
  return judge_line(line);
}

void expect_finding(const case_report& r, const std::string& kind, const std::string& mark) {
  const std::string at = place("matmul_tile16", mark);
  for (const std::string& f : r.findings)
    if (f.starts_with(kind) && f.find(at) != std::string::npos) return;
  ADD_FAILURE() << "no " << kind << " at " << at << "\n" << describe(r);
}

const std::string k_detect = "detect=only schedule=fair";

void expect_right_without(const call& c) { expect_pass(judge("mm_tile16_rate", c), "mm_tile16_rate"); }

TEST(MatmulKnownBad, AllAreRightWhereTheirFlawsDoNotShow) {
  const call whole{32, 48, 16};
  for (const char* name :
       {"mm_tile16_rate", "mm_tile16_k_a", "mm_tile16_k_b", "mm_tile16_n", "mm_tile16_m", "mm_tile16_m_read",
        "mm_tile16_m_down", "mm_int_offset", "layer_no_pad", "layer_sigmoid", "layer_call"})
    for (const std::string& knobs : {whole.knobs, k_detect}) {
      call c = whole;
      c.knobs = knobs;
      expect_pass(judge(name, c), name);
    }
}

// Wrong values where nobody watches, and the place where somebody does.
TEST(MatmulKnownBad, TailsOfKReadElsewhere) {
  for (const auto& [name, mark] : {std::pair{"mm_tile16_k_a", "read-a"}, {"mm_tile16_k_b", "read-b"}}) {
    call c{16, 16, 17};
    expect_right_without(c);
    c.knobs = k_detect;
    expect_right_without(c);
    const case_report found = judge(name, c);
    EXPECT_EQ(found.result, verdict::out_of_bounds) << describe(found);
    expect_finding(found, "out_of_bounds", mark);
  }
  // Both at once multiply what does not belong to each other.
  const case_report wrong = judge("layer_no_pad", {16, 16, 17});
  EXPECT_EQ(wrong.result, verdict::violation) << describe(wrong);
}

TEST(MatmulKnownBad, StoresRunIntoTheNextRow) {
  call c{20, 20, 16};
  expect_right_without(c);
  const case_report wrong = judge("mm_tile16_n", c);
  EXPECT_TRUE(wrong.result == verdict::violation || wrong.result == verdict::out_of_bounds) << describe(wrong);
  // The first finding ends a launch: which of the two it is depends on who comes first.
  bool races = false, leaves = false;
  for (const char* schedule : {"fair", "greedy", "reverse", "random:1", "random:2", "random:3"}) {
    c.knobs = std::string("detect=only schedule=") + schedule;
    expect_right_without(c);
    const case_report found = judge("mm_tile16_n", c);
    races = races || found.result == verdict::race;
    leaves = leaves || found.result == verdict::out_of_bounds;
    expect_finding(found, found.result == verdict::race ? "race" : "out_of_bounds", "write-c");
  }
  EXPECT_TRUE(races) << "no two blocks were seen to write an element";
  EXPECT_TRUE(leaves) << "no write past the end of C was seen";
}

TEST(MatmulKnownBad, TheHeightIsNoArgument) {
  call c{17, 16, 16};
  expect_right_without(c);
  const case_report unwritten = judge("mm_tile16_m_down", c);
  EXPECT_EQ(unwritten.result, verdict::violation) << describe(unwritten);
  EXPECT_NE(unwritten.message.find("c[16,0] was not written"), std::string::npos) << describe(unwritten);
  c.knobs = k_detect;
  for (const auto& [name, mark] : {std::pair{"mm_tile16_m_read", "read-a"}, {"mm_tile16_m", "write-c"}}) {
    const case_report found = judge(name, c);
    EXPECT_EQ(found.result, verdict::out_of_bounds) << describe(found);
    expect_finding(found, "out_of_bounds", mark);
  }
}

TEST(MatmulKnownBad, OffsetsAreInt) {
  call c{3, 3, 3};
  c.layout_of_c = "ld=2147483651";
  c.property = "large-offset";
  EXPECT_EQ(judge("mm_tile16_rate", c).result, verdict::pass);
  const case_report r = judge("mm_int_offset", c);
  EXPECT_TRUE(r.result == verdict::crash || r.result == verdict::out_of_bounds) << describe(r);
}

TEST(MatmulKnownBad, NobodyPads) {
  call c{17, 20, 17, true};
  expect_right_without(c);
  c.knobs = k_detect;
  const case_report found = judge("layer_no_pad", c);
  EXPECT_EQ(found.result, verdict::out_of_bounds) << describe(found);
}

TEST(MatmulKnownBad, TheSigmoidIsTheComplement) {
  const call c{2, 3, 4, true, "sigmoid=1 mu=9 sigma=0.25 detect=off schedule=fair", "", "layer"};
  expect_right_without(c);
  const case_report r = judge("layer_sigmoid", c);
  ASSERT_TRUE(r.result == verdict::violation && r.worst) << describe(r);
  EXPECT_NEAR(r.worst->actual, 1 - r.worst->expected, 1e-6) << describe(r);
}

TEST(MatmulKnownBad, TheLayersOwnCallTellsNothing) {
  const call c{2, 3, 4, true, "sigmoid=1 mu=9 sigma=0.25 detect=off schedule=fair", "", "layer"};
  const case_report r = judge("layer_call", c);
  ASSERT_TRUE(r.result == verdict::violation && r.worst) << describe(r);
  EXPECT_EQ(r.worst->actual, 0.5) << describe(r);
}

}  // namespace
}  // namespace warpcheck
