"""`verify --input`: the arrays of every operator, and the answers to arrays that are no call. Run by CTest."""

import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import numpy

WARPCHECK = os.environ["WARPCHECK"]
CORPUS = os.environ["WARPCHECK_TEST_CORPUS"]
TORCH = os.environ["WARPCHECK_TEST_TORCH"]
# What the file `dict` of the corpus was made by; `x.pt` is one tensor, a parameter with gradients.
SAVE_TENSORS = """
import torch
a = torch.arange(35.0).reshape(5, 7)
torch.save({"a": a, "b": a.t()[:, :3]}, "call.pt")
torch.save(torch.nn.Parameter(a.t()[1:]), "x.pt")
"""
WRONG_PRODUCT = """
#include <cuda_runtime.h>
__global__ void multiply(const float* a, const float* b, float* c, int m, int k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m * n) return;
  double sum = 0;
  for (int j = 0; j < k; ++j) sum += (double)a[i / n * k + j] * b[j * n + i % n];
  c[i] = (float)sum + (i == 1 ? 0.5f : i == 5 ? 2.0f : 0.0f);
}
void product(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  multiply<<<(m * n + 63) / 64, 64, 0, stream>>>(a, b, c, m, k, n);
}
"""
# Every number of every output is 1.
WRONG_TREES = """
import numpy


def histogram(bins=None, cols=None, g=None, h=None, rows=None, gh=None, slots=None, row_ptr=None, before=None,
              entries=None, leaf=None, parent=None, smaller=None, hist=None, scale=None, totals=None, larger=None,
              **others):
    for output in (hist, scale, totals, larger):
        if output is not None:
            numpy.asarray(output)[...] = 1


def best_split(value, field, cat, hist=None, count=None, feature=None, used=None, leaf=None, in_value=None,
               in_field=None, in_cat=None, **others):
    for output in (value, field, cat):
        numpy.asarray(output)[...] = 1
"""


# A case of each operator whose inputs do not all have the values of their fills, and the scalars of its call.
CASES = {
    "v1 histogram/exact-model bins=u8[40x2] fill=integers(1,0,65535) | cols=i64[2x2] fill=derived() "
    "| g=f32[40] fill=randn(2) | h=f32[40] fill=uniform(3,0,1) | rows=i32[9] fill=integers(4,0,99) | hist=f64[17x2] "
    "| device=emulated mfb=0,1 schedule=fair widths=9": {},
    "v1 best_split/split-is-maximal hist=f64[60x2] fill=dyadic(1,1024,6) | count=i64[60] fill=derived() "
    "| feature=i64[3x7] fill=derived() | used=u8[2x3] fill=derived() | leaf=f64[2x7] fill=derived() | value=f64[2x9] "
    "| field=i64[2x6] | cat=u32[2x32] | categorical=2 device=emulated empty=20 encoding=2 masked=1 missing=3 "
    "schedule=fair": {},
}


