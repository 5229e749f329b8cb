#!/usr/bin/env python3
"""Holds every Markdown file of the project to plain prose. Usage: prose_test.py SOURCE_FOLDER

Lines have at most 120 characters outside tables and code, sentences 25 words. Words that make a person of a thing are
not used, and no text needs the history of the repository: no commit is named. Pages made from baselines name the commit
they were measured on.
"""
import os
import re
import sys
import unittest

WIDTH = 120
WORDS_OF_A_SENTENCE = 25
# These two notes keep numbers together; of run_emulated the inventory of what a source may use is one list.
LONG_SENTENCES = ("docs/notes/gru.md", "docs/notes/matmul.md", "docs/run_emulated.md")
LEFT_OUT = {"build", ".git", "baselines"}
WORDS = {"lest": "so that ... not", "owe": "must have", "owes": "must have", "owed": "required", "hear": "receive",
         "hears": "receives", "tells": "shows, says", "doubt": "suspicion", "whoever": "the threads that"}
# A commit: 7 to 12 hexadecimal digits, of which at least one is a letter and one a figure.
COMMIT = re.compile(r"(?<![\w#.@-])(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{7,12}(?![\w.-])")


# What begins a paragraph of its own.
ITEM = re.compile(r"\s*(?:[-*]|\d+\.)\s+")
# Formulas and numbers are no words; a piece of code and a link are one.
WORD = re.compile(r"\W*(?:a|[A-Za-z]{2,}[A-Za-z-]*(?:'s?)?|``)\W*")


def paragraphs(text):
    """The number of its first line, and the text, of each paragraph and list item outside tables and code."""
    lines, first, fenced = [], 0, False
    for number, line in enumerate(text.split("\n") + [""], 1):
        item = ITEM.match(line)
        is_prose = line.strip() and not fenced and not line.startswith(("    ", "#")) and line.lstrip()[:1] != "|"
        fenced ^= line.lstrip().startswith("```")
        if lines and (item or not is_prose or fenced):
            yield first, " ".join(lines)
            lines = []
        if is_prose and not line.lstrip().startswith("```"):
            first = first if lines else number
            lines.append(line[item.end() :] if item else line.strip())


def long_sentences(text):
    """One sentence for each that has more words than are allowed; a colon and a semicolon end one, too."""
    found = []
    for number, paragraph in paragraphs(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "``", paragraph))
        for sentence in re.split(r"(?<=[.!?:;])[\"')*]*\s+| · ", plain):
            words = sum(1 for word in sentence.split() if WORD.fullmatch(word))
            if words > WORDS_OF_A_SENTENCE:
                found.append(f"{number}: {words} words, {WORDS_OF_A_SENTENCE} are allowed: {sentence}")
    return found


def complaints(text):
    """One sentence for each line that is too long, names a commit or has a word of the list."""
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
        for word in re.findall(r"[a-z]+", prose.lower()):
            if word in WORDS:
                found.append(f"{number}: '{word}'; write '{WORDS[word]}'")
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
            if not path.startswith(LONG_SENTENCES):
                found += [f"{path}:{line}" for line in long_sentences(text)]
        self.assertGreater(len(paths), 10)
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_what_is_complained_of(self):
        self.assertEqual(complaints("a" * 121), ["1: 121 characters, 120 are allowed"])
        self.assertEqual(complaints("a\nmeasured on 72b979e, today"), ["2: '72b979e' names a commit"])
        self.assertEqual(complaints("A run owes each a case."), ["1: 'owes'; write 'must have'"])

    def test_sentences(self):
        for end in (".", ":", ";", "?"):
            self.assertEqual(long_sentences(f"Of {'it ' * 23}it{end} {'It ' * 24}is."), [])
        for text in (f"{'It ' * 25}is.", f"- {'It ' * 12}\n  {'it ' * 13}is `a b c`.",
                     f"{'It ' * 24}\n[is said](there.md)."):
            (one,) = long_sentences("A short one.\n\n" + text)
            self.assertRegex(one, "^3: 2[67] words, 25 are allowed: It it|It It")
        for text in ("```\n" + "it " * 26 + "\n```", "| " + "it " * 26, "    " + "it " * 26,
                     "it x_i + 1 - 2^3 = 4, " * 9):
            self.assertEqual(long_sentences(text), [], text)

    def test_what_is_left_alone(self):
        for text in ("a" * 120, "|" + "a" * 200, "```\n" + "a" * 200 + "\n72b979e\n```", "`tells` and 10000000 rows",
                     "the call is told of it", "G-1a2b3c4d", "0x7fc00000"):
            self.assertEqual(complaints(text), [], text)


if __name__ == "__main__":
    Prose.root = sys.argv.pop(1)
    unittest.main()
