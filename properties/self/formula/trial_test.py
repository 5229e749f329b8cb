#!/usr/bin/env python3
"""Puts kernels on trial by formulas: those of docs/formulas.md pass, and each fault planted in them is found.

The environment has WARPCHECK, the command, and WARPCHECK_SOURCE, the source tree.
"""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

WARPCHECK = os.environ["WARPCHECK"]
SOURCE = pathlib.Path(os.environ["WARPCHECK_SOURCE"])
PAGE = (SOURCE / "docs/formulas.md").read_text()
(FORMULA,) = re.findall(r"```op\n(.*?)```", PAGE, re.DOTALL)
(KERNEL,) = re.findall(r"```cpp\n(.*?)```", PAGE, re.DOTALL)
(COMMAND,) = re.findall(r"^warpcheck (verify rms_norm.op --source .*)$", PAGE, re.MULTILINE)

# Faults of the page's kernel: text, its replacement, and the verdict that the output must show.
FAULTS = {
    "eps is left out": ("/ cols + eps)", "/ cols)", "violation"),
    "the mean is of one column more": ("partial[0] / cols", "partial[0] / (cols + 1)", "violation"),
    "squares are rounded to 11 bits": (
        "sum += row[i] * row[i];",
        "{ float v = row[i]; v = __uint_as_float(__float_as_uint(v) & 0xffffe000u); sum += v * v; }",
        "violation",
    ),
    "the weight of the last column is left out": ("row[i] * w[i] * scale", "row[i] * (i + 1 < cols ? w[i] : 1) * scale",
                                                  "violation"),
    "the row is that of the first block": ("x + (size_t)blockIdx.x * cols", "x + 0 * (size_t)blockIdx.x * cols",
                                           "violation"),
    "a barrier is missing": ("    __syncthreads();\n  }\n  const float scale", "  }\n  const float scale", "race"),
    "the last column is not written": ("for (int i = threadIdx.x; i < cols; i += 256) y",
                                       "for (int i = threadIdx.x; i < cols - 1; i += 256) y", "violation"),
}

EMBEDDING = """
#include <cuda_runtime.h>
__global__ void rows(const float* table, const int* ids, float* y, int d) {
  for (int j = threadIdx.x; j < d; j += 64) y[(size_t)blockIdx.x * d + j] = table[(size_t)ids[blockIdx.x] * d + j];
}
extern "C" void embedding(const float* table, const int* ids, float* y, int words, int n, int d,
                          cudaStream_t stream) {
  if (n > 0) rows<<<n, 64, 0, stream>>>(table, ids, y, d);
}
"""


class Trials(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "rms_norm.op").write_text(FORMULA)

    def run_command(self, *arguments):
        done = subprocess.run([WARPCHECK, *arguments], cwd=self.folder, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def verify(self, kernel):
        (self.folder / "rms_norm.cu").write_text(kernel)
        return self.run_command(*COMMAND.split(), "--shrink-seconds", "5")

    def test_the_kernel_of_the_page_passes(self):
        code, output = self.verify(KERNEL)
        self.assertEqual(code, 0, output)
        self.assertRegex(output, r"within-error-bound +20 .* pass")

    def test_each_fault_is_found(self):
        for name, (old, new, verdict) in FAULTS.items():
            with self.subTest(name):
                self.assertEqual(KERNEL.count(old), 1)
                code, output = self.verify(KERNEL.replace(old, new))
                self.assertEqual(code, 1, output)
                self.assertIn(verdict, output)
                line = re.search(r"warpcheck replay '(.*)'", output)[1]
                self.assertRegex(line, r"formula=rms_norm\.op#[0-9a-f]+")
                self.assertEqual(self.run_command("replay", line)[0], 1)

    def test_a_line_of_another_formula_is_refused(self):
        _, output = self.verify(KERNEL.replace("/ cols + eps)", "/ cols)"))
        line = re.search(r"warpcheck replay '(.*)'", output)[1]
        (self.folder / "rms_norm.op").write_text(FORMULA.replace("1e-6", "1e-5"))
        code, output = self.run_command("replay", line)
        self.assertEqual(code, 2, output)

    def test_the_interpreter_passes(self):
        for name in ("rms_norm.op", "softmax.op", "causal_attention.op", "cumsum.op", "embedding.op", "max_pool1d.op"):
            code, output = self.run_command("verify", name, "--cases", "4", "--size", "quick")
            self.assertEqual(code, 0, output)
            self.assertNotRegex(output, r"\b0 elements compared")

    def test_a_gather_of_the_library(self):
        (self.folder / "e.cu").write_text(EMBEDDING)
        arguments = ["verify", "embedding.op", "--source", "e.cu", "--entry", "embedding", "--device", "emulated",
                     "--cases", "10", "--shrink-seconds", "5"]
        code, output = self.run_command(*arguments)
        self.assertEqual(code, 0, output)
        (self.folder / "e.cu").write_text(EMBEDDING.replace("ids[blockIdx.x] * d", "(ids[blockIdx.x] ^ 1) * d"))
        self.assertEqual(self.run_command(*arguments)[0], 1)


if __name__ == "__main__":
    unittest.main()
