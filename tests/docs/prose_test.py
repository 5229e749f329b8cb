#!/usr/bin/env python3
"""Checks every Markdown file of the project: the width of its lines, and that none needs the history of the repository.
Usage: prose_test.py SOURCE_FOLDER

Lines have at most 120 characters outside tables and code. No text names a commit, except pages made from baselines,
which name the commit that they measured.
"""
import os
import re
import sys
import unittest

WIDTH = 120
LEFT_OUT = {"build", ".git", "baselines"}
# A commit: 7 to 12 hexadecimal digits, of which at least one is a letter and one a figure.
COMMIT = re.compile(r"(?<![\w#.@-])(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{7,12}(?![\w.-])")


def complaints(text):
    """Returns one sentence for each line that is too long or names a commit."""
    found = []
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        if fenced or line.startswith("    "):
            continue
        prose = re.sub(r"`[^`]*`", "``", line)
        if len(line) > WIDTH and not line.lstrip().startswith("|"):
            found.append(f"{number}: {len(line)} characters, {WIDTH} are allowed")
        for commit in COMMIT.findall(prose):
            found.append(f"{number}: '{commit}' names a commit")
    return found


def documents(root):
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT and not name.startswith("."))
        for name in sorted(files):
            if name.endswith(".md"):
                yield os.path.relpath(os.path.join(folder, name), root)


class Prose(unittest.TestCase):
    root = "."

    def test_documents(self):
        found = []
        paths = list(documents(self.root))
        for path in paths:
            with open(os.path.join(self.root, path)) as file:
                text = file.read()
            found += [f"{path}:{line}" for line in complaints(text)]
        self.assertGreater(len(paths), 10)
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_what_is_complained_of(self):
        self.assertEqual(complaints("a" * 121), ["1: 121 characters, 120 are allowed"])
        self.assertEqual(complaints("a\nmeasured on 72b979e, today"), ["2: '72b979e' names a commit"])

    def test_what_is_left_alone(self):
        fenced = "```\n" + "a" * 200 + "\n72b979e\n```"
        for text in ("a" * 120, "|" + "a" * 200, fenced, "10000000 rows", "G-1a2b3c4d", "0x7fc00000"):
            self.assertEqual(complaints(text), [], text)


if __name__ == "__main__":
    Prose.root = sys.argv.pop(1)
    unittest.main()
