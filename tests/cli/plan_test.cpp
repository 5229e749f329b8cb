// Which cases a command plans: none takes minutes at size quick. The end of a run with a property without cases. What a
// build of some operators says of the others.
#include "command/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "command/support.hpp"
#include "properties/engine/cases/case.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::cli {
namespace {

TEST(Quick, HasNoCaseOfMillionsOfElements) {
  constexpr int64_t k_giant = int64_t{1} << 22;
  verify_options o;
  o.size = "quick";
  o.device = "emulated";
  left_out_properties left_out;
  const std::vector<planned_job> jobs = plan_jobs(request_of(o), left_out);
  EXPECT_GT(jobs.size(), 100u);
  for (const planned_job& planned : jobs)
    for (int64_t i = 0; i < std::min<int64_t>(planned.j.count, 60); ++i) {
      const engine::trial_case c = planned.j.make(i);
      ASSERT_LT(c.elements(), k_giant) << format(c);
    }
  for (const char* name : {"softmax/index-beyond-2-to-24", "log_softmax/wide-row"}) {
    ASSERT_TRUE(left_out.count(name)) << name;
    EXPECT_NE(left_out.at(name).find("millions of elements"), std::string::npos) << left_out.at(name);
  }
}

// Some warps and tiles have work only in the longest rows of a variant, and some counters only from a second row on.
TEST(Plan, EachVariantMeetsItsLongestRowsFirst) {
  verify_options o;
  o.operators = {"softmax", "scan", "argsort", "logsumexp"};
  o.properties = {"within-error-bound"};
  o.dtypes = {"f32"};
  o.device = "emulated";
  left_out_properties left_out;
  for (const planned_job& planned : plan_jobs(request_of(o), left_out)) {
    std::map<std::string, int64_t> first;
    for (int64_t i = 3; i < 400; i += 4) {
      const engine::trial_case c = planned.j.make(i);
      const engine::tensor_spec& x = c.at("x");
      const auto [longest, is_new] = first.try_emplace(c.knob("variant"), x.cols());
      EXPECT_LE(x.cols(), longest->second) << format(c);
      EXPECT_TRUE(!is_new || x.rows() > 1) << format(c);
    }
    EXPECT_GE(first.size(), 3u) << planned.p->op;
  }
}

TEST(Plan, PropertyWithoutACaseJudgesNothing) {
  engine::property never = engine::find_property("sigmoid", "empty");
  never.name = "never";
  never.holds = [](const engine::trial_case&) { return false; };
  const engine::property_registration registered({never});
  verify_options o;
  o.operators = {"sigmoid"};
  o.properties = {"empty", "never"};
  o.device = "emulated";
  o.cases = 1;
  o.allow_skips = true;
  testing::internal::CaptureStdout();
  EXPECT_EQ(verify(o), k_violation);
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_NE(said.find("sigmoid/never: nothing was judged: there was no case"), std::string::npos) << said;
  EXPECT_EQ(said.find("sigmoid/empty: nothing"), std::string::npos) << said;
}

TEST(PartialBuild, SaysWhatItHasNotAndHowToAddIt) {
  EXPECT_EQ(left_out_text({}), "");
  EXPECT_EQ(left_out_text({"scan", "gru"}),
            "left out of this build: scan, gru; 'ci/check OPERATOR' adds one to build/dev\n");
  const std::string absent = unknown_operator("gru", {"scan", "gru"});
  EXPECT_NE(absent.find("'gru' is not part of this build, which has "), std::string::npos) << absent;
  EXPECT_TRUE(absent.ends_with("'ci/check gru' adds it to build/dev")) << absent;
  EXPECT_NE(unknown_operator("gru", {}).find("'gru' is unknown; known are "), std::string::npos);
}

}  // namespace
}  // namespace warpcheck::cli
