"""Each template candidate in NumPy, with each optional feature removed in turn: a property that does not need the
feature judges at least 95 % of the cases that are asked, and one that does is named with its need."""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

WARPCHECK = os.environ["WARPCHECK_TEST_COMMAND"]
DOCS = os.environ["WARPCHECK_TEST_DOCS"]

if subprocess.run([sys.executable, "-c", "import numpy"], capture_output=True).returncode:
    print("WARPCHECK_SKIP: there is no NumPy (ci/requirements.txt)")
    sys.exit(0)


def value(name, usual, *words):
    """An optional tensor (None) or a scalar with its usual value: its name, which calls have more than the plain one,
    and the words of its traits."""
    return name, f"given.get({name!r}, {usual!r}) != {usual!r}", list(words) or [name]


def usual(name, word):
    """A scalar with its usual value 0."""
    return f"usual_{name}", f"given.get({name!r}, 0) == 0", [word]


# Rows with gaps between them, in which the rows of the output may lie.
APART = ("ldx", "given['x'].shape[0] > 1 and given['x'].strides[0] > given['x'].shape[1]", ["ldx>cols", "y beside x"])
EMPTY = ("empty", "0 in given['x'].shape", ["cols<1", "rows<1"])
NO_COLS = ("no_cols", "given['x'].shape[1] == 0", ["cols<1"])
# A kernel with vector loads.
MISALIGNED = ("misaligned", "numpy.asarray(given['x']).ctypes.data % 16", ["x misaligned"])
UNEVEN = ("uneven", "given['x'].strides[0] % 4", ["ldx%4"])
SHORT = ("short", "given['x'].shape[1] < 4", ["cols<"])
# A kernel for whole vectors of elements, one for square matrices, and one for whole tiles.
PRODUCT = ("product", "given['x'].shape[0] * given['x'].shape[1] % 4", ["cols*rows%4"])
OBLONG = ("oblong", "len({*given['a'].shape, *given['b'].shape}) > 1", ["k!=m!=n"])
RAGGED = ("ragged", "any(n % 16 for n in given['a'].shape) or any(n % 32 for n in given['c'].shape)",
          ["m%32", "n%32", "k%16"])


def required(*names):
    """Optional tensors that the function needs."""
    return ("required_" + "_".join(names), " or ".join(f"given.get({n!r}) is None" for n in names),
            [f"{n} absent" for n in names] + ["batch<1", "hidden<1", "rows<1", "n<1"])


# Of each operator, what a call may have beyond the plain one.
FEATURES = {
    "softmax": [value("index", None), required("index")],
    "log_softmax": [APART, EMPTY, SHORT],
    "logsumexp": [APART, EMPTY, SHORT],
    "argmax": [APART, EMPTY, NO_COLS, SHORT, MISALIGNED, UNEVEN],
    "reduce": [value("op", 0, "op!=0", "op=1", "op=2"), usual("op", "op=0"), PRODUCT],
    "scan": [value("kind", 0, "kind!=0", "kind=1"), usual("kind", "kind=0")],
    "argsort": [value("order", 0, "order!=0", "order=1"), usual("order", "order=0")],
    "sigmoid": [value("mu", 0, "mu!=0"), value("sigma", 1, "sigma!=1"), MISALIGNED],
    "matmul": [
        value("bias", None),
        required("bias"),
        value("c_in", None, "c_in", "beta!=0"),
        value("ta", 0, "ta=yes"),
        value("alpha", 1, "alpha!=1"),
        value("sigmoid", 0, "sigmoid!=0", "sigmoid=1"),
        usual("sigmoid", "sigmoid=0"),
        ("other_beta", "given.get('beta', 0) != 1", ["c_in absent", "beta!=1"]),  # C += A B
        value("rows_alone", 0, "rows_alone!=0", "rows_alone=1"),
        OBLONG,
        RAGGED,
    ],
    "histogram": [value("stage", 0, "gh", "stage"), value("rows", None)],
    "best_split": [value("in_value", None), *(value(n, 0) for n in ("extra_trees", "path_smooth", "lambda_l1"))],
    "gru": [*(value(name, None) for name in ("lengths", "reset", "history", "h0", "b_ih", "trace_e")),
            required("h0", "b_hh"), ("directions", "given['w_hh'].shape[0] > 1", ["directions>1"]),
            *((f"history_{name}", f"given['history_mode'] == {code}", ["history", "pass=backward"])
              for code, name in enumerate(("none", "save", "recompute")))],
}
# What a call needs each of these for.
NEEDED_FOR = {"y_in": ["pass=backward"], "history_in": ["pass=backward"]}


