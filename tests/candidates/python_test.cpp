// `--python`: the templates pass what they must, faulty functions get their verdicts with a line that repeats it, and
// what is wrong with the arguments is said in a sentence.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/run_command.hpp"
#include "tests/scratch_folder.hpp"

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

def by_place(a, b):
    softmax(a, b)
def other_shape(x, y): numpy.asarray(y)[...] = numpy.asarray(x)[:, :-1]
def forgets(x, y): pass
def returns(x, y): return numpy.asarray(x)
def raises(x, y): raise ValueError("no such luck")
def dies(x, y): ctypes.string_at(8)
def leaves(x, y): sys.exit(3)
def hangs(x, y):
    with open("hanging", "w") as f: f.write(str(os.getpid()))
    while True: pass
def corrupts(x, y):
    softmax(x, y)
    numpy.from_dlpack(x)[...] = 0
def beyond(x, y):
    softmax(x, y)
    ctypes.memset(numpy.from_dlpack(y).ctypes.data - 1, 1, 1)
def refuses(x, y): raise NotImplementedError("nothing is done here")
def narrow(x): pass
def too_narrow(x): pass
def prints(x, y):
    print("rows:", x.shape[0])
    softmax(x, y)
def fickle(x, y, index=None):
    if 100 < x.shape[1] < 140: raise NotImplementedError("not today")
    softmax(x, y, index)
def plain_sigmoid(x, y): numpy.asarray(y)[...] = 1 / (1 + numpy.exp(-numpy.asarray(x).astype("f8")))
def halves(x, y): numpy.asarray(x)
halves.dtypes = ["bf16"]
softmax.dtypes, narrow.dtypes = ["f32", "f16"], ["f99"]
)");
  }

  warpcheck::self::scratch_folder folder_;
};

std::string docs(const std::string& file_and_function) {
  return "'" + environment("WARPCHECK_TEST_DOCS") + "/" + file_and_function + "'";
}

TEST_F(Python, NumPyPassesEveryProperty) {
  const result r = run("verify softmax --python " + docs("operators_numpy.py:softmax") + " --interpreter " +
                       interpreter() + " --cases 4 --size quick --max-cols 3000 --allow-skips");
  EXPECT_TRUE(ended(r, 0, {"rejects-invalid-calls", "144 cases, "}));
}

TEST_F(Python, EveryTemplateOfNumPyPasses) {
  for (const std::string op : {"log_softmax", "logsumexp", "argmax", "sigmoid", "reduce", "scan", "argsort"}) {
    const result r = run("verify " + op + " --python " + docs("operators_numpy.py:" + op) + " --interpreter " +
                         interpreter() + " --cases 1 --size quick --max-cols 300 --max-rows 40 --allow-skips");
    EXPECT_TRUE(ended(r, 0, {"rejects-invalid-calls"})) << op;
  }
}

// Several forms, tensors of three and four dimensions, optional ones, and parameters taken by name.
TEST_F(Python, OperatorsOfManyTensorsGoThrough) {
  const struct {
    const char *op, *selection;
  } list[] = {
      {"matmul",
       "--dtype f32 --property within-error-bound --property non-finite-class --property rejects-invalid-calls"},
      {"histogram", "--property exact-model --property quantised-exact-model --property rejects-invalid-calls"},
      {"gru",
       "--property gate-functions-are-within-c-u --property forward-matches-the-reference --property "
       "passes-alone-equal-both --property save-equals-recompute --property the-adjoint-identity-holds --property "
       "special-values-of-every-input --property rejects-invalid-calls"},
      {"best_split",
       "--property split-is-maximal --property record-self-consistent --property sorted-is-prefix-optimal --property "
       "extra-trees --property reduce-is-lex-max --property rejects-invalid-calls"}};
  for (const auto& one : list) {
    const std::string op = one.op;
    const result r = run("verify " + op + " --python " + docs("operators_numpy.py:" + op) + " --interpreter " +
                         interpreter() + " --cases 12 --size quick --allow-skips " + one.selection);
    EXPECT_TRUE(ended(r, 0, {}, {"not tried"})) << op;
  }
}

