#!/usr/bin/env python3
"""What verify says of a formula besides its table: the smallest contract, free elements, one precision lower.

The environment has WARPCHECK, the command, WARPCHECK_SOURCE, the source tree, and WARPCHECK_CASES, cases of a property.
"""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

WARPCHECK = os.environ["WARPCHECK"]
LIBRARY = pathlib.Path(os.environ["WARPCHECK_SOURCE"]) / "formulas"
CASES = os.environ["WARPCHECK_CASES"]
SIZE = "full" if int(CASES) > 20 else "quick"

# A sum by halves, and one by a chain.
SUMS = """
__global__ void halves(const float* x, float* y, int cols) {
  __shared__ float part[64];
  const int i = threadIdx.x;
  part[i] = 0;
  for (int k = i; k < cols; k += 64) part[i] += x[blockIdx.x * (size_t)cols + k];
  for (int half = 32; half > 0; half /= 2) {
    __syncthreads();
    if (i < half) part[i] += part[i + half];
  }
  if (i == 0) y[blockIdx.x] = part[0];
}
__global__ void chain(const float* x, float* y, int cols) {
  float sum = 0;
  for (int k = 0; k < cols; ++k) sum += x[blockIdx.x * (size_t)cols + k];
  y[blockIdx.x] = sum;
}
extern "C" void by_halves(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  halves<<<rows, 64, 0, stream>>>(x, y, cols);
}
extern "C" void by_chain(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  chain<<<rows, 1, 0, stream>>>(x, y, cols);
}
"""


class Verdicts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def verify(self, *arguments):
        """The exit code, the output, and what the result says of each formula."""
        words = [WARPCHECK, "verify", *arguments, "--json", "v.json"]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True)
        output = done.stdout + done.stderr
        self.assertTrue((self.folder / "v.json").exists(), output)
        formulas = json.loads((self.folder / "v.json").read_text())["formulas"]
        return done.returncode, output, {f["operator"]: f for f in formulas}

    def test_a_chain_needs_a_greater_depth_than_halves(self):
        (self.folder / "sums.op").write_text("operator sums(x[rows, cols]) -> y[rows]\n  y[r] = sum(c) x[r,c]\n")
        (self.folder / "sums.cu").write_text(SUMS)
        depths = {}
        for entry in ("by_halves", "by_chain"):
            code, output, of = self.verify("sums.op", "--source", "sums.cu", "--entry", entry, "--device", "emulated",
                                           "--property", "within-error-bound", "--cases", "30")
            self.assertEqual(code, 0, output)
            depths[entry] = of["sums.op"]["needs"]["sums of depth"]
            self.assertIn(f"sums of depth {depths[entry]:g}", output)
        self.assertGreaterEqual(depths["by_chain"], 2 * depths["by_halves"], depths)

    def test_functions_and_divisions_of_the_interpreter_are_rounded_once(self):
        code, output, of = self.verify("swish.op", "--cases", "20")
        self.assertEqual(code, 0, output)
        self.assertEqual(of["swish.op"]["needs"]["division"], 1)
        self.assertEqual(of["swish.op"]["needs"]["slack"], 0)
        self.assertIn("swish.op: smallest contract that admits the passing cases: functions ", output)

    def test_free_elements_are_no_trial(self):
        text = "operator free(x[n]) -> y[n]\n  y[i] = 1 / (x[i] + 1e10 - 1e10)\n"
        (self.folder / "free.op").write_text(text)
        code, output, of = self.verify("free.op", "--cases", "20")
        self.assertEqual(code, 0, output)
        self.assertGreater(of["free.op"]["free"], 0.1 * of["free.op"]["compared"])
        self.assertRegex(output, "more than a tenth is free in the cases of values:.*, which are no trial")
        (self.folder / "free.op").write_text(text.replace("x[n]", "x[n] in [1, 2]"))
        code, output, of = self.verify("free.op", "--cases", "20")
        self.assertEqual(of["free.op"]["free"], of["free.op"]["compared"])
        self.assertIn("free.op: every element is free, so nothing is proven", output)
        self.assertEqual(code, 1, output)

    def test_a_trial_that_cannot_reject_one_precision_lower_says_so(self):
        (self.folder / "loose.op").write_text(
            "operator loose(x[n]) -> y[n]\n  arithmetic f32: slack 1000, functions 100000 ulp\n"
            "  y[i] = exp(x[i]) * exp(-x[i])\n")
        code, output, of = self.verify("loose.op", "--cases", "10", "--property", "within-error-bound")
        self.assertEqual(code, 0, output)
        self.assertIn("loose.op: control: one precision lower is not always rejected", output)
        self.assertFalse(all(c["rejected"] for c in of["loose.op"]["controls"]))

    def test_one_precision_lower_is_rejected_throughout_the_library(self):
        files = sorted(LIBRARY.glob("*.op"))
        code, output, of = self.verify(*map(str, files), "--device", "cpu", "--cases", CASES, "--size", SIZE,
                                       "--property", "within-error-bound")
        self.assertEqual(code, 0, output)
        self.assertEqual(len(of), sum(f.read_text().count("\noperator ") + f.read_text().startswith("operator ")
                                      for f in files))
        self.assertEqual({name: f["untried"] for name, f in of.items() if f["untried"]}, {})
        accepted = {name: [c["name"] for c in f["controls"] if not c["rejected"]] for name, f in of.items()}
        self.assertEqual({name: names for name, names in accepted.items() if names}, {})
        # What a formula only selects is not rounded by operations.
        self.assertEqual([c["name"] for c in of["relu.op"]["controls"]], ["operands in tf32"])
        # Where products and scores overflow, and where a norm underflows, a kernel may return anything.
        free = {value for f in of.values() for value, n in f["values"].items() if n["free"] > 0.1 * n["compared"]}
        self.assertLessEqual(free, {"values:huge", "values:tiny"})


if __name__ == "__main__":
    unittest.main()