def described(op):
    """The optional tensors and the numbers with a default value of the operator's description."""
    listed = subprocess.run([WARPCHECK, "list", op], capture_output=True, text=True, check=True).stdout
    features = {name: value(name, None, name, *NEEDED_FOR.get(name, []))
                for name in re.findall(r"^  (?:input|output) +(\w+) .*, optional$", listed, re.MULTILINE)}
    for name, usual_value in re.findall(r"^  scalar +(\w+) .*; default ([0-9.]+)$", listed, re.MULTILINE):
        features.setdefault(name, value(name, float(usual_value)))
    # Memory for the kernel, and what each forward call must have by its contract.
    return [feature for name, feature in features.items() if name not in ("work", "y")]


def asked_features(op):
    """The features above, and of the others that are described one, which each commit draws anew; at night all."""
    others = [f for f in described(op) if f[0] not in {known[0] for known in FEATURES[op]}]
    if "WARPCHECK_TEST_WHOLE" not in os.environ and others:
        commit = subprocess.run(["git", "-C", DOCS, "rev-parse", "HEAD"], capture_output=True, text=True).stdout
        others = random.Random(commit + op).sample(others, 1)
    return FEATURES[op] + others


FEATURES = {op: asked_features(op)
            for op in os.environ.get("WARPCHECK_TEST_OPERATORS", " ".join(FEATURES)).split()}

WHOLE = """
import sys

sys.path.insert(0, {docs!r})
from operators_numpy import {op}

{op}.dtypes = [{dtype!r}]
"""

WITHOUT = """
import functools
import inspect
import sys

import numpy

sys.path.insert(0, {docs!r})
import operators_numpy


@functools.wraps(operators_numpy.{op})
def {op}(*tensors, **others):
    given = inspect.signature(operators_numpy.{op}).bind(*tensors, **others).arguments
    given.update(given.pop("others", {{}}))
    if {has}:
        raise NotImplementedError("removed for the test")
    operators_numpy.{op}(*tensors, **others)
    output = given.get({output!r})
    if {is_wrong} and output is not None and 0 not in output.shape:
        numpy.asarray(output)[(-1,) * len(output.shape)] += 1


{op}.dtypes = [{dtype!r}]
"""


