"""The Containerfile: its linter finds nothing and finds what is planted, and what it runs is there. Run by CTest."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(os.environ["WARPCHECK_SOURCE"])
TEXT = (SOURCE / "Containerfile").read_text()
BESIDE = pathlib.Path(sys.executable).parent / "hadolint"
HADOLINT = str(BESIDE) if BESIDE.exists() else shutil.which("hadolint")
# A defect in each: a text, its replacement, and the rule that is broken.
PLANTED = (
    ("USER 1000", "USER root", "DL3002"),
    ("WORKDIR /work\n", "WORKDIR work\n", "DL3000"),
    ('ENTRYPOINT ["warpcheck"]', "ENTRYPOINT warpcheck", "DL3025"),
    ("debian:bookworm-slim AS command", "debian AS command", "DL3006"),
    ("rm -r /wheels && ", "cd /wheels && ", "DL3003"),
)


def lint(text):
    said = subprocess.run([HADOLINT, "--no-color", "-"], input=text, capture_output=True, text=True, timeout=60)
    return said.stdout + said.stderr


class Containerfile(unittest.TestCase):
    def test_its_linter_finds_nothing(self):
        self.assertEqual(lint(TEXT), "")

    def test_planted_defects_are_found(self):
        for old, new, rule in PLANTED:
            with self.subTest(rule):
                self.assertEqual(TEXT.count(old), 1)
                self.assertIn(rule, lint(TEXT.replace(old, new)))

    def test_functions_and_files_that_it_names_exist(self):
        common = (SOURCE / "ci/common.sh").read_text()
        for command in re.findall(r"source \S*ci/common.sh && (.*?)(?: && \\)?$", TEXT, re.MULTILINE):
            for function in (step.split()[0] for step in command.split(" && ")):
                self.assertRegex(common, rf"(?m)^{function}\(\)", command)
        copied = [name for line in re.findall(r"^COPY (?!--)(.*) \S+$", TEXT, re.MULTILINE) for name in line.split()]
        self.assertIn("ci/packages", copied)
        for name in [*copied, "ci/test"]:
            self.assertTrue((SOURCE / name).exists(), name)

    def test_the_command_has_the_packages_that_sources_need(self):
        """Those that `warpcheck doctor` names where a compiler is missing."""
        toolchain = (SOURCE / "command/candidates/toolchain.cpp").read_text()
        named = re.findall(r"install the package (\S+?)\"", toolchain)
        self.assertEqual(named, ["g++", "binutils"])
        stage = TEXT.split(" AS command")[1].split("\nFROM")[0]
        self.assertLessEqual(set(named), set(stage.split()))

    def test_the_page_builds_its_stages(self):
        page = (SOURCE / "docs/containers.md").read_text()
        self.assertEqual(re.findall(r"--target (\w+)", page), ["command", "gpu"])
        stages = re.findall(r"^FROM \S+ AS (\w+)$", TEXT, re.MULTILINE)
        self.assertEqual(stages, ["wheel", "command", "gpu"])


if __name__ == "__main__":
    if not HADOLINT:
        print("WARPCHECK_SKIP: hadolint is not installed (ci/requirements.txt)")
        sys.exit(0)
    unittest.main()
