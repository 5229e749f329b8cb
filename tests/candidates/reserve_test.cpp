// Candidates of gru with a reserve of their own between the passes (abi/candidate_reserve.h), through the command.
#include <gtest/gtest.h>

#include <string>

#include "tests/run_command.hpp"

namespace {

using warpcheck::self::environment;
using result = warpcheck::self::command_result;

result verify(const std::string& flaw, const std::string& arguments) {
  return warpcheck::self::run_command(
      "'" + environment("WARPCHECK_TEST_COMMAND") + "' verify gru --device cpu --candidate '" +
      environment("WARPCHECK_TEST_CANDIDATES") + "/libreserve_" + flaw + ".so' " + arguments);
}

constexpr const char* k_both_passes =
    "--cases 8 --size quick --property forward-matches-the-reference --property the-adjoint-identity-holds --property "
    "every-step-follows-from-the-step-before --property same-input-same-bits ";

TEST(Reserve, IsReturnedAndTheBackwardPassJudged) {
  for (const char* isolate : {"", "--no-isolate "}) {
    const result r = verify("none", std::string(isolate) + k_both_passes +
                                        "--property gate-functions-are-within-c-u --property passes-alone-equal-both");
    EXPECT_TRUE(ended(r, 0, {}, {"skipped"}));
    for (const char* asked : {"forward-matches-the-reference", "the-adjoint-identity-holds",
                              "every-step-follows-from-the-step-before", "same-input-same-bits"})
      EXPECT_TRUE(r.has(std::string("gru          ") + asked)) << asked << "\n" << r.output;
    // Our layout, and a backward pass without the forward pass before it.
    EXPECT_TRUE(says(r, {"not asked: gru/gate-functions-are-within-c-u: needs history",
                         "not asked: gru/passes-alone-equal-both: needs pass=backward"}));
  }
}

TEST(Reserve, ThatIsLostBetweenTheCallsIsSeen) {
  const result r = verify("loses-reserve",
                          "--cases 8 --size quick --shrink-seconds 1 --property "
                          "forward-matches-the-reference");
  EXPECT_TRUE(ended(r, 1, {"gru/forward-matches-the-reference: violation: "}));
}

TEST(Reserve, WrittenBeyondItsSizeIsSeen) {
  for (const char* isolate : {"", "--no-isolate "}) {
    EXPECT_TRUE(ended(verify("writes-past", std::string(isolate) + "--cases 4 --size quick --shrink-seconds 1 "
                                                                   "--property forward-matches-the-reference"),
                      1, {"gru/forward-matches-the-reference: out_of_bounds: ", "reserve"}));
  }
}

TEST(Reserve, OfANegativeSizeIsAnErrorOfTheCall) {
  const result r = verify("negative-size", "--cases 4 --size quick --property forward-matches-the-reference");
  EXPECT_TRUE(ended(r, 1, {"the reserve's bytes are -1, must be 0 or more"}));
}

}  // namespace