// The object is the function's own: here a history, in f32, that the call is not asked for.
TEST_F(Python, ABackwardPassGetsWhatTheForwardPassReturned) {
  folder_.write("reserve.py", "import sys\nsys.path.insert(0, '" + environment("WARPCHECK_TEST_DOCS") + R"(')
import numpy
import operators_numpy

last = []

def gru(x, w_ih, w_hh, reserve=None, **others):
    if others["history_mode"] == 1 or (others["pass"] != 0 and reserve is None):
        raise NotImplementedError("a history of its own")
    (time, batch, _), (directions, _, hidden) = x.shape, w_hh.shape
    history = numpy.zeros((directions, time, batch, 4 * hidden), "f4") if reserve is None else reserve
    if others["pass"] == 0:  # where an extent is 0, outputs of the other pass are there and have no elements
        others = {n: v for n, v in others.items() if n[0] != "d" and n != "trace_e"}
    others["history_in" if others["pass"] == 1 else "history"] = history
    operators_numpy.gru(x, w_ih, w_hh, **{**others, "history_mode": 1})
    return history

def forgetful(x, w_ih, w_hh, reserve=None, **others):
    if reserve is not None:
        reserve = last[-1]
    last[:] = [gru(x, w_ih, w_hh, reserve=reserve, **others)]
    return last[-1]

def empty(x, w_ih, w_hh, reserve=None, **others):
    gru(x, w_ih, w_hh, reserve=reserve, **others)
)");
  const auto verify_reserve = [&](const std::string& function, const std::string& options) {
    return run("verify gru --python reserve.py:" + function + " --interpreter " + interpreter() +
               " --cases 6 --size quick --shrink-seconds 0.5 --property forward-matches-the-reference" + options);
  };
  const result whole = verify_reserve("gru", " --property the-adjoint-identity-holds");
  EXPECT_TRUE(ended(whole, 0, {"gru          the-adjoint-identity-holds"}, {"skipped"}));
  EXPECT_TRUE(ended(verify_reserve("forgetful", ""), 1, {"gru/forward-matches-the-reference: violation: "}));
  EXPECT_TRUE(ended(verify_reserve("empty", ""), 1,
                    {"TypeError: the forward pass returned None, must return what the backward pass gets as reserve"}));
}

TEST_F(Python, AFunctionMayNameItsParametersAsItLikes) {
  EXPECT_TRUE(ended(verify("by_place", "--property within-error-bound"), 0));
}

// A module with a thread cannot be forked: each process loads it anew.
TEST_F(Python, AModuleThatCannotBeForkedIsLoadedAgain) {
  folder_.write("threads.py", R"(
import threading
from door import softmax
threading.Thread(target=threading.Event().wait, daemon=True).start()
)");
  const result r = run("verify softmax --python threads.py:softmax --interpreter " + interpreter() +
                       " --cases 2 --size quick --max-cols 300 --property within-error-bound");
  EXPECT_EQ(r.status, 0) << r.output;
}

TEST_F(Python, ASoftmaxWithoutItsMaximumFailsAndItsLineRepeatsIt) {
  const result r = verify("unshifted", "--property within-error-bound");
  EXPECT_EQ(r.status, 1) << r.output;
  const std::string line = line_of(r);
  ASSERT_NE(line, "") << r.output;
  EXPECT_NE(line.find("candidate=python:door.py:unshifted"), std::string::npos) << line;
  EXPECT_TRUE(ended(run("replay " + line), 1));
  EXPECT_TRUE(ended(run("replay " + line + " --candidate python:door.py:softmax:" + interpreter()), 0));
}

class PyTorch : public Python {
 protected:
  static std::string torch() { return environment("WARPCHECK_TEST_TORCH"); }
  void SetUp() override {
    if (warpcheck::self::run_command("'" + torch() + "' -c 'import torch'").status != 0)
      GTEST_SKIP() << "WARPCHECK_SKIP: there is no PyTorch (ci/packages)";
    folder_.write("door.py", R"(
import torch
def unshifted(x, y):
    terms = torch.exp(torch.from_dlpack(x))
    torch.from_dlpack(y).copy_(terms / terms.sum(dim=1, keepdim=True))
)");
  }
};

TEST_F(PyTorch, ItsSoftmaxPassesWhereItMust) {
  const result r = run("verify softmax --python " + docs("operators_torch.py:softmax") + " --interpreter " + torch() +
                       " --dtype f32 --cases 4 --size quick --max-cols 300 --property within-error-bound --property "
                       "special-values --property row-isolation --property empty --property rejects-invalid-calls");
  EXPECT_EQ(r.status, 0) << r.output;
}

