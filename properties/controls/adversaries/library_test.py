"""Libraries for the CPU that please a judge in place of computing: each is refused for its own reason, and no twin."""

import os
import pathlib
import re
import subprocess
import unittest

WARPCHECK, LIBRARY = os.environ["WARPCHECK"], os.environ["LIBRARY"]
FOLDER = pathlib.Path(__file__).resolve().parent
WROTE_NOTHING = "a timed call wrote nothing into slot"
NOT_WRITTEN = r"elements of y not written|was not written"
WRONG = "compared elements lie outside their bound"
ENDED = "the candidate's process exited with status 0 before it answered"
FORGED = "the candidate's process forged the answer to a call: its size is 1099511627776 bytes, at most 4194288"
IN_BENCH = {
    "seen_pointers": WROTE_NOTHING,
    "kept_result": WRONG,
    "stale_plan": WROTE_NOTHING,
    "left_to_a_thread": NOT_WRITTEN,
    "deferred": f"{NOT_WRITTEN}|{WROTE_NOTHING}",
    "untouched": NOT_WRITTEN,
    "exits": ENDED,
    "forges_a_long_answer": FORGED,
    "throws": "the candidate threw std::runtime_error: enough",
    "known_size": NOT_WRITTEN,
    "zeros": WRONG,
    "input_copied": WRONG,
    "prefix_of_rows": NOT_WRITTEN,
    "without_maximum": WRONG,
    "marked_input": "a call changed its inputs",
    "coarse": WRONG,
    "failed_allocation": NOT_WRITTEN,
    "first_pointer": WROTE_NOTHING,
    "off_by_a_thousandth": WRONG,
    "other_rounding": "the call changed the floating-point controls",
    "hangs": r"bench: a call of softmax/f32/256x64 by \S+ has not ended in its time limit \(--timeout 2\)",
}
IN_VERIFY = {
    "reads_its_parent": NOT_WRITTEN,
    "traces_its_parent": NOT_WRITTEN,
    "closes_descriptors": "crash: the process died: it was killed by signal 6",
    "result_in_input": "input_modified: input x changed",
}
PAYS_OFF = ("reads_its_parent", "traces_its_parent")  # with --no-isolate
TWINS = (
    "honest",
    "honest_plan_cache",
    "honest_thread",
    "stopped_clock",
    "honest_special_size",
    "locked_memory",
    "honest_scratch",
    "kernel_for_show",
)


def run(name, *command):
    environment = {**os.environ, "SOFTMAX": name}  # read by the library
    command = [WARPCHECK, *command, "--candidate", LIBRARY, "--device", "cpu"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def bench(name):
    return run(name, "bench", "softmax", "--row", "rows=256,cols=64", "--unverified", "--timeout", "2")


def verify(name, *options):
    command = ["verify", "softmax", "--property", "within-error-bound", "--cases", "4", "--workers", "1"]
    return run(name, *command, "--timeout", "3", "--shrink-seconds", "1", "--fail-fast", *options)


class Library(unittest.TestCase):
    def test_each_is_refused_for_its_own_reason(self):
        for reasons, judge in ((IN_BENCH, bench), (IN_VERIFY, verify)):
            for name, reason in reasons.items():
                with self.subTest(name):
                    r = judge(name)
                    self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
                    self.assertRegex(r.stdout + r.stderr, reason)

    def test_their_honest_twins_pass(self):
        for name in TWINS:
            for judge in (bench, verify):
                with self.subTest(name, judge=judge.__name__):
                    r = judge(name)
                    self.assertEqual(r.returncode, 0, r.stdout + r.stderr)

    def test_without_isolation_these_pay_off(self):
        for name in PAYS_OFF:
            with self.subTest(name):
                r = verify(name, "--no-isolate")
                self.assertEqual(r.returncode, 0, r.stdout + r.stderr)

    def test_all_functions_of_the_library_are_judged(self):
        functions = re.findall(r"\nSOFTMAX\((\w+)\)", (FOLDER / "library.cpp").read_text())
        self.assertEqual(sorted(functions), sorted((*IN_BENCH, *IN_VERIFY, *TWINS)))

    def test_each_family_is_there_for_each_device(self):
        for sources in (("library.cpp",), ("softmax.cu", "intruders.cu")):
            text = "".join((FOLDER / source).read_text() for source in sources)
            named = " ".join(re.findall(r"Famil(?:y|ies) ([\d, and]+)", text))
            self.assertEqual({int(n) for n in re.findall(r"\d+", named)}, set(range(1, 18)), sources)


if __name__ == "__main__":
    unittest.main()
