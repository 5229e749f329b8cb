// A device that fails for good is a verdict of its case; one that refuses something is an error of the run.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "properties/engine/processes/contain.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/run_case.hpp"

namespace warpcheck::engine {
namespace {

class failing_device : public testing::TestWithParam<const char*> {
 protected:
  void TearDown() override {
    unsetenv("WARPCHECK_TEST_FAILS");
    unsetenv("WARPCHECK_TEST_LOST");
  }
  static case_report run(const std::string& property = "within-error-bound") {
    return run_case(
        parse_case_line(fmt::format("v1 softmax/{} x=f32[3x1] fill=constant(0) | y=f32[3x1] | candidate={} device=cpu",
                                    property, TEST_FAILING_DEVICE)));
  }
};

TEST_F(failing_device, is_right_where_nothing_fails) {
  const case_report r = run();
  EXPECT_EQ(r.result, verdict::pass) << describe(r);
}

TEST_P(failing_device, that_is_lost_is_a_verdict_after_which_the_process_ends) {
  setenv("WARPCHECK_TEST_FAILS", GetParam(), 1);
  setenv("WARPCHECK_TEST_LOST", "1", 1);
  const case_report r = run();
  EXPECT_EQ(r.result, verdict::error_return) << describe(r);
  EXPECT_NE(r.message.find("planted; the process is unusable"), std::string::npos) << r.message;
  EXPECT_TRUE(may_be_the_device(r));
  EXPECT_TRUE(corrupts_process(r));
}

TEST_P(failing_device, that_refuses_is_an_error_of_the_run) {
  setenv("WARPCHECK_TEST_FAILS", GetParam(), 1);
  if (std::string(GetParam()) == "stream_synchronize")
    EXPECT_EQ(run().result, verdict::error_return);
  else
    EXPECT_ANY_THROW(run());
}

INSTANTIATE_TEST_SUITE_P(in, failing_device,
                         testing::Values("alloc", "copy_in", "copy_out", "stream_create", "stream_renew",
                                         "stream_synchronize"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace warpcheck::engine