TEST_F(PyTorch, ProductGetsEveryPropertyThatNeedsNoMoreThanIt) {
  const result r = run("verify matmul --python " + docs("operators_torch.py:matmul") + " --interpreter " + torch() +
                       " --dtype f32 --cases 3 --size quick");
  EXPECT_EQ(r.status, 0) << r.output;
  for (const char* name : {"low-part", "transpose-agreement", "special-values-of-every-input", "shape-sweep"})
    EXPECT_TRUE(r.has(std::string("matmul       ") + name)) << name << ": " << r.output;
  EXPECT_FALSE(r.has("skipped")) << r.output;
}

// Debian's PyTorch adds the products of bf16 in bf16: one property after the other sees it, and none is skipped.
TEST_F(PyTorch, ProductOfSixteenBitsIsRejectedForItsSums) {
  const auto verify_product = [&](const std::string& options) {
    return run("verify matmul --python " + docs("operators_torch.py:matmul") + " --interpreter " + torch() +
               " --cases 8 --size quick --shrink-seconds 0.5 --property rows-alone " + options);
  };
  const result bf16 = verify_product("--dtype bf16 --property within-error-bound");
  EXPECT_TRUE(ended(bf16, 1,
                    {"matmul/within-error-bound: violation: ", "The sum of the products is the first wrong step",
                     "not asked: matmul/rows-alone: needs rows_alone!=0"},
                    {"skipped"}));
}

TEST_F(PyTorch, GruWithoutGradientsIsListedAsTheForwardPassAlone) {
  const result r = run("verify gru --python " + docs("operators_torch.py:gru_forward") + " --interpreter " + torch() +
                       " --dtype f32 --cases 3 --size quick --property forward-matches-the-reference --property "
                       "the-adjoint-identity-holds --property every-step-follows-from-the-step-before");
  EXPECT_TRUE(ended(r, 0, {", pass=backward"}));
  const std::string offers = r.output.substr(0, r.output.find("; does not offer"));
  EXPECT_TRUE(offers.find("gru f32: offers ") != std::string::npos) << r.output;
  for (const char* other : {"pass=both", "pass=backward", "history_mode=save", "lengths"})
    EXPECT_EQ(offers.find(other), std::string::npos) << r.output;
  EXPECT_TRUE(says(r, {"not asked: gru/the-adjoint-identity-holds: needs "}, {"skipped"}));
}

// A call may be refused for several reasons at once; dw_hh alone is offered.
TEST_F(PyTorch, GruKeepsItsOwnReserveAndIsJudgedInBothPasses) {
  const result r = run("verify gru --python " + docs("operators_torch.py:gru") + " --interpreter " + torch() +
                       " --dtype f32 --cases 3 --size quick --property forward-matches-the-reference --property "
                       "the-adjoint-identity-holds --property the-kernels-gradient-is-the-kernels-slope");
  EXPECT_TRUE(ended(r, 0, {}, {"not asked: ", "skipped"}));
}

TEST_F(PyTorch, ASoftmaxWithoutItsMaximumFailsAndItsLineRepeatsIt) {
  const result r = run("verify softmax --python door.py:unshifted --interpreter " + torch() +
                       " --dtype f32 --cases 4 --size quick --max-cols 300 --shrink-seconds 0.5 --property "
                       "within-error-bound");
  EXPECT_EQ(r.status, 1) << r.output;
  const std::string line = line_of(r);
  ASSERT_NE(line, "") << r.output;
  EXPECT_EQ(run("replay " + line).status, 1) << line;
}

TEST_F(Python, WhatAFunctionDoesIsAVerdict) {
  const struct {
    const char *function, *verdict, *said;
  } list[] = {
      {"raises", "error_return", "ValueError: no such luck (door.py:"},
      {"dies", "crash", "the Python process was killed by signal 11"},
      {"leaves", "crash", "the Python process exited with status 3"},
      {"corrupts", "input_modified", "input x changed during the call"},
      {"beyond", "out_of_bounds", "the guard zone of tensor y was written at byte -1"},
      {"forgets", "violation", "was not written"},
      {"returns", "violation", "y was not written; the function returned a value of type ndarray, which is ignored"},
      {"other_shape", "error_return", "could not broadcast"}};
  for (const auto& one : list) {
    const result r = verify(one.function, "--property within-error-bound --fail-fast");
    EXPECT_TRUE(ended(r, 1, {one.verdict, one.said})) << one.function;
  }
}

