#!/usr/bin/env python3
"""Properties that follow from a formula's subscripts, and pairs of kernels: each finds a kernel that no other does.

The environment has WARPCHECK, the command.
"""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from kernels import SCALE_BACKWARD

SCALE_FORWARD = """
__global__ void forward_each(const float* x, const float* w, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * expf(w[i]);
}
extern "C" void scale(const float* x, const float* w, float* y, int n, cudaStream_t stream) {
  forward_each<<<(n + 63) / 64, 64, 0, stream>>>(x, w, y, n);
}
"""

# Keeps its last result for inputs of the same sum.
KEPT = """
__device__ unsigned long long kept_sum;
__device__ int kept_n;
__device__ float kept[4096];
__global__ void one(const float* x, float* y, int n) {
  unsigned long long sum = 1;
  for (int i = 0; i < n; ++i) sum += __float_as_uint(x[i]);
  if (n > 4096 || sum != kept_sum || n != kept_n) {
    for (int i = 0; i < n; ++i) y[i] = 2 * x[i];
    kept_n = 0;
    if (n <= 4096) {
      for (int i = 0; i < n; ++i) kept[i] = y[i];
      kept_sum = sum, kept_n = n;
    }
    return;
  }
  for (int i = 0; i < n; ++i) y[i] = kept[i];
}
extern "C" void doubled(const float* x, float* y, int n, cudaStream_t stream) { one<<<1, 1, 0, stream>>>(x, y, n); }
"""

DOUBLE_ROWS = """
#include <cstdint>
__global__ void rows_of(const float* x, int64_t ldx, float* y, int64_t ldy, int cols) {
  const int64_t r = blockIdx.x;
  for (int i = threadIdx.x; i < cols; i += 32) y[r * ldy + i] = 2 * x[r * ldx + i];
}
extern "C" void double_rows(const float* x, int64_t ldx, float* y, int64_t ldy, int rows, int cols,
                            cudaStream_t stream) {
  if (rows > 0) rows_of<<<rows, 32, 0, stream>>>(x, ldx, y, ldy, cols);
}
"""

DOUBLE_ROWS_PYTHON = """
import ctypes
def double_rows(x, y):
    a, b = (ctypes.cast(t.data, ctypes.POINTER(ctypes.c_float)) for t in (x, y))
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            b[i * y.strides[0] + j] = 2 * a[i * x.strides[0] + j]
"""


