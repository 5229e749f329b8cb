"""A device in a runner does what it does in the process of the judge: streams, graphs, and a device that is lost."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

WARPCHECK, DEVICE = os.environ["WARPCHECK"], os.environ["PRETENDED_CUDA"]
RENEWING_DEVICE, BENCH = os.environ["FAILING_DEVICE"], os.environ.get("BENCH")
CASE = "v1 softmax/within-error-bound x=f32[3x2] fill=uniform(1,-8,8) | y=f32[3x2] |"
VERDICTS = {
    ("right", "stream"): "pass",
    ("right", "again:3"): "pass",
    ("right", "legacy"): "pass",
    ("right", "graph:3"): "pass",
    ("makes_no_graph", "graph:3"): "error_return: as a graph: no graph",
    ("fails_in_a_capture", "graph:3"): "error_return: ",
    ("loses_the_device", "stream"): "error_return: the device reports an error after the call: lost",
    ("trusts_old_output", "again:3"): "nondeterministic: ",
}


class IsolatedDevice(unittest.TestCase):
    def test_each_launch_gets_the_verdict_of_one_process(self):
        with tempfile.TemporaryDirectory() as folder:
            command = shutil.copy(WARPCHECK, folder)
            library = shutil.copy(DEVICE, pathlib.Path(folder) / "libwarpcheck_cuda.so")
            for (variant, launch), verdict in VERDICTS.items():
                line = f"{CASE} candidate={library} device=cuda variant={variant} launch={launch}"
                for option in ("--isolate", "--no-isolate"):
                    with self.subTest(variant=variant, launch=launch, option=option):
                        r = subprocess.run([command, "replay", line, option], capture_output=True, text=True)
                        self.assertIn(f"softmax/within-error-bound: {verdict}", r.stdout, r.stderr)

    def test_calls_of_one_stream_keep_the_variants_that_were_picked(self):
        line = f"v1 softmax/dispatch-boundaries x=f32[3x1] fill=constant(0) | y=f32[3x1] | candidate={RENEWING_DEVICE}"
        for option in ("--isolate", "--no-isolate"):
            with self.subTest(option=option):
                r = subprocess.run([WARPCHECK, "replay", f"{line} device=cpu", option], capture_output=True, text=True)
                self.assertIn("softmax/dispatch-boundaries: pass", r.stdout, r.stderr)

    @unittest.skipUnless(BENCH, "with CUDA, bench needs a GPU")
    def test_times_are_confirmed_by_the_clock_of_another_process(self):
        with tempfile.TemporaryDirectory() as folder:
            for file in (WARPCHECK, BENCH):
                shutil.copy(file, folder)
            shutil.copy(DEVICE, pathlib.Path(folder) / "libwarpcheck_cuda.so")
            first, second = (shutil.copy(DEVICE, pathlib.Path(folder) / name) for name in ("first.so", "second.so"))
            command = [pathlib.Path(folder) / "warpcheck", "bench", "softmax", "--device", "cuda", "--unverified"]
            command += ["--row", "rows=300,cols=2", "--peer", second]
            for options, slow, verdicts, code in (
                (["--candidate", first], None, ["confirms"] * 2, 0),
                (["--candidate", first], "first.so", ["does not confirm", "confirms"], 1),
                (["--candidate", first], "second.so", ["confirms", "does not confirm"], 1),
                ([], "second.so", ["does not confirm"], 1),
            ):
                with self.subTest(options=options, slow=slow):
                    environment = {**os.environ, **({"PRETENDED_DEVICE_SLOW_RUNNER": slow} if slow else {})}
                    r = subprocess.run(command + options, env=environment, capture_output=True, text=True)
                    found = re.findall("by the clock of another: this (confirms|does not confirm) ", r.stdout)
                    self.assertEqual((found, r.returncode), (verdicts, code), r.stdout + r.stderr)
            environment = {**os.environ, "PRETENDED_DEVICE_IDLE_RUNNER": "first.so"}
            r = subprocess.run(command + ["--candidate", first], env=environment, capture_output=True, text=True)
            self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
            self.assertRegex(r.stdout, "first.so: in a process of its own it fails: .* wrote nothing into slot")
            self.assertRegex(r.stdout, "by the clock of another: this confirms ")


if __name__ == "__main__":
    unittest.main()