TEST_F(Python, AFunctionThatHangsIsStopped) {
  const result r = verify("hangs", "--property within-error-bound --timeout 3 --fail-fast --workers 1");
  EXPECT_TRUE(ended(r, 1, {"timeout"}));
  pid_t pid = 0;
  std::ifstream(folder_.path("hanging")) >> pid;
  ASSERT_GT(pid, 0);
  // It is killed as its worker ends, which may be a moment ago.
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  pollfd until_it_ends = {handle, POLLIN, 0};
  EXPECT_TRUE((handle < 0 && errno == ESRCH) || poll(&until_it_ends, 1, 20000) == 1) << pid << " is still there";
  if (handle >= 0) close(handle);
}

TEST_F(Python, WhatItDoesNotOfferIsNotAsked) {
  const result nothing = verify("refuses", "--property within-error-bound");
  EXPECT_TRUE(
      ended(nothing, 1, {"softmax f32: offers nothing: every call was answered by unsupported", "no case was judged"}));
  // Of the signature: no index, and of the scalars none; both are usual in most cases.
  const result less = verify("by_place", "--property within-error-bound --property first-index");
  EXPECT_TRUE(ended(less, 0, {"softmax f32: offers the plain call; does not offer index", "worst error"}, {"skipped"}));
}

// Its time grows with the columns: no call is made that would take longer than all the others.
TEST_F(Python, ASlowFunctionIsAskedForWhatItOffers) {
  folder_.write("slow.py", R"(
import time
import numpy
def slow(x, index):
    if x.shape[1] == 0: raise NotImplementedError("rows without elements")
    time.sleep(x.shape[1] * 1e-4)
    numpy.from_dlpack(index)[...] = numpy.argmax(numpy.from_dlpack(x), axis=1)
)");
  const result r = run("verify argmax --python slow.py:slow --interpreter " + interpreter() +
                       " --dtype f32 --cases 4 --size quick --max-cols 30 --timeout 1 --property every-element-used "
                       "--property empty --property cross-operator");
  EXPECT_TRUE(ended(r, 0,
                    {"argmax f32: offers the plain call; does not offer cols<1",
                     "not asked: argmax/cross-operator: needs softmax of the same candidate"}));
}

// After one question that takes too long, smaller ones are asked: this property draws only large cases.
TEST_F(Python, ASlowFunctionIsAskedSmallerQuestions) {
  folder_.write("slow.py", R"(
import time
def scan(x, y, kind):
    if x.shape[0] * x.shape[1] > 256: time.sleep(60)
    raise NotImplementedError("inclusive") if kind else SystemError("not the subject here")
)");
  const result r = run("verify scan --python slow.py:scan --interpreter " + interpreter() +
                       " --dtype f32 --cases 1 --timeout 0.5 --property wave-carry --shrink-seconds 0.1");
  EXPECT_TRUE(r.has("scan f32: offers the plain call; does not offer kind=1\n")) << r.output;
}

// A call without steps has results in hn alone, and `reset` gets elements only with the steps.
TEST_F(Python, AnEmptyExtentIsALackWhateverElseIsNotOffered) {
  folder_.write("gru.py", R"(
def forward(x, w_ih, w_hh, **others):
    if any(others.get(n) is not None for n in ("lengths", "reset", "h_reset", "history")):
        raise NotImplementedError("a tensor")
    if others["pass"] != 0 or others["history_mode"] == 1: raise NotImplementedError("a pass")
    if 0 in x.shape or w_hh.shape[2] == 0: raise NotImplementedError("empty extents")
)");
  const result r = run("verify gru --python gru.py:forward --interpreter " + interpreter() +
                       " --cases 40 --size quick --shrink-seconds 0.1 --property empty-extents --property every-regime "
                       "--property gate-functions-are-within-c-u");
  EXPECT_TRUE(says(r, {"time<1", "not asked: gru/gate-functions-are-within-c-u: needs history"}, {"empty extents ("}));
}

// Each process loads the module anew, which takes its time for every failure.
TEST_F(Python, FailuresOfASlowModuleShareATime) {
  folder_.write("slow.py", R"(
import threading, time
import numpy
threading.Thread(target=threading.Event().wait, daemon=True).start()
time.sleep(0.5)
def ones(x, y): numpy.asarray(y)[...] = 1
)");
  const result r = run("verify softmax --python slow.py:ones --interpreter " + interpreter() +
                       " --dtype f32 --cases 4 --size quick --max-cols 300 --shrink-seconds 0.2 --workers 1");
  EXPECT_TRUE(ended(r, 1,
                    {"shrinking the failing case (1 of ",
                     "; it was not repeated and not shrunk, because the failures before it took "}));
}