class Structure(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_command(self, *arguments):
        done = subprocess.run([os.environ["WARPCHECK"], *arguments], cwd=self.folder, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def test_a_forward_and_a_backward_kernel_are_a_pair(self):
        (self.folder / "scale.op").write_text("operator scale(x[n], w[n]) -> y[n]\n  y[i] = x[i] * exp(w[i])\n")
        (self.folder / "b.cu").write_text(SCALE_BACKWARD)
        arguments = ["verify", "gradient:scale.op", "--source", "b.cu", "--entry", "scale_backward", "--device",
                     "emulated", "--cases", "20", "--shrink-seconds", "5"]
        code, output = self.run_command(*arguments)
        self.assertIn("scale_gradient.op/adjoint-identity: needs scale.op of the same candidate, or --forward", output)
        # A forward kernel of another function than the gradient's.
        for term, code in (("expf(w[i])", 0), ("(1 + w[i])", 1), ("expf(1.01f * w[i])", 1)):
            (self.folder / "f.cu").write_text(SCALE_FORWARD.replace("expf(w[i])", term))
            found, output = self.run_command(*arguments, "--forward", "f.cu:scale")
            self.assertEqual(found, code, output)
            self.assertRegex(output, "adjoint-identity +3 .*" + ("pass", "violation")[code])
            if code == 1:
                self.assertEqual(set(re.findall(r"gradient.op +([\w-]+) .*\(\d+ failures?\)", output)),
                                 {"adjoint-identity"}, output)
                line = re.search(r"warpcheck replay '(.*)'", output)[1]
                self.assertIn(" forward=source:f.cu:scale", line)
                self.assertEqual(self.run_command("replay", line)[0], 1)
        (self.folder / "f.cu").write_text(SCALE_FORWARD)
        for old, new in (("d_y[i] * x[i]", "x[i]"), ("d_w[i] = d_y[i]", "d_w[i] = -d_y[i]"), ("d_y[i] * e", "d_y[i]")):
            (self.folder / "b.cu").write_text(SCALE_BACKWARD.replace(old, new))
            code, output = self.run_command(*arguments, "--forward", "f.cu:scale", "--property", "adjoint-identity")
            self.assertEqual(code, 1, output)
        code, output = self.run_command("verify", "scale.op", "--source", "f.cu", "--entry", "scale", "--device",
                                        "emulated", "--forward", "f.cu:scale")
        self.assertEqual(code, 2, output)
        self.assertIn("'scale.op' is no gradient", output)

    def test_a_result_kept_for_another_order_is_found(self):
        (self.folder / "doubled.op").write_text("operator doubled(x[n]) -> y[n]\n  y[i] = 2 * x[i]\n")
        arguments = ["verify", "doubled.op", "--source", "kept.cu", "--entry", "doubled", "--device", "emulated",
                     "--cases", "20", "--shrink-seconds", "3"]
        (self.folder / "kept.cu").write_text(KEPT)
        code, output = self.run_command(*arguments)
        self.assertEqual(code, 1, output)
        self.assertEqual(re.findall(r"doubled.op +([\w-]+) .*\(\d+ failures?\)", output), ["permutation"], output)
        (self.folder / "kept.cu").write_text(KEPT.replace("sum += __float", "sum = 31 * sum + __float"))
        self.assertEqual(self.run_command(*arguments)[0], 0)

    def test_orders_that_follow_from_subscripts(self):
        for name, extents in (("matmul", "m, k, n"), ("softmax", "rows, cols"), ("cumsum", "rows"),
                              ("causal_attention", "heads, d"), ("embedding", "d, n"),
                              ("conv1d", "n, groups, cin, cout")):
            _, output = self.run_command("explain", f"{name}.op")
            self.assertIn(f"inputs in another order along {extents} give", output)

    def test_rows_may_lie_far_apart(self):
        (self.folder / "double_rows.op").write_text(
            "operator double_rows(x[rows, cols]) -> y[rows, cols]\n  y[r, c] = 2 * x[r, c]\n")
        arguments = ["verify", "double_rows.op", "--source", "rows.cu", "--entry", "double_rows", "--device",
                     "emulated", "--cases", "40", "--shrink-seconds", "3"]
        (self.folder / "rows.cu").write_text(DOUBLE_ROWS)
        code, output = self.run_command(*arguments)
        self.assertEqual(code, 0, output)
        self.assertRegex(output, r"large-offset +2 .* pass")
        for old, new in (("y[r * ldy", "y[int(r * ldy)"), ("x[r * ldx", "x[uint32_t(4 * (r * ldx)) / 4")):
            (self.folder / "rows.cu").write_text(DOUBLE_ROWS.replace(old, new))
            code, output = self.run_command(*arguments)
            self.assertEqual(code, 1, output)
            # No other property sees an index of 32 bits.
            found = re.findall(r"double_rows.op +([\w-]+) .*\(\d+ failures?\)", output)
            self.assertEqual(found, ["large-offset"], output)

    def test_a_python_function_gets_rows_that_lie_far_apart(self):
        (self.folder / "double_rows.op").write_text(
            "operator double_rows(x[rows, cols]) -> y[rows, cols]\n  y[r, c] = 2 * x[r, c]\n")
        arguments = ["verify", "double_rows.op", "--python", "rows.py:double_rows", "--cases", "100", "--property",
                     "large-offset", "--shrink-seconds", "3"]
        for step, code in (("y.strides[0]", 0), ("(y.strides[0] % 2**30)", 1)):
            (self.folder / "rows.py").write_text(DOUBLE_ROWS_PYTHON.replace("y.strides[0]", step))
            found, output = self.run_command(*arguments)
            self.assertEqual(found, code, output)
            self.assertRegex(output, r"large-offset +5 ")


if __name__ == "__main__":
    unittest.main()
