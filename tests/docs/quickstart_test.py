#!/usr/bin/env python3
"""Runs what docs/quickstart.md shows: the kernel of the page has a race, and the page's repair ends it.

Usage: quickstart_test.py SOURCE_FOLDER WARPCHECK
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

COMMAND = ["verify", "softmax", "--source", "my_softmax.cu", "--entry", "my_softmax", "--device", "emulated",
           "--cases", "5", "--max-rows", "4", "--max-cols", "600"]


class Quickstart(unittest.TestCase):
    root = program = ""

    def setUp(self):
        with open(os.path.join(self.root, "docs/quickstart.md")) as file:
            self.page = file.read()
        self.kernel, self.repair = re.findall(r"```cpp\n(.*?)```", self.page, re.DOTALL)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def verify(self, kernel):
        with open(os.path.join(self.folder, "my_softmax.cu"), "w") as file:
            file.write(kernel)
        return subprocess.run([self.program, *COMMAND], cwd=self.folder, capture_output=True, text=True)

    def test_the_kernel_of_the_page_has_the_race_that_the_page_shows(self):
        done = self.verify(self.kernel)
        self.assertEqual(done.returncode, 1, done.stderr)
        for line in re.findall(r"^  race: .*$", self.page, re.MULTILINE):
            self.assertIn(line, done.stdout + done.stderr)

    def test_the_repair_of_the_page_ends_it(self):
        before = self.repair.splitlines()[0]
        self.assertEqual(self.kernel.count(before), 1)
        done = self.verify(self.kernel.replace(before + "\n", self.repair))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"softmax +within-error-bound +5 +0\.[0-9]+ .* pass")
        for row in re.findall(r"^(softmax  .*?) +[0-9]+  pass$", self.page, re.MULTILINE):
            self.assertIn(row, done.stdout)

    def test_the_command_is_the_one_of_the_page(self):
        self.assertIn("warpcheck " + " ".join(COMMAND), self.page.replace("\\\n    ", ""))


if __name__ == "__main__":
    Quickstart.program = sys.argv.pop(2)
    Quickstart.root = sys.argv.pop(1)
    unittest.main()