// No call has another type than the run, and none is like the cases of a property that the run leaves out.
TEST_F(Python, IsAskedForWhatTheRunJudges) {
  folder_.write("records.py", R"(
import numpy
def total(x, y, op):
    x, y = numpy.from_dlpack(x), numpy.from_dlpack(y)
    with open("calls", "a") as f: f.write(f"{x.dtype}\n")
    y[...] = [numpy.sum, numpy.min, numpy.max][op](x.astype("f8"), axis=1, **({} if x.shape[1] else {"initial": 0}))
total.dtypes = ["f32", "f64"]
)");
  const auto verify_total = [&](const std::string& property) {
    return run("verify reduce --python records.py:total --interpreter " + interpreter() +
               " --dtype f32 --cases 4 --size quick --max-cols 300 --property " + property);
  };
  const result empty = verify_total("empty"), all = verify_total("within-error-bound");
  EXPECT_TRUE(ended(empty, 0, {"reduce f32: offers the plain call\n"}));
  EXPECT_TRUE(all.has("reduce f32: offers op\n")) << all.output;
  const result calls = warpcheck::self::run_command("sort -u " + folder_.path("calls"));
  EXPECT_EQ(calls.output, "float32\n");
}

TEST_F(Python, ATypeOfWhichNothingIsOfferedIsNotAsked) {
  folder_.write("wide.py", R"(
import numpy
def total(x, y, op):
    x, y = numpy.from_dlpack(x), numpy.from_dlpack(y)
    if x.dtype == numpy.float64 or op != 0: raise NotImplementedError
    y[...] = x.astype("f8").sum(axis=1)
total.dtypes = ["f32", "f64"]
)");
  const result r = run("verify reduce --python wide.py:total --interpreter " + interpreter() +
                       " --cases 4 --size quick --max-cols 300 --property within-error-bound");
  EXPECT_TRUE(ended(r, 0, {"reduce f64: offers nothing"}, {"skipped"}));
}

TEST_F(Python, AReasonForSkippedCasesIsToldOnce) {
  folder_.write("none.py", "def total(x, y, op): raise NotImplementedError('no call is offered')\n");
  const result r = run("verify reduce --python none.py:total --interpreter " + interpreter() +
                       " --dtype f32 --cases 4 --size quick --max-cols 300 --property within-error-bound --property "
                       "permutation");
  EXPECT_TRUE(ended(r, 1, {"skipped: reduce/within-error-bound f32 cpu (4 cases) and 1 other ("},
                    {"skipped: reduce/permutation"}));
}

// By chance alone some calls are answered: within what was found to be offered, that is a failure of its own.
TEST_F(Python, AnOfferThatIsBrokenIsAFailure) {
  const result r = run("verify softmax --python door.py:fickle --interpreter " + interpreter() +
                       " --dtype f32 --cases 60 --size quick --max-cols 300 --shrink-seconds 0.5 --property "
                       "within-error-bound");
  EXPECT_TRUE(
      ended(r, 1, {"softmax/within-error-bound: broken_offer: a call within the offer was answered by unsupported"}));
}

