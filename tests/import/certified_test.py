#!/usr/bin/env python3
"""Programs and an own operator with a schedule certificate give the same bits under random schedules.

The environment has WARPCHECK, the command, WARPCHECK_SOURCE, the source tree, and WARPCHECK_SCHEDULES, the number of
schedules for each of them.
"""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

WARPCHECK = os.environ["WARPCHECK"]
SOURCE = pathlib.Path(os.environ["WARPCHECK_SOURCE"])
SCHEDULES = int(os.environ["WARPCHECK_SCHEDULES"])
STRATEGIES = ("random", "pct_warp", "preempt", "pct")
PROVEN = "every schedule: proven for this input\n"
# The programs of the folder `programs`, with their modes.
PROGRAMS = ("scan", "transpose", "matmul", "smooth", "cluster", "overlap", "ptx barrier", "ptx mma", "ptx wgmma",
            "libraries wmma")


def run(*arguments, hashes=None, cwd=None):
    environment = os.environ if hashes is None else {**os.environ, "HASHES": hashes}
    return subprocess.run([WARPCHECK, *map(str, arguments)], capture_output=True, text=True, env=environment, cwd=cwd)


class Certified(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, program, *options, hashes=None):
        name, *mode = program.split()
        return run("run-emulated", SOURCE / "tests/import/programs/certified.cu", "-D", f'PROGRAM="{name}.cu"',
                   "--no-trace", *options, "--", *mode, hashes=hashes)

    def test_a_program_copies_the_same_bits_to_the_host(self):
        for program in PROGRAMS:
            first = self.run_program(program, "--schedule", "fair")
            self.assertIn(PROVEN, first.stdout, program + first.stderr)
            hashes = " ".join(re.findall("^hash .*", first.stdout, re.MULTILINE)) + " "
            self.assertIn("hash ", hashes, program)
            self.run_all(program, hashes, [f"{STRATEGIES[i % 4]}:{i}" for i in range(SCHEDULES)])

    def run_all(self, program, hashes, schedules):
        result = self.folder / "result.json"
        for i in range(0, len(schedules), 1000):
            words = [w for s in schedules[i:i + 1000] for w in ("--schedule", s)]
            done = self.run_program(program, "--quiet", "--json", result, *words, hashes=hashes)
            self.assertEqual(done.returncode, 0, program + done.stdout + done.stderr)
            runs = json.loads(result.read_text())["runs"]
            self.assertEqual([r["schedule"] for r in runs if r["every_schedule"]], schedules[i:i + 1000], program)

    def test_another_bit_is_seen(self):
        done = self.run_program("scan", "--schedule", "fair", hashes="hash 0123456789abcdef ")
        self.assertIn("the program returned 9", done.stdout)

    def test_an_own_operator_returns_the_same_bits(self):
        page = (SOURCE / "docs/formulas.md").read_text()
        for name, language in (("rms_norm.op", "op"), ("rms_norm.cu", "cpp")):
            (self.folder / name).write_text(re.search(rf"```{language}\n(.*?)```", page, re.DOTALL)[1])
        identity = re.search(r"rms_norm\.op#[0-9a-f]+", run("explain", "rms_norm.op", cwd=self.folder).stdout)[0]
        line = ("v1 rms_norm.op/within-error-bound x=f32[3x300] fill=randn(1) | w=f32[300] fill=randn(2) | y=f32[3x300]"
                f" | candidate=source:rms_norm.cu:rms_norm device=emulated formula={identity}")
        self.assertIn(PROVEN, run("replay", line, cwd=self.folder).stdout)
        often = f"{line} repeat={SCHEDULES // 3 + 1}"  # three schedules in each
        done = run("replay", often, "--timeout", "7200", cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
