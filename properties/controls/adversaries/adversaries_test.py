"""Kernels that please a judge in place of computing: `warpcheck bench` refuses each for its own reason, and no twin."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

WARPCHECK = os.environ["WARPCHECK"]
DEVICE = os.environ.get("DEVICE", "emulated")
SOURCE = pathlib.Path(__file__).resolve().parent / "softmax.cu"
ROW, LARGER_ROW = "rows=256,cols=64", "rows=4096,cols=64"  # what softmax.cu takes for benchmarks
WROTE_NOTHING = "a timed call wrote nothing into slot"
# A result that is missing is seen by the judge of an execution or after the turn, whichever comes first.
NOT_WRITTEN = f"elements of y not written|{WROTE_NOTHING}"
WRONG = "compared elements lie outside their bound"
REASONS = {
    "seen_pointers": WROTE_NOTHING,
    "first_pointer": NOT_WRITTEN,
    "stale_graph": NOT_WRITTEN,
    "kept_result": WRONG,
    "untouched": "16384 elements of y not written",
    "known_size": "8192 elements of y not written",
    "prefix_of_rows": "16128 elements of y not written",
    "without_maximum": WRONG,
    "exits": r"the candidate ended the process that measures it \(exit code 0\)"
    if DEVICE == "cuda"
    else "the candidate's process exited with status 0 before it answered",
    "exits_in_its_runner": "the candidate's process exited with status 0 before it answered",
    "forges_a_long_answer": r"forged the answer to a call: its size is 1099511627776 bytes, at most 4194288",
    "forges_an_empty_answer": "forged the answer to a call: it is empty",
    "forges_a_short_answer": "forged the answer to a call: it has 0 bytes in place of 4",
    "zeros": WRONG,
    "mean_of_softmax": WRONG,
    "input_copied": WRONG,
    "coarse": WRONG,
    "failed_launch": "launch_limit" if DEVICE == "emulated" else NOT_WRITTEN,
    "deferred": WROTE_NOTHING,
    "left_to_a_thread": "16384 elements of y not written",
    "left_to_a_stream": f"{NOT_WRITTEN}|{WRONG}",
    "off_by_a_thousandth": WRONG,
}
BY_ADDRESS = ("seen_pointers", "kept_result")  # found if addresses come again, on a GPU in the larger row
ON_CUDA = {
    "persisting_lines": WROTE_NOTHING,
    "lasting_attribute": WROTE_NOTHING,
    "lasting_limit": WROTE_NOTHING,
    "slowed_clocks": "in a process of its own, by the clock of another: this does not confirm",
    "last_of_a_batch": f"in a process of its own it fails: .*{WRONG}",
    # A call of the driver fails, or ends the process.
    "resets_the_device": r"softmax/f32/256x64|the candidate ended the process that measures it \(signal",
}
LEFT_IN_PLACE = "left_in_place"
SAVE_NOTHING = (LEFT_IN_PLACE, "sketched_if_known")
FOR_OTHERS = "work is done beside the stream of the call, or for other executions"
LARGEST = {
    "sketched_if_usual": "4177920 elements of y not written",
    "works_ahead": FOR_OTHERS,
    "works_in_one_call": FOR_OTHERS,
    "works_beside": f"{FOR_OTHERS}|{WRONG}",  # the judge may read a result before the other stream has written it
}
LARGE = {"slices_of_a_known_judge": WRONG, "marked_input": "a call changed its inputs"}
KEPT_PLAN = "kept_plan"
KEPT_BY_SAMPLE = "kept_by_sample"
RESULT_IN_INPUT = "result_in_input"
MISSING_FORK = "missing_fork"
RAISES_CLOCKS = "raises_the_clocks"  # where it might
ROWS_MATTER = "rows_matter"
TWINS = (
    "honest",
    "honest_plan_cache",
    "honest_special_size",
    "honest_batch",
    "honest_thread",
    "honest_side_stream",
    "honest_scratch",
    "kernel_for_show",
    "stopped_clock",
)
TWINS_ON_CUDA = ("honest_window",)
SLOW_ON_THE_HOST = "honest_thread"  # starting a thread takes longer than the kernel: its time may not be confirmed
if DEVICE == "cuda":
    REASONS |= ON_CUDA
    TWINS += TWINS_ON_CUDA


def run(name, *command):
    environment = {**os.environ, "SOFTMAX": name}  # read by the entry `chosen`
    return subprocess.run(
        [WARPCHECK, *command, "--device", DEVICE], env=environment, capture_output=True, text=True, timeout=300
    )


def verify(name, *arguments, entry="chosen"):
    command = ["verify", "softmax", "--dtype", "f32", "--source", str(SOURCE), "--entry", entry]
    return run(name, *command, "--fail-fast", "--shrink-seconds", "1", *arguments)


def bench(name, *arguments, row=ROW):
    command = ["bench", "softmax", "--source", str(SOURCE), "--entry", "chosen", "--row", row]
    return run(name, *command, *arguments)


class Adversaries(unittest.TestCase):
    def assert_refused(self, r, reason):
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        self.assertRegex(r.stdout + r.stderr, reason)

    def assert_passes(self, r):
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)

    def test_each_is_refused_for_its_own_reason(self):
        for name, reason in REASONS.items():
            if DEVICE == "cuda" and name in BY_ADDRESS:
                continue
            with self.subTest(name):
                self.assert_refused(bench(name, "--unverified"), reason)

    def test_results_kept_by_address_are_refused_in_a_larger_row(self):
        for name in BY_ADDRESS:
            with self.subTest(name):
                self.assert_refused(bench(name, "--unverified", row=LARGER_ROW), REASONS[name])
        self.assert_passes(bench("honest_plan_cache", "--unverified", row=LARGER_ROW))

    def test_a_candidate_has_no_right_to_set_clocks(self):
        for option in ("--isolate", "--no-isolate"):
            with self.subTest(option):
                self.assert_passes(bench(RAISES_CLOCKS, "--unverified", option))

    def test_a_large_result_is_judged_where_nobody_expects_it(self):
        for name, reason in LARGE.items():
            with self.subTest(name):
                self.assert_refused(bench(name, "--unverified", row="rows=32768,cols=64"), reason)

    def test_results_kept_by_shape_or_sample_are_found_on_reused_storage_alone(self):
        others = ("within-error-bound", "row-isolation", "exact-shift", "bit-repeatability")
        for name, verdict in (
            (KEPT_PLAN, "nondeterministic" if DEVICE == "emulated" else "violation"),
            (KEPT_BY_SAMPLE, "violation"),
        ):
            with self.subTest(name):
                r = verify(name, "--cases", "6", *(word for other in others for word in ("--property", other)))
                self.assert_passes(r)
                failure = rf"softmax/reused-storage: {verdict}: .*; call \d+ of 11 on the same memory: 'v1 softmax"
                self.assert_refused(verify(name, "--cases", "20", "--property", "reused-storage"), failure)
        self.assert_passes(verify("honest_plan_cache", "--cases", "20", "--property", "reused-storage"))

    def test_a_statement_of_batch_invariance_is_tried(self):
        options = ("--cases", "20", "--property", "within-error-bound", "--property", "batch-invariance")
        r = verify(ROWS_MATTER, *options, entry=ROWS_MATTER)
        self.assert_refused(r, r"softmax/batch-invariance: violation: y: slice \d+ of \d+ has .* as slice 0 of 1")
        r = verify(ROWS_MATTER, *options[:4], entry=ROWS_MATTER)
        self.assert_passes(r)
        r = verify("honest_batch", *options, entry="honest_batch")
        self.assert_passes(r)
        self.assertRegex(r.stdout, r"batch-invariance +2 .* pass")
        self.assertRegex(r.stdout, "softmax f32: offers .*; states batch-invariant\n")
        r = verify("honest", *options)
        self.assert_passes(r)
        self.assertIn("not asked: softmax/batch-invariance: needs the statement 'batch-invariant'", r.stdout)

    def test_the_cost_of_batch_invariance_is_measured(self):
        for name, has_cost in (("honest_batch", True), ("honest", False)):  # ours does not state it
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                out = pathlib.Path(folder) / "out.json"
                command = ["bench", "softmax", "--source", str(SOURCE), "--entry", name, "--row", ROW, "--unverified"]
                r = run("", *command, f"--benchmark_out={out}", "--benchmark_out_format=json")
                self.assert_passes(r)
                row = json.loads(out.read_text())["benchmarks"][0]
                self.assertEqual("batch_invariance_cost" in row, has_cost, r.stdout)
                if has_cost:
                    self.assertAlmostEqual(row["batch_invariance_cost"], row["median_us"] / row["us of ours"], places=3)
                if DEVICE == "cuda":
                    self.assertEqual("which is batch-invariant, takes" in r.stdout, has_cost, r.stdout)

    def test_streams_that_do_not_wait_are_found_by_verify(self):
        options = ("--cases", "3", "--property", "within-error-bound")
        self.assert_refused(verify("left_to_a_stream", *options), "within-error-bound: .* not written")
        if DEVICE == "emulated":  # on a GPU the first stream is done before the second one begins
            race = "within-error-bound: race: .*\n.*neither stream waits for the other"
            self.assert_refused(verify(MISSING_FORK, *options), race)
        self.assert_passes(verify("honest_side_stream", *options))

    def test_a_result_in_the_memory_of_an_input_is_refused(self):
        options = ("--cases", "2", "--property", "within-error-bound")
        self.assert_refused(verify(RESULT_IN_INPUT, *options), "input_modified: input x changed")
        self.assert_passes(verify("honest_scratch", *options))

    def test_their_honest_twins_are_measured(self):
        for name in TWINS:
            with self.subTest(name):
                r = bench(name, "--unverified")
                if DEVICE == "cuda" and name == SLOW_ON_THE_HOST:
                    self.assertIn("by the clock of another: this ", r.stdout)
                    continue
                self.assert_passes(r)
                if DEVICE == "cuda":
                    self.assertIn("by the clock of another: this confirms", r.stdout)
                self.assertRegex(r.stdout, "softmax/f32/256x64: (.*; )?not verified\n")

    def test_all_functions_of_the_source_are_judged(self):
        functions = {part.split(")")[0] for part in SOURCE.read_text().split("\nSOFTMAX(")[1:]}
        on_cuda = {*ON_CUDA, *TWINS_ON_CUDA, *SAVE_NOTHING, *LARGEST}
        others = {KEPT_PLAN, KEPT_BY_SAMPLE, RESULT_IN_INPUT, MISSING_FORK, ROWS_MATTER, RAISES_CLOCKS, *LARGE}
        self.assertEqual(functions, {*others, *on_cuda, *REASONS, *TWINS})

    @unittest.skipIf(DEVICE == "emulated", "each call is judged")
    def test_results_that_are_left_in_the_output_or_known_save_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            us = {}
            for name in (*SAVE_NOTHING, "honest"):
                out = pathlib.Path(folder) / name
                files = (f"--benchmark_out={out}", "--benchmark_out_format=json")
                r = bench(name, "--unverified", *files, row="rows=65536,cols=64")
                if name == LEFT_IN_PLACE:
                    self.assert_refused(r, "in a process of its own it fails")
                else:
                    self.assert_passes(r)
                us[name] = json.loads(out.read_text())["benchmarks"][0]["median_us"]
        for name in SAVE_NOTHING:
            self.assertGreater(us[name], 0.7 * us["honest"], name)

    @unittest.skipIf(DEVICE == "emulated", "each call is judged")
    def test_work_left_out_or_done_for_other_calls_is_found(self):
        for name, reason in LARGEST.items():
            with self.subTest(name):
                self.assert_refused(bench(name, "--unverified", row="rows=65536,cols=64"), reason)

    @unittest.skipIf(DEVICE == "emulated", "its clock is the judge's")
    def test_a_row_is_confirmed_whose_memory_is_mapped_where_it_is_written(self):
        r = bench("honest", "--unverified", row="rows=1048576,cols=64")
        self.assert_passes(r)
        self.assertIn("by the clock of another: this confirms", r.stdout)

    @unittest.skipIf(DEVICE == "emulated", "its clock is the judge's")
    def test_slowed_clocks_pay_off_in_the_process_of_the_judge(self):
        self.assert_passes(bench("slowed_clocks", "--unverified", "--no-isolate"))

    @unittest.skipIf(DEVICE == "emulated", "its clock is the judge's")
    def test_the_time_of_a_peer_that_slows_clocks_is_not_confirmed(self):
        for name, verdict in (("slowed_clocks", "does not confirm"), ("honest", "confirms")):
            with self.subTest(name):
                peer = f"source:{SOURCE}:{name}"
                r = run("", "bench", "softmax", "--row", ROW, "--peer", peer)
                self.assertEqual(r.returncode, 0 if verdict == "confirms" else 1, r.stdout + r.stderr)
                self.assertRegex(r.stdout, f"{re.escape(peer)}: .* by the clock of another: this {verdict} ")

    def test_as_a_peer_it_has_no_part_and_ours_is_measured(self):
        peers = [f"source:{SOURCE}:{name}" for name in ("seen_pointers", "honest")]
        r = run("", "bench", "softmax", "--row", LARGER_ROW, *(word for peer in peers for word in ("--peer", peer)))
        self.assert_passes(r)
        self.assertEqual(r.stderr.count("has no part in this row"), 1, r.stderr)
        self.assertIn(f"peer:{peers[1]}", r.stdout)

    def test_a_candidate_is_verified_first(self):
        r = bench("zeros", "--cases", "1")
        self.assert_refused(r, "is not measured, since it failed verification; --unverified measures it all the same")
        self.assertNotIn("median_us", r.stdout)

    def test_the_file_names_the_candidate_its_verdict_and_ours(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.json"
            r = bench("honest", "--unverified", f"--benchmark_out={out}", "--benchmark_out_format=json")
            self.assert_passes(r)
            content = json.loads(out.read_text())
        self.assertEqual(content["context"]["candidate"], f"source:{SOURCE}:chosen")
        self.assertEqual(content["context"]["verdict"], "not verified")
        row = content["benchmarks"][0]
        self.assertGreater(row["us of ours"], 0)
        self.assertGreater(row["median_us"], 0)
        if DEVICE == "emulated":
            self.assertIn("times are the host's and mean nothing for a GPU", r.stdout)
            counts = "barriers 0, bank conflicts not known (the race detector has not run)"
            self.assertIn(f"softmax/f32/256x64: 65536 in, 65536 out; {counts}", r.stdout)

    def test_rows_are_checked_before_anything_is_verified(self):
        for row, problem in (
            ("rows=4", "has no size of cols"),
            ("rows=4,cols=x", "has 'x', must be at least 1"),
            ("rows=4,cols=0", "has '0', must be at least 1"),
            ("rows=4,columns=4", "names 'columns'"),
            ("rows", "is not NAME=SIZE,NAME=SIZE"),
            ("rows=4,cols=4,type=f99", "names the type 'f99'"),
        ):
            r = bench("honest", row=row)
            self.assertEqual(r.returncode, 2, r.stdout + r.stderr)
            self.assertIn(f"--row: '{row}' {problem}", r.stderr)


if __name__ == "__main__":
    unittest.main()
