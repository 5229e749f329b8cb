// Trials on a GPU. A fault of the device is the verdict of its case and not the end of the run. compute-sanitizer says
// nothing about a correct kernel and sees a planted defect of each kind, so that its silence about other kernels means
// something: verify runs cases in forked workers and hands out memory of its own, and both could hide a defect.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "tests/run_command.hpp"
#include "tests/scratch_folder.hpp"

namespace {

using warpcheck::self::environment;

using result = warpcheck::self::command_result;

// Puts an entry of planted_softmax.cu on trial, under the words of `tool`.
result judge(const std::string& entry, const std::string& tool = "") {
  return warpcheck::self::run_command(
      tool + " '" + environment("WARPCHECK_TEST_COMMAND") +
      "' verify softmax --device cuda --cases 2 --size quick --dtype f32 --property in-place-equals-out-of-place "
      "--property empty --workers 1 --timeout 300 --source " +
      environment("WARPCHECK_TEST_SOURCE") + " --entry " + entry);
}

// What the sanitizer counted; -1 if it printed no summary.
int errors(const result& r) {
  static const std::regex summary(
      R"(ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: \d+ hazards? displayed \((\d+) error)");
  int worst = -1;
  for (std::sregex_iterator at(r.output.begin(), r.output.end(), summary), end; at != end; ++at)
    worst = std::max(worst, std::stoi((*at)[1].matched ? (*at)[1] : (*at)[2]));
  return worst;
}

TEST(Source, ACorrectKernelPasses) {
  const result r = judge("none");
  EXPECT_EQ(r.status, 0) << r.output;
}

TEST(Source, AWriteBehindAnOutputIsOutOfBounds) {
  const result r = judge("writes_past_the_end");
  EXPECT_TRUE(ended(r, 1, {"out_of_bounds: the guard zone of tensor y was written at byte"}));
}

TEST(Source, AFaultIsTheVerdictOfItsCaseAndTheRunGoesOn) {
  const result r = judge("writes_nowhere");
  EXPECT_TRUE(ended(r, 1, {"error_return: the device reports an error after the call: ", "cudaErrorIllegalAddress"}));
  // `empty` follows in a new process, where nothing is launched and nothing faults.
  EXPECT_TRUE(r.has("2 failures")) << r.output;
}

// Under MPS a fault reaches all four workers, and those that were at other cases must not get its verdict.
TEST(Mps, OnlyCasesThatFaultAreToBlame) {
  if (warpcheck::self::run_command("command -v nvidia-cuda-mps-control").status != 0)
    GTEST_SKIP() << "WARPCHECK_SKIP: nvidia-cuda-mps-control is not installed";
  for (const char* mps : {"--mps", ""}) {
    const warpcheck::self::scratch_folder folder;
    const result r = warpcheck::self::run_command(
        "'" + environment("WARPCHECK_TEST_COMMAND") +
        "' verify softmax --device cuda --cases 60 --dtype f32 --max-rows 4 --max-cols 257 --workers 4 --timeout 60 "
        "--property within-error-bound --property exact-shift --source " +
        environment("WARPCHECK_TEST_SOURCE") + " --entry writes_nowhere_for_two_rows --json " + folder.path("result") +
        " " + mps);
    EXPECT_EQ(r.status, 1) << r.output;
    std::ifstream file(folder.path("result"));
    const nlohmann::json result = nlohmann::json::parse(file);
    EXPECT_FALSE(result.at("failures").empty());
    for (const nlohmann::json& f : result.at("failures")) {
      EXPECT_EQ(f.at("verdict"), "error_return") << f;
      EXPECT_NE(f.at("case").get<std::string>().find("f32[2x"), std::string::npos) << f;
      EXPECT_EQ(f.at("message").get<std::string>().find("it did not fail alone"), std::string::npos) << f;
    }
  }
}

struct expectation {
  const char* tool;
  const char* entry;
};
void PrintTo(const expectation& e, std::ostream* out) { *out << e.tool; }

class Sanitizer : public testing::TestWithParam<expectation> {};

TEST_P(Sanitizer, SeesAPlantedDefectAndNothingElse) {
  if (warpcheck::self::run_command("command -v compute-sanitizer").status != 0)
    GTEST_SKIP() << "WARPCHECK_SKIP: compute-sanitizer is not installed";
  const std::string tool = std::string("compute-sanitizer --target-processes all --tool ") + GetParam().tool;
  const result correct = judge("none", tool);
  EXPECT_EQ(correct.status, 0) << correct.output;
  EXPECT_EQ(errors(correct), 0) << correct.output;
  const result planted = judge(GetParam().entry, tool);
  EXPECT_GT(errors(planted), 0) << planted.output;
}

INSTANTIATE_TEST_SUITE_P(Tools, Sanitizer,
                         testing::Values(expectation{"memcheck", "reads_past_the_end"},
                                         expectation{"racecheck", "forgets_a_barrier"},
                                         expectation{"initcheck", "reads_fresh_memory"},
                                         expectation{"synccheck", "leaves_lanes_behind"}));

}  // namespace
