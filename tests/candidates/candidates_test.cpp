// Candidates that users bring, through the command: the correct ones pass, and each hostile one is reported as what it
// is, while the command itself goes on.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "tests/run_command.hpp"
#include "tests/scratch_folder.hpp"

namespace {

using warpcheck::self::environment;
using warpcheck::self::scratch_folder;
using result = warpcheck::self::command_result;

result run(const std::string& arguments) {
  return warpcheck::self::run_command("'" + environment("WARPCHECK_TEST_COMMAND") + "' " + arguments);
}

result judge(const std::string& library, const std::string& property = "within-error-bound",
             const std::string& options = "--timeout 3 --cases 20") {
  return run("verify softmax --device cpu --size quick --dtype f32 " + options + " --property " + property +
             " --candidate '" + library + "'");
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string hostile(const std::string& name) {
  return environment("WARPCHECK_TEST_CANDIDATES") + "/libhostile_" + name + ".so";
}

struct expectation {
  const char* behaviour;
  int status;
  const char* text;  // part of the output
};
void PrintTo(const expectation& e, std::ostream* out) { *out << e.behaviour; }

class Hostile : public testing::TestWithParam<expectation> {};

TEST_P(Hostile, IsReportedAsWhatItIs) {
  const expectation& e = GetParam();
  // Each case that hangs takes the whole time it is given, and so does each attempt to make it smaller.
  const bool hangs = std::string(e.text) == "timeout: ";
  const result r =
      judge(hostile(e.behaviour),
            std::string(e.behaviour) == "accepts-everything" ? "rejects-invalid-calls" : "within-error-bound",
            std::string("--shrink-seconds 1 ") + (hangs ? "--timeout 1 --cases 2" : "--timeout 3 --cases 20"));
  EXPECT_TRUE(ended(r, e.status, {e.text})) << "expected '" << e.text << "' in\n";
}

INSTANTIATE_TEST_SUITE_P(
    AtLoad, Hostile,
    testing::Values(expectation{"missing-symbol", 3, "does not export warpcheck_candidate_get"},
                    expectation{"undefined-symbol", 3, "undefined symbol: warpcheck_no_such_function"},
                    expectation{"speaks-no-version", 3, "does not support ABI version 2"},
                    expectation{"another-version", 3, "has ABI version 3; this warpcheck supports 2"},
                    expectation{"small-table", 3, "is malformed (struct_size 8"},
                    expectation{"null-operators", 3, "is malformed"},
                    expectation{"negative-count", 3, "num_operators -1"}, expectation{"null-run", 3, "operator 0"},
                    expectation{"null-name", 3, "operator 0"}, expectation{"null-variants", 3, "operator 0"},
                    expectation{"impossible-device", 3, "names device 7"},
                    expectation{"another-device", 3, "offers no softmax for device cpu"},
                    expectation{"another-operator", 3, "offers no softmax for device cpu"},
                    expectation{"no-dtypes", 2, "nothing to run"}, expectation{"crash-at-load", 3, "signal 11"},
                    expectation{"abort-at-load", 3, "signal 6"}, expectation{"exit-at-load", 3, "status 0"},
                    expectation{"hang-at-load", 3, "no answer from the process that loads the candidate after 20 s"}));

INSTANTIATE_TEST_SUITE_P(
    AtRun, Hostile,
    testing::Values(
        expectation{"segfault", 1, "crash: "}, expectation{"abort", 1, "signal 6"},
        expectation{"exit-0", 1, "exited with status 0"}, expectation{"exit-3", 1, "exited with status 3"},
        expectation{"quick-exit", 1, "exited with status 0"}, expectation{"kill-itself", 1, "signal 9"},
        expectation{"stop-itself", 1, "timeout: "}, expectation{"loop", 1, "timeout: "},
        expectation{"sleep", 1, "timeout: "}, expectation{"throw", 1, "crash"}, expectation{"throw-int", 1, "crash"},
        expectation{"overflow-stack", 1, "signal 11"}, expectation{"huge-allocation", 1, "crash: "},
        expectation{"modify-input", 1, "input x changed during the call"},
        expectation{"write-past", 1, "out_of_bounds: "}, expectation{"write-before", 1, "at byte -4 of a buffer"},
        expectation{"write-gap", 1, "the gap between rows of tensor y was written"},
        expectation{"write-zeros", 1, "violation: "}, expectation{"write-nan", 1, "violation: "},
        expectation{"slightly-wrong", 1, "violation: "}, expectation{"skip-last-row", 1, "violation: "},
        expectation{"nondeterministic", 1, "nondeterministic: "}, expectation{"stale", 1, "softmax/within-error-bound"},
        expectation{"device-error", 1, "the device is on fire"},
        expectation{"unknown-status", 1, "status 99, which does not exist"},
        expectation{"unsupported", 1, "no case was judged"},
        expectation{"accepts-everything", 1, "expected 'invalid argument'"},
        expectation{"lie-about-variant", 1, "which it does not list"}, expectation{"wild-variant", 1, "signal 11"},
        expectation{"close-descriptors", 1, "crash: "}, expectation{"round-upward", 1, "floating-point environment"},
        expectation{"flush-subnormals", 1, "floating-point environment"},
        expectation{"trap-inexact", 1, "floating-point environment"},
        // Rude, but every number is right.
        expectation{"fork", 0, " pass\n"}, expectation{"print", 0, " pass\n"},
        expectation{"unending-message", 0, " pass\n"}));

// All that this candidate is asked for and answers are calls that break the contract.
TEST(NothingJudged, EndsWithOneWhateverTheOptions) {
  const scratch_folder folder;
  const std::string junit = folder.path("r.xml"), json = folder.path("r.json");
  const std::string options = " --property rejects-invalid-calls --cases 20 --allow-skips";
  const result r =
      judge(hostile("unsupported"), "within-error-bound", options + " --junit '" + junit + "' --json '" + json + "'");
  EXPECT_TRUE(ended(r, 1, {"softmax: nothing was judged"}));
  EXPECT_NE(text_of(junit).find("<failure type=\"nothing judged\""), std::string::npos) << text_of(junit);
  EXPECT_NE(text_of(json).find("\"nothing_judged\": [\n  \"softmax\""), std::string::npos);
  const result fuzz = run("fuzz softmax --device cpu --size quick --dtype f32 --property within-error-bound" + options +
                          " --out '" + folder.path("fuzz") + "' --candidate '" + hostile("unsupported") + "'");
  EXPECT_TRUE(ended(fuzz, 1, {"softmax: nothing was judged"}));
}

// The shrunk case has lost the property's own knob, and means its default.
TEST(Shrinking, IsDoneWhereThePropertyHasAKnob) {
  EXPECT_TRUE(ended(judge(hostile("write-nan"), "exact-shift"), 1, {"softmax/exact-shift: violation"}));
}

TEST(Files, ThatAreNoLibraryAreSaidSo) {
  const scratch_folder folder;
  folder.write("text.so", "this is not a library\n");
  folder.write("empty.so", "");
  EXPECT_EQ(judge(folder.path("none.so")).status, 3);
  EXPECT_TRUE(judge(folder.path("none.so")).has("not found"));
  EXPECT_EQ(judge(folder.path("text.so")).status, 3);
  EXPECT_TRUE(judge(folder.path("text.so")).has("does not load"));
  EXPECT_EQ(judge(folder.path("empty.so")).status, 3);
  EXPECT_EQ(judge(folder.path()).status, 3);
}

class Plain : public testing::TestWithParam<std::pair<const char*, const char*>> {};  // an operator, a right candidate

TEST_P(Plain, CppPassesEveryProperty) {
  const auto [op, library] = GetParam();
  // Of an operator alone, what compares it with others is skipped.
  const result r = run(std::string("verify ") + op + " --device cpu --cases 20 --size quick --allow-skips" +
                       " --candidate '" + environment("WARPCHECK_TEST_CANDIDATES") + "/lib" + library + ".so'");
  EXPECT_EQ(r.status, 0) << r.output;
}

// The trial that they pass separates them from kernels that compute nothing.
TEST_P(Plain, CppIsNoNullKernel) {
  const std::string op = GetParam().first;
  for (const char* null : {"zeros", "constant", "copy_input", "previous_output", "row_mean", "nothing_written"}) {
    const result r =
        run("verify " + op + " --device cpu --cases 20 --size quick --dtype f32 --property within-error-bound" +
            " --shrink-seconds 1 --candidate null:" + null);
    EXPECT_TRUE(ended(r, 1, {op + "/within-error-bound: "})) << null;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, Plain,
    testing::Values(std::pair("softmax", "template_softmax"), std::pair("log_softmax", "template_log_softmax"),
                    std::pair("logsumexp", "template_logsumexp"), std::pair("argmax", "faulty_argmax_none"),
                    std::pair("sigmoid", "template_sigmoid"), std::pair("reduce", "faulty_reduce_none")));

// All but what our plan and our workspace are asked for.
TEST(MatmulTemplate, InPlainCppPassesWhatAsksForNoOrder) {
  const std::string verify = "verify matmul --device cpu --cases 20 --size quick --candidate '" +
                             environment("WARPCHECK_TEST_CANDIDATES") + "/libtemplate_matmul.so'";
  std::string properties;
  for (const char* name : {"within-error-bound",
                           "integer-exact",
                           "statistical-sharpness",
                           "low-part",
                           "identity",
                           "permutation",
                           "transpose-agreement",
                           "layer",
                           "non-finite-class",
                           "range-sweep",
                           "beta-alpha-contract",
                           "shape-sweep",
                           "k-padding",
                           "dispatch",
                           "work-independence",
                           "repeatability",
                           "rows-alone",
                           "rejects-invalid-calls",
                           "special-values-of-every-input",
                           "golden"})
    properties += std::string(" --property ") + name;
  EXPECT_TRUE(ended(run(verify + properties), 0));
  EXPECT_TRUE(ended(run(verify + " --property ieee-bits --property low-part"), 0,
                    {"not asked: matmul/ieee-bits: needs the order of sums and the workspaces of our own kernels"}));
}

}  // namespace