class Arrays(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.draw = numpy.random.default_rng(1)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def floats(self, *shape, dtype="f4"):
        return self.draw.uniform(-1, 1, shape).astype(dtype)

    def options(self, arrays, scalars):
        options = []
        for name, array in arrays.items():
            numpy.save(self.path(name + ".npy"), array)
            options += ["--input", f"{name}={self.path(name + '.npy')}"]
        for name, value in scalars.items():
            options += ["--input", f"{name}={value}"]
        return options

    def verify(self, operator, arrays, scalars={}, options=("--device", "emulated")):
        return subprocess.run([WARPCHECK, "verify", operator, *options, "--regressions", self.folder.name,
                               *self.options(arrays, scalars)], capture_output=True, text=True, timeout=300)

    def passes(self, operator, arrays, **scalars):
        with self.subTest(operator=operator, arrays=list(arrays), scalars=scalars):
            r = self.verify(operator, arrays, scalars)
            self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
            self.assertRegex(r.stdout, r"[1-9]\d* elements compared")

    def refused(self, text, operator, arrays, **scalars):
        with self.subTest(text=text):
            r = self.verify(operator, arrays, scalars)
            self.assertEqual(r.returncode, 2, r.stdout + r.stderr)
            self.assertIn(text, r.stderr)

    def gru(self):
        return {"x": self.floats(2, 3, 4), "w_ih": self.floats(1, 15, 4), "w_hh": self.floats(1, 15, 5)}

    def histogram(self):
        bins = self.draw.integers(0, 4, (50, 2)).astype("u1")
        return {"bins": bins, "cols": numpy.array([[0, 4], [4, 4]]), "g": self.floats(50), "h": abs(self.floats(50))}

    def split(self):
        hist = numpy.stack([self.draw.integers(-9, 9, 4), self.draw.integers(1, 9, 4)], axis=1).astype("f8")
        g, h = hist.sum(axis=0)
        return {"hist": hist, "count": numpy.array([20, 10, 10, 10]), "feature": numpy.array([[0, 4, 0, 0, 0, 0, 0]]),
                "used": numpy.zeros((0, 0), "u1"),
                "leaf": numpy.array([[0, g, h, 50, g * g / h, 0, 0]])}

    def test_rows_pass(self):
        for operator in ("softmax", "log_softmax", "logsumexp", "argmax", "argsort"):
            self.passes(operator, {"x": self.floats(3, 20)})
        self.passes("sigmoid", {"x": self.floats(20)}, mu=0.5, sigma=2)
        self.passes("reduce", {"x": self.floats(3, 20)}, op=2)
        self.passes("scan", {"x": self.draw.integers(-9, 9, (3, 20))}, kind=1)

    def test_products_pass(self):
        a, b = self.floats(5, 7), self.floats(7, 3)
        self.passes("matmul", {"a": a, "b": b})
        self.passes("matmul", {"a": a.T.copy(), "b": b.T.copy(), "c_in": self.floats(5, 3), "bias": self.floats(3)},
                    ta=1, tb="yes", alpha=2, beta=1, sigmoid=1)

    def test_sequences_pass(self):
        self.passes("gru", self.gru())
        self.passes("gru", {**self.gru(), "b_ih": self.floats(1, 15), "b_hh": self.floats(1, 15),
                            "h0": self.floats(1, 3, 5), "lengths": numpy.array([2, 1, 0]),
                            "dy": self.floats(2, 3, 5)})

    def test_trees_pass(self):
        self.passes("histogram", self.histogram())
        self.passes("histogram", {**self.histogram(), "rows": numpy.array([7, 7, 49])}, accum=2)
        self.passes("best_split", self.split())

    def test_other_stages_of_trees_are_judged(self):
        with open(self.path("wrong.py"), "w") as f:
            f.write(WRONG_TREES)
        values = {"g": self.floats(50), "h": self.floats(50)}
        slots = {"before": self.floats(8, 2, dtype="f8"), "leaf": self.floats(2, dtype="f8")}
        fields = numpy.array([[1, 2, 3, 1, 5, 6], [0x101, 2, 3, 2, 5, 6], [0x100, 0, 0, 0, 5, 6]])
        records = {"in_value": self.floats(3, 9, dtype="f8"), "in_field": fields,
                   "in_cat": numpy.arange(6, dtype="u4").reshape(3, 2)}
        for operator, arrays, scalars in (
            ("histogram", values, {"stage": 1}),
            ("histogram", values, {"stage": 2}),
            ("histogram", {**values, "rows": numpy.array([7, 7, 49])}, {"accum": 2}),
            ("histogram", {**slots, "entries": numpy.array([[1, 4 | 2 << 32]])}, {}),
            ("histogram", {"parent": self.draw.integers(0, 99, (8, 2)), "smaller": self.draw.integers(0, 99, (8, 2))},
             {}),
            ("best_split", records, {"per_leaf": 3}),
        ):
            self.passes(operator, arrays, **scalars)
            wrong = f"{self.path('wrong.py')}:{operator}"
            r = self.verify(operator, arrays, scalars, ("--python", wrong, "--interpreter", sys.executable))
            self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
            self.assertIn(": violation: ", r.stdout)
        self.refused("entries[0,0] is 6, must be from 0 to 4", "histogram",
                     {**slots, "entries": numpy.array([[6, 4]])})
        self.refused("stage: it is 4, and the call with these tensors is scale; see 'warpcheck list histogram'",
                     "histogram", values, stage=4)
        self.refused("per_leaf: it is 2, must be a divisor of the 3 records", "best_split", records, per_leaf=2)
        fields[1, 3] = 3
        self.refused("in_field[1,3] is 3, must be from 0 to 2", "best_split", records)

    def test_a_case_is_the_call_of_its_arrays(self):
        for line, scalars in CASES.items():
            operator = line.split("/")[0].split()[1]
            with self.subTest(operator=operator):
                folder = self.path(operator)
                for asked in (["replay", line], ["explain", line], ["replay", line, "--arrays", folder]):
                    r = subprocess.run([WARPCHECK, *asked], capture_output=True, text=True, timeout=300)
                    self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
                    self.assertNotIn("changes the values", r.stdout)
                self.passes(operator, {name.removesuffix(".npy"): numpy.load(os.path.join(folder, name))
                                       for name in sorted(os.listdir(folder))}, **scalars)

    def test_tables_given_by_numbers_are_checked(self):
        for line, text in ((list(CASES)[0].replace("derived()", "constant(0) edit=0,1:3 edit=1,0:99"),
                            "cols[1,0] is 99"),
                           (list(CASES)[1].replace("leaf=f64[2x7] fill=derived()", "leaf=f64[2x7] fill=constant(60)"),
                            "leaf[0,0] is 60")):
            with self.subTest(text=text):
                r = subprocess.run([WARPCHECK, "replay", line], capture_output=True, text=True, timeout=300)
                self.assertNotEqual(r.returncode, 0)
                self.assertIn(text, r.stdout + r.stderr)

    def test_formulas_pass(self):
        with open(self.path("dot.op"), "w") as f:
            f.write("operator dot(a[m, n], b[m, n]) -> y[m]\n  y[r] = sum(j) a[r, j] * b[r, j]\n")
        r = self.verify(self.path("dot.op"), {"a": self.floats(3, 9), "b": self.floats(3, 9)}, options=())
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)

    def test_wrong_elements_are_named_worst_first(self):
        with open(self.path("product.cu"), "w") as f:
            f.write(WRONG_PRODUCT)
        arrays = {"a": self.floats(5, 7), "b": self.floats(7, 3)}
        report = self.path("report.json")
        r = self.verify("matmul", arrays, options=("--device", "emulated", "--source", self.path("product.cu"),
                                                   "--entry", "product", "--json", report))
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        self.assertIn("2 of 15 compared elements lie outside their bound", r.stdout)
        with open(report) as f:
            failure = json.load(f)["failures"][0]
        exact = arrays["a"].astype("f8") @ arrays["b"].astype("f8")
        found = failure["departing"]
        self.assertEqual([(w["tensor"], w["row"], w["col"]) for w in found], [("c", 1, 2), ("c", 0, 1)])
        for w in found:
            self.assertAlmostEqual(w["expected"], exact[w["row"], w["col"]], 12)
            self.assertGreater(w["error"], w["bound"])
        line = next(line for line in r.stdout.splitlines() if "warpcheck replay" in line)
        again = subprocess.run([WARPCHECK, "replay", line.split("'")[1]], capture_output=True, text=True, timeout=300)
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)
        self.assertIn("c[1,2]", again.stdout)

    def run_archive(self, name, *options):
        return subprocess.run([WARPCHECK, "verify", "matmul", "--device", "emulated", "--regressions", self.folder.name,
                               "--input", self.path(name), *options], capture_output=True, text=True, timeout=300)

    def test_archives_hold_the_arrays_of_a_call(self):
        with open(self.path("product.cu"), "w") as f:
            f.write(WRONG_PRODUCT)
        numpy.savez(self.path("call.npz"), b=self.floats(7, 3), a=self.floats(5, 7))
        for one in (["--input", f"bias={self.path('more.npz')}:bias"], []):
            numpy.savez_compressed(self.path("more.npz"), other=self.floats(2), bias=self.floats(3))
            r = self.run_archive("call.npz", *one)
            self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
            self.assertIn(" 15 elements compared", r.stdout)
        r = self.run_archive("call.npz", "--source", self.path("product.cu"), "--entry", "product")
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        line = next(line for line in r.stdout.splitlines() if "warpcheck replay" in line)
        self.assertIn("call.npz:a", line)
        again = subprocess.run([WARPCHECK, "replay", line.split("'")[1]], capture_output=True, text=True, timeout=300)
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)
        self.assertIn("c[1,2]", again.stdout)

    def test_archives_that_cannot_be_read(self):
        a, b = self.floats(5, 7), self.floats(7, 3)
        numpy.savez(self.path("whole.npz"), a=a, b=b)
        numpy.savez(self.path("half.npz"), a=a)
        numpy.savez_compressed(self.path("small.npz"), a=a, b=b)
        with zipfile.ZipFile(self.path("lzma.npz"), "w", zipfile.ZIP_LZMA) as f:
            f.writestr("a.npy", b"a")
        with open(self.path("whole.npz"), "rb") as f:
            whole = f.read()
        with open(self.path("small.npz"), "rb") as f:
            small = f.read()
        for name, content in (("cut.npz", whole[:-40]), ("text.npz", b"a = 1"), ("call.pt", whole),
                              ("moved.npz", whole[:200] + whole[210:]), ("text.pt", b"a = 1"),
                              ("bit.npz", small[:100] + bytes([small[100] ^ 1]) + small[101:])):
            with open(self.path(name), "wb") as f:
                f.write(content)
        for name, said, *more in (
            ("half.npz", "matmul: b is missing"),
            ("half.npz", "whole.npz: it has no array 'c'; it has a, b", "--input", f"b={self.path('whole.npz')}:c"),
            ("bit.npz", "'a.npy' is damaged: it does not inflate to 268 bytes of its checksum"),
            ("lzma.npz", "'a.npy' is compressed by method 14; 0 (stored) and 8 (deflated) are allowed"),
            ("cut.npz", "it is no ZIP archive"),
            ("text.npz", "it is no ZIP archive"),
            ("text.pt", "it is no ZIP archive"),
            ("moved.npz", "begins no"),
            ("absent.npz", "it is not a file that can be read"),
            ("call.pt", "call.pt: it has no data.pkl, as torch.save writes it"),
        ):
            with self.subTest(name=name, said=said):
                r = self.run_archive(name, *more)
                self.assertEqual(r.returncode, 2, r.stdout + r.stderr)
                self.assertIn(said, r.stderr)

    # A pickle as torch.save places it.
    def pickle_file(self, name, value):
        with zipfile.ZipFile(self.path(name), "w") as f:
            f.writestr("call/data.pkl", value if isinstance(value, bytes) else pickle.dumps(value, 2))

    def torch_files(self):
        """PyTorch's own if it is installed, otherwise those of the corpus."""
        if subprocess.run([TORCH, "-c", SAVE_TENSORS], cwd=self.folder.name, capture_output=True).returncode != 0:
            shutil.copy(os.path.join(CORPUS, "dict"), self.path("call.pt"))
            shutil.copy(os.path.join(CORPUS, "tensor"), self.path("x.pt"))

    def test_torch_files_hold_the_tensors_of_a_call(self):
        with open(self.path("product.cu"), "w") as f:
            f.write(WRONG_PRODUCT)
        self.torch_files()
        shutil.copy(os.path.join(CORPUS, "dict"), self.path("committed.pt"))
        for name in ("call.pt", "committed.pt"):
            r = self.run_archive(name)
            self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
            self.assertIn(" 15 elements compared", r.stdout)
            report = self.path("report.json")
            r = self.run_archive(name, "--source", self.path("product.cu"), "--entry", "product", "--json", report)
            self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
            with open(report) as f:
                found = {(w["row"], w["col"]): w["expected"] for w in json.load(f)["failures"][0]["departing"]}
            a = numpy.arange(35.0).reshape(5, 7)
            exact = a @ a.T[:, :3]
            self.assertEqual(found, {(0, 1): exact[0, 1], (1, 2): exact[1, 2]})
            line = next(line for line in r.stdout.splitlines() if "warpcheck replay" in line)
            self.assertIn(f"{name}:b", line)
            again = subprocess.run([WARPCHECK, "replay", line.split("'")[1]], capture_output=True, text=True,
                                   timeout=300)
            self.assertEqual(again.returncode, 1, again.stdout + again.stderr)
        for given in ("x.pt", f"x={self.path('call.pt')}:b"):
            r = subprocess.run([WARPCHECK, "verify", "softmax", "--device", "emulated", "--regressions",
                                self.folder.name, "--input", given], capture_output=True, text=True, timeout=300,
                               cwd=self.folder.name)
            self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
            self.assertIn("elements compared", r.stdout)

    def test_torch_files_that_are_not_read_run_no_code(self):
        class Code:
            def __reduce__(self):
                return os.system, ("touch " + CODE_RAN,)

        CODE_RAN = self.path("code_ran")
        self.torch_files()
        with open(os.path.join(CORPUS, "dict"), "rb") as f:
            whole = f.read()
        with open(self.path("short.pt"), "wb") as f:
            f.write(whole.replace(b"K\x05K\x07\x86", b"K\x06K\x07\x86"))
        self.pickle_file("code.pt", Code())
        self.pickle_file("list.pt", {"a": [1]})
        self.pickle_file("number.pt", {"a": 1})
        self.pickle_file("none.pt", None)
        self.pickle_file("cut.pt", b"\x80\x02}")
        for name, said, *more in (
            ("code.pt", "code.pt: its pickle names 'posix.system', which is not run; a tensor, or a dict of tensors"),
            ("list.pt", "list.pt: its pickle has the opcode 0x5d at byte"),
            ("number.pt", "number.pt: 'a' of its dict is no tensor"),
            ("none.pt", "none.pt: it holds no tensor at its top"),
            ("cut.pt", "cut.pt: its pickle ends early"),
            ("short.pt", "it has a tensor that reaches beyond the 35 elements of its storage"),
        ):
            with self.subTest(name=name, said=said):
                r = self.run_archive(name, *more)
                self.assertEqual(r.returncode, 2, r.stdout + r.stderr)
                self.assertIn(said, r.stderr)
        self.assertFalse(os.path.exists(CODE_RAN))
        whole = f"a={self.path('call.pt')}"
        r = self.verify("matmul", {}, options=("--device", "emulated", "--input", whole))
        self.assertEqual(r.returncode, 2, r.stdout + r.stderr)
        self.assertIn(f"has several arrays; write {whole}:a", r.stderr)
        arrays = self.histogram()
        del arrays["cols"]
        r = self.verify("histogram", arrays, options=("--device", "emulated", "--input", f"cols={self.path('x.pt')}"))
        self.assertEqual(r.returncode, 2, r.stdout + r.stderr)
        self.assertIn("x.pt: its elements are f32; i64 is allowed here", r.stderr)

    def test_arrays_that_are_no_call(self):
        a, b = self.floats(5, 7), self.floats(7, 3)
        self.refused("matmul: b is missing, [k, n] f32, f16, bf16", "matmul", {"a": a})
        self.refused("'q' is no input of matmul; it has a, b, c_in, bias", "matmul", {"a": a, "b": b, "q": b})
        self.refused("'q' is no scalar of matmul; it has ta, tb, alpha", "matmul", {"a": a, "b": b}, q=1)
        self.refused("tensor b", "matmul", {"a": a, "b": self.floats(6, 3)})
        self.refused("b: it has 1 dimensions, must have 2: [k, n]", "matmul", {"a": a, "b": self.floats(7)})
        self.refused("b.npy", "matmul", {"a": a, "b": self.floats(7, 3, dtype="f8")})
        self.refused("ta: 'maybe' is not one of", "matmul", {"a": a, "b": b}, ta="maybe")
        self.refused("w_hh is missing", "gru", {"x": self.floats(2, 3, 4), "w_ih": self.floats(1, 15, 4)})
        wrong = self.histogram()
        wrong["bins"][7, 1] = 4
        self.refused("bins[7,1] is 4, must be from 0 to 3", "histogram", wrong)
        self.refused("rows[0,1] is 50, must be from 0 to 49", "histogram",
                     {**self.histogram(), "rows": numpy.array([0, 50])})
        wrong = self.split()
        wrong["feature"][0, 3] = 2
        self.refused("feature[0,3] is 2, must be from 0 to 0", "best_split", wrong)


if __name__ == "__main__":
    unittest.main()
