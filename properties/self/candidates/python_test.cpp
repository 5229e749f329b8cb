// `--python`: a NumPy function passes what it must, faulty ones get their verdicts with a line that repeats it, and what
// is wrong with the arguments is said in a sentence.
#include <gtest/gtest.h>

#include <string>

#include "properties/self/run_command.hpp"
#include "properties/self/scratch_folder.hpp"

namespace {

using warpcheck::self::environment;
using result = warpcheck::self::command_result;

std::string interpreter() { return environment("WARPCHECK_TEST_PYTHON"); }

class Python : public testing::Test {
 protected:
  result run(const std::string& arguments) const {
    return warpcheck::self::run_command("cd " + folder_.path("") + " && '" + environment("WARPCHECK_TEST_COMMAND") +
                                        "' " + arguments);
  }
  result verify(const std::string& function, const std::string& more = "") const {
    return run("verify softmax --python door.py:" + function + " --interpreter " + interpreter() +
               " --dtype f32 --cases 4 --size quick --max-cols 300 --shrink-seconds 0.5 " + more);
  }
  // Of the first failure.
  static std::string line_of(const result& r) {
    const size_t begin = r.output.find("warpcheck replay '");
    if (begin == std::string::npos) return "";
    const size_t open = r.output.find('\'', begin);
    return r.output.substr(open, r.output.find('\'', open + 1) + 1 - open);
  }

  void SetUp() override {
    if (warpcheck::self::run_command("'" + interpreter() + "' -c 'import numpy'").status != 0)
      GTEST_SKIP() << "WARPCHECK_SKIP: there is no NumPy (ci/requirements.txt)";
    folder_.write("door.py", R"(
import ctypes, os, sys
import numpy

def softmax(x, y, index=None):
    x, y = numpy.from_dlpack(x), numpy.from_dlpack(y)
    if index is not None:
        numpy.from_dlpack(index)[...] = numpy.argmax(x, axis=1) if x.shape[1] else -1
    if x.shape[1]:
        with numpy.errstate(all="ignore"):
            e = numpy.exp(x.astype("f8") - x.max(axis=1, keepdims=True))
            y[...] = e / e.sum(axis=1, keepdims=True)

def unshifted(x, y):
    x, y = numpy.asarray(x), numpy.asarray(y)
    with numpy.errstate(all="ignore"):
        e = numpy.exp(x)
        y[...] = e / e.sum(axis=1, keepdims=True)

def forgets(x, y): pass
def raises(x, y): raise ValueError("no such luck")
def dies(x, y): ctypes.string_at(8)
def leaves(x, y): sys.exit(3)
def hangs(x, y):
    while True: pass
def spoils(x, y):
    softmax(x, y)
    numpy.from_dlpack(x)[...] = 0
def beyond(x, y):
    softmax(x, y)
    ctypes.memset(numpy.from_dlpack(y).ctypes.data - 1, 1, 1)
def refuses(x, y): raise NotImplementedError("nothing is done here")
def narrow(x): pass
softmax.dtypes = ["f32", "f16"]
unshifted.dtypes = ["f99"]
)");
  }

  warpcheck::self::scratch_folder folder_;
};

TEST_F(Python, NumPyPassesEveryProperty) {
  const result r = run("verify softmax --python '" + environment("WARPCHECK_TEST_DOCS") +
                       "/softmax_numpy.py:softmax' --interpreter " + interpreter() +
                       " --cases 4 --size quick --max-cols 3000 --allow-skips");
  EXPECT_EQ(r.status, 0) << r.output;
  EXPECT_TRUE(r.has("refusals")) << r.output;
  EXPECT_TRUE(r.has("140 cases, ")) << r.output;
}

TEST_F(Python, AWrongFunctionFailsAndItsLineRepeatsIt) {
  const result r = verify("forgets", "--property component-bound");
  EXPECT_EQ(r.status, 1) << r.output;
  const std::string line = line_of(r);
  ASSERT_NE(line, "") << r.output;
  EXPECT_NE(line.find("candidate=python:door.py:forgets"), std::string::npos) << line;
  const result again = run("replay " + line);
  EXPECT_EQ(again.status, 1) << again.output;
  EXPECT_TRUE(again.has("was not written")) << again.output;
  const result mended = run("replay " + line + " --candidate python:door.py:softmax:" + interpreter());
  EXPECT_EQ(mended.status, 0) << mended.output;
}

TEST_F(Python, WhatAFunctionDoesIsAVerdict) {
  const struct {
    const char *function, *verdict, *said;
  } list[] = {{"raises", "error_return", "ValueError: no such luck (door.py:"},
              {"dies", "crash", "the Python process was killed by signal 11"},
              {"leaves", "crash", "the Python process exited with status 3"},
              {"spoils", "input_modified", "input x changed during the call"},
              {"beyond", "out_of_bounds", "the guard zone of tensor y was written at byte -1"},
              {"narrow", "error_return", "cannot be called as FUNCTION(x, y"}};
  for (const auto& one : list) {
    const result r = verify(one.function, "--property component-bound --fail-fast");
    EXPECT_EQ(r.status, 1) << one.function << "\n" << r.output;
    EXPECT_TRUE(r.has(one.verdict)) << one.function << "\n" << r.output;
    EXPECT_TRUE(r.has(one.said)) << one.function << "\n" << r.output;
  }
}

TEST_F(Python, AFunctionThatHangsIsStopped) {
  const result r = verify("hangs", "--property component-bound --timeout 3 --fail-fast --workers 1");
  EXPECT_EQ(r.status, 1) << r.output;
  EXPECT_TRUE(r.has("timeout")) << r.output;
}

TEST_F(Python, WhatItDoesNotOfferIsSkipped) {
  const result r = verify("refuses", "--property component-bound");
  EXPECT_TRUE(r.has("4 skipped")) << r.output;
}

TEST_F(Python, MistakesAreSaid) {
  const std::string door = " --python door.py:softmax --interpreter " + interpreter();
  const struct {
    std::string arguments;
    int status;
    const char* said;
  } list[] = {
      {"verify softmax --python door.py", 2, "python: 'door.py' is not FILE.py:FUNCTION"},
      {"verify softmax --python none.py:f", 2, "python: there is no file 'none.py'"},
      {"verify softmax --python door.py:none --interpreter " + interpreter(), 2,
       "python: door.py defines no function 'none'; it defines softmax, unshifted, "},
      {"verify softmax --python door.py:unshifted --interpreter " + interpreter(), 2, "unshifted.dtypes of door.py is"},
      {"verify softmax --python door.py:softmax --interpreter /no/python", 3, "'/no/python' cannot be started"},
      {"verify histogram" + door, 2, "python: operator histogram has no Python door; those that have: softmax"},
      {"verify" + door, 2, "python: name the one operator that the function implements"},
      {"verify softmax --device emulated" + door, 2,
       "python: device emulated runs no Python function; cpu and cuda do"},
      {"verify softmax --candidate x.so" + door, 2, "python: it cannot be given together with --candidate"}};
  for (const auto& one : list) {
    const result r = run(one.arguments);
    EXPECT_EQ(r.status, one.status) << one.arguments << "\n" << r.output;
    EXPECT_TRUE(r.has(one.said)) << one.arguments << "\n" << r.output;
  }
}

}  // namespace
