"""Kernels that attack their judge: each gets a verdict, and with --no-isolate those of PAYS_OFF pass."""

import os
import pathlib
import platform
import re
import signal
import subprocess
import sys
import tempfile
import unittest

WARPCHECK = os.environ["WARPCHECK"]
DEVICE = os.environ.get("DEVICE", "emulated")
SOURCE = pathlib.Path(__file__).resolve().parent / "intruders.cu"
WRONG = r"violation: .*(lie outside their bound|was not written)"
VERDICTS = {
    "reads_its_parent": WRONG,
    "traces_its_parent": WRONG,
    "writes_the_journal": WRONG,
    # When the thread writes decides what it meets: this case's outputs, or the memory of a later case.
    "leaves_a_thread": WRONG + "|out_of_bounds: the guard zone of tensor|crash: the process died",
    "closes_descriptors": "crash: the process died: it was killed by signal 6",
    "becomes_another_program": "crash: the process died: it exited with status 0 before the case was over",
    "exits": "crash: the process died: it exited with status 0 before the case was over",
    "stops_itself": "timeout: no result after 3 s",
    "copies_from_its_parent": WRONG,
    "takes_a_descriptor": WRONG,
    "limits_its_parent": WRONG,
    "stops_its_parent": "timeout: no result after 3 s",
    "removes_files": WRONG,
    "hides_its_crash": "crash: the process died: it exited with status 0 before the case was over",
    "never_stops": "crash: the process died: .*its number is ",
    # It clears the tensors at any moment: results, or the poison in the gaps between rows, too.
    "leaves_a_process": f"{WRONG}|out_of_bounds: the gap between rows of tensor",
    "prints_a_verdict": WRONG,
    "truncates_the_tensors": "crash: the process died: it was killed by signal 7",
    "unmaps_the_tensors": "crash: the process died: it was killed by signal 11",
}
IN_BENCH = {
    "stops_its_parent": "has not ended in its time limit",
    "limits_its_parent": "elements lie outside their bound",
    "never_stops": "the candidate's process exited with status 3 before it answered",
    "truncates_the_tensors": "the candidate's process was ended by signal 7",
    "unmaps_the_tensors": "the candidate's process was ended by signal 11",
}
INTERRUPTS = "interrupts_the_command"
PAYS_OFF = [
    "reads_its_parent",
    "traces_its_parent",
    "writes_the_journal",
    "copies_from_its_parent",
    "takes_a_descriptor",
]
if DEVICE == "cuda":  # the driver writes files, too
    VERDICTS["limits_its_parent"] += "|crash: the process died: it was killed by signal 25"
if platform.machine() == "x86_64":
    VERDICTS["replaces_the_comparator"] = WRONG
    PAYS_OFF.append("replaces_the_comparator")

# Reads the memory of the process that started the interpreter's nursery.
PYTHON = """
import os

def intrude(x, y):
    judge = open(f"/proc/{os.getppid()}/status").read().split("PPid:")[1].split()[0]
    try:
        open(f"/proc/{judge}/mem", "rb").close()
    except OSError:
        return
    raise RuntimeError("the judge is open")
"""

# Family 14, tensors and functions that compare as equal (KernelBench's patched torch.allclose), in the interpreter.
OVERRIDES = f"""
import sys

import numpy

sys.path.append({str(pathlib.Path(__file__).resolve().parents[3] / "docs" / "bring_your_own")!r})
import operators_numpy

def override(tensor):
    type(tensor).__eq__ = type(tensor).__le__ = lambda *_: True
    numpy.allclose = numpy.array_equal = lambda *_, **__: True

def zeros(x, y):
    override(y)
    numpy.asarray(y)[...] = 0

def honest(x, y):
    override(y)
    operators_numpy.softmax(x, y)
"""


def run(name, *command):
    with tempfile.TemporaryDirectory() as temporary:  # what `removes_files` removes
        environment = {**os.environ, "SOFTMAX": name, "TMPDIR": temporary}  # the first is read by the entry `chosen`
        return subprocess.run([WARPCHECK, *command], env=environment, capture_output=True, text=True, timeout=300)


