"""Kernels that please a judge in place of computing: `warpcheck bench` refuses each for its own reason, and no twin."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

WARPCHECK = os.environ["WARPCHECK"]
SOURCE = pathlib.Path(__file__).resolve().parent / "softmax.cu"
ROW, LARGER_ROW = "rows=256,cols=64", "rows=4096,cols=64"  # what softmax.cu takes for benchmarks
WROTE_NOTHING = "a timed call wrote nothing into slot"
WRONG = "compared elements lie outside their bound"
REASONS = {
    "seen_pointers": WROTE_NOTHING,
    "first_pointer": WROTE_NOTHING,
    "stale_graph": WROTE_NOTHING,
    "kept_result": WRONG,
    "untouched": "16384 elements of y not written",
    "known_size": "8192 elements of y not written",
    "prefix_of_rows": "16128 elements of y not written",
    "exits": "the candidate ended the process that measures it (exit code 0)",
    "zeros": WRONG,
    "mean_of_softmax": WRONG,
    "input_copied": WRONG,
    "coarse": WRONG,
    "failed_launch": "launch_limit",
    "deferred": WROTE_NOTHING,
    "left_to_a_thread": "16384 elements of y not written",
    "off_by_a_thousandth": WRONG,
}
LARGE = "slices_of_a_known_judge"
KEPT_PLAN = "kept_plan"
RESULT_IN_INPUT = "result_in_input"
ROWS_MATTER = "rows_matter"
TWINS = (
    "honest",
    "honest_plan_cache",
    "honest_special_size",
    "honest_batch",
    "honest_thread",
    "kernel_for_show",
    "stopped_clock",
)


def bench(*arguments):
    command = [WARPCHECK, "bench", "softmax", "--device", "emulated", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def verify(name, *arguments):
    command = [WARPCHECK, "verify", "softmax", "--device", "emulated", "--dtype", "f32", "--source", str(SOURCE)]
    return subprocess.run([*command, "--entry", name, *arguments], capture_output=True, text=True, timeout=300)


def entry(name, *arguments, row=ROW):
    return bench("--source", str(SOURCE), "--entry", name, "--row", row, *arguments)


class Adversaries(unittest.TestCase):
    def test_each_is_refused_for_its_own_reason(self):
        for name, reason in REASONS.items():
            with self.subTest(name):
                r = entry(name, "--unverified")
                self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
                self.assertIn(reason, r.stdout + r.stderr)

    def test_results_kept_by_address_are_refused_in_a_larger_row(self):
        for name in ("seen_pointers", "kept_result"):
            with self.subTest(name):
                r = entry(name, "--unverified", row=LARGER_ROW)
                self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
                self.assertIn(REASONS[name], r.stdout + r.stderr)
        r = entry("honest_plan_cache", "--unverified", row=LARGER_ROW)
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)

    def test_a_large_result_is_judged_where_nobody_expects_it(self):
        function = ["--source", str(SOURCE), "--entry", LARGE, "--unverified", "--row", "rows=32768,cols=64"]
        r = bench(*function)
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        self.assertIn(WRONG, r.stdout + r.stderr)

    def test_results_kept_by_shape_are_found_on_reused_storage_alone(self):
        others = ("within-error-bound", "row-isolation", "exact-shift", "permutation", "bit-repeatability")
        r = verify(KEPT_PLAN, "--cases", "6", *(word for name in others for word in ("--property", name)))
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        r = verify(KEPT_PLAN, "--cases", "20", "--property", "reused-storage", "--shrink-seconds", "2")
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        failure = r"softmax/reused-storage: nondeterministic: .*; call \d+ of 11 on the same memory: 'v1 softmax"
        self.assertRegex(r.stdout, failure)
        r = verify("honest_plan_cache", "--cases", "20", "--property", "reused-storage")
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)

    def test_a_statement_of_batch_invariance_is_tried(self):
        options = ("--cases", "20", "--property", "within-error-bound", "--property", "batch-invariance")
        r = verify(ROWS_MATTER, *options, "--shrink-seconds", "1")
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        self.assertRegex(r.stdout, r"softmax/batch-invariance: violation: y: slice \d+ of \d+ has .* as slice 0 of 1")
        self.assertRegex(r.stdout, r"within-error-bound +20 .* pass")
        r = verify("honest_batch", *options)
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        self.assertRegex(r.stdout, r"batch-invariance +2 .* pass")
        r = verify("honest", *options)
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        self.assertIn("not asked: softmax/batch-invariance: needs the statement 'batch-invariant'", r.stdout)

    def test_a_result_in_the_memory_of_an_input_is_refused(self):
        r = verify(RESULT_IN_INPUT, "--cases", "2", "--property", "within-error-bound", "--shrink-seconds", "1")
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        self.assertIn("input_modified: input x changed", r.stdout)

    def test_their_honest_twins_are_measured(self):
        for name in TWINS:
            with self.subTest(name):
                r = entry(name, "--unverified")
                self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
                self.assertIn("softmax/f32/256x64: not verified\n", r.stdout)

    def test_all_functions_of_the_source_are_judged(self):
        functions = {part.split(")")[0] for part in SOURCE.read_text().split("\nSOFTMAX(")[1:]}
        self.assertEqual(functions, {LARGE, KEPT_PLAN, RESULT_IN_INPUT, ROWS_MATTER, *REASONS, *TWINS})

    def test_as_a_peer_each_has_no_part_and_ours_is_measured(self):
        peers = [f"source:{SOURCE}:{name}" for name in ("seen_pointers", "first_pointer", "kept_result", "honest")]
        r = bench("--row", ROW, *(word for peer in peers for word in ("--peer", peer)))
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        self.assertEqual(r.stderr.count("has no part in this row"), 3, r.stderr)
        self.assertIn(f"peer:{peers[3]}", r.stdout)

    def test_a_candidate_is_verified_first(self):
        r = entry("zeros", "--cases", "1")
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        self.assertIn("is not measured, since it failed verification; --unverified measures it all the same", r.stdout)
        self.assertNotIn("median_us", r.stdout)

    def test_the_file_names_the_candidate_its_verdict_and_ours(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.json"
            r = entry("honest", "--unverified", f"--benchmark_out={out}", "--benchmark_out_format=json")
            self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
            content = json.loads(out.read_text())
        self.assertEqual(content["context"]["candidate"], f"source:{SOURCE}:honest")
        self.assertEqual(content["context"]["verdict"], "not verified")
        row = content["benchmarks"][0]
        self.assertGreater(row["us of ours"], 0)
        self.assertGreater(row["median_us"], 0)
        self.assertIn("times are the host's and mean nothing for a GPU", r.stdout)
        self.assertIn("softmax/f32/256x64: 65536 in, 65536 out", r.stdout)

    def test_rows_are_checked_before_anything_is_verified(self):
        for row, problem in (
            ("rows=4", "has no size of cols"),
            ("rows=4,cols=x", "has 'x', must be at least 1"),
            ("rows=4,cols=0", "has '0', must be at least 1"),
            ("rows=4,columns=4", "names 'columns'"),
            ("rows", "is not NAME=SIZE,NAME=SIZE"),
            ("rows=4,cols=4,type=f99", "names the type 'f99'"),
        ):
            r = bench("--source", str(SOURCE), "--entry", "honest", "--row", row)
            self.assertEqual(r.returncode, 2, r.stdout + r.stderr)
            self.assertIn(f"--row: '{row}' {problem}", r.stderr)


if __name__ == "__main__":
    unittest.main()
