#!/usr/bin/env python3
"""Runs every command of README.md that is not an installation, with small files for the names that stand there.

Usage: readme_test.py SOURCE_FOLDER WARPCHECK SOFTMAX_LIBRARY
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

import numpy

from printed import blocks, shows

sys.path.append(os.path.join(os.path.dirname(__file__), "../candidates"))
import inline_test  # noqa: E402  its sample of a KernelBench file

SMALL = ["--cases", "2", "--size", "quick", "--property", "within-error-bound"]
# What makes a command of the page short, by its first words; the last fit counts.
SHORTER = {
    "verify softmax": SMALL,
    "verify matmul --input": [],
    "fuzz": ["--device", "emulated", *SMALL[2:]],
    "verify softmax --python": [*SMALL, "--interpreter", sys.executable],
    "bench": ["--python", "mine.py:my_softmax", "--interpreter", sys.executable, "--cases", "2",
              "--row", "rows=2,cols=64"],
}
REPLACED = {"8h": "2s", "LINE": "v1 softmax/within-error-bound x=f32[1x4] fill=randn(1) | y=f32[1x4] | device=emulated",
            "cuda": "cpu"}
PROGRAM = """
#include <cstdio>
__global__ void fill(int* p) { p[threadIdx.x] = threadIdx.x; }
int main() {
  int* p;
  cudaMalloc(&p, 32 * sizeof(int));
  fill<<<1, 32>>>(p);
  cudaDeviceSynchronize();
  cudaFree(p);
}
"""


class Readme(unittest.TestCase):
    root = program = library = ""

    @classmethod
    def setUpClass(cls):
        cls.page = cls.text("README.md")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.write("silu.op", blocks(cls.page, "op")[0])
        cls.write("silu.cu", blocks(cls.page, "cpp")[0])
        kernel, repair = blocks(cls.text("docs/quickstart.md"), "cpp")
        cls.write("mine.cu", kernel.replace(repair.splitlines()[0] + "\n", repair))
        cls.write("operators_numpy.py", cls.text("docs/bring_your_own/operators_numpy.py"))
        cls.write("mine.py", "from operators_numpy import softmax as my_softmax\n")
        cls.write("softmax.py", inline_test.kernelbench())
        cls.write("program.cu", PROGRAM)
        os.symlink(cls.library, os.path.join(cls.folder, "libmine.so"))
        for name, shape in (("a.npy", (3, 4)), ("b.npy", (4, 2))):
            numpy.save(os.path.join(cls.folder, name), numpy.ones(shape, "f4"))

    @classmethod
    def text(cls, path):
        with open(os.path.join(cls.root, path)) as file:
            return file.read()

    @classmethod
    def write(cls, name, text):
        with open(os.path.join(cls.folder, name), "w") as file:
            file.write(text)

    def run_command(self, *arguments):
        return subprocess.run([self.program, *arguments], cwd=self.folder, capture_output=True, text=True)

    def example(self):
        line = re.search(r"^warpcheck (verify silu\.op .*)$", self.page, re.MULTILINE)[1]
        return self.run_command(*shlex.split(line))

    def test_the_wrong_kernel_fails_as_the_page_shows(self):
        done = self.example()
        self.assertEqual(done.returncode, 1, done.stderr)
        shown = next(b for b in blocks(self.page) if b.startswith("silu.op/within-error-bound: out_of_bounds"))
        self.assertTrue(shows(shown, done.stdout), done.stdout)

    def test_the_repaired_kernel_passes_as_the_page_shows(self):
        self.write("silu.cu", blocks(self.page, "cpp")[0].replace("i <= n", "i < n"))
        self.addCleanup(self.write, "silu.cu", blocks(self.page, "cpp")[0])
        done = self.example()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        shown = next(b for b in blocks(self.page) if b.startswith("operator     property"))
        self.assertTrue(shows(shown, done.stdout), done.stdout)

    def test_the_project_file_of_the_page_on_the_command_runs(self):
        folder = os.path.join(self.folder, "project")
        os.mkdir(folder)
        project = blocks(self.text("docs/command.md"), "toml")[0].replace(
            "cases = 50", 'cases = 20\nproperty = "within-error-bound"\nsize = "quick"')
        python = 'python = "kernels.py:softmax"'
        self.assertIn(python, project)
        project = project.replace(python, f'{python}\ninterpreter = "{sys.executable}"')
        kernels = self.text("docs/bring_your_own/operators_numpy.py")
        for name, text in (("warpcheck.toml", project), ("silu.op", blocks(self.page, "op")[0]),
                           ("silu.cu", blocks(self.page, "cpp")[0]), ("kernels.py", kernels)):
            self.write(os.path.join("project", name), text)
        for code, outcome in ((1, "a verdict other than pass"), (0, "pass")):
            done = subprocess.run([self.program], cwd=folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            last = done.stdout.splitlines()[-4:]
            self.assertTrue(last[0].startswith("3 of 3 trials of "), last)
            self.assertTrue(last[1].startswith("warpcheck verify silu.op") and last[1].endswith(": " + outcome), last)
            self.assertEqual([line.endswith(": pass") for line in last[2:]], [True] * 2, last)
            self.write("project/silu.cu", blocks(self.page, "cpp")[0].replace("i <= n", "i < n"))

    def test_the_other_commands_run(self):
        shown = next(b for b in blocks(self.page) if b.startswith("warpcheck verify softmax --source"))
        lines = shown.splitlines()
        self.assertGreater(len(lines), 8)
        self.run_command("verify", "softmax", *SMALL, "--device", "emulated", "--json", "verify.json")
        for line in lines:
            with self.subTest(line):
                command = [REPLACED.get(word, word) for word in shlex.split(line, comments=True)[1:]]
                more = [extra for start, extra in SHORTER.items() if " ".join(command).startswith(start)]
                done = self.run_command(*command, *(more[-1] if more else []))
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    Readme.library = sys.argv.pop(3)
    Readme.program = sys.argv.pop(2)
    Readme.root = sys.argv.pop(1)
    unittest.main()