# Right, and a row's bits depend on the sizes of the call.
ROUNDS_BY_SIZE = """
import sys

sys.path.insert(0, {docs!r})
import operators_numpy
from operators_numpy import gates_of, gru


def gates(self, d, t, before):
    from_input = self.x[t] @ self.w_ih[d].T + self.b_ih[d]
    if sum(self.x.shape[:2], self.directions) % 5 < 2:
        from_input = from_input.astype("f4").astype("f8")
    return gates_of(from_input, before @ self.w_hh[d].T + self.b_hh[d], self.width)


operators_numpy.gru_pass.gates = gates
gru.states = {states!r}
"""
# Right but for its tanh, whose last digits are wrong.
COARSE_TANH = """
import sys

sys.path.insert(0, {docs!r})
import operators_numpy
from operators_numpy import gates_of, gru


def gates(self, d, t, before):
    from_state = before @ self.w_hh[d].T + self.b_hh[d]
    r, z, n, hn = gates_of(self.x[t] @ self.w_ih[d].T + self.b_ih[d], from_state, self.width)
    return r, z, n * (1 + {error!r}), hn


operators_numpy.gru_pass.gates = gates
gru.states = {states!r}
"""
# Without lengths, with the bits of each row its own.
EACH_ROW = """
import sys

sys.path.insert(0, {docs!r})
from operators_numpy import gru

gru.states = "batch-invariant; lacks lengths, reset"
"""
# For square matrices; a call with others is answered wrongly.
SQUARE = """
import numpy


def matmul(a, b, c):
    a, b, c = (numpy.asarray(t) for t in (a, b, c))
    n = min(*a.shape, *b.shape)
    c[...] = 0
    c[:n, :n] = a[:n, :n].astype("f8") @ b[:n, :n].astype("f8")
    if {is_wrong} and n > 16:
        c[16, 16] += 1


matmul.dtypes = ["f16"]
matmul.states = {states!r}
"""
# Refuses rows that lie far apart, as PyTorch's product does on a GPU.
NEAR = """
import sys

sys.path.insert(0, {docs!r})
import operators_numpy


def matmul(a, b, c, ta, tb):
    farthest = max([t.strides[0] for t in ({of}) if {refuses}], default=0)
    if farthest > 2**31 - 1:
        raise {error}
    operators_numpy.matmul(a, b, c, ta=ta, tb=tb, alpha=1, beta=0, sigmoid=0, mu=0, sigma=1, mode=0, rows_alone=0)


matmul.dtypes = ["f16"]
"""
# Adds the product to what c holds, which is a product with beta only if beta is not 0.
ADDS = """
import numpy


def matmul(a, b, c, beta):
    a, b, c = (numpy.asarray(t) for t in (a, b, c))
    with numpy.errstate(all="ignore"):
        before = beta * c.astype("f8") if {reads} else 0
        c[...] = a.astype("f8") @ b.astype("f8") + before


matmul.dtypes = ["f16"]
"""
SCALED = """
import numpy


def matmul(a, b, c, alpha):
    a, b, c = (numpy.asarray(t) for t in (a, b, c))
    with numpy.errstate(all="ignore"):
        c[...] = {factor} alpha * (a.astype("f8") @ b.astype("f8"))


matmul.dtypes = ["f16"]
"""
# A function of one form of the operator, with sums in f64.
DENSE = """
import numpy


def histogram(bins, cols, g, h, hist, accum{others}):
    if accum != 2{refused}:
        raise NotImplementedError
    bins, cols, hist = (numpy.asarray(t) for t in (bins, cols, hist))
    hist[...] = 0
    for c in range(bins.shape[1]):
        skipped = cols[c, 1] >> 32
        of_rows = bins[:, c].astype("i8")
        stored = of_rows >= skipped
        for k, v in enumerate((numpy.asarray(g), numpy.asarray(h))):
            with numpy.errstate(all="ignore"):
                numpy.add.at(hist[:, k], cols[c, 0] + of_rows[stored] - skipped, v[stored].astype("f8"))
"""
# Takes a while for each row, as a kernel does that calls a library for each.
EACH_ROW_ALONE = """
import sys

import numpy

sys.path.insert(0, {docs!r})
import operators_numpy


def argsort(x, index, order):
    for row in numpy.asarray(x):
        for _ in range(50):
            numpy.argsort(row, kind="stable")
    operators_numpy.argsort(x, index, order)
"""
# Wrong, and a file that starts a thread, so that no interpreter can be forked: each one loads the file.
LOADED = """
import sys
import threading

import numpy

sys.path.insert(0, {docs!r})
import operators_numpy

with open("loads", "a") as loads:
    loads.write("1")
threading.Thread(target=threading.Event().wait, daemon=True).start()


def softmax(x, y):
    operators_numpy.softmax(x, y)
    numpy.asarray(y)[:, :1] *= 1.0001
"""
FAR = "at::cuda::blas::gemm<float> argument lda must be positive and less than 2147483647 but got "
COMPARES_CALLS = ["splitting-the-batch-adds-weight-gradients", "splitting-time-chains-hn-and-dh0",
                  "repeating-a-row-k-times-multiplies-dw-by-k", "resets-equal-separate-segments",
                  "the-reverse-direction-is-the-flipped-forward-one", "both-directions-equal-each-alone",
                  "growing-time-by-padding-changes-nothing", "packed-equals-padded"]

# The element type, an output, and a property that judges each of its elements, where these are not the usual ones.
DTYPES = {"matmul": "f16", "histogram": "u8", "best_split": "f64"}
OUTPUTS = {"matmul": "c", "argsort": "index", "argmax": "index", "histogram": "hist", "best_split": "field"}
JUDGES = {
    "gru": "forward-matches-the-reference",
    "histogram": "exact-model",
    "best_split": "record-self-consistent",
}


def dtype_of(op):
    return DTYPES.get(op, "f32")


