// Candidates that publish nothing, through the command: what is said of their flaws, and that they are seen.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/run_command.hpp"
#include "tests/scratch_folder.hpp"

namespace {

using warpcheck::self::environment;
using warpcheck::self::scratch_folder;
using result = warpcheck::self::command_result;

result verify(const std::string& op, const std::string& flaw, const std::string& arguments) {
  return warpcheck::self::run_command("'" + environment("WARPCHECK_TEST_COMMAND") + "' verify " + op +
                                      " --device cpu --candidate '" + environment("WARPCHECK_TEST_CANDIDATES") +
                                      "/libfaulty_" + op + "_" + flaw + ".so' " + arguments);
}

// A .npy file of f32.
void write_array(const std::string& path, size_t rows, size_t cols, const std::vector<float>& values) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
                       std::to_string(cols) + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::ofstream out(path, std::ios::binary);
  out.write("\x93NUMPY\x01\0", 8);
  out.put(static_cast<char>(header.size() & 0xff)).put(static_cast<char>(header.size() >> 8));
  out << header;
  out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
}

TEST(OptionalOutput, ThatIsNotOfferedLeavesTheRestJudged) {
  const result r = verify("softmax", "none", "--cases 40 --property special-values --property rejects-invalid-calls");
  EXPECT_TRUE(ended(r, 0, {}, {"skipped"}));
}

TEST(Offer, OfOneOfTwoConventionsIsFound) {
  const result r = verify("best_split", "only-lightgbm",
                          "--cases 24 --without-property 'rejects-invalid-calls:this candidate checks nothing'");
  EXPECT_TRUE(ended(r, 0, {"does not offer lightgbm_cuda=0, in_value", "not asked: best_split/sides-add-up: needs "},
                    {"skipped", "not asked: best_split/record-self-consistent", "lightgbm-conventions: needs"}));
}

TEST(Input, IsJudgedForEveryThingThatACallCanAskFor) {
  const scratch_folder folder;
  write_array(folder.path("x.npy"), 2, 3, {1, 5, 2, -1, 0, 4});
  const std::string input = "--input '" + folder.path("x.npy") + "' --json '" + folder.path("r.json") + "'";
  EXPECT_TRUE(ended(verify("softmax", "none", input), 0, {}, {"skipped"}));
  const result r = verify("reduce", "maximum-is-minimum", input);
  EXPECT_TRUE(ended(r, 1, {"op=2"}));
}

TEST(Input, WithoutElementsHasNothingToJudge) {
  const scratch_folder folder;
  write_array(folder.path("x.npy"), 0, 1000, {});
  const result r = verify("softmax", "none", "--input '" + folder.path("x.npy") + "'");
  EXPECT_TRUE(ended(r, 2, {"is an array of 0 x 1000, which has no element to judge; at least one is needed"}));
}

// The flaw is in the middle of the array; what is kept is the pair that shows it.
TEST(Input, OfAWrongKernelIsCutToWhatShowsIt) {
  const scratch_folder folder;
  std::vector<float> values(size_t{40} * 60);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 60) * 0.25f;
  values[23 * 60 + 31] = values[23 * 60 + 47] = 100;
  write_array(folder.path("x.npy"), 40, 60, values);
  const result r = verify(
      "argmax", "last-of-equals",
      "--property within-error-bound --input '" + folder.path("x.npy") + "' --json '" + folder.path("r.json") + "'");
  EXPECT_TRUE(ended(r, 1, {"it is shrunk to [1x17] at 23,31 of", "index[0] is 16, expected 0"}));
  // The small array is a file of its own, which the line names.
  const std::string kept = folder.path("x.argmax-within-error-bound.npy");
  EXPECT_EQ(std::filesystem::file_size(kept), 128 + 17 * sizeof(float));
  EXPECT_TRUE(r.has("x=f32[1x17] fill=npy(" + kept + ",")) << r.output;
  const size_t line = r.output.find("replay '") + 7;
  const result again = warpcheck::self::run_command("'" + environment("WARPCHECK_TEST_COMMAND") + "' replay " +
                                                    r.output.substr(line, r.output.find('\n', line) - line));
  EXPECT_TRUE(ended(again, 1, {"index[0] is 16, expected 0"}));
}

