"""ci/nightly scores: a suite is fetched once, a part of it is scored, and only new disagreements make it red. Run by
CTest."""

import os
import pathlib
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["WARPCHECK_SOURCE"])
# Finds no race where the code's name has `quiet`.
COMMAND = """#!/usr/bin/env python3
import json, sys
kinds = [] if "quiet" in open(sys.argv[2]).read() else ["race"]
with open(sys.argv[sys.argv.index("--json") + 1], "w") as f:
    json.dump({"runs": [{"findings": [{"kind": k, "text": "c.cu:1"} for k in kinds]}]}, f)
"""


class Scores(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.codes = self.folder / "out/scores/scor/microbenchmarks/src"
        self.codes.mkdir(parents=True)
        (self.folder / "command").write_text(COMMAND)
        (self.folder / "command").chmod(0o755)

    def run_it(self, *words, suite="scor", path=None):
        command = [SOURCE / "ci/nightly", "scores", suite, "--out", self.folder / "out", "--warpcheck",
                   self.folder / "command", *words]
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(path or {})})

    def test_a_part_is_scored(self):
        for i in range(20):
            (self.codes / f"race_{i}.cu").write_text("// loud\n")
        done = self.run_it("--seed", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| scor | 2 | 2 | 0 |", done.stdout)
        self.assertIn("| scor | 5 | 5 | 0 |", self.run_it("--sample", "50%", "--shard", "1/2").stdout)

    def test_a_new_disagreement_is_red(self):
        (self.codes / "race_0.cu").write_text("// quiet\n")
        done = self.run_it("--sample", "100%")
        self.assertEqual(done.returncode, 1)
        self.assertIn("missed: race_0: new", done.stdout)

    def test_an_interrupted_run_goes_on(self):
        for code, text in {"race_0": "// loud\n", "race_1": "// quiet\n"}.items():
            (self.codes / f"{code}.cu").write_text(text)
            self.run_it("--sample", "100%", "--resume")
        (self.codes / "race_0.cu").write_text("// quiet\n")
        self.assertIn("| scor | 2 | 1 | 1 |", self.run_it("--sample", "100%", "--resume").stdout)
        (self.codes / "race_1.cu").unlink()
        self.assertIn("| scor | 1 | 1 | 0 |", self.run_it("--sample", "100%", "--resume").stdout)
        self.assertIn("| scor | 1 | 0 | 1 |", self.run_it("--sample", "100%").stdout)

    def test_mistakes(self):
        done = self.run_it(suite="scors")
        self.assertEqual(done.returncode, 2)
        self.assertIn("suite: 'scors' is not one of cusan, dat3m, gpuverify, hirace, indigo3, sanitizer, scor",
                      done.stderr)
        self.assertEqual(self.run_it("--sample", "some").returncode, 3)

    def test_a_suite_that_cannot_be_fetched_is_named(self):
        tools = self.folder / "tools"
        tools.mkdir()
        (tools / "git").write_text("#!/bin/sh\necho no network >&2\nexit 128\n")
        (tools / "git").chmod(0o755)
        done = self.run_it(suite="sanitizer", path={"PATH": f"{tools}:{os.environ['PATH']}"})
        self.assertEqual(done.returncode, 3)
        self.assertIn("sanitizer cannot be fetched: no network", done.stderr)


if __name__ == "__main__":
    unittest.main()
