#!/usr/bin/env python3
"""Checks that every option in a command line of the documents is an option of that command, by its --help.

Usage: options_test.py SOURCE_FOLDER WARPCHECK

Command lines are those of `warpcheck` and of the scripts in ci/ that have a --help, in blocks and between backticks.
"""
import functools
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

ROOT = PROGRAM = None
BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`([^`]+)`")
SCRIPTS = {"ci/bundle", "ci/foreign", "ci/gate", "ci/nightly", "ci/site", "ci/slurm/submit"}
# Options of pytest, `warpcheck mcp`, podman, sbatch and nvcc.
OTHERS = {"--warpcheck-seed", "--warpcheck-device", "--root", "--entrypoint", "--requeue", "--default-stream"}
ELSEWHERE = (["mcp"],)  # a command of the wheel alone


def pages():
    others = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "bench/README.md", "python/README.md")]
    return [*others, *sorted((ROOT / "docs").rglob("*.md"))]


def command_lines(text):
    """Returns the words of each command line; what is no shell text is left out."""
    lines = [line for language, block in BLOCK.findall(text) if language in ("", "sh")
             for line in block.replace("\\\n", " ").splitlines()]
    lines += [" ".join(span.split()) for span in SPAN.findall(BLOCK.sub("", text))]
    for line in lines:
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            continue
        start = 0
        for end in [i for i, word in enumerate(words) if word in ("&&", "|", ";")] + [len(words)]:
            yield words[start:end]
            start = end + 1


def call(words):
    """Returns the program, its command as a list, and the options; None for other programs."""
    program, *words = words[words[:1] == ["$"]:] or [""]
    program = program.removeprefix("../judge/")
    if program.rsplit("/", 1)[-1] == "warpcheck":
        program = "warpcheck"
    elif program not in SCRIPTS:
        return None
    if "--" in words:
        words = words[: words.index("--")]
    while program == "warpcheck" and words[:1] in (["--plugin"], ["--color"]):
        words = words[2:]
    command = [word for word in words[:1] if re.fullmatch(r"[a-z-]*[a-z]", word) and not word.startswith("-")]
    if command == ["golden"] and len(words) > 1:
        command = words[:2]
    return program, command, {word.split("=")[0] for word in words if re.match(r"--[a-z]", word)}


@functools.cache
def help_of(program, *command):
    words = [str(PROGRAM) if program == "warpcheck" else str(ROOT / program), *command, "--help"]
    return subprocess.run(words, capture_output=True, text=True).stdout


class Options(unittest.TestCase):
    def test_every_option_of_the_pages_exists(self):
        count = 0
        for page in pages():
            for words in command_lines(page.read_text()):
                called = call(words)
                if not called or called[1] in ELSEWHERE:
                    continue
                program, command, options = called
                known = help_of(program) + help_of(program, *command)
                for option in sorted(options):
                    if option.startswith("--benchmark_"):
                        continue
                    count += 1
                    with self.subTest(page=page.name, command=" ".join(words)):
                        self.assertRegex(known, rf"(?<![\w-]){option}(?![\w-])")
        self.assertGreater(count, 100)

    def test_every_option_between_backticks_exists(self):
        commands = re.findall(r"^  ([a-z-]+)  ", help_of("warpcheck"), re.MULTILINE)
        known = help_of("warpcheck") + help_of("warpcheck", "golden", "check")
        known += "".join([help_of("warpcheck", name) for name in commands] + [help_of(name) for name in SCRIPTS])
        for page in pages():
            for option in re.findall(r"`(--[a-z][\w-]*)", BLOCK.sub("", page.read_text())):
                with self.subTest(page=page.name, option=option):
                    if option not in OTHERS:
                        self.assertTrue(re.search(rf"(?<![\w-]){option}(?![\w-])", known))

    def test_what_is_a_command_line(self):
        page = "```\n$ warpcheck --plugin a.so verify b --cases 5 -- --x  # c\n```\n" \
               "`build/dev/warpcheck golden check\n--ratchet` `ci/nightly --time=2h softmax` ```cpp\n--no\n``` `--step`"
        self.assertEqual([called for words in command_lines(page) if (called := call(words))],
                         [("warpcheck", ["verify"], {"--cases"}), ("warpcheck", ["golden", "check"], {"--ratchet"}),
                          ("ci/nightly", [], {"--time"})])


if __name__ == "__main__":
    PROGRAM = pathlib.Path(sys.argv.pop(2)).resolve()
    ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
