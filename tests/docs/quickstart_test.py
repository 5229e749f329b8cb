#!/usr/bin/env python3
"""Runs what docs/quickstart.md shows: the kernel of the page has a race, and the page's repair ends it.

Usage: quickstart_test.py SOURCE_FOLDER WARPCHECK
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

from printed import blocks, shows

OUTPUT = """a 1.000 of 2 in 0.3 s (245 cases/s), 83 failures
b 2
operator     property                          cases worst error/bound   cases/s  verdict
softmax      within-error-bound                    5             0.057        65  pass
"""


class Quickstart(unittest.TestCase):
    root = program = ""

    def setUp(self):
        with open(os.path.join(self.root, "docs/quickstart.md")) as file:
            page = file.read()
        self.kernel, self.repair = blocks(page, "cpp")
        _, first, self.repaired = blocks(page)
        self.command, self.failing = re.fullmatch(r"\$ warpcheck (.*?)(?<!\\)\n(.*)", first, re.DOTALL).groups()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def verify(self, kernel):
        with open(os.path.join(self.folder, "my_softmax.cu"), "w") as file:
            file.write(kernel)
        # A slow machine shrinks as far as any other.
        command = [self.program, *shlex.split(self.command.replace("\\\n", "")), "--shrink-seconds", "600"]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True)

    def assert_shows(self, shown, output):
        self.assertTrue(shows(shown, output), f"the page shows\n{shown}\nand the command prints\n{output}")

    def test_the_kernel_of_the_page_fails_as_the_page_shows(self):
        done = self.verify(self.kernel)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assert_shows(self.failing, done.stdout)

    def test_the_repair_of_the_page_ends_it(self):
        before = self.repair.splitlines()[0]
        self.assertEqual(self.kernel.count(before), 1)
        done = self.verify(self.kernel.replace(before + "\n", self.repair))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assert_shows(self.repaired, done.stdout)

    def test_any_difference_but_times_is_seen(self):
        for same in (OUTPUT, "a 1.000 of 2 in 12.5 s (9 cases/s), 83 failures\n", "b 2\n...\n", "b ...\noperator ...\n",
                     "softmax      within-error-bound                    5             0.057      1365  pass\n",
                     "a ...\n...\nsoftmax ...\n"):
            self.assertTrue(shows(same, OUTPUT), same)
        for other in ("a 1.001 of 2 in 0.3 s (245 cases/s), 83 failures\n", "b\n", "b 2\nsoftmax ...\n", " 2\n",
                      "softmax      within-error-bound                    5             0.058        65  pass\n",
                      "softmax      within-error-bound                    5             0.057        65  race\n",
                      "b ...\n...\na ...\n"):
            self.assertFalse(shows(other, OUTPUT), other)


if __name__ == "__main__":
    Quickstart.program = sys.argv.pop(2)
    Quickstart.root = sys.argv.pop(1)
    unittest.main()
