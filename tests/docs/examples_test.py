#!/usr/bin/env python3
"""Runs every block of the documents that is marked `sh`, in the order of its page.

Usage: examples_test.py SOURCE_FOLDER WARPCHECK

Each page has a folder of its own. A block of another language is first written there, as the file that the line before
the block names. A command ends with 0, or with the code that its comment names: `# exit code 1`.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy

ROOT = PROGRAM = None
NAMED = re.compile(r"`([\w/.-]+\.\w+)`[^`\n]*\n\n```(?:op|cpp|python|toml|json)\n(.*?)^```", re.DOTALL | re.MULTILINE)
SHELL = re.compile(r"^ *```sh\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
# Pages whose commands run in a copy of their own folder.
IN_PLACE = ("docs/bring_your_own/library.md",)
# Options that a command gets, by its words: the interpreter of the tests, which has NumPy.
MORE = {"--python": ["--interpreter", sys.executable]}


def pages():
    return ["README.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]


def commands(text):
    """Returns each command line of the `sh` blocks with the exit code that its comment names."""
    found = []
    for block in SHELL.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            code = re.search(r"#.*exit code (\d+)", line)
            if words := shlex.split(line, comments=True):
                found.append((words, int(code[1]) if code else 0))
    return found


class Examples(unittest.TestCase):
    def place(self, page):
        """Returns a folder that has the files of the page."""
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        folder = pathlib.Path(scratch.name)
        if page in IN_PLACE:
            folder = folder / pathlib.Path(page).parent
            shutil.copytree((ROOT / page).parent, folder)
            (pathlib.Path(scratch.name) / "abi").symlink_to(ROOT / "abi")
        for name, text in NAMED.findall((ROOT / page).read_text()):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        rows = numpy.random.default_rng(1).normal(size=(3, 5)).astype("f4")
        for name in ("x.npy", "logits.npy"):
            numpy.save(folder / name, rows)
        return folder

    def run_page(self, page):
        folder = self.place(page)
        for words, code in commands((ROOT / page).read_text()):
            with self.subTest(page=page, command=" ".join(words)):
                program = PROGRAM if words[0] == "warpcheck" else words[0]
                more = [option for word, options in MORE.items() if word in words for option in options]
                done = subprocess.run([program, *words[1:], *more], cwd=folder, capture_output=True, text=True)
                self.assertEqual(done.returncode, code, done.stdout[-3000:] + done.stderr[-3000:])

    def test_every_command_of_the_pages_runs(self):
        count = 0
        for page in pages():
            count += len(commands((ROOT / page).read_text()))
            self.run_page(page)
        self.assertGreater(count, 10)

    def test_a_comment_names_the_exit_code(self):
        page = "```sh\nwarpcheck a \\\n  b  # exit code 1: wrong\n# why\nc 'd e'\n```\n```\nwarpcheck f\n```\n"
        self.assertEqual(commands(page), [(["warpcheck", "a", "b"], 1), (["c", "d e"], 0)])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(2)
    ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