TEST(ReadsBesideABuffer, AreOutOfBounds) {
  for (const char* flaw : {"reads-past", "reads-before"}) {
    const result r = verify("softmax", flaw, "--property within-error-bound --cases 3 --max-cols 37");
    EXPECT_TRUE(ended(r, 1, {"out_of_bounds: the call touches memory at byte ", ", tensor x"}));
  }
}

TEST(Failures, AreOneNumberEverywhere) {
  const result r = verify("argmax", "last-of-equals", "--cases 200 --property first-index");
  EXPECT_TRUE(ended(r, 1, {"cases/s), 5 failures\n", "(stopped after 5 failures)"}, {"s left"}));
}

// Rows without elements are no case of the property.
TEST(Shrinking, StaysInTheContractOfTheProperty) {
  const result r = verify("argmax", "last-of-equals", "--cases 40 --property first-index");
  EXPECT_TRUE(says(r, {"x=f32[1x2]"}, {"which no element has"}));
}

struct long_flaw {
  const char *op, *name, *properties;
};
void PrintTo(const long_flaw& f, std::ostream* out) { *out << f.op << ":" << f.name; }
class OfAStranger : public testing::TestWithParam<long_flaw> {};

TEST_P(OfAStranger, IsSeenWhereItsCodeMayChangeItsWays) {
  const result r = verify(GetParam().op, GetParam().name,
                          std::string("--allow-skips --fail-fast --shrink-seconds 1 ") + GetParam().properties);
  EXPECT_TRUE(ended(r, 1, {": violation: "}));
}

INSTANTIATE_TEST_SUITE_P(
    At, OfAStranger,
    testing::Values(long_flaw{"softmax", "rows-beyond-264", "--property rows-beyond-grid"},
                    long_flaw{"softmax", "tail-beyond-131072", "--cases 20 --property dispatch-boundaries"},
                    long_flaw{"softmax", "tail-beyond-131072", "--property within-error-bound"},
                    long_flaw{"argmax", "index-of-16-bits", "--property first-index"},
                    long_flaw{"reduce", "part-beyond-65536", "--property dispatch-boundaries"},
                    long_flaw{"histogram", "bins-of-15-bits", "--dtype u16 --property quantised-exact-model"},
                    long_flaw{"histogram", "counts-of-17-bits", "--dtype u8 --property quantised-exact-model"},
                    // What looks at our techniques looks at a stranger's own dispatch.
                    long_flaw{"histogram", "columns-beyond-64", "--dtype u8 --property column-groups"},
                    long_flaw{"scan", "carry-of-one-wave", "--property wave-carry"},
                    long_flaw{"best_split", "wide-features-in-f32", "--property block-equals-cluster"}));

// The same candidates without a flaw.
TEST(Strangers, ThatAreRightPass) {
  EXPECT_TRUE(
      ended(verify("softmax", "none", "--property rows-beyond-grid --property dispatch-boundaries --cases 20"), 0));
  EXPECT_TRUE(
      ended(verify("histogram", "none", "--dtype u16 --property quantised-exact-model --cases 40 --allow-skips"), 0));
  EXPECT_TRUE(ended(verify("scan", "none", "--property wave-carry --cases 20"), 0));
  EXPECT_TRUE(ended(verify("best_split", "none", "--property block-equals-cluster --cases 20"), 0));
}

// A library of one operator has nothing to be compared with: that is said once, and is no skip.
TEST(Needs, OfAnotherOperatorAreSaidOnce) {
  const result r = verify("reduce", "none", "--property cross-operator --property within-error-bound --cases 20");
  EXPECT_TRUE(ended(r, 0, {"not asked: reduce/cross-operator: needs argmax of the same candidate\n"}, {"skipped"}));
}

// Rows of bins 2^32 elements apart take no more memory than they have bins.
TEST(FarRows, TakeNoMemoryOnTheHost) {
  const result r = verify("histogram", "none", "--property large-offset --cases 100 --dtype u32 --allow-skips");
  EXPECT_TRUE(says(r, {"histogram u32: offers nothing", "no case was judged"}, {"memory"}));
}

TEST(FailFast, EndsTheRunWithTheFirstFailure) {
  const result r = verify("argmax", "last-of-equals", "--cases 300 --workers 1 --fail-fast --property first-index");
  EXPECT_TRUE(ended(r, 1, {"stopped at the first failure"}, {"stopped after"}));
}

}  // namespace
