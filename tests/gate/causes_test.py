"""Findings of the gate: failures of one cause are one finding. Run by CTest."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(os.environ["WARPCHECK_SOURCE"]) / "ci"))
from gating import trials  # noqa: E402


class Causes(unittest.TestCase):
    def test_failures_of_one_cause_are_one_finding(self):
        def failure(name, cause, verdict="race"):
            return {"case": f"v1 softmax/{name} x=f32[1x2]", "verdict": verdict, "message": "m", "cause": cause}

        same = [failure(f"p{i}", "softmax race a.cu:1 a.cu:2") for i in range(3)]
        other = failure("p0", "softmax violation m", "violation")
        report = {"failures": [*same, other], "jobs": [], "interrupted": True}
        with tempfile.TemporaryDirectory() as folder:
            t = trials.Trials("/no/such", folder, "emulated", None, folder)
            t.take_verdicts("softmax", report, "command")
        self.assertEqual([(f.kind, f.name) for f in t.findings], [("race", "softmax/p0"), ("violation", "softmax/p0")])
        self.assertEqual(
            t.findings[0].message,
            "softmax/p0: race: m; 2 further properties fail with the same cause: softmax/p1, softmax/p2",
        )
        self.assertEqual(t.findings[1].message, "softmax/p0: violation: m")


if __name__ == "__main__":
    unittest.main(verbosity=2)