class Offers(unittest.TestCase):
    def run_verify(self, folder, op, file, *more, cases=6, size=("quick", "--max-rows", "64", "--max-cols", "300")):
        return subprocess.run(
            [WARPCHECK, "verify", op, "--python", f"{file}:{op}", "--interpreter", sys.executable,
             "--dtype", dtype_of(op), "--cases", str(cases), "--size", *size, *more],
            capture_output=True, text=True, cwd=folder,
        )

    def without(self, folder, op, feature, has, is_wrong):
        """A file whose function has no such feature, and gives a wrong last element if it is to be wrong."""
        file = folder / f"without_{feature}{'_wrong' * is_wrong}.py"
        output = OUTPUTS.get(op, "y")
        text = WITHOUT.format(docs=DOCS, op=op, has=has, output=output, dtype=dtype_of(op),
                              is_wrong=is_wrong)
        file.write_text(text)
        return file.name

    def verify(self, folder, op, file):
        out = folder / "verify.json"
        done = self.run_verify(folder, op, file, "--json", str(out))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        run = json.loads(out.read_text())
        judged = {}
        for job in run["jobs"]:
            self.assertLessEqual(job["skipped"], 0.05 * job["cases"], f"{op}/{job['property']}\n{done.stdout}")
            judged[job["property"]] = job["cases"] - job["skipped"]
        return judged, {left["property"]: left["why"] for left in run["not_run"] if left["operator"] == op}

    def test_a_property_that_does_not_need_what_is_removed_judges_as_before(self):
        for op, features in FEATURES.items():
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                (folder / "whole.py").write_text(WHOLE.format(docs=DOCS, op=op, dtype=dtype_of(op)))
                whole, _ = self.verify(folder, op, "whole.py")
                for feature, has, words in features:
                    with self.subTest(op=op, without=feature):
                        file = self.without(folder, op, feature, has, False)
                        judged, left_out = self.verify(folder, op, file)
                        for p, cases in whole.items():
                            if p in judged:
                                self.assertGreaterEqual(judged[p], 0.95 * cases, p)
                                continue
                            why = left_out[p]
                            self.assertTrue(why.startswith("needs ") and any(w in why for w in words), f"{p}: {why}")
                            self.assertLess(len(re.split(", | and | or ", why)), 4, why)
                        self.assertGreater(len(judged), len(whole) / 2)

    def test_a_fault_of_what_remains_is_seen(self):
        for op, features in FEATURES.items():
            for feature, has, _ in features:
                with self.subTest(op=op, without=feature), tempfile.TemporaryDirectory() as name:
                    file = self.without(pathlib.Path(name), op, feature, has, True)
                    judging = JUDGES.get(op, "within-error-bound")
                    done = self.run_verify(pathlib.Path(name), op, file, "--fail-fast", "--shrink-seconds", "0.5",
                                           "--property", judging)
                    self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                    self.assertIn(f"{op}/{judging}: violation: ", done.stdout)

    @unittest.skipIf("matmul" not in FEATURES, "about matmul")
    def test_a_stated_relation_of_extents_holds_in_every_case(self):
        for states, is_wrong, code in (("lacks m!=n!=k", False, 0), ("lacks m!=n, n!=k", False, 0), ("", False, 1),
                                       ("lacks m!=n!=k", True, 1)):
            with self.subTest(states=states, is_wrong=is_wrong), tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                (folder / "square.py").write_text(SQUARE.format(states=states, is_wrong=is_wrong))
                done = self.run_verify(folder, "matmul", "square.py", "--shrink-seconds", "0.5")
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                self.assertEqual("matmul/within-error-bound: violation: " in done.stdout, code == 1, done.stdout)

    @unittest.skipIf("matmul" not in FEATURES, "about matmul")
    def test_an_output_holds_what_beta_multiplies(self):
        for reads, verdict in (("beta", "pass"), ("True", "uninitialized"), ("False", "violation")):
            with self.subTest(reads=reads), tempfile.TemporaryDirectory() as name:
                (pathlib.Path(name) / "adds.py").write_text(ADDS.format(reads=reads))
                done = self.run_verify(pathlib.Path(name), "matmul", "adds.py", "--shrink-seconds", "0.5", "--property",
                                       "within-error-bound", cases=24)
                said = done.stdout + done.stderr
                self.assertEqual(done.returncode, 0 if verdict == "pass" else 1, said)
                self.assertRegex(said, f"matmul f16: offers c_in, beta;.*(?s:.*){verdict}")

    @unittest.skipIf("matmul" not in FEATURES, "about matmul")
    def test_a_factor_of_0_is_asked_of_kernels_that_read_no_operands_then(self):
        for factor, code, is_lacking in (("alpha and", 0, False), ("", 0, True), ("1 if alpha == 0 else", 1, False)):
            with self.subTest(factor=factor), tempfile.TemporaryDirectory() as name:
                (pathlib.Path(name) / "scaled.py").write_text(SCALED.format(factor=factor))
                done = self.run_verify(pathlib.Path(name), "matmul", "scaled.py", "--shrink-seconds", "0.5",
                                       "--property", "beta-alpha-contract", cases=24)
                said = done.stdout + done.stderr
                self.assertEqual(done.returncode, code, said)
                self.assertEqual(re.search(r"does not offer [^\n]*alpha=0", said) is not None, is_lacking, said)
                for line in re.findall(r"warpcheck replay '(.*)'", done.stdout):
                    told = subprocess.run([WARPCHECK, "explain", line], capture_output=True, text=True, cwd=name)
                    self.assertIn("alpha is 0, so a and b are not read", told.stdout + told.stderr)

    @unittest.skipIf("matmul" not in FEATURES, "about matmul")
    def test_an_exception_that_says_what_is_not_offered_is_a_refusal(self):
        for error, is_refusal in ((f"RuntimeError('{FAR}' + str(farthest))", True),
                                  ("OverflowError('Python int too large to convert to C int')", True),
                                  ("RuntimeError('CUDA error: an illegal memory access was encountered')", False),
                                  ("TypeError('unsupported operand type(s) for +')", False)):
            with self.subTest(error=error), tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                several = "t.shape[0] > 1"
                (folder / "near.py").write_text(NEAR.format(docs=DOCS, error=error, of="a, b, c", refuses=several))
                done = self.run_verify(folder, "matmul", "near.py", "--shrink-seconds", "0.5", "--property",
                                       "large-offset", cases=60)
                said = done.stdout + done.stderr
                self.assertEqual(done.returncode, 0 if is_refusal else 1, said)
                self.assertEqual(re.search(r"does not offer .*ld[abc]>2147483647", said) is not None, is_refusal, said)
                self.assertEqual("matmul/large-offset: error_return: " in said, not is_refusal, said)

    @unittest.skipIf("matmul" not in FEATURES, "about matmul")
    def test_a_few_questions_find_the_one_tensor_whose_rows_must_be_near(self):
        others = ("within-error-bound integer-exact identity permutation non-finite-class range-sweep k-padding "
                  "dispatch shape-sweep repeatability shared-memory golden low-part transpose-agreement model-bits")
        asked = [word for p in others.split() for word in ("--property", p)]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)  # the distance is refused for a single row, too
            text = NEAR.format(docs=DOCS, error=f"RuntimeError('{FAR}')", of="c,", refuses=True)
            (folder / "near.py").write_text(text)
            done = self.run_verify(folder, "matmul", "near.py", "--property", "large-offset", *asked, cases=28)
            said = done.stdout + done.stderr
            self.assertEqual(done.returncode, 0, said)
            self.assertRegex(said, r"does not offer [^\n]*ldc>2147483647\n")

    @unittest.skipIf("argsort" not in FEATURES, "about argsort")
    def test_a_function_that_is_slow_for_each_row_gets_fewer_rows(self):
        with tempfile.TemporaryDirectory() as name:
            (pathlib.Path(name) / "alone.py").write_text(EACH_ROW_ALONE.format(docs=DOCS))
            done = self.run_verify(name, "argsort", "alone.py", cases=4, size=["ci"])
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            most = re.search(r"gets at most (\d+) rows, because each takes", done.stdout)
            self.assertTrue(most and int(most[1]) < 65536, done.stdout)
            self.assertRegex(done.stdout, r"\nasked (\d+) of \1 properties")

    @unittest.skipIf("softmax" not in FEATURES, "about softmax")
    def test_few_interpreters_find_the_depth_that_admits_all_results(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "loaded.py").write_text(LOADED.format(docs=DOCS))
            done = self.run_verify(folder, "softmax", "loaded.py", "--workers", "1", "--shrink-seconds", "0.001")
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertGreater(done.stdout.count(": violation: "), 10, done.stdout)
            self.assertLess(len((folder / "loads").read_text()), 10)

    @unittest.skipIf("histogram" not in FEATURES, "about histogram")
    def test_a_function_is_asked_for_the_form_that_its_parameters_name(self):
        for others, refused in (("", ""), (", **others", " or others['rows'] is not None")):
            with self.subTest(others=others), tempfile.TemporaryDirectory() as name:
                (pathlib.Path(name) / "dense.py").write_text(DENSE.format(others=others, refused=refused))
                done = self.run_verify(pathlib.Path(name), "histogram", "dense.py", "--shrink-seconds", "0.5", cases=12)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                for lacked in ("slots", "gh", "before", "accum=0"):
                    self.assertRegex(done.stdout, f"does not offer .*{lacked}")
                for judging in ("column-order", "constant-hessian-counts", "sign-flip", "power-of-two-scale",
                                "overwrite-not-accumulate", "poison-locality"):
                    self.assertRegex(done.stdout, rf"histogram +{judging} .* pass\n")
                self.assertIn("not asked: histogram/outside-rows: needs rows\n", done.stdout)

    @unittest.skipIf("histogram" not in FEATURES, "about histogram")
    def test_forms_that_only_checks_call_are_asked_for(self):
        with tempfile.TemporaryDirectory() as name:
            file = pathlib.Path(name) / "whole.py"
            file.write_text(WHOLE.format(docs=DOCS, op="histogram", dtype="u8") + "histogram.states = ''\n")
            done = self.run_verify(name, "histogram", "whole.py", cases=40)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            for lacked in ("slots", "scale", "totals", "parent"):
                self.assertRegex(done.stdout, f"does not offer [^\n]*{lacked}")
            self.assertRegex(done.stdout, r"\d cases, .*\(\d+ cases/s\)\n")  # none is skipped

    @unittest.skipIf("gru" not in FEATURES, "about gru")
    def test_equal_bits_of_different_calls_are_asked_of_those_who_state_them(self):
        asked = [word for p in COMPARES_CALLS for word in ("--property", p)]
        for states, failing in (("", []), ("batch-invariant", COMPARES_CALLS)):
            with self.subTest(states=states), tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                (folder / "rounds.py").write_text(ROUNDS_BY_SIZE.format(docs=DOCS, states=states))
                done = self.run_verify(folder, "gru", "rounds.py", "--shrink-seconds", "0.2", *asked, cases=24)
                self.assertEqual(done.returncode, 1 if failing else 0, done.stdout + done.stderr)
                self.assertEqual([p for p in COMPARES_CALLS if f"gru/{p}: violation: " in done.stdout], failing)

    @unittest.skipIf("gru" not in FEATURES, "about gru")
    def test_a_tensor_that_is_lacked_has_no_slices(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "each_row.py").write_text(EACH_ROW.format(docs=DOCS))
            done = self.run_verify(folder, "gru", "each_row.py", "--property", "batch-invariance", cases=60)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertRegex(done.stdout, r"gru +batch-invariance .* pass\n")

    @unittest.skipIf("gru" not in FEATURES, "about gru")
    def test_tanh_need_be_odd_only_up_to_its_rounding(self):
        for error, code in (("2**-25 * (n > 0)", 0), ("2**-10 * (n > 0)", 1)):
            with self.subTest(error=error), tempfile.TemporaryDirectory() as name:
                text = COARSE_TANH.replace("{error!r}", error).format(docs=DOCS, states="")
                (pathlib.Path(name) / "odd.py").write_text(text)
                done = self.run_verify(name, "gru", "odd.py", "--property", "odd-symmetry", "--shrink-seconds", "0.2",
                                       cases=40)
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)

    @unittest.skipIf("gru" not in FEATURES, "about gru")
    def test_a_kernel_with_coarse_gates_states_their_error(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)

            def verify(error, states, *properties):
                (folder / "coarse.py").write_text(COARSE_TANH.format(docs=DOCS, error=error, states=states))
                asked = [word for p in properties for word in ("--property", p)]
                return self.run_verify(folder, "gru", "coarse.py", "--shrink-seconds", "0.2", *asked, cases=12)

            steps = ("forward-matches-the-reference", "every-step-follows-from-the-step-before")
            done = verify(2**-17, "", *steps)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            (least,) = re.findall(r"^gru: passes with gates >= (\d+)$", done.stdout, re.MULTILINE)
            self.assertTrue(64 < int(least) <= 132, least)  # 128, and the rounding to f32
            done = verify(2**-17, f"gates <= {least}", *steps)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            done = verify(2**-17, f"gates <= {int(least) // 2}", *steps[:1])
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            done = verify(2**-17, "gates <= 132")  # every property
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
