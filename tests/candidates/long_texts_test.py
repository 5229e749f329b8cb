"""Texts of a candidate or a case line that are thousands of characters long: what the command quotes of them, in its
output and in every file that it writes, has at most 200."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

WARPCHECK = os.environ["WARPCHECK_TEST_COMMAND"]
LIBRARIES = os.environ["WARPCHECK_TEST_CANDIDATES"]

if subprocess.run([sys.executable, "-c", "import numpy, jinja2"], capture_output=True).returncode:
    print("WARPCHECK_SKIP: there is no NumPy or Jinja2 (ci/requirements.txt)")
    sys.exit(0)

PYTHON = """
import numpy

def softmax(x, y):
    x, y = numpy.from_dlpack(x), numpy.from_dlpack(y)
    if x.shape[1]:
        e = numpy.exp(x.astype("f8") - x.max(axis=1, keepdims=True))
        y[...] = e / e.sum(axis=1, keepdims=True)

def fickle(x, y):
    if 100 < x.shape[1] < 140: raise NotImplementedError("z" * 70000)
    softmax(x, y)

def refuses(x, y): raise NotImplementedError("z" * 70000)
def invalid(x, y): raise ValueError("z" * 70000)
def breaks(x, y): raise SystemError("z" * 70000)
"""
SOURCE = """
#include <cuda_runtime.h>
#include <stdexcept>
#include <string>
__global__ void ones(float* y, int cols) {
  for (int i = threadIdx.x; i < cols; i += blockDim.x) y[blockIdx.x * cols + i] = 1;
}
void throws(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  throw std::runtime_error(std::string(70000, 'z'));
}
void strange(const float* x, float* y, int rows, int cols, int LONG, cudaStream_t stream) {
  ones<<<rows, 32, 0, stream>>>(y, cols);
}
"""
LINE = "v1 softmax/within-error-bound x=f32[1x3] fill=randn(7) | y=f32[1x3]"


class LongTexts(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def run_command(self, *words, code=1):
        done = subprocess.run([WARPCHECK, *words], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stdout[-3000:] + done.stderr[-3000:])
        self.check(words[0], done.stdout + done.stderr)
        return done.stdout + done.stderr

    def check(self, where, text):
        self.assertLessEqual(max(map(len, re.findall("z+", text)), default=0), 200, where)

    def verify(self, *words, says):
        files = {"--json": "verify.json", "--junit": "verify.xml"}
        said = self.run_command("verify", "softmax", "--dtype", "f32", "--cases", "30", "--size", "quick", "--max-cols",
                                "300", "--max-rows", "20", "--shrink-seconds", "0.2", "--property",
                                "within-error-bound", *words, *(w for pair in files.items() for w in pair))
        self.run_command("report", "--verify", "verify.json", "--out", "page.html", code=0)
        self.assertIn(says, said)
        for name in (*files.values(), "page.html"):
            self.check(name, (self.folder / name).read_text())

    def test_of_a_library(self):
        self.verify("--device", "cpu", "--candidate", LIBRARIES + "/libhostile_refuses-at-length.so",
                    says="broken_offer: ")

    def test_of_a_python_function(self):
        (self.folder / "door.py").write_text(PYTHON)
        for function, says in (("fickle", "broken_offer: "), ("refuses", "(30 cases): NotImplementedError: zzz"),
                               ("invalid", "ValueError: zzz"), ("breaks", "SystemError: zzz")):
            with self.subTest(function=function):
                self.verify("--python", f"door.py:{function}", "--interpreter", sys.executable, says=says)
        (self.folder / "door.py").write_text("raise ValueError('z' * 70000)\n")
        self.assertIn("door.py does not load: ValueError: zzz",
                      self.run_command("verify", "softmax", "--python", "door.py:f", "--interpreter", sys.executable,
                                       code=2))

    def test_of_an_entry(self):
        (self.folder / "entry.cu").write_text(SOURCE.replace("LONG", "z" * 3000))
        entry = ("--device", "emulated", "--source", "entry.cu", "--entry")
        self.verify(*entry, "throws", says="error_return: internal error: the entry threw: zzz")
        self.assertIn("entry: parameter 5 of 'strange' is 'zzz",
                      self.run_command("verify", "softmax", *entry, "strange", code=2))

    def test_of_a_case_line(self):
        for line in (LINE.replace("randn(7)", "randn(7) edit=" + "z" * 60000), LINE.replace("randn", "z" * 60000),
                     LINE.replace("within", "z" * 60000), LINE.replace("3]", "z" * 60000 + "]"),
                     LINE + " | " + "z" * 60000, LINE + " | device=" + "z" * 60000, "z" * 60000):
            said = self.run_command("replay", line, code=2)
            self.assertLess(len(said), 700, said[:700])
        said = self.run_command("replay", LINE + " | candidate=" + "z" * 60000, code=3)
        self.assertLess(len(said), 700, said[:700])


if __name__ == "__main__":
    unittest.main()