// A bound and a multiple are offers; one refused size that fits neither is a failure of its case.
TEST_F(Python, AskingTellsBoundsAndMultiplesFromSingleRefusals) {
  folder_.write("sizes.py", R"(
import numpy
from door import softmax
def answer(is_offered, x, y, index):
    if not is_offered(x.shape[1]):
        raise NotImplementedError
    softmax(x, y, index)
def bounded(x, y, index=None): answer(lambda n: 33 <= n <= 64, x, y, index)
def multiple(x, y, index=None): answer(lambda n: n % 12 == 0 and n <= 240, x, y, index)
def single(x, y, index=None): answer(lambda n: n % 7 != 3, x, y, index)
def is_vector(t): return t.ctypes.data % 16 == 0 and (t.shape[0] == 1 or t.strides[0] == t.shape[1] * t.itemsize)
def vectors(x, y): answer(lambda n: is_vector(numpy.asarray(x)) and is_vector(numpy.asarray(y)), x, y, None)
)");
  const auto verify_sizes = [&](const std::string& function) {
    return run(
        "verify softmax --python sizes.py:" + function + " --interpreter " + interpreter() +
        " --dtype f32 --cases 20 --size quick --max-cols 300 --shrink-seconds 0.5 --property within-error-bound");
  };
  const result bounded = verify_sizes("bounded"), multiple = verify_sizes("multiple"), single = verify_sizes("single");
  EXPECT_EQ(bounded.status, 0) << bounded.output;
  for (const char* lacked : {"cols<33", "cols>64"}) EXPECT_TRUE(bounded.has(lacked)) << bounded.output;
  EXPECT_EQ(multiple.status, 0) << multiple.output;
  for (const char* lacked : {"cols%12", "cols>240"}) EXPECT_TRUE(multiple.has(lacked)) << multiple.output;
  EXPECT_TRUE(ended(single, 1, {"softmax/within-error-bound: broken_offer: "}, {"does not offer"}));
  // A gap is a reason of its own, which an even distance between rows makes.
  EXPECT_TRUE(ended(verify_sizes("vectors"), 0, {"x misaligned 16", "y misaligned 16", "ldx>cols", "ldy>cols"}));
}

TEST_F(Python, TheVerdictNamesTheDepthOfSums) {
  folder_.write("sums.py", R"(
import numpy
def total(x, y, op, add):
    if op != 0:
        raise NotImplementedError
    x, y = numpy.from_dlpack(x), numpy.from_dlpack(y)
    with numpy.errstate(all="ignore"):
        y[...] = add(x) if x.shape[1] else 0
def chain(x, y, op): total(x, y, op, lambda v: numpy.cumsum(v, axis=1, dtype="f4")[:, -1])
def exact(x, y, op): total(x, y, op, lambda v: v.astype("f8").sum(axis=1))
)");
  const auto depth_of = [&](const std::string& function) {
    const result r = run("verify reduce --python sums.py:" + function + " --interpreter " + interpreter() +
                         " --dtype f32 --cases 40 --size quick --max-cols 300 --property within-error-bound");
    EXPECT_EQ(r.status, 0) << r.output;
    const std::string text = "reduce: passes with sums of depth >= ";
    const size_t at = r.output.find(text);
    return at == std::string::npos ? 0 : std::stoi(r.output.substr(at + text.size()));
  };
  const int chain = depth_of("chain"), exact = depth_of("exact");
  EXPECT_GE(chain, 3);
  EXPECT_LE(chain, 299);
  EXPECT_LE(exact, 1);
}

