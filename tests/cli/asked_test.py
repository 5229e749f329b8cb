"""What a run says of the properties that it asked and left out, and of what it proved. CTest sets WARPCHECK."""

import json
import os
import subprocess
import tempfile
import unittest

WARPCHECK = os.environ["WARPCHECK"]
REASON = "the vendor aligns: always"
LINE = "v1 softmax/within-error-bound x=f32[3x37] fill=randn(5) | y=f32[3x37] | index=i64[3] | device=emulated"
WITHOUT = ["--without-property", f"misalignment:{REASON}"]


def run(*arguments):
    return subprocess.run([WARPCHECK, *arguments], capture_output=True, text=True, timeout=600)


class Asked(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def json_of(self, *arguments):
        path = os.path.join(self.folder, "out.json")
        r = run(*arguments, "--json", path)
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        with open(path) as f:
            return r.stdout.splitlines(), json.load(f)

    def verify(self, *arguments):
        return self.json_of("verify", "softmax", "--device", "emulated", "--cases", "2", "--property", "empty",
                            "--property", "misalignment", *arguments)

    def test_cases_with_every_schedule_proven_are_counted_by_kernel(self):
        lines, result = self.json_of("verify", "softmax", "--device", "emulated", "--cases", "6", "--dtype", "f32",
                                     "--max-cols", "64", "--property", "within-error-bound")
        (job,) = result["jobs"]
        self.assertGreater(job["every_schedule"], 0)
        proven = job["every_schedule"]
        self.assertIn(f"every schedule: proven for this input in {proven} of {job['cases']} cases", lines)
        self.assertEqual(sum(job["proven_variants"].values()), proven)
        self.assertLess(job["launches"], 7 * job["cases"])
        self.assertIn("every schedule: proven for this input\n", run("replay", LINE).stdout)
        self.assertNotIn("every schedule", run("replay", LINE + " detect=off").stdout)

    def test_the_last_line_counts_the_properties(self):
        lines, result = self.verify()
        every = sum(name.startswith("softmax/") for name in result["sentences"])
        self.assertRegex(lines[-1], f"^asked 2 of {every} properties; .* s in all")
        self.assertEqual(result["asked"], {"properties": 2, "of": every, "without": []})

    def test_a_property_is_left_out_with_a_reason(self):
        lines, result = self.verify(*WITHOUT)
        self.assertRegex(lines[-1], rf"^asked 1 of \d+ properties, without misalignment \({REASON}\);")
        self.assertIn(f"left out: softmax/misalignment: at the user's request: {REASON}", lines)
        self.assertEqual(result["asked"]["without"], [{"property": "misalignment", "reason": REASON}])
        self.assertEqual({j["property"] for j in result["jobs"]}, {"empty"})
        left = [n["why"] for n in result["not_run"] if (n["operator"], n["property"]) == ("softmax", "misalignment")]
        self.assertEqual(left, [f"at the user's request: {REASON}"])

    def test_fuzzing_leaves_it_out_too(self):
        lines, result = self.json_of("fuzz", "softmax", "--device", "emulated", "--cases", "1", "--property", "empty",
                                     "--property", "misalignment", *WITHOUT, "--out", self.folder)
        self.assertRegex(lines[-1], rf"^asked 1 of \d+ properties, without misalignment \({REASON}\)$")
        self.assertEqual(result["asked"]["without"], [{"property": "misalignment", "reason": REASON}])

    def test_mistakes(self):
        for given, answer in [
            ("missalignment:a reason", "no property of softmax is named 'missalignment', near ones are misalignment; "
             "'warpcheck list softmax' lists all"),
            ("misalignment", "'misalignment' has no reason, must be NAME:REASON"),
        ]:
            r = run("verify", "softmax", "--device", "emulated", "--without-property", given)
            self.assertEqual(r.returncode, 2, r.stdout + r.stderr)
            self.assertIn("without-property: " + answer, r.stderr)


if __name__ == "__main__":
    unittest.main()