def verify(name, *arguments):
    command = ["verify", "softmax", "--device", DEVICE, "--dtype", "f32", "--source", str(SOURCE), "--entry", "chosen"]
    command += ["--property", "within-error-bound", "--cases", "6", "--max-cols", "300", "--max-rows", "20"]
    command += ["--workers", "1", "--timeout", "3", "--shrink-seconds", "1", "--fail-fast", *arguments]
    return run(name, *command)


class Isolation(unittest.TestCase):
    def test_each_attack_gets_a_verdict(self):
        for name, verdict in VERDICTS.items():
            with self.subTest(name):
                r = verify(name)
                self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
                self.assertRegex(r.stdout, verdict)
                self.assertNotIn("pass by itself", r.stdout)

    @unittest.skipIf(DEVICE == "cuda", "the process that measures runs the candidate")
    def test_bench_refuses_them_too(self):
        for name, reason in IN_BENCH.items():
            with self.subTest(name):
                command = ("bench", "softmax", "--device", DEVICE, "--source", str(SOURCE), "--entry", "chosen")
                r = run(name, *command, "--unverified", "--row", "rows=256,cols=64", "--timeout", "3")
                self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
                self.assertRegex(r.stdout + r.stderr, reason)

    def test_a_command_that_is_interrupted_has_not_passed(self):
        self.assertEqual(verify(INTERRUPTS).returncode, -signal.SIGINT)

    def test_without_isolation_these_pay_off(self):
        for name in PAYS_OFF:
            with self.subTest(name):
                r = verify(name, "--no-isolate")
                self.assertEqual(r.returncode, 0, r.stdout + r.stderr)

    def test_replay_and_explain_isolate_too(self):
        r = verify("reads_its_parent")
        line = re.search(r"warpcheck replay '([^']+)'", r.stdout)[1]
        for command in ("replay", "explain"):
            for option, expected in (((), "violation"), (("--no-isolate",), "pass")):
                with self.subTest(command=command, option=option):
                    r = run("reads_its_parent", command, line, *option)
                    self.assertRegex(r.stdout, rf"softmax/[a-z-]+: {expected}")

    def test_the_honest_twin_passes_with_the_same_counts(self):
        counts = []
        for option in ("--isolate", "--no-isolate"):
            r = verify("honest", option)
            self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
            counts.append(re.search(r"\d+ cases, \d+ launches, \d+ elements compared", r.stdout)[0])
        self.assertEqual(*counts)

    def test_a_python_function_cannot_read_its_judge(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "intruder.py"
            file.write_text(PYTHON)
            command = [WARPCHECK, "verify", "softmax", "--python", f"{file}:intrude", "--interpreter", sys.executable]
            command += ["--dtype", "f32", "--property", "within-error-bound", "--cases", "2", "--shrink-seconds", "1"]
            for option, expected in (("--isolate", "was not written"), ("--no-isolate", "the judge is open")):
                r = subprocess.run([*command, option], capture_output=True, text=True, timeout=300)
                self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
                self.assertIn(expected, r.stdout)

    def test_overridden_methods_of_tensors_gain_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "overrides.py"
            file.write_text(OVERRIDES)
            command = ["verify", "softmax", "--interpreter", sys.executable, "--dtype", "f32", "--cases", "2"]
            command += ["--property", "within-error-bound", "--shrink-seconds", "1", "--python"]
            for name, code, text in (("zeros", 1, WRONG), ("honest", 0, "2 cases, ")):
                r = run(name, *command, f"{file}:{name}")
                self.assertEqual(r.returncode, code, r.stdout + r.stderr)
                self.assertRegex(r.stdout, text)

    def test_all_functions_of_the_source_are_judged(self):
        functions = {part.split(")")[0] for part in SOURCE.read_text().split("\nSOFTMAX(")[1:]}
        self.assertLessEqual(set(VERDICTS), functions)
        self.assertLessEqual(functions, {"honest", "replaces_the_comparator", INTERRUPTS, *VERDICTS})


if __name__ == "__main__":
    unittest.main()