// Of 16 chains the cases of within-error-bound hold; those of another property show the depth, which then holds.
TEST_F(Python, TheDepthOfTheVerdictAdmitsTheFailuresOfEveryProperty) {
  std::string lanes = R"(
import numpy
def lanes(x, y):
    x, y = numpy.from_dlpack(x), numpy.from_dlpack(y)
    if not x.size: return
    with numpy.errstate(all="ignore"):
        e = numpy.exp((x - x.max(axis=1, keepdims=True)).astype("f8")).astype("f4")
        parts = numpy.zeros((len(x), -(-x.shape[1] // 16) * 16), "f4")
        parts[:, :x.shape[1]] = e
        sums = numpy.cumsum(parts.reshape(len(x), -1, 16), axis=1, dtype="f4")[:, -1]
        y[...] = e / sums.sum(axis=1, dtype="f8", keepdims=True)
)";
  const auto verify_lanes = [&](const std::string& states, const std::string& and_property = "within-error-bound") {
    folder_.write("lanes.py", lanes + "lanes.states = '" + states + "'\n");
    return run("verify softmax --python lanes.py:lanes --interpreter " + interpreter() +
               " --dtype f32 --cases 60 --size quick --max-cols 4000 --shrink-seconds 0.5 --property "
               "long-accumulation --property " +
               and_property);
  };
  const result failing = verify_lanes("");
  const std::string text = "softmax: passes with sums of depth >= ";
  ASSERT_TRUE(
      ended(failing, 1, {"softmax/long-accumulation: violation: ", text}, {"softmax/within-error-bound: violation: "}));
  const int depth = std::stoi(failing.output.substr(failing.output.find(text) + text.size()));
  EXPECT_LE(depth, 256);
  EXPECT_TRUE(ended(verify_lanes("sums <= " + std::to_string(depth)), 0, {}));
  lanes += "        if x.shape[1] % 2: y[:, 0] = 2\n";
  EXPECT_TRUE(ended(verify_lanes("", "long-accumulation --keep-going"), 1, {text, " cases that no depth admits"}));
}

TEST_F(Python, ScalarsWithoutAParameterHaveTheirDefaults) {
  const result r = run("verify sigmoid --python door.py:plain_sigmoid --interpreter " + interpreter() +
                       " --dtype f32 --cases 8 --size quick --max-cols 300 --property within-error-bound");
  EXPECT_TRUE(ended(r, 0, {"does not offer", "mu!=0"}));
}

TEST_F(Python, AFunctionWithOtherParametersIsRefusedOnce) {
  const result r = verify("too_narrow", "");
  EXPECT_TRUE(
      ended(r, 2, {"python: too_narrow(x) has no parameter y; it is called with x, y by name or in this order"}));
}

TEST_F(Python, NumPyHasNoBf16) {
  const result r = run("verify softmax --python door.py:halves --interpreter " + interpreter() +
                       " --dtype bf16 --cases 1 --size quick --max-cols 30 --property within-error-bound");
  EXPECT_TRUE(ended(r, 1, {"NumPy has no bf16; use torch.from_dlpack(x), or numpy.asarray(x.view('u16'))"}));
}

TEST_F(Python, PathsMayHaveBlanks) {
  folder_.write("a door.py", "from door import unshifted\n");
  const result r = run("verify softmax --python 'a door.py:unshifted' --interpreter " + interpreter() +
                       " --dtype f32 --cases 4 --size quick --max-cols 300 --shrink-seconds 0.5 --property "
                       "within-error-bound");
  EXPECT_EQ(r.status, 1) << r.output;
  const std::string line = line_of(r);
  EXPECT_NE(line.find("candidate=python:a%20door.py:unshifted"), std::string::npos) << r.output;
  EXPECT_EQ(run("replay " + line).status, 1) << line;
}

TEST_F(Python, WhatItPrintsShowsInReplay) {
  const result r =
      run("replay 'v1 softmax/within-error-bound x=f32[2x3] fill=randn(7) | y=f32[2x3] | "
          "candidate=python:door.py:prints:" +
          interpreter() + " device=cpu'");
  EXPECT_TRUE(ended(r, 0, {"rows: 2"}));
}

TEST_F(Python, MistakesAreSaid) {
  const std::string door = " --python door.py:softmax --interpreter " + interpreter();
  folder_.write("broken.py", "import there_is_no_such_module\n");
  folder_.write("whole.py", "def f(x, y): pass\nf.dtypes = ['f32', 'f64']\n");
  const struct {
    std::string arguments;
    int status;
    const char* said;
  } list[] = {
      {"verify softmax --python door.py", 2, "python: 'door.py' is not of the form FILE.py:FUNCTION"},
      {"verify softmax --python none.py:f", 2, "python: file 'none.py' not found"},
      {"verify softmax --python door.py:none --interpreter " + interpreter(), 2,
       "python: door.py defines no function 'none'; it defines softmax, unshifted, "},
      {"verify softmax --python door.py:narrow --interpreter " + interpreter(), 2, "narrow.dtypes of door.py is"},
      {"verify softmax --python whole.py:f --interpreter " + interpreter(), 2, "dtypes name f64, which softmax"},
      {"verify softmax --python broken.py:f --interpreter " + interpreter(), 2,
       "python: broken.py does not load: ModuleNotFoundError"},
      {"verify softmax --python door.py:softmax --interpreter /no/python", 3, "'/no/python' cannot be started"},
      {"verify softmax --python door.py:softmax --interpreter /bin/true", 3, "'/bin/true' ended with status 0"},
      {"verify softmax --device metal" + door, 2, "device: 'metal' is not one of"},
      {"verify" + door, 2, "python: name the one operator that the function implements"},
      {"verify softmax --device emulated" + door, 2,
       "python: device emulated runs no Python function; cpu and cuda do"},
      {"verify softmax --candidate x.so" + door, 2, "python: it cannot be given together with --candidate"}};
  for (const auto& one : list) {
    EXPECT_TRUE(ended(run(one.arguments), one.status, {one.said})) << one.arguments;
  }
}

TEST_F(Python, AMissingGpuIsSaid) {
  const bool present = std::filesystem::exists("/dev/nvidia0");
  EXPECT_TRUE(ended(verify("refuses", "--device cuda --property empty"), present ? 0 : 3, {"device cuda: "}));
}

}  // namespace
