"""The accuracy ratchet: a candidate that became less accurate fails, although it stays in its bound. Run by CTest."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

WARPCHECK = os.environ["WARPCHECK"]
GOLDEN = os.path.join(os.environ["WARPCHECK_SOURCE"], "golden")
RIGHT = os.environ["WARPCHECK_RIGHT"]
LESS_ACCURATE = os.environ["WARPCHECK_LESS_ACCURATE"]  # one ulp more error in most elements


def run(*arguments):
    return subprocess.run([WARPCHECK, *arguments], capture_output=True, text=True, timeout=600)


class Ratchet(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        # Of softmax only: what else is in the folder is no concern of this test.
        shutil.copytree(os.path.join(GOLDEN, "softmax"), os.path.join(self.folder.name, "softmax"))
        with open(os.path.join(GOLDEN, "SHA256SUMS")) as f:
            sums = [line for line in f if "  softmax/" in line]
        with open(os.path.join(self.folder.name, "SHA256SUMS"), "w") as f:
            f.writelines(sums)
        self.profile = os.path.join(self.folder.name, "softmax", "profile_emulated.json")

    def check(self, *arguments):
        return run("golden", "check", "softmax", "--folder", self.folder.name, *arguments)

    def candidate(self, library, *arguments):
        return self.check("--device", "cpu", "--candidate", library, *arguments)

    def change(self, entry, key, factor):
        with open(self.profile) as f:
            j = json.load(f)
        j["error_over_bound"][entry][key] *= factor
        with open(self.profile, "w") as f:
            json.dump(j, f)

    def test_a_candidate_inside_its_bound_but_less_accurate_fails(self):
        # The profile is that of our kernels; the errors of another right kernel may be a little larger.
        self.change("f32 *", "max", 1.05)
        self.change("f32 *", "p99.9", 1.05)
        r = self.candidate(RIGHT, "--ratchet")
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        self.assertIn("no less accurate than", r.stdout)
        r = self.candidate(LESS_ACCURATE)
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)  # every golden file agrees: it is right
        r = run("verify", "softmax", "--device", "cpu", "--candidate", LESS_ACCURATE,
                "--property", "within-error-bound", "--cases", "40")
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        r = self.candidate(LESS_ACCURATE, "--ratchet")
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        self.assertRegex(
            r.stdout, r"less accurate: softmax f32 \*: (the largest error / bound was|99\.9 % of the elements)")

    def test_our_kernels_are_as_accurate_as_the_committed_profile_and_no_more_is_allowed(self):
        r = self.check("--device", "emulated")
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        for key, factor, text in [("max", 0.999, "the largest error / bound was 0"),
                                  ("p99.9", 0.9, "99.9 % of the elements were within 0")]:
            with self.subTest(key=key):
                with open(self.profile) as f:
                    before = f.read()
                self.change("f32 softmax_warp", key, factor)
                r = self.check("--device", "emulated")
                self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
                self.assertIn("less accurate: softmax f32 softmax_warp: " + text, r.stdout)
                self.assertEqual(r.stdout.count("less accurate: "), 1)
                with open(self.profile, "w") as f:
                    f.write(before)

    def test_the_profile_is_regenerated_to_the_bit(self):
        with open(self.profile) as f:
            before = f.read()
        r = run("golden", "regenerate", "softmax", "--folder", self.folder.name, "--device", "emulated")
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        with open(self.profile) as f:
            self.assertEqual(f.read(), before)

    def test_other_cases_a_missing_entry_a_corrupt_and_a_missing_file_are_reported(self):
        with open(self.profile) as f:
            text = f.read()
        for old, new, code, expected in [
            ('"cases": "', '"cases": "0', 1, "the generators changed"),
            ("f32 softmax_warp", "f32 softmax_gone", 1, "softmax f32 softmax_gone: no case reached it"),
            ("warpcheck-profile-1", "warpcheck-profile-9", 2, "warpcheck-profile-1 is allowed"),
            ("{", "[", 2, "it is not an error profile"),
        ]:
            with self.subTest(new=new):
                with open(self.profile, "w") as f:
                    f.write(text.replace(old, new))
                r = self.check("--device", "emulated")
                self.assertEqual(r.returncode, code, r.stdout + r.stderr)
                self.assertIn(expected, r.stdout + r.stderr)
        other = os.path.join(self.folder.name, "argmax", "profile_emulated.json")
        os.mkdir(os.path.dirname(other))
        os.rename(self.profile, other)
        r = self.check("--device", "emulated")
        self.assertEqual(r.returncode, 2, r.stdout + r.stderr)
        self.assertIn("profile_emulated.json: there is no error profile", r.stderr)
        os.remove(other)
        r = self.check("--device", "emulated")
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        self.assertIn("no error profile for device emulated", r.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
